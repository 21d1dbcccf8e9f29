#!/usr/bin/env python3
"""Every operator with a row in mappings/operators or mappings/libraries has a test: a case of the operator corpus (reports/coverage.tsv), a line of
<family>.txt that says what is expected, or a place in elsewhere.yaml. `make test` runs each of them wherever another entry of the row holds
(deciding.py). A line stands in the file of the family that has a row of one of its operators; other names of an operator belong to its
family, too. docs/libraries.md names the operators of libraries.

    check_tested.py
"""
import collections, pathlib, re, sys

import yaml

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(ROOT / "tests/corpus")]
import coverage
import run_operators
from deciding import row_files


def rows():
    """operator → family; operator → the one of which it is another name"""
    families, aliases = {}, {}
    for file in row_files():
        for name, row in yaml.safe_load(file.read_text()).items():
            families[name] = file.stem
            if isinstance(row, dict) and "alias" in row:
                aliases[name] = row["alias"]
    return families, aliases


def base(name):
    return name.partition(".")[0]


def untested(table, tested):
    """Rows of an overload are tested by calls of that overload, rows of an operator by any of its calls, in place too."""
    names = {base(name) for name in tested}
    return [name for name in table if (name not in tested if "." in name else not names & {name, name + "_"})]


def elsewhere():
    """operator → the file that tests it; problems"""
    places, problems = {}, []
    for file, entry in yaml.safe_load((HERE / "elsewhere.yaml").read_text()).items():
        text = (ROOT / file).read_text()
        places |= dict.fromkeys(entry["operators"], file)
        problems += [f"{op}: no word of it in {file}" for op in entry["operators"] if not mentions(text, op)]
    return places, problems


def undocumented():
    """Where docs/libraries.md doesn't name the operators of a library as the rows have them: those that convert, and those that don't."""
    page = (ROOT / "docs/libraries.md").read_text()
    for file in row_files():
        if file.parent.name != "libraries":
            continue
        rows = yaml.safe_load(file.read_text())
        refused = {name for name, row in rows.items() if "missing" in row}
        cells = re.search(rf"^\| {file.stem} \| (.*) \| (.*) \|$", page, re.MULTILINE)
        found = [set(re.findall(r"`([^`]+)`", cell)) for cell in cells.groups()] if cells else []
        if found != [rows.keys() - refused, refused]:
            yield f"docs/libraries.md: the line of {file.stem} must name {sorted(rows.keys() - refused)} and {sorted(refused)}"


def mentions(text, op):
    name = base(op).partition("::")[2]
    generic = re.sub(r"(?<=[a-z])[123](?=d)", "{n}", name)   # f"conv{n}d_dynamic"
    return any(re.search(rf"\b{re.escape(word)}\b", text) for word in (name, generic)) or name.startswith("quantized_") and name[10:].upper() in text


def main():
    run_operators.load_torchvision()
    run_operators.library_references.register()
    (table, aliases), tested, problems = rows(), set(), []
    for op in coverage.read(ROOT / "reports" / coverage.TABLE).operators.values():
        tested |= set(op.overloads)
    families = collections.defaultdict(set)   # the operator's name alone → families
    for name, family in table.items():
        families[base(name)].add(family)
    for name, target in aliases.items():
        families[base(name)] |= families[base(target)]
    lines = list(run_operators.read_lines(run_operators.call_graphs.files()))
    for line in lines:
        called = set().union(*(run_operators.overloads_of(case) for case in run_operators.cases_of([line])))
        tested |= called if line.expected else set()
        homes = set().union(*(families.get(base(op), families.get(base(op).removesuffix("_"), set())) for op in called))
        if line.file.stem not in homes:
            problems.append(f"{line.file.name}:{line.number} {line.call}: the rows of its operators stand in {', '.join(sorted(homes))}")
    places, more = elsewhere()
    problems += [*more, *undocumented()]
    missing = set(untested(table, tested))
    problems += [f"{name}: no case in the corpus, no line with an expectation in tests/operators/{table[name]}.txt"
                 for name in sorted(missing - places.keys())]
    problems += [f"{name}: elsewhere.yaml names it, but it has no row or another test" for name in sorted(places.keys() - missing)]
    print(*problems, sep="\n")
    print(f"{len(table)} operators with rows, {len(lines)} lines, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
