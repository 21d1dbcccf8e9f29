#!/usr/bin/env python3
"""DeformConv from opset 19: arguments in ONNX's order, the mask only where it is used, as the definition computes it."""
import sys

import onnxruntime
import torch
from onnx.reference import ReferenceEvaluator

from example import agree, attributes, equal, imports, main, operator, outputs, test, tool

INPUT = ["--input", "x=f32:batch,4,height,width"]
FORMS = {"masked": ["x", "weight", "Conv", "bias", "Sigmoid"], "plain": ["x", "weight", "Conv", "bias"], "no-bias": ["x", "weight", "Conv", "ConstantOfShape"]}


@test
def missing_below_opset_19(example):
    for report in example.reports(example.out / "masked.pt", "--opset", "9,18,19", *INPUT):
        found = operator(report, "torchvision::deform_conv2d")
        findings = [(each["id"], each["available_from"]) for each in report["findings"]]
        if report["opset"] < 19:
            equal((found["class"], findings), ("missing", [("CC002", 19)]))
        else:
            equal((found["class"], found["onnx"], findings), ("one_to_one", ["DeformConv"], []))


@test
def arguments_in_their_own_order(example):
    for form, inputs in FORMS.items():
        model = example.model(f"{form}.onnx")
        equal(imports(model), {"": 19})
        (node,) = [each for each in model.graph.node if each.op_type == "DeformConv"]
        made = {output: each.op_type for each in model.graph.node for output in each.output}
        equal([made.get(name, name) for name in node.input], inputs)
        equal(attributes(node), {"kernel_shape": [3, 2], "strides": [2, 1], "pads": [1, 0, 1, 0], "dilations": [1, 1], "group": 2, "offset_group": 2})


def session(example, name):
    """ONNX Runtime where it has DeformConv, else ONNX's reference."""
    try:
        return example.session(name)
    except onnxruntime.capi.onnxruntime_pybind11_state.NotImplemented:
        return ReferenceEvaluator(example.model(name))


@test
def it_is_the_definition(example):
    sys.path.insert(0, str(example.source))
    import model
    for form, arguments in model.FORMS.items():
        runs, layer = session(example, f"{form}.onnx"), model.layer(*arguments)
        for shape in (1, 4, 7, 6), (3, 4, 12, 5):
            x = 3 * torch.randn(shape)
            (got,) = outputs(runs, x=x)
            agree(got, layer(x))


sys.exit(main(__doc__, tool("07-native-deform-conv")))
