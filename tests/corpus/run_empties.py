#!/usr/bin/env python3
"""Every operator of the corpus with dimensions that are empty when the model runs, against TorchScript.

    run_empties.py --program BUILD/tests/convert_cases --helper BUILD/libexec/compatcheck-torchscript --corpus DIR
                   [--ops REGEX] [--every N] [--opsets 14,20] [--most K] [--show]

Two ways to be empty. `named`: a size of the inputs gets a name, and the model runs at that size and at 0. `masked`: the first dimension
of an input goes through a mask, of which the model learns only when it runs how much it leaves: all, or nothing. What PyTorch refuses is
left out. Ends with 1 for a wrong value, shape or dtype, and for what ONNX Runtime doesn't run.
"""
import argparse, collections, json, pathlib, re, subprocess, sys, tempfile, warnings

warnings.filterwarnings("ignore")
import numpy as np
import onnxruntime
import torch

HERE = pathlib.Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "convert")]
import open_values
from compare_arrays import compare
from days import number_of
from in_child import in_child

SPECS = {"float32": "f32", "float64": "f64", "float16": "f16", "int64": "i64", "int32": "i32", "uint8": "u8", "int8": "i8", "int16": "i16", "bool": "bool"}
RANDOM = re.compile(r"aten::(bernoulli|rand|dropout|multinomial|normal|poisson|empty|rrelu|alpha_dropout|feature_)")
NO_KERNEL = "NOT_IMPLEMENTED"
# Left out, by operator of OpInfo, or one way to be empty of it, with the reason.
OPEN = {
    "nn.functional.multi_margin_loss": "the mean over no rows is whatever was in PyTorch's memory",
    "nn.functional.adaptive_avg_pool1d": "an image without elements, of no channels: ONNX Runtime's pools refuse the first before they see the second",
    "nn.functional.adaptive_avg_pool3d": "the same",
    "nn.functional.adaptive_max_pool2d": "the same",
    "nn.functional.grid_sample named": "no channels: before GridSample, rows of no elements, which a Reshape can't count",
    "grid_sampler_2d named": "the same",
    "nn.functional.pixel_unshuffle": "of images without elements PyTorch gives a copy, with as many channels as before",
    "addmv": "of an empty matrix PyTorch gives the sizes of the summand, not of the sum",
    "_unsafe_masked_index": "an inner operator, which reads beside an empty tensor where the mask doesn't hold",
    "_unsafe_masked_index_put_accumulate": "the same",
    "trapz": "of no integers PyTorch gives integers, and of some floats: one ONNX model has one dtype",
    "trapezoid": "the same; and of no values PyTorch doesn't look at the sizes of their places",
}


class Masked(torch.nn.Module):
    def __init__(self, module, which):
        super().__init__()
        self.module, self.which = module, which

    def forward(self, mask, *inputs):
        inputs = list(inputs)
        inputs[self.which] = inputs[self.which][mask]
        return self.module(*inputs)


class Case:
    """A model, the texts of its --input, and sets of inputs with what TorchScript makes of them."""

    def __init__(self, name, file, specs, sets, expected):
        self.name, self.file, self.specs, self.sets, self.expected = name, file, specs, sets, expected


def flat(value):
    return [part for item in value for part in flat(item)] if isinstance(value, (list, tuple)) else [] if value is None else [value]


def both_results(module, full, empty):
    """None of what PyTorch refuses, or crashes at, and of dtypes that NumPy lacks."""
    of_empty = in_child(lambda: results(module, empty))
    return results(module, full), of_empty and of_empty[0]


def results(module, inputs):
    try:
        made = flat(module(*[x.clone() for x in inputs]))
    except (RuntimeError, IndexError, ValueError):
        return None
    if any(isinstance(x, torch.Tensor) and x.dtype in (torch.bfloat16, torch.complex32) for x in made):
        return None
    return [x.detach().resolve_conj().resolve_neg().numpy() if isinstance(x, torch.Tensor) else np.asarray(x) for x in made]


def spec(x, names={}):
    return f"{SPECS[str(x.dtype).removeprefix('torch.')]}:{','.join(names.get(s, str(s)) for s in x.shape) or 'scalar'}"


def named(case, file, module, inputs):
    """A case for each size that several elements make."""
    for size in sorted({s for x in inputs for s in x.shape if s > 1})[:2]:
        empty = [x[tuple(slice(0, 0) if s == size else slice(None) for s in x.shape)] for x in inputs]
        expected = both_results(module, inputs, empty)
        if expected[0] is None or expected[1] is None:
            continue
        yield Case(f"{case['id']} named {size}", file, [spec(x, {size: "n"}) for x in inputs], [inputs, empty], expected)


def masked(case, file, module, inputs, folder):
    which = next((i for i, x in enumerate(inputs) if x.dim() and x.shape[0] > 1 and x.shape[0] < 200), None)
    if which is None:
        return
    rows = inputs[which].shape[0]
    sets = [[torch.ones(rows, dtype=torch.bool), *inputs], [torch.zeros(rows, dtype=torch.bool), *inputs]]
    try:
        made = torch.jit.trace(Masked(module, which).eval(), tuple(sets[0]), check_trace=False)
        target = folder / f"{file.stem}-masked.pt"
        torch.jit.save(made, str(target))
        made = torch.jit.load(str(target))
    except Exception:
        return
    expected = both_results(made, *sets)
    if expected[0] is not None and expected[1] is not None:
        yield Case(f"{case['id']} masked", target, [spec(x) for x in sets[0]], sets, expected)


def read_cases(arguments, folder):
    corpus = pathlib.Path(arguments.corpus)
    corpus = corpus / "dev" if (corpus / "dev").is_dir() else corpus
    seen, count = collections.Counter(), 0
    for line in open(corpus / "index.jsonl"):
        case = json.loads(line)
        if case["op"] in OPEN or not re.fullmatch(arguments.ops or ".*", case["op"]) or not case["input_dtypes"] or case["zero_size"] or case["nondeterministic"]:
            continue
        if case["input_dtypes"][0] not in ("float32", "int64", "bool") or any(d not in SPECS for d in case["input_dtypes"]) or any(RANDOM.match(a) for a in case["aten"]):
            continue
        if not any(s > 1 for shape in case["input_shapes"] for s in shape):
            continue
        key = case["op"], case["variant"]
        seen[key] += 1
        count += seen[key] <= arguments.most
        if seen[key] > arguments.most or count % arguments.every != number_of("empties") % arguments.every:
            continue
        file = corpus / f"{case['id']}.pt"
        arrays = np.load(corpus / f"{case['id']}.npz")
        inputs = [torch.from_numpy(np.array(arrays[k])) for k in sorted((k for k in arrays.files if k.startswith("in_")), key=lambda k: int(k[3:]))]
        module = torch.jit.load(str(file))
        ways = {"named": lambda: named(case, file, module, inputs), "masked": lambda: masked(case, file, module, inputs, folder)}
        for way, cases in ways.items():
            if f"{case['op']} {way}" not in OPEN:
                for made in cases():
                    yield case, made


# Before opset 14 Reshape takes 0 for "as it was", and finds out one size only: several sizes of 0 can't be stated.
SEVERAL_ZEROS = "reshape_helper.h"


def outcome(made, onnx_file, opset, ties, by_scale):
    tried = in_child(lambda: outcome_here(made, onnx_file, opset, ties, by_scale))
    return tried[0] if tried else ("crash", "ONNX Runtime crashes")


def outcome_here(made, onnx_file, opset, ties, by_scale):
    try:
        session = onnxruntime.InferenceSession(str(onnx_file), providers=["CPUExecutionProvider"])
        names = [i.name for i in session.get_inputs()]
        for number, (given, want) in enumerate(zip(made.sets, made.expected)):
            feed = {n: given[i if len(names) == len(given) else int(n.rsplit("_", 1)[1])].numpy() for i, n in enumerate(names)}
            difference = compare(session.run(None, feed), want, ties, by_scale=by_scale)
            if difference:
                return "wrong", f"{'empty' if number else 'full'}: {difference}"
    except Exception as error:
        known = "without a kernel" if NO_KERNEL in str(error) else "fails where empty" if opset < 14 and SEVERAL_ZEROS in str(error) else ""
        return known or "runtime", str(error).split("Status Message:")[-1][:200]
    return "match", ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("program", "helper", "corpus"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--ops", default="", help="operators of OpInfo, whole name")
    parser.add_argument("--every", type=int, default=1, help="every Nth case, others each day")
    parser.add_argument("--most", type=int, default=2, help="cases of an operator")
    parser.add_argument("--opsets", default="14,20")
    parser.add_argument("--show", action="store_true", help="print refusals, too")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    onnxruntime.set_default_logger_severity(4)
    counts = collections.Counter()
    opsets = arguments.opsets.split(",")
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        process = None
        for case, made in read_cases(arguments, folder):
            process = process or subprocess.Popen([arguments.program, arguments.helper, temporary, arguments.opsets], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            process.stdin.write("\t".join([str(made.file), *made.specs]) + "\n")
            process.stdin.flush()
            left = len(opsets)
            while left:
                line = process.stdout.readline()
                if not line:
                    print(f"CRASH {made.name}: convert_cases ended with {process.wait()}")
                    counts["crash"] += 1
                    process = None
                    break
                result = json.loads(line)
                left = 0 if result["opset"] == 0 else left - 1
                what, detail = result["outcome"], result.get("reason", "")
                if what == "converted":
                    ties = set(case["ties"]).union(*(open_values.OPEN_AT_TIES.get(o, set()) for o in case["overloads"]))
                    what, detail = outcome(made, folder / f"{made.file.stem}@{result['opset']}.onnx", result["opset"], ties, bool(open_values.BY_SCALE & set(case["overloads"])))
                what = "refused" if what == "needs_input" else what
                counts[what] += 1
                if what in ("wrong", "runtime", "error", "crash") or arguments.show and what != "match":
                    print(f"{what.upper()} {made.name} @{result['opset']}: {detail[:220]}", flush=True)
    print(", ".join(f"{n} {what}" for what, n in sorted(counts.items())))
    return 1 if not counts["match"] or any(counts[bad] for bad in ("wrong", "runtime", "error", "crash")) else 0


if __name__ == "__main__":
    sys.exit(main())
