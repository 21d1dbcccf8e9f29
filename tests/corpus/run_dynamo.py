#!/usr/bin/env python3
"""Measures torch.onnx.export(dynamo=True) on cases of the operator corpus: the operators of the K-th of N parts, each case in
ONNX Runtime on its own inputs against PyTorch. Needs onnxscript beside torch.

    run_dynamo.py --part K/N [--opset 17] [--seconds 60] --out FILE.tsv
"""
import argparse
import csv
import io
import json
import logging
import os
import pathlib
import signal
import sys
import tempfile

import opinfo_corpus as corpus


def outcome(module, clone, want, nondeterministic, opset, seconds):
    import onnx
    import onnxruntime
    import torch

    def late(*_):
        raise TimeoutError

    signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    try:
        inputs = clone()
        program = torch.onnx.export(module, inputs, dynamo=True, opset_version=opset, verbose=False)
        made = io.BytesIO()
        onnx.save(program.model_proto, made)
        onnx.checker.check_model(program.model_proto)
        session = onnxruntime.InferenceSession(made.getvalue(), providers=["CPUExecutionProvider"])
        given = session.get_inputs()
        tensors = [each for each in inputs if isinstance(each, torch.Tensor)]
        if len(given) != len(tensors):
            return "mismatch", f"{len(given)} inputs for {len(tensors)}"
        got = session.run(None, {name.name: corpus.as_numpy(tensor) for name, tensor in zip(given, tensors)})
        if nondeterministic:
            return "not_comparable", nondeterministic
        return corpus.compare(got, want, [str(each.dtype) for each in want])
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        return "error", f"{type(error).__name__}: {corpus.first_line(error)}"
    finally:
        signal.alarm(0)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", default="1/1")
    parser.add_argument("--opset", type=int, default=17)
    parser.add_argument("--seconds", type=int, default=60, help="limit for one case")
    parser.add_argument("--out", type=pathlib.Path, required=True)
    options = parser.parse_args()
    logging.disable(logging.CRITICAL)
    found = []

    def measured(module, clone, stem, want, nondeterministic):
        result = outcome(module, clone, want, nondeterministic, options.opset, options.seconds)
        found.append((os.path.basename(stem), *result))
        print(*found[-1], file=sys.stderr, flush=True)
        return {}

    corpus.save_exported = measured
    with tempfile.TemporaryDirectory() as folder:
        how = {"split": "dev", "ops": "", "part": options.part, "max_per_op": 4, "dtypes": corpus.DTYPES, "pt2": True}
        corpus.generate(argparse.Namespace(out=folder, **how))
        kept = {json.loads(line)["id"] for line in (pathlib.Path(folder) / "dev/index.jsonl").read_text().splitlines()}
    rows = [row for row in found if row[0] in kept]  # other cases aren't in the corpus
    with options.out.open("w", newline="") as file:
        csv.writer(file, delimiter="\t", lineterminator="\n").writerows(rows)
    matched = sum(row[1] == "match" for row in rows)
    print(f"{matched} of {len(rows)} cases match at opset {options.opset}: {100 * matched / max(len(rows), 1):.1f} %")


if __name__ == "__main__":
    main()
