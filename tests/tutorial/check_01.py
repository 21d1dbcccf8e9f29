#!/usr/bin/env python3
"""Operators fall into three classes; what a trace took for a constant stays one."""
import json
import sys

import numpy as np
import torch
from onnx import numpy_helper

from example import agree, equal, holds, main, outputs, test, tool

BATCH = ["--input", "x=f32:batch,3,4", "--input", "lengths=f32:batch"]


@test
def three_classes(example):
    (report,) = example.reports(example.out / "classes.pt", "--opset", "17")
    found = {each["op"]: (each["class"], each["onnx"]) for each in report["operators"] if each["class"] != "structural"}
    equal(found, {"aten::relu": ("one_to_one", ["Relu"]), "aten::silu": ("one_to_many", ["Sigmoid", "Mul"]), "aten::linalg_pinv": ("missing", [])})
    equal([report["summary"][key] for key in ("one_to_one", "one_to_many", "missing")], [1, 1, 1])
    equal([(each["id"], each["op"]) for each in report["findings"] if each["severity"] == "error"], [("CC001", "aten::linalg_pinv")])
    equal((report["verdict"], report["exit_code"]), ("no", 1))


@test
def what_was_not_recorded_is_in_no_class(example):
    (report,) = example.reports(example.out / "baked.pt", *BATCH)
    equal(sorted(each["op"] for each in report["operators"] if each["class"] != "structural"), ["aten::mul", "aten::relu", "aten::reshape", "aten::silu"])
    model = example.model("baked.onnx")
    (reshape,) = [node for node in model.graph.node if node.op_type == "Reshape"]
    held = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    equal(held[reshape.input[1]].tolist(), [7, -1])
    equal([each.name for each in model.graph.input], ["x", "lengths"])
    assert not any("lengths" in node.input for node in model.graph.node), "lengths is read"


@test
def the_model_is_the_trace_not_the_module(example):
    script, session = torch.jit.load(example.out / "baked.pt"), example.session("baked.onnx")
    x, lengths = -torch.rand(14, 3, 4), torch.rand(14)
    (got,) = outputs(session, x=x, lengths=lengths)
    agree(got, script(x, lengths))
    sys.path.insert(0, str(example.source))
    import model
    expected = model.Baked()(x, lengths).numpy()
    equal((got.shape, expected.shape), ((7, 24), (14, 12)))
    (other,) = outputs(session, x=x, lengths=9 * lengths)
    assert np.array_equal(got, other), "lengths changes the result"


@test
def what_looks_baked_in_is_noted(example):
    (report,) = example.reports(example.out / "baked.pt", *BATCH)
    notes = [(each["severity"], each["op"], [site["line"] for site in each["sites"]], each["message"]) for each in report["findings"] if each["id"] == "CC012"]
    line = example.source_line("model.py", "reshape(")
    equal(notes, [("note", "aten::reshape", [line], "the constant 7 may come from tracing: it was the size 'batch' of input 'x' when the model was traced"),
                  ("note", "", [], "nothing in the graph reads input 'lengths': tracing may have made constants of what depends on it")])
    equal((report["verdict"], report["exit_code"]), ("yes", 0))
    (report,) = example.reports(example.out / "baked.pt")
    equal([each["id"] for each in report["findings"] if each["id"] == "CC012"], [])
    (report,) = example.reports(example.out / "classes.pt", "--input", "x=f32:batch,3")
    equal([each["id"] for each in report["findings"] if each["id"] == "CC012"], [])


@test
def a_batch_that_does_not_divide_is_reported(example):
    text = example.output("verify", example.out / "baked.pt", *BATCH, "--dim", "batch=2", code=1)
    assert "CC205" in text and "shape '[7, -1]' is invalid for input" in text, text
    report = json.loads(example.output("verify", example.out / "baked.pt", *BATCH, "--format", "json", code=1))
    line = example.source_line("model.py", "reshape(")
    found = [(each["id"], each["severity"]) for each in report["findings"]]
    equal(found, [("CC205", "error"), ("CC012", "warning")])
    holds(report["findings"][0]["message"], "'batch' can't change", f"model.py:{line} reads the constant 7")


sys.exit(main(__doc__, tool("01-three-classes")))
