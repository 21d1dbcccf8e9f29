#!/usr/bin/env python3
"""What each engine lacks, in one report; ONNX Runtime takes what its profile says it takes."""
import sys

from example import equal, main, ops, test, tool


def targets(report):
    return {target["engine"]: target for target in report["targets"]}


@test
def each_engine_has_its_own_answer(example):
    support = [(engine, target["support"]) for engine, target in targets(example.left_json("report.json")).items()]
    equal(support, [("tensorrt", "no"), ("openvino", "no"), ("ort-cpu", "yes")])


@test
def what_each_lacks_is_named(example):
    report = example.left_json("report.json")
    lacking = {(finding["target"].split("@")[0], finding["op"]) for finding in report["findings"] if finding["id"] == "CC101"}
    equal(lacking, {("tensorrt", "aten::linalg_det"), ("tensorrt", "aten::bitwise_and"), ("openvino", "aten::linalg_det")})
    det = next(finding for finding in report["findings"] if finding["op"] == "aten::linalg_det")
    equal(det["sites"][0]["line"], example.source_line("model.py", "linalg.det"))


@test
def an_engines_limits_are_warnings(example):
    report = example.left_json("report.json")
    equal((report["exit_code"], report["verdict"]), (0, "yes"))


@test
def the_lowest_opset_is_that_of_all(example):
    report = example.left_json("report.json")
    equal(targets(report)["ort-cpu"]["lowest_opset"], report["summary"]["lowest_opset"])
    equal(report["targets_lowest_opset"], None)


@test
def every_node_is_counted(example):
    made = ops(example.model("model.onnx").graph)
    assert {"Det", "BitwiseAnd", "GridSample"} <= set(made), made
    counted = len(made) - made.count("Constant")
    for target in example.left_json("report.json")["targets"]:
        equal((target["nodes"], target["supported"] + target["unsupported"] + target["unknown"]), (counted, counted))


@test
def onnx_runtime_takes_the_model(example):
    example.session("model.onnx")


@test
def the_page_names_the_target(example):
    assert "tensorrt@" in example.left("report.html")


sys.exit(main(__doc__, tool("21-engines")))
