#!/usr/bin/env python3
"""examples/12-missing-row: ELU without its row: the report names the operator, its line, and the row that makes it convert."""
import torch

from tutorial import attributes, error, main, operator, ops, run, same


def check(example):
    without = example.report("without.json")
    found = error(without)
    assert without["verdict"] == "no" and found["id"] == "CC011" and found["op"] == "aten::elu" and "ONNX has Elu" in found["help"], found
    (site,) = found["sites"]
    assert site["file"].endswith("model.py") and site["line"] == example.source_line("model.py", "elu(input"), site
    assert site["args"] == "elu(input, 1., 1, 1)", site
    pasted = [line for line in (example.folder / "elu.yaml").read_text().splitlines() if not line.startswith("#")]
    assert pasted == [found["row"]], (pasted, found["row"])

    with_row = operator(example.report("with.json"), "aten::elu")
    assert with_row["class"] == "one_to_one" and with_row["onnx"] == ["Elu"] and with_row["mapping"]["source"].endswith("elu.yaml"), with_row
    model = example.model("elu.onnx")
    assert ops(model.graph) == ["Elu"] and attributes(model.graph.node[0]) == {"alpha": 1.0}, model
    for size in ((2, 3), (7, 11)):
        x = torch.randn(size) * 3
        same(run(model, input=x)[0], torch.nn.functional.elu(x))


main(__doc__, "12-missing-row", check)
