#!/usr/bin/env python3
"""Every mode of interpolate at the opsets where Resize changed, or the opset that it says."""
import sys

import torch

from example import agree, all_nodes, attributes, equal, imports, main, outputs, test, tool

VARY, FIXED = "x=f32:batch,3,height,width", "x=f32:2,3,6,8"
OPSETS = [9, 10, 11, 13, 18, 19]


def compare(example, source, name, opset, *shapes):
    script = torch.jit.load(example.out / f"{source}.pt")
    equal(imports(example.model(f"{name}-{opset}.onnx"))[""], opset)
    session = example.session(f"{name}-{opset}.onnx")
    for shape in shapes:
        x = torch.randn(shape)
        given, expected = outputs(session, x=x), script(x)
        equal(len(given), len(expected))
        for got, want in zip(given, expected):
            agree(got, want)


def resizers(example, name):
    return [node for node in all_nodes(example.model(name).graph) if node.op_type in ("Resize", "Upsample")]


@test
def cells_are_repeated_at_every_opset(example):
    for opset in OPSETS:
        equal([node.op_type for node in resizers(example, f"repeat-{opset}.onnx")], ["Upsample" if opset == 9 else "Resize"] * 3)
        compare(example, "repeat", "repeat", opset, (1, 3, 5, 7), (3, 3, 9, 4))


@test
def resize_weighs_from_opset_11(example):
    for opset in 11, 13, 18, 19:
        nodes = resizers(example, f"smooth-{opset}.onnx")
        found = [(attributes(node)["mode"], attributes(node)["coordinate_transformation_mode"]) for node in nodes]
        equal([node.op_type for node in nodes], ["Resize"] * 8)
        equal(found, [(mode, coordinates) for mode in ("linear", "linear", "linear", "cubic") for coordinates in ("half_pixel", "align_corners")])
        compare(example, "smooth", "smooth", opset, (1, 3, 5, 7), (3, 3, 9, 4))


@test
def below_it_cells_are_weighed_one_by_one(example):
    for opset in 9, 10:
        for name in "smooth", "smooth-fixed":
            equal(resizers(example, f"{name}-{opset}.onnx"), [])
        compare(example, "smooth", "smooth", opset, (1, 3, 5, 7), (3, 3, 9, 4))
        compare(example, "smooth", "smooth-fixed", opset, (2, 3, 6, 8))


@test
def area_is_pooling_and_antialias_is_resize_from_18(example):
    for opset in OPSETS:
        nodes = resizers(example, f"others-fixed-{opset}.onnx")
        equal([(attributes(node)["mode"], attributes(node)["antialias"]) for node in nodes], [("linear", 1), ("cubic", 1)] if opset >= 18 else [])
        assert "AveragePool" in {node.op_type for node in all_nodes(example.model(f"others-fixed-{opset}.onnx").graph)}
        compare(example, "others", "others-fixed", opset, (2, 3, 6, 8))


@test
def sizes_that_vary_convert(example):
    for name in "smooth", "others":
        for report in example.reports(example.out / f"{name}.pt", "--opset", ",".join(map(str, OPSETS)), "--input", VARY):
            equal(report["verdict"], "yes")
            equal(report["summary"]["lowest_opset"], 9)
    (report,) = example.reports(example.out / "smooth.pt", "--opset", "8", "--input", VARY)
    errors = {(finding["id"], finding["op"], finding["available_from"]) for finding in report["findings"] if finding["severity"] == "error"}
    names = ("aten::upsample_linear1d", "aten::upsample_bilinear2d", "aten::upsample_trilinear3d", "aten::upsample_bicubic2d")
    equal(errors, {("CC005", name, 9) for name in names})


sys.exit(main(__doc__, tool("03-resize")))
