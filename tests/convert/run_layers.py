#!/usr/bin/env python3
"""Converts small modules, traced or scripted here, and compares ONNX Runtime with PyTorch: what the operator corpus lacks.

    run_layers.py --program BUILD/tests/convert_cases --helper BUILD/libexec/compatcheck-torchscript [--cases REGEX] [--opsets ...] [--all-lines]

Cases stand in layers_*.py: name → Case. Inputs beyond the first set may have other sizes where the case names dimensions. A case
states what happens at each opset: it matches PyTorch, it is refused, or ONNX Runtime has no kernel for it. Any other outcome fails, a
better one too: the case then states it.
"""
import argparse, collections, contextlib, dataclasses, importlib, json, pathlib, re, subprocess, sys, tempfile, warnings

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
    inferred: bool = False               # scripted, and nothing is said of its inputs: they follow from what reads them
    opsets: range = None                 # at which it converts: all, or none if it is refused; at all others it is refused
    tolerance: tuple = ()
    refused: str = ""                    # the words of the refusal
    needs: str = ""                       # what the call needs if it isn't refused: words of the finding
    runs: range = range(7, 27)           # at which ONNX Runtime has the kernels
    zeros: range = range(7, 27)          # at which Reshape can say the sizes: two of 0 from opset 14 on
    engine: str = ""                     # the only one of PyTorch's engines for quantized tensors that has the kernels

    def __post_init__(self):
        if self.opsets is None:
            self.opsets = range(0) if self.refused else range(7, 27)

    def expected(self, opset):
        return REFUSED if opset not in self.opsets else NO_KERNEL if opset not in self.runs else MATCH if opset in self.zeros else NO_SIZES


DTYPES = {torch.float32: "f32", torch.float64: "f64", torch.float16: "f16", torch.int64: "i64", torch.int32: "i32", torch.int8: "i8",
          torch.uint8: "u8", torch.bool: "bool", torch.int16: "i16", torch.bfloat16: "bf16", torch.uint16: "u16", torch.complex64: "c64", torch.complex128: "c128"}

MATCH, REFUSED, NO_KERNEL, NO_SIZES = "match", "refused", "without a kernel", "two sizes of 0"
# Refusals that nobody may expect: they stand for code that is missing.
NEVER_EXPECTED = ("no C++ handler writes",)


@contextlib.contextmanager
def engine(name):
    before = torch.backends.quantized.engine
    torch.backends.quantized.engine = name or before
    try:
        yield
    finally:
        torch.backends.quantized.engine = before


def flat(value):
    """With each None."""
    if isinstance(value, dict):
        return flat(list(value.values()))
    if isinstance(value, (list, tuple)):
        return [part for item in value for part in flat(item)]
    if hasattr(value, "__dict__") and not isinstance(value, torch.Tensor):   # an object of a scripted class
        return flat(vars(value))
    return [value]


def compare_nones(got, want):
    """What differs in which outputs are None; an Optional tuple is one None in PyTorch and one for each member in ONNX Runtime."""
    pattern = lambda values: re.sub("N+", "N", "".join("N" if value is None else "v" for value in values))
    return "" if pattern(got) == pattern(want) else f"None in other outputs: {pattern(got)} for {pattern(want)}"


def save(case, file):
    module = case.module
    if not isinstance(module, torch.nn.Module):
        function = module

        class Wrapped(torch.nn.Module):
            def forward(self, *inputs):
                return function(*inputs)

        module = Wrapped()
    module = module.eval()
    with engine(case.engine):
        made = torch.jit.script(case.module) if case.script or case.inferred else torch.jit.trace(module, case.inputs[0], check_trace=False)
        torch.jit.save(made, str(file))
        return torch.jit.load(str(file))   # in memory tracing's constants still know that they were numbers


def dtype_of(x):
    if not x.is_quantized:
        return DTYPES[x.dtype]
    word = {torch.quint8: "qu8", torch.qint8: "qi8"}[x.dtype]
    if x.qscheme() != torch.per_channel_affine:
        return f"{word}({x.q_scale()!r},{x.q_zero_point()})"
    numbers = [",".join(map(repr, values.tolist())) for values in (x.q_per_channel_scales(), x.q_per_channel_zero_points())]
    return f"{word}([{numbers[0]}],[{numbers[1]}],{x.q_per_channel_axis()})"


def plain(x):
    """What the ONNX model has for it: floats for quantized tensors."""
    return x.detach().dequantize() if x.is_quantized else x.detach()


def specs_of(case):
    if case.inferred:
        return []
    return case.specs or [f"{dtype_of(x)}:{','.join(map(str, x.shape)) or 'scalar'}" for x in case.inputs[0]]


def check(case, module, file):
    import onnxruntime
    onnxruntime.set_default_logger_severity(4)
    session = onnxruntime.InferenceSession(str(file), providers=["CPUExecutionProvider"])
    names = [i.name for i in session.get_inputs()]
    for number, inputs in enumerate(case.inputs):
        results = flat(module(*[x.clone() if isinstance(x, torch.Tensor) else x for x in inputs]))
        want = [plain(w).numpy() if isinstance(w, torch.Tensor) else np.asarray(w) for w in results if w is not None]
        given = [plain(x).numpy() if isinstance(x, torch.Tensor) else np.asarray(x) for x in inputs]   # numbers, too
        feed = dict(zip(names, given)) if len(names) == len(given) else {n: given[int(n.rsplit("_", 1)[1])] for n in names}
        got = session.run(None, feed)
        if any(output.type.startswith("optional(") for output in session.get_outputs()):
            if difference := compare_nones(got, results):
                return f"inputs {number}: {difference}"
            got = [g for g in got if g is not None]
        got = [member for g in got for member in (g if isinstance(g, list) else [g])]  # a sequence counts as its members, as a list does
        if case.tolerance:
            if len(got) != len(want):
                return f"inputs {number}: {len(got)} outputs for {len(want)}"
            rtol, atol = case.tolerance
            for g, w in zip(got, want):
                if g.shape != w.shape or g.dtype != w.dtype or not np.allclose(g, w, rtol=rtol, atol=atol, equal_nan=True):
                    return f"inputs {number}: {g.shape} {g.dtype} for {w.shape} {w.dtype}, off by {np.max(np.abs(g - w)) if g.shape == w.shape else 'shape'}"
            continue
        difference = compare(got, want, ())
        if difference:
            return f"inputs {number}: {difference}"
    return ""


def outcome_of(case, module, result, file):
    """(outcome, detail)"""
    detail = result.get("reason", "")
    if result["outcome"] != "converted":
        named = case.refused in detail and not any(words in detail for words in NEVER_EXPECTED)
        in_need = result["outcome"] == "needs_input" and case.needs and case.needs in detail
        return (REFUSED if in_need or result["outcome"] == "refused" and named else result["outcome"] + " for another reason"), detail
    try:
        detail = check(case, module, file)
    except Exception as error:
        detail = str(error)[:600]
        # ONNX Runtime quantizes the bias of a quantized ConvTranspose by Round, at opset 10 too, which has no Round.
        known = {"NOT_IMPLEMENTED": NO_KERNEL, "No Op registered for Round": NO_KERNEL, "dimension can be -1": NO_SIZES, "size != 0": NO_SIZES}
        return next((outcome for words, outcome in known.items() if words in detail), "runtime error"), detail
    return ("wrong" if detail else MATCH), detail


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
    opsets = [int(opset) for opset in arguments.opsets.split(",")]
    cases = {}
    for file in sorted(pathlib.Path(__file__).parent.glob("layers_*.py")):
        found = importlib.import_module(file.stem).cases()
        if not found or cases.keys() & found.keys():
            sys.exit(f"{file.name}: no cases, or names that another file has: {sorted(cases.keys() & found.keys())}")
        cases.update(found)
    cases = {name: case for name, case in cases.items() if re.search(arguments.cases, name)}
    if not cases:
        sys.exit("no such cases")
    counts, bad = collections.Counter(), 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(arguments.keep or temporary)
        modules = {name: save(case, folder / f"{name}.pt") for name, case in cases.items()}
        lines = "".join("\t".join([f"{folder / name}.pt", *specs_of(case)]) + "\n" for name, case in cases.items())
        done = subprocess.run([arguments.program, arguments.helper, str(folder), arguments.opsets], text=True, capture_output=True, input=lines)
        if done.returncode:
            sys.exit(f"convert_cases ended with {done.returncode}: {done.stderr}")
        results = {(result["id"], result["opset"]): result for result in map(json.loads, done.stdout.splitlines())}
        for name, case in cases.items():
            for opset in opsets:
                result = results.get((name, opset)) or results.get((name, 0)) or {"outcome": "lost"}
                with engine(case.engine):
                    outcome, detail = outcome_of(case, modules[name], result, folder / f"{name}@{opset}.onnx")
                expected = case.expected(opset)
                counts[outcome] += 1
                bad += outcome != expected
                if outcome != expected or arguments.all_lines and outcome != MATCH:
                    print(f"{outcome.upper()} {name} @{opset} {detail}" + (f"   [expected: {expected}]" if outcome != expected else ""))
    print(", ".join(f"{n} {what}" for what, n in sorted(counts.items())) + (f"; {bad} are not as expected" if bad else ""))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.modules["run_layers"] = sys.modules["__main__"]
    sys.exit(main())
