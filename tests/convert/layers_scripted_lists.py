"""Scripted programs: Lists."""
import math
from typing import Dict, List, Optional, Tuple

import torch
from torch import Tensor

from script_programs import Programs, FIXED, FLAG, FLAGS, N3, SOME, r

programs = Programs()
program = programs.add
cases = programs.cases


@program(SOME, N3)
def list_operations(x: Tensor):
    l = [x, x + 1, x + 2]
    l.insert(1, x * 10)
    l.insert(-1, x * 20)
    l.insert(100, x * 30)
    l.insert(-100, x * 40)
    a = l.pop()
    b = l.pop(-2)
    c = l.pop(0)
    del l[1]
    l.reverse()
    l[-1] = l[-2] + 5
    return torch.stack(l), a, b, c, torch.stack(l[-2:]), torch.stack(l[::-1])


@program(SOME, N3)
def list_times(x: Tensor):
    l = [x]
    l *= 3
    m = [x, x + 1] * 2
    return len(l), torch.stack(m)


@program([(r(n, m),) for n, m in ((3, 4), (1, 6), (2, 2))], "f32:n,m")
def list_of_ints(x: Tensor):
    s = list(x.shape)
    s.append(2)
    s[1] = s[1] // 2
    t = s.copy()
    t.sort()
    s.extend([1, 1])
    u = [max(a, b) for a, b in zip(s, t)]
    return x.reshape(s), torch.zeros(t), sum(u), max(s), min(t), sorted(s)[0]


@program([(r(n, m),) for n, m in ((3, 4), (1, 6), (2, 2))], "f32:n,m")
def list_remove_index_count(x: Tensor):
    l = [3, 1, x.size(0), 1]
    k = l.count(1)
    i = l.index(1)
    l.remove(1)
    return k, i, len(l), l[0], l[1]


@program([(r(n, m),) for n, m in ((3, 4), (1, 6), (2, 2))], "f32:n,m")
def list_sorted(x: Tensor):
    l = [x.size(0), x.size(1), 3]
    a = sorted(l)
    l.sort(reverse=True)
    return a[0], a[1], a[2], l[0], l[1], l[2]


@program(SOME, N3)
def list_sorted_floats(x: Tensor):
    l = [float(x.sum()), 0.5, -0.25]
    l.sort()
    return l[0], l[1], l[2]


@program([(r(n, 3), r(n, 5)) for n in (3, 1)], "f32:n,3", "f32:n,5")
def list_zip_enumerate(x: Tensor, y: Tensor):
    xs, ys = [x, x * 2], [y, y * 3]
    total = x.sum() * 0
    for i, (a, b) in enumerate(zip(xs, ys)):
        total = total + (i + 1) * (a.sum() + b.max())
    return total, torch.cat([a for a in xs], 1), [b.sum() for b in ys[::-1]]


@program([(r(2, 3), r(2, 3)), (r(2, 3), r(2, 3))])
def list_nested_comprehension(x: Tensor, y: Tensor):
    l = [[a + j for j in [x, y]] for a in [x, y]]
    flat = l[0] + l[1]
    return torch.stack(flat), torch.stack([torch.stack(row) for row in l])


@program([(torch.tensor(v, dtype=torch.int64),) for v in ([3, 1, 2], [5], [])], "i64:n")
def list_tolist(x: Tensor):
    l: List[int] = x.tolist()
    l.append(4)
    total = 0
    for v in l:
        total += v
    return total, max(l), len(l), sum(l)


@program([(r(n, 3),) for n in (3, 1, 5)], N3)
def list_ints_grown(x: Tensor):
    l: List[int] = []
    for i in range(x.size(0)):
        l.append(i * i)
    m = l[::-1]
    m.insert(0, 7)
    return torch.tensor(l), sum(m), max(m), min(l), len(m), l[-1]


@program([(r(n, 3),) for n in (3, 1, 5, 0)], N3)
def list_carried_and_read(x: Tensor):
    l: List[Tensor] = [x.sum(0)]
    for i in range(x.size(0)):
        l.append(l[i] + x[i])
        l[0] = l[0] + l[-1]
    return torch.stack(l)


@program([(r(n, 3),) for n in (3, 2, 5)], N3)
def list_set_by_index_in_loop(x: Tensor):
    l = [x[0], x[0], x[1]]
    for i in range(x.size(0)):
        l[i % 3] = l[i % 3] + x[i]
    return torch.stack(l)


@program([(r(n, 3),) for n in (3, 1, 5, 0)], N3)
def list_cleared_in_loop(x: Tensor):
    l: List[Tensor] = [x.sum(0)]
    total = x.sum(0)
    for i in range(x.size(0)):
        l.append(x[i])
        if len(l) > 2:
            total = total + torch.stack(l).sum(0)
            l.clear()
    return total, len(l)


@program([(r(n, 3),) for n in (3, 1, 5, 0)], N3)
def list_reversed_in_loop(x: Tensor):
    l: List[Tensor] = [x.sum(0)]
    for i in range(x.size(0)):
        l.append(x[i])
        l.reverse()
    l.insert(1, x.sum(0))
    del l[0]
    return torch.stack(l)


@program([(r(n, 3),) for n in (3, 1, 5, 0)], N3)
def list_of_tuples_grown(x: Tensor):
    """Pairs, one for each row: two lists would do."""
    l: List[Tuple[Tensor, int]] = []
    for i in range(x.size(0)):
        l.append((x[i], i))
    total = x.sum(0)
    for t, i in l:
        total = total + t * i
    return total


@program([(r(n, 3),) for n in (3, 1, 5)], N3)
def list_of_lists_grown(x: Tensor):
    """Of unknown length, of lists."""
    l: List[List[Tensor]] = []
    for i in range(x.size(0)):
        l.append([x[i], x[i] + 1])
    return torch.stack([a[0] for a in l])


@program([(r(n, 3),) for n in (3, 1, 5)], N3)
def list_while_queue(x: Tensor):
    queue = [x.sum(0)]
    seen = 0
    out = x[0] * 0
    while len(queue) > 0 and seen < 6:
        item = queue.pop(0)
        seen += 1
        out = out + item
        if bool(item.sum() > 0):
            queue.append(item - 1)
            queue.append(item * 0.5)
    return out, seen, len(queue)


@program([(torch.tensor(v),) for v in ([1.0, 2, -3, 4, -5], [1.0], [-1.0, 2.0], [])], "f32:n")
def list_break_continue(x: Tensor):
    l: List[Tensor] = [x.sum()]
    for i in range(x.size(0)):
        if bool(x[i] < -4):
            break
        if bool(x[i] < 0):
            continue
        l.append(x[i])
    return torch.stack(l), len(l)


@program([(torch.tensor(v),) for v in ([1.0, 2, -3, 4, -5], [1.0], [-1.0, 2.0], [])], "f32:n")
def list_early_return_in_loop(x: Tensor):
    l: List[Tensor] = [x.sum()]
    for i in range(x.size(0)):
        l.append(x[i])
        if bool(x[i] < 0):
            return torch.stack(l), i
    l.append(x.sum() * 2)
    return torch.stack(l), -1


@program([(r(n, m),) for n, m in ((3, 2), (1, 4), (2, 1))], "f32:n,m")
def list_nested_unknown_loops(x: Tensor):
    l: List[Tensor] = []
    count = 0
    for i in range(x.size(0)):
        for j in range(x.size(1)):
            if bool(x[i, j] > 0):
                l.append(x[i, j])
            else:
                count += 1
        l.append(x[i].sum())
    return torch.stack(l), count


@program([(r(n, m),) for n, m in ((3, 2), (1, 4), (2, 1))], "f32:n,m")
def list_inner_reset(x: Tensor):
    outer: List[Tensor] = []
    for i in range(x.size(0)):
        inner: List[Tensor] = []
        for j in range(x.size(1)):
            inner.append(x[i, j])
            if len(inner) > 2:
                inner = inner[1:]
        outer.append(torch.stack(inner).sum())
        inner.append(x[i, 0])
        outer += inner
    return torch.stack(outer)


@program([(r(2, n),) for n in (3, 1)], "f32:2,n")
def list_deep_loops(x: Tensor):
    """Five loops in one another carry a dictionary of lists."""
    d: Dict[str, List[Tensor]] = {"a": [x[0], x[1]]}
    n = x.size(1)
    for a in range(n):
        for b in range(n):
            for c in range(n):
                for e in range(n):
                    for g in range(n):
                        d["a"][0] = d["a"][0] * 0.5 + d["a"][1]
                    d["a"][1] = d["a"][1] + e
                d["a"][0] = d["a"][0] - c
            d["a"][1] = d["a"][1] * 0.1
    return d["a"]


@program([(r(3, 4, 5), r(3, 2, 6)), (r(3, 4, 5), r(3, 2, 6))])
def list_max_by_axis(x: Tensor, y: Tensor):
    sizes = [list(im.shape) for im in [x, y]]
    maxes = sizes[0]
    for sub in sizes[1:]:
        for i, item in enumerate(sub):
            maxes[i] = max(maxes[i], item)
    out = torch.zeros([2] + maxes)
    for i, im in enumerate([x, y]):
        out[i, : im.shape[0], : im.shape[1], : im.shape[2]].copy_(im)
    return out


@program([(r(3, a, b), r(3, c, d)) for a, b, c, d in ((4, 5, 2, 6), (1, 2, 3, 4))], "f32:3,a,b", "f32:3,c,d")
def list_max_by_axis_named(x: Tensor, y: Tensor):
    sizes = [list(im.shape) for im in [x, y]]
    maxes = sizes[0]
    for sub in sizes[1:]:
        for i, item in enumerate(sub):
            maxes[i] = max(maxes[i], item)
    stride = 4.0
    maxes[1] = int(math.ceil(float(maxes[1]) / stride) * stride)
    out = x.new_full([2] + maxes, 0.0)
    for i in range(2):
        im = [x, y][i]
        out[i, : im.shape[0], : im.shape[1], : im.shape[2]].copy_(im)
    return out, sizes[0][1], sizes[1][1]


@program(SOME, N3)
def list_any_all(x: Tensor):
    flags = [bool(x.sum() > 0), x.size(0) > 1]
    y = x
    if any(flags):
        y = y + 1
    if all(flags):
        y = y * 2
    return y


@program(SOME, N3)
def list_equal(x: Tensor):
    a, b = [x.size(0), 3], [3, 3]
    y = x
    if a == b:
        y = y + 1
    if [1, 2] != a:
        y = y * 2
    if x.size(0) in b:
        y = y - 5
    return y


@program(SOME, N3)
def list_of_strings(x: Tensor):
    l = ["relu", "tanh"]
    l.append("neg")
    for name in l[1:] + ["relu"]:
        if name == "relu":
            x = torch.relu(x)
        elif name == "tanh":
            x = torch.tanh(x)
        else:
            x = -x
    return x


@program(SOME, N3)
def list_thousand(x: Tensor):
    l: List[Tensor] = []
    for i in range(1000):
        l.append(x[0] + i)
    return torch.stack(l).sum(0), len(l)


@program(SOME, N3)
def list_optional_items(x: Tensor):
    l: List[Optional[Tensor]] = [None, x, None]
    l[0] = x + 1
    total = x * 0
    for t in l:
        if t is not None:
            total = total + t
    return total


@program(FLAGS, N3, FLAG)
def list_optional_items_by_branch(x: Tensor, f: Tensor):
    l: List[Optional[Tensor]] = [None, x]
    if bool(f > 0):
        l[0] = x * 3
    total = x * 0
    for t in l:
        if t is not None:
            total = total + t
    return total


@program([(r(n, 3), torch.tensor(f)) for n, f in ((3, 0), (1, 1), (5, 1), (0, 1))], N3, FLAG)
def alias_loop_tuple_part(x: Tensor, f: Tensor):
    """The list in the tuple is a, until another tuple takes its place."""
    a = [x.sum(0)]
    t = (a, x.sum(0))
    for i in range(x.size(0)):
        t[0].append(x[i])
        if bool(f > 0):
            t = ([x[i]], x[i])
    return torch.stack(a).sum(0), torch.stack(t[0]).sum(0), t[1]


@program([(r(n, 3), torch.tensor(f)) for n, f in ((3, 0), (2, 1), (5, 1), (0, 1))], N3, FLAG)
def alias_two_carried_from_one(x: Tensor, f: Tensor):
    p = [x.sum(0)]
    q = p
    for i in range(x.size(0)):
        p.append(x[i])
        q.append(x[i] * 2)
        if bool(f > 0):
            p = [x[i] * 3]
            if i > 0:
                q = [x[i] * 4]
    return torch.stack(p).sum(0), torch.stack(q).sum(0)


@program([(torch.tensor(v),) for v in ([1.0, -2, 3], [1.0, 2], [-1.0, -4, -5], [])], "f32:n")
def alias_read_before_chosen(x: Tensor):
    a = [x.sum()]
    a.append(x.sum() * 2)
    s = x.sum()
    for i in range(x.size(0)):
        s = s + torch.stack(a).sum()
        c = a
        if bool(x[i] > 0):
            c = [x[i]]
        c.append(x[i])
    return s


@program([(torch.tensor(v),) for v in ([1.0, -2, 3], [1.0, 2], [-1.0, -4], [])], "f32:n")
def alias_best_dict(x: Tensor):
    """As best = cur, of dictionaries of fixed keys."""
    best: Dict[str, Tensor] = {"v": x.sum(), "n": x.sum() * 0}
    cur: Dict[str, Tensor] = {"v": x.sum() * 2, "n": x.sum()}
    for i in range(x.size(0)):
        cur = {"v": x[i], "n": x[i] * 0}
        if bool(x[i] > best["v"]):
            best = cur
    cur["n"] = cur["n"] + 7
    return best["v"], best["n"], cur["n"]


@program([(torch.tensor(v),) for v in ([1.0, -2, 3], [3.0, 2], [-1.0, -4])], "f32:n")
def alias_best_copy(x: Tensor):
    """As users write it: a copy of the list is kept."""
    best: List[Tensor] = [x[0]]
    cur: List[Tensor] = []
    score = x[0] - 100
    for i in range(x.size(0)):
        cur.append(x[i])
        if bool(x[i] > score):
            score = x[i]
            best = cur.copy()
    cur.append(score)
    return torch.stack(best), torch.stack(cur), score


@program([(r(3), torch.tensor(f), torch.tensor(g)) for f in (0, 1) for g in (0, 1)], "f32:3", FLAG, FLAG)
def alias_dict_chosen_twice(x: Tensor, f: Tensor, g: Tensor):
    a: Dict[str, Tensor] = {"v": x}
    b: Dict[str, Tensor] = {"v": x * 2}
    c = a
    if bool(f > 0):
        c = b
    if bool(g > 0):
        c = {"v": x * 7}
    c["v"] = x + 5
    return a["v"], b["v"], c["v"]


@program(FIXED, "f32:3", FLAG)
def alias_after_early_return(x: Tensor, f: Tensor):
    a = [x]
    b = a
    if bool(f > 0):
        b = [x * 2]
        if bool(x.sum() > 0):
            return a[0], len(a)
        a.append(x)
    b.append(x + 4)
    return a[-1], len(a)


@program([(r(n, 3), torch.tensor(f)) for n, f in ((3, 0), (2, 1), (5, 1), (0, 1))], N3, FLAG)
def alias_nested_loops(x: Tensor, f: Tensor):
    """The inner loop appends to the list that the outer one chose in its last iteration."""
    a, b = [x.sum(0)], [x.sum(0) * 2]
    cur = a
    for i in range(x.size(0)):
        for j in range(i):
            cur.append(x[j])
        if i % 2 == 0:
            cur = b
        else:
            cur = a
    return torch.stack(a).sum(0), torch.stack(b).sum(0)


@program([(torch.tensor(v), r(p, 3), r(q, 3)) for v, p, q in (([0, 1, 0], 4, 2), ([1, 1], 1, 3), ([1, 0, 1], 2, 2))],
         "i64:n", "f32:p,3", "f32:q,3")
def list_of_two_sizes_read_in_turn(v: Tensor, a: Tensor, b: Tensor):
    rows = [a, b]
    out = (rows[int(v[0])] * 2).sum(0)
    out = (rows[int(v[1])] + 1).sum(0) * out
    for i in range(v.size(0)):
        out = out + (rows[int(v[i])] * out).sum(0)
    return (rows[int(v[0])] + out).sum(0)
