#!/usr/bin/env python3
"""examples/18-compare-precision: metrics and tolerances by dtype, several seeds, the operator that differs, a case that fails by itself."""
import json

import numpy as np
import onnx
import onnxruntime
import torch

from tutorial import main


def check(example):
    seen = set()
    for seed in (0, 1, 2):
        report = example.report(f"seed_{seed}.json")
        assert report["passed"] and report["seed"] == seed and len(report["runs"]) == 4, report
        assert {run["sizes"]["batch"] for run in report["runs"]} == {2, 3}, report["runs"]
        assert [output["dtype"] for output in report["outputs"]] == ["f32", "f16", "i64"], report["outputs"]
        for output in report["outputs"]:
            assert {"max_abs", "max_rel", "mean_abs", "p99_abs", "cosine", "snr_db", "mismatched"} <= set(output) and output["passed"], output
        seen.add(json.dumps(report["outputs"]))
    assert len(seen) > 1, "other seeds, other inputs"

    near = example.report("near.json")
    assert not near["passed"] and near["exit_code"] == 1 and {one["id"] for one in near["findings"]} == {"CC201"}, near["findings"]
    floating, half, index = near["outputs"]
    assert not floating["passed"] and not half["passed"] and index["passed"], near["outputs"]
    assert floating["max_abs"] < 1e-2 < half["max_rel"] and floating["mismatched"] > 0, "near, but beyond 1e-3 of f32"
    bad = near["first_bad"]
    assert bad["op"] == "aten::gelu" and bad["file"].endswith("model.py") and bad["line"] == example.source_line("model.py", "gelu("), bad

    # The case alone, without compatcheck.
    case = example.out / "case"
    model = onnx.load(case / "model.onnx")
    assert {node.op_type for node in model.graph.node} == {"Mul", "Sigmoid"}, model.graph.node
    data = case / "test_data_set_0"
    x, wanted = (onnx.numpy_helper.to_array(onnx.load_tensor(data / f"{name}_0.pb")) for name in ("input", "output"))
    (got,) = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, {model.graph.input[0].name: x})
    assert not np.allclose(got, wanted, rtol=1e-3, atol=1e-5)
    np.testing.assert_allclose(wanted, torch.nn.functional.gelu(torch.from_numpy(x.copy())), rtol=1e-3, atol=1e-5)


main(__doc__, "18-compare-precision", check)
