#!/usr/bin/env python3
"""Small scripted models in every dtype at every opset: the check's verdict is what the conversion does, the lowest opset is the first
that converts, and what is written passes onnx's checker, loads in ONNX Runtime and gives what PyTorch gives, where the runtime has kernels."""
import argparse, collections, json, pathlib, re, subprocess, sys, tempfile, warnings
from typing import List

warnings.filterwarnings("ignore")
import numpy as np
import onnx
import onnxruntime
import torch
from torch import Tensor

sys.path[:0] = [str(pathlib.Path(__file__).parent), str(pathlib.Path(__file__).parents[1] / "check")]
from compare_arrays import compare
from days import part_of_the_day
from same_model import Seen
from reports import reports

OPSETS = list(range(7, 27))
DTYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16, "f64": torch.float64, "i8": torch.int8, "u8": torch.uint8,
          "i16": torch.int16, "i32": torch.int32, "bool": torch.bool, "c64": torch.complex64}
SIZES = [(4, 6), (3, 5), (5, 2)]
# A runtime without kernels for a node, or without tensors of a dtype, says nothing against the model.
NO_KERNEL = re.compile(r"NOT_IMPLEMENTED|Could not find an implementation|complex64|type 'tensor\(bfloat16\)' .*kernel", re.S)


def branch(x: Tensor) -> Tensor:
    if bool(x[0, 0] > 1):
        y = x.flatten()
    else:
        y = x[0]
    return y


def branch_by_size(x: Tensor) -> Tensor:
    if x.size(0) > 3:
        return torch.cat([x, x], 1)
    return x[:1]


def loop(x: Tensor) -> Tensor:
    y = x
    for i in range(x.size(0)):
        y = torch.cat([y, x[i:i + 1]], 0)
    return y


def while_loop(x: Tensor) -> Tensor:
    y = x[:0]
    while y.size(0) < x.size(0):
        y = torch.cat([y, x[-1:]], 0)
    return y


def grown(x: Tensor) -> Tensor:
    rows: List[Tensor] = []
    for i in range(x.size(0)):
        rows.append(x[i])
    return torch.stack(rows, 1)


def picked(x: Tensor) -> Tensor:
    rows: List[Tensor] = []
    for i in range(x.size(0)):
        if bool(x[i, 0] > 1):
            rows.append(x[i])
    rows.append(x[0])
    return torch.cat(rows, 0)


def listed(x: Tensor):
    rows: List[Tensor] = []
    for i in range(x.size(0)):
        rows.append(x[i])
    return rows


def chunked(x: Tensor):
    parts = torch.chunk(x, 2, 1)
    return parts[0], parts[1]


def unpacked(x: Tensor):
    a, b = torch.chunk(x, 2, 1)
    return a, b


def unsafely(x: Tensor):
    parts = torch.unsafe_chunk(x, 2, 0)
    return parts[0], parts[1]


def split(x: Tensor):
    parts = torch.split(x, 2, 0)
    return parts[0], parts[1], parts[-1]


def unsafely_split(x: Tensor):
    return torch.unsafe_split(x, 3, 0)[-1]


def split_by_size(x: Tensor):
    parts = torch.split(x, (x.size(0) + 1) // 2, 0)
    return parts[0], parts[-1], len(parts)


def split_with_sizes(x: Tensor):
    sizes = [1, x.size(0) - 1]
    parts = torch.split_with_sizes(x, sizes, 0)
    return parts[0], parts[1]


def tensor_split(x: Tensor):
    parts = torch.tensor_split(x, 3, 0)
    return parts[0], parts[1], parts[2]


def unbound(x: Tensor):
    return x.unbind(0)[1], x.unbind(1)[-1]


def stacked(x: Tensor):
    return torch.stack([x, x], 1), torch.stack(torch.split(x, 1, 0), 0)


def passed(x: Tensor):
    return torch.dropout(x, 0.5, False)


def twice(x: Tensor):
    parts = torch.split(x, 2, 0)
    return parts, parts


def filled(x: Tensor):
    return torch.zeros_like(x), torch.ones(x.size(1), dtype=x.dtype), x.new_full([2, x.size(0)], 1), torch.full_like(x, 1)


def filled_fixed(x: Tensor):
    return torch.zeros([2, 3], dtype=x.dtype), x.new_ones([2]), torch.full([3], 1, dtype=x.dtype)


def eye(x: Tensor):
    return torch.eye(3, dtype=x.dtype), torch.eye(x.size(0), dtype=x.dtype)


def running(x: Tensor):
    return torch.cumprod(x, 0), torch.cummax(x, 1)[0], x.cumsum(0)


def squeezed(x: Tensor):
    return x.unsqueeze(0).squeeze(), x[:, :1].squeeze(1)


def powers(x: Tensor):
    return torch.pow(x, x), x * x


def arranged(x: Tensor):
    return torch.arange(x.size(0), dtype=x.dtype), x.sort(1)[0], x.flip(0)


FUNCTIONS = [branch, branch_by_size, loop, while_loop, grown, picked, listed, chunked, unpacked, unsafely, split, unsafely_split, split_by_size,
             split_with_sizes, tensor_split, unbound, stacked, passed, twice, filled, filled_fixed, eye, running, squeezed, powers, arranged]


class Layer(torch.nn.Module):
    def __init__(self, kind, dtype):
        super().__init__()
        torch.manual_seed(0)
        self.layer = kind(6, 3, bidirectional=True).to(dtype).eval()

    def forward(self, x: Tensor):
        return self.layer(x)[0]


class Grid(torch.nn.Module):
    def __init__(self, align: bool):
        super().__init__()
        self.align = align

    def forward(self, x: Tensor):
        theta = x.reshape(-1)[:6].view(1, 2, 3)
        return torch.nn.functional.affine_grid(theta, [1, 1, 3, 4], self.align)


def models():
    """name → module, dtype and the input's text."""
    for name, dtype in DTYPES.items():
        for function in FUNCTIONS:
            made = torch.jit.script(function)
            for kind, sizes in [("fixed", "4,6"), ("named", "n,m")]:
                yield f"{function.__name__}-{kind}-{name}", made, dtype, f"x={name}:{sizes}"
        if not dtype.is_floating_point:
            continue
        for kind in (torch.nn.LSTM, torch.nn.GRU, torch.nn.RNN):
            yield f"{kind.__name__}-fixed-{name}", torch.jit.script(Layer(kind, dtype)), dtype, f"x={name}:4,6"
            yield f"{kind.__name__}-named-{name}", torch.jit.script(Layer(kind, dtype)), dtype, f"x={name}:n,6"
        for align in (False, True):
            yield f"grid-{align}-fixed-{name}", torch.jit.script(Grid(align)), dtype, f"x={name}:4,6"


def given(name, dtype):
    torch.manual_seed(1)
    for sizes in SIZES:
        if "-fixed-" in name and sizes != SIZES[0] or name.split("-")[0] in ("LSTM", "GRU", "RNN") and sizes[1] != 6:
            continue
        yield torch.randint(0, 4, sizes).to(dtype)


def flat(value):
    if isinstance(value, (list, tuple)):
        return [part for item in value for part in flat(item)]
    return [np.asarray(value.detach().numpy() if isinstance(value, Tensor) else value)]


def expected(module, name, dtype):
    """Inputs and results, where PyTorch has kernels for the dtype and numpy has the dtype."""
    for x in given(name, dtype):
        try:
            yield x.numpy(), flat(module(x))
        except (RuntimeError, TypeError):
            continue


def wrong_with(file, pairs, open_rank):
    """What is wrong with a file that was written, or None; and whether ONNX Runtime loaded it. `open_rank`: an output has no shape."""
    try:
        try:
            onnx.checker.check_model(str(file), full_check=True)
        except onnx.checker.ValidationError as error:
            if not open_rank or "Field 'shape' of 'type' is required but missing" not in str(error):
                raise
        session = onnxruntime.InferenceSession(str(file), providers=["CPUExecutionProvider"])
    except Exception as error:
        return (None if NO_KERNEL.search(str(error)) else str(error)), False
    names = [i.name for i in session.get_inputs()]
    for x, want in pairs:
        try:
            got = flat(session.run(None, {names[0]: x} if names else {}))
        except Exception as error:
            return f"at {x.shape}: {error}", True
        if difference := compare(got, want):
            return f"at {x.shape}: {difference}", True
    return None, True


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True, help="compatcheck")
    parser.add_argument("--cases-program", required=True, help="convert_cases")
    parser.add_argument("--helper", required=True)
    parser.add_argument("--only", default="", help="a regular expression of names")
    parser.add_argument("--whole", action="store_true", help="all models, not those of the day")
    parser.add_argument("--keep")
    options = parser.parse_args()
    onnxruntime.set_default_logger_severity(4)
    torch.set_grad_enabled(False)
    torch.set_num_threads(1)
    made = {name: rest for name, *rest in models() if re.search(options.only, name)}
    if not options.whole and not options.only:
        made = dict(part_of_the_day(made.items(), "dtypes", 10))
    counts, wrong = collections.Counter(), []
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(options.keep or temporary)
        by_input = collections.defaultdict(list)
        for name, (module, _, text) in made.items():
            torch.jit.save(module, str(folder / f"{name}.pt"))
            by_input[text].append(folder / f"{name}.pt")
        checked = {}
        for text, files in by_input.items():
            checked |= reports(options.program, files, OPSETS, ["--input", text])
        lines = "".join(f"{folder / name}.pt\t{text}\n" for name, (_, _, text) in made.items())
        run = subprocess.run([options.cases_program, options.helper, str(folder), ",".join(map(str, OPSETS))], text=True, capture_output=True, input=lines)
        if run.returncode:
            sys.exit(f"convert_cases ended with {run.returncode}: {run.stderr}")
        outcomes = {(r["id"], r["opset"]): r for r in map(json.loads, run.stdout.splitlines())}
        for name, (module, dtype, _) in made.items():
            pairs = list(expected(module, name, dtype)) if dtype not in (torch.bfloat16, torch.complex64) else []
            seen = Seen()
            converted = [o for o in OPSETS if outcomes[name, o]["outcome"] == "converted"]
            for opset in OPSETS:
                outcome, report = outcomes[name, opset], checked[name, opset]
                counts[outcome["outcome"]] += 1
                open_size = outcome["outcome"] == "needs_input" and "named" in name.split("-")   # for a number in a name's place
                if open_size:
                    if report["verdict"] != "needs_input":
                        wrong.append(f"{name}@{opset}: check says {report['verdict']}, it needs input")
                elif outcome["outcome"] not in ("converted", "refused"):
                    wrong.append(f"{name}@{opset}: {outcome['outcome']} {outcome['reason']}")
                elif (report["verdict"] == "yes") != (outcome["outcome"] == "converted"):
                    wrong.append(f"{name}@{opset}: check says {report['verdict']}, it is {outcome['outcome']}")
                if report["summary"]["lowest_opset"] != (converted[0] if converted else None):
                    wrong.append(f"{name}@{opset}: the lowest opset is said to be {report['summary']['lowest_opset']}, {converted[:1]} is the first that converts")
                if outcome["outcome"] != "converted":
                    continue
                file = folder / f"{name}@{opset}.onnx"
                open_rank = any(finding["id"] == "CC017" for finding in report["findings"])
                problem, ran = seen.outcome(file, lambda: wrong_with(file, pairs, open_rank))
                counts["loaded"] += ran
                counts["held against PyTorch"] += ran and bool(pairs)
                if problem:
                    wrong.append(f"{name}@{opset}: {problem[:300]}")
    print(*wrong, sep="\n")
    print(f"{len(made)} models: {', '.join(f'{n} {what}' for what, n in sorted(counts.items()))}, {len(wrong)} wrong")
    return 1 if wrong or not made or not counts["held against PyTorch"] else 0


if __name__ == "__main__":
    sys.exit(main())
