"""Scripted programs: Objects that the program makes."""
from typing import List, Optional, Tuple

import torch
import torch.nn.functional as F
from torch import Tensor

from script_programs import Programs, FIXED, FLAG, FLAGS, N3, r

programs = Programs()
program = programs.add
cases = programs.cases


@torch.jit.script
class Box:
    def __init__(self, v: Tensor, n: int):
        self.v = v
        self.n = n
        self.l = [v]

    def add(self, x: Tensor):
        self.v = self.v + x
        self.n += 1
        self.l.append(x)

    def get(self) -> Tensor:
        return self.v * self.n


@torch.jit.script
class Meter:
    def __init__(self, v: Tensor):
        self.total = v * 0
        self.last = torch.jit.annotate(Optional[Tensor], None)
        self.count = 0

    def update(self, v: Tensor):
        self.total = self.total + v
        self.last = v
        self.count += 1

    def mean(self) -> Tensor:
        return self.total / max(self.count, 1)


@program(FIXED, "f32:3", FLAG)
def object_in_branches(x: Tensor, f: Tensor):
    b = Box(x, 1)
    c = b
    if bool(f > 0):
        b.add(x * 2)
    else:
        c.add(x * 3)
    return b.get(), c.n, b.l[1]


@program(FIXED, "f32:3", FLAG)
def object_made_in_branches(x: Tensor, f: Tensor):
    if bool(f > 0):
        b = Box(x, 1)
        b.add(x)
    else:
        b = Box(x * 2, 5)
        b.l.append(x - 1)
    b.add(x)
    return b.get(), b.n, b.l[1], len(b.l)


@program(FIXED, "f32:3", FLAG)
def object_chosen(x: Tensor, f: Tensor):
    a, b = Box(x, 1), Box(x * 2, 2)
    c = a
    if bool(f > 0):
        c = b
    c.v = x + 9
    return a.v, b.v, c.v


@program([(r(3), torch.tensor(f), torch.tensor(g)) for f in (0, 1) for g in (0, 1)], "f32:3", FLAG, FLAG)
def object_chosen_twice(x: Tensor, f: Tensor, g: Tensor):
    a, b = Box(x, 1), Box(x * 2, 2)
    c = a
    if bool(f > 0):
        c = b
    if bool(g > 0):
        c = Box(x * 3, 3)
    c.v = x + 9
    return a.v, b.v, c.v


@program([(r(n, 3),) for n in (3, 2, 5, 0)], N3)
def object_in_loop(x: Tensor):
    b = Box(x.sum(0), 0)
    for i in range(x.size(0)):
        b.add(x[i])
    return b.get(), b.n, torch.stack(b.l)


@program([(r(n, 3),) for n in (3, 2, 5, 0)], N3)
def object_made_in_loop(x: Tensor):
    b = Meter(x.sum(0))
    total = x.sum(0)
    for i in range(x.size(0)):
        m = Meter(x[i])
        m.update(x[i])
        m.update(b.mean())
        b.update(m.mean())
        total = total + m.count
    return b.mean(), total, b.count


@program([(r(n, 3),) for n in (3, 2, 5, 0)], N3)
def object_carried(x: Tensor):
    b = Meter(x.sum(0))
    for i in range(x.size(0)):
        n = Meter(x[i])
        n.update(b.total + x[i])
        b = n
    return b.total, b.count


@program([(torch.tensor(v),) for v in ([1.0, -2, 3], [1.0, 2], [-1.0, -4], [])], "f32:n")
def object_best_is_current(x: Tensor):
    best, cur = Meter(x.sum()), Meter(x.sum())
    for i in range(x.size(0)):
        cur = Meter(x[i])
        cur.update(x[i])
        if bool(x[i] > best.total):
            best = cur
    cur.update(x.sum() + 9)
    return best.total, cur.total, best.count


@program(FLAGS, N3, FLAG)
def object_list(x: Tensor, f: Tensor):
    l = [Meter(x[0]) for _ in range(3)]
    for i, m in enumerate(l):
        for j in range(i):
            m.update(x[0] * j)
    if bool(f > 0):
        l[1].update(x[0])
    else:
        l[2] = l[1]
    l[2].update(x[0] * 4)
    return l[1].mean(), l[2].mean(), l[1].count


@program(FLAGS, N3, FLAG)
def object_optional_field(x: Tensor, f: Tensor):
    m = Meter(x)
    if bool(f > 0):
        m.update(x * 2)
    last = m.last
    if last is not None:
        return last
    return m.mean()


@program([(r(n, 3),) for n in (3, 2, 5, 0)], N3)
def object_optional_field_in_loop(x: Tensor):
    m = Meter(x.sum(0))
    for i in range(x.size(0)):
        last = m.last
        if last is not None:
            m.update(last + x[i])
        else:
            m.update(x[i])
    return m.mean(), m.count


@torch.jit.script
class Pair:
    def __init__(self, a: Box, b: Box):
        self.a = a
        self.b = b

    def swap(self):
        t = self.a
        self.a = self.b
        self.b = t


@program(FIXED, "f32:3", FLAG)
def object_of_objects(x: Tensor, f: Tensor):
    one, two = Box(x, 1), Box(x * 2, 2)
    p = Pair(one, two)
    if bool(f > 0):
        p.swap()
    p.a.add(x)
    return one.v, two.v, p.a.v, p.b.n


@program([(r(n, 3),) for n in (3, 2, 5, 0)], N3)
def object_swapped_in_loop(x: Tensor):
    p = Pair(Box(x.sum(0), 1), Box(x.sum(0) * 2, 2))
    for i in range(x.size(0)):
        p.a.v = p.a.v + x[i]
        p.swap()
    return p.a.v, p.b.v, p.a.n


@torch.jit.script
class Nested:
    """NestedTensor of DETR."""
    def __init__(self, tensors: Tensor, mask: Optional[Tensor]):
        self.tensors = tensors
        self.mask = mask

    def decompose(self) -> Tuple[Tensor, Optional[Tensor]]:
        return self.tensors, self.mask


@program([(r(3, a, b), r(3, c, d)) for a, b, c, d in ((4, 5, 2, 6), (1, 2, 3, 4))], "f32:3,a,b", "f32:3,c,d")
def object_nested_tensor(x: Tensor, y: Tensor):
    images = [x, y]
    maxes = torch.jit.annotate(List[int], [])
    for i in range(3):
        maxes.append(max([im.shape[i] for im in images]))
    tensor = torch.zeros([len(images)] + maxes)
    mask = torch.ones([2, maxes[1], maxes[2]], dtype=torch.bool)
    for i in range(2):
        im = images[i]
        tensor[i, : im.shape[0], : im.shape[1], : im.shape[2]].copy_(im)
        mask[i, : im.shape[1], : im.shape[2]] = False
    n = Nested(tensor, mask)
    t, m = n.decompose()
    assert m is not None
    return t, m, F.interpolate(m[None].float(), size=[4, 4]).to(torch.bool)[0]
