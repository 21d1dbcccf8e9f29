"""Holds that each operator that a literal of the C++ code names exists: "aten::add", "aten::add.Tensor".

Operators are those of the schemas that are compiled in, of the keys `schema` in mappings/, the nodes of mappings/structural.yaml, and
NODES. A literal is the beginning of a name if starts_with() asks for it, if something is added to it ("quantized::" + op), or if it
is kept as `prefix`.
"""
import difflib
import re
import sys
from pathlib import Path

# Nodes of a graph that no table names.
NODES = {"prim::Return": "of a graph, in messages", "prim::annotate": "removed while a file is read",
         "prim::Enter": "a with statement", "prim::Exit": "a with statement",
         "prim::KeptException": "of a pass alone", "prim::SecondCall": "of a pass alone"}
# What isn't an operator's namespace, or is one of a model or a user.
OTHERS = {"std", "compatcheck", "ir", "plugin", "namespace", "acme", "a"}
ANYTHING_FOLLOWS = {"higher_order::", "python::", "autocast::", "prim::PythonOp."}  # the names are the model's
EXAMPLES = {"aten::foo"}
LITERAL = re.compile(r'(?P<before>[\w.]*(?:\(| = ))?(?:R"(?P<mark>\w*)\((?P<raw>.*?)\)(?P=mark)"|"(?P<text>(?:[^"\\\n]|\\.)*)")'
                     r"(?P<after>\s*\+)?|//[^\n]*", re.DOTALL)
NAME = re.compile(r"(?<![\w.:])([a-z_]\w*)::[\w.]*")
PREFIX = re.compile(r"starts(_with)?\(|prefix = ")


def operators(root):
    """All names, with and without their overloads."""
    names = set(NODES)
    for file in (root / "src/schema").glob("*_schemas.txt"):
        names |= {line.partition("(")[0] for line in file.read_text().splitlines()}
    for file in [*(root / "mappings/operators").glob("*.yaml"), *(root / "mappings/libraries").glob("*.yaml")]:
        names |= set(re.findall(r'\bschema: "([\w:.]+)\(', file.read_text()))
    names |= set(re.findall(r"^(prim::\w+):", (root / "mappings/structural.yaml").read_text(), re.MULTILINE))
    return names | {name.partition(".")[0] for name in names}


def wrong_names(text, known):
    """(line, name) for each name that is no operator."""
    for literal in LITERAL.finditer(text):
        content = literal["raw"] or re.sub(r"\\[nt]", " ", literal["text"] or "")
        for found in NAME.finditer(content):
            name = found.group()
            if found[1] in OTHERS or name in EXAMPLES or name in ANYTHING_FOLLOWS or name.rstrip(".") in known:
                continue
            whole = name == content and (name.endswith("::") or literal["after"] or PREFIX.search(literal["before"] or ""))
            if not whole or not any(operator.startswith(name) for operator in known):
                yield text.count("\n", 0, literal.start() + literal.group().find(name)) + 1, name


def check_itself(known):
    text = r'''is("aten::add") is("aten::add.Tensor") is("aten::addd") is("aten::add.Tenser") is("aten::_foreach_") is("atem::add")
        op.starts_with("aten::_foreach_") op.starts_with("aten::_foreech_") "aten::" + name; "quantised::" + name; "in\naten::foo aten::fo"
        prefix = "aten::ad"; x = "aten::ad"; // "aten::comment"
        R"(aten::mul, aten::mull)" "std::string com.acme::Op and aten::relu."'''
    found = [name for _, name in wrong_names(text, known)]
    expected = ["aten::addd", "aten::add.Tenser", "aten::_foreach_", "atem::add", "aten::_foreech_", "quantised::", "aten::fo", "aten::ad",
                "aten::mull"]
    if found != expected:
        sys.exit(f"this test finds {found}, not {expected}")


def main():
    root = Path(sys.argv[1])
    known = operators(root)
    check_itself(known)
    defects = 0
    files = sorted(file for folder in ("src", "include", "python") for kind in ("*.h", "*.cpp") for file in (root / folder).rglob(kind))
    for file in files:
        for line, name in wrong_names(file.read_text(), known):
            defects += 1
            near = difflib.get_close_matches(name, known, 1)
            print(f"{file.relative_to(root)}:{line}: {name} is no operator" + (f"; did you mean {near[0]}?" if near else ""))
    return 1 if defects else 0


if __name__ == "__main__":
    sys.exit(main())
