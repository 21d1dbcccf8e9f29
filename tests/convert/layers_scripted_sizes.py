"""Scripted programs: Sizes, ranks and presence that change from iteration to iteration, beside sizes that are known."""
from typing import Dict, List, Optional

import torch
from torch import Tensor

from script_programs import Programs, N3, r

programs = Programs()
program = programs.add
cases = programs.cases
STEPS = [(r(k), torch.tensor(n)) for k, n in ((2, 2), (3, 0), (4, 3))]
FIXED = [(r(3), torch.tensor(n)) for n in (0, 1, 2, 4)]
NUMBER = "i64:scalar"


@program(STEPS, "f32:k", NUMBER)
def sizes_of_members(x: Tensor, n: Tensor):
    """The list begins with a member of another size, which holds for none of the later ones."""
    c: List[Tensor] = [torch.zeros(1)]
    for i in range(int(n)):
        c.append(x)
    return c[-1].size(0) * 100 + c[0].size(0)


@program(STEPS, "f32:k", NUMBER)
def sizes_that_grow(x: Tensor, n: Tensor):
    c: List[Tensor] = [torch.zeros(1)]
    for i in range(int(n)):
        c.append(torch.cat([c[-1], x]))
    return c[-1].mean(), c[-1].numel()


@program(FIXED, "f32:3", NUMBER)
def sizes_of_members_replaced(x: Tensor, n: Tensor):
    """With sizes that are numbers."""
    c = [x, x * 2]
    for i in range(int(n)):
        c = [torch.cat([c[0], x]), c[0]]
    return c[0].mean(), c[1].sum()


@program(STEPS, "f32:k", NUMBER)
def sizes_of_ranks(x: Tensor, n: Tensor):
    c: List[Tensor] = [x]
    for i in range(int(n)):
        c.append(c[-1].unsqueeze(0))
    return c[-1].dim(), len(c)


@program(FIXED, "f32:3", NUMBER)
def sizes_of_what_comes_later(x: Tensor, n: Tensor):
    """Until the second iteration there is none."""
    b: Optional[Tensor] = None
    for i in range(int(n)):
        if i == 1:
            b = x * i
        if i == 2:
            b = x + 1
    if b is not None:
        x = x + b
    return x


@program(FIXED, "f32:3", NUMBER)
def sizes_of_keys_that_come_later(x: Tensor, n: Tensor):
    d: Dict[str, Tensor] = {}
    for i in range(int(n)):
        if i == 1:
            d["b"] = x * i
        if i == 2:
            d["b"] = x + 1
    if "b" in d:
        x = x + d["b"]
    return x


@program([(r(3), torch.tensor(n)) for n in (1, 2, 0)], "f32:3", NUMBER)
def iterations_that_another_name_hides(x: Tensor, n: Tensor):
    """The list is joined though no iteration filled it. PyTorch takes a list that is written empty for a constant, and then appends to it."""
    l = [x]
    l.pop()
    last = x * 0
    for i in range(int(n)):
        l = l + [x]
        last = x
    l.append(x)
    return torch.cat(l), last


@program([(r(3), torch.tensor(n)) for n in (1, 2, 0)], "f32:3", NUMBER)
def iterations_of_a_list_filled_before(x: Tensor, n: Tensor):
    l = [x]
    l.pop()
    other = l
    other.append(x + 1)
    last: Optional[Tensor] = None
    for i in range(int(n)):
        l = l + [x]
        last = x
    joined = torch.cat(l)
    if last is None:
        return joined * 2
    return joined
