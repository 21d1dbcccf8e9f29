#!/usr/bin/env python3
"""Metrics and tolerances by dtype, several seeds, the operator that differs, a case that fails by itself."""
import sys

import numpy as np
import onnx
import torch

from example import agree, equal, main, ops, outputs, test, tool

METRICS = {"max_abs", "max_rel", "mean_abs", "p99_abs", "cosine", "snr_db", "mismatched"}


@test
def each_seed_passes_with_metrics_by_dtype(example):
    for seed in 0, 1, 2:
        report = example.left_json(f"seed_{seed}.json")
        equal((report["passed"], report["seed"], len(report["runs"])), (True, seed, 4))
        equal({run["sizes"]["batch"] for run in report["runs"]}, {2, 3})
        equal([output["dtype"] for output in report["outputs"]], ["f32", "f16", "i64"])
        for output in report["outputs"]:
            assert METRICS <= set(output) and output["passed"], output


@test
def other_seeds_are_other_inputs(example):
    seen = {str(example.left_json(f"seed_{seed}.json")["outputs"]) for seed in (0, 1, 2)}
    assert len(seen) > 1, seen


@test
def a_near_miss_fails_where_the_tolerance_is_tight(example):
    near = example.left_json("near.json")
    equal((near["passed"], near["exit_code"], {each["id"] for each in near["findings"]}), (False, 1, {"CC201"}))
    floating, half, index = near["outputs"]
    equal([each["passed"] for each in (floating, half, index)], [False, False, True])
    assert floating["max_abs"] < 1e-2 < half["max_rel"] and floating["mismatched"] > 0, "near, but beyond 1e-3 of f32"


@test
def bisect_names_the_operator(example):
    bad = example.left_json("near.json")["first_bad"]
    assert bad["file"].endswith("model.py"), bad
    equal((bad["op"], bad["line"]), ("aten::gelu", example.source_line("model.py", "gelu(")))


@test
def the_case_fails_without_compatcheck(example):
    model = example.model("case/model.onnx")
    equal(set(ops(model.graph)), {"Mul", "Sigmoid"})
    data = example.out / "case" / "test_data_set_0"
    x, expected = (onnx.numpy_helper.to_array(onnx.load_tensor(data / f"{name}_0.pb")) for name in ("input", "output"))
    (got,) = outputs(example.session("case/model.onnx"), **{model.graph.input[0].name: x})
    assert not np.allclose(got, expected, rtol=1e-3, atol=1e-5)
    agree(expected, torch.nn.functional.gelu(torch.from_numpy(x.copy())))


sys.exit(main(__doc__, tool("18-compare-precision")))
