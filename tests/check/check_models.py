#!/usr/bin/env python3
"""The tests' models: all can be read; what PyTorch's exporter converts at an opset is neither missing nor refused there, but
for writes in place; what has no mapping is reported with the file and line of the model's own source."""
import argparse, csv, json, pathlib, sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "convert"))
from days import part_of_the_day
from reports import refusals, reports

HERE = pathlib.Path(__file__).resolve().parent
OPSETS = [9, 11, 13, 17, 20]
ALONE = [9, 13, 20]


def wrongly_refused(found):
    with open(HERE.parent / "models" / "reference.tsv") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    for row in rows:
        report = found.get((row["model"], int(row["opset"])))
        if row["export"] != "ok" or not report:
            continue
        if refused := refusals(report):
            yield f"{row['model']} at opset {row['opset']}: PyTorch's exporter converts it; we say {'; '.join(refused[:3])}"


def unmarked(model, found):
    for mark in model["marks"]:
        if not mark["missing"]:
            continue
        below = mark["available_from"] or 99
        for opset in (o for o in OPSETS if o < below):
            sites = [site for f in found[model["name"], opset]["findings"]
                     if f["op"] == mark["operator"] or f["id"] == "CC006" for site in f["sites"]]
            if not any(site["file"].endswith(mark["file"]) and site["line"] == mark["line"] for site in sites):
                places = sorted({f"{site['file']}:{site['line']}" for site in sites})
                where = f"{mark['file']}:{mark['line']}, is at {places}"
                yield f"{model['name']} at opset {opset}: {mark['operator']} should be reported at {where}"


# What is remembered of one opset holds at another where nothing differs that was asked for.
def different_alone(program, files, found):
    for opset in ALONE:
        for (name, at), report in reports(program, files, [opset]).items():
            if report != found[name, at]:
                said = lambda report: f"{report['verdict']}, {[f['message'] for f in report['findings']]}"
                yield f"{name} at opset {at}: asked alone it says {said(report)}; among others {said(found[name, at])}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    parser.add_argument("--models", type=pathlib.Path, required=True)
    options = parser.parse_args()
    models = part_of_the_day(json.loads((options.models / "index.json").read_text())["models"], "check", 2)
    files = [options.models / model["file"] for model in models]
    found = reports(options.program, files, OPSETS)
    wrong = [f"{model['name']}: could not be read" for model in models if (model["name"], OPSETS[0]) not in found]
    wrong += wrongly_refused(found)
    wrong += different_alone(options.program, files, found)
    for model in models:
        if (model["name"], OPSETS[0]) in found:
            wrong += unmarked(model, found)
    print(*wrong, sep="\n")
    print(f"{len(models)} models: {len(found)} passed, {len(wrong)} failed")
    return 1 if wrong or not models else 0


if __name__ == "__main__":
    sys.exit(main())
