#!/usr/bin/env python3
"""examples/09-python-function: an autograd Function by its name, one-to-many, at sizes that weren't traced."""
import onnx
import torch

from tutorial import error, main, operator, ops, opsets, run, same


def check(example):
    dump = (example.out / "my_add.ir").read_text()
    assert "= ^MyAdd[" in dump, dump
    without = example.report("without.json")
    found = error(without)
    assert without["verdict"] == "no" and found["id"] == "CC003" and found["op"] == "prim::PythonOp" and "Python function MyAdd" in found["message"], found
    assert found["row"].startswith("prim::PythonOp.MyAdd: {"), found
    for opset in (7, 17):
        found = operator(example.report(f"check_{opset}.json"), "prim::PythonOp", "MyAdd")
        assert found["class"] == "one_to_many" and found["onnx"] == ["Mul", "Add"], found
        model = example.model(f"my_add_{opset}.onnx")
        assert ops(model.graph) == ["Mul", "Add", "Relu"] and opsets(model) == {"": opset}, model
        (two,) = model.graph.initializer
        assert two.name in model.graph.node[0].input and onnx.numpy_helper.to_array(two) == 2
        for size in ((2, 3), (5, 1), (1, 40)):
            a, b = torch.randn(size), torch.randn(size)
            same(run(model, a=a, b=b)[0], torch.relu(2 * a + b))


main(__doc__, "09-python-function", check)
