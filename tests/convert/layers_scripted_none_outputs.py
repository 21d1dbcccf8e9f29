"""Scripted programs: outputs of which only the running model knows whether they are None."""
from typing import Dict, List, NamedTuple, Optional, Tuple

import torch
from torch import Tensor

from script_programs import Programs

programs = Programs()
program = programs.add
cases = programs.cases

VECTORS = [(torch.tensor(row),) for row in ([1.0, 2, 3], [-1.0, 2, -3], [1.0, -2, -3], [-1.0, -2, -3], [0.25, -1, 2])]
N = "f32:n"
MATRICES = [(torch.tensor(rows),) for rows in ([[1.0, 2], [-3, 4], [5, 6]], [[-1.0, -1], [-2, -2]], [[-1.0, -2], [3, -4], [0, 1.5]])]
N2 = "f32:n,2"


def graph(size, *edges):
    made = torch.zeros(size, size)
    for one, other in edges:
        made[one, other] = made[other, one] = 1
    return made


PATH, TRIANGLE, APART = graph(4, (0, 1), (1, 2), (2, 3)), graph(4, (0, 1), (1, 2), (0, 2)), graph(5, (0, 1), (2, 3), (3, 4), (2, 4))
GRAPHS = [(made,) for made in (PATH, TRIANGLE, graph(3), APART)]


@program(VECTORS, N)
def none_or_tensor(x: Tensor) -> Optional[Tensor]:
    if bool(x.sum() > 0):
        return x * 2
    return None


@program(GRAPHS, "f32:n,n")
def none_of_a_search(adj: Tensor) -> Optional[Tensor]:
    n = adj.shape[0]
    side = [-1] * n
    for s in range(n):
        if side[s] != -1:
            continue
        side[s] = 0
        queue = [s]
        while len(queue) > 0:
            u = queue.pop(0)
            for v in range(n):
                if bool(adj[u, v] > 0):
                    if side[v] == -1:
                        side[v] = 1 - side[u]
                        queue.append(v)
                    elif side[v] == side[u]:
                        return None
    return torch.tensor(side)


@program([(PATH, torch.tensor(3)), (TRIANGLE, torch.tensor(3)), (APART, torch.tensor(0)), (APART, torch.tensor(4))], "f32:n,n", "i64:scalar")
def none_or_path(adj: Tensor, end: Tensor) -> Optional[Tensor]:
    n, last = adj.shape[0], int(end)
    before = torch.full((n,), -1)
    seen = torch.zeros(n, dtype=torch.bool)
    seen[0] = True
    stack = [0]
    while len(stack) > 0:
        u = stack.pop()
        if u == last:
            path: List[int] = [u]
            while u != 0:
                u = int(before[u])
                path.append(u)
            return torch.tensor(path)
        for v in range(n):
            if bool(adj[u, v] > 0) and not bool(seen[v]):
                seen[v] = True
                before[v] = u
                stack.append(v)
    return None


@program(MATRICES, N2)
def none_or_best(x: Tensor) -> Tuple[int, Optional[Tensor]]:
    best: Optional[Tensor] = None
    count = 0
    for i in range(x.shape[0]):
        if bool(x[i].sum() > 0):
            if best is None:
                best = x[i]
                count += 1
            elif bool(best.sum() < x[i].sum()):
                best = x[i]
                count += 1
    return count, best


class Item(object):
    def __init__(self, key: int, value: Tensor):
        self.key = key
        self.value = value


@program(MATRICES, N2)
def none_or_object(x: Tensor) -> Tuple[Optional[Tensor], Optional[int]]:
    items: List[Item] = []
    for i in range(x.shape[0]):
        items.append(Item(int(x[i].sum()), x[i]))
    best: Optional[Tensor] = None
    key: Optional[int] = None
    for item in items:
        if key is None:
            if item.key > 0:
                best, key = item.value, item.key
        elif item.key > key:
            best, key = item.value, item.key
    return best, key


@program(MATRICES, N2)
def none_or_object_in_one_condition(x: Tensor) -> Tuple[Optional[Tensor], Optional[int]]:
    items: List[Item] = []
    for i in range(x.shape[0]):
        items.append(Item(int(x[i].sum()), x[i]))
    best: Optional[Tensor] = None
    key: Optional[int] = None
    for item in items:
        if item.key > 0 and (key is None or item.key > key):
            best, key = item.value, item.key
    return best, key


@program(VECTORS, N)
def two_nones(x: Tensor) -> Tuple[Optional[Tensor], Tensor, Optional[Tensor]]:
    a: Optional[Tensor] = None
    b: Optional[Tensor] = None
    if bool(x[0] > 0):
        a = x + 1
    if bool(x[1] > 0):
        b = x.sum()
    return a, x * 3, b


@program(VECTORS, N)
def one_none_twice(x: Tensor) -> Tuple[Optional[Tensor], Tensor, Optional[Tensor]]:
    r: Optional[Tensor] = None
    if bool(x[0] > 0):
        r = x
    return r, x, r


@program(VECTORS, N)
def none_or_int(x: Tensor) -> Optional[int]:
    for i in range(x.shape[0]):
        if bool(x[i] > 0):
            return i
    return None


@program(VECTORS, N)
def none_or_float_or_bool(x: Tensor) -> Tuple[Optional[float], Optional[bool]]:
    f: Optional[float] = None
    b: Optional[bool] = None
    if bool(x[0] > 0):
        f = float(x.sum())
    if bool(x[1] > 0):
        b = bool(x[2] > 0)
    return f, b


@program(VECTORS, N)
def none_in_dict(x: Tensor) -> Dict[str, Optional[Tensor]]:
    best: Optional[Tensor] = None
    if bool(x.sum() > 0):
        best = x.relu()
    out: Dict[str, Optional[Tensor]] = {"all": x * 1, "best": best}
    return out


class Found(NamedTuple):
    score: Tensor
    best: Optional[Tensor]
    place: Optional[int]


@program(MATRICES, N2)
def none_in_namedtuple(x: Tensor) -> Found:
    best: Optional[Tensor] = None
    place: Optional[int] = None
    for i in range(x.shape[0]):
        if bool(x[i].max() > 1):
            best, place = x[i], i
    return Found(x.sum(), best, place)


@program(VECTORS, N)
def none_in_list(x: Tensor) -> List[Optional[Tensor]]:
    a: Optional[Tensor] = None
    if bool(x[0] > 0):
        a = x
    return [a, x + 1]


@program(VECTORS, N)
def none_or_pair(x: Tensor) -> Optional[Tuple[Tensor, Tensor]]:
    if bool(x[0] > 0):
        return x.sort()
    return None


@program(VECTORS, N)
def none_in_none_or_pair(x: Tensor) -> Optional[Tuple[Tensor, Optional[Tensor]]]:
    if bool(x[0] > 0):
        inner: Optional[Tensor] = None
        if bool(x[1] > 0):
            inner = x.cumsum(0)
        return x + 1, inner
    return None


@program(VECTORS, N)
def none_or_dict(x: Tensor) -> Optional[Dict[str, Tensor]]:
    if bool(x[0] > 0):
        return {"a": x * 1, "b": x + 1}
    return None


@program(VECTORS, N)
def none_or_numbers(x: Tensor) -> Tuple[int, Optional[Tensor]]:
    found: List[int] = []
    for i in range(x.shape[0]):
        if bool(x[i] > 0):
            found.append(i)
    if len(found) == 0:
        return 0, None
    return len(found), torch.tensor(found)


@program(VECTORS, N)
def none_of_a_call(x: Tensor) -> Tuple[Optional[Tensor], Tensor]:
    a, b = first_above(x, 0.5), first_above(x, 0.0)
    return a, x.sum() if b is None else b.sum()


def first_above(x: Tensor, limit: float) -> Optional[Tensor]:
    for i in range(x.shape[0]):
        if bool(x[i] > limit):
            return x[i:]
    return None


@program(VECTORS, N)
def none_or_half(x: Tensor) -> Optional[Tensor]:
    if bool(x[0] > 0):
        return x.to(torch.half)
    return None


@program(VECTORS, N)
def none_or_another_rank(x: Tensor) -> Optional[Tensor]:
    if bool(x[0] > 0):
        if bool(x[1] > 0):
            return x.sum()
        return x
    return None


@program(VECTORS, N, opsets=range(0), needs="", refused="tensors of bf16")
def none_or_bfloat(x: Tensor) -> Optional[Tensor]:
    if bool(x[0] > 0):
        return x.to(torch.bfloat16)
    return None


@program(VECTORS, N, opsets=range(0), needs="", refused="the model returns a text (output_0.1)")
def none_or_text(x: Tensor) -> Tuple[Tensor, Optional[str]]:
    r: Optional[str] = None
    if bool(x[0] > 0):
        r = "above"
    return x, r


class FilterOrNone(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(3, 2)
        with torch.no_grad():
            self.fc.weight.copy_(torch.tensor([[1.0, 0, 0], [0, 1, 0]]))
            self.fc.bias.zero_()

    def forward(self, x: Tensor) -> Tuple[Tensor, Optional[Tensor]]:
        y = self.fc(x)
        r: Optional[Tensor] = None
        if bool(y.sum() > 0):
            r = y.softmax(0)
        return y, r


program(VECTORS, "f32:3")(FilterOrNone)
