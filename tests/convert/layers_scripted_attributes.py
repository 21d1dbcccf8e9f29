"""Scripted programs: Attributes of modules that forward writes: inputs come one after another, as calls of one module."""
from typing import Dict, List, Optional

import torch
from torch import Tensor, nn

from script_programs import Programs, FLAG, N3, r

programs = Programs()
program = programs.add
cases = programs.cases


# Attributes that forward writes. Inputs come one after another, as calls of one module.
@program([(r(n, 3),) for n in (3, 3)])
class AttributeCache(nn.Module):
    """Made by the first call, and the same for all."""
    mask: Optional[Tensor]

    def __init__(self):
        super().__init__()
        self.mask = None

    def forward(self, x: Tensor):
        mask = self.mask
        if mask is None:
            mask = torch.triu(torch.ones(x.size(0), x.size(0)), 1)
            self.mask = mask
        return mask @ x


@program([(r(n, 3),) for n in (3, 1, 5)], N3)
class AttributeCacheChecked(nn.Module):
    mask: Optional[Tensor]

    def __init__(self):
        super().__init__()
        self.mask = None

    def forward(self, x: Tensor):
        mask = self.mask
        if mask is None or mask.size(0) != x.size(0):
            mask = torch.triu(torch.ones(x.size(0), x.size(0)), 1)
            self.mask = mask
        return mask @ x


@program([(r(n, 3),) for n in (3, 1, 5)], N3)
class AttributeCacheUnchecked(nn.Module):
    """State: the rows of the first call count in all later ones."""
    rows: Optional[int]

    def __init__(self):
        super().__init__()
        self.rows = None

    def forward(self, x: Tensor):
        rows = self.rows
        if rows is None:
            rows = x.size(0)
            self.rows = rows
        return x * rows


@program([(r(n, 3),) for n in (3, 3)])
class AttributeFirstCall(nn.Module):
    """State: the first call differs from the others."""
    def __init__(self):
        super().__init__()
        self.first = True

    def forward(self, x: Tensor):
        if self.first:
            self.first = False
            return x
        return x * 2


@program([(r(n, 3),) for n in (3, 3, 3)])
class AttributeSaturating(nn.Module):
    def __init__(self):
        super().__init__()
        self.k = 0

    def forward(self, x: Tensor):
        y = x + self.k
        self.k = max(self.k, 2)
        return y


@program([(r(n, 3),) for n in (3, 3, 3)])
class AttributeCounter(nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, x: Tensor):
        self.calls += 1
        return x * self.calls


@program([(r(n, 3),) for n in (3, 1)], N3)
class AttributeCounterUnread(nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, x: Tensor):
        self.calls += 1
        return x * 2


@program([(r(n, 3),) for n in (3, 1, 5)], N3)
class AttributeCounterReset(nn.Module):
    def __init__(self):
        super().__init__()
        self.steps = 5

    def step(self, x: Tensor) -> Tensor:
        self.steps += 1
        return x * self.steps

    def forward(self, x: Tensor):
        self.steps = 0
        y = x.sum(0)
        for i in range(x.size(0)):
            y = self.step(y) + x[i]
        return y, self.steps


@program([(r(n, 3),) for n in (3, 1, 5)], N3)
class AttributeListReset(nn.Module):
    history: List[Tensor]

    def __init__(self):
        super().__init__()
        self.history = []

    def note(self, x: Tensor):
        self.history.append(x)

    def forward(self, x: Tensor):
        self.history = []
        for i in range(x.size(0)):
            self.note(x[i])
            if bool(x[i].sum() > 0):
                self.note(-x[i])
        return torch.stack(self.history), len(self.history)


@program([(r(n, 3),) for n in (3, 1, 5)], N3)
class AttributeListCleared(nn.Module):
    history: List[Tensor]

    def __init__(self):
        super().__init__()
        self.history = []

    def forward(self, x: Tensor):
        self.history.clear()
        for i in range(x.size(0)):
            self.history.append(x[i])
        return torch.stack(self.history)


@program([(r(n, 3),) for n in (3, 3)])
class AttributeListAppended(nn.Module):
    history: List[Tensor]

    def __init__(self):
        super().__init__()
        self.history = []

    def forward(self, x: Tensor):
        self.history.append(x)
        return torch.stack(self.history).sum(0)


@program([(r(n, 3), torch.tensor(f)) for n, f in ((3, 0), (1, 1), (5, 1), (2, 0))], N3, FLAG)
class AttributeListAliased(nn.Module):
    history: List[Tensor]

    def __init__(self):
        super().__init__()
        self.history = []

    def forward(self, x: Tensor, f: Tensor):
        local = [x.sum(0)]
        self.history = local
        local.append(x.sum(0) * 2)
        other = self.history
        if bool(f > 0):
            other.append(x.sum(0) + 3)
        else:
            self.history = [x.sum(0)]
            local.append(x.sum(0) + 4)
        return torch.stack(self.history), torch.stack(local), len(other)


@program([(r(n, 3), torch.tensor(f)) for n, f in ((3, 0), (1, 1), (5, 1), (2, 0))], N3, FLAG)
class AttributeOneBranch(nn.Module):
    """State: without the flag the last call's tensor is read."""
    def __init__(self):
        super().__init__()
        self.h = torch.zeros(3)

    def forward(self, x: Tensor, f: Tensor):
        if bool(f > 0):
            self.h = x.sum(0)
        return self.h + x


@program([(r(n, 3), torch.tensor(f)) for n, f in ((3, 0), (1, 1), (5, 1), (2, 0))], N3, FLAG)
class AttributeBothBranches(nn.Module):
    def __init__(self):
        super().__init__()
        self.h = torch.zeros(3)
        self.mode = "none"

    def forward(self, x: Tensor, f: Tensor):
        if bool(f > 0):
            self.h = x.sum(0)
            self.mode = "sum"
        else:
            self.h = x.mean(0)
            self.mode = "sum"
        y = self.h + x
        if self.mode == "sum":
            y = y * 2
        return y


@program([(r(n, 3),) for n in (3, 3, 3)])
class AttributeSwapped(nn.Module):
    """State: they change places at each call."""
    def __init__(self):
        super().__init__()
        self.a = 1
        self.b = 2

    def forward(self, x: Tensor):
        self.a, self.b = self.b, self.a
        return x * self.a


@program([(r(n, 3),) for n in (3, 3, 3)])
class AttributeSwappedBack(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = 1
        self.b = 2

    def forward(self, x: Tensor):
        self.a, self.b = self.b, self.a
        y = x * self.a
        self.a, self.b = self.b, self.a
        return y + self.a


@program([(r(n, 3),) for n in (3, 1, 5)], N3)
class AttributeSwappedInLoop(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = torch.zeros(3)
        self.b = torch.zeros(3)

    def forward(self, x: Tensor):
        self.a, self.b = x.sum(0), x.mean(0)
        for i in range(x.size(0)):
            self.a, self.b = self.b + x[i], self.a
        return self.a, self.b


@program([(r(n, 3),) for n in (3, 1, 5)], N3)
class AttributeDict(nn.Module):
    scales: Dict[str, float]

    def __init__(self):
        super().__init__()
        self.scales = {"a": 1.5, "b": 2.0}
        self.names = ["b", "a"]
        self.table = {"a": [1, 2], "b": [0]}

    def forward(self, x: Tensor):
        out: Dict[str, Tensor] = {}
        for name in self.names:
            out[name] = x[:, self.table[name]] * self.scales[name]
        return out


@program([(r(n, 3),) for n in (3, 3, 3)])
class AttributeDictWritten(nn.Module):
    """Each call sets what it reads."""
    kept: Dict[str, Tensor]

    def __init__(self):
        super().__init__()
        self.kept = {}

    def forward(self, x: Tensor):
        self.kept["x"] = x
        self.kept["y"] = self.kept["x"] * 2
        return self.kept["y"] + self.kept["x"]


@program([(r(n, 3),) for n in (3, 3, 3)])
class AttributeDictKept(nn.Module):
    """State: what the last call left."""
    kept: Dict[str, Tensor]

    def __init__(self):
        super().__init__()
        self.kept = {"x": torch.zeros(3, 3)}

    def forward(self, x: Tensor):
        y = self.kept["x"] + x
        self.kept["x"] = y
        return y


class Scaled(nn.Module):
    def __init__(self, k: int):
        super().__init__()
        self.k = k
        self.seen = 0

    def forward(self, x: Tensor) -> Tensor:
        self.seen = self.seen + x.size(0)
        return x * self.k + self.seen


@program([(r(n, 3),) for n in (3, 1)], N3)
class AttributeOfShared(nn.Module):
    """One module under two names. State: torch.jit.script makes two of it, one of which is never reset."""
    def __init__(self):
        super().__init__()
        self.one = Scaled(2)
        self.two = self.one
        self.other = Scaled(3)

    def forward(self, x: Tensor):
        self.one.seen = 0
        self.other.seen = 10
        y = self.one(x)
        y = self.two(y) + self.other(y)
        return y, self.two.seen, self.other.seen


@program([(r(n, 3),) for n in (3, 1)], N3)
class AttributeOfList(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([Scaled(2), Scaled(3), Scaled(4)])
        self.heads = nn.ModuleDict({"a": nn.Linear(3, 3), "b": nn.Linear(3, 2)})

    def forward(self, x: Tensor):
        for layer in self.layers:
            layer.seen = 0
        out: Dict[str, Tensor] = {}
        total = 0
        for i, layer in enumerate(self.layers):
            x = layer(x)
            total += layer.seen
        for name, head in self.heads.items():
            out[name] = head(x)
        for name in out.keys():
            out[name] = torch.relu(out[name])
        return out, total


@program([(r(n, 3),) for n in (3, 1)], N3)
class ModuleListReversed(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(3, 3) for _ in range(3)])
        self.ups = nn.ModuleList([nn.Linear(3, 3) for _ in range(3)])

    def forward(self, x: Tensor):
        skips: List[Tensor] = []
        for layer in self.layers:
            x = torch.relu(layer(x))
            skips.append(x)
        skips.reverse()
        for i, up in enumerate(self.ups):
            x = up(x) + skips[i]
        while len(skips) > 1:
            x = x + skips.pop()
        return x, skips[0]


@program([(r(n, 3), torch.tensor(f)) for n, f in ((3, 0), (1, 1), (5, 1), (2, 0))], N3, FLAG)
class AttributeTrainingOnly(nn.Module):
    """Losses that only training makes."""
    losses: Dict[str, Tensor]

    def __init__(self):
        super().__init__()
        self.losses = {}
        self.net = nn.Linear(3, 2)

    def forward(self, x: Tensor, f: Tensor):
        y = self.net(x)
        if self.training:
            self.losses["l"] = y.sum()
        if bool(f > 0):
            y = y + len(self.losses)
        return y, len(self.losses)


@program([(torch.randn(n, 3), torch.tensor(f)) for n, f in ((3, 0), (1, 1), (5, 1), (2, 0))], N3, FLAG)
class AttributeOptionalChosen(nn.Module):
    norm: Optional[Tensor]
    last: Optional[Tensor]

    def __init__(self):
        super().__init__()
        self.norm = None
        self.last = None

    def forward(self, x: Tensor, f: Tensor):
        self.last = x
        norm = self.norm
        if norm is not None:
            x = x * norm
        if bool(f > 0):
            self.last = x * 2
        last = self.last
        assert last is not None
        return last + 1
