#!/usr/bin/env python3
"""examples/13-static-symbolic: Clip's minimum is an attribute below opset 11 and an input from there on."""
import onnx
import torch

from tutorial import attributes, main, operator, ops, opsets, run, same


def check(example):
    for opset in (10, 11):
        found = operator(example.report(f"check_{opset}.json"), "prim::PythonOp", "MyRelu")
        assert found["class"] == "one_to_one" and found["onnx"] == ["Clip"], found
        model = example.model(f"my_relu_{opset}.onnx")
        assert ops(model.graph) == ["Clip"] and opsets(model) == {"": opset}, model
        (clip,) = model.graph.node
        if opset == 10:
            assert attributes(clip) == {"min": 0.0} and list(clip.input) == ["x"], clip
        else:
            (minimum,) = model.graph.initializer
            assert not clip.attribute and list(clip.input) == ["x", minimum.name], clip
            assert onnx.numpy_helper.to_array(minimum).shape == () and onnx.numpy_helper.to_array(minimum) == 0
        for size in ((2, 3), (9, 1)):
            x = torch.randn(size)
            same(run(model, x=x)[0], torch.relu(x))


main(__doc__, "13-static-symbolic", check)
