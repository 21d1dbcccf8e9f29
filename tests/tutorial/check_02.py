#!/usr/bin/env python3
"""A scale factor that is an input: Resize reads it, exactly by compatcheck's own rows, as one node by the example's row."""
import sys

import numpy as np
import torch

from example import agree, all_nodes, as_array, attributes, equal, imports, main, outputs, test, tool


def reaches(graph, start, node):
    """Whether what `node` reads is computed from `start`."""
    made_by = {output: each for each in graph.node for output in each.output}
    waiting, seen = list(node.input), set()
    while waiting:
        name = waiting.pop()
        if name == start:
            return True
        if name in made_by and name not in seen:
            seen.add(name)
            waiting += made_by[name].input
    return False


def results(example, name, size, *factors):
    """What the ONNX model gives and what TorchScript does."""
    script, session = torch.jit.load(example.out / "srcnn.pt"), example.session(name)
    x, scales = torch.randn(1, 3, *size), torch.tensor([1.0, 1.0, *factors])
    (got,) = outputs(session, x=x, scales=scales)
    return got, as_array(script(x, scales))


def holds_one_resize(model):
    equal(imports(model), {"": 11})
    (resize,) = [node for node in all_nodes(model.graph) if node.op_type == "Resize"]
    assert resize in list(model.graph.node), "not in the graph itself"
    found = attributes(resize)
    equal(found, {"coordinate_transformation_mode": "pytorch_half_pixel", "cubic_coeff_a": -0.75, "mode": "cubic", "nearest_mode": "floor"})
    equal([each.name for each in model.graph.input], ["x", "scales"])
    equal(resize.input[0], "x")
    scales = [node for node in model.graph.node if resize.input[2] in node.output]
    assert reaches(model.graph, "scales", scales[0]), "Resize's scales don't come from the input"


@test
def one_resize_as_pytorch_writes_it(example):
    holds_one_resize(example.model("exact.onnx"))
    holds_one_resize(example.model("one_node.onnx"))
    (report,) = example.reports(example.out / "srcnn.pt", "--opset", "11", "--input", "x=f32:1,3,height,width", "--input", "scales=f32:4", "--mappings", "one_node.yaml")
    (resized,) = [each for each in report["operators"] if each["op"] == "aten::upsample_bicubic2d"]
    equal((resized["class"], [row["place"] for row in resized["rows"]]), ("one_to_one", ["one_node.yaml:3"]))


@test
def factors_are_given_at_run_time(example):
    for name in "one_node.onnx", "exact.onnx":
        for factor in 2, 3, 4:
            for size in (13, 9), (7, 32):
                got, expected = results(example, name, size, factor, factor)
                equal(expected.shape, (1, 3, size[0] * factor, size[1] * factor))
                agree(got, expected)


@test
def the_shipped_row_is_exact_where_one_node_is_not(example):
    for size, factors in (((13, 9), (1.01, 1.01)), ((13, 2), (2, 0.5))):    # a size that stays; a width of 1
        agree(*results(example, "exact.onnx", size, *factors))
        got, expected = results(example, "one_node.onnx", size, *factors)
        equal(got.shape, expected.shape)
        assert np.abs(got - expected).max() > 1e-3, f"{size}, {factors}: one node is exact, too: say so in the README"


sys.exit(main(__doc__, tool("02-srcnn")))
