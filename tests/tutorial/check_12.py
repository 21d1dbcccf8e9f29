#!/usr/bin/env python3
"""ELU without its row: the report names the operator, its line, and the row that makes it convert."""
import sys

import torch

from example import agree, attributes, equal, error, holds, main, operator, ops, outputs, test, tool


@test
def the_report_names_operator_and_line(example):
    without = example.left_json("without.json")
    found = error(without)
    equal((without["verdict"], found["id"], found["op"]), ("no", "CC011", "aten::elu"))
    holds(found["help"], "ONNX has Elu")
    (site,) = found["sites"]
    assert site["file"].endswith("model.py"), site
    equal((site["line"], site["args"]), (example.source_line("model.py", "elu(input"), "elu(input, 1., 1, 1)"))


@test
def the_row_is_ready_to_paste(example):
    pasted = [line for line in (example.source / "elu.yaml").read_text().splitlines() if not line.startswith("#")]
    equal(pasted, [error(example.left_json("without.json"))["row"]])


@test
def with_it_elu_is_one_node(example):
    found = operator(example.left_json("with.json"), "aten::elu")
    equal((found["class"], found["onnx"]), ("one_to_one", ["Elu"]))
    assert found["mapping"]["source"].endswith("elu.yaml"), found
    model = example.model("elu.onnx")
    equal(ops(model.graph), ["Elu"])
    equal(attributes(model.graph.node[0]), {"alpha": 1.0})


@test
def it_computes_elu(example):
    session = example.session("elu.onnx")
    for size in (2, 3), (7, 11):
        x = torch.randn(size) * 3
        agree(outputs(session, input=x)[0], torch.nn.functional.elu(x))


sys.exit(main(__doc__, tool("12-missing-row")))
