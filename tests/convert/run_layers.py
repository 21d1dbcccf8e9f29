#!/usr/bin/env python3
"""Converts small modules, traced or scripted here, and compares ONNX Runtime with PyTorch: what the operator corpus lacks.

    run_layers.py --program BUILD/tests/convert_cases --helper BUILD/libexec/compatcheck-torchscript [--cases REGEX] [--opsets ...] [--all-lines]

Cases stand in layers_*.py: name → Case. Inputs beyond the first set may have other sizes where the case names dimensions.
"""
import argparse, collections, dataclasses, importlib, json, pathlib, re, subprocess, sys, tempfile, warnings

warnings.filterwarnings("ignore")
import numpy as np
import torch

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from compare_arrays import compare


@dataclasses.dataclass
class Case:
    module: object                       # nn.Module or function
    inputs: list                         # of tuples; the first is traced
    specs: tuple = ()                    # "f32:batch,3,height,width" for each input; default: the first set's sizes
    script: bool = False
    opsets: range = range(7, 27)         # at which it must convert
    tolerance: tuple = ()
    refused: str = ""                    # at none: the words of the refusal
    runs: range = range(7, 27)           # at which ONNX Runtime has the kernels


DTYPES = {torch.float32: "f32", torch.float64: "f64", torch.float16: "f16", torch.int64: "i64", torch.int32: "i32", torch.int8: "i8",
          torch.uint8: "u8", torch.bool: "bool", torch.int16: "i16", torch.bfloat16: "bf16"}

GOOD = {"match", "refused as it should be", "without a kernel"}


def flat(value):
    if isinstance(value, (list, tuple)):
        return [part for item in value for part in flat(item)]
    return [] if value is None else [value]


def save(case, file):
    module = case.module
    if not isinstance(module, torch.nn.Module):
        function = module

        class Wrapped(torch.nn.Module):
            def forward(self, *inputs):
                return function(*inputs)

        module = Wrapped()
    module = module.eval()
    made = torch.jit.script(case.module if case.script else module) if case.script else torch.jit.trace(module, case.inputs[0], check_trace=False)
    torch.jit.save(made, str(file))
    return torch.jit.load(str(file))   # in memory tracing's constants still know that they were numbers


def specs_of(case):
    return case.specs or [f"{DTYPES[x.dtype]}:{','.join(map(str, x.shape))}" for x in case.inputs[0]]


def check(case, module, file):
    import onnxruntime
    onnxruntime.set_default_logger_severity(4)
    session = onnxruntime.InferenceSession(str(file), providers=["CPUExecutionProvider"])
    names = [i.name for i in session.get_inputs()]
    for number, inputs in enumerate(case.inputs):
        want = [w.detach().numpy() if isinstance(w, torch.Tensor) else np.asarray(w) for w in flat(module(*[x.clone() for x in inputs]))]
        given = [x.numpy() for x in inputs]
        feed = dict(zip(names, given)) if len(names) == len(given) else {n: given[int(n.rsplit("_", 1)[1])] for n in names}
        got = session.run(None, feed)
        if case.tolerance:
            rtol, atol = case.tolerance
            for g, w in zip(got, want):
                if g.shape != w.shape or g.dtype != w.dtype or not np.allclose(g, w, rtol=rtol, atol=atol, equal_nan=True):
                    return f"inputs {number}: {g.shape} {g.dtype} for {w.shape} {w.dtype}, off by {np.max(np.abs(g - w)) if g.shape == w.shape else 'shape'}"
            continue
        difference = compare(got, want, ())
        if difference:
            return f"inputs {number}: {difference}"
    return ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    parser.add_argument("--helper", required=True)
    parser.add_argument("--cases", default="")
    parser.add_argument("--opsets", default="7,9,11,13,17,18,20,23,26")
    parser.add_argument("--keep")
    parser.add_argument("--all-lines", action="store_true")
    arguments = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    cases = {}
    for file in sorted(pathlib.Path(__file__).parent.glob("layers_*.py")):
        cases.update(importlib.import_module(file.stem).cases())
    cases = {name: case for name, case in cases.items() if re.search(arguments.cases, name)}
    counts = collections.Counter()
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(arguments.keep or temporary)
        modules = {name: save(case, folder / f"{name}.pt") for name, case in cases.items()}
        lines = "".join("\t".join([f"{folder / name}.pt", *specs_of(case)]) + "\n" for name, case in cases.items())
        done = subprocess.run([arguments.program, arguments.helper, str(folder), arguments.opsets], text=True, capture_output=True, input=lines)
        if done.returncode:
            sys.exit(f"convert_cases ended with {done.returncode}: {done.stderr}")
        for line in done.stdout.splitlines():
            result = json.loads(line)
            name, opset = result["id"], result["opset"]
            case, outcome, detail = cases[name], result["outcome"], result.get("reason", "")
            if outcome == "converted":
                try:
                    detail = check(case, modules[name], folder / f"{name}@{opset}.onnx")
                    outcome = "wrong" if detail else "match"
                except Exception as error:
                    outcome, detail = "runtime", str(error)[:300]
                    if opset not in case.runs and "NOT_IMPLEMENTED" in detail:
                        outcome = "without a kernel"
            elif case.refused and case.refused in detail or opset not in case.opsets:
                outcome = "refused as it should be" if outcome != "error" else outcome
            counts[outcome] += 1
            if outcome not in GOOD or arguments.all_lines and outcome != "match":
                print(f"{outcome.upper()} {name} @{opset} {detail}")
    print(", ".join(f"{n} {what}" for what, n in sorted(counts.items())))
    return 1 if set(counts) - GOOD else 0


if __name__ == "__main__":
    sys.modules["run_layers"] = sys.modules["__main__"]
    sys.exit(main())
