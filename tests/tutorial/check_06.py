#!/usr/bin/env python3
"""An operator in a custom domain by a user's row: it converts, and verify says that ONNX Runtime has no such operator."""
import json, sys

from example import attributes, equal, imports, main, operator, test, tool

INPUT = ["--input", "x=f32:batch,3,height,width"]


@test
def without_the_row_it_waits_for_opset_19(example):
    (report,) = example.reports(example.out / "deformed.pt", "--opset", "11", *INPUT)
    equal([(each["id"], each["op"], each["available_from"]) for each in report["findings"]], [("CC002", "torchvision::deform_conv2d", 19)])


@test
def the_row_makes_one_node(example):
    model = example.model("deformed.onnx")
    equal(imports(model), {"": 11, "custom": 1})
    (node,) = [each for each in model.graph.node if each.domain == "custom"]
    equal(node.op_type, "deform_conv2d")
    made = {output: each.op_type for each in model.graph.node for output in each.output}
    equal([made.get(name, name) for name in node.input], ["x", "weight", "Conv", "Sigmoid", "bias"])
    names = ("stride_h", "stride_w", "pad_h", "pad_w", "dilation_h", "dilation_w", "groups", "offset_groups", "use_mask")
    equal(attributes(node), dict.fromkeys(names, 1))
    (report,) = example.reports(example.out / "deformed.pt", "--opset", "11", *INPUT, "--mappings", "rows.yaml")
    found = operator(report, "torchvision::deform_conv2d")
    equal((found["class"], found["onnx"], found["rows"][0]["place"]), ("one_to_one", ["custom::deform_conv2d"], "rows.yaml:4"))
    equal(report["verdict"], "yes")


@test
def verify_says_what_the_runtime_lacks(example):
    for words in ([example.out / "deformed.onnx"], ["--opset", "11", "--mappings", "rows.yaml"]):
        ran = example.run("verify", example.out / "deformed.pt", *words, *INPUT, "--format", "json", codes=(1,))
        findings = json.loads(ran.stdout)["findings"]
        equal([each["id"] for each in findings], ["CC201"])
        assert "custom:deform_conv2d(-1) is not a registered function/op" in findings[0]["message"], findings


sys.exit(main(__doc__, tool("06-custom-deform-conv")))
