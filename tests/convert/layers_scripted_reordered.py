"""Scripted programs: what changes the order of keys, how often a loop runs, or an object under another name."""
from typing import Dict, List, Optional

import torch
from torch import Tensor

from script_programs import FLAG, Programs, r

programs = Programs()
program = programs.add
cases = programs.cases
COUNTS = [(r(3), torch.tensor(k)) for k in (2, 0, 3, 1)]


@program([(r(3),), (r(3),)], "f32:3")
def list_written_in_counted_loop(x: Tensor):
    """How often it runs depends on a list that it writes."""
    i = 0
    while i < 9:
        l = [i]
        l.append(i)
        i += len(l)
        x = x + 1
    return x


@program(COUNTS, "f32:3", FLAG)
def key_set_again_in_loop(x: Tensor, n: Tensor):
    d = {"a": x, "b": x * 2}
    for i in range(int(n)):
        v = d.pop("a")
        d["a"] = v + 1
    return torch.cat(list(d.values()))


@program(COUNTS, "f32:3", FLAG)
def key_removed_and_set_in_loop(x: Tensor, n: Tensor):
    d: Dict[str, Tensor] = {}
    outs: List[Tensor] = []
    for i in range(int(n) + 1):
        v = d.pop("a", x)
        d["a"] = v + 1
        d["b"] = v * 2
        outs.append(v)
    return torch.cat(list(d.values())), torch.stack(outs)


@program([(n, f) for n in (torch.tensor(3), torch.tensor(1)) for f in (torch.tensor(0), torch.tensor(1))], FLAG, FLAG)
def joined_list_in_columns(n: Tensor, flag: Tensor):
    l: List[List[int]] = []
    for i in range(int(n)):
        l.append([i])
    a = [1]
    b = [2]
    c = a if bool(flag) else b
    l.append(c)
    a.append(7)
    return torch.tensor(l[-1]), torch.tensor(a)


@program([(n, f) for n in (torch.tensor(3), torch.tensor(1)) for f in (torch.tensor(0), torch.tensor(1))], FLAG, FLAG)
def part_of_joined_list_in_columns(n: Tensor, flag: Tensor):
    l: List[List[int]] = []
    for i in range(int(n)):
        l.append([i])
    a = [1]
    b = [2]
    c = a if bool(flag) else b
    l.append(a)
    c.append(7)
    return torch.tensor(l[-1]), torch.tensor(c)


@program([(torch.tensor(3),), (torch.tensor(1),)], FLAG)
def repeated_list_in_columns(n: Tensor):
    l: List[List[int]] = []
    for i in range(int(n)):
        l.append([i])
    l *= 2
    l[0].append(9)
    return torch.tensor(l[0]), torch.tensor(l[len(l) // 2])


@program([(x, torch.tensor(n), torch.tensor(f)) for x in (r(3),) for n in (2, 0) for f in (0, 1)], "f32:3", FLAG, FLAG)
def maybe_keys_before_open_ones(x: Tensor, n: Tensor, flag: Tensor):
    d: Dict[int, Tensor] = {}
    if bool(flag):
        d[0] = x
    for i in range(int(n)):
        d.clear()
        d[i] = x + i
    return x * len(d)


@program(COUNTS, "f32:3", FLAG)
def table_that_may_be_none(x: Tensor, n: Tensor):
    d: Optional[Dict[int, Tensor]] = None
    for i in range(int(n)):
        if d is None:
            made: Dict[int, Tensor] = {-1: x}
            d = made
        else:
            d[i] = x
    if d is None:
        return x
    return x * len(d)


@program([(torch.tensor([[1, 2], [3, 4]]).float(), torch.tensor(1)), (torch.rand(3, 2), torch.tensor(0))], "f32:n,2", FLAG)
def rows_beside_numbers(x: Tensor, flag: Tensor):
    rows: List[List[float]] = x.tolist()
    if bool(flag):
        rows.append([1.0, 2.0])
    return torch.tensor(rows), torch.tensor(rows[-1])


@program([(torch.tensor([0.5, -0.2]),), (torch.tensor([-2.0, 1.0]),)], "f32:2")
def forbidden_pairs(x: Tensor):
    """A fixed list of pairs, read by a place that isn't known."""
    pairs = [(0, 2), (2, 1), (1, 1)]
    total = 0
    for v in x:
        a, b = pairs[int(v > 0) + 1]
        total += a * 10 + b
    return x * total
