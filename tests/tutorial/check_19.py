#!/usr/bin/env python3
"""examples/19-inspect-and-extract: what a model holds, its parts, its inner values; run against the whole and against PyTorch."""
import onnx
import torch

from tutorial import main, ops, run, same, types

FLOAT = onnx.TensorProto.FLOAT


def check(example):
    reference = torch.jit.load(example.out / "model.pt")
    model = example.model("model.onnx")
    features = "/stem/Relu_output_0"
    told = example.report("inspected.json")
    assert [node["op"] for node in told["nodes"]] == ops(model.graph) == ["Conv", "Relu", "Mul", "ReduceMean", "Gemm"], told["nodes"]
    conv = {one["name"]: one["value"] for one in told["nodes"][0]["attributes"]}
    assert conv["strides"] == [2, 2] and conv["pads"] == [1, 1, 1, 1] and conv["kernel_shape"] == [3, 3] and conv["group"] == 1, conv
    only = example.report("conv.json")
    assert [node["op"] for node in only["nodes"]] == ["Conv"], only["nodes"]
    weight = next(one for one in only["initializers"] if one["name"] == "stem.conv.weight")
    held = reference.stem.conv.weight
    assert weight["shape"] == [8, 3, 3, 3] and abs(weight["statistics"]["max"] - held.max().item()) < 1e-6 and abs(weight["statistics"]["mean"] - held.mean().item()) < 1e-6, weight

    stem, head = example.model("stem.onnx"), example.model("head.onnx")
    assert ops(stem.graph) == ["Conv", "Relu"] and list(types(stem.graph.input)) == ["image"] and list(types(stem.graph.output)) == [features]
    assert ops(head.graph) == ["Mul", "ReduceMean", "Gemm"] and types(head.graph.input) == {features: (FLOAT, ["n", 8, 8, 8]), "mask": (FLOAT, ["n", 1, 8, 8])}, head.graph.input
    assert {one.name for one in head.graph.initializer} == {"head.linear.weight", "head.linear.bias"}
    told = (example.out / "missed.txt").read_text()
    assert "mask (read by /head/Mul)" in told and not (example.out / "missed.onnx").exists(), told

    full = example.model("all.onnx")
    inner = {name for node in model.graph.node for name in node.output}
    assert inner == set(types(full.graph.output)), full.graph.output
    for n in (1, 5):
        image, mask = torch.randn(n, 3, 16, 16), torch.rand(n, 1, 8, 8)
        wanted, middle = reference(image, mask), reference.stem(image)
        same(run(stem, image=image)[0], middle)
        same(run(head, **{features: middle, "mask": mask})[0], wanted)
        values = dict(zip(types(full.graph.output), run(full, image=image, mask=mask)))
        same(values[features], middle)
        same(values["output_0"], wanted)

    bad = example.report("bisected.json")["first_bad"]
    assert bad["op"] == "aten::relu" and bad["module"] == "stem" and bad["file"].endswith("model.py"), bad
    assert bad["line"] == example.source_line("model.py", "torch.relu("), bad
    assert "LeakyRelu" in example.text.split("== where a changed file")[1]


main(__doc__, "19-inspect-and-extract", check)
