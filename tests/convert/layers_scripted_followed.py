"""Scripted programs: What can be followed beside what can't."""
from typing import Dict, List, Optional, Tuple

import torch
from torch import Tensor, nn

from script_programs import Programs, FLAG, FLAGS, N3, SOME, r

programs = Programs()
program = programs.add
cases = programs.cases


@program(FLAGS, N3, FLAG)
def mixed_unknown_key_holds_list(x: Tensor, f: Tensor):
    l = [x, x * 2]
    d: Dict[int, List[Tensor]] = {0: l, 1: [x * 3]}
    d[int(f)].append(x + 9)
    return l[-1], d[1][-1]


@program(FLAGS, N3, FLAG)
def mixed_unknown_index_of_lists(x: Tensor, f: Tensor):
    l = [x]
    table = [l, [x * 2], l]
    table[int(f)].append(x * 9)
    return l[-1], table[1][-1], len(table[2])


@program(FLAGS, N3, FLAG)
def mixed_unknown_index(x: Tensor, f: Tensor):
    l = [x, x * 2, x * 3]
    y = l[int(f)]
    l[int(f) + 1] = y * 5
    return l[0], l[1], l[2], y


@program(FLAGS, N3, FLAG)
def mixed_unknown_pop(x: Tensor, f: Tensor):
    l = [x, x * 2, x * 3]
    y = l.pop(int(f))
    l.insert(int(f), y * 7)
    return l[0], l[1], l[2], y


@program(FLAGS, N3, FLAG)
def mixed_unknown_slice(x: Tensor, f: Tensor):
    l = [x, x * 2, x * 3]
    k = int(f)
    m = l[k : k + 2]
    m.append(x * 9)
    return torch.stack(m), len(m), l[-1]


@program([(r(n, 3),) for n in (3, 2, 5)], N3)
def mixed_lists_in_unknown_loop(x: Tensor):
    """Two lists of lists, one of which can't be followed."""
    known = [[x[0]], [x[1]]]
    other: List[List[Tensor]] = []
    for i in range(x.size(0)):
        known[0][0] = known[0][0] + x[i]
        other.append(known[0])
    known[1][0] = x[0] * 100
    return known[0][0], known[1][0], len(other)


@program(FLAGS, N3, FLAG)
def mixed_dict_of_dicts_one_way(x: Tensor, f: Tensor):
    d: Dict[str, Dict[str, Tensor]] = {"a": {"v": x}}
    if bool(f > 0):
        d["b"] = d["a"]
    d["a"]["v"] = x * 2
    out = x
    for k, v in d.items():
        out = out + v["v"]
    return out


@program(FLAGS, N3, FLAG)
def mixed_list_of_dicts_by_branch(x: Tensor, f: Tensor):
    l: List[Dict[str, Tensor]] = [{"v": x}]
    if bool(f > 0):
        l.append({"v": x * 2})
    total = x
    for d in l:
        total = total + d["v"]
    return total, len(l)


@program(FLAGS, N3, FLAG)
def mixed_tuple_list_by_branch(x: Tensor, f: Tensor):
    l: List[Tuple[Tensor, int]] = [(x, 1)]
    if bool(f > 0):
        l.append((x * 2, 2))
    total = x
    for t, k in l:
        total = total + t * k
    return total, len(l)


@program(FLAGS, N3, FLAG)
def mixed_list_lists_by_branch(x: Tensor, f: Tensor):
    a = [[x], [x * 2]]
    if bool(f > 0):
        a[0].append(x * 3)
        a.append([x])
    return len(a), len(a[0]), a[0][-1]


@program([(r(n, 3),) for n in (3, 2, 5)], N3)
def mixed_ints_of_ints(x: Tensor):
    """Lists of ints with ints that a loop makes; one is added to what isn't known."""
    rows: List[List[int]] = [[0], [1]]
    for i in range(x.size(0)):
        rows = [rows[1], rows[0] + [i]]
    return torch.tensor(rows[0]), torch.tensor(rows[1])


@program([(r(n, 3),) for n in (3, 2, 5)], N3)
def mixed_print_and_assert(x: Tensor):
    d: Dict[str, Tensor] = {"a": x}
    l = [x]
    assert len(l) == 1, "one"
    l.append(x * 2)
    d["b"] = l[1]
    print(len(d), "items")
    if len(d) > 5:
        raise ValueError("many")
    return d["b"]


@program([(r(n, 3),) for n in (3, 2, 5)], N3)
def mixed_raise_in_branch(x: Tensor):
    d: Dict[str, Tensor] = {"a": x}
    if x.size(0) > 100:
        raise ValueError("many")
    elif x.size(0) > 2:
        d["b"] = x * 2
    else:
        d["b"] = x * 3
    if bool(x.sum() > 1e9):
        d["c"] = x
        raise ValueError("large")
    else:
        d["c"] = d["b"] + 1
    return d


@program([(r(n, 3),) for n in (3, 2, 5, 0)], N3)
def mixed_list_of_optional_in_loop(x: Tensor):
    states: List[Optional[Tensor]] = [None, None]
    y = x.sum(0)
    for i in range(x.size(0)):
        for j in range(2):
            s = states[j]
            if s is None:
                s = x[i]
            y = y + s
            states[j] = y
    return y


@program([(r(n, 3),) for n in (3, 2, 5, 0)], N3)
def mixed_dict_of_optional(x: Tensor):
    d: Dict[str, Optional[Tensor]] = {"k": None, "v": x}
    k = d["k"]
    if k is None:
        d["k"] = x * 2
    k = d["k"]
    v = d["v"]
    if k is not None and v is not None:
        return k + v
    return x


@program([(r(n, 3),) for n in (3, 2, 5)], N3)
def mixed_index_assign_last(x: Tensor):
    l: List[Tensor] = []
    for i in range(x.size(0)):
        l.append(x[i])
        l[-1] = l[-1] * 2
    l[0] = l[0] + 100
    return torch.stack(l), l[0]


@program([(r(n, 3),) for n in (3, 2, 5)], N3)
def mixed_enumerate_grown(x: Tensor):
    l: List[Tensor] = []
    for i in range(x.size(0)):
        l.append(x[i])
    total = x[0] * 0
    for i, t in enumerate(l):
        total = total + t * i
    for a, b in zip(l, l[1:]):
        total = total + a * b
    m = [t * 2 for t in l]
    return total, torch.stack(m)


@program([(r(n, 3),) for n in (3, 2, 5)], N3)
def mixed_two_lists_grown_and_joined(x: Tensor):
    a: List[Tensor] = []
    b: List[Tensor] = []
    for i in range(x.size(0)):
        a.append(x[i])
        b.append(x[i] * 2)
    a.extend(b)
    c = a + b
    return torch.stack(a), len(c)


@program([(r(n, 3),) for n in (3, 2, 5)], N3)
def mixed_while_pop_known(x: Tensor):
    """A stack whose length is known all the way."""
    l = [x, x * 2, x * 3]
    y = x
    while len(l) > 0:
        y = y * 0.5 + l.pop()
    return y


@program([(r(n, 3),) for n in (3, 2, 5)], N3)
def mixed_floats(x: Tensor):
    w: List[float] = [0.1, 0.2]
    for i in range(x.size(0)):
        w.append(float(i) * 0.5)
        w[0] = w[0] + w[-1]
    return x * w[0], max(w), sum(w), len(w)


@program([(r(n, 3),) for n in (3, 2, 5)], N3)
def mixed_bools(x: Tensor):
    done: List[bool] = [False, False]
    steps: List[int] = [0, 0]
    for i in range(x.size(0)):
        for k in range(2):
            if not done[k]:
                steps[k] += 1
                done[k] = bool(x[i, k] > 0)
        if done[0] and done[1]:
            break
    return steps[0], steps[1], done[0]


@program([(r(n, 3),) for n in (3, 2, 5)], N3)
def mixed_shape_lists(x: Tensor):
    shape: List[int] = []
    for d in range(x.dim()):
        shape.append(x.size(d))
    shape += [1]
    y = x.view(shape).expand(shape[0], shape[1], 2)
    perm = list(range(y.dim()))
    perm[0], perm[-1] = perm[-1], perm[0]
    return y.permute(perm).reshape(shape[:1] + [-1])


@program([(r(n, 3),) for n in (3, 2, 5)], N3)
def mixed_list_in_place_in_unfollowed(x: Tensor):
    """Tensors in lists of a list whose index isn't known are written."""
    y = x * 1
    table = [[y[0], y[1]], [y[1], y[0]]]
    i = int(x.size(0) > 2)
    table[i][0].add_(1)
    return y


@program([(torch.tensor(v, dtype=torch.int64),) for v in ([1, 0, 2], [2, 2], [])], "i64:n")
def mixed_state_machine(x: Tensor):
    state = "idle"
    count = 0
    for i in range(x.size(0)):
        k = int(x[i])
        if state == "idle" and k == 1:
            state = "busy"
        elif state == "busy" and k == 2:
            state = "idle"
            count += 1
    return count


@program(SOME, N3)
def mixed_repeated_names(x: Tensor):
    """One name for list after list."""
    l = [x]
    l = l + [x * 2]
    l = [t + 1 for t in l]
    l = l[::-1] + l
    l = [l[0], l[-1]]
    l.append(l[0] * l[1])
    return l


@program([(r(n, 4),) for n in (3, 1, 5)], "f32:n,4")
class MixedRecurrentHistory(nn.Module):
    """Attention over all former states, which a list holds."""
    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(4, 4)
        self.score = nn.Linear(4, 1)

    def forward(self, x: Tensor):
        h = torch.zeros(1, 4)
        history: List[Tensor] = [h]
        for t in range(x.size(0)):
            past = torch.cat(history, 0)
            w = torch.softmax(self.score(past), 0)
            h = self.cell(x[t : t + 1] + (w * past).sum(0), h)
            history.append(h)
        return torch.cat(history[1:], 0), h
