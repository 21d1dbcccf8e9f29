"""Tensors cut into lists, by sizes that are known only when the model runs."""
from typing import List

import torch
from torch import Tensor

from layer_cases import Case


def equal_keys(x: Tensor, y: Tensor):
    """The last one stands, as in Python."""
    written = {"a": x, "b": y, "a": y + 1}
    written["b"] = x
    paired = dict([("a", x), ("a", y)])
    paired["a"] = x * 2
    shorter = {"a": x, "c": x, "a": y}
    del shorter["a"]
    popped = {"a": x, "a": y}
    return written["a"], paired["a"], len(shorter), popped.pop("a"), len(written)


def chunk(x: Tensor):
    parts = torch.chunk(x, 3, 0)
    return parts[0], parts[1], parts[-1], len(parts)


def unsafe_chunk(x: Tensor):
    return torch.unsafe_chunk(x, 2, 1)[1]


def split(x: Tensor):
    parts = torch.split(x, 2, 0)
    return parts[0], parts[-1], len(parts)


def unsafe_split(x: Tensor):
    return torch.cat(torch.unsafe_split(x, 3, 0), 1)


def split_by_size(x: Tensor):
    parts = x.split(x.size(1), 0)
    return parts[0], parts[-1], len(parts)


def split_with_sizes(x: Tensor):
    parts = x.split([1, x.size(0) - 2, 1], 0)
    return parts[0], parts[1], parts[2]


def unsafe_split_with_sizes(x: Tensor):
    parts = torch.unsafe_split_with_sizes(x, [x.size(0) - 1, 1], 0)
    return parts[1], parts[0]


def listed_sizes(x: Tensor):
    sizes = [2]
    for i in range(x.size(0) - 2):
        sizes.append(1)
    parts = torch.split_with_sizes(x, sizes, 0)
    return parts[0], parts[-1], len(parts)


def tensor_split(x: Tensor):
    parts = torch.tensor_split(x, 3, 0)
    return parts[0], parts[1], parts[2]


def tensor_split_by_count(x: Tensor):
    parts = torch.tensor_split(x, torch.count_nonzero(x[:3, 0]) + 1, 0)
    return parts[0], parts[-1], len(parts)


def unbind(x: Tensor):
    rows = x.unbind(0)
    return rows[1], rows[-1], len(rows)


# How many rows are kept, none perhaps, shows when the model runs.
def chunk_of_kept(x: Tensor):
    parts = torch.chunk(x[x[:, 0] > 0], 3, 0)
    return torch.cat(parts, 0), parts[0], len(parts)


def split_of_kept(x: Tensor):
    parts = torch.split(x[x[:, 0] > 0], 2, 0)
    return torch.cat(parts, 0), parts[-1], len(parts)


def unbind_kept(x: Tensor):
    return len(x[x[:, 0] > 0].unbind(0))


# Lists that a loop fills and that are only stacked afterwards.
def stacked_states(x: Tensor, h: Tensor):
    states: List[Tensor] = []
    doubled: List[Tensor] = []
    for i in range(x.size(0)):
        h = torch.tanh(x[i] + h)
        states.append(h)
        doubled.append(h * 2)
    return torch.stack(states, 1), torch.stack(states), torch.stack(doubled, -1), h


def stacked_until(x: Tensor):
    rows: List[Tensor] = []
    i, total = 0, 0.0
    while i < x.size(0) and total < 3.0:
        total += float(x[i].abs().sum())
        rows.append(x[i] * 2)
        i += 1
    return torch.stack(rows), i


def stacked_from_outside(x: Tensor, y: Tensor):
    same: List[Tensor] = []
    for i in range(x.size(0)):
        same.append(y)
    return torch.stack(same) + x.unsqueeze(1)


def stacked_in_loops(x: Tensor):
    outer: List[Tensor] = []
    for i in range(x.size(0)):
        inner: List[Tensor] = []
        for j in range(x.size(1)):
            inner.append(x[i, j] + i - j)
        outer.append(torch.stack(inner, 1))
    return torch.stack(outer)


def stacked_and_read(x: Tensor):
    """Read in the loop as well: it stays a list."""
    rows: List[Tensor] = []
    for i in range(x.size(0)):
        rows.append(x[i] + len(rows))
    return torch.stack(rows)


def stacked_and_joined(x: Tensor):
    rows: List[Tensor] = []
    for i in range(x.size(0)):
        rows.append(x[i] * 2)
    return torch.stack(rows), torch.cat(rows)


def longer(x: Tensor, y: Tensor):
    some = [x]
    some += [y, x * 2]
    some += [some[0] - 1]
    numbers = [1, 2]
    numbers += [3]
    return torch.stack(some), numbers[2] + len(some)


def longer_in_loop(x: Tensor):
    rows: List[Tensor] = []
    for i in range(x.size(0)):
        rows += [x[i] * 2]
    return torch.stack(rows)


def backwards(x: Tensor, y: Tensor):
    some = [x, y, x + y, x * y]
    numbers = [1, 2, 3, 4]
    part = some[3:0:-2]
    return torch.stack(some[::-1]), torch.stack(part), some[-1:-3:-1][1], some[1::-1][0], some[:1:-1][1], numbers[::-1][0] + len(some[:9:-1])


# A list made of another one, and written afterwards.
def written_slices(x: Tensor, y: Tensor):
    first = [x, y, x + y]
    part = first[1:]
    before = part[0]
    part[0] = x * 9
    part[1] = part[0] + 1
    copied = first.copy()
    count = len(copied)
    copied.append(y * 3)
    joined = first + [y * 4]
    joined.insert(0, x - 1)
    numbers = [x.size(0), 3]
    tail = numbers[1:]
    tail.append(len(tail))
    grown = first[:1]
    grown += [x * 5]
    if len(tail) == 2:
        before = before + 100
    whole = list(first)
    whole.pop(0)
    return before, torch.stack(part), count, len(copied), copied[-1], joined[0], len(joined), tail[1], len(tail), grown[-1], whole[0], len(whole)


def backwards_of_any_length(x: Tensor, y: Tensor):
    numbers: List[int] = []
    for i in range(x.size(0)):
        numbers.append(i * i + 1)
    sizes = x.shape[::-1]
    return (torch.tensor(numbers[::-1]), torch.tensor(numbers[::-2]), torch.tensor(numbers[:0:-1]), torch.tensor(numbers[-1::-1]),
            torch.tensor(numbers[1:]), y.reshape(sizes[0], sizes[1]))


def stacks():
    pair = [(torch.randn(2, 3), torch.randn(2, 3))]
    made = {f"list_{function.__name__}": Case(function, pair, ("f32:n,3", "f32:n,3"), script=True) for function in (longer, backwards, written_slices)}
    made["list_backwards_of_any_length"] = Case(backwards_of_any_length, [(torch.randn(n, 3), torch.randn(n, 3)) for n in (2, 4, 1)],
                                                ("f32:n,3", "f32:n,3"), script=True, opsets=range(10, 27))
    made["list_longer_in_loop"] = Case(longer_in_loop, [(torch.randn(n, 3),) for n in (3, 1, 5)], ("f32:n,3",), script=True)
    for dtype, text in [(torch.float32, "f32"), (torch.int64, "i64"), (torch.uint8, "u8")]:
        rows = [torch.randint(0, 4, (n, 4)).to(dtype) for n in (3, 1, 5)]
        planes = [torch.randint(0, 4, (n, m, 2)).to(dtype) for n, m in ((3, 2), (1, 4), (2, 1))]
        at = {"script": True, "opsets": range(7, 27)}
        made[f"stacked_from_outside_{text}"] = Case(stacked_from_outside, [(x, x[0]) for x in rows], (f"{text}:n,4", f"{text}:4"), **at)
        made[f"stacked_in_loops_{text}"] = Case(stacked_in_loops, [(x,) for x in planes], (f"{text}:n,m,2",), **at)
        at["opsets"] = range(13, 27)
        made[f"stacked_and_read_{text}"] = Case(stacked_and_read, [(x,) for x in rows], (f"{text}:n,4",), **at)
        made[f"stacked_and_joined_{text}"] = Case(stacked_and_joined, [(x,) for x in rows], (f"{text}:n,4",), **at)
    made["stacked_states"] = Case(stacked_states, [(torch.randn(t, b, 4), torch.randn(b, 4)) for t, b in ((3, 2), (1, 5), (4, 1))], ("f32:t,b,4", "f32:b,4"), script=True)
    made["stacked_until"] = Case(stacked_until, [(torch.randn(n, 4),) for n in (3, 1, 6)], ("f32:n,4",), script=True)
    return made


def cases():
    made = {"equal_keys": Case(equal_keys, [(torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0]))], ("f32:2", "f32:2"), script=True), **stacks()}
    by_name = [chunk, unsafe_chunk, split, unsafe_split, split_by_size, split_with_sizes, unsafe_split_with_sizes, tensor_split, unbind]
    kept = [chunk_of_kept, split_of_kept, unbind_kept]
    for dtype, text in [(torch.float32, "f32"), (torch.uint8, "u8"), (torch.int16, "i16"), (torch.bool, "bool")]:
        rows = {n: torch.randint(-3, 4, (n, 4)) for n in (5, 6, 9, 3)}
        in_dtype = [(x.abs().to(dtype),) for x in rows.values()]
        even = [pair for pair in in_dtype if pair[0].size(0) % 3 == 0]
        at = {"opsets": range(11, 27), "script": True}
        if text in ("u8", "i16"):
            at["runs"] = range(13, 27)   # ONNX Runtime cuts no small integers into lists, and before opset 13 no Loop makes one
        for function in by_name:
            inputs = even if function is unsafe_split else in_dtype
            # Slices, where how many parts there are is known
            of_parts = {"opsets": range(10, 27), "script": True} if function in (split_with_sizes, unsafe_split_with_sizes, tensor_split) else at
            made[f"{function.__name__}_{text}"] = Case(function, inputs, specs=(f"{text}:n,4" if function is not unsafe_chunk else f"{text}:n,m",), **of_parts)
        made[f"listed_sizes_{text}"] = Case(listed_sizes, in_dtype, specs=(f"{text}:n,4",), **at)
        made[f"tensor_split_by_count_{text}"] = Case(tensor_split_by_count, in_dtype, specs=(f"{text}:n,4",), **at)
        for function in kept:
            some = [(x,) for (x,) in in_dtype] + [(torch.zeros(4, 4, dtype=dtype),)]
            made[f"{function.__name__}_{text}"] = Case(function, some, specs=(f"{text}:n,4",), **at)
    return made
