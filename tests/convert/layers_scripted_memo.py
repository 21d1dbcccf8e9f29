"""Scripted programs: dictionaries that are attributes, read, refilled by each call, or kept as caches."""
from typing import Dict, List, Tuple

import torch
from torch import Tensor, nn

from script_programs import Programs, FLAG, FLAGS, N3, ROWS, SOME, TWO_FLAGS

programs = Programs()
program = programs.add
cases = programs.cases
r = torch.randn


@program(FLAGS, N3, FLAG)
class MemoRefilled(nn.Module):
    """Each call sets each key before it reads it."""
    memo: Dict[str, Tensor]

    def __init__(self):
        super().__init__()
        self.memo = {}

    def forward(self, x: Tensor, f: Tensor):
        self.memo["a"] = x * 2
        if bool(f > 0):
            self.memo["b"] = self.memo["a"] + 1
        else:
            self.memo["b"] = x
        return self.memo["a"] * self.memo["b"]


class Writer(nn.Module):
    memo: Dict[int, float]

    def __init__(self):
        super().__init__()
        self.memo = {1: 0.5, 3: 2.0}

    def note(self, key: int, value: float):
        self.memo[key] = value

    def forward(self, x: Tensor) -> Tensor:
        self.note(1, float(x.sum()))
        self.memo[3] = self.memo[1] * 2 if 1 in self.memo else 0.0
        return x * self.memo[3] + self.memo[1]


@program(ROWS, N3)
class MemoOfSubmodule(nn.Module):
    def __init__(self):
        super().__init__()
        self.writer = Writer()

    def forward(self, x: Tensor):
        y = self.writer(x)
        return self.writer(y) - y


@program(ROWS, N3)
class MemoRefilledInLoop(nn.Module):
    memo: Dict[str, Tensor]

    def __init__(self):
        super().__init__()
        self.memo = {"last": torch.zeros(3), "sum": torch.ones(3)}

    def forward(self, x: Tensor):
        self.memo["sum"] = torch.zeros(3)
        self.memo["last"] = torch.ones(3)
        for row in x.unbind(0):
            self.memo["sum"] = self.memo["sum"] + row * self.memo["last"]
            self.memo["last"] = row
        return self.memo["sum"], self.memo["last"]


@program(FLAGS, N3, FLAG)
class MemoFilledInOneBranch(nn.Module):
    """State: a call may read what an earlier one set."""
    memo: Dict[str, Tensor]

    def __init__(self):
        super().__init__()
        self.memo = {"a": torch.zeros(3)}

    def forward(self, x: Tensor, f: Tensor):
        if bool(f > 0):
            self.memo["a"] = x.sum(0)
        return x + self.memo["a"]


@program(SOME, N3)
class MemoTestedFirst(nn.Module):
    """State: the key is there from the second call on."""
    memo: Dict[str, Tensor]

    def __init__(self):
        super().__init__()
        self.memo = {}

    def forward(self, x: Tensor):
        first = "a" not in self.memo
        self.memo["a"] = x
        return self.memo["a"] * (2.0 if first else 3.0)


@program([(r(2, 3),)] * 3, "f32:2,3")
class MemoGridBySize(nn.Module):
    """A cache by a text of sizes, which are fixed: a loop with `continue`."""
    cache: Dict[str, Tensor]

    def __init__(self):
        super().__init__()
        self.cache = {}

    def forward(self, x: Tensor):
        out: List[Tensor] = []
        for y, s in zip([x, x[:, :2]], [8, 16]):
            key = str(y.size(-2)) + "x" + str(y.size(-1)) + "@" + str(s)
            if key in self.cache:
                out.append(self.cache[key])
                continue
            a = torch.arange(y.size(-1)) * s + y.size(-2)
            self.cache[key] = a
            out.append(a)
        return torch.cat(out) + x.sum()


@program(SOME, N3)
class MemoGridByOpenSize(nn.Module):
    """The key is a text that only the running model knows."""
    cache: Dict[str, Tensor]

    def __init__(self):
        super().__init__()
        self.cache = {}

    def forward(self, x: Tensor):
        key = str(x.size(0))
        if key not in self.cache:
            self.cache[key] = torch.arange(x.size(0))
        return self.cache[key].unsqueeze(1) + x


@program(ROWS, N3)
class MemoOfEachType(nn.Module):
    of_tensors: Dict[str, Tensor]
    of_numbers: Dict[int, float]
    of_lists: Dict[str, List[int]]
    of_flags: Dict[float, bool]
    of_texts: Dict[bool, str]
    of_tuples: Dict[str, Tuple[int, Tensor]]
    of_dictionaries: Dict[str, Dict[str, int]]
    empty: Dict[int, List[str]]

    def __init__(self):
        super().__init__()
        self.of_tensors = {"a": torch.arange(3.0), "b": torch.ones(3)}
        self.of_numbers = {4: 0.5, -1: 2.5}
        self.of_lists = {"x": [1, 2], "y": []}
        self.of_flags = {0.5: True, 1.5: False}
        self.of_texts = {True: "yes", False: "no"}
        self.of_tuples = {"t": (3, torch.full([3], 0.25))}
        self.of_dictionaries = {"in": {"n": 7}, "out": {}}
        self.empty = {}

    def forward(self, x: Tensor):
        n, t = self.of_tuples["t"]
        total = x * self.of_tensors["a"] + self.of_tensors["b"] * self.of_numbers[-1] + t * n
        for v in self.of_lists["x"]:
            total = total + v
        if self.of_flags[0.5] and not self.of_flags[1.5] and self.of_texts[False] == "no" and len(self.empty) == 0:
            total = total * self.of_dictionaries["in"]["n"] + len(self.of_dictionaries["out"]) + len(self.of_lists["y"])
        return total


@program([(r(n, 3),) for n in (3, 5, 1)], N3)
class LoopWithContinue(nn.Module):
    """A `for` over a known number, which `continue` turns into a loop that asks after each iteration."""
    def forward(self, x: Tensor):
        total = x * 0
        for name in ["a", "skip", "b"]:
            if name == "skip":
                continue
            total = total + x * len(name)
            if bool(total.sum() > 3):
                continue
            total = total - 1
        i = 1
        while i < 8:
            i += 3
            if bool(x.sum() > 0):
                continue
            total = total * i
        return total, i


FLOWS = [(r(1, 2, 4, 5), r(1, 2, 4, 5)), (r(2, 2, 3, 3), r(2, 2, 3, 3)), (r(1, 2, 1, 6), r(1, 2, 1, 6))]
FLOW = ("f32:n,2,h,w", "f32:n,2,h,w")


@program(FLOWS, *FLOW)
class TextCacheOfSizes(nn.Module):
    """RIFE's grids: what is kept under the text of the sizes follows from the sizes."""
    grids: Dict[str, Tensor]
    others: Dict[str, Tensor]

    def __init__(self):
        super().__init__()
        self.grids = {}
        self.others = {}

    def forward(self, x: Tensor, flow: Tensor):
        k = str(flow.device) + str(flow.size())
        if k not in self.grids:
            h = torch.linspace(-1.0, 1.0, flow.shape[3]).view(1, 1, 1, flow.shape[3]).expand(flow.shape[0], -1, flow.shape[2], -1)
            v = torch.linspace(-1.0, 1.0, flow.shape[2]).view(1, 1, flow.shape[2], 1).expand(flow.shape[0], -1, -1, flow.shape[3])
            self.grids[k] = torch.cat([h, v], 1)
        n = f"{flow.size(2)}x{flow.size(3)}"
        if n not in self.others:
            self.others[n] = torch.ones(flow.size(2), flow.size(3)) * flow.size(3)
        return x + self.grids[k] * flow + self.others[n]


@program(FLOWS, *FLOW)
class TextKeyOfOwnDictionary(nn.Module):
    def forward(self, x: Tensor, flow: Tensor):
        cache: Dict[str, Tensor] = {}
        k = f"{flow.size(0)}_{flow.size(2)}"
        if k not in cache:
            cache[k] = flow * 2
        return cache[k] + x * len(flow)


@program(FLOWS, *FLOW)
class TextKeySetFirst(nn.Module):
    """What is kept isn't a matter of sizes, but each call sets it anew."""
    cache: Dict[str, Tensor]

    def __init__(self):
        super().__init__()
        self.cache = {}

    def forward(self, x: Tensor, flow: Tensor):
        k = str(flow.size())
        self.cache[k] = flow * 2
        return self.cache[k] + x


class TextCache(nn.Module):
    """Refused: a later call reads what an earlier one kept."""
    cache: Dict[str, Tensor]

    def __init__(self):
        super().__init__()
        self.cache = {}


@program(FLOWS, *FLOW)
class TextCacheOfValues(TextCache):
    def forward(self, x: Tensor, flow: Tensor):
        k = str(flow.size())
        if k not in self.cache:
            self.cache[k] = flow * 2
        return self.cache[k] + x


@program(FLOWS, *FLOW)
class TextCacheOfOtherSizes(TextCache):
    def forward(self, x: Tensor, flow: Tensor):
        k = str(flow.size(2))
        if k not in self.cache:
            self.cache[k] = torch.ones(flow.size(2), flow.size(3))
        return self.cache[k][0, 0] + x


@program(FLOWS, *FLOW)
class TextCacheAmbiguous(TextCache):
    """The sizes 1 and 12 give the text of 11 and 2."""

    def forward(self, x: Tensor, flow: Tensor):
        k = str(flow.size(2)) + str(flow.size(3))
        if k not in self.cache:
            self.cache[k] = torch.ones(flow.size(2), flow.size(3))
        return self.cache[k][0, 0] + x


@program(FLOWS, *FLOW)
class TextCacheWritten(TextCache):
    def forward(self, x: Tensor, flow: Tensor):
        k = str(flow.size())
        if k not in self.cache:
            self.cache[k] = torch.ones(flow.size(2), flow.size(3))
        self.cache[k].add_(1)
        return self.cache[k] + x


@program(FLOWS, *FLOW)
class TextCacheWrittenUnderTwoNames(TextCache):
    """The two texts are one, once equal computations are merged."""

    def forward(self, x: Tensor, flow: Tensor):
        if str(flow.size()) not in self.cache:
            self.cache[str(flow.size())] = torch.ones(flow.size(2), flow.size(3))
        self.cache[str(flow.size())][0].add_(1)
        return self.cache[str(flow.size())] + x


@program(FLOWS, *FLOW)
class TextCacheOfWrittenSteps(TextCache):
    """Refused: what is kept was filled in place with values of the input."""

    def forward(self, x: Tensor, flow: Tensor):
        k = str(flow.size())
        if k not in self.cache:
            made = torch.ones(flow.size(2), flow.size(3))
            made.mul_(flow[0, 0])
            self.cache[k] = torch.cat([made, made], 0)
        return self.cache[k].sum() + x


class TextCacheTold(TextCache):
    """Refused: the model tells whether a call before kept the value."""


@program(FLOWS, *FLOW)
class TextCacheToldByBool(TextCacheTold):
    def forward(self, x: Tensor, flow: Tensor):
        k = str(flow.size())
        new = k not in self.cache
        if new:
            self.cache[k] = torch.zeros(flow.size())
        return self.cache[k].sum() + x, new


@program(FLOWS, *FLOW)
class TextCacheToldByReturn(TextCacheTold):
    def forward(self, x: Tensor, flow: Tensor):
        k = str(flow.size())
        if k in self.cache:
            return self.cache[k].sum() + x
        self.cache[k] = torch.ones(flow.size())
        return x


@program(FLOWS, *FLOW)
class TextCacheToldByValue(TextCacheTold):
    def forward(self, x: Tensor, flow: Tensor):
        k = str(flow.size())
        if k not in self.cache:
            self.cache[k] = torch.ones(flow.size())
            y = x * 0
        else:
            y = x
        return self.cache[k].sum() + y


@program(FLOWS, *FLOW)
class TextCacheToldByOtherBranch(TextCacheTold):
    def forward(self, x: Tensor, flow: Tensor):
        k = str(flow.size())
        if k not in self.cache:
            self.cache[k] = torch.zeros(flow.size())
        elif bool(x.sum() > 0):
            return x + 1
        return self.cache[k].sum() + x


class TextCacheChosen(TextCache):
    """Refused: which of several values is kept doesn't follow from the text."""


@program(FLOWS, *FLOW)
class TextCacheSetAgain(TextCacheChosen):
    def forward(self, x: Tensor, flow: Tensor):
        k = str(flow.size())
        if k not in self.cache:
            self.cache[k] = torch.zeros(flow.size())
        y = self.cache[k].sum() + x
        self.cache[k] = torch.ones(flow.size())
        return y


@program(FLOWS, *FLOW)
class TextCacheChosenByData(TextCacheChosen):
    def forward(self, x: Tensor, flow: Tensor):
        k = str(flow.size())
        if k not in self.cache:
            if bool(x.sum() > 0):
                self.cache[k] = torch.zeros(flow.size())
            else:
                self.cache[k] = torch.ones(flow.size())
        return self.cache[k].sum() + x


@program(FLOWS, *FLOW)
class TextCacheSetAtTimes(TextCacheChosen):
    def forward(self, x: Tensor, flow: Tensor):
        k = str(flow.size())
        if bool(x.sum() > 0):
            self.cache[k] = torch.ones(flow.size())
        if k in self.cache:
            x = x + self.cache[k].sum()
        return x


@program(FLOWS, *FLOW)
class TextCacheOfChangedList(TextCacheChosen):
    def forward(self, x: Tensor, flow: Tensor):
        sizes = [flow.size(2), flow.size(3)]
        k = str(sizes)
        sizes[0] = x.size(0) + 3
        if k not in self.cache:
            self.cache[k] = torch.ones(sizes)
        return self.cache[k].sum() + x


@program(FLOWS, *FLOW)
class TextKeysOfLoop(nn.Module):
    """Refused: one name, but another text in each iteration."""

    def forward(self, x: Tensor, flow: Tensor):
        cache: Dict[str, Tensor] = {}
        for i in range(flow.size(3)):
            k = str(i % flow.size(2))
            if k not in cache:
                cache[k] = flow * i
            x = x + cache[k]
        return x
