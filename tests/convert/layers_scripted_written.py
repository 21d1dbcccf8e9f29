"""Scripted programs: Tensors that are written in place, in containers."""
from typing import List

import torch
from torch import Tensor

from script_programs import Programs, FLAG, FLAGS, N3, SOME, r

programs = Programs()
program = programs.add
cases = programs.cases


@program(SOME, N3)
def write_dict_item(x: Tensor):
    d = {"a": x * 1, "b": x * 2}
    d["a"].add_(1)
    d["b"][0] = 0
    d["a"] += 2
    return d["a"], d["b"], x


@program(FLAGS, N3, FLAG)
def write_same_tensor_twice(x: Tensor, f: Tensor):
    y = x * 1
    l = [y, y]
    d = {"a": y}
    if bool(f > 0):
        l[0].add_(1)
    else:
        d["a"].mul_(3)
    return l[1], d["a"], y


@program([(r(n, 3),) for n in (3, 1, 5, 0)], N3)
def write_in_loop(x: Tensor):
    l = [x.sum(0), x.sum(0) * 2]
    for i in range(x.size(0)):
        l[0].add_(x[i])
        l[1][1:] = 0
    return l[0], l[1]


@program([(r(n, 3),) for n in (3, 1, 5, 0)], N3)
def write_carried_alias(x: Tensor):
    """From the first iteration on both items are one tensor."""
    l = [x.sum(0), x.sum(0) * 2]
    for i in range(x.size(0)):
        l[0].add_(x[i])
        l[1] = l[0]
    l[1].mul_(2)
    return l[0], l[1]


@program(FLAGS, N3, FLAG)
def write_chosen_tensor(x: Tensor, f: Tensor):
    d = {"a": x * 1, "b": x * 2}
    if bool(f > 0):
        t = d["a"]
    else:
        t = d["b"]
    t.add_(1)
    return d["a"], d["b"]


@program(FLAGS, N3, FLAG)
def write_replaced_in_branch(x: Tensor, f: Tensor):
    y = x * 1
    d = {"a": y}
    if bool(f > 0):
        d["a"] = x * 5
    d["a"].add_(1)
    return y, d["a"]


@program(SOME, N3)
def write_every_item(x: Tensor):
    l = [x * 1, x * 2, x * 3]
    for t in l:
        t.add_(1)
    for i, t in enumerate(l):
        t[0] = float(i)
    for a, b in zip(l, l[1:]):
        a.add_(b)
    return l


@program([(r(n, 3),) for n in (3, 1, 5)], N3)
def write_appended_later(x: Tensor):
    """The tensor is written after it was put into the list."""
    l: List[Tensor] = []
    for i in range(x.size(0)):
        row = x[i] * 1
        l.append(row)
        row.add_(1)
    return torch.stack(l)


@program([(r(n, 3),) for n in (3, 1, 5)], N3)
def write_one_accumulator(x: Tensor):
    """All items are one tensor."""
    l: List[Tensor] = []
    total = x[0] * 0
    for i in range(x.size(0)):
        total += x[i]
        l.append(total)
    return torch.stack(l)


@program([(r(n, 3),) for n in (3, 1, 5)], N3)
def write_one_accumulator_cloned(x: Tensor):
    l: List[Tensor] = []
    total = x[0] * 0
    for i in range(x.size(0)):
        total += x[i]
        l.append(total.clone())
    return torch.stack(l)


@program(SOME, N3)
def write_view_in_list(x: Tensor):
    y = x * 1
    rows = [y[0], y[:, 1]]
    rows[0].fill_(7)
    rows[1].mul_(2)
    d = {"whole": y, "row": y[0]}
    d["whole"][0, 0] = 100
    return y, rows[0], rows[1], d["row"]


@program(SOME, N3)
def write_unbound(x: Tensor):
    y = x.t() * 1
    a, b, c = y.unbind(0)
    l = [a, b, c]
    l[1].add_(l[0])
    l.reverse()
    l[0].mul_(2)
    return y


@program(SOME, N3)
def write_input_list_of_views(x: Tensor):
    z = torch.zeros(3, x.size(1))
    views = [z[i] for i in range(3)]
    for i, v in enumerate(views):
        v += i
        v[0] = x[0, 0]
    return z


@program(SOME, N3)
def write_state_dict_in_loop(x: Tensor):
    state = {"h": x[0] * 1, "c": x[0] * 2}
    for i in range(x.size(0)):
        state["h"] = torch.tanh(state["h"] + x[i])
        state["c"].add_(state["h"])
        state["h"].mul_(2)
    return state["h"], state["c"]
