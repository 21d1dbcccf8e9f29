"""Models that are about the file rather than the graph: dtypes, storages, sizes, devices, methods, versions."""
from typing import Dict, List, Tuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from registry import Example


class Devices(nn.Module):
    """Constants and new tensors on a named device, as a trace made on a GPU holds them."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.register_buffer("table", torch.randn(8, 4))

    def forward(self, x: Tensor) -> Tensor:
        cpu = torch.device("cpu")
        steps = torch.arange(x.size(0), device=cpu)
        start = torch.zeros(x.size(0), 4, device=cpu)
        shift = torch.tensor([1.0, 2.0, 3.0, 4.0], device=cpu)
        return self.linear(x.to(cpu)) + F.embedding(steps, self.table) + start + shift


def gpu() -> Example:
    return Example(Devices(), (torch.randn(3, 4),))


class SharedStorages(nn.Module):
    """Tied weights, two parameters in one storage, a transposed and an expanded buffer, an unused parameter."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(10, 4)
        self.head = nn.Linear(4, 10, bias=False)
        self.head.weight = self.embed.weight
        flat = torch.randn(24)
        self.first = nn.Parameter(flat[:8].view(2, 4))
        self.second = nn.Parameter(flat[8:].view(4, 4).t())
        self.register_buffer("wide", torch.randn(1, 4).expand(3, 4))
        self.register_buffer("column", torch.randn(3, 4)[:, 2])
        self.unused = nn.Parameter(torch.randn(7, 3))
        self.empty = nn.Parameter(torch.empty(0, 4))

    def forward(self, ids: Tensor) -> Tensor:
        x = self.embed(ids) @ self.second + self.wide + self.column[:, None]
        return self.head(torch.cat([x, self.first, self.empty]))


def shared_storages() -> Example:
    return Example(SharedStorages(), (torch.tensor([1, 5, 9]),))


class Precisions(nn.Module):
    """Parameters of every dtype."""

    def __init__(self):
        super().__init__()
        self.in_half = nn.Linear(4, 4).half()
        self.in_bfloat = nn.Linear(4, 4).bfloat16()
        self.in_double = nn.Linear(4, 4).double()
        self.register_buffer("integers", torch.arange(-2, 2, dtype=torch.int8))
        self.register_buffer("bytes", torch.arange(4, dtype=torch.uint8))
        self.register_buffer("shorts", torch.arange(4, dtype=torch.int16))
        self.register_buffer("flags", torch.tensor([True, False, True, True]))
        self.register_buffer("number", torch.tensor(3))

    def forward(self, x: Tensor) -> Tuple[Tensor, Tensor, Tensor]:
        y = self.in_half(x.half()).float() + self.integers * self.bytes + self.shorts
        z = self.in_bfloat(x.to(torch.bfloat16))
        return y.masked_fill(self.flags, 0), self.in_double(x.double()) * self.number, z.float()


def precisions() -> Example:
    return Example(Precisions(), (torch.randn(2, 4),))


class ChannelsLast(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3).to(memory_format=torch.channels_last)

    def forward(self, x: Tensor) -> Tensor:
        return self.conv(x.contiguous(memory_format=torch.channels_last)).relu()


def channels_last() -> Example:
    return Example(ChannelsLast(), (torch.randn(1, 3, 6, 6),))


class Nested(nn.Module):
    """Tuples, lists and dictionaries in and out."""

    def forward(self, pair: Tuple[Tensor, Tensor], named: Dict[str, Tensor]) -> Dict[str, Tuple[Tensor, Tensor]]:
        a, b = pair
        return {"sum": (a + named["bias"], b), "product": (a * b, named["scale"].exp())}


def nested() -> Example:
    inputs = (torch.randn(2, 3), torch.randn(2, 3)), {"bias": torch.randn(3), "scale": torch.randn(1)}
    return Example(Nested(), inputs, strict=False)


class Training(nn.Module):
    """Saved in training mode: dropout drops, batch norm counts."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3)
        self.bn = nn.BatchNorm2d(4)

    def forward(self, x: Tensor) -> Tensor:
        return F.dropout(self.bn(self.conv(x)), 0.5, self.training)           #: aten::dropout


def training() -> Example:
    return Example(Training(), (torch.randn(2, 3, 6, 6),), train=True)


class Methods(nn.Module):
    """Exported methods beside forward, one ignored, one that only Python calls."""

    def __init__(self):
        super().__init__()
        self.encoder = nn.Linear(6, 2)
        self.decoder = nn.Linear(2, 6)

    @torch.jit.export
    def encode(self, x: Tensor) -> Tensor:
        return self.encoder(x).tanh()

    @torch.jit.export
    def decode(self, code: Tensor) -> Tensor:
        return torch.linalg.pinv(self.decoder(code))      # not reached from forward

    @torch.jit.unused
    def plot(self, x: Tensor) -> Tensor:
        raise RuntimeError("for notebooks")

    def forward(self, x: Tensor) -> Tensor:
        return self.decoder(self.encode(x))


def methods() -> Example:
    return Example(Methods(), (torch.randn(3, 6),))


class BakedIn(nn.Module):
    """What a trace silently fixes: a branch on data, a size as a Python number, a Python loop, a constant."""

    def forward(self, x: Tensor) -> Tensor:
        batch = int(x.shape[0])
        if x.sum() > 1e9:
            x = x * 2
        for i in range(batch):
            x = x + i
        return x.reshape(batch, -1) + torch.ones(batch, 1)


def baked_in() -> Example:
    return Example(BakedIn(), (torch.randn(3, 2, 2),))


class OldOperators(nn.Module):
    """Operators whose meaning or signature changed since; the edited version makes the reader upgrade them."""

    def forward(self, x: Tensor, i: Tensor) -> Tuple[Tensor, Tensor, Tensor]:
        return i / 2, x / i, torch.full([2, 3], 4.0)                          #: aten::div


def old_version() -> Example:
    return Example(OldOperators(), (torch.randn(3), torch.arange(3) + 1))


class Mlp(nn.Module):
    def __init__(self, width: int, depth: int):
        super().__init__()
        with torch.device("meta"):
            self.layers = nn.ModuleList(nn.Linear(width, width, bias=False) for _ in range(depth))
        for layer in self.layers:       # zeros take no memory until they are written
            layer.weight = nn.Parameter(torch.zeros(width, width))
            layer.weight.data[0].normal_()

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = x + layer(x).relu()
        return x


def large() -> Example:
    """Four weights of 400 MB."""
    return Example(Mlp(10_000, 4), (torch.randn(1, 10_000),))


def large_twin() -> Example:
    """The graph of `large` with 1 MB of weights."""
    return Example(Mlp(256, 4), (torch.randn(1, 256),))


def heavy() -> Example:
    """A weight of 16 MB, which an archive compresses to nothing."""
    module = Mlp(2048, 1)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.fill_(1 / 2048)
    return Example(module, (torch.randn(1, 2048),))
