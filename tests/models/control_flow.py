"""Scripted models with loops, ifs, lists, dictionaries and the other values of TorchScript."""
from typing import Dict, List, NamedTuple, Optional, Tuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from registry import Example


class Loops(nn.Module):
    """for over a range and a tensor's rows, while with break, continue and a condition on data, nested."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x: Tensor, steps: int) -> Tensor:
        total = torch.zeros_like(x[0])
        for i in range(x.size(0)):
            if i % 2 == 1:
                continue
            for row in x:
                total = total + row * i
        count = 0
        while bool(total.abs().sum() > 1.0) and count < 20:      #: aten::abs
            total = torch.tanh(self.linear(total)) * 0.5
            count += 1
            if count >= steps:
                break
        return total


class Branches(nn.Module):
    """if on data, on shape, on an attribute; early returns; an exception in a branch; a ternary; assert."""
    threshold: float

    def __init__(self):
        super().__init__()
        self.threshold = 0.25
        self.first = nn.Linear(4, 4)
        self.second = nn.Linear(4, 4)

    def forward(self, x: Tensor, flag: bool) -> Tensor:
        assert x.dim() == 2, "two dimensions are needed"
        if x.size(1) != 4:
            raise ValueError("expected 4 features, got {}".format(x.size(1)))
        if x.mean() > self.threshold:
            y = self.first(x)
            if flag:
                return y * 2
        else:
            y = self.second(x)
        scale = 1.0 if flag else 0.5
        return y * scale


class Lists(nn.Module):
    """append, extend, pop, insert, item assignment, slices, comprehension, zip, enumerate, sorted, lists of lists."""

    def forward(self, xs: List[Tensor], sizes: List[int]) -> Tuple[Tensor, List[Tensor], int]:
        kept: List[Tensor] = []
        for i, (x, size) in enumerate(zip(xs, sizes)):
            if size > 1:
                kept.append(x[:size] + i)
        kept.extend([x * 2 for x in xs])
        last = kept.pop()
        kept.insert(0, last)
        kept[1] = kept[1].relu()                                  #: aten::relu
        nested: List[List[int]] = [[s, s + 1] for s in sorted(sizes)]
        total = 0
        for pair in nested:
            total += pair[0] * pair[-1]
        return torch.cat(kept[::2], 0), kept, total + len(kept)


class Dictionaries(nn.Module):
    """Lookup, membership, update, items, keys, get; a dictionary in and one out."""

    def forward(self, inputs: Dict[str, Tensor]) -> Dict[str, Tensor]:
        counts: Dict[int, int] = {}
        out: Dict[str, Tensor] = {"sum": inputs["a"] + inputs["b"]}
        for name, value in inputs.items():
            rank = value.dim()
            counts[rank] = counts.get(rank, 0) + 1
            if name != "a":
                out[name + "_scaled"] = value * counts[rank]
        if "c" in inputs:
            out["c"] = inputs["c"]
        else:
            out["c"] = torch.zeros_like(inputs["a"])
        for key in list(out.keys()):
            out[key] = out[key].sigmoid()                         #: aten::sigmoid
        return out


class Detections(NamedTuple):
    boxes: Tensor
    scores: Tensor
    labels: Optional[Tensor]


class NamedTuples(nn.Module):
    """A NamedTuple passed between methods and returned, tuples of tuples, unpacking."""

    def select(self, found: Detections, keep: Tensor) -> Detections:
        labels = found.labels
        if labels is not None:
            labels = labels[keep]
        return Detections(found.boxes[keep], found.scores[keep], labels)

    def forward(self, boxes: Tensor, scores: Tensor) -> Tuple[Detections, Tuple[Tensor, Tuple[Tensor, int]]]:
        best, labels = scores.max(dim=1)
        keep = torch.where(best > 0.5)[0]                         #: aten::where
        found = self.select(Detections(boxes, best, labels), keep)
        return found, (found.boxes.sum(), (found.scores, boxes.size(0)))


class Optionals(nn.Module):
    """Optional inputs, an optional attribute that is None, refinement by `is None`, unwrapping."""

    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.randn(4))
        self.register_parameter("shift", None)

    def forward(self, x: Tensor, mask: Optional[Tensor] = None, factor: Optional[float] = None) -> Tensor:
        if mask is not None:
            x = x.masked_fill(mask, 0.0)
        if factor is None:
            factor = 2.0
        if self.shift is not None:
            x = x + self.shift
        return F.layer_norm(x * factor, [4], weight=self.scale)   #: aten::layer_norm


class Containers(nn.Module):
    """ModuleList, ModuleDict, ParameterList, Sequential, a shared submodule, a loop over named children."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(4, 4) for _ in range(3))
        self.heads = nn.ModuleDict({"first": nn.Linear(4, 2), "second": nn.Sequential(nn.Linear(4, 2), nn.Tanh())})
        self.norms = nn.ModuleList([nn.BatchNorm1d(4), nn.Identity(), nn.LayerNorm(4)])
        self.shared = self.layers[0]

    def forward(self, x: Tensor, name: str) -> Dict[str, Tensor]:
        for i, (layer, norm) in enumerate(zip(self.layers, self.norms)):
            x = norm(layer(x))
            if i == 1:
                x = self.shared(x)
        out: Dict[str, Tensor] = {}
        for key, head in self.heads.items():
            if key == name or name == "all":
                out[key] = head(x)
        return out


class Counter:
    """A class of the model's own, held in a local variable; compiled where it is used."""

    def __init__(self, start: int):
        self.value = start
        self.seen: List[int] = []

    def add(self, step: int) -> int:
        self.value += step
        self.seen.append(self.value)
        return self.value


class Classes(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        counter = Counter(2)
        for i in range(x.size(0)):
            counter.add(i)
        return x.repeat(counter.value, len(counter.seen))         #: aten::repeat


@torch.jit.interface
class Activation(nn.Module):
    def forward(self, input: Tensor) -> Tensor:
        pass


class Interfaces(nn.Module):
    """A submodule called through an interface: the call can't be inlined by its type alone."""
    act: Activation

    def __init__(self):
        super().__init__()
        self.act = nn.SiLU()

    def forward(self, x: Tensor) -> Tensor:
        return self.act(x) + 1


class Strings(nn.Module):
    """Strings, printing, formatting, isinstance, dtype and device values, numbers in and out."""

    def __init__(self):
        super().__init__()
        self.mode = "mean"

    def forward(self, x: Tensor, weight: float, power: int) -> Tuple[Tensor, float, int, bool]:
        kind = self.mode.upper()
        if kind.startswith("ME"):
            y = x.mean()
        elif kind == "SUM":
            y = x.sum()
        else:
            print("unknown mode", self.mode)
            y = x.flatten()[0]
        if x.dtype == torch.float16 or x.is_cuda:
            y = y.float()
        number = float(y.item()) * weight
        return y.to(x.device) ** power, number, int(x.numel()) // 2, torch.jit.isinstance(number, float)


class Forked(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        future = torch.jit.fork(self.linear, x)
        return torch.jit.wait(future) + x


class MissingInBlocks(nn.Module):
    """Operators without an ONNX form, in each kind of block and in a method of a submodule."""

    def __init__(self):
        super().__init__()
        self.inner = MissingInner()

    def forward(self, x: Tensor, grid: Tensor, steps: int) -> Tensor:
        sampled = F.grid_sample(x, grid, align_corners=False)     #: missing aten::grid_sampler < 16
        for i in range(steps):
            matrix = sampled[0, 0]
            if matrix.sum() > 0:
                matrix = torch.linalg.pinv(matrix)                #: missing aten::linalg_pinv
            else:
                matrix = torch.linalg.svdvals(matrix)             #: missing aten::linalg_svdvals
            sampled = sampled + matrix.sum() * i
        return self.inner(sampled)


class MissingInner(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        values = torch.linalg.eigvalsh(x @ x.transpose(-1, -2))   #: missing aten::linalg_eigvalsh
        return torch.cummax(values, dim=-1)[0].relu()             #: aten::cummax


def loops() -> Example:
    return Example(Loops(), (torch.randn(5, 4), 7))


def branches() -> Example:
    return Example(Branches(), (torch.randn(3, 4), True))


def lists() -> Example:
    return Example(Lists(), ([torch.randn(3, 2), torch.randn(4, 2), torch.randn(2, 2)], [2, 1, 2]))


def dictionaries() -> Example:
    return Example(Dictionaries(), ({"a": torch.randn(3), "b": torch.randn(3), "d": torch.randn(2, 3)},))


def named_tuples() -> Example:
    return Example(NamedTuples(), (torch.rand(6, 4), torch.rand(6, 3)))


def optionals() -> Example:
    return Example(Optionals(), (torch.randn(3, 4), torch.rand(3, 4) > 0.5))


def containers() -> Example:
    return Example(Containers(), (torch.randn(3, 4), "all"))


def classes() -> Example:
    return Example(Classes(), (torch.randn(3, 2),))


def interfaces() -> Example:
    return Example(Interfaces(), (torch.randn(3, 2),))


def strings() -> Example:
    return Example(Strings(), (torch.randn(3, 2), 1.5, 2))


def forked() -> Example:
    return Example(Forked(), (torch.randn(3, 4),))


def missing_in_blocks() -> Example:
    return Example(MissingInBlocks(), (torch.randn(1, 2, 5, 5), torch.rand(1, 4, 4, 2) * 2 - 1, 2))
