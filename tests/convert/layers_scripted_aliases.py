"""Scripted programs: Two names of one list."""
from typing import Dict, List

import torch
from torch import Tensor

from script_programs import Programs, FIXED, FLAG, N3, SOME, r

programs = Programs()
program = programs.add
cases = programs.cases


@program(FIXED, "f32:3", FLAG)
def alias_two_names(x: Tensor, f: Tensor):
    a = [x]
    b = a
    if bool(f > 0):
        b.append(x + 1)
    else:
        a.append(x * 2)
    return len(a), a[-1], b[1]


@program(FIXED, "f32:3", FLAG)
def alias_one_of_two(x: Tensor, f: Tensor):
    """The list that a branch chooses is written; both are read."""
    a, b = [x], [x * 2]
    c = a
    if bool(f > 0):
        c = b
    c.append(x + 5)
    return torch.stack(a).sum(0), torch.stack(b).sum(0), torch.stack(c)


@program([(r(3), torch.tensor(f), torch.tensor(g)) for f in (0, 1) for g in (0, 1)], "f32:3", FLAG, FLAG)
def alias_chosen_twice(x: Tensor, f: Tensor, g: Tensor):
    a, b = [x], [x * 2]
    c = a
    if bool(f > 0):
        c = b
    if bool(g > 0):
        c = [x * 7]
    c.append(x + 5)
    return torch.stack(a).sum(0), torch.stack(b).sum(0), torch.stack(c)


@program(FIXED, "f32:3", FLAG)
def alias_chosen_with_other(x: Tensor, f: Tensor):
    """c is d, one way only."""
    a, b = [x], [x * 2]
    if bool(f > 0):
        c = a
        d = (a, x)
    else:
        c = b
        d = (a, x + 1)
    c.append(x + 5)
    return torch.stack(d[0]).sum(0), d[1], torch.stack(c)


@program(FIXED, "f32:3", FLAG)
def alias_chosen_item_write(x: Tensor, f: Tensor):
    a, b = [x, x], [x * 2, x * 3]
    if bool(f > 0):
        c = a
    else:
        c = b
    c[0] = x + 5
    return a[0], b[0], c[0], c[1]


@program(FIXED, "f32:3", FLAG)
def alias_swapped(x: Tensor, f: Tensor):
    a, b = [x], [x * 2]
    if bool(f > 0):
        a, b = b, a
    a.append(x + 5)
    b.append(x + 6)
    return a[0], a[1], b[0], b[1]


@program(FIXED, "f32:3", FLAG)
def alias_swapped_and_kept(x: Tensor, f: Tensor):
    a, b = [x], [x * 2]
    kept = a
    if bool(f > 0):
        a, b = b, a
    a.append(x + 5)
    return torch.stack(a), torch.stack(b).sum(0), torch.stack(kept).sum(0)


@program(FIXED, "f32:3", FLAG)
def alias_new_list_both_names(x: Tensor, f: Tensor):
    """One way a and b become one list."""
    a, b = [x], [x * 2]
    if bool(f > 0):
        a = [x + 1]
        b = a
    a.append(x + 5)
    return len(b), b[-1], a[-1]


@program(FIXED, "f32:3", FLAG)
def alias_in_two_dicts(x: Tensor, f: Tensor):
    l = [x]
    d: Dict[str, List[Tensor]] = {"a": l}
    e: Dict[str, List[Tensor]] = {"b": l, "c": [x * 3]}
    if bool(f > 0):
        d["a"].append(x + 1)
    else:
        e["b"].append(x + 2)
    e["c"].append(x)
    return l[1], d["a"][1], e["b"][1], len(e["c"]), d


@program(FIXED, "f32:3", FLAG)
def alias_in_tuple(x: Tensor, f: Tensor):
    l = [x]
    t = (l, x * 2)
    l.append(x + 1)
    if bool(f > 0):
        t[0].append(t[1])
    else:
        l.append(x - 1)
    return t[0][1], t[0][2], len(t[0])


@program(SOME, N3)
def alias_in_tuple_loop(x: Tensor):
    l: List[Tensor] = []
    t = (l, x * 2)
    for i in range(x.size(0)):
        l.append(x[i])
        t[0].append(t[1][i])
    return torch.stack(t[0]), len(l)


@program([(r(n, 3),) for n in (1, 3, 4, 0)], N3)
def alias_loop_chooses_outer(x: Tensor):
    """After the loop cur is a, unless the loop did not run."""
    a, cur = [x.sum(0)], [x.sum(0) * 2]
    for i in range(x.size(0)):
        cur = a
    cur.append(x.sum(0) + 9)
    return torch.stack(a).sum(0), torch.stack(cur).sum(0), len(a)


@program([(torch.tensor(v),) for v in ([1.0, -2, 3], [1.0, 2], [-1.0], [])], "f32:n")
def alias_loop_leaves_outer(x: Tensor):
    """cur is a until a value is below zero."""
    a = [x.sum()]
    cur = a
    for i in range(x.size(0)):
        if bool(x[i] < 0):
            cur = [x[i]]
    cur.append(x.sum() + 9)
    return torch.stack(a).sum(), torch.stack(cur).sum(), len(a)


@program(SOME, N3)
def alias_rebound_to_one(x: Tensor):
    """From the second iteration on a is b."""
    a, b = [x[0]], [x[0] * 2]
    total = x[0] * 0
    for i in range(x.size(0)):
        a.append(x[i] + 1)
        total = total + torch.stack(b).sum(0)
        c = [x[i] * 3]
        a = c
        b = c
    a.append(x[0])
    return total, len(b), torch.stack(a)


@program([(torch.tensor(v),) for v in ([1.0, -2, 3], [1.0, 2], [-1.0, -4], [])], "f32:n")
def alias_best_is_current(x: Tensor):
    """best and cur are the same list if the last one was the best."""
    best, cur = [x.sum()], [x.sum() * 2]
    for i in range(x.size(0)):
        cur = [x[i]]
        if bool(x[i] > best[0]):
            best = cur
    cur.append(x.sum() + 9)
    return torch.stack(best).sum(), torch.stack(cur).sum(), len(best)


@program(SOME, N3)
def alias_cur_next(x: Tensor):
    """cur = nxt: one list, another in each iteration."""
    cur = [x[0], x[0]]
    for i in range(x.size(0)):
        nxt = [cur[1]]
        nxt.append(cur[0] + x[i])
        cur = nxt
    return cur[0], cur[1], torch.stack(cur)


@program(SOME, N3)
def alias_previous(x: Tensor):
    prev, cur = [x[0]], [x[0] + 1]
    for i in range(x.size(0)):
        prev = cur
        cur = [prev[0] + x[i]]
        prev.append(x[i])
    return torch.stack(prev), torch.stack(cur)


@program(SOME, N3)
def alias_swap_in_loop(x: Tensor):
    a, b = [x[0]], [x[0] * 2]
    for i in range(x.size(0)):
        a.append(x[i])
        a, b = b, a
    return torch.stack(a).sum(0), torch.stack(b).sum(0), len(a), len(b)


@program(SOME, N3)
def alias_swap_in_loop_items(x: Tensor):
    a, b = [x[0], x[0]], [x[0] * 2, x[0]]
    for i in range(x.size(0)):
        a[0] = a[0] + x[i]
        b[1] = a[0] * b[0]
        a, b = b, a
    return a[0], a[1], b[0], b[1]


@program(SOME, N3)
def alias_window(x: Tensor):
    w = [x[0], x[0] * 2, x[0] * 3]
    out: List[Tensor] = []
    for i in range(x.size(0)):
        w = w[1:] + [x[i]]
        out.append(torch.stack(w).mean(0))
    return torch.stack(out), torch.stack(w)


@program(SOME, N3)
def alias_window_pop(x: Tensor):
    w: List[Tensor] = []
    out: List[Tensor] = []
    for i in range(x.size(0)):
        w.append(x[i])
        if len(w) > 2:
            w.pop(0)
        out.append(torch.stack(w).sum(0))
    return torch.stack(out), torch.stack(w)


@program([(torch.tensor(v),) for v in ([1.0, -2, 3], [1.0, 2], [-1.0, -4], [])], "f32:n")
def alias_branch_in_loop_then_write(x: Tensor):
    pos: List[Tensor] = [x.sum()]
    neg: List[Tensor] = [x.sum()]
    for i in range(x.size(0)):
        if bool(x[i] > 0):
            target = pos
        else:
            target = neg
        target.append(x[i])
    return torch.stack(pos), torch.stack(neg)


@program(FIXED, "f32:3", FLAG)
def alias_list_of_lists(x: Tensor, f: Tensor):
    row = [x]
    table = [row, row, [x * 2]]
    table[0].append(x + 1)
    if bool(f > 0):
        table[2].append(x + 3)
    else:
        row.append(x + 4)
        table[2] = [x, x]
    return len(table[1]), table[1][1], table[2][1]


@program(FIXED, "f32:3", FLAG)
def alias_repeated_rows(x: Tensor, f: Tensor):
    """[[x]] * 2 has one list twice."""
    table = [[x]] * 2
    table[0].append(x + 1)
    other = [[x] for _ in range(2)]
    other[0].append(x)
    return len(table[1]), len(other[1]), table[1][-1]


@program(FIXED, "f32:3", FLAG)
def alias_copy_is_shallow(x: Tensor, f: Tensor):
    table = [[x], [x * 2]]
    copied = table.copy()
    sliced = table[:1]
    joined = table + [[x * 3]]
    listed = list(table)
    table[0].append(x + 1)
    table.append([x])
    if bool(f > 0):
        copied[0].append(x + 2)
    else:
        sliced[0].append(x + 3)
    return len(copied), len(copied[0]), sliced[0][1], joined[0][2], len(listed), listed[0][2]


@program(FIXED, "f32:3", FLAG)
def alias_self_extend(x: Tensor, f: Tensor):
    l = [x, x * 2]
    l += l[:]
    l.extend(l[1:3])
    if bool(f > 0):
        l.extend(l.copy())
    else:
        l += [x, x]
    m = l + l
    return len(m), m[-1], torch.stack(l)


@program(SOME, N3)
def alias_self_extend_in_loop(x: Tensor):
    l = [x.sum(0)]
    for i in range(x.size(0)):
        l.extend(l[:])
    return len(l), torch.stack(l)


@program(SOME, N3)
def alias_appended_through_name_in_loop(x: Tensor):
    l: List[Tensor] = []
    m = l
    for i in range(x.size(0)):
        l.append(x[i])
        if len(m) > 1:
            m.pop(0)
        else:
            m.append(x[i] * 2)
    return torch.stack(m), len(l)


@program([(r(n, 3), torch.tensor(f)) for n, f in ((3, 0), (1, 1), (5, 1), (0, 0))], N3, FLAG)
def alias_loop_in_branch(x: Tensor, f: Tensor):
    a, b = [x.sum(0)], [x.sum(0) * 2]
    cur = a
    if bool(f > 0):
        for i in range(x.size(0)):
            cur = b
            cur.append(x[i])
    else:
        cur.append(x.sum(0) - 1)
    return torch.stack(a), torch.stack(b), torch.stack(cur)


def grow(l: List[Tensor], x: Tensor) -> List[Tensor]:
    l.append(x)
    return l


@program(SOME, N3)
def alias_through_function(x: Tensor):
    l: List[Tensor] = []
    for i in range(x.size(0)):
        m = grow(l, x[i])
        m.append(x[i] + 1)
    return torch.stack(l)


def pick(a: List[Tensor], b: List[Tensor], f: Tensor) -> List[Tensor]:
    if bool(f > 0):
        return a
    return b


@program(FIXED, "f32:3", FLAG)
def alias_picked_by_function(x: Tensor, f: Tensor):
    a, b = [x], [x * 2]
    pick(a, b, f).append(x + 1)
    return torch.stack(a).sum(0), torch.stack(b).sum(0)


@program(FIXED, "f32:3", FLAG)
def alias_picked_and_dead(x: Tensor, f: Tensor):
    """Neither list is read by its name any more."""
    c = pick([x], [x * 2, x], f)
    c.append(x + 1)
    return torch.stack(c)


@program(FIXED, "f32:3", FLAG)
def alias_held_by_dict_and_chosen(x: Tensor, f: Tensor):
    d: Dict[str, List[Tensor]] = {"a": [x], "b": [x * 2]}
    if bool(f > 0):
        c = d["a"]
    else:
        c = d["b"]
    c.append(x + 1)
    return torch.stack(d["a"]).sum(0), torch.stack(d["b"]).sum(0)


@program(FIXED, "f32:3", FLAG)
def alias_dict_chosen(x: Tensor, f: Tensor):
    d: Dict[str, Tensor] = {"a": x}
    e: Dict[str, Tensor] = {"a": x * 2}
    if bool(f > 0):
        c = d
    else:
        c = e
    c["a"] = x + 7
    return d["a"], e["a"], c["a"]


@program(FIXED, "f32:3", FLAG)
def alias_dict_of_dicts(x: Tensor, f: Tensor):
    inner: Dict[str, Tensor] = {"v": x}
    d: Dict[str, Dict[str, Tensor]] = {"a": inner, "b": inner}
    d["a"]["v"] = x + 1
    if bool(f > 0):
        d["b"]["v"] = d["a"]["v"] * 2
    else:
        d["a"] = {"v": x * 9}
    return inner["v"], d["a"]["v"], d["b"]["v"]
