"""Holds --target ort-cpu against ONNX Runtime itself, on the tests' models: what is supported loads and runs on the recorded inputs,
what isn't fails to load, with optimisations off, which might take a node away.

    check_models_ort.py --program BUILD/tests/target_cases --helper BUILD/libexec/compatcheck-torchscript --models DIR [--only REGEX] [--opsets 9,17,22,26]
"""
import argparse
import collections
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np
import onnxruntime
import torch

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "convert"))
from days import part_of_the_day  # noqa: E402
from model_inputs import PLAIN, Inputs  # noqa: E402

LARGE = 50_000_000   # bytes of a model file beyond which it is left to the other tests


def inputs_of(model, folder):
    file = folder / model["file"]
    archive = np.load(file.with_suffix(".npz"))
    arrays = [archive[f"in_{i}"] for i in range(sum(name.startswith("in_") for name in archive.files))]
    names = [argument.name for argument in torch.jit.load(file).forward.schema.arguments[1:]]
    return Inputs(model["inputs"], names, arrays, names[len(model["inputs"]):])


def session_of(file, optimized):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    if not optimized:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])


def runs(file, inputs):
    """"" or why not"""
    try:
        for optimized in (False, True):
            session = session_of(file, optimized)
            names = [i.name for i in session.get_inputs()]
            session.run(None, dict(zip(names, inputs.given(inputs.recorded, names))))
        return ""
    except Exception as error:
        return str(error)[:300]


def loads(file):
    try:
        session_of(file, False)
        return True
    except Exception:
        return False


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("program", "helper", "models"):
        parser.add_argument("--" + name, required=True, type=pathlib.Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--opsets", default="9,17,22,26")
    parser.add_argument("--part-of-day", type=int, default=1, metavar="N", help="every Nth model, others each day")
    options = parser.parse_args()
    onnxruntime.set_default_logger_severity(4)
    subjects = {}
    models = json.loads((options.models / "index.json").read_text())["models"]
    for model in part_of_the_day(models, "engines", options.part_of_day):
        file = options.models / model["file"]
        if not re.search(options.only, model["file"]) or not file.with_suffix(".npz").exists() or file.stat().st_size > LARGE:
            continue
        try:
            subjects[file.stem] = (file, inputs_of(model, options.models))
        except NotImplementedError:
            continue   # saved from a device that isn't here
    tally, wrong = collections.Counter(), []
    with tempfile.TemporaryDirectory() as folder:
        lines = "".join("\t".join([str(file), *inputs.texts()]) + "\n" for file, inputs in subjects.values())
        program = subprocess.Popen([options.program, options.helper, folder, "ort-cpu", options.opsets], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        output, _ = program.communicate(lines)
        if program.returncode:
            sys.exit(f"{options.program} ended with {program.returncode}")
        for line in map(json.loads, output.splitlines()):
            if "error" in line:
                wrong.append(f"{line['id']}: {line['error']}")
                continue
            if not line["converts"]:
                tally["not converted", line["support"]] += 1
                if line["support"] == "yes":
                    wrong.append(f"{line['id']} at opset {line['opset']}: supported, though it doesn't convert")
                continue
            tally["converted", line["support"]] += 1
            file = pathlib.Path(folder) / f"{line['id']}@{line['opset']}.onnx"
            if line["support"] == "yes":
                if why := runs(file, subjects[line["id"]][1]):
                    wrong.append(f"{line['id']} at opset {line['opset']}: supported, and ONNX Runtime says {why}")
            elif line["support"] == "no" and loads(file):
                wrong.append(f"{line['id']} at opset {line['opset']}: not supported ({line['reason']}), and ONNX Runtime loads it")
            elif line["support"] == "unknown":
                wrong.append(f"{line['id']} at opset {line['opset']}: unknown: {line['reason']}")
    print(*wrong, sep="\n")
    print(f"{len(subjects)} models at opsets {options.opsets}: " + ", ".join(f"{a}, {b}: {n}" for (a, b), n in sorted(tally.items())))
    return 1 if wrong or not tally["converted", "yes"] else 0


if __name__ == "__main__":
    sys.exit(main())
