#!/usr/bin/env python3
"""examples/16-custom-domain: typed attributes and the version of a custom domain; the operator's own implementation gives the result."""
import numpy as np
import onnx
import torch
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun

from tutorial import attributes, main, operator, opsets, same


class Foo(OpRun):
    op_domain = "custom_domain"

    def _run(self, input1, input2, attr1=None, attr2=None):
        return ((input1 * np.float32(attr1) - input2 * np.float32(attr2)).astype(input1.dtype),)


def check(example):
    found = operator(example.report("check.json"), "custom_ops::foo_forward")
    assert found["class"] == "one_to_one" and found["onnx"] == ["custom_domain::Foo"], found
    model = example.model("model.onnx")
    foo, relu = model.graph.node
    assert (foo.domain, foo.op_type, list(foo.input)) == ("custom_domain", "Foo", ["input1", "input2"]) and relu.op_type == "Relu", model
    assert {a.name: a.type for a in foo.attribute} == {"attr1": onnx.AttributeProto.FLOAT, "attr2": onnx.AttributeProto.INT}, foo
    assert attributes(foo) == {"attr1": 1.5, "attr2": 3}, foo
    assert opsets(model) == {"": 17, "custom_domain": 2}, model.opset_import
    assert opsets(example.model("version_3.onnx")) == {"": 17, "custom_domain": 3}
    for size in ((2, 3), (5, 8)):
        one, two = torch.randn(size), torch.randn(size)
        got = ReferenceEvaluator(model, new_ops=[Foo]).run(None, {"input1": one.numpy(), "input2": two.numpy()})
        same(got[0], torch.relu(one * 1.5 - two * 3))
    told = (example.out / "wrong_kind.txt").read_text()
    assert "argument `attr2` is int" in told and "`string`" in told and "wrong_kind.yaml:6" in told, told


main(__doc__, "16-custom-domain", check)
