"""Holds the measured profiles against their engines on the node tests that the onnx package makes, of opsets 7 to 26: what is supported
loads, runs and is right, all of it; what isn't fails, 95 % at least; what is unknown is 2 % at most. The shares count with all tests alone.
"""
import argparse
import collections
import pathlib
import subprocess
import sys
import warnings

import onnx

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/convert"), str(ROOT / "tools/engines")]
from days import part_of_the_day  # noqa: E402
from runtimes import RIGHT, Trial, Trials  # noqa: E402
from cases import OPSETS, RANDOM  # noqa: E402


# Chains of nodes in which each is right alone: fused, NaN is overlooked, and a quotient is rounded in another way.
WRONG_TOGETHER = {"openvino": {
    "test_attention_23_boolmask_fullymasked_row_nan_robustness_expanded", "test_attention_23_fullymasked_qk_matmul_output_mode3_zero_expanded",
    "test_attention_24_fullymasked_qk_matmul_output_mode3_zero_expanded", "test_attention_24_qk_matmul_output_mode3_softmax_precision_expanded",
    "test_attention_4d_causal_nonpad_negative_offset_structural_empty_expanded", "test_attention_4d_causal_padded_kv_bf16_expanded",
    "test_attention_causal_boolmask_nan_robustness_expanded", "test_dynamicquantizelinear_expanded",
}}


def node_tests():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from onnx.backend.test.case.node import collect_testcases
        tests = collect_testcases(None)
    return [test for test in tests if next((o.version for o in test.model.opset_import if o.domain in ("", "ai.onnx")), 0) in OPSETS]


def trial_of(test):
    inputs, wanted = test.data_sets[0]
    is_random = any(node.op_type in RANDOM for node in test.model.graph.node)
    return Trial(test.model.SerializeToString(), inputs, wanted, test.rtol, test.atol, is_random)


def verdicts(engine_look, engine, tests):
    stream = b"".join(str(len(data)).encode() + b"\n" + data for data in (test.model.SerializeToString() for test in tests))
    run = subprocess.run([engine_look, engine], input=stream, stdout=subprocess.PIPE, check=True)
    return [line.split("\t", 2) for line in run.stdout.decode().splitlines()]


def outcomes(engine, tests):
    """with optimizations, too: all must be right"""
    with Trials(engine) as plain, Trials(engine, optimized=True) as optimized:
        for test in tests:
            trial = trial_of(test)
            outcome = plain(trial)
            yield optimized(trial) if outcome[0] == RIGHT and engine == "ort-cpu" else outcome


def check(engine_look, engine, tests, is_whole):
    tally, wrong, refused = collections.Counter(), [], []
    for test, (support, rule, message), (outcome, why) in zip(tests, verdicts(engine_look, engine, tests), outcomes(engine, tests)):
        tally[support, outcome] += 1
        if test.name in WRONG_TOGETHER.get(engine, ()):
            if (support, outcome) != ("yes", "wrong"):
                wrong.append(f"{engine}: {test.name}: {support}, and {outcome}: it needs no exception any more")
        elif support == "yes" and outcome != RIGHT:
            wrong.append(f"{engine}: {test.name}: supported, and {outcome}: {why}")
        if support == "no" and outcome == RIGHT or support == "unknown":
            refused.append(f"{engine}: {test.name}: {support} ({rule} {message}), and {outcome}")
    print(f"{engine}: {len(tests)} node tests: " + ", ".join(f"{a} and {b}: {n}" for (a, b), n in sorted(tally.items())))
    share = lambda support, outcome=None: sum(n for (a, b), n in tally.items() if a == support and outcome in (None, b))
    if is_whole:
        print(*refused, sep="\n")
        if share("no", RIGHT) > 0.05 * share("no"):
            wrong.append(f"{engine}: {share('no', RIGHT)} of {share('no')} that are unsupported are right")
        if share("unknown") > 0.02 * len(tests):
            wrong.append(f"{engine}: {share('unknown')} of {len(tests)} are unknown")
    if not share("yes"):
        wrong.append(f"{engine}: none is supported")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engine-look", required=True)
    parser.add_argument("--engines", default="ort-cpu,openvino")
    parser.add_argument("--part-of-day", type=int, default=1)
    options = parser.parse_args()
    tests = node_tests()
    part = part_of_the_day(tests, "node tests", options.part_of_day)
    wrong = [text for engine in options.engines.split(",") for text in check(options.engine_look, engine, part, len(part) == len(tests))]
    print(*wrong, sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
