#!/usr/bin/env python3
"""The native reader and libtorch read the same program: their reports are the same, with the same lines, and so is the ONNX file.

Every scripted model of the tests, and every fourth traced one; ONNX files of a fifth of them, others each day, with --whole of all.
"""
import argparse, concurrent.futures, json, os, pathlib, subprocess, sys, tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "convert"))
import days

READERS = ("native", "libtorch")
ENVIRONMENT = os.environ | {"COMPATCHECK_NO_CONFIG": "1"}


def essence(report):
    """All but what differs by design: libtorch's version; how much it folds before the graph is ours, and the names of values that
    go with it; and the places of values that it makes itself, which have none."""
    report["tool"].pop("libtorch", None)
    report["model"].pop("steps", None)
    for each in report["model"].get("assumed", []):
        each["because"] = [because | {"file": "", "line": 0} for because in each["because"]]
    for finding in report.get("findings", []):
        finding["sites"] = [site | {"args": ""} for site in finding["sites"] if not site["file"].startswith("code/")]
    return report


def reports(program, models, reader):
    """By the model's name."""
    command = [program, *models, "--format", "jsonl", "--frontend", reader, "--jobs", "1"]
    run = subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT)
    lines = map(json.loads, run.stdout.splitlines())
    return {pathlib.Path(line["model"]["path"]).name: essence(line) for line in lines}, run.stderr


def onnx_file(program, model, reader):
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "model.onnx"
        command = [program, "convert", model, "-o", file, "--quiet", "--frontend", reader]
        code = subprocess.run(command, capture_output=True, env=ENVIRONMENT).returncode
        return code, file.exists() and file.read_bytes()


def fault(name, native, libtorch):
    """What differs in two reports, if anything does."""
    if not native or not libtorch or "error" in native or "error" in libtorch:
        return f"{name}: native {str(native)[:2000]}\n  libtorch {str(libtorch)[:2000]}"
    for key in {**native, **libtorch}:
        if native.get(key) != libtorch.get(key):
            return f"{name}: {key}: native {str(native.get(key))[:2000]}\n  libtorch {str(libtorch.get(key))[:2000]}"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    parser.add_argument("--models", type=pathlib.Path, required=True)
    parser.add_argument("--whole", action="store_true")
    options = parser.parse_args()

    traced = sorted(options.models.glob("*-traced.pt"))
    models = sorted(options.models.glob("*-scripted.pt")) + traced[::4]
    # libtorch replaces operators of old versions only when it runs the model.
    models = [model for model in models if model.stat().st_size < 100 << 20 and not model.name.startswith("old_version")]
    converted = models if options.whole else days.part_of_the_day(models, "check_frontends", 5)
    with concurrent.futures.ThreadPoolExecutor(len(READERS)) as workers:
        (native, said), (libtorch, also_said) = workers.map(lambda reader: reports(options.program, models, reader), READERS)
        files = list(workers.map(lambda model: [onnx_file(options.program, model, reader) for reader in READERS], converted))
    faults = [fault(model.name, native.get(model.name), libtorch.get(model.name)) for model in models]
    faults += [f"{model.name}: another ONNX file, or another outcome of convert: {[code for code, _ in pair]}"
               for model, pair in zip(converted, files) if pair[0] != pair[1]]
    faults = [each for each in faults if each]
    print(*faults, sep="\n")
    if faults:
        print(said, also_said)
    print(f"{len(models)} models, {len(converted)} converted: {len(faults)} differ")
    return bool(faults) or not models


if __name__ == "__main__":
    sys.exit(main())
