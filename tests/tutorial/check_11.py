#!/usr/bin/env python3
"""SELU as a function that the model carries, with CastLike from opset 15 on and without it at 14."""
import sys

import numpy as np
import torch

from example import agree, equal, error, holds, imports, main, operator, ops, outputs, test, tool

SELU = "custom-onnx-script::Selu"
MODELS = {"f32_14": 14, "f32_15": 15, "f64_15": 15}


def reference(example, dtype):
    return torch.jit.load(example.out / f"{dtype}.pt")


@test
def the_model_carries_the_function(example):
    for name, opset in MODELS.items():
        model = example.model(f"{name}.onnx")
        assert ops(model.graph) in ([SELU, "Gemm", SELU], [SELU, "MatMul", "Add", SELU]), ops(model.graph)
        equal(imports(model), {"": opset, "custom-onnx-script": 1})
        assert model.ir_version >= 8, model.ir_version
        (function,) = model.functions
        equal((function.domain, function.name), ("custom-onnx-script", "Selu"))
        inside = ops(function)
        assert {"Exp", "Where"} <= set(inside), inside
        equal("CastLike" in inside, opset >= 15)
        equal({each.name for each in function.attribute_proto}, {"alpha", "gamma"})


@test
def it_computes_selu(example):
    for name in MODELS:
        session, dtype = example.session(f"{name}.onnx"), name[:3]
        for rows in 1, 6:
            x = torch.cat([torch.randn(rows, 4) * 3, torch.tensor([[0.0, -0.0, 200.0, -200.0]])]).to(getattr(torch, "float" + dtype[1:]))
            agree(outputs(session, x=x)[0], reference(example, dtype)(x))


@test
def the_call_is_one_node(example):
    for opset in 14, 15:
        found = operator(example.left_json(f"f32_{opset}.json"), "aten::selu")
        equal((found["class"], found["onnx"]), ("one_to_one", [SELU]))
        assert found["mapping"]["source"].endswith("rows.yaml"), found


@test
def other_types_wait_for_opset_15(example):
    refused = error(example.left_json("f64_14.json"))
    equal((refused["id"], refused["available_from"]), ("CC005", 15))
    holds(refused["message"], "must be f32, but is f64")


@test
def calls_can_be_inlined(example):
    inlined = example.model("inlined.onnx")
    assert not inlined.functions, inlined.functions
    equal(imports(inlined), {"": 15})
    equal((ops(inlined.graph).count("Exp"), ops(inlined.graph).count("Where")), (2, 2))
    x = torch.from_numpy(np.random.default_rng(0).normal(size=(5, 4)).astype(np.float32))
    agree(outputs(example.session("inlined.onnx"), x=x)[0], reference(example, "f32")(x))


@test
def both_opsets_are_verified(example):
    equal(example.text.count("  VERIFIED  "), 2)
    assert "NOT VERIFIED" not in example.text, example.text


sys.exit(main(__doc__, tool("11-onnx-function")))
