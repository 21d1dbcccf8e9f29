#!/usr/bin/env python3
"""Calls in the forms that engines take (--target): they compute the same, and everyone says the same about them.

    check_forms.py --program BUILD/compatcheck --cases BUILD/tests/convert_cases --helper BUILD/libexec/compatcheck-torchscript
                   --models DIR [--only REGEX] [--part-of-day N]

1. The operators' lines (tests/operators), at an opset, for an engine that knows only the operators of an older one: ONNX Runtime computes
   what libtorch does, and the report names what the file holds.
2. The tests' models, for shipped engines: `convert`, `check` of the model and `check` of the written file agree on every count and finding.
"""
import argparse, concurrent.futures, json, os, pathlib, re, subprocess, sys, tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "convert"), str(HERE.parent / "operators")]
import call_graphs
from days import number_of, part_of_the_day

# (opset, the engine's opset)
PAIRS = [(26, 9), (26, 22), (24, 20), (23, 16), (22, 18), (21, 12), (20, 15), (18, 10), (17, 13), (15, 9), (13, 8), (11, 7)]
ENGINES = ["tensorrt", "openvino", "ort-cpu", "mnn", "ort-webgpu", "ort-coreml"]
OPSETS = [11, 17, 20, 23]
LARGE = 20_000_000   # bytes of a model's file
FORM_RULES = ("CC106", "CC107")   # about calls, which a file no longer shows


def run(*words):
    return subprocess.run([str(word) for word in words], text=True, capture_output=True)


def check_operators(options):
    families = part_of_the_day([file.stem for file in call_graphs.files()], "forms of operators", options.part_of_day)
    pairs = PAIRS if os.environ.get("COMPATCHECK_WHOLE") or options.part_of_day == 1 else [PAIRS[number_of("forms") % len(PAIRS)]]
    problems = []
    for opset, engine in pairs:
        done = run(sys.executable, HERE.parent / "operators" / "run_operators.py", "--program", options.cases, "--helper", options.helper,
                   "--families", ",".join(families), "--opsets", opset, "--engine-of", engine)
        print(f"opset {opset}, an engine of opset {engine}: {done.stdout.splitlines()[-1] if done.stdout else ''}")
        if done.returncode:
            problems.append(f"opset {opset}, an engine of opset {engine}: {done.stdout[-3000:]}{done.stderr[-3000:]}")
    return problems


def said(report):
    """of engines: the counts of each, and what is found"""
    # A note about a node begins with its operator, except for a file.
    found = {(finding["target"], finding["id"], re.sub(r"^\w+: ", "", finding["message"]))
             for finding in report["findings"] if finding.get("target") and finding["id"] not in FORM_RULES}
    keys = ("support", "nodes", "supported", "unsupported", "unknown", "partitions", "operators")
    return [{key: target[key] for key in keys} for target in report["targets"]], found


def check_model(program, model, engines, opset):
    """(problem, calls in older forms)"""
    with tempfile.TemporaryDirectory() as folder:
        file, report = pathlib.Path(folder) / "model.onnx", pathlib.Path(folder) / "report.json"
        targets = [word for engine in engines for word in ("--target", engine)]
        made = run(program, "convert", model, "-o", file, "--opset", opset, *targets, "--report", report)
        if made.returncode:
            return "" if made.returncode == 1 else f"{model.name}: convert ended with {made.returncode}: {made.stderr[-500:]}", 0
        converted = json.loads(report.read_text())
        checked = json.loads(run(program, model, "--opset", opset, *targets, "--format", "json").stdout)
        of_file = json.loads(run(program, file, *targets, "--format", "json").stdout)
    forms = sum(form["calls"] for target in converted["targets"] for form in target.get("older_forms", ()))
    name = f"{model.name} at opset {opset} for {', '.join(engines)}"
    if [converted[key] for key in ("targets", "findings")] != [checked[key] for key in ("targets", "findings")]:
        return f"{name}: check and convert report differently", forms
    if said(converted) != said(of_file):
        return f"{name}: convert says {said(converted)}, and check of the file {said(of_file)}", forms
    return "", forms


def check_models(options):
    models = [file for file in sorted(options.models.glob("*.pt")) if file.stat().st_size < LARGE and re.search(options.only, file.name)]
    models = part_of_the_day(models, "forms of models", options.part_of_day)
    cases = []
    for place, model in enumerate(models):
        start = number_of(model.name)
        whole = range(len(ENGINES)) if os.environ.get("COMPATCHECK_WHOLE") else [start % len(ENGINES)]
        cases += [(model, [ENGINES[engine]], OPSETS[(start + engine) % len(OPSETS)]) for engine in whole]
        if place % 4 == 0:
            cases.append((model, ENGINES[:3], OPSETS[start % len(OPSETS)]))
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        results = list(pool.map(lambda case: check_model(options.program, *case), cases))
    print(f"{len(cases)} conversions of {len(models)} models, {sum(forms for _, forms in results)} calls in older forms")
    problems = [problem for problem, _ in results if problem]
    if os.environ.get("COMPATCHECK_WHOLE") and not options.only and not any(forms for _, forms in results):
        problems.append("no call has an older form")
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("program", "cases", "helper", "models"):
        parser.add_argument("--" + name, required=True, type=pathlib.Path)
    parser.add_argument("--only", default="", help="models that match, and no operators")
    parser.add_argument("--part-of-day", type=int, default=1, metavar="N", help="every Nth model and family, others each day")
    options = parser.parse_args()
    problems = ([] if options.only else check_operators(options)) + check_models(options)
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
