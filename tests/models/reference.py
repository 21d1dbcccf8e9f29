#!/usr/bin/env python3
"""Records what PyTorch's TorchScript exporter makes of each small model:  reference.py --models DIR --out reference.tsv

One row for each model and opset: `ok`, or `error` and the first line of it, or `invalid` where ONNX Runtime says that what was
exported is no model, or `wrong` where it gives other outputs than PyTorch. Where it says ok, no operator of the model may be reported
missing. The tests read reference.tsv; make it anew when models change (pip install onnxscript onnx_ir).
"""
import argparse
import copy
import csv
import json
import os
import signal
import sys
import tempfile
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import numpy as np
import onnxruntime
import torch

import build
import custom  # noqa: F401  registers the schemas that its models need to be loaded
from make_models import MODELS
from registry import tensors

OPSETS = [9, 11, 13, 17, 20]
TIMEOUT = 120


def one_line(error: Exception) -> str:
    lines = [" ".join(line.split()) for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0] if lines else ''}"[:200]


def differ(got: list, want: list) -> bool:
    return len(got) != len(want) or any(g.shape != w.shape or not np.allclose(g, w, rtol=1e-3, atol=1e-4, equal_nan=True) for g, w in zip(got, want))


def attempt(file: Path, inputs: tuple, opset: int) -> list:
    module = torch.jit.load(str(file), map_location="cpu").eval()
    with tempfile.NamedTemporaryFile(suffix=".onnx") as exported:
        try:
            torch.onnx.export(module, inputs, exported.name, opset_version=opset, dynamo=False, verbose=False)
        except Exception as error:
            return ["error", one_line(error)]
        try:
            session = onnxruntime.InferenceSession(exported.name, providers=["CPUExecutionProvider"])
            given = [tensor.numpy() for tensor in tensors(inputs)]
            if len(given) == len(session.get_inputs()):
                for _ in range(2):   # some keep a state
                    got = session.run(None, {one.name: value for one, value in zip(session.get_inputs(), given)})
                    if differ(got, [tensor.numpy() for tensor in tensors(module(*copy.deepcopy(inputs)))]):
                        return ["wrong", ""]
        except onnxruntime.capi.onnxruntime_pybind11_state.InvalidGraph as error:
            return ["invalid", one_line(error)]
        except Exception:
            pass  # a kernel that this runtime lacks
    return ["ok", ""]


def in_child(file: Path, inputs: tuple, opset: int) -> list:
    """The exporter may crash or never end."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        warnings.simplefilter("ignore")
        signal.alarm(TIMEOUT)
        with build.quiet():
            row = attempt(file, inputs, opset)
        os.write(writer, json.dumps(row).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        answer = pipe.read()
    os.waitpid(child, 0)
    return json.loads(answer) if answer else ["error", "crash"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    made = {entry["name"]: entry for entry in json.loads((arguments.models / "index.json").read_text())["models"]}
    rows = []
    for model in MODELS:
        if model.size != "small":
            continue
        inputs = build.example_of(model).inputs
        for form in model.forms:
            if entry := made.get(f"{model.name}-{form}"):
                rows += [[entry["name"], opset, *in_child(arguments.models / entry["file"], inputs, opset)]
                         for opset in OPSETS]
    with arguments.out.open("w", newline="") as file:
        writer = csv.writer(file, delimiter="\t", lineterminator="\n", quoting=csv.QUOTE_NONE, quotechar=None)
        writer.writerow(["model", "opset", "export", "error"])
        writer.writerows([[str(cell).replace("\t", " ") for cell in row] for row in rows])
    return 0


if __name__ == "__main__":
    sys.exit(main())
