#!/usr/bin/env python3
"""verify of two ONNX files: equal ones, ones that differ in a value, a size, a dtype, a name, and what can't be compared."""
import subprocess, sys

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper
from running import run_cases
from torch import nn

F32, F16, I64 = TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.INT64


def model(file, nodes, inputs, outputs, weights=()):
    """Inputs and outputs: (name, dtype, shape)."""
    made = [[helper.make_tensor_value_info(*each) for each in ends] for ends in (inputs, outputs)]
    graph = helper.make_graph(nodes, "g", *made, [numpy_helper.from_array(array, name) for name, array in weights])
    whole = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    whole.ir_version = 8
    onnx.checker.check_model(whole)
    onnx.save(whole, file)
    return file


def scaled(verify, name, factor, input_name="x", dtype=F32, output="y", shape=("batch", 3)):
    array = np.array(factor, np.float32 if dtype == F32 else np.float16)
    return model(verify.folder / name, [helper.make_node("Mul", [input_name, "w"], [output])], [(input_name, dtype, list(shape))],
                 [(output, dtype, list(shape))], [("w", array)])


def equal_files(verify):
    first, second = scaled(verify, "a.onnx", 2.0), scaled(verify, "b.onnx", 2.0)
    report = verify.run("equal", 0, first, second)
    verify.expect("runs", len(report["runs"]) >= 3 and len({run["sizes"]["batch"] for run in report["runs"]}) > 1, report["runs"])
    verify.expect("files", (report["model"], report["onnx"], report["passed"]) == (str(first), str(second), True), report)
    verify.expect("dimension", report["dimensions"][0]["variation"] == "alone", report["dimensions"])
    verify.expect("output", report["outputs"][0]["max_abs"] == 0 and report["outputs"][0]["elements"] > 0, report["outputs"])
    text = verify.run("text", 0, first, second, form=None)
    verify.expect("text", "VERIFIED" in text and "a.onnx" in text and "b.onnx" in text, text)


def other_names_and_order(verify):
    verify.run("other names", 0, scaled(verify, "a.onnx", 2.0), scaled(verify, "b.onnx", 2.0, "input.1", output="z"))
    verify.run("dotted names", 0, scaled(verify, "b.onnx", 2.0, "input.1"), scaled(verify, "c.onnx", 2.0), "--input", "input.1=f32:5,3")
    ends = [("p", F32, [2, 2]), ("q", F32, [2, 2])]
    first = model(verify.folder / "p.onnx", [helper.make_node("Sub", ["p", "q"], ["y"])], ends, [("y", F32, [2, 2])])
    second = model(verify.folder / "q.onnx", [helper.make_node("Sub", ["p", "q"], ["y"])], ends[::-1], [("y", F32, [2, 2])])
    verify.run("by name in another order", 0, first, second)


def differences(verify):
    first = scaled(verify, "a.onnx", 2.0)
    report = verify.run("another value", 1, first, scaled(verify, "b.onnx", 2.1), ids={"CC201"})
    verify.expect("where", "output 'y'" in report["findings"][0]["message"], report["findings"])
    verify.run("tolerated", 0, first, scaled(verify, "b.onnx", 2.1), "--rtol", "0.1")
    verify.run("not similar enough", 1, first, scaled(verify, "b.onnx", 2.0), "--require", "cosine>=1.5", ids={"CC201"})
    verify.run("no gate", 0, first, scaled(verify, "b.onnx", 2.1), "--fail-on", "never", ids={"CC201"})
    verify.run("another dtype", 1, first, scaled(verify, "b.onnx", 2.0, dtype=F16), ids={"CC204"})
    verify.run("another rank", 1, first, scaled(verify, "b.onnx", 2.0, shape=("batch", 3, 1)), ids={"CC203"})
    fixed = scaled(verify, "b.onnx", 2.0, shape=(2, 3))
    report = verify.run("fails at other sizes", 1, first, fixed, ids={"CC205"})
    verify.expect("sizes", "at batch=" in report["findings"][0]["message"], report["findings"])
    verify.run("one size", 0, first, fixed, "--dim", "batch=2")
    reshaped = model(verify.folder / "r.onnx", [helper.make_node("Reshape", ["x", "s"], ["y"])], [("x", F32, ["batch", 3])],
                     [("y", F32, ["n"])], [("s", np.array([-1]))])
    verify.run("another shape", 1, first, reshaped, ids={"CC203"})
    nan = model(verify.folder / "n.onnx", [helper.make_node("Sqrt", ["x"], ["y"])], [("x", F32, ["batch", 3])], [("y", F32, ["batch", 3])])
    verify.run("nan", 1, first, nan, ids={"CC202"})
    noise = model(verify.folder / "noise.onnx", [helper.make_node("RandomNormalLike", ["x"], ["y"])], [("x", F32, ["batch", 3])],
                  [("y", F32, ["batch", 3])])
    verify.run("random", 1, noise, first, ids={"CC008"})


def values_and_sizes_that_are_accepted(verify):
    """Indices, windows and ties of sizes: what the first file refuses is skipped."""
    table = np.arange(6, dtype=np.float32).reshape(2, 3)
    rows = [helper.make_node("Gather", ["w", "i"], ["y"])]
    gather = model(verify.folder / "gather.onnx", rows, [("i", I64, ["n"])], [("y", F32, ["n", 3])], [("w", table)])
    verify.run("indices below 2", 0, gather, gather)
    net = nn.Sequential(nn.Conv2d(3, 4, 7, stride=4), nn.ReLU(), nn.Conv2d(4, 2, 5, stride=4), nn.MaxPool2d(3)).eval()
    saved = verify.save(net, torch.randn(1, 3, 96, 96), name="windows")
    exact = verify.convert(saved, "windows.onnx", "--input", "f32:n,3,h,w")
    report = verify.run("windows", 0, exact, verify.convert(saved, "plain.onnx", "--input", "f32:n,3,h,w", "--no-optimize"))
    verify.expect("large enough", all(run["sizes"]["h"] >= 32 for run in report["runs"]), report["runs"])
    report = verify.run("against the model", 0, saved, exact)
    torch.save(torch.full((3, 1), 1), verify.folder / "i.pt")
    tied = model(verify.folder / "tied.onnx", [helper.make_node("Add", ["x", "z"], ["y"])], [("x", F32, ["a", 3]), ("z", F32, ["b", 3])],
                 [("y", F32, ["c", 3])])
    report = verify.run("tied sizes", 0, tied, tied)
    verify.expect("one reason", all(each["variation"] != "fixed" for each in report["dimensions"]), report["dimensions"])
    np.savez(verify.folder / "in.npz", i=np.array([1, 0, 1]))
    report = verify.run("example", 0, gather, gather, "--inputs-from", verify.folder / "in.npz")
    verify.expect("the example's size", report["runs"][0]["sizes"] == {"n": 3}, report["runs"])


def wrong_calls(verify):
    first = scaled(verify, "a.onnx", 2.0)
    two = model(verify.folder / "two.onnx", [helper.make_node("Add", ["x", "z"], ["y"])], [("x", F32, [2, 3]), ("z", F32, [2, 3])],
                [("y", F32, [2, 3])])
    for what, code, words, says in (
        ("one file", 2, (first,), "name the model that it was made of"),
        ("no such file", 3, (first, verify.folder / "none.onnx"), "there is no such file"),
        ("bisect", 2, (first, first, "--bisect"), "two ONNX files are compared by their outputs"),
        ("other inputs", 2, (first, two), "the two ONNX files have different inputs: 'x', and 'x', 'z'"),
        ("an unknown size", 2, (first, first, "--dim", "other=3"), "expected NAME=N with one of the names 'batch'"),
        ("an unknown input", 2, (first, first, "--input", "q=f32:2,3"), "no input 'q'"),
    ):
        verify.run(what, code, *words, says=says)
    broken = verify.folder / "broken.onnx"
    broken.write_bytes(first.read_bytes()[:40])
    run = subprocess.run([verify.program, "verify", first, broken], capture_output=True, text=True)
    verify.expect("broken", run.returncode == 3, run.stdout + run.stderr)


if __name__ == "__main__":
    sys.exit(run_cases((equal_files, other_names_and_order, differences, values_and_sizes_that_are_accepted, wrong_calls), __doc__))
