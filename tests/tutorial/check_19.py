#!/usr/bin/env python3
"""What a model holds, its parts, its inner values; run against the whole and against PyTorch."""
import sys

import onnx
import torch

from example import agree, equal, holds, main, ops, outputs, test, tool, types

FLOAT = onnx.TensorProto.FLOAT
FEATURES = "/stem/Relu_output_0"


def reference(example):
    return torch.jit.load(example.out / "model.pt")


def inputs(n):
    return {"image": torch.randn(n, 3, 16, 16), "mask": torch.rand(n, 1, 8, 8)}


@test
def all_of_it_is_listed(example):
    inspected = example.left_json("inspected.json")
    listed = [node["op"] for node in inspected["nodes"]]
    equal(listed, ["Conv", "Relu", "Mul", "ReduceMean", "Gemm"])
    equal(listed, ops(example.model("model.onnx").graph))
    conv = {each["name"]: each["value"] for each in inspected["nodes"][0]["attributes"]}
    equal([conv[name] for name in ("strides", "pads", "kernel_shape", "group")], [[2, 2], [1, 1, 1, 1], [3, 3], 1])


@test
def one_operator_with_statistics_of_its_weights(example):
    only = example.left_json("conv.json")
    equal([node["op"] for node in only["nodes"]], ["Conv"])
    (weight,) = [each for each in only["initializers"] if each["name"] == "stem.conv.weight"]
    equal(weight["shape"], [8, 3, 3, 3])
    held, statistics = reference(example).stem.conv.weight, weight["statistics"]
    assert abs(statistics["max"] - held.max().item()) < 1e-6 and abs(statistics["mean"] - held.mean().item()) < 1e-6, weight


@test
def parts_by_values_and_by_modules(example):
    stem, head = example.model("stem.onnx").graph, example.model("head.onnx").graph
    equal((ops(stem), list(types(stem.input)), list(types(stem.output))), (["Conv", "Relu"], ["image"], [FEATURES]))
    equal((ops(head), types(head.input)), (["Mul", "ReduceMean", "Gemm"], {FEATURES: (FLOAT, ["n", 8, 8, 8]), "mask": (FLOAT, ["n", 1, 8, 8])}))
    equal({each.name for each in head.initializer}, {"head.linear.weight", "head.linear.bias"})


@test
def a_cut_that_misses_an_input_is_reported(example):
    holds(example.left("missed.txt"), "mask (read by /head/Mul)")
    assert not (example.out / "missed.onnx").exists()


@test
def every_inner_value_is_an_output(example):
    inner = {name for node in example.model("model.onnx").graph.node for name in node.output}
    equal(inner, set(types(example.model("all.onnx").graph.output)))


@test
def parts_compute_what_their_modules_do(example):
    model, stem, head = reference(example), example.session("stem.onnx"), example.session("head.onnx")
    for n in 1, 5:
        given = inputs(n)
        middle = model.stem(given["image"])
        agree(outputs(stem, image=given["image"])[0], middle)
        agree(outputs(head, **{FEATURES: middle, "mask": given["mask"]})[0], model(**given))


@test
def inner_values_are_those_of_the_modules(example):
    model, full = reference(example), example.session("all.onnx")
    for n in 1, 5:
        given = inputs(n)
        values = dict(zip([each.name for each in full.get_outputs()], outputs(full, **given)))
        agree(values[FEATURES], model.stem(given["image"]))
        agree(values["head.linear"], model(**given))


@test
def a_changed_file_differs_at_one_place(example):
    bad = example.left_json("bisected.json")["first_bad"]
    assert bad["file"].endswith("model.py"), bad
    equal((bad["op"], bad["module"], bad["line"]), ("aten::relu", "stem", example.source_line("model.py", "torch.relu(")))
    holds(example.text.split("== where a changed file")[1], "LeakyRelu")


sys.exit(main(__doc__, tool("19-inspect-and-extract")))
