#!/usr/bin/env python3
"""Compares how many nodes conversions have with PyTorch's TorchScript exporter on the same files.

    compare_reference.py --models DIR --nodes FILE [--only REGEX] [--most 1.05]

FILE is what run_models.py --nodes wrote. Constants don't count, nodes in branches and loops do. Where neither exporter is told
of named dimensions, both see fixed sizes. Prints the ratio for each model that both convert, and the median; ends with 1 if the
median is above --most.
"""
import argparse, collections, contextlib, csv, io, json, pathlib, re, statistics, sys, tempfile, warnings

warnings.filterwarnings("ignore")
import numpy as np

from model_inputs import Inputs
from run_models import arrays_of, nodes_of


def exported(file, model, opset):
    """The exporter's file in memory; None if it fails."""
    import onnx, torch
    module = torch.jit.load(file).eval()
    names = [argument.name for argument in module.forward.schema.arguments[1:]]
    inputs = Inputs(model["inputs"], names, arrays_of(np.load(file.with_suffix(".npz")), "in"))
    with tempfile.NamedTemporaryFile(suffix=".onnx") as out, contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        try:
            torch.onnx.export(module, tuple(inputs.arguments(inputs.recorded)), out.name, opset_version=opset, dynamo=False)
        except Exception:
            return None
        return onnx.load(out.name, load_external_data=False)


def kinds(graph):
    return collections.Counter(node.op_type for node in nodes_of(graph) if node.op_type != "Constant")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", required=True, type=pathlib.Path)
    parser.add_argument("--nodes", required=True, type=pathlib.Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--most", type=float, default=1.05)
    options = parser.parse_args()
    models = {m["name"]: m for m in json.loads((options.models / "index.json").read_text())["models"]}
    ratios = []
    for way, name, opset, count in csv.reader(options.nodes.open(), delimiter="\t"):
        if way or not re.search(options.only, name):
            continue
        theirs = exported(options.models / models[name]["file"], models[name], int(opset))
        if theirs is None:
            continue
        reference = sum(kinds(theirs.graph).values())
        ratios.append(int(count) / max(reference, 1))
        print(f"{ratios[-1]:.2f}  {count} for {reference}  {name} @{opset}", flush=True)
    if ratios:
        print(f"median {statistics.median(ratios):.3f} of {len(ratios)} models, worst {max(ratios):.2f}")
    return 1 if not ratios or statistics.median(ratios) > options.most else 0


if __name__ == "__main__":
    sys.exit(main())
