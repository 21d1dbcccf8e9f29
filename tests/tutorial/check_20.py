#!/usr/bin/env python3
"""examples/20-dynamic-shapes: named sizes at sizes never seen; a size that tracing baked in is CC205, with its place."""
import onnx
import torch

from tutorial import main, run, same, types

FLOAT = onnx.TensorProto.FLOAT


def check(example):
    reference = {name: torch.jit.load(example.out / f"{name}.pt") for name in ("dynamic", "baked")}
    dynamic, fixed = example.model("dynamic.onnx"), example.model("fixed.onnx")
    assert types(dynamic.graph.input) == {"image": (FLOAT, ["batch", 3, "height", "width"])}, dynamic.graph.input
    sizes = [shape for _, shape in types(dynamic.graph.output).values()]
    assert sizes == [["batch", "height*width", 5], ["batch", 4, "2*height", "2*width"]], sizes
    for batch, height, width in ((1, 1, 1), (3, 17, 5), (2, 6, 31)):
        image = torch.randn(batch, 3, height, width)
        for got, wanted in zip(run(dynamic, image=image), reference["dynamic"](image)):
            same(got, wanted)
        image = torch.randn(batch, 3, height, 8)
        for got, wanted in zip(run(fixed, image=image), reference["baked"](image)):
            same(got, wanted)

    report = example.report("dynamic.json")
    assert report["passed"] and report["findings"] == [] and len({tuple(one["sizes"].items()) for one in report["runs"]}) > 1, report
    (found,) = example.report("baked.json")["findings"]
    assert found["id"] == "CC205" and "width=" in found["message"], found
    line = example.source_line("model.py", "+ self.columns(")
    assert f"model.py:{line}" in found["message"], found
    assert "(8)" in found["message"], "the size that was baked in"


main(__doc__, "20-dynamic-shapes", check)
