#!/usr/bin/env python3
"""What each engine lacks, in one report; ONNX Runtime takes what its profile says it takes."""
import re, sys

import numpy as np

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
    equal(lacking, {("tensorrt", "aten::linalg_det"), ("openvino", "aten::linalg_det")})
    det = next(finding for finding in report["findings"] if finding["op"] == "aten::linalg_det")
    equal(det["sites"][0]["line"], example.source_line("model.py", "linalg.det"))


@test
def a_call_has_the_form_that_all_take(example):
    forms = targets(example.left_json("report.json"))["tensorrt"]["older_forms"]
    equal([(form["op"], form["newer"]) for form in forms], [("aten::bitwise_and", ["BitwiseAnd"])])


@test
def the_advice_leads_to_a_file_that_the_engine_takes(example):
    """The row that the help says to start from, its TODO filled in: a determinant of 2 × 2 matrices."""
    report = example.left_json("report.json")
    finding = next(each for each in report["findings"] if each["op"] == "aten::linalg_det" and each["target"].startswith("openvino"))
    words = re.search(r"`compatcheck (.*?)`", finding["help"])[1].split()
    row = example.run(*words).stdout
    assert "{ result = TODO (A) }" in row, row
    rows, model, made = (example.out / name for name in ("rows.yaml", "det.ir", "det.onnx"))
    model.write_text("graph(%x : Float(5, 2, 2)):\n  %d : Float(5) = aten::linalg_det(%x)\n  return (%d)\n")
    rows.write_text(row.replace("{ result = TODO (A) }", """{
        zero = Constant <value_int = 0> () one = Constant <value_int = 1> ()
        top = Gather <axis = 1> (A, zero) bottom = Gather <axis = 1> (A, one)
        a = Gather <axis = 1> (top, zero) b = Gather <axis = 1> (top, one) c = Gather <axis = 1> (bottom, zero) d = Gather <axis = 1> (bottom, one)
        ad = Mul (a, d) bc = Mul (b, c) result = Sub (ad, bc) }"""))
    example.run("lint", rows)
    example.run("convert", model, "--mappings", rows, "--target", "openvino", "--fail-on", "warning", "-o", made)
    x = np.random.default_rng(5).normal(size=(5, 2, 2)).astype(np.float32)
    np.testing.assert_allclose(example.session("det.onnx").run(None, {"x": x})[0], np.linalg.det(x), rtol=1e-4, atol=1e-5)


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
    assert {"Det", "GridSample"} <= set(made) and "BitwiseAnd" not in made, made
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
