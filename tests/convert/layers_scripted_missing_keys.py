"""Scripted programs: dictionaries to which a branch adds a key or from which it takes one, and caches that take keys and add them."""
from typing import Dict, List, Tuple

import torch
from torch import Tensor

from script_programs import Programs, N3, ROWS

programs = Programs()
program = programs.add
cases = programs.cases

KEYS = [(torch.tensor(keys, dtype=torch.int64),) for keys in ([3, 1, 2, 3, 1], [1, 1], [0], [], [2, 0, 1, 7, 2, 4])]
IDS = "i64:n"


def numbers(of: List[int]) -> Tensor:
    return torch.tensor(of, dtype=torch.int64)


def spelled(d: Dict[int, int]) -> Tuple[Tensor, Tensor]:
    return numbers(list(d.keys())), numbers(list(d.values()))


@program(KEYS, IDS)
def missing_keys_as_an_output(ids: Tensor):
    n = ids.size(0)
    d: Dict[int, int] = {}
    if n > 2:
        d[3] = n
    if n > 5 or n == 1:
        d[1] = 5
    return ids, spelled(d)


@program(ROWS, N3)
def missing_keys_of_tensors(x: Tensor):
    d: Dict[int, Tensor] = {}
    if x.size(0) > 2:
        d[4] = x * 2
    if x.size(0) > 3:
        d[2] = x[:1]
    d[1] = x + 1
    total = x.sum(0)
    for k, v in d.items():
        total = total * k + v.sum(0)
    return total, numbers(list(d.keys())), torch.cat(list(d.values()))


@program(KEYS, IDS)
def missing_keys_of_tuples(ids: Tensor):
    n = ids.size(0)
    d: Dict[int, Tuple[int, Tensor]] = {}
    if n > 2:
        d[3] = (n, ids)
    if n > 5:
        d[1] = (1, ids * 2)
    total = ids.sum()
    for k, v in d.items():
        total = total * k + v[0] + v[1].sum()
    return total, numbers([v[0] for v in d.values()])


@program(KEYS, IDS)
def missing_keys_viewed(ids: Tensor):
    n = ids.size(0)
    d: Dict[int, int] = {}
    if n > 2:
        d[3] = n
    if n != 5:
        d[1] = 7
    total = 0
    for k in d:
        total = total * 3 + d[k]
    return ids, spelled(d), len(d), total, 3 in d, n in d, d.get(n, -2)


@program(KEYS, IDS)
def missing_keys_set_again(ids: Tensor):
    n = ids.size(0)
    d: Dict[int, int] = {}
    if n > 2:
        d[0] = n
    d[1] = 4
    d[0] = 9
    if n > 5:
        d[2] = 1
    d[1] = 0
    return ids, spelled(d)


@program(KEYS, IDS)
def missing_keys_in_two_orders(ids: Tensor):
    n = ids.size(0)
    d: Dict[int, int] = {}
    if n > 2:
        d[0] = n
        d[1] = 2
    else:
        d[1] = n
        d[0] = 3
    return ids, spelled(d)


@program(KEYS, IDS)
def missing_keys_taken_and_set(ids: Tensor):
    n = ids.size(0)
    d: Dict[int, int] = {0: 1, 1: 2, 2: 3}
    if n > 0:
        del d[0]
    if n > 2:
        d[0] = 7
    if n == 6:
        d.pop(1)
    copied = d.copy()
    d[n] = n
    d.pop(2, 0)
    return ids, spelled(d), spelled(copied)


@program(KEYS, IDS)
def missing_keys_set_under_two_names(ids: Tensor):
    n = ids.size(0)
    d: Dict[int, int] = {}
    same = d
    if n > 2:
        d[3] = n
    if n > 5:
        same[1] = 5
    other = d
    if n == 1:
        other = {7: 1}
    keys = list(d.keys())
    other[2] = 8
    return ids, spelled(d), spelled(same), spelled(other), numbers(keys)


@program(KEYS, IDS)
def missing_keys_updated(ids: Tensor):
    n = ids.size(0)
    d: Dict[int, int] = {}
    e: Dict[int, int] = {4: 1}
    if n > 2:
        d[3] = n
    if n > 5:
        e[3] = 5
    if n != 2:
        d[9] = 0
    d.update(e)
    e.update(d)
    e.update({n: 1, 3: 0})
    d.update(d)
    return ids, spelled(d), spelled(e)


@program(KEYS, IDS)
def missing_keys_set_by_a_loop(ids: Tensor):
    d: Dict[int, int] = {}
    for i in range(ids.size(0)):
        if int(ids[i]) > 1:
            d[0] = d.get(0, 0) + 1
        elif int(ids[i]) == 1:
            d[1] = i
        else:
            d[2] = i
    return ids, spelled(d)


@program(KEYS, IDS)
def missing_keys_kept_in_a_list(ids: Tensor):
    kept: List[Dict[int, int]] = []
    for i in range(ids.size(0)):
        d: Dict[int, int] = {}
        if int(ids[i]) > 1:
            d[5] = i
        if int(ids[i]) != 2:
            d[6] = 1
        kept.append(d)
    total = 0
    for d in kept:
        for k, v in d.items():
            total = total * 3 + k * v
    return ids, total


@program(ROWS, N3)
def missing_names_read(x: Tensor):
    d: Dict[str, Tensor] = {}
    if x.size(0) > 2:
        d["a"] = x * 2
    if x.size(0) > 3:
        d["b"] = x[:1]
    total = x.sum(0)
    if "a" in d:
        total = total + d["a"].sum(0)
    for name, v in d.items():
        total = total * 2 + v.sum(0)
        if name == "b":
            total = total - 1
    return total, len(d), d.get("b", x)


@program(ROWS, N3)
def missing_names_as_an_output(x: Tensor):
    d: Dict[str, Tensor] = {}
    if x.size(0) > 2:
        d["a"] = x * 2
    return x, d


# The items are lists, which have names: nothing says which of them is in the dictionary.
@program(KEYS, IDS)
def missing_keys_of_lists(ids: Tensor):
    n = ids.size(0)
    d: Dict[int, List[int]] = {}
    a = [n]
    if n > 2:
        d[3] = a
    if n > 5:
        d[1] = a
    keys = list(d.keys())
    if 3 in d:
        d[3].append(1)
    return ids, numbers(a), numbers(keys)


# A write to an item must reach the list that was set, which has another name.
@program(KEYS, IDS)
def missing_keys_of_a_list_set_in_a_loop(ids: Tensor):
    outer = [7]
    d: Dict[int, List[int]] = {5: [1]}
    if ids.size(0) > 0:
        d[int(ids[0])] = [3]
    for i in range(ids.size(0)):
        if int(ids[i]) in d:
            d[int(ids[i])].append(i)
        d.clear()
        d[0] = outer
    return ids, numbers(outer)


@program(KEYS, IDS)
def missing_keys_of_a_list_set_before_a_loop(ids: Tensor):
    outer = [7]
    d: Dict[int, List[int]] = {0: outer}
    for i in range(ids.size(0)):
        d = {int(ids[i]): [i]}
    if 0 in d:
        d[0].append(9)
    return ids, numbers(outer)


# The item of the outer dictionary gets a computed key: it isn't what the column holds.
@program(KEYS, IDS)
def missing_keys_of_a_dictionary_that_gets_keys(ids: Tensor):
    n = ids.size(0)
    d: Dict[int, Dict[int, int]] = {}
    if n > 2:
        d[n] = {1: 3}
    if n in d:
        d[n][n] = 5
    return ids, numbers([len(inner) for inner in d.values()])


@program(KEYS, IDS)
def missing_keys_moved_by_an_inner_loop(ids: Tensor):
    d: Dict[int, int] = {1: 0, 3: 1}
    for i in range(ids.size(0)):
        for j in range(int(ids[i])):
            d.pop(1)
            d[1] = j
    return ids, spelled(d)


@program(KEYS, IDS)
def cache_drops_the_oldest(ids: Tensor):
    order: List[int] = []
    cache: Dict[int, Tensor] = {}
    hits = 0
    for i in range(ids.size(0)):
        k = int(ids[i])
        if k in cache:
            hits += 1
            order.remove(k)
            cache[k] = cache[k] + ids[:1]
        else:
            if len(cache) >= 2:
                del cache[order.pop(0)]
            cache[k] = ids[i:i + 1]
        order.append(k)
    return ids, hits, numbers(order), torch.cat(list(cache.values())) if len(cache) > 0 else ids


@program(KEYS, IDS)
def cache_pops_items(ids: Tensor):
    cache: Dict[int, int] = {}
    gone: List[int] = []
    for i in range(ids.size(0)):
        k = int(ids[i])
        if k in cache:
            cache[k] = cache.pop(k) + 1
        else:
            if len(cache) >= 2:
                key, count = cache.popitem()
                gone.append(key * 100 + count)
            cache[k] = 1
    return ids, numbers(gone), spelled(cache)


@program(KEYS, IDS)
def cache_drops_the_least_used(ids: Tensor):
    uses: Dict[int, int] = {}
    for i in range(ids.size(0)):
        k = int(ids[i])
        if k not in uses and len(uses) >= 2:
            least, count = -1, 1000
            for key, n in uses.items():
                if n < count:
                    least, count = key, n
            uses.pop(least)
        uses[k] = uses.get(k, 0) + 1
    return ids, spelled(uses)


@program(KEYS, IDS)
def cache_pops_with_a_default(ids: Tensor):
    d: Dict[int, int] = {}
    total = 0
    for i in range(ids.size(0)):
        k = int(ids[i])
        total = total * 2 + d.pop(k + 1, -1)
        d[k] = i
    return ids, spelled(d), total


@program(KEYS, IDS)
def cache_item_popped_one_way(ids: Tensor):
    n = ids.size(0)
    d: Dict[int, int] = {}
    if n > 2:
        d[3] = n
    d[7] = 0
    k, v = d.popitem()
    if len(d) > 0:
        d.popitem()
    return ids, k, v, spelled(d)


class ExpertLoads(torch.nn.Module):
    """A mixture of experts that counts the rows of each expert that it calls."""

    def __init__(self):
        super().__init__()
        self.gate = torch.nn.Linear(3, 3)
        self.experts = torch.nn.ModuleList([torch.nn.Linear(3, 3) for _ in range(3)])

    def forward(self, x: Tensor):
        weights, chosen = torch.topk(torch.softmax(self.gate(x), -1), 1)
        out = torch.zeros_like(x)
        loads: Dict[int, int] = {}
        for i, expert in enumerate(self.experts):
            rows, column = torch.where(chosen == i)
            if rows.numel() > 0:
                out = out.index_add(0, rows, expert(x[rows]) * weights[rows, column][:, None])
                loads[i] = rows.numel()
        return out, spelled(loads)


program(ROWS, N3)(ExpertLoads)
