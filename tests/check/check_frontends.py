#!/usr/bin/env python3
"""The native reader and libtorch read the same program: their reports are the same, with the same lines, and so is the ONNX file.

Every scripted model of the tests, and every fourth traced one.
"""
import argparse, concurrent.futures, json, os, pathlib, subprocess, sys, tempfile


def essence(report):
    """All but what differs by design: libtorch's version; how much it folds before the graph is ours, and the names of values that go with it; and
    the places of values that it makes itself, which have none."""
    report["tool"].pop("libtorch")
    report["model"].pop("steps", None)
    for each in report["model"].get("assumed", []):
        each["because"] = [because | {"file": "", "line": 0} for because in each["because"]]
    for finding in report["findings"]:
        finding["sites"] = [site | {"args": ""} for site in finding["sites"] if not site["file"].startswith("code/")]
    return report


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    parser.add_argument("--models", type=pathlib.Path, required=True)
    options = parser.parse_args()

    environment = os.environ | {"COMPATCHECK_NO_CONFIG": "1"}

    def outcome(model, frontend, folder):
        run = subprocess.run([options.program, model, "--format", "json", "--frontend", frontend], capture_output=True, text=True, env=environment)
        if run.returncode not in (0, 1):
            return f"fails: {run.stderr}"
        file = pathlib.Path(folder) / f"{frontend}.onnx"
        convert = subprocess.run([options.program, "convert", model, "-o", file, "--quiet", "--frontend", frontend], capture_output=True, env=environment)
        return essence(json.loads(run.stdout)) | {"onnx": (convert.returncode, file.exists() and file.read_bytes())}

    def compare(model):
        with tempfile.TemporaryDirectory() as folder:
            native, libtorch = outcome(model, "native", folder), outcome(model, "libtorch", folder)
        if isinstance(native, str) or isinstance(libtorch, str):
            return f"{model.name}: native {native}\n  libtorch {libtorch}"
        differing = [key for key in native if native[key] != libtorch[key]]
        return f"{model.name}: {differing[0]}: native {str(native[differing[0]])[:2000]}\n  libtorch {str(libtorch[differing[0]])[:2000]}" if differing else None

    traced = sorted(options.models.glob("*-traced.pt"))
    models = sorted(options.models.glob("*-scripted.pt")) + traced[::4]
    # libtorch replaces operators of old versions only when it runs the model.
    models = [model for model in models if model.stat().st_size < 100 << 20 and not model.name.startswith("old_version")]
    with concurrent.futures.ThreadPoolExecutor(2) as workers:
        faults = [fault for fault in workers.map(compare, models) if fault]
    print(*faults, sep="\n")
    print(f"{len(models)} models: {len(faults)} differ")
    return bool(faults) or not models


if __name__ == "__main__":
    sys.exit(main())
