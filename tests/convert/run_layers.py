#!/usr/bin/env python3
"""Converts small modules, traced or scripted in layers_*.py, and compares ONNX Runtime with PyTorch: what the operator corpus lacks.

    run_layers.py --program BUILD/tests/convert_cases --helper BUILD/libexec/compatcheck-torchscript --cache DIR [--modules layers_lists,…]
                  [--cases REGEX] [--opsets day|all|9,17] [--engine-of OPSET] [--all-lines] [--keep DIR]

layer_store.py makes the cases and keeps them. A case states what happens at each opset: it matches PyTorch, it is refused, or ONNX Runtime
has no kernel for it; script_outcomes.tsv states it for scripted programs. Any other outcome fails, a better one too: the case then states it.
--opsets day: 17 and another one, which depends on the day and the module. Where a module is the only test of some operators
(tests/operators/elsewhere.yaml), also the opsets from which on another entry of their rows holds. --engine-of: in the forms that an engine
takes which knows only the operators of that opset.
"""
import argparse, collections, json, os, pathlib, re, subprocess, sys, tempfile

import numpy as np

sys.path[:0] = [str(pathlib.Path(__file__).parent), str(pathlib.Path(__file__).parents[1] / "operators")]
import layer_store
import older_engine
from compare_arrays import compare
from days import opset_of_the_day
from deciding import elsewhere, starts
from same_model import Seen

OPSETS = range(7, 27)
MATCH, REFUSED, NO_KERNEL, NO_SIZES = "match", "refused", "without a kernel", "two sizes of 0"
# Refusals that nobody may expect: they stand for code that is missing.
NEVER_EXPECTED = ("no C++ handler writes",)
# Name: the first opset at which the program converts, or "refused". What is refused though ONNX could hold it stands there, too: it
# must not convert to something else.
OUTCOMES = dict(line.split("\t") for line in (pathlib.Path(__file__).parent / "script_outcomes.tsv").read_text().splitlines())


def settled(name, case):
    """With what script_outcomes.tsv says."""
    if case.opsets is None:
        outcome = OUTCOMES[name]
        case.opsets = [] if outcome == "refused" else list(range(int(outcome), 27))
        if outcome == "refused":
            case.needs = case.needs or "the verdict depends on"
    return case


def expected(case, opset):
    return REFUSED if opset not in case.opsets else NO_KERNEL if opset not in case.runs else MATCH if opset in case.zeros else NO_SIZES


def compare_nones(got, want):
    """What differs in which outputs are None; an Optional tuple is one None in PyTorch and one for each member in ONNX Runtime."""
    pattern = lambda values: re.sub("N+", "N", "".join("N" if value is None else "v" for value in values))
    return "" if pattern(got) == pattern(want) else f"None in other outputs: {pattern(got)} for {pattern(want)}"


def compare_within(got, want, tolerance):
    if len(got) != len(want):
        return f"{len(got)} outputs for {len(want)}"
    rtol, atol = tolerance
    for g, w in zip(got, want):
        if g.shape != w.shape or g.dtype != w.dtype or not np.allclose(g, w, rtol=rtol, atol=atol, equal_nan=True):
            return f"{g.shape} {g.dtype} for {w.shape} {w.dtype}, off by {np.max(np.abs(g - w)) if g.shape == w.shape else 'shape'}"
    return ""


def check(case, file):
    import onnxruntime
    onnxruntime.set_default_logger_severity(4)
    session = onnxruntime.InferenceSession(str(file), providers=["CPUExecutionProvider"])
    names = [i.name for i in session.get_inputs()]
    for number, (given, results) in enumerate(case.runs_of):
        if isinstance(results, str):
            return f"inputs {number}: PyTorch: {results}"
        feed = dict(zip(names, given)) if len(names) == len(given) else {n: given[int(n.rsplit("_", 1)[1])] for n in names}
        got = session.run(None, feed)
        if any(output.type.startswith("optional(") for output in session.get_outputs()):
            if difference := compare_nones(got, results):
                return f"inputs {number}: {difference}"
            got = [g for g in got if g is not None]
        want = [result for result in results if result is not None]
        got = [member for g in got for member in (g if isinstance(g, list) else [g])]  # a sequence counts as its members, as a list does
        if difference := compare_within(got, want, case.tolerance) if case.tolerance else compare(got, want, ()):
            return f"inputs {number}: {difference}"
    return ""


def outcome_of(case, result, file, seen):
    """(outcome, detail)"""
    detail = result.get("reason", "")
    if result["outcome"] != "converted":
        named = any(words in detail for words in case.refused.split(" | ")) and not any(words in detail for words in NEVER_EXPECTED)
        in_need = result["outcome"] == "needs_input" and case.needs and case.needs in detail
        return (REFUSED if in_need or result["outcome"] == "refused" and named else result["outcome"] + " for another reason"), detail
    return seen.outcome(file, lambda: compared_outcome(case, file))


def compared_outcome(case, file):
    try:
        detail = check(case, file)
    except Exception as error:
        detail = str(error)[:600]
        # ONNX Runtime quantizes the bias of a quantized ConvTranspose by Round, at opset 10 too, which has no Round.
        known = {"NOT_IMPLEMENTED": NO_KERNEL, "No Op registered for Round": NO_KERNEL, "dimension can be -1": NO_SIZES, "size != 0": NO_SIZES}
        return next((outcome for words, outcome in known.items() if words in detail), "runtime error"), detail
    return ("wrong" if detail else MATCH), detail


def run_module(arguments, module, folder, counts):
    """How many outcomes aren't as expected."""
    stored, cases = layer_store.cases(module, arguments.cache)
    cases = {name: settled(name, case) for name, case in cases.items() if re.search(arguments.cases, name)}
    if not cases:
        return 0
    of_day = {17, opset_of_the_day(module), *starts(elsewhere().get(f"tests/convert/{module}.py", ()))}
    opsets = {"all": OPSETS, "day": sorted(of_day)}.get(arguments.opsets) or [int(o) for o in arguments.opsets.split(",")]
    lines = "".join("\t".join([f"{stored / name}.pt", *case.specs]) + "\n" for name, case in cases.items())
    command = [arguments.program, arguments.helper, str(folder), ",".join(map(str, opsets)), *older_engine.options(arguments.engine_of, folder)]
    done = subprocess.run(command, text=True, capture_output=True, input=lines)
    if done.returncode:
        sys.exit(f"convert_cases ended with {done.returncode}: {done.stderr}")
    results = {(result["id"], result["opset"]): result for result in map(json.loads, done.stdout.splitlines())}
    bad = 0
    for name, case in cases.items():
        seen = Seen()
        for opset in (opset for opset in opsets if opset not in case.untried):
            result = results.get((name, opset)) or results.get((name, 0)) or {"outcome": "lost"}
            outcome, detail = outcome_of(case, result, folder / f"{name}@{opset}.onnx", seen)
            wanted = expected(case, opset)
            counts[outcome] += 1
            if arguments.engine_of and {outcome, wanted} <= {MATCH, NO_KERNEL, NO_SIZES}:
                continue   # the operators of another form
            bad += outcome != wanted
            if outcome != wanted or arguments.all_lines and outcome != MATCH:
                print(f"{outcome.upper()} {name} @{opset} {detail}" + (f"   [expected: {wanted}]" if outcome != wanted else ""))
    return bad


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    parser.add_argument("--helper", required=True)
    parser.add_argument("--cache", default=os.environ.get("COMPATCHECK_CACHE"), required="COMPATCHECK_CACHE" not in os.environ)
    parser.add_argument("--modules", default="", help="the files, without .py; all if none is named")
    parser.add_argument("--cases", default="")
    parser.add_argument("--opsets", default="day")
    parser.add_argument("--engine-of", type=int)
    parser.add_argument("--keep")
    parser.add_argument("--all-lines", action="store_true")
    arguments = parser.parse_args()
    modules = arguments.modules.split(",") if arguments.modules else layer_store.modules()
    counts, bad = collections.Counter(), 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(arguments.keep or temporary)
        for module in modules:
            bad += run_module(arguments, module, folder, counts)
    if not counts:
        sys.exit("no such cases")
    print(", ".join(f"{n} {what}" for what, n in sorted(counts.items())) + (f"; {bad} are not as expected" if bad else ""))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
