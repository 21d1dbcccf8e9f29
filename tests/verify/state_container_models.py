"""Models that keep lists, dictionaries and tuples between calls, and change them."""
from typing import Dict, List, NamedTuple, Optional, Tuple

import torch
from torch import Tensor, nn


class WrittenMembers(nn.Module):
    caches: List[Tensor]

    def __init__(self):
        super().__init__()
        self.caches = [torch.zeros(3), torch.zeros(3)]

    def forward(self, x: Tensor) -> Tensor:
        self.caches[0].add_(x)
        self.caches[1][1:] += 2
        return self.caches[0] + self.caches[1]


class LayerKeys(nn.Module):
    """One growing cache for each layer."""
    keys: List[Tensor]

    def __init__(self):
        super().__init__()
        self.keys = [torch.zeros(1, 3) for _ in range(3)]

    def forward(self, x: Tensor) -> Tensor:
        y = x
        for i in range(len(self.keys)):
            k = torch.cat([self.keys[i], y])
            self.keys[i] = k
            y = y + k.sum(0)
        return y


class FixedKeys(nn.Module):
    cache: Dict[str, Tensor]

    def __init__(self):
        super().__init__()
        self.cache = {"a": torch.zeros(3), "b.c": torch.ones(3), "unread": torch.ones(2)}

    def forward(self, x: Tensor) -> Tensor:
        self.cache["a"] = self.cache["a"] + x
        if bool(x.sum() > 0):
            self.cache["b.c"] = self.cache["b.c"] * 0.5 + self.cache["a"]
        return self.cache["b.c"] - x


class IntKeys(nn.Module):
    cache: Dict[int, Tensor]

    def __init__(self):
        super().__init__()
        self.cache = {3: torch.zeros(3), 5: torch.ones(3)}

    def forward(self, x: Tensor) -> Tensor:
        y = x
        for key in self.cache.keys():
            y = y * 0.5 + self.cache[key]
            self.cache[key] = y
        return y


class Hidden(nn.Module):
    hidden: Tuple[Tensor, Tensor]

    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(4, 5)
        self.hidden = (torch.zeros(1, 1, 5), torch.zeros(1, 1, 5))

    def forward(self, x: Tensor) -> Tensor:
        y, self.hidden = self.lstm(x, self.hidden)
        return y


class HiddenOfLayers(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([Hidden(), Hidden()])
        self.between = nn.Linear(5, 4)

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = self.between(layer(x))
        return x


class Pair(NamedTuple):
    mean: Tensor
    count: int


class Named(nn.Module):
    pair: Pair

    def __init__(self):
        super().__init__()
        self.pair = Pair(torch.zeros(3), 0)

    def forward(self, x: Tensor) -> Tensor:
        n = self.pair.count + 1
        self.pair = Pair(self.pair.mean + (x - self.pair.mean) / n, n)
        return x - self.pair.mean


class Nested(nn.Module):
    kv: List[Tuple[Tensor, Tensor]]
    counts: Dict[str, List[int]]
    scale: List[float]
    seen: List[bool]

    def __init__(self):
        super().__init__()
        self.kv = [(torch.zeros(1, 3), torch.ones(1, 3)) for _ in range(2)]
        self.counts = {"n": [0, 1], "m": [5]}
        self.scale = [0.5, 2.0]
        self.seen = [False]

    def forward(self, x: Tensor) -> Tensor:
        self.counts["n"][0] += 1
        self.counts["m"] = [self.counts["m"][0] * 2]
        self.scale[0] = self.scale[0] * 1.5
        y = x * self.scale[0]
        if self.seen[0]:
            y = y + 1
        self.seen[0] = not self.seen[0]
        for i in range(2):
            k, v = self.kv[i]
            k, v = torch.cat([k, y]), torch.cat([v, y * 2])
            self.kv[i] = (k, v)
            y = y + (k * v).sum(0) + self.counts["n"][0] - self.counts["m"][0]
        return y


class Branches(nn.Module):
    """Set, changed, or left alone."""
    pair: List[Tensor]

    def __init__(self):
        super().__init__()
        self.pair = [torch.zeros(3), torch.ones(3)]

    def forward(self, x: Tensor) -> Tensor:
        if bool(x.sum() > 1):
            self.pair = [x, self.pair[0]]
        elif bool(x.sum() > 0):
            self.pair[0] = self.pair[0] + x
        else:
            if bool(x[0] > 0):
                return self.pair[1] * 2
            self.pair.reverse()
        self.pair[1] = self.pair[1] * 0.5
        return self.pair[0] + self.pair[1]


class Loops(nn.Module):
    """A loop of which only the running model knows how often it runs."""
    acc: List[Tensor]
    named: Dict[str, Tensor]

    def __init__(self):
        super().__init__()
        self.acc = [torch.zeros(3), torch.ones(3)]
        self.named = {"a": torch.zeros(3)}

    def forward(self, x: Tensor, n: int) -> Tensor:
        for i in range(n):
            self.acc[0] = self.acc[1] + x
            self.acc[1] = self.acc[0] * 0.5
            if bool(self.acc[1].sum() > 2):
                break
            self.named["a"] = self.named["a"] + self.acc[0]
        return self.acc[0] + self.named["a"]


class Rotating(nn.Module):
    """A window of three: what comes first goes."""
    window: List[Tensor]

    def __init__(self):
        super().__init__()
        self.window = [torch.zeros(3), torch.zeros(3), torch.ones(3)]

    def forward(self, x: Tensor) -> Tensor:
        self.window.append(x)
        gone = self.window.pop(0)
        return torch.stack(self.window).sum(0) - gone


class Cleared(nn.Module):
    """Empty between calls: no state."""
    xs: List[Tensor]

    def __init__(self):
        super().__init__()
        self.xs = []

    def forward(self, x: Tensor) -> Tensor:
        self.xs.append(x)
        self.xs.append(x * 2)
        y = torch.stack(self.xs).sum(0)
        self.xs.clear()
        return y


class OneListTwice(nn.Module):
    """Within a call two names mean one list."""
    a: List[Tensor]
    b: List[Tensor]

    def __init__(self):
        super().__init__()
        self.a = [torch.zeros(3)]
        self.b = [torch.ones(3)]

    def forward(self, x: Tensor) -> Tensor:
        names = [self.a, self.b]
        names[0][0] = names[0][0] + x
        other = self.b
        other[0] = other[0] * 2
        return self.a[0] + self.b[0]


class Returned(nn.Module):
    xs: List[Tensor]

    def __init__(self):
        super().__init__()
        self.xs = [torch.zeros(3), torch.ones(3)]

    def forward(self, x: Tensor) -> Tuple[Tensor, List[Tensor]]:
        self.xs[0] = self.xs[0] + x
        return x * 2, self.xs


class Cell(nn.Module):
    """An object of the user's own class."""

    def __init__(self):
        super().__init__()
        self.memory = Memory(torch.zeros(1, 3), 0)

    def forward(self, x: Tensor) -> Tensor:
        self.memory.put(x)
        return self.memory.k.sum(0) * self.memory.n


@torch.jit.script
class Memory:
    def __init__(self, k: Tensor, n: int):
        self.k = k
        self.n = n
        self.both = [k, k * 2]

    def put(self, x: Tensor):
        self.k = torch.cat([self.k, x])
        self.n += 1
        self.both[1] = self.both[1] + x


class Cells(nn.Module):
    """A list of objects, each with tensors."""
    memories: List[Memory]

    def __init__(self):
        super().__init__()
        self.memories = [Memory(torch.zeros(1, 3), 0), Memory(torch.ones(1, 3), 1)]

    def forward(self, x: Tensor) -> Tensor:
        y = x
        for memory in self.memories:
            memory.put(y)
            y = y + memory.k.sum(0) + memory.both[1]
        return y


class Optionals(nn.Module):
    """Always there after a call."""
    hidden: Optional[Tuple[Tensor, Tensor]]
    keys: List[Optional[Tensor]]

    def __init__(self):
        super().__init__()
        self.hidden = (torch.zeros(3), torch.ones(3))
        self.keys = [torch.zeros(3), None]

    def forward(self, x: Tensor) -> Tensor:
        hidden = self.hidden
        if hidden is None:
            hidden = (x, x)
        h, c = hidden
        self.hidden = (h + x, c * 0.5 + h)
        k = self.keys[0]
        if k is None:
            k = x
        self.keys[0] = k + x
        return h + c + k


class Labelled(nn.Module):
    """Texts stay as they are."""
    held: Tuple[str, Tensor]

    def __init__(self):
        super().__init__()
        self.held = ("sum", torch.zeros(3))

    def forward(self, x: Tensor) -> Tensor:
        mode, total = self.held
        total = total + x if mode == "sum" else x
        self.held = (mode, total)
        return total


class FromInput(nn.Module):
    """What the caller gives is kept, and written to nowhere."""
    kept: Tuple[Tensor, Tensor]

    def __init__(self):
        super().__init__()
        self.kept = (torch.zeros(3), torch.zeros(3))

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        out = self.kept[0] * 2 + self.kept[1]
        self.kept = (y, x)
        return out


class Swapped(nn.Module):
    xs: List[Tensor]

    def __init__(self):
        super().__init__()
        self.xs = [torch.zeros(3), torch.ones(3)]

    def forward(self, x: Tensor) -> Tensor:
        self.xs[0], self.xs[1] = self.xs[1], self.xs[0]
        return self.xs[0] * x + self.xs[1]


class BesideTensors(nn.Module):
    """Order and names: keys.0 is the model's own input."""
    keys: List[Tensor]
    n: int

    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.zeros(3))
        self.keys = [torch.zeros(3), torch.ones(3)]
        self.n = 0

    def forward(self, keys: Tensor) -> Tensor:
        self.n += 1
        self.total += keys
        self.keys[1] = self.keys[1] + self.total
        return self.keys[1] * self.n


# ---- Lists whose length changes

class History(nn.Module):
    past: List[Tensor]

    def __init__(self):
        super().__init__()
        self.past = [torch.zeros(3)]

    def forward(self, x: Tensor) -> Tensor:
        self.past.append(x)
        return torch.stack(self.past).sum(0)


class Numbers(nn.Module):
    sizes: List[int]
    means: List[float]

    def __init__(self):
        super().__init__()
        self.sizes = [4]
        self.means = []

    def forward(self, x: Tensor) -> Tensor:
        self.sizes.append(x.size(0))
        self.means.append(float(x.mean()))
        if len(self.sizes) > 3:
            self.sizes.pop(0)
        total = 0.0
        for mean in self.means:
            total += mean
        return x * sum(self.sizes) + total


class AtMost(nn.Module):
    """Grows, and is cut."""
    past: List[Tensor]

    def __init__(self):
        super().__init__()
        self.past = [torch.zeros(3)]

    def forward(self, x: Tensor) -> Tensor:
        self.past.append(x)
        if len(self.past) > 3:
            self.past = self.past[1:]
        y = x
        for past in self.past:
            y = y * 0.5 + past
        return y


class InLoop(nn.Module):
    past: List[Tensor]

    def __init__(self):
        super().__init__()
        self.past = [torch.zeros(3)]

    def forward(self, x: Tensor, n: int) -> Tensor:
        for i in range(n):
            self.past.append(x * i)
        return torch.stack(self.past).sum(0)


class Empty(nn.Module):
    past: List[Tensor]

    def __init__(self):
        super().__init__()
        self.past = []

    def forward(self, x: Tensor) -> Tensor:
        self.past.append(x)
        return torch.stack(self.past).sum(0)


# ---- What can't be

class SharedLists(nn.Module):
    """After the call both attributes hold one list, which the next call changes."""
    a: List[Tensor]
    b: List[Tensor]

    def __init__(self):
        super().__init__()
        self.a = [torch.zeros(3)]
        self.b = [torch.ones(3)]

    def forward(self, x: Tensor) -> Tensor:
        self.a[0] = self.a[0] + x
        y = self.b[0] + self.a[0]
        self.b = self.a
        return y


class SharedInFile(nn.Module):
    """The file holds one list under two names."""
    a: List[Tensor]
    b: List[Tensor]

    def __init__(self):
        super().__init__()
        self.a = [torch.zeros(3)]
        self.b = [torch.ones(3)]

    @torch.jit.export
    def before_saving(self):
        self.b = self.a

    def forward(self, x: Tensor) -> Tensor:
        self.a[0] = self.a[0] + x
        return self.b[0] * 2


class SharedMembers(nn.Module):
    """The members are one tensor, which is written in place."""
    xs: List[Tensor]

    def __init__(self):
        super().__init__()
        t = torch.zeros(3)
        self.xs = [t, t]

    def forward(self, x: Tensor) -> Tensor:
        self.xs[0].add_(x)
        return self.xs[1] * 2


class SharedLater(nn.Module):
    """A call makes them one tensor."""
    xs: List[Tensor]

    def __init__(self):
        super().__init__()
        self.xs = [torch.zeros(3), torch.ones(3)]

    def forward(self, x: Tensor) -> Tensor:
        self.xs[0].add_(x)
        y = self.xs[1] * 2
        self.xs[1] = self.xs[0]
        return y


class SharedWithBuffer(nn.Module):
    xs: List[Tensor]

    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.zeros(3))
        self.xs = [self.total]

    def forward(self, x: Tensor) -> Tensor:
        self.xs[0].add_(x)
        return self.total * 2


class KeepsInputList(nn.Module):
    """The next call writes to the caller's list."""
    xs: List[Tensor]

    def __init__(self):
        super().__init__()
        self.xs = [torch.zeros(3), torch.zeros(3)]

    def forward(self, x: Tensor, given: List[Tensor]) -> Tensor:
        self.xs[0] = self.xs[0] + x
        y = self.xs[0] + self.xs[1]
        self.xs = given
        return y


class NewKey(nn.Module):
    cache: Dict[str, Tensor]

    def __init__(self):
        super().__init__()
        self.cache = {"a": torch.zeros(3)}

    def forward(self, x: Tensor) -> Tensor:
        if "b" in self.cache:
            y = self.cache["b"]
        else:
            y = self.cache["a"]
        self.cache["b"] = x
        return y + x


class Reordered(nn.Module):
    cache: Dict[str, Tensor]

    def __init__(self):
        super().__init__()
        self.cache = {"a": torch.zeros(3), "b": torch.ones(3)}

    def forward(self, x: Tensor) -> Tensor:
        y = x
        for value in self.cache.values():
            y = y * 0.5 + value
        a = self.cache.pop("a")
        self.cache["a"] = a + x
        return y


class GrowingPairs(nn.Module):
    past: List[Tuple[Tensor, Tensor]]

    def __init__(self):
        super().__init__()
        self.past = [(torch.zeros(3), torch.ones(3))]

    def forward(self, x: Tensor) -> Tensor:
        self.past.append((x, x * 2))
        y = x
        for a, b in self.past:
            y = y + a * b
        return y


class NoneAtFirst(nn.Module):
    hidden: Optional[Tuple[Tensor, Tensor]]

    def __init__(self):
        super().__init__()
        self.hidden = None

    def forward(self, x: Tensor) -> Tensor:
        hidden = self.hidden
        if hidden is None:
            hidden = (torch.zeros_like(x), torch.zeros_like(x))
        h, c = hidden
        self.hidden = (h + x, c + h)
        return h + c


class NoneLater(nn.Module):
    h: Optional[Tensor]
    hs: List[Optional[Tensor]]

    def __init__(self):
        super().__init__()
        self.h = torch.zeros(3)
        self.hs = [torch.zeros(3)]

    def forward(self, x: Tensor) -> Tensor:
        h = self.hs[0]
        y = x if h is None else x + h
        self.hs[0] = None if h is not None else x
        return y


class Mode(nn.Module):
    mode: str

    def __init__(self):
        super().__init__()
        self.mode = "first"

    def forward(self, x: Tensor) -> Tensor:
        y = x if self.mode == "first" else x * 2
        self.mode = "later"
        return y


class Modes(nn.Module):
    held: Tuple[str, Tensor]

    def __init__(self):
        super().__init__()
        self.held = ("first", torch.zeros(3))

    def forward(self, x: Tensor) -> Tensor:
        mode, total = self.held
        total = total + x if mode == "first" else x
        self.held = ("later", total)
        return total


class OtherObject(nn.Module):
    memory: Memory

    def __init__(self):
        super().__init__()
        self.memory = Memory(torch.zeros(3), 0)

    def forward(self, x: Tensor) -> Tensor:
        y = self.memory.k + x
        self.memory = Memory(y, self.memory.n + 1)
        return y


# ---- Names, branches, loops and writes in place

class PrevCur(nn.Module):
    """One list moves on, and nothing is written in place."""
    prev: List[Tensor]
    cur: List[Tensor]

    def __init__(self):
        super().__init__()
        self.prev = [torch.zeros(3)]
        self.cur = [torch.ones(3)]

    def forward(self, x: Tensor) -> Tensor:
        y = x - self.prev[0] * 2 + self.cur[0]
        self.prev = self.cur
        self.cur = [x]
        return y


class NestedNoInPlace(nn.Module):
    xs: List[List[Tensor]]

    def __init__(self):
        super().__init__()
        self.xs = [[torch.zeros(3)], [torch.ones(3)]]

    def forward(self, x: Tensor) -> Tensor:
        y = self.xs[0][0] + self.xs[1][0] * 2
        self.xs = [[x], self.xs[0]]
        return y


class NestedLayer(nn.Module):
    """A list is taken, changed and put back."""
    kv: List[List[Tensor]]

    def __init__(self):
        super().__init__()
        self.kv = [[torch.zeros(1, 3), torch.ones(1, 3)], [torch.zeros(1, 3), torch.ones(1, 3)]]

    def forward(self, x: Tensor) -> Tensor:
        for i in range(2):
            layer = self.kv[i]
            layer[0] = torch.cat([layer[0], x])
            layer[1] = torch.cat([layer[1], x * 2])
            self.kv[i] = layer
            x = x + (layer[0] * layer[1]).sum(0)
        return x


class DictSwap(nn.Module):
    d: Dict[str, List[Tensor]]

    def __init__(self):
        super().__init__()
        self.d = {"k": [torch.zeros(3)], "v": [torch.ones(3)]}

    def forward(self, x: Tensor) -> Tensor:
        self.d["k"][0] = self.d["k"][0] + x
        t = self.d["k"]
        self.d["k"] = self.d["v"]
        self.d["v"] = t
        return self.d["k"][0]


class TensorAndBufferClone(nn.Module):
    xs: List[Tensor]

    def __init__(self):
        super().__init__()
        self.register_buffer("b", torch.ones(3))
        self.xs = [torch.zeros(3)]

    def forward(self, x: Tensor) -> Tensor:
        y = self.xs[0] + self.b
        self.b.add_(x)
        self.xs[0] = self.b.clone()
        return y


class ParamInList(nn.Module):
    """A weight becomes a member."""
    xs: List[Tensor]

    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.ones(3) * 2)
        self.xs = [torch.zeros(3)]

    def forward(self, x: Tensor) -> Tensor:
        y = self.xs[0] + x
        if float(x.sum()) > 0:
            self.xs[0] = self.w
        else:
            self.xs[0] = x
        return y


class HistClear(nn.Module):
    past: List[Tensor]
    n: int

    def __init__(self):
        super().__init__()
        self.past = [torch.zeros(3)]
        self.n = 0

    def forward(self, x: Tensor) -> Tensor:
        self.n += 1
        self.past.append(x)
        y = torch.stack(self.past).sum(0)
        if self.n % 2 == 0:
            self.past.clear()
            self.past.append(x * 0.5)
        return y


class HistInts(nn.Module):
    past: List[Tensor]

    def __init__(self):
        super().__init__()
        self.past = [torch.zeros(3, dtype=torch.long)]

    def forward(self, x: Tensor) -> Tensor:
        y = torch.stack(self.past).sum(0) + x
        self.past.append((x * 10).to(torch.long))
        return y


class Clash(nn.Module):
    d: Dict[str, Tensor]
    e: Dict[str, Dict[str, Tensor]]

    def __init__(self):
        super().__init__()
        self.d = {"a": torch.zeros(3), "a.b": torch.ones(3)}

    def forward(self, x: Tensor) -> Tensor:
        self.d["a"] = self.d["a"] + x
        self.d["a.b"] = self.d["a.b"] * x
        return self.d["a"] + self.d["a.b"]


class Modules(nn.Module):
    """Caches of submodules in a ModuleDict, and a flag."""

    def __init__(self):
        super().__init__()
        self.m = nn.ModuleDict({"a": Sub(), "b": Sub()})

    def forward(self, x: Tensor) -> Tensor:
        for k, m in self.m.items():
            x = m(x)
        return x


class Sub(nn.Module):
    cache: Dict[str, Tensor]
    started: bool

    def __init__(self):
        super().__init__()
        self.cache = {"k": torch.zeros(3), "v": torch.zeros(3)}
        self.started = False

    def forward(self, x: Tensor) -> Tensor:
        if not self.started:
            self.cache["k"] = x
            self.cache["v"] = x * 2
            self.started = True
        else:
            self.cache["k"] = self.cache["k"] + x
            self.cache["v"] = self.cache["v"] * x
        return self.cache["k"] + self.cache["v"]


class OptBranchNone(nn.Module):
    h: Optional[Tensor]

    def __init__(self):
        super().__init__()
        self.h = torch.ones(3)

    def forward(self, x: Tensor) -> Tensor:
        h = self.h
        if h is None:
            self.h = x
            return x
        else:
            self.h = h + x
            return h


class NestedReverse(nn.Module):
    xs: List[List[Tensor]]

    def __init__(self):
        super().__init__()
        self.xs = [[torch.zeros(3)], [torch.ones(3)]]

    def forward(self, x: Tensor) -> Tensor:
        self.xs.reverse()
        self.xs[0][0] = self.xs[0][0] + x
        return self.xs[0][0] + self.xs[1][0] * 2


class SameModule(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = Inner(); self.b = self.a

    def forward(self, x: Tensor) -> Tensor:
        y = self.a(x)
        return y + self.b(x * 2)


class TwoModulesPlain(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = Inner(); self.b = Inner()

    def forward(self, x: Tensor) -> Tensor:
        y = self.a(x)
        return y + self.b(x * 2)


class Inner(nn.Module):
    xs: List[Tensor]

    def __init__(self):
        super().__init__()
        self.xs = [torch.zeros(3), torch.ones(3)]

    def forward(self, x: Tensor) -> Tensor:
        self.xs[0] = self.xs[0] + x
        return self.xs[0]


class Early(nn.Module):
    xs: List[Tensor]
    n: List[int]

    def __init__(self):
        super().__init__()
        self.xs = [torch.zeros(3), torch.ones(3)]
        self.n = [0]

    def forward(self, x: Tensor) -> Tensor:
        self.n[0] += 1
        if self.n[0] == 2:
            self.xs[1] = x
            return x
        for i in range(2):
            if float(x[i]) > 0.3:
                self.xs[i] = self.xs[i] + x
                return self.xs[1] * i
        self.xs = [self.xs[1], x]
        return self.xs[0]


class RuntimeIndex(nn.Module):
    xs: List[Tensor]
    i: int

    def __init__(self):
        super().__init__()
        self.xs = [torch.zeros(3), torch.ones(3), torch.ones(3)*2]
        self.i = 0

    def forward(self, x: Tensor) -> Tensor:
        self.xs[self.i] = x
        self.i = (self.i + 1) % 3
        return torch.stack(self.xs).sum(0) + self.xs[self.i]


class RuntimeKey(nn.Module):
    d: Dict[int, Tensor]

    def __init__(self):
        super().__init__()
        self.d = {0: torch.zeros(3), 1: torch.ones(3)}

    def forward(self, x: Tensor) -> Tensor:
        i = int(x.sum() > 0)
        self.d[i] = self.d[i] + x
        return self.d[0] * 2 + self.d[1]


class InPlaceLoop(nn.Module):
    xs: List[Tensor]

    def __init__(self):
        super().__init__()
        self.xs = [torch.zeros(3), torch.ones(3)]

    def forward(self, x: Tensor) -> Tensor:
        for t in self.xs:
            t.mul_(0.5)
            t[1:] += x[:2]
        return self.xs[0] * 2 + self.xs[1]


class InPlaceTuple(nn.Module):
    h: Tuple[Tensor, Tensor]

    def __init__(self):
        super().__init__()
        self.h = (torch.zeros(3), torch.ones(3))

    def forward(self, x: Tensor) -> Tensor:
        a, b = self.h
        a.add_(x)
        if bool(x.sum() > 0):
            b.copy_(a)
        return a * b


class ViewsLater(nn.Module):
    xs: List[Tensor]

    def __init__(self):
        super().__init__()
        self.xs = [torch.zeros(3), torch.zeros(3)]

    def forward(self, x: Tensor) -> Tensor:
        y = self.xs[0] + self.xs[1]
        t = torch.stack([x, x * 2])
        self.xs = [t[0], t[1]]
        return y


class HistCopy(nn.Module):
    p: List[Tensor]
    q: List[Tensor]

    def __init__(self):
        super().__init__()
        self.p = [torch.zeros(3)]
        self.q = [torch.ones(3)]

    def forward(self, x: Tensor) -> Tensor:
        self.p.append(x)
        y = torch.stack(self.p).sum(0) + torch.stack(self.q).sum(0)
        self.q = self.p.copy()
        return y


class HistVarSize(nn.Module):
    past: List[Tensor]

    def __init__(self):
        super().__init__()
        self.past = [torch.zeros(3, 2)]

    def forward(self, x: Tensor) -> Tensor:
        self.past.append(x)
        return torch.cat(self.past).sum(0)


class HistKnown(nn.Module):
    """Two members after each call; the file holds one."""
    past: List[Tensor]

    def __init__(self):
        super().__init__()
        self.past = [torch.zeros(3)]

    def forward(self, x: Tensor) -> Tensor:
        y = torch.stack(self.past).sum(0)
        self.past = [x, y]
        return y + self.past[0]


class FirstTwo(nn.Module):
    """Only the first two members are read, and the length changes."""
    past: List[Tensor]

    def __init__(self):
        super().__init__()
        self.past = [torch.zeros(3), torch.ones(3)]

    def forward(self, x: Tensor) -> Tensor:
        y = self.past[0] + self.past[1]
        if float(x.sum()) > 0:
            self.past = [x, y, x]
        else:
            self.past = [y, x]
        return y


class MaybeAlias(nn.Module):
    a: List[Tensor]
    b: List[Tensor]

    def __init__(self):
        super().__init__()
        self.a = [torch.zeros(3)]
        self.b = [torch.ones(3)]

    def forward(self, x: Tensor) -> Tensor:
        l = self.a if float(x.sum()) > 0 else self.b
        l[0] = l[0] + x
        return self.a[0] * 2 + self.b[0]


class Flag(nn.Module):
    started: bool
    h: Tensor

    def __init__(self):
        super().__init__()
        self.started = False
        self.h = torch.zeros(3)

    def forward(self, x: Tensor) -> Tensor:
        if not self.started:
            self.h = x
            self.started = True
        else:
            self.h = self.h * 0.5 + x
        return self.h


class CalledBeforeTuple(nn.Module):
    h: Optional[Tuple[Tensor, Tensor]]

    def __init__(self):
        super().__init__()
        self.h = None

    @torch.jit.export
    def before_saving(self):
        self.forward(torch.ones(3))

    def forward(self, x: Tensor) -> Tensor:
        if self.h is None:
            self.h = (torch.zeros_like(x), torch.ones_like(x))
        h = self.h
        assert h is not None
        a, b = h
        self.h = (a + x, b * a)
        return a * 2 + b


class HistBranch(nn.Module):
    past: List[Tensor]

    def __init__(self):
        super().__init__()
        self.past = [torch.zeros(3)]

    def forward(self, x: Tensor) -> Tensor:
        if float(x.sum()) > 0:
            self.past.append(x)
        elif len(self.past) > 1:
            self.past.pop()
        return self.past[-1] + len(self.past)


# ---- More that can't be: two names of one list, and structures that change

class TwoModules(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = Inner(); self.b = Inner()

    @torch.jit.export
    def before_saving(self):
        self.b.xs = self.a.xs

    def forward(self, x: Tensor) -> Tensor:
        y = self.a(x)
        return y + self.b(x * 2)


class SharedDictInFile(nn.Module):
    a: Dict[str, Tensor]
    b: Dict[str, Tensor]

    def __init__(self):
        super().__init__()
        self.a = {"k": torch.zeros(3)}
        self.b = {"k": torch.zeros(3)}

    @torch.jit.export
    def before_saving(self):
        self.b = self.a

    def forward(self, x: Tensor) -> Tensor:
        self.a["k"] = x
        return self.b["k"] * 2


class SharedRestored(nn.Module):
    a: List[Tensor]
    b: List[Tensor]

    def __init__(self):
        super().__init__()
        self.a = []
        self.b = []

    @torch.jit.export
    def before_saving(self):
        self.b = self.a

    def forward(self, x: Tensor) -> Tensor:
        self.a.append(x)
        y = x * len(self.b)
        self.a.clear()
        return y


class SharedInTuple(nn.Module):
    a: List[Tensor]
    b: Tuple[List[Tensor], int]

    def __init__(self):
        super().__init__()
        self.a = [torch.zeros(3)]
        self.b = ([torch.zeros(3)], 1)

    @torch.jit.export
    def before_saving(self):
        self.b = (self.a, 2)

    def forward(self, x: Tensor) -> Tensor:
        self.a[0] = x
        return self.b[0][0] * 2


class SharedNumbers(nn.Module):
    a: List[int]
    b: List[int]

    def __init__(self):
        super().__init__()
        self.a = [1]
        self.b = [1]

    @torch.jit.export
    def before_saving(self):
        self.b = self.a

    def forward(self, x: Tensor) -> Tensor:
        self.a[0] += 1
        return x * self.b[0]


class RuntimeInPlace(nn.Module):
    xs: List[Tensor]

    def __init__(self):
        super().__init__()
        self.xs = [torch.zeros(3), torch.ones(3)]

    def forward(self, x: Tensor) -> Tensor:
        i = int(x.sum() > 0)
        self.xs[i].add_(x)
        return self.xs[0] * 2 + self.xs[1]


class InPlaceReplaced(nn.Module):
    """The member becomes the caller's tensor, which the next call writes."""
    xs: List[Tensor]

    def __init__(self):
        super().__init__()
        self.xs = [torch.zeros(3)]

    def forward(self, x: Tensor) -> Tensor:
        self.xs[0].add_(1)
        y = self.xs[0] + x
        self.xs[0] = x
        return y


class ViewsLaterWritten(nn.Module):
    xs: List[Tensor]

    def __init__(self):
        super().__init__()
        self.xs = [torch.zeros(3), torch.zeros(2)]

    def forward(self, x: Tensor) -> Tensor:
        self.xs[1].add_(1)
        y = self.xs[0].sum() + self.xs[1]
        t = x * 2
        self.xs = [t, t[:2]]
        return y


class NestedSame(nn.Module):
    """One list stands in two places after the call."""
    xs: List[List[Tensor]]

    def __init__(self):
        super().__init__()
        self.xs = [[torch.zeros(3)], [torch.ones(3)]]

    def forward(self, x: Tensor) -> Tensor:
        self.xs[0][0] = self.xs[0][0] + x
        y = self.xs[0][0] + self.xs[1][0]
        self.xs[1] = self.xs[0]
        return y


class NestedSameInFile(nn.Module):
    xs: List[List[Tensor]]

    def __init__(self):
        super().__init__()
        self.xs = [[torch.zeros(3)], [torch.ones(3)]]

    @torch.jit.export
    def before_saving(self):
        self.xs[1] = self.xs[0]

    def forward(self, x: Tensor) -> Tensor:
        self.xs[0][0] = self.xs[0][0] + x
        return self.xs[0][0] + self.xs[1][0]


class NestedInner(nn.Module):
    """The inner list becomes an attribute, too."""
    xs: List[List[Tensor]]
    top: List[Tensor]

    def __init__(self):
        super().__init__()
        self.xs = [[torch.zeros(3)], [torch.ones(3)]]
        self.top = [torch.zeros(3)]

    def forward(self, x: Tensor) -> Tensor:
        y = self.xs[0][0] + self.xs[1][0] + self.top[0]
        self.top = self.xs[0]
        self.xs[0][0] = self.xs[0][0] + x
        return y


class KeyChangedBranch(nn.Module):
    d: Dict[str, Tensor]

    def __init__(self):
        super().__init__()
        self.d = {"a": torch.zeros(3)}

    def forward(self, x: Tensor) -> Tensor:
        y = self.d["a"] + x
        if float(x.sum()) > 0:
            self.d["b"] = x
        self.d["a"] = y
        return y


class DtypeMember(nn.Module):
    a: List[Tensor]

    def __init__(self):
        super().__init__()
        self.a = [torch.zeros(3)]

    def forward(self, x: Tensor) -> Tensor:
        y = self.a[0] + x
        self.a[0] = y.double()
        return y


class ResetToNone(nn.Module):
    h: Optional[Tensor]

    def __init__(self):
        super().__init__()
        self.h = torch.zeros(3)

    def forward(self, x: Tensor) -> Tensor:
        h = self.h
        y = x if h is None else x + h
        if float(x.sum()) > 0:
            self.h = None
        else:
            self.h = y
        return y


class NestedMaybe(nn.Module):
    """One list stands in two places after one branch."""
    xs: List[List[Tensor]]

    def __init__(self):
        super().__init__()
        self.xs = [[torch.zeros(3)], [torch.ones(3)]]

    def forward(self, x: Tensor) -> Tensor:
        self.xs[0][0] = self.xs[0][0] + x
        y = self.xs[0][0] + self.xs[1][0] * 2
        if float(x.sum()) > 0:
            self.xs[1] = self.xs[0]
        return y


class NestedLoop(nn.Module):
    xs: List[List[Tensor]]

    def __init__(self):
        super().__init__()
        self.xs = [[torch.zeros(3)], [torch.ones(3)]]

    def forward(self, x: Tensor, n: int) -> Tensor:
        self.xs[0][0] = self.xs[0][0] + x
        y = self.xs[0][0] + self.xs[1][0] * 2
        for i in range(n - 2):
            self.xs[1] = self.xs[0]
        return y


class KeptView(nn.Module):
    """A view of a buffer that the next call writes."""
    xs: List[Tensor]

    def __init__(self):
        super().__init__()
        self.register_buffer("b", torch.ones(2, 3))
        self.xs = [torch.zeros(3)]

    def forward(self, x: Tensor) -> Tensor:
        y = self.xs[0] + self.b.sum(0)
        self.b.add_(x)
        self.xs[0] = self.b[0]
        return y


class RankChange(nn.Module):
    xs: List[Tensor]

    def __init__(self):
        super().__init__()
        self.xs = [torch.zeros(3)]

    def forward(self, x: Tensor) -> Tensor:
        y = self.xs[0].sum() + x
        self.xs[0] = self.xs[0].unsqueeze(0)
        return y
