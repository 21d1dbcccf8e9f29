#!/usr/bin/env python3
"""The native reader and libtorch read the same program: their reports agree on verdict, operators, inputs and findings, and name the
same lines.

Every scripted model of the tests, and every fourth traced one.
"""
import argparse, concurrent.futures, json, os, pathlib, re, subprocess, sys

# What differs by design. libtorch numbers names ("keys.1"), has no places for what takes tuples apart, and folds less or more before
# the graph is ours.
NUMBERED = re.compile(r"\b(\w+)\.\d+\b")


def essence(report):
    findings = sorted((each["id"], each["severity"], NUMBERED.sub(r"\1", each["message"]), tuple(sorted((site["file"], site["line"]) for site in each.get("sites", []) if site["file"])))
                      for each in report["findings"])
    operators = sorted((each["op"], each["overload"], each["class"], each["nodes"]) for each in report["operators"])
    return {"verdict": report["verdict"], "inputs": [(each["name"], each.get("shape")) for each in report["model"]["inputs"]], "operators": operators, "findings": findings}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    parser.add_argument("--models", type=pathlib.Path, required=True)
    options = parser.parse_args()

    def report(model, frontend):
        run = subprocess.run([options.program, str(model), "--format", "json", "--frontend", frontend], capture_output=True, text=True,
                             env=os.environ | {"COMPATCHECK_NO_CONFIG": "1"})
        return json.loads(run.stdout) if run.returncode in (0, 1) else {"failed": run.stderr}

    def compare(model):
        native, libtorch = report(model, "native"), report(model, "libtorch")
        if "failed" in native or "failed" in libtorch:
            return f"{model.name}: native: {native.get('failed', 'reads it')}; libtorch: {libtorch.get('failed', 'reads it')}"
        a, b = essence(native), essence(libtorch)
        return next((f"{model.name}: {key}: native {a[key]}\n  libtorch {b[key]}" for key in a if a[key] != b[key]), None)

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
