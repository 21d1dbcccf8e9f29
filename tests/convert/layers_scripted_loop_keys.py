"""Scripted programs: keys, Optionals and results that exist only after the first iteration of a loop."""
from typing import Dict, List, Optional, Tuple

import torch
from torch import Tensor

from script_programs import Programs, FLAG, FLAGS, N3, ROWS, SOME

programs = Programs()
program = programs.add
cases = programs.cases


@program(ROWS, N3)
def loop_keys_accumulated(x: Tensor):
    d: Dict[str, Tensor] = {}
    for r in x.unbind(0):
        if "sum" in d:
            d["sum"] = d["sum"] + r
        else:
            d["sum"] = r
    return d.get("sum", torch.full([3], -1.0))


@program(SOME, N3)
def loop_keys_cache_is_returned(x: Tensor):
    cache: Dict[str, Tensor] = {}
    outs: List[Tensor] = []
    for t in range(x.size(0)):
        k = x[t:t + 1] * 2
        v = x[t:t + 1] + 1
        if "k" in cache:
            k = torch.cat([cache["k"], k])
            v = torch.cat([cache["v"], v])
        cache["k"] = k
        cache["v"] = v
        outs.append((k @ v.t()).sum(1).sum(0, keepdim=True))
    return torch.cat(outs), cache


@program(ROWS, N3)
def loop_keys_default_and_count(x: Tensor):
    d: Dict[str, Tensor] = {"a": x.sum(0)}
    for r in x.unbind(0):
        if "b" not in d:
            d["b"] = r * 0
        if bool(r[0] > 0):
            d["c"] = d["b"] + r
        d["b"] = d["b"] + d.get("c", d["a"])
    return d["a"], d.get("b", d["a"]), d.get("c", d["a"] * 2), len(d)


@program(ROWS, N3)
def loop_keys_popped(x: Tensor):
    d: Dict[int, Tensor] = {}
    total = torch.zeros(3)
    for r in x.unbind(0):
        if bool(r[1] > 0):
            d[7] = r
        elif 7 in d:
            total = total + d.pop(7)
        else:
            total = total - 1
    if 7 in d:
        del d[7]
        total = total * 2
    return total, 7 in d


@program(ROWS, N3)
def loop_keys_of_numbers(x: Tensor):
    d: Dict[str, float] = {}
    n: Dict[str, int] = {}
    for i in range(x.size(0)):
        v = float(x[i].sum())
        if "best" not in d or v > d["best"]:
            d["best"] = v
            n["best"] = i
    return d.get("best", -5.0), n.get("best", -1)


@program(FLAGS + [(x[0], f) for x in ROWS for f in (torch.tensor(0), torch.tensor(1))], N3, FLAG)
def loop_keys_in_nested_branches(x: Tensor, f: Tensor):
    d: Dict[str, Tensor] = {}
    for r in x.unbind(0):
        if bool(f > 0):
            if "u" in d:
                d["u"] = torch.maximum(d["u"], r)
            else:
                d["u"] = r
        else:
            d["w"] = r
    return d.get("u", x.sum(0)), d.get("w", x.sum(0) + 1)


@program(SOME, N3)
def loop_optional_is_returned(x: Tensor) -> Tuple[Tensor, Optional[Tensor]]:
    last: Optional[Tensor] = None
    deltas: List[Tensor] = []
    for r in x.unbind(0):
        if last is None:
            delta = torch.zeros_like(r)
        else:
            delta = r - last
        if last is None or bool(delta.abs().sum() > 1):
            last = r
        deltas.append(delta)
    return torch.stack(deltas), last


@program(SOME, N3)
def loop_list_behind_a_key(x: Tensor):
    d: Dict[str, List[int]] = {}
    outs: List[Tensor] = []
    for i in range(x.size(0)):
        if "seen" in d:
            d["seen"] = d["seen"] + [i]
        else:
            d["seen"] = [i]
        outs.append(x[i] * len(d["seen"]))
    return torch.stack(outs)


@program(ROWS, N3)
def loop_keys_after_continue(x: Tensor):
    d: Dict[str, int] = {}
    e: Dict[str, int] = {"a": x.size(0)}
    for i in range(x.size(0)):
        if bool(x[i, 0] > 1):
            continue
        if bool(x[i, 1] > 0):
            d = e.copy()
        if bool(x[i, 2] > 1):
            break
    return x, d.get("a", -1)


# The list has another name outside of the dictionary.
@program(ROWS, N3)
def loop_keys_set_to_an_outer_list(x: Tensor):
    outer = [7]
    d: Dict[str, List[int]] = {}
    for i in range(x.size(0)):
        if "a" in d:
            d["a"].append(i)
        d["a"] = outer
    return x, torch.tensor(outer), len(d)


@program(ROWS, N3)
def loop_keys_set_to_one_list(x: Tensor):
    d: Dict[str, List[int]] = {}
    for i in range(x.size(0)):
        if "a" in d:
            d["a"].append(i)
        else:
            both = [i]
            d["a"] = both
            d["b"] = both
    return x, len(d["b"]) if "b" in d else 0


@program(ROWS, N3)
def loop_keys_set_to_a_carried_list(x: Tensor):
    last = [7]
    d: Dict[str, List[int]] = {}
    for i in range(x.size(0)):
        last.append(i)
        if "a" not in d:
            last = [i]
            d["a"] = last
    return x, torch.tensor(last), len(d["a"]) if "a" in d else 0
