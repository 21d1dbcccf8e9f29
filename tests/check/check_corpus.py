#!/usr/bin/env python3
"""Verdicts on the operator corpus against what PyTorch's exporter did (baseline_dev.tsv.gz):

- what it exports at an opset isn't missing there, nor refused where ONNX Runtime can run what it exports and agrees with PyTorch;
- an argument that it refuses is refused by a condition of ours, or the row that the call selects says that it lifts the refusal.
"""
import argparse, collections, csv, gzip, json, pathlib, sys

from reports import refusals, reports

HERE = pathlib.Path(__file__).resolve().parent
OPSETS = [9, 11, 13, 17, 20]
NO_HANDLER = "UnsupportedOperatorError"  # the operator is missing there: no refusal of an argument


def runs(row):
    """What was exported is a model that means what PyTorch does, as far as can be told: bfloat16 came to ONNX with opset 13."""
    return row["ort"] == "match" or row["ort"] == "not_comparable" and (row["op"] != "bfloat16" or int(row["opset"]) >= 13)


def baseline(names):
    with gzip.open(HERE.parent / "corpus" / "baseline_dev.tsv.gz", "rt") as file:
        return [row for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE) if row["id"] in names]


def lifts(report):
    """Whether the row that some call selected says that it lifts a refusal."""
    return any("lifted" in row for op in report["operators"] for row in op["rows"])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    parser.add_argument("--corpus", type=pathlib.Path, required=True)
    options = parser.parse_args()
    cases = [json.loads(line) for line in (options.corpus / "index.jsonl").read_text().splitlines()]
    found = reports(options.program, [options.corpus / f"{case['id']}.pt" for case in cases], OPSETS)
    wrong, kinds = [], collections.Counter()
    for row in baseline({case["id"] for case in cases}):
        report = found.get((row["id"], int(row["opset"])))
        if report is None:
            wrong.append(f"{row['id']}: could not be read")
        elif row["export"] == "ok":
            kinds["exported by the reference"] += 1
            if refused := refusals(report, missing_only=not runs(row)):
                wrong.append(f"{row['id']} at {row['opset']}: the reference exports it; we say {'; '.join(refused[:2])}")
        elif NO_HANDLER not in row["error"]:
            kinds["refused by the reference"] += 1
            if report["verdict"] == "yes" and not lifts(report):
                rows = [row["place"] for op in report["operators"] for row in op["rows"]]
                wrong.append(
                    f"{row['id']} at {row['opset']}: the reference refuses it ({row['error'][:120]}); we convert it by {', '.join(rows)}, "
                    "no row of which says that it lifts that"
                )
    print(*wrong, sep="\n")
    print(*(f"{what}: {count}" for what, count in sorted(kinds.items())), sep="\n")
    print(f"{len(cases)} cases at {len(OPSETS)} opsets: {sum(kinds.values()) - len(wrong)} passed, {len(wrong)} failed")
    return 1 if wrong or not cases else 0


if __name__ == "__main__":
    sys.exit(main())
