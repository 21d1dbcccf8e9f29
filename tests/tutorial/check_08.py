#!/usr/bin/env python3
"""Every kind of argument that a row spells, and what is said of wrong ones."""
import sys

import numpy as np
import onnx
from onnx import AttributeProto

from example import equal, holds, imports, main, test, tool

WRONG = {
    "int": ("argument `strength` is float, which can't be given as `int`", "to: acme.ops::Warp"),
    "float": ("argument `mode` is str, which can't be given as `float`", "to: acme.ops::Warp"),
    "ints": ("argument `strength` is float, which can't be given as `ints`", "to: acme.ops::Warp"),
    "string": ("argument `order` is int, which can't be given as `string`", "to: acme.ops::Warp"),
    "value": ("argument `mode` is str, which can't be given as `value`", "to: acme.ops::Warp"),
    "input": ("an input is a tensor; the row gives argument `mode` as `string`", "to: acme.ops::Warp"),
    "kind": ("`integer` isn't a kind of argument", "order: {integer: order}"),
    "onnx": ("attribute `alpha` of Elu is FLOAT; the row gives argument `alpha` as `string`, which is STRING", "to: Elu"),
}


@test
def every_kind(example):
    model = example.model("warp.onnx")
    equal(imports(model)["acme.ops"], 1)
    (node,) = [each for each in model.graph.node if each.domain == "acme.ops"]
    equal({each.name: (each.type, onnx.helper.get_attribute_value(each)) for each in node.attribute},
          {"order": (AttributeProto.INT, 3), "strength": (AttributeProto.FLOAT, 0.5), "window": (AttributeProto.INTS, [1, 3]), "mode": (AttributeProto.STRING, b"fast")})
    equal(list(node.input[:2]), ["x", "grid"])
    (order,) = [onnx.numpy_helper.to_array(tensor) for tensor in model.graph.initializer if tensor.name == node.input[2]]
    equal((order.dtype, order.shape, order.item(), len(node.input)), (np.dtype(np.int64), (), 3, 3))


@test
def wrong_kinds_are_reported_with_row_argument_and_both_kinds(example):
    equal(sorted(each.stem for each in (example.source / "wrong").iterdir()), sorted(WRONG))
    for name, (message, line) in WRONG.items():
        for words, code in ((("lint", f"wrong/{name}.yaml"), 1), (("check", "warp.ir", "--mappings", f"wrong/{name}.yaml"), 2)):
            holds(example.output(*words, code=code), f"{name}.yaml:", message, line)


@test
def nothing_is_written_with_a_wrong_row(example):
    assert not (example.out / "wrong.onnx").exists()


sys.exit(main(__doc__, tool("08-argument-kinds")))
