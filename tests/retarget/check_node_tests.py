#!/usr/bin/env python3
"""The models of single nodes that the onnx package makes, converted to other opsets by `compatcheck convert`.

Each converted file passes onnx's checker, and ONNX Runtime computes from it what the test expects, or what it computes from the test's
own model. A file that can't be written must be refused with a finding. --forms: at their own opsets and at the newest one, for engines
that know only the operators of an older opset; `convert`, `check` and `check` of the written file agree on what is supported.
--report writes reports/retargeted.md, with onnx's own version_converter beside; the test of all cases (COMPATCHECK_WHOLE) demands that no
number there gets worse."""
import argparse, collections, concurrent.futures, json, pathlib, re, subprocess, sys, tempfile, warnings

import ml_dtypes  # noqa: F401  (numpy learns bfloat16 and its like)
import numpy
import onnx
import onnx.version_converter
import onnxruntime
from onnx.backend.test.case.node import collect_testcases

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "convert"))
import older_engine
from days import part_of_the_day

ENGINES = 8, 12, 15, 19     # of --forms: opsets whose operators they know
NEWEST = 26
TARGETS = 9, 11, 13, 17, 20, 23
OPSETS = range(7, 27)
PARTS = 48
REPORT = pathlib.Path(__file__).parents[2] / "reports" / "retargeted.md"
RANDOM = re.compile("bernoulli|random|training_dropout")
OUTCOMES = {"right": "ONNX Runtime computes what the test expects, or what it computes from the test's own model",
            "not run": "written; ONNX Runtime has no kernel for the node, before or after, or results are random",
            "refused": "not written, with a reason",
            "invalid": "written, but onnx's checker or ONNX Runtime refuses it",
            "wrong": "written, and computes something else"}


def opset_of(model):
    return next((entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx")), None)


def plain(value):
    return onnx.numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else value


def run(model, inputs):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    return session.run(None, {name: value for name, value in inputs.items() if value is not None})


def same(a, b, rtol=1e-3, atol=1e-5):
    if isinstance(b, list):
        return isinstance(a, list) and len(a) == len(b) and all(same(x, y) for x, y in zip(a, b))
    if a is None or b is None:
        return a is b
    a, b = numpy.asarray(a), numpy.asarray(b)
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if a.dtype.kind not in "fcV":
        return numpy.array_equal(a, b)
    half = a.dtype.itemsize <= 2
    tolerances = {"rtol": 1e-2, "atol": 2e-3} if half else {"rtol": rtol, "atol": atol}
    return numpy.allclose(a.astype(numpy.float64), b.astype(numpy.float64), **tolerances, equal_nan=True)


class Case:
    def __init__(self, case):
        self.name, self.bytes, self.opset = case.name, case.model.SerializeToString(), opset_of(case.model)
        data, expected = case.data_sets[0]
        self.inputs = {value.name: plain(given) for value, given in zip(case.model.graph.input, data)}
        self.expected = [plain(value) for value in expected]

    def own(self):
        """What ONNX Runtime computes from the test's own model; None if it doesn't run it."""
        if not hasattr(self, "own_"):
            try:
                self.own_ = run(self.bytes, self.inputs)
            except Exception:
                self.own_ = None
        return self.own_

    def judge(self, model):
        """The outcome of a converted model."""
        try:
            onnx.checker.check_model(onnx.load_from_string(model), full_check=True)
        except Exception as error:
            try:
                onnx.checker.check_model(onnx.load_from_string(self.bytes), full_check=True)
                return "invalid", str(error)
            except Exception:
                pass  # as the test's own model
        if RANDOM.search(self.name):
            return "not run", ""
        try:
            results = run(model, self.inputs)
        except Exception as error:
            return ("invalid", str(error)) if self.own() is not None else ("not run", "")
        if len(results) == len(self.expected) and all(map(same, results, self.expected)):
            return "right", ""
        own = self.own()
        if own is not None and all(map(same, results, own)):
            return "right", ""
        return "wrong", str([(numpy.shape(a), numpy.shape(b)) for a, b in zip(results, self.expected)])


def converted(program, case, target, folder):
    model, out = folder / f"{case.name}.onnx", folder / f"{case.name}.{target}.onnx"
    model.write_bytes(case.bytes)
    result = subprocess.run([program, "convert", model, "-o", out, "--opset", str(target), "--no-config"], capture_output=True, text=True)
    if result.returncode == 1 and re.search(r"CC00[125] ", result.stdout) and not out.exists():
        return "refused", ""
    if result.returncode:
        return "invalid", f"exit {result.returncode}: {result.stderr.strip()}"
    outcome = case.judge(out.read_bytes())
    if target == case.opset and out.read_bytes() != case.bytes:
        return "wrong", "the file's own opset changes it"
    out.unlink()
    return outcome


def said(report):
    """of the engine, without what is said of forms, which a file no longer shows"""
    keys = "support", "nodes", "supported", "unsupported", "unknown", "partitions", "operators"
    found = sorted((finding["id"], finding["message"], finding["nodes"]) for finding in report["findings"]
                   if finding["id"] not in ("CC106", "CC107"))
    return [{key: target[key] for key in keys} for target in report["targets"]], found


def in_forms(program, case, engine, opset, folder):
    """The outcome for an engine of an older opset, the reason, nodes in other forms, and unsupported nodes."""
    stem = folder / f"{case.name}.{engine}.{opset}"
    model, out, report = (stem.with_suffix(end) for end in (".onnx", ".out.onnx", ".json"))
    model.write_bytes(case.bytes)
    at, target = ["--opset", str(opset)] if opset else [], ["--target", str(folder / f"opset{engine}.yaml")]
    result = subprocess.run([program, "convert", model, "-o", out, *at, *target, "--no-config", "--report", report],
                            capture_output=True, text=True)
    if result.returncode == 1 and opset and re.search(r"CC00[125] ", result.stdout) and not out.exists():
        return "refused", "", 0, 0
    if result.returncode:
        return "invalid", f"exit {result.returncode}: {result.stderr.strip()}", 0, 0
    def check(file, *words):
        return json.loads(subprocess.run([program, "check", file, *words, *target, "--no-config", "--format", "json"],
                                         capture_output=True, text=True).stdout)
    converted = json.loads(report.read_text())
    checked, again = check(model, "--opset", str(opset or case.opset)), check(out)
    forms = sum(form["calls"] for summary in converted["targets"] for form in summary.get("older_forms", ()))
    after = converted["targets"][0]["unsupported"]
    written = out.read_bytes()
    outcome, why = case.judge(written)
    if not forms and not opset and written != case.bytes:
        outcome, why = "wrong", "no node has another form, but the file differs"
    elif any(converted[key] != checked[key] for key in ("targets", "findings")):
        outcome, why = "wrong", "check and convert report differently"
    elif said(converted) != said(again):
        outcome, why = "wrong", f"convert says {said(converted)}, check of its file {said(again)}"
    for file in (model, out, report):
        file.unlink()
    return outcome, why, forms, after


def check_forms(program, chosen):
    counts, replaced, unsupported, defects = collections.Counter(), 0, 0, []
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(2) as pool:
        for engine in ENGINES:
            older_engine.options(engine, pathlib.Path(folder))
        def attempt(case):
            made = Case(case)
            wanted = [(engine, None) for engine in ENGINES if engine < made.opset]
            if made.opset < NEWEST:
                wanted.append((ENGINES[len(made.name) % len(ENGINES)], NEWEST))
            return made, [(*one, *in_forms(program, made, *one, pathlib.Path(folder))) for one in wanted]
        for case, outcomes in pool.map(attempt, chosen):
            for engine, opset, outcome, why, forms, after in outcomes:
                counts[outcome] += 1
                replaced += forms
                unsupported += after
                if outcome in ("wrong", "invalid"):
                    defects.append(f"{case.name} of opset {case.opset} to {opset}, an engine of opset {engine}: {outcome}: {why}")
    print(*defects, sep="\n")
    print(f"{len(chosen)} models: {replaced} nodes in other forms, {unsupported} nodes unsupported; "
          + ", ".join(f"{counts[outcome]} {outcome}" for outcome in OUTCOMES))
    return 1 if defects or not replaced else 0


def by_onnx(case, target):
    try:
        model = onnx.version_converter.convert_version(onnx.load_from_string(case.bytes), target)
    except Exception:
        return "refused", ""
    return case.judge(model.SerializeToString())


def table(counts, title):
    lines = [f"## {title}", "", "| | " + " | ".join(f"to {target}" for target in TARGETS) + " |", "|---" * (len(TARGETS) + 1) + "|"]
    for outcome in OUTCOMES:
        lines.append(f"| {outcome} | " + " | ".join(str(counts[target, outcome]) for target in TARGETS) + " |")
    return lines


def numbers_of(text, title):
    rows = text.partition(f"## {title}\n")[2].partition("\n## ")[0]
    found = re.findall(r"^\| (\w[\w ]*) \| ([\d |]+)\|$", rows, re.MULTILINE)
    return {(target, outcome): int(number) for outcome, numbers in found for target, number in zip(TARGETS, numbers.split("|"))}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    parser.add_argument("--whole", action="store_true", help="all cases")
    parser.add_argument("--forms", action="store_true", help="for engines of older opsets")
    parser.add_argument("--report", action="store_true", help="write the report anew")
    parser.add_argument("--only", default="", help="cases whose names match")
    options = parser.parse_args()
    onnxruntime.set_default_logger_severity(4)
    warnings.simplefilter("ignore")
    cases = sorted((case for case in collect_testcases(None) if opset_of(case.model) in OPSETS and re.search(options.only, case.name)),
                   key=lambda case: case.name)
    whole = options.whole or options.report
    chosen = cases if whole or options.only else part_of_the_day(cases, "node_tests", PARTS * (3 if options.forms else 1))
    if options.forms:
        return check_forms(options.program, chosen)
    counts, theirs, defects = collections.Counter(), collections.Counter(), []
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(2) as pool:
        def attempt(case):
            made = Case(case)
            return made, [(target, *converted(options.program, made, target, pathlib.Path(folder))) for target in TARGETS]
        for case, outcomes in pool.map(attempt, chosen):
            for target, outcome, why in outcomes:
                counts[target, outcome] += 1
                if outcome in ("wrong", "invalid"):
                    defects.append(f"{case.name} of opset {case.opset} to {target}: {outcome}: {why}")
            if options.report:
                for target in TARGETS:
                    theirs[target, by_onnx(case, target)[0]] += 1
    print(*defects, sep="\n")
    ours = f"compatcheck, {len(chosen)} models"
    if options.report:
        REPORT.write_text("\n".join([
            "# ONNX files at other opsets", "",
            f"The {len(chosen)} models of single nodes that the onnx package {onnx.__version__} makes for opsets {OPSETS[0]} to",
            f"{OPSETS[-1]}, each converted to six opsets. `make retargeted` writes this page.", "",
            *(f"- *{outcome}*: {meaning}." for outcome, meaning in OUTCOMES.items()), "",
            *table(counts, "compatcheck"), "", *table(theirs, "onnx.version_converter"), ""]))
    elif whole and not options.only:
        stated = numbers_of(REPORT.read_text(), "compatcheck")
        for target in TARGETS:
            if counts[target, "right"] + counts[target, "not run"] < stated[target, "right"] + stated[target, "not run"]:
                defects.append(f"to {target}, fewer models are converted than reports/retargeted.md states")
                print(defects[-1])
    print(f"{ours}: " + ", ".join(f"{sum(counts[target, outcome] for target in TARGETS)} {outcome}" for outcome in OUTCOMES))
    return 1 if defects or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
