"""Scripted programs: Dictionaries with keys that only the running model knows; items that lists lose by their value."""
from typing import Dict, List, Optional

import torch
from torch import Tensor, nn

from script_programs import Programs, FLAG, FLAGS, N3, r

programs = Programs()
program = programs.add
cases = programs.cases
IDS = [(torch.tensor(ids),) for ids in ([1, 4, 2, 4], [4], [7, 1, 1], [2, 9, 2, 2, 4])]
ID = "i64:n"


@program(IDS, ID)
class key_of_constant(nn.Module):
    def __init__(self):
        super().__init__()
        self.scores: Dict[int, float] = {1: 0.5, 4: 2.0, 2: -1.0}

    def forward(self, ids: Tensor):
        total = 0.0
        for i in ids:
            total += self.scores.get(int(i), 0.25)
        return ids * total


@program(IDS, ID)
class key_merges(nn.Module):
    """Pairs of neighbours that a table merges."""

    def __init__(self):
        super().__init__()
        self.merges: Dict[int, int] = {104: 7, 402: 4, 204: 1, 707: 9}

    def forward(self, ids: Tensor):
        tokens: List[int] = ids.tolist()
        i = 0
        while i + 1 < len(tokens):
            key = tokens[i] * 100 + tokens[i + 1]
            if key in self.merges:
                tokens[i] = self.merges[key]
                del tokens[i + 1]
            else:
                i += 1
        return torch.tensor(tokens), len(tokens)


@program(IDS[:2], ID)
def key_of_tensors(ids: Tensor):
    rows: Dict[int, Tensor] = {1: torch.ones(3), 4: torch.arange(3.0), 2: torch.zeros(3)}
    out = torch.zeros(3)
    for i in ids:
        k = int(i)
        rows[k] = rows[k] + 1
        out = out + rows[k]
    return out, rows[1], rows[4], rows[2]


@program(IDS, ID)
def key_maybe(ids: Tensor):
    table: Dict[int, Tensor] = {1: torch.ones(2), 4: torch.zeros(2)}
    found = 0
    out = torch.full([2], 0.5)
    for i in ids:
        row: Optional[Tensor] = table.get(int(i))
        if row is not None:
            found += 1
            out = out * 2 + row
    return out, found


@program(IDS, ID)
def key_tested_before(ids: Tensor):
    counts: Dict[int, int] = {1: 0, 4: 10, 2: 0}
    other = 0
    for i in ids:
        k = int(i)
        if k not in counts:
            other += 1
            continue
        counts[k] += 1
    total = 0
    for k, v in counts.items():
        total += k * v
    return total, other


@program(IDS, ID)
def key_of_names(ids: Tensor):
    names: Dict[int, str] = {1: "one", 4: "four", 2: "two"}
    letters = 0
    fours = 0
    for i in ids:
        name = names.get(int(i), "many")
        letters += len(name)
        if name == "four":
            fours += 1
    return letters, fours


@program(IDS[:2], ID)
def key_of_lists(ids: Tensor):
    """Each key has a list of its own."""
    groups: Dict[int, List[Tensor]] = {1: [torch.zeros(1)], 4: [torch.ones(1)], 2: [torch.ones(1)]}
    k = int(ids[-1])
    if bool(ids[0] == 1):
        groups[k].append(torch.full([1], 5.0))
    return torch.cat(groups[1]), torch.cat(groups[4]), len(groups[2])


@program(FLAGS, N3, FLAG)
def key_that_must_be_there(x: Tensor, f: Tensor):
    """Read where it may be missing; the model is right where it isn't."""
    held: Dict[str, Tensor] = {"a": x}
    if bool(f >= 0):
        held["b"] = x * 2
    if bool(f > 0):
        held["c"] = held.pop("b")
        held["b"] = x
    return held["b"] + held["a"], len(held)


@program([(r(n, 3), torch.tensor(k)) for n, k in ((4, 2), (3, 0), (5, 4))], N3, "i64:scalar")
def removed_by_value(x: Tensor, n: Tensor):
    free: List[int] = []
    for i in range(x.size(0)):
        free.append(i)
    taken: List[int] = []
    for i in range(min(int(n), x.size(0))):
        best = free[0]
        for j in free:
            if float(x[j, i % 3]) > float(x[best, i % 3]):
                best = j
        free.remove(best)
        taken.append(best)
    return torch.tensor(taken, dtype=torch.long), torch.tensor(free, dtype=torch.long)


@program([(r(n),) for n in (7, 1, 4)], "f32:n")
def merge_sort(x: Tensor):
    """Two lists that change their names after each round."""
    a: List[float] = []
    for v in x:
        a.append(float(v))
    n, width = len(a), 1
    b: List[float] = [0.0] * n
    while width < n:
        i = 0
        while i < n:
            lo, mid, hi = i, min(i + width, n), min(i + 2 * width, n)
            l, r = lo, mid
            for k in range(lo, hi):
                if l < mid and (r >= hi or a[l] <= a[r]):
                    b[k] = a[l]
                    l += 1
                else:
                    b[k] = a[r]
                    r += 1
            i += 2 * width
        a, b = b, a
        width *= 2
    return torch.tensor(a, dtype=torch.float)


@program(IDS, ID)
def place_of_groups(ids: Tensor):
    """Which of some lists grows, or is replaced, is known only when the model runs; all names of a list see it."""
    groups: List[List[int]] = [[0], [1], [2]]
    first = groups[0]
    last = groups[-1]
    n = 0
    for i in ids:
        groups[int(i) % 3].append(n)
        n += 1
    groups[int(ids[0]) % 3 - 3] = [7, 8]
    return len(groups[0]), len(groups[1]), len(groups[2]), len(first), len(last), groups[2][0]


@program(IDS, ID)
def place_of_texts(ids: Tensor):
    names = ["one", "four", "eleven"]
    chosen = names[int(ids[0]) % 3]
    names[int(ids[-1]) % 3] = "no" + chosen
    return [len(name) for name in names], chosen == names[1]


@program(IDS[:2], ID)
def place_of_dicts(ids: Tensor):
    held: List[Dict[str, Tensor]] = [{"a": torch.zeros(2), "b": torch.zeros(2)}, {"a": torch.ones(2), "b": torch.ones(2)}]
    same = held[1]
    for i in ids:
        one = held[int(i) % 2]
        one["a"] = one["a"] * 2 + 1
        one["b"] = one["a"]
    return same["a"], held[0]["a"], held[1]["b"], len(same)
