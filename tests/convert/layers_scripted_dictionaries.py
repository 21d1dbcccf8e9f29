"""Scripted programs: Dictionaries."""
from collections import OrderedDict
from typing import Dict, List

import torch
import torch.nn.functional as F
from torch import Tensor

from script_programs import Programs, FIXED, FLAG, FLAGS, N3, SOME

programs = Programs()
program = programs.add
cases = programs.cases


@program(SOME, N3)
def dict_order(x: Tensor):
    d: Dict[str, Tensor] = {}
    for name in ["c", "a", "b"]:
        d[name] = x * float(len(name) + len(d))
    d["a"] = x + 1
    e = d.pop("c")
    d["c"] = e + 2
    d.setdefault("a", x * 100)
    d.setdefault("z", x * 200)
    d.update({"b": x - 1, "y": x - 2})
    out: List[Tensor] = []
    for k, v in d.items():
        if k != "y":
            out.append(v)
    return torch.stack(out), d, list(d.values())


@program(SOME, N3)
def dict_keys_joined(x: Tensor):
    d: Dict[str, Tensor] = {"q": x, "w": x * 2}
    total = x * 0
    names: List[str] = []
    for k in d.keys():
        names.append(k)
        total = total + d[k]
    for k in d:
        total = total + d[k] * 2
    if "q" in d and "e" not in d:
        total = total + len("".join(names))
    del d["q"]
    return total, len(d)


@program(FIXED, "f32:3", FLAG)
def dict_merged_in_branches(x: Tensor, f: Tensor):
    d: Dict[str, Tensor] = {"a": x}
    if bool(f > 0):
        d["b"] = x + 1
        d["a"] = x * 2
    else:
        d["b"] = x - 1
    return d["a"], d["b"], d


@program(FIXED, "f32:3", FLAG)
def dict_merged_in_other_order(x: Tensor, f: Tensor):
    d: Dict[str, Tensor] = {}
    if bool(f > 0):
        d["a"] = x * 2
        d["b"] = x + 1
    else:
        d["b"] = x - 1
        d["a"] = x
    return d["a"], d["b"]


@program(FIXED, "f32:3", FLAG)
def dict_key_one_way(x: Tensor, f: Tensor):
    d: Dict[str, Tensor] = {"a": x}
    if bool(f > 0):
        d["b"] = x + 1
    if "b" in d:
        return d["b"]
    return d["a"]


@program(FIXED, "f32:3", FLAG)
def dict_key_one_way_get(x: Tensor, f: Tensor):
    d: Dict[str, Tensor] = {"a": x}
    if bool(f > 0):
        d["b"] = x + 1
    b = d.get("b")
    if b is not None:
        return b
    return d["a"]


@program(FIXED, "f32:3", FLAG)
def dict_key_one_way_then_popped(x: Tensor, f: Tensor):
    d: Dict[str, Tensor] = {"a": x}
    if bool(f > 0):
        d["b"] = x + 1
        x = d.pop("b")
    return d["a"], x, len(d)


@program(FIXED, "f32:3", FLAG)
def dict_get_default(x: Tensor, f: Tensor):
    d: Dict[str, Tensor] = {"a": x}
    y = d.get("a", x * 9) + d.get("zz", x * 3)
    p = d.pop("nope", x * 2)
    if bool(f > 0):
        y = y + d.pop("a", x)
    else:
        y = y - d.pop("a")
    return y, p, len(d)


@program(SOME, N3)
def dict_in_unknown_loop(x: Tensor):
    d: Dict[str, Tensor] = {"sum": x[0] * 0, "max": x[0]}
    for i in range(x.size(0)):
        d["sum"] = d["sum"] + x[i]
        d["max"] = torch.maximum(d["max"], x[i])
    return d


@program(SOME, N3)
def dict_new_key_in_unknown_loop(x: Tensor):
    """The key comes in the first iteration; there is always one."""
    d: Dict[str, Tensor] = {}
    for i in range(x.size(0)):
        d["last"] = x[i]
    return d["last"]


@program(SOME, N3)
def dict_of_lists_in_loop(x: Tensor):
    d: Dict[str, List[Tensor]] = {"even": [], "all": []}
    for i in range(x.size(0)):
        if i % 2 == 0:
            d["even"].append(x[i])
        d["all"].append(x[i] * 2)
    return torch.stack(d["even"]), torch.stack(d["all"])


@program(SOME, N3)
def dict_of_lists_by_loop_over_keys(x: Tensor):
    d: Dict[str, List[Tensor]] = {"p": [], "q": []}
    for i in range(x.size(0)):
        for k, v in d.items():
            v.append(x[i] if k == "p" else -x[i])
    return {k: torch.stack(v) for k, v in d.items()}


@program(SOME, N3)
def dict_of_ints(x: Tensor):
    d: Dict[int, Tensor] = {}
    for i in range(3):
        d[i * i] = x[:, i]
    d[True + 3] = x[:, 0] * 5
    keys = sorted(list(d.keys()))
    return d[keys[-1]], d[4], len(d), d[1]


@program(SOME, N3)
def dict_float_keys(x: Tensor):
    d: Dict[float, Tensor] = {0.5: x, 0.0: x * 2}
    d[-0.0] = x * 3
    d[1.0 / 2.0] = x * 4
    return d[0.0], d[0.5], len(d)


@program(FLAGS, N3, FLAG)
def dict_key_by_value(x: Tensor, f: Tensor):
    d: Dict[int, Tensor] = {0: x, 1: x * 2}
    return d[int(f)]


@program(FLAGS, N3, FLAG)
def dict_key_by_branch(x: Tensor, f: Tensor):
    d: Dict[str, Tensor] = {"train": x, "eval": x * 2}
    mode = "train"
    if bool(f > 0):
        mode = "eval"
    return d[mode]


@program(SOME, N3)
def dict_ordered(x: Tensor):
    out: Dict[str, Tensor] = OrderedDict()
    for i in range(3):
        x = torch.relu(x + i)
        if i != 1:
            out[f"feat{i}"] = x
    out["pool"] = F.max_pool1d(x.unsqueeze(0), 2, 1).squeeze(0)
    return out


@program(SOME, N3)
def dict_comprehension(x: Tensor):
    d = {str(i): x * i for i in range(3)}
    e = {k + "x": v + 1 for k, v in d.items()}
    return e, len(d)


@program(SOME, N3)
def dict_list_of_dicts(x: Tensor):
    l: List[Dict[str, Tensor]] = []
    for i in range(3):
        l.append({"boxes": x * i, "scores": x[:, 0] + i})
    for d in l:
        d["scores"] = d["scores"] * 2
    l[0]["labels"] = torch.zeros(2)
    return l


@program(SOME, N3)
def dict_list_of_dicts_in_loop(x: Tensor):
    """A dict for each row: what ONNX can only hold side by side."""
    l: List[Dict[str, Tensor]] = []
    for i in range(x.size(0)):
        l.append({"a": x[i], "b": x[i] * 2})
    return torch.stack([d["a"] for d in l]), torch.stack([d["b"] for d in l])


@program(SOME, N3)
def dict_popitem(x: Tensor):
    d: Dict[str, Tensor] = {"a": x}
    k, v = d.popitem()
    return v, len(d), len(k)


@program(SOME, N3)
def dict_cleared(x: Tensor):
    d: Dict[str, Tensor] = {"a": x, "b": x}
    e = d
    f = d.copy()
    d.clear()
    d["k"] = x + 1
    return e["k"], len(e), len(f)


@program(FIXED, "f32:3", FLAG)
def dict_nested_branches(x: Tensor, f: Tensor):
    d: Dict[str, Tensor] = {}
    if bool(f > 0):
        if bool(x.sum() > 0):
            d["k"] = x
        else:
            d["k"] = x * 2
    else:
        d["k"] = x * 3
        if bool(x[0] > 0):
            d["k"] = d["k"] + 1
    return d
