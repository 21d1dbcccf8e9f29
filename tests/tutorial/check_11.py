#!/usr/bin/env python3
"""examples/11-onnx-function: SELU as a function that the model carries, with CastLike from opset 15 on and without it at 14."""
import numpy as np
import torch

from tutorial import error, main, operator, ops, opsets, run, same

SELU = "custom-onnx-script::Selu"


def check(example):
    reference = {name: torch.jit.load(example.out / f"{name}.pt") for name in ("f32", "f64")}
    for name, opset in (("f32_14", 14), ("f32_15", 15), ("f64_15", 15)):
        model = example.model(f"{name}.onnx")
        assert ops(model.graph) in ([SELU, "Gemm", SELU], [SELU, "MatMul", "Add", SELU]), ops(model.graph)
        assert opsets(model) == {"": opset, "custom-onnx-script": 1} and model.ir_version >= 8, model.opset_import
        (function,) = model.functions
        assert (function.domain, function.name) == ("custom-onnx-script", "Selu")
        inside = ops(function)
        assert {"Exp", "Where"} <= set(inside) and ("CastLike" in inside) == (opset >= 15), inside
        assert {a.name for a in function.attribute_proto} == {"alpha", "gamma"}
        for rows in (1, 6):
            x = torch.cat([torch.randn(rows, 4) * 3, torch.tensor([[0.0, -0.0, 200.0, -200.0]])]).to(getattr(torch, "float" + name[1:3]))
            same(run(model, x=x)[0], reference[name[:3]](x))
    for opset in (14, 15):
        found = operator(example.report(f"f32_{opset}.json"), "aten::selu")
        assert found["class"] == "one_to_one" and found["onnx"] == [SELU] and found["mapping"]["source"].endswith("rows.yaml"), found
    refused = error(example.report("f64_14.json"))
    assert refused["id"] == "CC005" and refused["available_from"] == 15 and "must be f32, and is f64" in refused["message"], refused
    inlined = example.model("inlined.onnx")
    assert not inlined.functions and opsets(inlined) == {"": 15} and ops(inlined.graph).count("Exp") == ops(inlined.graph).count("Where") == 2, ops(inlined.graph)
    x = torch.from_numpy(np.random.default_rng(0).normal(size=(5, 4)).astype(np.float32))
    same(run(inlined, x=x)[0], reference["f32"](x))
    assert example.text.count("  VERIFIED  ") == 2 and "NOT VERIFIED" not in example.text, example.text


main(__doc__, "11-onnx-function", check)
