#!/usr/bin/env python3
"""examples/14-python-op-by-name: prim::PythonOp by the Function's name; results keep the dtype and shape that the graph states."""
import onnx
import torch

from tutorial import error, main, operator, ops, opsets, run, same, types

FLOAT, DOUBLE = onnx.TensorProto.FLOAT, onnx.TensorProto.DOUBLE


def check(example):
    two = example.report("two.json")
    found = error(two)
    assert two["verdict"] == "no" and found["id"] == "CC003" and "Python function MyNorm has no row" in found["message"], found
    assert found["row"].startswith("prim::PythonOp.MyNorm: {") and "facts" not in found["row"], "the graph states the result's type: " + found["row"]
    assert "Double(2, 1" in (example.out / "three.ir").read_text()
    three = example.report("three.json")
    assert three["verdict"] == "yes"
    for name, onnx_name in (("MyClip", "Clip"), ("MyRelu", "Relu"), ("MyNorm", "acme::MyNorm")):
        assert operator(three, "prim::PythonOp", name)["onnx"] == [onnx_name], three["operators"]

    model = example.model("three.onnx")
    assert sorted(ops(model.graph)) == ["Clip", "Relu", "Sub", "acme::MyNorm"] and opsets(model) == {"": 17, "acme": 1}, model
    clip = next(node for node in model.graph.node if node.op_type == "Clip")
    (least,) = [one for one in model.graph.initializer if one.name == clip.input[1]]
    assert onnx.numpy_helper.to_array(least) == 0.5
    assert list(types(model.graph.output).values()) == [(FLOAT, [2, 3]), (DOUBLE, [2, 1])], types(model.graph.output)

    # The row that the report gave, pasted as it is, keeps that type too.
    (example.out / "pasted.yaml").write_text(found["row"] + "\n")
    example.compatcheck("convert", "three.ir", "--mappings", example.folder / "rows.yaml", "--mappings", "pasted.yaml", "-o", "pasted.onnx")
    assert list(types(example.model("pasted.onnx").graph.output).values()) == [(FLOAT, [2, 3]), (DOUBLE, [2, 1])]

    first = model.graph.output[0].name
    example.compatcheck("extract", "three.onnx", "--to", first, "-o", "without_norm.onnx")
    x = torch.randn(2, 3)
    same(run(example.model("without_norm.onnx"), x=x)[0], torch.relu(x - x.clamp(min=0.5)))


main(__doc__, "14-python-op-by-name", check)
