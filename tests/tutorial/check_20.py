#!/usr/bin/env python3
"""Named sizes at sizes never seen; a size that tracing baked in is CC205, with its place."""
import sys

import onnx
import torch

from example import agree, equal, holds, main, outputs, test, tool, types

FLOAT = onnx.TensorProto.FLOAT


def compare(example, name, source, *shapes):
    session, script = example.session(f"{name}.onnx"), torch.jit.load(example.out / f"{source}.pt")
    for shape in shapes:
        image = torch.randn(shape)
        given, expected = outputs(session, image=image), script(image)
        equal(len(given), len(expected))
        for got, want in zip(given, expected):
            agree(got, want)


@test
def sizes_are_names_and_what_is_computed_of_them(example):
    graph = example.model("dynamic.onnx").graph
    equal(types(graph.input), {"image": (FLOAT, ["batch", 3, "height", "width"])})
    equal([shape for _, shape in types(graph.output).values()], [["batch", "height*width", 5], ["batch", 4, "2*height", "2*width"]])


@test
def any_size_computes_the_same(example):
    compare(example, "dynamic", "dynamic", (1, 3, 1, 1), (3, 3, 17, 5), (2, 3, 6, 31))


@test
def so_does_any_but_the_one_that_is_a_number(example):
    example.model("fixed.onnx")
    compare(example, "fixed", "baked", (1, 3, 1, 8), (3, 3, 17, 8), (2, 3, 6, 8))


@test
def other_sizes_are_verified(example):
    report = example.left_json("dynamic.json")
    equal((report["passed"], report["findings"]), (True, []))
    assert len({tuple(each["sizes"].items()) for each in report["runs"]}) > 1, report


@test
def a_size_that_is_baked_in_is_found(example):
    (found,) = example.left_json("baked.json")["findings"]
    equal(found["id"], "CC205")
    holds(found["message"], "width=", f"model.py:{example.source_line('model.py', '+ self.columns(')}", "(8)")


sys.exit(main(__doc__, tool("20-dynamic-shapes")))
