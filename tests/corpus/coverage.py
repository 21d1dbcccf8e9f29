#!/usr/bin/env python3
"""The committed coverage of the operator corpus: reports/coverage.tsv, and reports/coverage.md, which is made of it.

    coverage.py            writes the page anew
    coverage.py --check    exits with 1 if the page isn't that of the table, or the table isn't as it would be written

The table has one line for each operator of PyTorch's operator database, sorted by name, and one column for each opset. The column `cases`
lists the operator's cases without its name ("-float32-0"). A cell counts their outcomes in that order, a letter for each: "3m2r" says that
three cases match and the next two are refused. `why not` holds the most frequent reasons, separated by " | ", the most frequent first.
"""
import argparse, collections, csv, dataclasses, difflib, gzip, itertools, pathlib, re, sys

HERE = pathlib.Path(__file__).parent
REPORTS = HERE.parents[1] / "reports"
TABLE, PAGE = "coverage.tsv", "coverage.md"
OUTCOMES = ("match", "refused", "needs_input", "runtime", "wrong", "no_oracle", "disagree", "error", "crash")
LETTERS = dict(zip(OUTCOMES, "mrnuwodex"))
NAMES = {letter: name for name, letter in LETTERS.items()}
BASELINE_OPSETS = (9, 11, 13, 17, 20)
PAGE_OPSETS = (7, 9, 11, 13, 17, 20, 23, 26)
MOST_REASONS = 5
LONGEST_REASON = 160
BETWEEN = " | "


@dataclasses.dataclass
class Operator:
    overloads: list   # the operators of PyTorch in its cases
    cases: dict       # id → a letter for each opset
    reasons: list     # why not, the most frequent first

    def matches(self, place):
        return sum(letters[place] == LETTERS["match"] for letters in self.cases.values())


@dataclasses.dataclass
class Coverage:
    opsets: list
    operators: dict   # name → Operator

    def cases(self):
        """id → opset → outcome"""
        return {case: dict(zip(self.opsets, map(NAMES.get, letters))) for op in self.operators.values() for case, letters in op.cases.items()}


def shortened(letters):
    return "".join(f"{len(list(run))}{letter}" for letter, run in itertools.groupby(letters))


def spelled(cell):
    return "".join(letter * int(count) for count, letter in re.findall(r"(\d+)(\w)", cell))


def table_of(coverage):
    lines = ["\t".join(["operator", "overloads", "cases", *map(str, coverage.opsets), "why not"])]
    for name, op in sorted(coverage.operators.items()):
        cells = [shortened(letters[i] for letters in op.cases.values()) for i in range(len(coverage.opsets))]
        lines.append("\t".join([name, " ".join(op.overloads), " ".join(case.removeprefix(name + "-") for case in op.cases), *cells, BETWEEN.join(op.reasons)]))
    return "\n".join(lines) + "\n"


def read(path):
    head, *lines = pathlib.Path(path).read_text().splitlines()
    opsets = [int(opset) for opset in head.split("\t")[3:-1]]
    operators = {}
    for name, overloads, cases, *cells, reasons in (line.split("\t") for line in lines):
        letters = map("".join, zip(*map(spelled, cells)))
        operators[name] = Operator(overloads.split(), dict(zip((f"{name}-{case}" for case in cases.split()), letters, strict=True)),
                                   reasons.split(BETWEEN) if reasons else [])
    return Coverage(opsets, operators)


def read_baseline(path=HERE / "baseline_dev.tsv.gz"):
    """id → opset → what the reference exporter's model does"""
    found = collections.defaultdict(dict)
    with gzip.open(path, "rt") as file:
        for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            found[row["id"]][int(row["opset"])] = row["ort"] if row["export"] == "ok" else "not exported"
    return found


def page_of(coverage, baseline):
    def reference(cases, opset):
        return sum(baseline[case].get(opset) == "match" for case in cases)

    cases = coverage.cases()
    lines = ["# Coverage of the operator corpus", "",
             "Written by `make corpus`: every case of PyTorch's operator database that the development split holds, converted at every opset and run in",
             "ONNX Runtime against TorchScript on four sets of inputs. A match is right on all four. The reference is `torch.onnx.export(dynamo=False)`.",
             "[coverage.tsv](coverage.tsv) has the outcome of each case at each opset.", "",
             "| opset | " + " | ".join(OUTCOMES) + " | the reference matches |", "|---|" + "---|" * (len(OUTCOMES) + 1)]
    for opset in coverage.opsets:
        count = collections.Counter(outcomes[opset] for outcomes in cases.values())
        matched = f"{reference(cases, opset):,}" if opset in BASELINE_OPSETS else ""
        lines.append(f"| {opset} | " + " | ".join(f"{count[outcome]:,}" for outcome in OUTCOMES) + f" | {matched} |")
    lines += ["", "By operator: matches of its cases at each opset, in brackets those of the reference.", "",
              "| operator | cases | " + " | ".join(map(str, PAGE_OPSETS)) + " | why not, at most |", "|---|---|" + "---|" * (len(PAGE_OPSETS) + 1)]
    for name, op in sorted(coverage.operators.items()):
        cells = []
        for opset in PAGE_OPSETS:
            cell = str(op.matches(coverage.opsets.index(opset)))
            cells.append(f"{cell} ({reference(op.cases, opset)})" if opset in BASELINE_OPSETS else cell)
        reason = (op.reasons or [""])[0].replace("|", "\\|")
        lines.append(f"| {name} | {len(op.cases)} | " + " | ".join(cells) + f" | {reason[:LONGEST_REASON]} |")
    return "\n".join(lines) + "\n"


def made(cases, letters, results, opsets):
    """Coverage of cases of the corpus's index; id → letters; id → results with opset, outcome and detail."""
    operators, reasons = {}, collections.defaultdict(collections.Counter)
    for case in sorted(cases, key=lambda case: case["id"]):
        op = operators.setdefault(case["op"], Operator([], {}, []))
        op.overloads = sorted({*op.overloads, *case["overloads"]})
        op.cases[case["id"]] = letters[case["id"]]
        for result in results[case["id"]]:
            if result["outcome"] != "match":
                reasons[case["op"]][f"{result['outcome']}: " + " ".join(result["detail"].split())] += 1
    for name, counts in reasons.items():
        operators[name].reasons = [reason.replace(BETWEEN, " / ") for reason, _ in counts.most_common(MOST_REASONS)]
    return Coverage(list(opsets), operators)


def write(folder, coverage, baseline):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / TABLE).write_text(table_of(coverage))
    (folder / PAGE).write_text(page_of(coverage, baseline))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    coverage = read(REPORTS / TABLE)
    texts = {TABLE: table_of(coverage), PAGE: page_of(coverage, read_baseline())}
    if not arguments.check:
        (REPORTS / PAGE).write_text(texts[PAGE])
        return 0
    differ = [line for name, text in texts.items()
              for line in difflib.unified_diff((REPORTS / name).read_text().splitlines(), text.splitlines(), f"reports/{name}", "as it would be written", lineterm="", n=0)]
    print(*differ[:40], sep="\n")
    if differ:
        print("tests/corpus/coverage.py writes the page anew, `make corpus` both files")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
