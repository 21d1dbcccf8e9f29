"""Models that keep values between calls, in attributes that a call writes and a later call reads."""
from typing import List, Optional, Tuple

import torch
from torch import Tensor, nn


class Counter(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.zeros(1))

    def forward(self, x: Tensor) -> Tensor:
        self.count.add_(1)
        return x + self.count


class IntCounter(nn.Module):
    n: int
    f: float
    on: bool

    def __init__(self):
        super().__init__()
        self.n, self.f, self.on = 2, 0.5, False

    def forward(self, x: Tensor) -> Tensor:
        self.n += 1
        self.f = self.f * 1.5
        y = x * self.n + self.f
        if self.on:
            y = -y
        self.on = not self.on
        return y


class RunningMean(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.zeros(4))

    def forward(self, x: Tensor) -> Tensor:
        self.mean = 0.9 * self.mean + 0.1 * x.mean(0)
        return x - self.mean


class KvIndexCopy(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("k_cache", torch.zeros(1, 2, 16, 4))
        self.register_buffer("v_cache", torch.zeros(1, 2, 16, 4))
        self.q, self.k, self.v = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, x: Tensor, pos: Tensor) -> Tensor:
        l = x.size(1)
        q = self.q(x).view(1, l, 2, 4).transpose(1, 2)
        k = self.k(x).view(1, l, 2, 4).transpose(1, 2)
        v = self.v(x).view(1, l, 2, 4).transpose(1, 2)
        self.k_cache.index_copy_(2, pos, k)
        self.v_cache.index_copy_(2, pos, v)
        w = torch.softmax(q @ self.k_cache.transpose(2, 3), -1)
        return (w @ self.v_cache).transpose(1, 2).reshape(1, l, 8)


class KvSlice(nn.Module):
    pos: int

    def __init__(self):
        super().__init__()
        self.register_buffer("k_cache", torch.zeros(1, 2, 64, 4))
        self.pos = 0

    def forward(self, x: Tensor) -> Tensor:
        l = x.size(2)
        self.k_cache[:, :, self.pos:self.pos + l] = x
        self.pos += l
        return (x @ self.k_cache.transpose(2, 3)).softmax(-1) @ self.k_cache


class Nested(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([RunningMean(), RunningMean(), Counter()])

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = layer(x)
        return x


class Shared(nn.Module):
    def __init__(self):
        super().__init__()
        t = torch.zeros(3)
        self.register_buffer("a", t)
        self.register_buffer("b", t)

    def forward(self, x: Tensor) -> Tensor:
        self.a.add_(x)
        y = self.b * 2
        self.b[0] = 5.0
        return y + self.a


class SharedView(nn.Module):
    def __init__(self):
        super().__init__()
        t = torch.zeros(3)
        self.register_buffer("a", t)
        self.register_buffer("b", t[:2])

    def forward(self, x: Tensor) -> Tensor:
        self.a.add_(x)
        return self.b.sum() + self.a


class Conditional(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("best", torch.full((3,), -10.0))
        self.register_buffer("seen", torch.zeros(3))
        self.register_buffer("last", torch.zeros(3))

    def forward(self, x: Tensor) -> Tensor:
        if bool(x.sum() > 0):
            self.best.copy_(torch.maximum(self.best, x))
            self.last = x * 2
        else:
            self.seen[1:] += 1
        return self.best + self.seen + self.last


class Loop(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("acc", torch.zeros(3))
        self.register_buffer("h", torch.zeros(3))

    def forward(self, x: Tensor, n: int) -> Tensor:
        for i in range(n):
            self.acc.add_(x)
            self.h = self.h * 0.5 + self.acc
        return self.h - x


class ReturnedAndWritten(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("c", torch.zeros(3))

    def forward(self, x: Tensor) -> Tuple[Tensor, Tensor]:
        before = self.c.clone()
        self.c.add_(x)
        self.c.mul_(2)
        return self.c, before


class Overwritten(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("c", torch.zeros(3))
        self.register_buffer("d", torch.zeros(3))

    def forward(self, x: Tensor) -> Tensor:
        self.c.copy_(x)
        self.c.add_(1)
        self.d = x + 2
        return self.c + self.d


class ResetAlias(nn.Module):
    """reset to another attribute, then written in place: sharing"""

    def __init__(self):
        super().__init__()
        self.register_buffer("zeros", torch.zeros(3))
        self.register_buffer("c", torch.ones(3))

    def forward(self, x: Tensor) -> Tensor:
        if bool(x.sum() > 0):
            self.c = self.zeros
        self.c.add_(x)
        return self.c + self.zeros


class TwoNames(nn.Module):
    """both hold one tensor after the call; the next call writes one in place"""

    def __init__(self):
        super().__init__()
        self.register_buffer("a", torch.zeros(3))
        self.register_buffer("b", torch.zeros(3))

    def forward(self, x: Tensor) -> Tensor:
        self.a.add_(1)
        y = self.a + self.b
        t = x * 2
        self.a = t
        self.b = t
        return y


class KeepsInput(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("prev", torch.zeros(3))

    def forward(self, x: Tensor) -> Tensor:
        d = x - self.prev
        self.prev = x
        return d


class Growing(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("k", torch.zeros(1, 2, 0, 4))

    def forward(self, x: Tensor) -> Tensor:
        self.k = torch.cat([self.k, x], 2)
        return (x @ self.k.transpose(2, 3)).softmax(-1) @ self.k


class NoneFirst(nn.Module):
    h: Optional[Tensor]

    def __init__(self):
        super().__init__()
        self.h = None

    def forward(self, x: Tensor) -> Tensor:
        h = self.h
        if h is None:
            h = torch.zeros_like(x)
        self.h = h + x
        return h + x


class OptTensor(nn.Module):
    h: Optional[Tensor]

    def __init__(self):
        super().__init__()
        self.h = torch.zeros(3)

    def forward(self, x: Tensor) -> Tensor:
        h = self.h
        if h is None:
            h = torch.zeros_like(x)
        r = h + x
        self.h = r
        return r * 2


class BN(nn.Module):
    def __init__(self):
        super().__init__()
        self.bn = nn.BatchNorm1d(3)

    def forward(self, x: Tensor) -> Tensor:
        return self.bn(x)


class NameClash(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("x", torch.zeros(3))

    def forward(self, x: Tensor) -> Tensor:
        self.x.add_(x)
        return self.x * 2


class Transposed(nn.Module):
    """the state's strides change between calls, and reshape copies or views"""

    def __init__(self):
        super().__init__()
        self.register_buffer("m", torch.arange(9.).view(3, 3))

    def forward(self, x: Tensor) -> Tensor:
        self.m.reshape(-1)[0:2] += x
        y = self.m + 0
        self.m = (self.m * 1).t()
        return y


class DtypeChange(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("m", torch.zeros(3))

    def forward(self, x: Tensor) -> Tensor:
        y = self.m + x
        self.m = y.double()
        return y


class Swap(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("a", torch.zeros(3))
        self.register_buffer("b", torch.ones(3))

    def forward(self, x: Tensor) -> Tensor:
        t = self.a
        self.a = self.b
        self.b = t
        return self.a * x


class Half(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("ids", torch.zeros(4, dtype=torch.int32))
        self.register_buffer("mask", torch.zeros(4, dtype=torch.bool))

    def forward(self, x: Tensor) -> Tensor:
        self.mask |= x > 0
        self.ids += self.mask.to(torch.int32)
        return x * self.ids


class ViewKept(nn.Module):
    """the attribute is a view of a local"""

    def __init__(self):
        super().__init__()
        self.register_buffer("row", torch.zeros(3))

    def forward(self, x: Tensor) -> Tensor:
        y = x + self.row
        z = y.unsqueeze(0).expand(2, 3) * 2
        self.row = z[1]
        return z


class Rnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.GRU(4, 4, batch_first=True)
        self.register_buffer("h", torch.zeros(1, 1, 4))

    def forward(self, x: Tensor) -> Tensor:
        y, h = self.cell(x, self.h)
        self.h.copy_(h)
        return y


class GrowsInLoop(nn.Module):
    def __init__(self):
        super().__init__()
        self.k = torch.zeros(1, 0, 4)

    def forward(self, x):
        for t in range(x.size(1)):
            self.k = torch.cat([self.k, x[:, t:t + 1]], 1)
        return self.k.sum(1)


class Rest(nn.Module):
    """What doesn't fill a frame waits for the next call."""

    def __init__(self):
        super().__init__()
        self.tail = torch.zeros(0)

    def forward(self, x):
        samples = torch.cat([self.tail, x])
        whole = samples.size(0) // 4 * 4
        self.tail = samples[whole:]
        return samples[:whole].view(-1, 4)


class ReplacedInBranch(nn.Module):
    def __init__(self):
        super().__init__()
        self.prev = torch.zeros(2, 3)

    def forward(self, x):
        y = x.sum() + self.prev.sum(0)
        if float(x.sum()) > 0:
            self.prev = x
        return y


class Window(nn.Module):
    """At most four rows."""

    def __init__(self):
        super().__init__()
        self.rows = torch.zeros(0, 3)

    def forward(self, x):
        rows = torch.cat([self.rows, x])
        if rows.size(0) > 4:
            rows = rows[-4:]
        self.rows = rows
        return rows.mean(0)


class KeptNumbers(nn.Module):
    def __init__(self):
        super().__init__()
        self.ids = torch.zeros(0, dtype=torch.long)

    def forward(self, x):
        out: List[int] = []
        for value in x:
            if float(value) > 0:
                out.append(self.ids.size(0) + int(value * 10))
        self.ids = torch.tensor(out, dtype=torch.long)
        return self.ids
