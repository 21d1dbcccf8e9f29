#!/usr/bin/env python3
"""What is stated of strides (src/symbolic/layout.h) against PyTorch: chains of views and operators, made by chance of a fixed seed.

    run_layouts.py --program BUILD/tests/layout_cases --helper BUILD/libexec/compatcheck-torchscript [--count N] [--seed N] [--corpus FOLDER]

A folder of the operator corpus is judged instead where one is named.
"""
import argparse, collections, json, pathlib, random, subprocess, sys, tempfile, warnings

warnings.filterwarnings("ignore")
import numpy as np
import torch
import torch.nn.functional as F

from layer_cases import DTYPES

KINDS = {"float32": "f32", "float64": "f64", "float16": "f16", "int64": "i64", "int32": "i32", "int8": "i8", "uint8": "u8", "bool": "bool", "int16": "i16"}


def some_dim(x, chance):
    return chance.randrange(x.dim())


def cut(x, chance):
    dim = some_dim(x, chance)
    start = chance.randrange(x.shape[dim])
    return x.narrow(dim, start, chance.randint(1, x.shape[dim] - start))


def stepped(x, chance):
    dim = some_dim(x, chance)
    place = [slice(None)] * dim + [slice(chance.choice([None, 0, 1, -2]), chance.choice([None, -1, 9]), chance.choice([1, 2]))]
    return x[tuple(place)]


def merged(x, chance):
    dim = chance.randrange(max(1, x.dim() - 1))
    return x.flatten(dim, min(dim + 1, x.dim() - 1))


def parted(x, chance):
    dim = some_dim(x, chance)
    size = x.shape[dim]
    part = chance.choice([k for k in range(1, size + 1) if size % k == 0])
    shape = [*x.shape[:dim], part, size // part, *x.shape[dim + 1:]]
    return x.reshape(shape) if chance.random() < 0.7 else x.unflatten(dim, (part, size // part))


VIEWS = [
    lambda x, c: x.permute(c.sample(range(x.dim()), x.dim())), lambda x, c: x.transpose(some_dim(x, c), some_dim(x, c)), cut, stepped, merged, parted,
    lambda x, c: x.select(some_dim(x, c), -1), lambda x, c: x.unsqueeze(c.randrange(x.dim() + 1)), lambda x, c: x.squeeze(), lambda x, c: x.squeeze(some_dim(x, c)),
    lambda x, c: x.unsqueeze(0).expand(3, *x.shape), lambda x, c: x[..., :1].expand(*x.shape), lambda x, c: x.diagonal(dim1=0, dim2=-1, offset=c.choice([-1, 0, 1])),
    lambda x, c: x.unfold(d := some_dim(x, c), c.randint(1, x.shape[d]), c.choice([1, 2])), lambda x, c: x.chunk(2, some_dim(x, c))[-1],
    lambda x, c: x.split(2, some_dim(x, c))[-1], lambda x, c: x.unbind(some_dim(x, c))[-1], lambda x, c: x.movedim(some_dim(x, c), some_dim(x, c)), lambda x, c: x.mT,
    lambda x, c: x.reshape(-1), lambda x, c: x.reshape(x.shape[0], -1), lambda x, c: x.detach(), lambda x, c: x.contiguous(), lambda x, c: x.ravel(),
    lambda x, c: x.as_strided((2, 2), (2, 1)), lambda x, c: x.tensor_split(2, some_dim(x, c))[0], lambda x, c: F.dropout(x, 0.5, False),
    lambda x, c: x.clone(), lambda x, c: x.clone(memory_format=torch.contiguous_format), lambda x, c: x.float(),
    lambda x, c: x.double(), lambda x, c: x.to(torch.float32, copy=True)]


def drawn(sizes, dtype=torch.float32):
    return torch.rand(sizes, dtype=dtype) + 0.5


def moved(x, chance):
    """Of the same sizes, in another order of memory."""
    order = chance.sample(range(x.dim()), x.dim())
    back = [order.index(i) for i in range(x.dim())]
    return drawn([x.shape[i] for i in order], x.dtype).permute(back)


def weights(x, *sizes, c):
    w = drawn(sizes, x.dtype)
    return w if c.random() < 0.5 else drawn(sizes[::-1], x.dtype).permute(*reversed(range(len(sizes))))


def whole(x):
    return torch.ones(x.shape, dtype=torch.int64)


def image(x):
    return x if x.dim() == 4 else x.reshape(1, 1, -1, x.shape[-1])


OPERATORS = {
    "one": [torch.abs, torch.exp, torch.sqrt, torch.tanh, F.gelu, F.silu, F.relu, torch.neg, torch.floor, torch.sign, torch.rsqrt, F.softplus, F.elu, F.mish, F.hardswish,
            F.hardsigmoid, F.leaky_relu, torch.erf, torch.log1p, torch.expm1, torch.square, torch.reciprocal, torch.sin, torch.cos, torch.log, torch.sigmoid, torch.ceil,
            torch.round, torch.trunc, F.hardtanh, F.relu6, torch.logical_not, lambda x: x + 1, lambda x: 1 - x, lambda x: x * 2.5,
            lambda x: x / 3, lambda x: x > 1, lambda x: x ** 2,
            lambda x: x.clamp(0, 1), lambda x: x.clamp(min=0), torch.zeros_like, torch.ones_like, lambda x: torch.full_like(x, 2.0), lambda x: x % 2, lambda x: x // 2,
            lambda x: x.clamp_min(1), lambda x: x.clamp_max(1), lambda x: torch.fmod(x, 2), lambda x: x != 1],
    "more": [lambda x, c: x + moved(x, c), lambda x, c: moved(x, c) * x, lambda x, c: x / drawn([x.shape[-1]]),
             lambda x, c: drawn([2, *x.shape]) - x, lambda x, c: torch.where(moved(x, c) > 1, x, moved(x, c)),
             lambda x, c: torch.where(x > 1, x, 0.0),
             lambda x, c: torch.maximum(x, moved(x, c).double()), lambda x, c: x + drawn([x.shape[0]] + [1] * (x.dim() - 1)),
             lambda x, c: x.double() * x, lambda x, c: torch.rsub(x, moved(x, c)), lambda x, c: torch.atan2(x, moved(x, c)),
             lambda x, c: x <= moved(x, c), lambda x, c: torch.minimum(x, moved(x, c)), lambda x, c: x + moved(x, c).int(),
             lambda x, c: moved(x, c)[..., :1] + x, lambda x, c: torch.logical_and(x > 1, moved(x, c) > 1),
             lambda x, c: x.to(torch.int32) + 1.5, lambda x, c: x.type_as(moved(x, c).double())],
    "new": [lambda x, c: F.linear(x, weights(x, 5, x.shape[-1], c=c), drawn([5], x.dtype) if c.random() < 0.6 else None),
            lambda x, c: torch.bmm(m := x.reshape(-1, *x.shape[-2:]), m.mT),
            lambda x, c: torch.matmul(x, weights(x, x.shape[-1], 3, c=c)), lambda x, c: torch.matmul(moved(x, c), moved(x, c).mT),
            lambda x, c: torch.mv(m := x.flatten(0, -2), weights(x, m.shape[1], c=c)),
            lambda x, c: torch.mm(m := x.flatten(0, -2), weights(x, m.shape[1], 3, c=c)),
            lambda x, c: torch.addmm(drawn([3], x.dtype), m := x.flatten(0, -2), weights(x, m.shape[1], 3, c=c)),
            lambda x, c: torch.baddbmm(drawn([1], x.dtype), m := x.reshape(-1, *x.shape[-2:]), m.mT),
            lambda x, c: F.layer_norm(x, x.shape[-1:]),
            lambda x, c: F.layer_norm(x, x.shape[-1:], drawn(x.shape[-1:], x.dtype), drawn(x.shape[-1:], x.dtype)),
            lambda x, c: x.masked_fill(moved(x, c) > 1, 3.0), lambda x, c: x.cumsum(some_dim(x, c)),
            lambda x, c: F.embedding(x.long().clamp(0, 3), weights(x, 4, 3, c=c)),
            lambda x, c: x.repeat(2, *[1] * x.dim()), lambda x, c: x.repeat(*[2] * x.dim()), lambda x, c: x.new_ones(x.shape),
            lambda x, c: x.sum(some_dim(x, c)), lambda x, c: x.mean(some_dim(x, c), keepdim=True), lambda x, c: x.sum(),
            lambda x, c: x.amax(some_dim(x, c), keepdim=True), lambda x, c: x.prod(some_dim(x, c)), lambda x, c: x.argmin(some_dim(x, c)),
            lambda x, c: x.var(some_dim(x, c), keepdim=True), lambda x, c: x.std(some_dim(x, c)), lambda x, c: x.logsumexp(some_dim(x, c)),
            lambda x, c: torch.linalg.vector_norm(x, 2, some_dim(x, c), True), lambda x, c: x.norm(1, some_dim(x, c)),
            lambda x, c: (x > 1).any(some_dim(x, c)), lambda x, c: x.nansum(some_dim(x, c), keepdim=True), lambda x, c: x.count_nonzero(some_dim(x, c)),
            lambda x, c: x.cumprod(some_dim(x, c)), lambda x, c: x.topk(1, some_dim(x, c))[0], lambda x, c: x.kthvalue(1, some_dim(x, c), True)[0],
            lambda x, c: x.new_zeros(2, 3), lambda x, c: x.new_full((3, 2), 1.5), lambda x, c: 2 ** x],
    "kept": [lambda x, c: F.softmax(x, some_dim(x, c)), lambda x, c: F.log_softmax(x, some_dim(x, c)),
             lambda x, c: torch.cat([x, x], some_dim(x, c)), lambda x, c: torch.stack([x, x], some_dim(x, c)),
             lambda x, c: F.pad(x, (1, 2)), lambda x, c: F.pad(x, (1, -1), value=2.0),
             lambda x, c: x.gather(d := some_dim(x, c), torch.zeros(x.shape, dtype=torch.int64)),
             lambda x, c: x.index_select(some_dim(x, c), torch.tensor([0, 0])), lambda x, c: x.flip(some_dim(x, c)),
             lambda x, c: x.roll(1, some_dim(x, c)), lambda x, c: x.tril(), lambda x, c: x.triu(1),
             lambda x, c: F.conv2d(i := image(x), weights(x, 4, i.shape[1], 1, 1, c=c)),
             lambda x, c: F.conv1d(m := x.reshape(-1, *x.shape[-2:]), weights(x, 4, m.shape[1], 1, c=c), drawn([4], x.dtype)),
             lambda x, c: F.max_pool2d(image(x), 1), lambda x, c: F.avg_pool2d(image(x), 1),
             lambda x, c: F.group_norm(m := x.reshape(-1, *x.shape[-2:]), 1), lambda x, c: F.adaptive_avg_pool2d(image(x), 1),
             lambda x, c: F.batch_norm(m := x.reshape(-1, *x.shape[-2:]), drawn([m.shape[1]], x.dtype), drawn([m.shape[1]], x.dtype))]}


class Chain(torch.nn.Module):
    """Steps by chance, each of a seed of its own; those that PyTorch refuses are left out. Gives what each step gave."""

    def __init__(self, seed, x):
        super().__init__()
        self.steps, made = [], x
        for number in range(random.Random(seed).randint(2, 7)):
            try:
                y = self.step(1000 * seed + number, made)
            except (RuntimeError, IndexError, ValueError):
                continue
            if y.numel() == 0 or y.dim() > 6 or y.numel() > 20000:
                continue
            self.steps.append(1000 * seed + number)
            made = self.next(made, y)

    @staticmethod
    def step(seed, x):
        chance = random.Random(seed)
        torch.manual_seed(seed)
        kind = chance.choice(["view", "view", "view", "one", "more", "new", "kept"])
        step = chance.choice(VIEWS if kind == "view" else OPERATORS[kind])
        return step(x) if kind == "one" else step(x, chance)

    @staticmethod
    def next(x, y):
        return y if y.dtype in (torch.float32, torch.float64) and y.dim() > 0 else x

    def forward(self, x):
        made = []
        for seed in self.steps:
            made.append(self.step(seed, x))
            x = self.next(x, made[-1])
        return tuple(made)


def difference(stated, tensor, inputs):
    """What is stated wrongly. Strides of dimensions of size 1 place nothing, and are compared only where they are stated as `exact`."""
    if tensor.numel() == 0:
        return ""
    for size, stride, own in zip(tensor.shape, stated["strides"], tensor.stride()):
        if (size > 1 or stated["exact"]) and stride is not None and stride != own:
            return f"strides {stated['strides']} for {tensor.stride()} of {tuple(tensor.shape)}"
    if stated["in_order"] and not tensor.is_contiguous():
        return f"in order: {tensor.stride()} of {tuple(tensor.shape)}"
    if stated["offset"] is not None and stated["offset"] != tensor.storage_offset():
        return f"offset {stated['offset']} for {tensor.storage_offset()}"
    storage = tensor.untyped_storage()
    shared = [i for i, x in enumerate(inputs) if x.untyped_storage().data_ptr() == storage.data_ptr()]
    if stated["memory"] == "new" and (shared or storage.nbytes() != tensor.numel() * tensor.element_size()):
        return f"new memory, of {storage.nbytes()} bytes, inputs' {shared}"
    if isinstance(stated["memory"], int) and stated["memory"] not in shared:
        return f"memory of input {stated['memory']}"
    return ""


def chains(folder, first, count):
    for seed in range(first, first + count):
        chance = random.Random(seed)
        sizes = [chance.randint(1, 4) for _ in range(chance.randint(1, 4))]
        x = torch.rand(sizes) + 0.5
        chain = Chain(seed, x)
        if not chain.steps:
            continue
        file = folder / f"chain{seed}.pt"
        torch.jit.save(torch.jit.trace(chain, x, check_trace=False), str(file))
        yield file, [x]


def corpus(folder):
    for line in open(folder / "index.jsonl"):
        entry = json.loads(line)
        arrays = np.load(folder / (entry["id"] + ".npz"), allow_pickle=False)
        yield folder / (entry["id"] + ".pt"), entry, arrays


def tensors(value):
    if isinstance(value, (list, tuple)):
        return [part for item in value for part in tensors(item)]
    return [value]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    parser.add_argument("--helper", required=True)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--corpus", type=pathlib.Path)
    options = parser.parse_args()
    torch.set_grad_enabled(False)
    counts, unknown, wrong = collections.Counter(), collections.Counter(), 0
    with tempfile.TemporaryDirectory() as scratch:
        if options.corpus:
            cases = []
            for file, entry, arrays in corpus(options.corpus):
                if not all(dtype in KINDS for dtype in entry["input_dtypes"]):
                    continue
                names = sorted((n for n in arrays.files if n.startswith("in")), key=lambda n: (len(n), n))
                cases.append((file, [torch.from_numpy(np.ascontiguousarray(arrays[n]).reshape(arrays[n].shape).copy()) for n in names]))
        else:
            cases = list(chains(pathlib.Path(scratch), options.seed, options.count))
        lines = "".join("\t".join([str(file)] + [f"{DTYPES[x.dtype]}:{','.join(map(str, x.shape))}" for x in inputs]) + "\n" for file, inputs in cases)
        answers = subprocess.run([options.program, options.helper], input=lines, capture_output=True, text=True).stdout.splitlines()
        if len(answers) != len(cases):
            sys.exit(f"{len(answers)} answers for {len(cases)} models")
        for (file, inputs), answer in zip(cases, map(json.loads, answers)):
            if isinstance(answer, str):
                counts["errors"] += 1
                wrong += 1
                print(f"{file.stem}: {answer}")
                continue
            try:
                outputs = tensors(torch.jit.load(str(file))(*inputs))
            except Exception:
                counts["not run"] += 1
                continue
            if len(outputs) != len(answer):
                counts["of other outputs"] += 1
                continue
            for i, (stated, tensor) in enumerate(zip(answer, outputs)):
                if not isinstance(tensor, torch.Tensor) or not isinstance(stated, dict):
                    counts["unknown"] += 1
                    unknown[stated if isinstance(stated, str) else "?"] += 1
                    continue
                counts["stated"] += 1
                counts["of a view" if stated["memory"] != "new" else "out of order" if not stated["in_order"] else "in order"] += 1
                if what := difference(stated, tensor, inputs):
                    wrong += 1
                    print(f"{file.stem} output {i}: {what}")
                    if options.corpus is None:
                        print(torch.jit.load(str(file)).inlined_graph)
    print(f"{wrong} WRONG", dict(counts))
    print("unknown:", dict(unknown.most_common(25)))
    sys.exit(1 if wrong or not counts["stated"] else 0)


if __name__ == "__main__":
    main()
