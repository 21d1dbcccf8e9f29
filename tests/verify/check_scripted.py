#!/usr/bin/env python3
"""Scripted programs: they verify, faults planted into their control flow are found, and a model that not all values fit is not
blamed for the values that verify makes."""
import argparse, sys, tempfile

import onnx
import torch

import planted_faults
import scripted_models as models
from running import Verify

# Kinds of faults by program: the first place that has such a fault is tried.
FOUND = {
    models.FirstAbove: ["no Not", "And swapped"],
    models.Words: ["Equal with a larger constant", "branches swapped", "no addition of 1"],
    models.Brackets: ["Equal with a larger constant", "Less at its edge", "Less with a larger constant", "branches swapped",
                      "carried values swapped"],
    models.RunLengths: ["branches swapped"],
    models.Collapse: ["branches swapped"],
    models.Tracker: ["Greater the other way round", "Greater with a larger constant", "branches swapped"],
    models.Hysteresis: ["Less the other way round", "Less at its edge", "Greater at its edge", "Greater with a larger constant", "no Not"],
    models.Events: ["Equal with a larger constant", "GreaterOrEqual at its edge", "GreaterOrEqual with a larger constant",
                    "no addition of 1"],
    models.Bank: ["Less at its edge", "Less with a larger constant", "no addition of 1"],
    models.Bisection: ["carried values swapped"],
    models.Switch: ["Equal with a larger constant", "Greater at its edge", "Greater with a larger constant", "Less at its edge"],
    models.Suppress: ["Greater with a larger constant", "one iteration fewer"],
    models.Stack: ["Equal with a larger constant"],
    models.Longest: ["carried values swapped", "no addition of 1"],
    models.Clip: ["Greater with a larger constant", "Less with a larger constant", "branches swapped"],
    models.Kinds: ["Less at its edge", "Less with a larger constant", "one iteration fewer", "no addition of 1"],
}
DIFFERENT = {"CC201", "CC202", "CC203", "CC205"}


def inputs(specs):
    return [word for spec in specs for word in ("--input", spec)]


def check_programs(verify):
    """Yields the files of each."""
    for program, specs in models.PROGRAMS.items():
        file = verify.save(program(), script=True)
        report = verify.run(program.__name__, 0, file, *inputs(specs))
        names = {name for spec in specs for name in spec.split(":")[1].split(",") if name.isalpha()}
        for dimension in report.get("dimensions", []):
            verify.expect(f"{program.__name__}: {dimension['name']} varies", dimension["variation"] == "alone", dimension)
            verify.expect(
                f"{program.__name__}: many sizes",
                {1, 5, 7, 12} <= {run["sizes"][dimension["name"]] for run in report["runs"]},
                report["runs"],
            )
        verify.expect(f"{program.__name__}: names", names == {each["name"] for each in report.get("dimensions", [])}, report)


def check_faults(verify):
    for program, kinds in FOUND.items():
        specs = inputs(models.PROGRAMS[program])
        file = verify.folder / f"{program.__name__}.pt"
        right = onnx.load(verify.convert(file, f"{program.__name__}.onnx", *specs))
        seen = set()
        for kind, wrong in planted_faults.faults(right):
            if kind not in kinds or kind in seen:
                continue
            bad = verify.folder / "bad.onnx"
            onnx.save(wrong, bad)
            seen.add(kind)
            verify.any_of(f"{program.__name__}: {kind}", DIFFERENT, file, bad)
        verify.expect(f"{program.__name__}: has these faults", seen == set(kinds), set(kinds) - seen)


def check_misfits(verify):
    for program, specs in ((models.Matching, ["asks=i64:n,n", "answers=i64:n,n"]), (models.Cycles, ["next=i64:n"]),
                           (models.RunsOn, ["next=i64:n"]), (models.CandidateTower, ["scores=i64:n", "items=f32:n,3"]),
                           (models.Falling, ["x=f32:n"])):
        file = verify.save(program(), script=True)
        for seed in range(4):
            report = verify.run(f"{program.__name__}, seed {seed}", 0, file, *inputs(specs), "--seed", seed)
            verify.expect(
                f"{program.__name__}: n varies", [each["variation"] for each in report.get("dimensions", [])] == ["alone"], report
            )
    file = verify.save(models.Rows(), script=True)
    for seed in range(4):
        report = verify.run(f"Rows, seed {seed}", 0, file, *inputs(["data=f32:m", "begins=i64:n"]), "--seed", seed)
        verify.expect("Rows: both vary", [each["variation"] for each in report.get("dimensions", [])] == ["alone"] * 2, report)


def check_refused(verify):
    """No values are found: the message names the option, and with an example the model verifies."""
    file = verify.save(models.Impossible(), script=True)
    verify.run("no values", 3, file, "--input", "ids=i64:n", says="add --inputs-from FILE, with an example that the model accepts")
    example = verify.folder / "ids.pt"
    torch.save({"ids": torch.tensor([0, 0, 4242])}, example)
    verify.run("an example", 0, file, "--inputs-from", example)

    file = verify.save(models.TwoOfThree(), script=True)
    report = verify.run("no values at other sizes", 0, file, "--input", "ids=i64:n", ids=["CC205"])
    for finding in report.get("findings", []):
        verify.expect("a warning", finding["severity"] == "warning", finding)
        verify.expect("no claim", "can't change" not in finding["message"] and "no values were found" in finding["message"], finding)
        verify.expect("the option", "--inputs-from FILE" in finding["help"], finding)


def check_ties(verify):
    file = verify.save(models.AlwaysTies(), script=True)
    report = verify.run("equal values in all runs", 1, file, "--input", "x=f32:n", ids=["CC201"])
    for finding in report.get("findings", []):
        verify.expect("the operator", "aten::topk at" in finding["help"] and "chooses among equal values" in finding["help"], finding)
        verify.expect("the option", "--inputs-from FILE" in finding["help"], finding)
    # Ties in some runs hide no fault.
    specs = inputs(["scores=i64:n", "items=f32:n,3"])
    file = verify.folder / "CandidateTower.pt"
    for kind, wrong in planted_faults.faults(onnx.load(verify.convert(file, "CandidateTower.onnx", *specs))):
        if kind in ("Greater the other way round", "branches swapped", "one iteration fewer"):
            onnx.save(wrong, verify.folder / "bad.onnx")
            verify.any_of(f"CandidateTower: {kind}", DIFFERENT, file, verify.folder / "bad.onnx")


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--program", required=True)
    with tempfile.TemporaryDirectory() as folder:
        verify = Verify(arguments.parse_args().program, folder)
        check_programs(verify)
        check_faults(verify)
        check_misfits(verify)
        check_refused(verify)
        check_ties(verify)
        return verify.end()


if __name__ == "__main__":
    sys.exit(main())
