#!/usr/bin/env python3
"""examples/15-export-types as onnx reads what it writes: node types, attributes, domains; and for every graph text of tests/cli/models
the check's verdict with each export type is what the conversion does."""
import argparse, pathlib, subprocess, sys, tempfile

import onnx

HERE = pathlib.Path(__file__).resolve().parent
TYPES = ["onnx", "onnx-aten", "onnx-aten-fallback", "onnx-fallthrough", "raw"]
ATEN = "org.pytorch.aten"
WRITTEN = {
    "onnx-aten": [(ATEN, "ATen", {"operator": b"triu", "overload_name": b""}), (ATEN, "ATen", {"operator": b"mul", "overload_name": b"Tensor"})],
    "onnx-aten-fallback": [(ATEN, "ATen", {"operator": b"triu", "overload_name": b""}), ("", "Mul", {})],
    "onnx-fallthrough": [(ATEN, "triu", {}), ("", "Mul", {})],
    "raw": [("org.pytorch.prim", "Constant", {"value": 0}), (ATEN, "triu", {}), (ATEN, "mul", {"overload_name": b"Tensor"})],
    "sum": [("", "ReduceSum", {"keepdims": 0})],
}


def nodes(model):
    return [(n.domain, n.op_type, {a.name: onnx.helper.get_attribute_value(a) for a in n.attribute}) for n in model.graph.node]


def example(program):
    with tempfile.TemporaryDirectory() as folder:
        run = subprocess.run([HERE.parents[1] / "examples" / "15-export-types" / "run.sh", program, folder], capture_output=True, text=True)
        if run.returncode:
            yield f"run.sh ends with {run.returncode}: {run.stderr[-500:]}"
        if (pathlib.Path(folder) / "onnx.onnx").exists():
            yield "onnx: a model was written"
        for name, expected in WRITTEN.items():
            model = onnx.load(pathlib.Path(folder) / f"{name}.onnx")
            onnx.checker.check_model(model)
            if nodes(model) != expected:
                yield f"{name}: {nodes(model)} instead of {expected}"
            domains = {i.domain: i.version for i in model.opset_import}
            if domains != {"": 13} | {domain: 1 for domain, _, _ in expected if domain}:
                yield f"{name}: opset_import {domains}"


def agreement(program, models, opset):
    for model in models:
        for kind in TYPES:
            words = [str(model), "--opset", str(opset), "--export-type", kind]
            checked = subprocess.run([program, "check", *words], capture_output=True, text=True)
            with tempfile.TemporaryDirectory() as folder:
                file = pathlib.Path(folder) / "m.onnx"
                made = subprocess.run([program, "convert", *words, "-o", file], capture_output=True, text=True)
                if made.returncode != checked.returncode:
                    yield f"{model.name} {kind} at {opset}: check ends with {checked.returncode}, convert with {made.returncode}: {made.stderr[-300:]}"
                elif made.returncode == 0:
                    onnx.load(file)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    options = parser.parse_args()
    texts = sorted((HERE.parent / "cli" / "models").glob("*.ir"))
    wrong = list(example(options.program))
    for opset in (9, 13):
        wrong += agreement(options.program, texts, opset)
    print(*wrong, sep="\n")
    print(f"{len(texts)} graphs, {len(wrong)} failed")
    return 1 if wrong or not texts else 0


if __name__ == "__main__":
    sys.exit(main())
