"""Scripted programs: Tuples."""
from typing import List, NamedTuple, Tuple

import torch
from torch import Tensor

from script_programs import Programs, FLAG, FLAGS, N3, SOME, r

programs = Programs()
program = programs.add
cases = programs.cases


class Detection(NamedTuple):
    boxes: Tensor
    scores: List[Tensor]
    count: int


@program(FLAGS, N3, FLAG)
def tuple_named(x: Tensor, f: Tensor):
    d = Detection(x, [x[:, 0]], x.size(0))
    d.scores.append(x[:, 1])
    if bool(f > 0):
        d = Detection(x * 2, d.scores + [x[:, 2]], d.count)
    else:
        d = Detection(d.boxes + 1, [x[:, 0], x[:, 0], x[:, 0]], 3)
    return d.boxes, d.scores[-1], d.count, len(d.scores)


@program(SOME, N3)
def tuple_named_returned(x: Tensor):
    return Detection(x, [x[:, 0], x[:, 1]], 3)


@program(SOME, N3)
def tuple_nested(x: Tensor):
    t = ((x, [x, (x * 2, 3)]), x.size(0)) if False else ((x, (x * 2, 3)), x.size(0))
    (a, (b, c)), n = t
    u = (b, (a, n))
    for i in range(x.size(0)):
        a, (b, n) = u
        u = (a + b, (b, n + i))
    return u[0], u[1][0], u[1][1], c


@program([(r(n, 3),) for n in (3, 2, 5, 0)], N3)
def tuple_with_list_carried(x: Tensor):
    t: Tuple[Tensor, List[Tensor]] = (x.sum(0), [x.sum(0)])
    for i in range(x.size(0)):
        h, l = t
        h = torch.tanh(h + x[i])
        l.append(h)
        t = (h, l)
    return t[0], torch.stack(t[1])


@program([(r(n, 3),) for n in (3, 2, 5, 0)], N3)
def tuple_with_new_list_carried(x: Tensor):
    t: Tuple[Tensor, List[Tensor]] = (x.sum(0), [x.sum(0)])
    for i in range(x.size(0)):
        h, l = t
        h = torch.tanh(h + x[i])
        t = (h, l + [h])
    return t[0], torch.stack(t[1])


@program(SOME, N3)
def tuple_swap_chain(x: Tensor):
    a, b, c = x, x + 1, x + 2
    for i in range(x.size(0)):
        a, b, c = b, c, a
    return a, b, c
