"""Scripted programs: More state, more names of one list."""
from typing import Dict, List, Optional

import torch
from torch import Tensor, nn

from layers_scripted_objects import Box, Meter, Pair
from script_programs import Programs, FIXED, FLAG, N3, r

programs = Programs()
program = programs.add
cases = programs.cases


@program([(r(n, 3),) for n in (3, 1, 5)], N3)
class AttributeListCacheUnchecked(nn.Module):
    """State: the sizes of the first call count in all later ones."""
    sizes: Optional[List[int]]

    def __init__(self):
        super().__init__()
        self.sizes = None

    def forward(self, x: Tensor):
        sizes = self.sizes
        if sizes is None:
            sizes = [x.size(0)]
            self.sizes = sizes
        return x * sizes[0]


@program([(r(n, 3),) for n in (3, 1, 5)], N3)
class AttributeTensorListCacheUnchecked(nn.Module):
    """State: with other rows PyTorch adds what the first call made, by broadcasting."""
    made: Optional[List[Tensor]]

    def __init__(self):
        super().__init__()
        self.made = None

    def forward(self, x: Tensor):
        if self.made is None:
            self.made = [torch.arange(x.size(0)).sum()]
        made = self.made
        assert made is not None
        return x + made[0]


@program([(r(n, 3),) for n in (3, 3, 3)])
class AttributeListGrowsOnce(nn.Module):
    """State: the second call finds one item more, all later ones the same."""
    l: List[int]

    def __init__(self):
        super().__init__()
        self.l = []

    def forward(self, x: Tensor):
        y = x * len(self.l)
        if len(self.l) < 1:
            self.l.append(3)
        return y


@program([(r(n, 3),) for n in (3, 3, 3)])
class AttributeDictGrowsOnce(nn.Module):
    d: Dict[str, int]

    def __init__(self):
        super().__init__()
        self.d = {"a": 1}

    def forward(self, x: Tensor):
        y = x * len(self.d) + self.d.get("b", 10)
        self.d["b"] = 5
        return y


@program([(r(n, 3),) for n in (3, 3, 3)])
class AttributeMode(nn.Module):
    """State: a text that the first call changes."""
    def __init__(self):
        super().__init__()
        self.mode = "warm"

    def forward(self, x: Tensor):
        y = x + 1 if self.mode == "warm" else x - 1
        self.mode = "done"
        return y


@program([(r(n, 3),) for n in (3, 3, 3)])
class AttributeEpsilon(nn.Module):
    """State: of shape and dtype of what the first call was given."""
    def __init__(self):
        super().__init__()
        self.eps = 0.0

    def forward(self, x: Tensor):
        y = x + self.eps
        self.eps = 0.5 if x.is_floating_point() else 1.0
        return y


@program([(r(n, 3),) for n in (3, 3, 3)])
class AttributeSettled(nn.Module):
    """Written with what it has: no state."""
    def __init__(self):
        super().__init__()
        self.eps = 0.5
        self.names = ["a"]

    def forward(self, x: Tensor):
        y = x + self.eps * len(self.names)
        self.eps = 0.5
        self.names = ["a"]
        return y


@program([(r(3), torch.tensor(f), torch.tensor(g)) for f in (0, 1) for g in (0, 1)], "f32:3", FLAG, FLAG)
def alias_written_by_third_name(x: Tensor, f: Tensor, g: Tensor):
    """Only a is read, only the list that was chosen twice is written, with a number of items that stays."""
    a = [x, x + 1]
    c = a
    if bool(f > 0):
        c = [x * 2, x]
    if bool(g > 0):
        c = [x * 3, x]
    c[0] = x * 100
    return a[0], a[1]


@program([(r(3), torch.tensor(f), torch.tensor(g)) for f in (0, 1) for g in (0, 1)], "f32:3", FLAG, FLAG)
def alias_elif(x: Tensor, f: Tensor, g: Tensor):
    """if, elif, else: as users choose a list."""
    a, b, c = [x], [x * 2], [x * 3]
    if bool(f > 0):
        t = a
    elif bool(g > 0):
        t = b
    else:
        t = c
    t.append(x * 100)
    return a[-1], b[-1], c[-1]


@program([(r(3), torch.tensor(f), torch.tensor(g)) for f in (0, 1) for g in (0, 1)], "f32:3", FLAG, FLAG)
def alias_elif_dict(x: Tensor, f: Tensor, g: Tensor):
    a: Dict[str, Tensor] = {"v": x}
    b: Dict[str, Tensor] = {"v": x * 2}
    c: Dict[str, Tensor] = {"v": x * 3}
    if bool(f > 0):
        t = a
    elif bool(g > 0):
        t = b
    else:
        t = c
    t["v"] = x * 100
    return a["v"], b["v"], c["v"]


@program(FIXED, "f32:3", FLAG)
def alias_two_branches_in_dict(x: Tensor, f: Tensor):
    """d and e hold one list, one way; two the other."""
    l = [x]
    d: Dict[str, List[Tensor]] = {"k": l}
    e: Dict[str, List[Tensor]] = {"k": l}
    if bool(f > 0):
        e["k"] = [x * 2]
    e["k"].append(x + 7)
    return d["k"][-1], e["k"][-1]


@program([(r(n, 3),) for n in (3, 2, 5, 0)], N3)
def alias_loop_two_dicts(x: Tensor):
    """After an iteration both names are one dictionary."""
    a: Dict[str, Tensor] = {"v": x.sum(0)}
    b: Dict[str, Tensor] = {"v": x.sum(0) * 2}
    for i in range(x.size(0)):
        a["v"] = a["v"] + x[i]
        c = {"v": b["v"] * 2}
        a = c
        b = c
    a["v"] = a["v"] + 50
    return a["v"], b["v"]


@program([(r(n, 3),) for n in (3, 2, 5, 0)], N3)
def alias_loop_dict_chosen_outside(x: Tensor):
    """In the last iteration cur becomes a; then it is written."""
    a: Dict[str, Tensor] = {"v": x.sum(0)}
    cur: Dict[str, Tensor] = {"v": x.sum(0) * 2}
    for i in range(x.size(0)):
        cur = a
    cur["v"] = cur["v"] + 50
    return a["v"], cur["v"]


@program([(r(n, 3),) for n in (3, 2, 5, 0)], N3)
def alias_loop_object_chosen_outside(x: Tensor):
    a, cur = Meter(x.sum(0)), Meter(x.sum(0))
    for i in range(x.size(0)):
        cur = a
    cur.update(x.sum(0) + 50)
    return a.total, a.count, cur.total


@program([(r(n, 3),) for n in (3, 2, 5, 0)], N3)
def alias_loop_object_linked(x: Tensor):
    """The box of the last iteration is held by a pair, and written by its name."""
    b = Box(x.sum(0), 1)
    p = Pair(b, b)
    for i in range(x.size(0)):
        b = Box(x[i], i)
        p = Pair(p.b, b)
    b.v = b.v + 50
    return p.a.v, p.b.v, b.v


@program([(r(n, 3),) for n in (3, 2, 5, 0)], N3)
def alias_loop_list_in_tuple(x: Tensor):
    """The list of the last iteration is in the tuple, and written by its name."""
    l = [x.sum(0)]
    t = (l, x.sum(0))
    for i in range(x.size(0)):
        l = [x[i]]
        t = (l, x[i])
    l.append(x.sum(0) + 50)
    return t[0][-1], len(t[0])


@program([(r(n, 3),) for n in (3, 2, 5, 0)], N3)
def alias_loop_list_in_attribute_object(x: Tensor):
    """The list of the box of the last iteration, written by its name."""
    b = Box(x.sum(0), 0)
    l = b.l
    for i in range(x.size(0)):
        b = Box(x[i], i)
        l = b.l
    l.append(x.sum(0) + 50)
    return b.l[-1], len(b.l)


@program([(r(n, 3), torch.tensor(f)) for n, f in ((3, 0), (2, 1), (5, 1), (1, 0))], N3, FLAG)
def alias_while_swap(x: Tensor, f: Tensor):
    """Double buffering: read one dictionary, write the other, change places."""
    src: Dict[str, Tensor] = {"v": x[0]}
    dst: Dict[str, Tensor] = {"v": x[0] * 0}
    i = 0
    while i < x.size(0):
        dst["v"] = src["v"] + x[i]
        if bool(f > 0):
            src, dst = dst, src
        i += 1
    return src["v"], dst["v"]


@program([(r(n, 3), torch.tensor(f)) for n, f in ((3, 0), (2, 1), (5, 1), (1, 0))], N3, FLAG)
def alias_while_swap_half(x: Tensor, f: Tensor):
    """One of the two names only: later both are one dictionary."""
    src: Dict[str, Tensor] = {"v": x[0]}
    dst: Dict[str, Tensor] = {"v": x[0] * 0}
    i = 0
    while i < x.size(0):
        dst["v"] = src["v"] + x[i]
        if bool(f > 0):
            src = dst
        i += 1
    return src["v"], dst["v"]


@program([(r(2, 4),), (r(2, 4),)])
def alias_unrolled_swap(x: Tensor):
    """A known number of iterations."""
    a, b = [x[0]], [x[1]]
    kept = a
    for i in range(3):
        a.append(b[-1] + i)
        a, b = b, a
    kept.append(x[0])
    return a, b, kept


@program([(r(n, 3),) for n in (3, 2, 5, 0)], N3)
def alias_dict_items_are_live(x: Tensor):
    """What items() gave is not the dictionary's any more when that is written; the lists in it are."""
    d: Dict[str, List[Tensor]] = {"a": [x], "b": [x * 2]}
    pairs = d.items()
    vals = list(d.values())
    d["a"] = [x * 9]
    d["b"].append(x * 3)
    return pairs[0][1][0], vals[1][1], len(pairs[1][1])


@program(FIXED, "f32:3", FLAG)
def alias_setdefault(x: Tensor, f: Tensor):
    d: Dict[str, List[Tensor]] = {}
    d.setdefault("a", []).append(x)
    d.setdefault("a", [x * 5]).append(x * 2)
    if bool(f > 0):
        d.setdefault("a", []).append(x * 3)
    else:
        d["a"] += [x * 4]
    return d["a"][0], d["a"][1], d["a"][2]


@program(FIXED, "f32:3", FLAG)
def alias_get_default_is_kept(x: Tensor, f: Tensor):
    empty: List[Tensor] = [x]
    d: Dict[str, List[Tensor]] = {}
    got = d.get("a", empty)
    got.append(x * 2)
    if bool(f > 0):
        got.append(x * 3)
    else:
        empty.append(x * 4)
    return len(empty), got[-1]


@program(FIXED, "f32:3", FLAG)
def alias_update_shares_lists(x: Tensor, f: Tensor):
    d: Dict[str, List[Tensor]] = {"a": [x]}
    e: Dict[str, List[Tensor]] = {"a": [], "z": []}
    e.update(d)
    c = dict(d)
    if bool(f > 0):
        e["a"].append(x * 2)
    else:
        c["a"].append(x * 3)
    return d["a"][1], len(e), len(c["a"])


@program([(r(n, 3), torch.tensor(f)) for n, f in ((3, 0), (2, 1), (5, 1), (1, 0))], N3, FLAG)
def list_pop_in_branch(x: Tensor, f: Tensor):
    l = [x, x * 2, x * 3]
    if bool(f > 0):
        y = l.pop()
    else:
        y = l.pop(0)
    return y, l[0], l[1]


@program([(r(n, 3), torch.tensor(f)) for n, f in ((3, 0), (2, 1), (5, 1), (1, 0))], N3, FLAG)
def list_pop_one_way(x: Tensor, f: Tensor):
    l = [x, x * 2, x * 3]
    y = x
    if bool(f > 0):
        y = l.pop()
    l.append(y * 5)
    return torch.stack(l), l[-1], len(l)


@program([(torch.tensor(v, dtype=torch.int64),) for v in ([0, 1, 2], [2], [1, 1], [])], "i64:n")
def dict_in_loop_with_break(x: Tensor):
    d: Dict[str, int] = {"first": -1, "n": 0}
    for i in range(x.size(0)):
        if bool(x[i] == 1):
            d["first"] = i
            break
        d["n"] += 1
    return d["first"], d["n"]


@program([(torch.tensor(v),) for v in ([1.0, -1, 2], [2.0], [-1.0, 1.0], [])], "f32:n")
def dict_returned_in_loop(x: Tensor):
    d: Dict[str, Tensor] = {"v": x.sum()}
    for i in range(x.size(0)):
        if bool(x[i] < 0):
            d["v"] = x[i]
            return d
        d["v"] = d["v"] + 1
    return d


@program([(r(n, 3),) for n in (3, 2, 5, 0)], N3)
def tuple_compared_and_in(x: Tensor):
    t = (x.size(1), 3)
    y = x
    if t == (3, 3):
        y = y + 1
    if "b" in ["a", "b"]:
        y = y * 2
    a, b, c = [x, x + 1, x + 2]
    return y, a, c
