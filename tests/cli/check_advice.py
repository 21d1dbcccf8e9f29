#!/usr/bin/env python3
"""Advice is tried: every help text of a finding that names an opset, a command or a row is followed, and what it promises happens.
The findings are those of the graphs in models/ at several opsets; the tables' own hints that name an opset are held against the
tables' histories."""
import argparse, json, pathlib, re, subprocess, sys, tempfile

import yaml

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
MODELS = HERE / "models"
TABLES = HERE.parents[1] / "mappings"
OPSETS = (7, 9, 11, 17)
FACTS = "for example (\\[[^]]*\\]|\\w+)"


class Tool:
    def __init__(self, program, folder):
        self.program, self.folder = program, pathlib.Path(folder)

    def run(self, *words):
        return subprocess.run([self.program, *map(str, words)], cwd=MODELS, capture_output=True, text=True, timeout=120)

    def report(self, *words):
        made = self.run("check", *words, "--format", "json")
        assert made.returncode in (0, 1), (words, made.stderr)
        return json.loads(made.stdout)


def key(finding, site):
    return finding["op"], finding["overload"], site["index"]


def failures(report):
    return {key(finding, site) for finding in report["findings"] if finding["severity"] == "error" and finding["id"] != "CC006"
            for site in finding["sites"]}


def filled(tool, op, text):
    """The row with a word in the place of TODO: one that the scaffold gives as an example."""
    if "TODO" not in text:
        return text
    made = tool.run("explain", op, "--scaffold", "yaml")
    found = re.search("facts: TODO   # " + FACTS, made.stdout)
    return text.replace("TODO", found[1] if found else "same")


def try_opset(tool, model, opset, finding):
    """`--opset N`: the calls convert there."""
    named = re.match(r"--opset (\d+)", finding["help"])
    if not named:
        return 0
    assert finding["available_from"] == int(named[1]), finding
    there = failures(tool.report(model, "--opset", named[1]))
    left = [site for site in finding["sites"] if key(finding, site) in there]
    assert not left, f"{model} at {opset}: {finding['op']}: opset {named[1]} doesn't help: {left}"
    return 1


def try_commands(tool, finding):
    """`compatcheck ...` in backticks runs; what a scaffold prints is what lint takes, once it is filled in."""
    tried = 0
    for command in re.findall(r"`compatcheck ([^`]*)`", finding["help"]):
        if command == "verify":
            continue
        made = tool.run(*command.split())
        assert made.returncode == 0 and made.stdout, (command, made.stderr)
        tried += 1
        if not command.endswith("--scaffold yaml"):
            continue
        rows = tool.folder / "scaffold.yaml"
        text = re.sub(r"facts: TODO   # " + FACTS, lambda found: f"facts: {found[1]}   #", made.stdout)
        rows.write_text(text)
        checked = tool.run("lint", rows)
        assert checked.returncode == 0, (command, checked.stdout, checked.stderr)
        if "TODO" in made.stdout:
            rows.write_text(made.stdout)
            checked = tool.run("lint", rows)
            assert checked.returncode == 1 and "TODO" in checked.stdout + checked.stderr, (command, checked.stdout)
    return tried


def try_row(tool, model, opset, finding):
    """The printed row, once its facts are filled in, maps the operator."""
    if not finding.get("row"):
        return 0
    rows = tool.folder / "row.yaml"
    name = finding["op"] + ("." + finding["overload"] if finding["op"] == "prim::PythonOp" else "")
    rows.write_text(filled(tool, name, finding["row"]) + "\n")
    report = tool.report(model, "--opset", opset, "--mappings", rows)
    left = [each for each in report["findings"] if (each["op"], each["overload"]) == (finding["op"], finding["overload"]) and
            each["id"] in ("CC001", "CC002", "CC003", "CC011")]
    assert not left, f"{model} at {opset}: the row doesn't map the operator: {finding['row']}: {left}"
    if "TODO" in finding["row"]:
        rows.write_text(finding["row"] + "\n")
        made = tool.run("check", model, "--opset", opset, "--mappings", rows)
        assert made.returncode == 2 and "TODO" in made.stderr, (finding["row"], made.stderr)
    return 1


def try_input(tool, model, opset, finding):
    """The options that CC006 prints, unchanged, and the opset that it names settle the input."""
    if finding["id"] != "CC006":
        return 0
    of_input = lambda report: [each for each in report["findings"] if each["id"] == "CC006" and each["input"] == finding["input"]]
    advice = re.sub(r",? or numbers as sizes,\s+such as --input \S+", "", finding["help"])   # whose sizes are an example
    options = [re.sub(r"SCALE,ZERO_POINT", "0.5,128", option) for option in re.findall(r"--input (\S+)", advice)]
    words = [word for option in options for word in ("--input", option)]
    if options and " or --input" not in advice:
        left = of_input(tool.report(model, "--opset", opset, *words))
        assert not left, f"{model} at {opset}: {words} doesn't settle input {finding['input']}: {left}"
    named = re.search(r", or --opset (\d+)$", advice)
    assert (finding["available_from"] is not None) == bool(named), finding
    if named:
        assert not of_input(tool.report(model, "--opset", named[1])), f"{model} at {opset}: opset {named[1]} doesn't settle the input"
    return len(options)


def try_plugin(tool, op):
    """The plugin that a scaffold prints names the same operator and leaves the same to fill in."""
    made = tool.run("explain", op, "--scaffold", "plugin")
    assert made.returncode == 0 and op in made.stdout, (op, made.stderr)
    assert ".facts = \"pointwise\"" not in made.stdout, made.stdout


def check_scaffolds(tool):
    """Plugins that scaffolds print are compiled and loaded; what is shipped of an operator's facts isn't asked for."""
    shipped = ("aten::topk", "aten::max_pool2d", "aten::einsum", "aten::lstm", "aten::index_put_", "aten::gelu")
    for op in shipped:
        made = tool.run("explain", op, "--scaffold", "yaml")
        assert made.returncode == 0 and "TODO" not in made.stdout, (op, made.stdout)
        rows = tool.folder / "shipped.yaml"
        rows.write_text(made.stdout)
        checked = tool.run("lint", rows)
        assert checked.returncode == 0, (op, checked.stdout, checked.stderr)
    for op, todo in (("aten::topk", False), ("aten::linalg_pinv", False), ("acme::fused", True)):
        made = tool.run("explain", op, "--scaffold", "plugin")
        assert made.returncode == 0, (op, made.stderr)
        source, library = tool.folder / "plugin.cpp", tool.folder / "plugin.so"
        assert ("TODO" in made.stdout) == todo, (op, made.stdout)
        source.write_text(made.stdout.replace('"TODO"', '"same"'))
        subprocess.run(["g++", "-std=c++20", "-O0", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-I", HERE.parents[1] / "include", "-o", library, source], check=True)
        loaded = tool.run("check", "relu.ir", "--plugin", library)
        assert loaded.returncode == 0, (op, loaded.stdout, loaded.stderr)
        if todo:
            source.write_text(made.stdout)
            subprocess.run(["g++", "-std=c++20", "-O0", "-shared", "-fPIC", "-I", HERE.parents[1] / "include", "-o", library, source], check=True)
            loaded = tool.run("check", "relu.ir", "--plugin", library)
            assert loaded.returncode == 2 and "TODO" in loaded.stderr, (op, loaded.stderr)


def check_complex_rows(tool):
    """A row for complex tensors is refused with the word that helps, and converts with it."""
    model, rows = tool.folder / "eigenvalues.ir", tool.folder / "eigenvalues.yaml"
    model.write_text("graph(%x : Float(3, 3, strides=[3, 1], device=cpu)):\n  %y : Tensor = aten::linalg_eigvals(%x)\n"
                     "  %z : Tensor = aten::abs(%y)\n  return (%z)\n")
    made = tool.run("explain", "aten::linalg_eigvals", "--scaffold", "yaml")
    assert "complex: true" in made.stdout, made.stdout
    rows.write_text(made.stdout)
    (finding,) = [each for each in tool.report(model, "--mappings", rows)["findings"] if each["severity"] == "error"]
    assert finding["id"] == "CC005" and "`complex: true`" in finding["help"], finding
    assert made.stdout.count("    inputs: [self]\n") == 1, made.stdout
    rows.write_text(made.stdout.replace("    inputs: [self]\n", "    inputs: [self]\n    complex: true\n"))
    report = tool.report(model, "--mappings", rows)
    assert report["verdict"] == "yes", report["findings"]


def blocks(text, start):
    """The indented or fenced blocks that begin so."""
    return [block.replace("\n    ", "\n").strip() + "\n" for block in re.split(r"\n\n|```\w*\n", text) if block.strip().startswith(start)]


def check_printed_rows(tool):
    """Rows of README, of the guide and of rules' pages: lint finds nothing, and the operator converts."""
    pages = {name: (ROOT / name).read_text() for name in ("README.md", "docs/fix.md")}
    pages |= {rule: tool.run("explain", rule).stdout for rule in ("CC001", "CC003")}
    rows = tool.folder / "printed.yaml"
    for name, text in pages.items():
        op, model, opset = ("aten::linalg_pinv", "branch.ir", 9) if name == "CC001" else ("acme::fused_bias", "align.ir", 17)
        (row,) = blocks(text, "# mine.yaml" if name.endswith(".md") else op)
        rows.write_text(row)
        checked = tool.run("lint", rows)
        assert (checked.returncode, checked.stdout) == (0, "no defects\n"), (name, checked.stdout)
        left = [each for each in tool.report(model, "--opset", opset, "--mappings", rows)["findings"] if each["op"] == op and each["severity"] == "error"]
        assert not left, (name, left)


def check_stated_facts(tool):
    """A row whose facts don't fit, or that states none: the message blames the row, and its advice helps."""
    rows = tool.folder / "facts.yaml"
    row = 'acme::fused_bias: {{schema: "acme::fused_bias(Tensor x, Tensor bias) -> Tensor", {}9: {{to: acme.ops::FusedBias, inputs: [x, bias]}}}}\n'
    errors = lambda: [each for each in tool.report("align.ir", "--opset", 19, "--mappings", rows)["findings"] if each["op"] == "acme::fused_bias"]
    rows.write_text(row.format("facts: pointwise, "))
    (finding,) = errors()
    assert finding["id"] == "CC005" and finding["message"].startswith("`facts: pointwise` doesn't fit this call: "), finding
    assert finding["help"].startswith("correct the facts in your row"), finding
    rows.write_text(row.format(""))
    (finding,) = errors()
    assert finding["id"] == "CC005" and "such as `facts: same`" in finding["help"], finding
    checked = tool.run("lint", rows)
    assert checked.returncode == 0 and ": note: no `facts`: " in checked.stdout, checked.stdout
    rows.write_text(row.format("facts: same, "))
    assert not errors(), errors()


def check_later_row(tool):
    """A row that a user states from a higher opset on, and the one that a scaffold prints for the opset at hand."""
    rows = tool.folder / "later.yaml"
    for opset, rule in (None, "CC002"), (9, None):
        made = tool.run("explain", "aten::linalg_pinv", "--scaffold", "yaml", *(["--opset", opset] if opset else []))
        rows.write_text(made.stdout)
        found = [each for each in tool.report("branch.ir", "--opset", 9, "--mappings", rows)["findings"] if each["op"] == "aten::linalg_pinv" and each["severity"] == "error"]
        assert [each["id"] for each in found] == ([rule] if rule else []), (opset, found)
        if rule:
            assert found[0]["message"] == "your row for this operator holds only from opset 17", found
            assert "later.yaml:" in found[0]["help"], found


def check_graph_text(tool):
    """What the text of a graph lacks is added there, or found in the model's file: no row of a structural operator is asked for."""
    (finding,) = [each for each in tool.report("seen.ir")["findings"] if each["severity"] == "error"]
    assert "the type of `weight`" in finding["help"] and "such as Float(2, 8) instead of Tensor" in finding["help"], finding
    model = tool.folder / "stated.ir"
    model.write_text((MODELS / "seen.ir").read_text().replace("%weight : Tensor =", "%weight : Float(2, 8) ="))
    assert tool.report(model)["verdict"] == "yes"
    (finding,) = [each for each in tool.report("calls.ir")["findings"] if each["severity"] == "error"]
    assert finding["help"].startswith("check the model's file instead"), finding


def check_header_example(tool):
    """The plugin in the header's comment compiles as it is printed."""
    text = (ROOT / "include/compatcheck/plugin.h").read_text()
    lines = [line[5:] for line in text.splitlines() if line.startswith("//   ")]
    source = tool.folder / "example.cpp"
    source.write_text("\n".join(lines) + "\n")
    subprocess.run(["g++", "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-I", ROOT / "include", source], check=True)


def check_structural(tool):
    """No row describes a structural operator, and no scaffold is printed."""
    for form in "yaml", "plugin":
        made = tool.run("explain", "aten::_assert_async", "--scaffold", form)
        assert (made.returncode, made.stdout) == (2, "") and "structural operator" in made.stderr, made


def check_findings(tool):
    tried = {"opset": 0, "command": 0, "row": 0, "input": 0}
    for model in sorted(path.name for path in MODELS.glob("*.ir")):
        for opset in OPSETS:
            made = tool.run("check", model, "--opset", opset, "--format", "json")
            if made.returncode > 1:
                continue
            for finding in json.loads(made.stdout)["findings"]:
                assert "%" not in finding["message"] + finding["help"], finding
                tried["opset"] += try_opset(tool, model, opset, finding)
                tried["command"] += try_commands(tool, finding)
                tried["row"] += try_row(tool, model, opset, finding)
                tried["input"] += try_input(tool, model, opset, finding)
                assert not re.search("in the row of (prim::|aten::_assert)", finding["help"]), finding
                if finding.get("row") and not finding["op"].startswith("prim::"):
                    try_plugin(tool, finding["op"])
    print("advice that was followed:", tried)
    assert all(tried.values()), tried


def rows_of(entry):
    return [row if isinstance(row, dict) else {"to": row} for row in (entry if isinstance(entry, list) else [entry])]


def check_hints():
    """`hint: use opset N`: the history has an entry at N, one that maps the operator and doesn't refuse the same calls."""
    held = 0
    for table in sorted([*TABLES.glob("operators/*.yaml"), *TABLES.glob("libraries/*.yaml")]):
        for op, content in yaml.safe_load(table.read_text()).items():
            history = {opset: rows_of(entry) for opset, entry in content.items() if isinstance(opset, int)} if isinstance(content, dict) else {}
            for opset, rows in history.items():
                for row in rows:
                    named = re.match(r"use opset (\d+)", row.get("hint", ""))
                    if not named:
                        continue
                    held += 1
                    stated = int(named[1])
                    at = max(since for since in history if since <= stated)
                    assert at > opset, f"{op} at {opset}: the hint names opset {stated}, where nothing changes"
                    there = history[at]
                    assert any("missing" not in other and "refuse" not in other for other in there), f"{op}: no mapping at {stated}"
                    if "refuse" in row and row.get("when"):
                        same = [other for other in there if "refuse" in other and other.get("when") == row["when"]]
                        assert not same, f"{op}: opset {stated} refuses the same calls"
    print("hints of the tables that name an opset:", held)
    assert held > 100, held


def check_custom_opset(tool):
    """A domain that no row uses is an error that names the near one."""
    rows = tool.folder / "domain.yaml"
    rows.write_text("aten::relu: {9: {to: acme.ops::Relu, inputs: [self]}}\n")
    made = tool.run("check", "relu.ir", "--mappings", rows, "--custom-opset", "acme.opss=2")
    assert made.returncode == 2 and "did you mean `acme.ops`?" in made.stderr, made.stderr
    made = tool.run("check", "relu.ir", "--mappings", rows, "--custom-opset", "acme.ops=2")
    assert made.returncode == 0, made.stderr
    made = tool.run("check", "relu.ir", "--custom-opset", "acme.ops=2")
    assert made.returncode == 2 and "no row uses the domain" in made.stderr, made.stderr


def check_unmapped(tool):
    """All arguments that a row leaves out are named at once."""
    rows, graph = tool.folder / "unspoken.yaml", tool.folder / "unspoken.ir"
    rows.write_text('acme::f: {schema: "acme::f(Tensor x, float a, int b, str c) -> Tensor", facts: same, 7: {to: acme::f, inputs: [x]}}\n')
    graph.write_text('graph(%x : Float(2, 3)):\n  %a : float = prim::Constant[value=0.5]()\n  %b : int = prim::Constant[value=2]()\n'
                     '  %c : str = prim::Constant[value="s"]()\n  %y : Tensor = acme::f(%x, %a, %b, %c)\n  return (%y)\n')
    (finding,) = [each for each in tool.report(graph, "--mappings", rows)["findings"] if each["severity"] == "error"]
    assert "arguments a, b, c" in finding["message"], finding


def check_results(tool):
    """A word for facts speaks for the first result; the row's finding says how a list speaks for all."""
    rows, graph = tool.folder / "results.yaml", tool.folder / "results.ir"
    graph.write_text("graph(%x : Float(4, 3)):\n  %a : Tensor, %b : Tensor = acme::halves(%x)\n  %y : Tensor = aten::add(%a, %b, %o)\n  return (%y)\n"
                     .replace("  %a", "  %o : int = prim::Constant[value=1]()\n  %a", 1))
    (finding,) = [each for each in tool.report(graph)["findings"] if each["severity"] == "error"]
    for facts, converts in (("same", False), ("[same, same]", True)):
        rows.write_text(finding["row"].replace("TODO", facts) + "\n")
        errors = [each for each in tool.report(graph, "--mappings", rows)["findings"] if each["severity"] == "error"]
        if converts:
            assert not errors, errors
        else:
            assert len(errors) == 1 and "a list with one word for each result, [same, " in errors[0]["help"], errors


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True, type=lambda path: str(pathlib.Path(path).resolve()))
    options = parser.parse_args()
    check_hints()
    with tempfile.TemporaryDirectory() as folder:
        tool = Tool(options.program, folder)
        check_custom_opset(tool)
        check_unmapped(tool)
        check_results(tool)
        check_scaffolds(tool)
        check_complex_rows(tool)
        check_structural(tool)
        check_printed_rows(tool)
        check_stated_facts(tool)
        check_later_row(tool)
        check_graph_text(tool)
        check_header_example(tool)
        check_findings(tool)
    return 0


if __name__ == "__main__":
    sys.exit(main())
