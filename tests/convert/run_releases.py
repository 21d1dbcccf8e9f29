#!/usr/bin/env python3
"""Converts the archives that releases of torch wrote (tests/models/pt2_releases) and compares ONNX Runtime with eager PyTorch.

    run_releases.py --compatcheck BUILD/compatcheck --opsets 11,17
"""
import argparse, pathlib, re, subprocess, sys, tarfile, tempfile

import numpy as np
import onnxruntime

from compare_arrays import compare
from run_exported import Program
from run_models import flat_results

RELEASES = pathlib.Path(__file__).parent.parent / "models/pt2_releases"


def in_order(arrays, prefix):
    numbered = lambda key: [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", key)]
    return {key[len(prefix):]: arrays[key] for key in sorted(arrays.files, key=numbered) if key.startswith(prefix)}


def fault(session, expected):
    arrays = np.load(expected)
    given = Program.named(in_order(arrays, "in_"), [i.name for i in session.get_inputs()])
    try:
        got = flat_results(session.run(None, given))
    except Exception as error:
        return str(error)[:300]
    return compare(got, list(in_order(arrays, "out_").values()))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compatcheck", required=True)
    parser.add_argument("--opsets", default="17")
    arguments = parser.parse_args()
    onnxruntime.set_default_logger_severity(4)
    packs = sorted(RELEASES.glob("files/*.tar.xz"))
    matches, bad = 0, []
    with tempfile.TemporaryDirectory() as temporary:
        for pack in packs:
            with tarfile.open(pack) as tar:
                tar.extractall(temporary, filter="data")
        for program in sorted(pathlib.Path(temporary).glob("*/*.pt2")):
            for opset in arguments.opsets.split(","):
                name = f"{program.parent.name}/{program.name} @{opset}"
                made = program.with_suffix(f".{opset}.onnx")
                done = subprocess.run([arguments.compatcheck, "convert", program, "-o", made, "--opset", opset], capture_output=True, text=True)
                if done.returncode:
                    bad.append(f"{name}: exit code {done.returncode}: {done.stderr[:500]}")
                    continue
                session = onnxruntime.InferenceSession(made, providers=["CPUExecutionProvider"])
                cases = sorted([*RELEASES.glob(f"expected/{program.stem}.npz"), *RELEASES.glob(f"expected/{program.stem}-2.npz")])
                if not cases:
                    bad.append(f"{name}: nothing is expected of it")
                for expected in cases:
                    wrong = fault(session, expected)
                    bad += [f"{name}: {expected.name}: {wrong}"] if wrong else []
                    matches += not wrong
    print("\n".join(bad + [f"{len(packs)} releases, {matches} match, {len(bad)} don't"]))
    return 1 if bad or not packs or not matches else 0


if __name__ == "__main__":
    sys.exit(main())
