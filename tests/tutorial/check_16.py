#!/usr/bin/env python3
"""Typed attributes and the version of a custom domain; the operator's own implementation gives the result."""
import sys

import numpy as np
import onnx
import torch
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun

from example import agree, attributes, equal, holds, imports, main, operator, ops, outputs, test, tool


class Foo(OpRun):
    op_domain = "custom_domain"

    def _run(self, input1, input2, attr1=None, attr2=None):
        return ((input1 * np.float32(attr1) - input2 * np.float32(attr2)).astype(input1.dtype),)


@test
def the_row_makes_one_node(example):
    found = operator(example.left_json("check.json"), "custom_ops::foo_forward")
    equal((found["class"], found["onnx"]), ("one_to_one", ["custom_domain::Foo"]))
    model = example.model("model.onnx")
    equal(ops(model.graph), ["custom_domain::Foo", "Relu"])
    equal(list(model.graph.node[0].input), ["input1", "input2"])


@test
def its_attributes_are_typed(example):
    foo = example.model("model.onnx").graph.node[0]
    equal({each.name: each.type for each in foo.attribute}, {"attr1": onnx.AttributeProto.FLOAT, "attr2": onnx.AttributeProto.INT})
    equal(attributes(foo), {"attr1": 1.5, "attr2": 3})


@test
def the_domain_has_a_version(example):
    equal(imports(example.model("model.onnx")), {"": 17, "custom_domain": 2})
    equal(imports(example.model("version_3.onnx")), {"": 17, "custom_domain": 3})


@test
def its_implementation_gives_the_result(example):
    evaluator = ReferenceEvaluator(example.model("model.onnx"), new_ops=[Foo])
    for size in (2, 3), (5, 8):
        one, two = torch.randn(size), torch.randn(size)
        agree(outputs(evaluator, input1=one, input2=two)[0], torch.relu(one * 1.5 - two * 3))


@test
def a_wrong_kind_is_reported(example):
    holds(example.left("wrong_kind.txt"), "argument `attr2` is int", "`string`", "wrong_kind.yaml:6")


sys.exit(main(__doc__, tool("16-custom-domain")))
