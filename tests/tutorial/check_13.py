#!/usr/bin/env python3
"""Clip's minimum is an attribute below opset 11 and an input from there on."""
import sys

import onnx
import torch

from example import agree, attributes, equal, imports, main, operator, ops, outputs, test, tool


def clip_of(example, opset):
    """The model, and its only node."""
    model = example.model(f"my_relu_{opset}.onnx")
    equal((ops(model.graph), imports(model)), (["Clip"], {"": opset}))
    return model, model.graph.node[0]


@test
def one_to_one_at_either_opset(example):
    for opset in 10, 11:
        found = operator(example.left_json(f"check_{opset}.json"), "prim::PythonOp", "MyRelu")
        equal((found["class"], found["onnx"]), ("one_to_one", ["Clip"]))


@test
def an_attribute_below_opset_11(example):
    _, clip = clip_of(example, 10)
    equal((attributes(clip), list(clip.input)), ({"min": 0.0}, ["x"]))


@test
def an_input_from_opset_11(example):
    model, clip = clip_of(example, 11)
    (minimum,) = model.graph.initializer
    equal((attributes(clip), list(clip.input)), ({}, ["x", minimum.name]))
    value = onnx.numpy_helper.to_array(minimum)
    equal((value.shape, value.item()), ((), 0))


@test
def both_compute_relu(example):
    for opset in 10, 11:
        session = example.session(f"my_relu_{opset}.onnx")
        for size in (2, 3), (9, 1):
            x = torch.randn(size)
            agree(outputs(session, x=x)[0], torch.relu(x))


sys.exit(main(__doc__, tool("13-static-symbolic")))
