#!/usr/bin/env python3
"""examples/21-engines: what each engine lacks, in one report; ONNX Runtime takes what its profile says it takes."""
import onnxruntime

from tutorial import main, ops


def check(example):
    report = example.report("report.json")
    targets = {target["engine"]: target for target in report["targets"]}
    assert list(targets) == ["tensorrt", "openvino", "ort-cpu"], targets
    assert {engine: target["support"] for engine, target in targets.items()} == {"tensorrt": "no", "openvino": "no", "ort-cpu": "yes"}, targets
    lacking = {(finding["target"].split("@")[0], finding["op"]) for finding in report["findings"] if finding["id"] == "CC101"}
    assert lacking == {("tensorrt", "aten::linalg_det"), ("tensorrt", "aten::bitwise_and"), ("openvino", "aten::linalg_det")}, lacking
    det = next(finding for finding in report["findings"] if finding["op"] == "aten::linalg_det")
    assert det["sites"][0]["line"] == example.source_line("model.py", "linalg.det"), det
    assert report["exit_code"] == 0 and report["verdict"] == "yes", "an engine's limits are warnings"
    assert targets["ort-cpu"]["lowest_opset"] == report["summary"]["lowest_opset"] and report["targets_lowest_opset"] is None, report

    model = example.model("model.onnx")
    assert {"Det", "BitwiseAnd", "GridSample"} <= set(ops(model.graph)), ops(model.graph)
    counted = sum(node.op_type != "Constant" for node in model.graph.node)
    assert all(target["nodes"] == target["supported"] + target["unsupported"] + target["unknown"] == counted for target in targets.values()), (counted, targets)
    onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    assert (example.out / "report.html").read_text().count("tensorrt@") > 0


main(__doc__, "21-engines", check)
