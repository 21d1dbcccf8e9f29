"""Texts that are known, arguments `out=` that a call overwrites, strides of quantized tensors, and attributes that a call sets."""
from typing import Dict, Optional

import torch
from torch import Tensor, nn

from layer_cases import Case


class CacheByText(nn.Module):
    """A cache keyed by the text of sizes, as in RIFE's warp."""

    def forward(self, x):
        cache: Dict[str, Tensor] = {}
        key = str(x.device) + str(x.size())
        if key not in cache:
            cache[key] = torch.linspace(-1.0, 1.0, x.size(3)).view(1, 1, 1, -1).expand(x.size(0), -1, x.size(2), -1)
        return x + cache[key]


class KeptCacheByText(nn.Module):
    cache: Dict[str, Tensor]

    def __init__(self):
        super().__init__()
        self.cache = {}

    def forward(self, x):
        key = str(x.device) + str(x.size())
        if key not in self.cache:
            self.cache[key] = torch.linspace(-1.0, 1.0, x.size(3)).view(1, 1, 1, -1).expand(x.size(0), -1, x.size(2), -1)
        return x + self.cache[key]


def texts_of_values(x):
    none: Optional[int] = None
    parts = [str([1, 2]), str([0.5, 2.0, 1e30]), str([True]), str(["a", "b"]), str((1, 2.5, "z")), str((4,)), str(x.size()), str(x.dtype),
             str(none), str([[1], [2, 3]]), "{}-{}".format([1], x.device)]
    wanted = ["[1, 2]", "[0.5, 2., 1e+30]", "[True]", "[a, b]", "(1, 2.5, z)", "(4,)", "[2, 3]", "6", "None", "[[1], [2, 3]]", "[1]-cpu"]
    if parts == wanted:
        return x + 1
    return x * 0


class OutIntoBuffer(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.register_buffer("o", torch.zeros(size))

    def forward(self, x):
        torch.arange(5, out=self.o)
        return x + self.o


class OutsInTurn(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("o", torch.zeros(3, 4))

    def forward(self, x):
        torch.add(x, 1.0, out=self.o)
        torch.mul(self.o, 2.0, out=self.o)
        return self.o + 0.0


class OutThatKeeps(nn.Module):
    """The sum of all calls so far."""

    def __init__(self):
        super().__init__()
        self.register_buffer("o", torch.zeros(3, 4))

    def forward(self, x):
        torch.add(self.o, x, out=self.o)
        return self.o + 0.0


class GivenBias(nn.Module):
    """A bias that each call sets, then asks for."""

    def __init__(self):
        super().__init__()
        self.conv, self.gain = nn.Conv2d(3, 4, 3), nn.Parameter(torch.randn(4))

    def forward(self, x):
        self.conv.bias = self.gain
        y = self.conv(x)
        return y + 1 if self.conv.bias is not None else y


def quantized_frames(x):
    q = torch.quantize_per_tensor(x, 0.1, 10, torch.quint8)
    return q.as_strided([2, 3], [4, 1]).dequantize(), q.t().as_strided([2, 3], [1, 2]).dequantize()


def frames_of_integers(x):
    q = torch.quantize_per_tensor(x.t(), 0.1, 10, torch.quint8)
    return q.int_repr().as_strided([2, 3], [3, 1]), q.dequantize().as_strided([2, 2], [2, 1], 1)


def cases():
    made = {}
    image = [(torch.randn(1, 2, 5, 6),)]
    made["texts_cache"] = Case(CacheByText(), image, script=True)
    made["texts_kept_cache"] = Case(KeptCacheByText(), image, script=True)
    made["texts_of_values"] = Case(texts_of_values, [(torch.randn(2, 3),)], script=True)
    made["out_into_buffer"] = Case(OutIntoBuffer(5), [(torch.randn(5),), (torch.randn(5),)], script=True)
    made["out_into_buffer_traced"] = Case(OutIntoBuffer(5), [(torch.randn(5),), (torch.randn(5),)])
    made["outs_in_turn"] = Case(OutsInTurn(), [(torch.randn(3, 4),), (torch.randn(3, 4),)], script=True)
    made["out_that_keeps"] = Case(OutThatKeeps(), [(torch.randn(3, 4),)], script=True, refused="keeps its value from call to call")
    made["given_bias"] = Case(GivenBias(), [(torch.randn(n, 3, 8, 8),) for n in (2, 1)], ("f32:n,3,8,8",), script=True)
    rows = [(torch.randn(3, 4),), (torch.randn(3, 4),)]
    made["quantized_frames"] = Case(quantized_frames, rows, script=True, opsets=range(10, 27))
    made["quantized_frames_of_integers"] = Case(frames_of_integers, rows, script=True, opsets=range(10, 27))
    return made
