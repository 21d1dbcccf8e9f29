#!/usr/bin/env python3
"""Exports the tests' small models with the installed torch and saves them as torch.export archives.

    make.py OUT EXPECTED

Writes OUT/MODEL.pt2 for each model below, OUT/skipped.txt with the models that this torch fails to export or save, and
EXPECTED/MODEL.npz: inputs (in_0, in_1, ...) and outputs (out_0, ...), flattened, without None and Python numbers.
EXPECTED/MODEL-2.npz has a second set of inputs: other sizes of the dynamic dimensions, or the other branch. Weights
are exact small numbers, so a file in EXPECTED holds for every release: one that exists is compared, not written again.

Runs with every torch from 2.1 on. make_all.py runs it with each of them.
"""
import sys
import traceback
from pathlib import Path

import numpy
import torch
import torch.export
import torch.nn.functional as F
from torch import nn
from torch.utils import _pytree as pytree

RELEASE = tuple(int(number) for number in torch.__version__.split("+")[0].split(".")[:2])
if RELEASE == (2, 1):
    from functorch.experimental.control_flow import cond
else:
    from torch import cond


def numbers(*shape):
    """A tensor of quarters between -1 and 1.5 in no obvious order, exact in every floating point type."""
    count = int(numpy.prod(shape))
    return ((torch.arange(count) * 7 + 3) % 11 - 4).reshape(shape) / 4


def set_weights(module):
    """Gives the parameters of `module` values that depend on no random generator."""
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(numbers(*parameter.shape))


class Conv(nn.Module):
    """A convolution, a batch norm and an in-place activation, with a buffer in the weights and one outside."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(2, 3, 3, padding=1)
        self.norm = nn.BatchNorm2d(3)
        set_weights(self)
        self.norm.running_mean.copy_(numbers(3))
        self.norm.running_var.copy_(numbers(3) + 2)
        self.register_buffer("scale", numbers(3, 1, 1))
        self.register_buffer("offset", numbers(1), persistent=False)

    def forward(self, x):
        return self.norm(self.conv(x)).relu_() * self.scale + self.offset


class Tied(nn.Module):
    """Two layers with one weight, and buffers that are parts of one storage."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(3, 3)
        self.second = nn.Linear(3, 3, bias=False)
        set_weights(self)
        self.second.weight = self.first.weight
        table = numbers(4, 3)
        self.register_buffer("row", table[2])
        self.register_buffer("column", table[1:, 1])
        self.register_buffer("turned", table[:3].t())

    def forward(self, x):
        return self.second(self.first(x).tanh()) @ self.turned + self.row * self.column


class Nested(nn.Module):
    """Tuples, dictionaries and a keyword among the inputs, a dictionary and a tuple among the outputs."""

    def forward(self, pair, named, *, scale):
        left, right = pair
        return {"total": left * scale - right, "rest": (named["b"] - named["a"], left)}


class Constants(nn.Module):
    """Inputs that are None, a flag and a number."""

    def forward(self, x, mask, y, flag=True, factor=1.0):
        total = x * factor - y if flag else y
        return total if mask is None else total * mask


class Cond(nn.Module):
    """A branch on data."""

    def __init__(self):
        super().__init__()
        self.register_buffer("weight", numbers(2, 2))

    def forward(self, x):
        def positive(x, weight):
            return (x @ weight).relu()

        def negative(x, weight):
            return x - weight

        return cond(x.sum() > 0, positive, negative, [x, self.weight])


class Dtypes(nn.Module):
    """16-bit weights, and arguments that are data types, layouts, memory formats and devices."""

    def __init__(self):
        super().__init__()
        self.f16 = nn.Parameter(numbers(3).half())
        self.bf16 = nn.Parameter(numbers(3).bfloat16())

    def forward(self, x):
        half = x.to(torch.float16) * self.f16
        brain = (x.to(torch.bfloat16) + self.bf16).float()
        zeros = torch.zeros(2, 3, dtype=torch.float64, layout=torch.strided, device="cpu")
        image = x.reshape(1, 2, 3, 1).contiguous(memory_format=torch.channels_last)
        return half, brain, zeros + x, image.clone(memory_format=torch.preserve_format)


class Infinite(nn.Module):
    """Arguments that are infinite."""

    def forward(self, x):
        return x.masked_fill(x < 0, float("-inf")).clamp(max=float("inf")).softmax(0)


class NotNumber(nn.Module):
    """An argument that is not a number."""

    def forward(self, x):
        return x.masked_fill(x > 1, float("nan")).isnan() + x


class Mixed(Dtypes):
    """All of Dtypes, Infinite and NotNumber in one, for releases whose JSON has bare NaN and Infinity."""

    def forward(self, x):
        half = x.to(torch.float16) * self.f16
        brain = (x.to(torch.bfloat16) + self.bf16).float()
        zeros = torch.zeros(2, 3, dtype=torch.float64, layout=torch.strided, device="cpu")
        masked = x.masked_fill(x < 0, float("-inf")).clamp(max=float("inf"))
        holes = torch.where(x > 1, float("nan"), x)
        image = x.reshape(1, 2, 3, 1).contiguous(memory_format=torch.channels_last)
        image = image.clone(memory_format=torch.preserve_format)
        return half, brain + holes.isnan(), zeros + x, masked.softmax(0), image


class Shapes(nn.Module):
    """Sums and products of two dynamic dimensions."""

    def forward(self, x, y):
        rows = x.shape[0]
        both = torch.cat([x, y])
        return both, torch.arange(both.shape[0]) + rows, both.reshape(rows + y.shape[0], 2, 1) / rows


class Halves(nn.Module):
    """The first half of an even dynamic dimension, and an output that is None."""

    def forward(self, x):
        return x[: x.shape[0] // 2] * 2, None


class Guarded(nn.Module):
    """A decision on a dynamic dimension whose range torch infers: the file holds the branch for even numbers only."""

    def forward(self, x):
        rows = x.shape[0]
        return x[: rows // 2] if rows % 2 == 0 else x


class Derived(nn.Module):
    """An input with one row more than the other."""

    def forward(self, x, y):
        return x[1:] * y


class Slices(nn.Module):
    """A pooling without a stride and slices that count from the end."""

    def forward(self, x):
        return F.max_pool2d(x, 2), x[:, -2:, :-1], x[..., 1:-1:2], x.select(1, -1)


class Attention(nn.Module):
    """Token and position embeddings and a causal attention of two heads."""

    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(5, 4)
        self.positions = nn.Embedding(6, 4)
        set_weights(self)

    def forward(self, ids):
        length = ids.shape[1]
        x = self.tokens(ids) + self.positions(torch.arange(length))
        heads = x.view(ids.shape[0], length, 2, 2).transpose(1, 2)
        mixed = F.scaled_dot_product_attention(heads, heads * 0.5, heads + 1, is_causal=True)
        return mixed.transpose(1, 2).reshape(ids.shape[0], length, 4)


class Example:
    """The arguments that a model is exported with, their dynamic dimensions and the arguments of a second run.

    `dynamic` has for each argument the names of its dynamic dimensions: {0: "n"}; "n+1" is one more than "n", "2*n"
    is twice "n", and torch finds out the range of "automatic". Releases after `last` do not make the model.
    """

    def __init__(self, model, args, second=None, kwargs=None, dynamic=None, last=RELEASE):
        self.model, self.args, self.second, self.kwargs, self.dynamic = model, args, second, kwargs or {}, dynamic
        self.last = last


EXAMPLES = {
    "conv": Example(Conv, (numbers(4, 2, 3, 3),), (numbers(6, 2, 3, 3),), dynamic=({0: "batch"},)),
    "tied": Example(Tied, (numbers(2, 3),)),
    "nested": Example(Nested, ((numbers(2, 3), numbers(3)), {"b": numbers(2), "a": numbers(1)}),
                      kwargs={"scale": numbers(1)}),
    "constants": Example(Constants, (numbers(2, 3), None, numbers(3), True, 2.5)),
    "cond": Example(Cond, (numbers(2, 2).abs(),), (-numbers(2, 2).abs(),)),
    "dtypes": Example(Dtypes, (numbers(2, 3),)),
    "infinite": Example(Infinite, (numbers(2, 3),)),
    "nan": Example(NotNumber, (numbers(2, 3),)),
    "mixed": Example(Mixed, (numbers(2, 3),), last=(2, 6)),
    "shapes": Example(Shapes, (numbers(6, 2), numbers(5, 2)), (numbers(9, 2), numbers(4, 2)),
                      dynamic=({0: "n"}, {0: "m"})),
    "halves": Example(Halves, (numbers(8, 2),), (numbers(12, 2),), dynamic=({0: "2*n"},)),
    "guarded": Example(Guarded, (numbers(6, 2),), (numbers(10, 2),), dynamic=({0: "automatic"},)),
    "derived": Example(Derived, (numbers(6, 2), numbers(5, 2)), (numbers(9, 2), numbers(8, 2)),
                       dynamic=({0: "n+1"}, {0: "n"})),
    "slices": Example(Slices, (numbers(1, 3, 4, 6),)),
    "attention": Example(Attention, (torch.tensor([[0, 1, 2, 3], [4, 3, 0, 1]]),)),
}


def constraints(example):
    """The dynamic dimensions as torch 2.1 takes them."""
    found, named = [], {}
    for value, axes in zip(example.args, example.dynamic):
        for axis, name in axes.items():
            if name not in ("batch", "n", "m"):
                raise NotImplementedError("torch 2.1 has no derived and no automatic dimensions")
            dimension = torch.export.dynamic_dim(value, axis)
            found += [4 <= dimension, dimension < 16]
            named.setdefault(name, dimension)
            if dimension is not named[name]:
                found.append(dimension == named[name])
    return {"constraints": found}


def dynamic_shapes(example):
    """The dynamic dimensions as torch takes them since 2.2."""
    dimensions = {name: torch.export.Dim(name, min=4, max=15) for name in ("batch", "n", "m")}

    def dimension(name):
        if name == "automatic":
            return torch.export.Dim.AUTO
        if name == "n+1":
            return dimensions["n"] + 1
        return 2 * dimensions["n"] if name == "2*n" else dimensions[name]

    return {"dynamic_shapes": tuple({axis: dimension(name) for axis, name in axes.items()} for axes in example.dynamic)}


def export(model, example):
    options = {} if not example.dynamic else constraints(example) if RELEASE == (2, 1) else dynamic_shapes(example)
    return torch.export.export(model, example.args, example.kwargs, **options)


def tensors(values):
    """The tensors in nested `values`, in order."""
    return [value for value in pytree.tree_flatten(values)[0] if isinstance(value, torch.Tensor)]


def record(path, inputs, outputs):
    """Writes the expected values, or compares them with those that another release wrote."""
    values = {f"in_{i}": tensor.numpy() for i, tensor in enumerate(inputs)}
    values.update({f"out_{i}": tensor.detach().numpy() for i, tensor in enumerate(outputs)})
    if not path.exists():
        numpy.savez(path, **values)
        return
    with numpy.load(path) as expected:
        assert list(expected) == list(values), f"{path}: other values"
        for name, value in values.items():
            numpy.testing.assert_allclose(value, expected[name], rtol=1e-6, atol=1e-6, err_msg=f"{path}: {name}")


def first_line(error):
    return f"{type(error).__name__}: {str(error).strip().splitlines()[0]}"


def save(name, example, model, out):
    """Exports and saves a model. Returns the exported model, or what torch says when it fails."""
    archive = out / f"{name}.pt2"
    try:
        program = export(model, example)
        torch.export.save(program, str(archive))
    except Exception as error:
        traceback.print_exc()
        archive.unlink(missing_ok=True)
        return None, f"{name}: {first_line(error)}" + (f" {first_line(error.__cause__)}" if error.__cause__ else "")
    # The modules of 2.1 and 2.2 take no keywords.
    return program.module() if RELEASE >= (2, 3) else program, None


def main():
    out, expected = Path(sys.argv[1]), Path(sys.argv[2])
    out.mkdir(parents=True, exist_ok=True)
    expected.mkdir(parents=True, exist_ok=True)
    skipped = []
    for name, example in EXAMPLES.items():
        if RELEASE > example.last:
            continue
        model = example.model().eval()
        exported, failure = save(name, example, model, out)
        if failure:
            skipped.append(failure)
            continue
        for args, suffix in ((example.args, ""), (example.second, "-2")):
            if args is None:
                continue
            outputs = model(*args, **example.kwargs)
            for found, wanted in zip(tensors(exported(*args, **example.kwargs)), tensors(outputs)):
                torch.testing.assert_close(found, wanted, equal_nan=True)
            record(expected / f"{name}{suffix}.npz", tensors((args, example.kwargs)), tensors(outputs))
    (out / "skipped.txt").write_text("".join(line + "\n" for line in skipped))


if __name__ == "__main__":
    main()
