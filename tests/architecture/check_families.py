"""Holds that everything of an operator stands under the name of one family.

An operator whose row stands in mappings/operators/FAMILY.yaml or mappings/libraries/FAMILY.yaml has its handler in src/handlers/FAMILY.cpp or FAMILY_PART.cpp, and its
facts function in src/symbolic/FAMILY.cpp or FAMILY_PART.cpp, if it has them. The rows of aliases.yaml belong to the family of the
operator that they name. What computes with Python's numbers may also stand in scalar.cpp, what computes with complex tensors in
complex.cpp.

Registrations are read as they are written: a statement of a function register_NAME() with the names as literals, or with a table of
this file. A name that is put together can't be read.
"""
import argparse
import re
import sys
from pathlib import Path

# room: what a registration is called, and the file that may hold it beside the family's
KINDS = {"handlers": {"handler": None, "number_handler": "scalar", "complex_handler": "complex"},
         "symbolic": {"facts": None, "number_facts": "scalar"}}
NAME = re.compile(r'"(\w+::[\w.]+)"(?!\s*\+)')
ROW = re.compile(r"(\w+::[\w.]+):(?: *\{alias: *([\w:.]+)[,}])?")
TABLE = re.compile(r"\b(\w+)(?:\[\])? = \{(.*?)\};", re.DOTALL)
FUNCTION = re.compile(r"^void register_\w+\(Registry& registry\) \{(?P<body> .*|(?:\n .*)+\n)\}$", re.MULTILINE)
COMMENT = re.compile(r'("(?:[^"\\\n]|\\.)*")|//[^\n]*')


class Rows:
    def __init__(self, folder):
        self.families, aliases = {}, {}
        for file in sorted([*folder.glob("operators/*.yaml"), *folder.glob("libraries/*.yaml")]):
            for line in file.read_text().splitlines():
                if row := ROW.match(line):
                    if file.stem == "aliases":
                        aliases[row.group(1)] = row.group(2)
                    else:
                        self.families[row.group(1)] = file.stem
        for name, target in aliases.items():
            self.families |= {name: family for family in self.of(target)}

    def of(self, name):
        """The families of the rows that the name means: its own, or else its operator's, or else those of the overloads."""
        base = name.partition(".")[0]
        for key in (name, base, base.removesuffix("_")):
            if key in self.families:
                return {self.families[key]}
        return {family for row, family in self.families.items() if row.startswith(base + ".")}


def statements(body):
    """The statements of a function's body; a loop with its body is one."""
    start = depth = 0
    for match in re.finditer(r'"(?:[^"\\]|\\.)*"|[{}();]', body):
        sign = match.group()
        depth += (sign in "{(") - (sign in "})")
        if depth == 0 and (sign == ";" or sign == "}" and body[start:].lstrip().startswith("for ")):
            yield start, body[start:match.end()]
            start = match.end()


def registrations(text, kinds):
    """(line, kinds, name); without kinds: what can't be read"""
    text = COMMENT.sub(lambda match: match.group(1) or "", text)
    call = re.compile(rf"\bregistry\.({'|'.join(kinds)})\(|(?<!::)\bRegistry& (?!registry\b)\w+")
    tables = dict(TABLE.findall(text))
    line = lambda place: text.count("\n", 0, place) + 1
    read = set()
    for function in FUNCTION.finditer(text):
        for start, statement in statements(function.group("body")):
            start += function.start("body")
            place = line(start + len(statement) - len(statement.lstrip()))
            calls = {found.group(1) for found in call.finditer(statement)}
            read |= {start + found.start() for found in call.finditer(statement)}
            named = statement + "".join(tables.get(table, "") for table in re.findall(r": (\w+)\)", statement))
            names = NAME.findall(named)
            if calls and names:
                yield from ((place, calls, name) for name in names)
            elif calls or names and not TABLE.search(statement) and "registry." not in statement:
                yield place, None, statement
    yield from ((line(found.start()), None, found.group()) for found in call.finditer(text) if found.start() not in read)


def check(root, room, rows):
    found = [(file, *registration) for file in sorted((root / "src" / room).glob("*.cpp")) if file.stem != "registry"
             for registration in registrations(file.read_text(), KINDS[room])]
    for file, line, calls, name in found:
        stands_in = lambda family: f"{file.stem}_".startswith(f"{family}_")
        if calls is None:
            yield f"{file.relative_to(root)}:{line}: no names of operators can be read here: {' '.join(name.split())[:60]}"
        elif not all(stands_in(KINDS[room][call]) for call in calls):
            families = rows.of(name)
            if families and not any(map(stands_in, families)):
                yield f"{file.relative_to(root)}:{line}: {name} has its row in {', '.join(sorted(families))}.yaml"
    if len(found) < 100:
        yield f"src/{room}: {len(found)} operators were found: is this the project's root?"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", type=Path)
    parser.add_argument("rooms", nargs="*", default=list(KINDS), help="only these rooms")
    options = parser.parse_args()
    rows = Rows(options.root / "mappings")
    defects = [defect for room in options.rooms for defect in check(options.root, room, rows)]
    print(*defects, sep="\n")
    return 1 if defects else 0


if __name__ == "__main__":
    sys.exit(main())
