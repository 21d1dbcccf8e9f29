#!/usr/bin/env python3
"""aten::asinh is Asinh from opset 9, by the shipped row and by a user's, which wins over the tables before it."""
import sys

import torch

from example import agree, equal, imports, main, operator, ops, outputs, test, tool


@test
def shipped_from_opset_9(example):
    below, at = example.reports("asinh.ir", "--opset", "8,9")
    equal([(each["id"], each["available_from"]) for each in below["findings"]], [("CC002", 9)])
    equal(operator(below, "aten::asinh")["class"], "missing")
    found = operator(at, "aten::asinh")
    equal((found["class"], found["onnx"]), ("one_to_one", ["Asinh"]))
    assert found["rows"][0]["place"].startswith("mappings/operators/"), found["rows"]


@test
def without_a_row_one_is_printed(example):
    (report,) = example.reports("asinh.ir", "--mappings", "missing.yaml")
    equal([(each["id"], each.get("row")) for each in report["findings"]], [("CC011", "aten::asinh: {9: {to: Asinh, inputs: [self]}}")])


@test
def the_users_row_wins(example):
    (report,) = example.reports("asinh.ir", "--mappings", "missing.yaml", "--mappings", "asinh.yaml")
    found = operator(report, "aten::asinh")
    equal((found["class"], found["onnx"], [row["place"] for row in found["rows"]]), ("one_to_one", ["Asinh"], ["asinh.yaml:3"]))
    (report,) = example.reports("asinh.ir", "--mappings", "asinh.yaml", "--mappings", "missing.yaml")
    equal(operator(report, "aten::asinh")["class"], "missing")


@test
def both_models_compute_it(example):
    for name in "shipped.onnx", "own.onnx":
        model = example.model(name)
        equal((ops(model.graph), imports(model)), (["Asinh"], {"": 9}))
        for batch in 1, 6:
            x = 20 * torch.randn(batch, 4)
            (got,) = outputs(example.session(name), x=x)
            agree(got, torch.asinh(x))


sys.exit(main(__doc__, tool("05-asinh")))
