#!/usr/bin/env python3
"""The JSON report of every model in models/, at one and at several opsets, fits the schema that `compatcheck schema`
prints, as what inspect and diff print fits theirs; and the same run prints the same bytes."""
import argparse, json, pathlib, subprocess, sys

import jsonschema

HERE = pathlib.Path(__file__).resolve().parent


def output(program, *arguments):
    return subprocess.run([program, *arguments], cwd=HERE / "models", capture_output=True, timeout=120).stdout


def validator_of(program, *command):
    schema = json.loads(output(program, "schema", *command))
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def check_tools(program):
    """inspect and diff; returns how many runs there were, and how many failed"""
    runs = [["inspect", path.name, *more] for path in sorted((HERE / "models").glob("*.onnx")) if path.stem not in ("cut", "unwritten")
            for more in ([], ["--weights"], ["--op", "Add"])]
    runs += [["inspect", "branch.ir"], ["inspect", "branch.ir", "--op", "aten::relu"], ["diff", "relu.ir", "branch.ir"], ["diff", "saved_before.json", "saved_after.json"],
             ["diff", "functions.onnx", "bodies.onnx"], ["diff", "relu.ir", "bodies.onnx"]]
    if not any(run[1].endswith(".onnx") for run in runs if run[0] == "inspect"):
        sys.exit("no ONNX files in tests/cli/models")
    validators = {command: validator_of(program, command) for command in ("inspect", "diff")}
    failed = 0
    for run in runs:
        text = output(program, *run, "--format", "json")
        errors = [error.message for error in validators[run[0]].iter_errors(json.loads(text))]
        if output(program, *run, "--format", "json") != text:
            errors.append("another run printed other bytes")
        if errors:
            failed += 1
            print(" ".join(run), *errors, sep="\n  ")
    return len(runs), failed


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    program = parser.parse_args().program
    validator = validator_of(program)
    models = sorted(path.name for path in (HERE / "models").glob("*.ir") if path.stem not in ("broken", "control_broken", "arity", "beyond"))
    runs = [[model, "--opset", opset] for model in models for opset in ("11", "7-9")] + [[*models, "--opset", "20", "--hash"]]
    runs += [["broken.ir"], ["broken.ir", "--opset", "9,11"], ["relu.ir", "broken.ir", "nosuch.pt"], ["broken.ir", "nosuch.pt"]]
    failed = 0
    for run in runs:
        text = output(program, *run, "--format", "json")
        errors = [error.message for error in validator.iter_errors(json.loads(text))]
        if output(program, *run, "--format", "json") != text:
            errors.append("another run printed other bytes")
        lines = output(program, *run, "--format", "jsonl").splitlines()
        report = json.loads(text)
        reported = {each["model"]["path"] for each in report.get("reports", [report])}
        if silent := [word for word in run if word.endswith((".ir", ".pt")) and word not in reported]:
            errors.append(f"nothing is said of {silent}")
        if [json.loads(line) for line in lines] != report.get("reports", [report]):
            errors.append("jsonl says something else than json")
        if errors:
            failed += 1
            print(" ".join(run), *errors, sep="\n  ")
    if not models:
        sys.exit("no graph texts in tests/cli/models")
    ran, wrong = check_tools(program)
    print(f"{len(runs) + ran - failed - wrong} passed, {failed + wrong} failed")
    return 1 if failed or wrong or not runs else 0


if __name__ == "__main__":
    sys.exit(main())
