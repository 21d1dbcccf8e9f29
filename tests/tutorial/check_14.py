#!/usr/bin/env python3
"""prim::PythonOp by the Function's name; results keep the dtype and shape that the graph states."""
import sys

import onnx
import torch

from example import agree, equal, error, holds, imports, main, operator, ops, outputs, test, tool, types

TYPES = [(onnx.TensorProto.FLOAT, [2, 3]), (onnx.TensorProto.DOUBLE, [2, 1])]


def output_types(example, name):
    return list(types(example.model(name).graph.output).values())


@test
def the_function_without_a_row_is_named(example):
    two = example.left_json("two.json")
    found = error(two)
    equal((two["verdict"], found["id"]), ("no", "CC003"))
    holds(found["message"], "Python function MyNorm has no row")
    assert found["row"].startswith("prim::PythonOp.MyNorm: {"), found["row"]
    assert "facts" not in found["row"], "the graph states the result's type: " + found["row"]


@test
def each_function_by_its_own_row(example):
    three = example.left_json("three.json")
    equal(three["verdict"], "yes")
    for name, onnx_name in (("MyClip", "Clip"), ("MyRelu", "Relu"), ("MyNorm", "acme::MyNorm")):
        equal(operator(three, "prim::PythonOp", name)["onnx"], [onnx_name])
    model = example.model("three.onnx")
    equal((sorted(ops(model.graph)), imports(model)), (["Clip", "Relu", "Sub", "acme::MyNorm"], {"": 17, "acme": 1}))
    (clip,) = [node for node in model.graph.node if node.op_type == "Clip"]
    (least,) = [each for each in model.graph.initializer if each.name == clip.input[1]]
    equal(onnx.numpy_helper.to_array(least), 0.5)


@test
def results_keep_the_types_that_the_graph_states(example):
    holds(example.left("three.ir"), "Double(2, 1")
    equal(output_types(example, "three.onnx"), TYPES)


@test
def the_row_pasted_as_it_is_keeps_them_too(example):
    (example.out / "pasted.yaml").write_text(error(example.left_json("two.json"))["row"] + "\n")
    example.run("convert", example.out / "three.ir", "--mappings", "rows.yaml", "--mappings", example.out / "pasted.yaml", "-o", example.out / "pasted.onnx")
    equal(output_types(example, "pasted.onnx"), TYPES)


@test
def what_onnx_runtime_knows_computes_the_same(example):
    first = example.model("three.onnx").graph.output[0].name
    example.run("extract", example.out / "three.onnx", "--to", first, "-o", example.out / "without_norm.onnx")
    example.model("without_norm.onnx")
    x = torch.randn(2, 3)
    agree(outputs(example.session("without_norm.onnx"), x=x)[0], torch.relu(x - x.clamp(min=0.5)))


sys.exit(main(__doc__, tool("14-python-op-by-name")))
