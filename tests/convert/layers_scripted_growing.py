"""Scripted programs: Tensors that begin empty and grow in loops."""
from typing import List, Tuple

import torch
from torch import Tensor

from script_programs import Programs, N3, ROWS, SOME, r

programs = Programs()
program = programs.add
cases = programs.cases
NUMBER = "i64:scalar"


@program([(r(n, 3), torch.tensor(k)) for n, k in ((2, 3), (2, 1), (4, 0))], N3, NUMBER)
def grows_rows(x: Tensor, n: Tensor):
    """torch.cat skips vectors without elements, whatever the others' rank."""
    out = torch.zeros(0)
    for i in range(int(n)):
        out = torch.cat([out, x[i % x.size(0)].unsqueeze(0)])
    return out


@program([(r(2, 3).abs(),), *ROWS], N3)
def grows_rows_that_branches_take(x: Tensor):
    keep = torch.zeros(0)
    for row in x:
        if float(row.sum()) > 0:
            keep = torch.cat([keep, row[None]])
    return keep


@program([(r(2, 3), torch.tensor(k)) for k in (1, 3, 0)], N3, NUMBER)
def grows_columns(x: Tensor, steps: Tensor):
    cache = torch.empty(0)
    y = x
    for i in range(int(steps)):
        y = y * 0.5 + i
        cache = torch.cat([cache, y], dim=-1)
    return cache


@program([(r(n),) for n in (3, 1)] + [(r(3) * 9,)], "f32:n")
def grows_behind_another(x: Tensor):
    hist = torch.empty(0)
    i = 0
    while float(x.abs().max()) > 0.5 and i < 20:
        x = x * 0.7
        hist = torch.cat([x.unsqueeze(0), hist], 0)
        i += 1
    if hist.numel() == 0:
        return x.unsqueeze(0)
    return hist


@program(ROWS, N3)
def grows_two(x: Tensor) -> Tuple[Tensor, Tensor]:
    """Both begin without a rank of their own."""
    positive, others = torch.zeros(0), torch.zeros(0)
    for row in x:
        if float(row.sum()) > 0:
            positive = torch.cat([positive, row[None]])
        else:
            others = torch.cat([others, row[None]])
    return torch.cat([positive, others, x]), torch.cat([x, others])


@program(SOME, N3)
def sums_of_any_rank(x: Tensor):
    """Of what a list holds, the rank is known only when the model runs."""
    parts: List[Tensor] = []
    for row in x:
        if float(row.sum()) > 0:
            parts.append(row)
        else:
            parts.append(row.sum())
    total = torch.zeros(1)
    for part in parts:
        total = total + part.sum() * 2 + part.mean() + part.prod()
    return total, len(parts)
