"""Scripted programs: Optional."""
from typing import Dict, List, Optional, Tuple

import torch
from torch import Tensor

from script_programs import Programs, FLAG, FLAGS, N3, SOME, r

programs = Programs()
program = programs.add
cases = programs.cases


@program(FLAGS, N3, FLAG)
def optional_tensor(x: Tensor, f: Tensor):
    h: Optional[Tensor] = None
    if bool(f > 0):
        h = x * 2
    if h is None:
        h = x - 1
    return h + x


@program(FLAGS, N3, FLAG)
def optional_tensor_isinstance(x: Tensor, f: Tensor):
    h: Optional[Tensor] = None
    if bool(f > 0):
        h = x * 2
    if isinstance(h, Tensor):
        return h + 1
    return x


@program([(r(n, 3),) for n in (3, 1, 5)], N3)
def optional_in_loop(x: Tensor):
    h: Optional[Tensor] = None
    for i in range(x.size(0)):
        if h is None:
            h = x[i]
        else:
            h = torch.tanh(h + x[i])
    assert h is not None
    return h


@program(FLAGS, N3, FLAG)
def optional_list(x: Tensor, f: Tensor):
    l: Optional[List[Tensor]] = None
    if bool(f > 0):
        l = [x, x * 2]
    total = x
    if l is not None:
        l.append(x * 3)
        for t in l:
            total = total + t
    return total


@program(FLAGS, N3, FLAG)
def optional_list_default(x: Tensor, f: Tensor):
    l: Optional[List[Tensor]] = None
    if bool(f > 0):
        l = [x, x * 2]
    if l is None:
        l = [x]
    l.append(x - 1)
    return torch.stack(l).sum(0)


@program(SOME, N3)
def optional_list_known(x: Tensor):
    l: Optional[List[Tensor]] = None
    if x.dim() == 2:
        l = []
    if l is not None:
        l.append(x)
        m = torch.jit._unwrap_optional(l)
        m.append(x * 2)
        return torch.stack(l)
    return x


@program(FLAGS, N3, FLAG)
def optional_dict(x: Tensor, f: Tensor):
    d: Optional[Dict[str, Tensor]] = None
    if bool(f > 0):
        d = {"a": x * 2}
    if d is not None:
        return d["a"]
    return x


def attend(x: Tensor, cache: Optional[Dict[str, Tensor]]) -> Tuple[Tensor, Dict[str, Tensor]]:
    if cache is not None:
        k = torch.cat([cache["k"], x], 0)
        cache["k"] = k
        return k.sum(0), cache
    return x.sum(0), {"k": x}


@program(SOME, N3)
def optional_dict_argument(x: Tensor):
    y, c = attend(x, None)
    z, c = attend(y.unsqueeze(0), c)
    w, c = attend(z.unsqueeze(0), c)
    return w, c["k"]


@program(SOME, N3)
def optional_dict_argument_in_loop(x: Tensor):
    y, c = attend(x, None)
    for i in range(x.size(0)):
        y, c = attend(y.unsqueeze(0), c)
    return y, c["k"]


@program([(r(n, 3),) for n in (3, 2, 5)], N3)
def optional_cache_in_loop(x: Tensor):
    c: Optional[Dict[str, Tensor]] = None
    y = x[0]
    for i in range(x.size(0)):
        y, c = attend(x[i].unsqueeze(0), c)
    return y


@program(FLAGS, N3, FLAG)
def optional_tuple(x: Tensor, f: Tensor):
    t: Optional[Tuple[Tensor, Tensor]] = None
    if bool(f > 0):
        t = (x, x * 2)
    if t is not None:
        a, b = t
        return a + b
    return x


@program(FLAGS, N3, FLAG)
def optional_int(x: Tensor, f: Tensor):
    k: Optional[int] = None
    if bool(f > 0):
        k = x.size(0)
    if k is None:
        k = 7
    return x * k


@program(FLAGS, N3, FLAG)
def optional_that_is_none_everywhere(x: Tensor, f: Tensor):
    pairs: List[Tuple[Tensor, int]] = [(x, 1), (x, 2)]
    h: Optional[Tensor] = None
    row, number = pairs[0]
    for i in range(x.size(0)):
        if bool(f > 0):
            number += 1
        else:
            h = None
    if h is not None:
        h = None
    if h is None:
        return torch.full((2,), 77.0) + x.sum(), number
    return h, number


ROWS_AND_PLACES = [(r(n, 3), torch.tensor([2, 0, 2, 1, 0, -1][:n])) for n in (6, 1, 3, 2)]


@program(ROWS_AND_PLACES, N3, "i64:n")
def optional_slots_at_places(x: Tensor, places: Tensor):
    """The best row of each group; nobody knows which groups there are."""
    best: List[Optional[Tensor]] = [None for _ in range(3)]
    for j in range(x.size(0)):
        c = int(places[j])
        row = best[c]
        if row is None or bool(x[j].sum() > row.sum()):
            best[c] = x[j]
    total = torch.zeros(3)
    found = 0
    for k, b in enumerate(best):
        if b is not None:
            total = total + b * (k + 1)
            found += 1
    return total, found


@program(ROWS_AND_PLACES, N3, "i64:n")
def optional_slot_written_once(x: Tensor, places: Tensor):
    slots: List[Optional[Tensor]] = [None, None, x]
    other = slots
    slots[int(places[0])] = x * 2
    total = torch.zeros_like(x)
    for s in other:
        if s is not None:
            total = total + s
    return total


@program(ROWS_AND_PLACES, N3, "i64:n")
def optional_numbers_at_places(x: Tensor, places: Tensor):
    first: List[Optional[int]] = [None, None, None]
    for j in range(x.size(0)):
        if first[int(places[j])] is None:
            first[int(places[j])] = j
    marks = 0
    for f in first:
        marks = marks * 10 + (9 if f is None else f)
    return x.sum(0), marks


@program(ROWS_AND_PLACES, N3, "i64:n")
def optional_slot_removed(x: Tensor, places: Tensor):
    slots: List[Optional[Tensor]] = [x, None]
    row = slots[int(places[0]) % 2]
    slots.reverse()
    again = slots[int(places[0]) % 2]
    if row is None:
        row = x + 1
    if again is not None:
        row = row + again
    return row
