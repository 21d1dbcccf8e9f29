#!/usr/bin/env python3
"""An autograd Function by its name, one-to-many, at sizes that weren't traced."""
import sys

import onnx
import torch

from example import agree, equal, error, holds, imports, main, operator, ops, outputs, test, tool


@test
def the_dump_names_the_function(example):
    holds(example.left("my_add.ir"), "= ^MyAdd[")


@test
def without_a_row_one_is_begun(example):
    without = example.left_json("without.json")
    found = error(without)
    equal((without["verdict"], found["id"], found["op"]), ("no", "CC003", "prim::PythonOp"))
    holds(found["message"], "Python function MyAdd")
    assert found["row"].startswith("prim::PythonOp.MyAdd: {"), found


@test
def the_row_makes_two_nodes(example):
    for opset in 7, 17:
        found = operator(example.left_json(f"check_{opset}.json"), "prim::PythonOp", "MyAdd")
        equal((found["class"], found["onnx"]), ("one_to_many", ["Mul", "Add"]))
        model = example.model(f"my_add_{opset}.onnx")
        equal((ops(model.graph), imports(model)), (["Mul", "Add", "Relu"], {"": opset}))
        (two,) = model.graph.initializer
        assert two.name in model.graph.node[0].input, model
        equal(onnx.numpy_helper.to_array(two), 2)


@test
def it_computes_the_function_at_other_sizes(example):
    for opset in 7, 17:
        session = example.session(f"my_add_{opset}.onnx")
        for size in (2, 3), (5, 1), (1, 40):
            a, b = torch.randn(size), torch.randn(size)
            agree(outputs(session, a=a, b=b)[0], torch.relu(2 * a + b))


sys.exit(main(__doc__, tool("09-python-function")))
