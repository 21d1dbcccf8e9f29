#!/usr/bin/env python3
"""Models of whose inputs neither the file nor the caller says enough: what is assumed, what is asked for, and what is left out.

Scripted models and traced ones whose example inputs can't be read. Every convertible one is verified as well, without --input.
"""
import argparse, json, os, pathlib, re, subprocess, sys, tempfile, warnings
from typing import Any, Dict, List, Optional, Tuple

warnings.filterwarnings("ignore")
import jsonschema
import onnx
import torch
import torch.nn.functional as F
from torch import Tensor, nn

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "convert"))
from days import part_of_the_day

# Paths may be long: nothing is cut.
WIDE = os.environ | {"COLUMNS": "1000"}


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.head = nn.Conv2d(3, 4, 3), nn.Linear(4, 2)

    def forward(self, x):
        return self.head(self.conv(x).relu().mean([2, 3]))


class Pooled(Classifier):
    def forward(self, x):
        return self.head(F.adaptive_avg_pool2d(self.conv(x), [2, 2]).mean([2, 3]))


class Elementwise(nn.Module):
    def forward(self, x):
        return torch.relu(x) * 2


class Three(nn.Module):
    """What it refuses tells what it takes."""

    def forward(self, x):
        if x.dim() != 3:
            raise ValueError("three dimensions are wanted")
        assert x.size(1) == 5
        return x * 2


class Inverse(nn.Module):
    """Converts unless its input has 2 dimensions."""

    def forward(self, x):
        if x.dim() == 2:
            x = torch.linalg.pinv(x)
        return x + 1


class Joined(nn.Module):
    def forward(self, xs: List[Tensor]):
        return torch.cat(xs, 1).sigmoid()


class Counted(nn.Module):
    """ONNX has no list of several dtypes, unless it is known how many members it has."""

    def forward(self, xs: List[Tensor]):
        made: List[Tensor] = []
        for i, x in enumerate(xs):
            made.append(x * x.size(1) if i == 0 else x.long())
        return made


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down, self.up = nn.Conv2d(3, 4, 3, padding=1), nn.Conv2d(8, 2, 3, padding=1)

    def forward(self, x):
        y = self.down(x)
        return self.up(torch.cat([F.interpolate(F.max_pool2d(y, 2), scale_factor=2.0), y], 1))


class Attention(nn.Module):
    def forward(self, q, k, v):
        return F.scaled_dot_product_attention(q, k, v)


class PickedByMask(nn.Module):
    """Positions would fit, too, but nobody inverts them."""

    def forward(self, x, mask):
        x = x.clone()
        x[mask] = 0
        return x, x[~mask].sum()


class Masked(nn.Module):
    """The mask has one dimension less: x has three of them."""

    def forward(self, x, mask):
        return x.masked_fill(mask.unsqueeze(-1), 0.0).transpose(1, 2)


class Flat(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(48, 4)

    def forward(self, x):
        return self.linear(x.view(-1, 48))


class Rows(nn.Module):
    """Only 48 numbers fit."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(8, 4)

    def forward(self, x):
        return self.linear(x.reshape(6, 8))


class Halves(nn.Module):
    """Takes no more than two rows, which nothing but a run shows."""

    def forward(self, x):
        if x.size(0) > 2:
            raise ValueError("two rows at most")
        return x.softmax(1)


class Doubled(nn.Module):
    def forward(self, x):
        return x * 2


class Pair(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(6, 4)

    def forward(self, pair: Tuple[Tensor, Tensor]):
        return self.linear(torch.cat([pair[0], pair[1]], 0))


class Members(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear, self.words = nn.Linear(6, 6), nn.Embedding(9, 6)

    def forward(self, batch: Dict[str, Tensor]):
        return self.linear(batch["x"]) + self.words(batch["ids"])


class Branches(nn.Module):
    """Asked for its first members alone, each of other sizes, the list is so many inputs."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(4, 8), nn.Linear(6, 8)])

    def forward(self, xs: List[Tensor]):
        made: List[Tensor] = []
        for i, layer in enumerate(self.layers):
            made.append(layer(xs[i]))
        return torch.stack(made, 1).sum(1)


class Beside(nn.Module):
    """Only the sizes of x decide."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3)

    def forward(self, x, y):
        return F.adaptive_avg_pool2d(self.conv(x), [2, 2]) * y.softmax(0)


class Listed(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(6, 4)

    def forward(self, xs: List[Tensor]):
        return self.linear(xs[0])


class Plain(nn.Module):
    """Numbers and flags that a call must give stay inputs."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(6, 4)

    def forward(self, x, scale: float, flag: bool):
        y = self.linear(x) * scale
        return y if flag else -y


class Required(nn.Module):
    """An Optional that a call must give is taken to be a tensor."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(6, 4)

    def forward(self, x, added: Optional[Tensor]):
        y = self.linear(x)
        return y if added is None else y + added


class Defaults(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(6, 6)

    def forward(self, x, flag: bool = False, dim: int = 1, mode: str = "soft", scale: float = 2.0, power: Optional[int] = None):
        y = self.linear(x)
        if flag:
            y = torch.linalg.pinv(y)
        if mode == "soft":
            y = y.softmax(dim)
        else:
            y = torch.linalg.svdvals(y)
        if power is not None:
            y = torch.linalg.matrix_power(y, power)
        return y * scale


class Dequantized(nn.Module):
    def forward(self, x):
        return x.dequantize() + 1


class BesideQuantized(nn.Module):
    def forward(self, x, y):
        return x.dequantize() + y


class Dense(nn.Module):
    def forward(self, x):
        return x.to_dense() + 1


class Heads(nn.Module):
    """Rows have too few elements for it."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(8, 24)

    def forward(self, x):
        return self.linear(x).view(x.size(0), x.size(1), 3, 8)


class Split(nn.Module):
    def forward(self, x):
        return x.view(x.size(0), x.size(1), 3, 8)


class Bags(nn.Module):
    def __init__(self):
        super().__init__()
        self.bags = nn.EmbeddingBag(10, 3)

    def forward(self, x, offsets):
        return self.bags(x, offsets)


class Cell(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.LSTMCell(3, 4)

    def forward(self, x, h, c):
        return self.cell(x, (h, c))


class ReadsSizes(nn.Module):
    def forward(self, x, t):
        if bool(t > 0):
            return x + 1
        return x


class Scaled(nn.Module):
    def forward(self, x, n):
        return x * float(n.item())


class Shortened(nn.Module):
    def forward(self, x, n):
        return x[:, : int(n)] * 2


class Longest(nn.Module):
    def forward(self, x, lengths):
        return x[:, : int(lengths[0])] * 2


class First(nn.Module):
    def forward(self, x):
        if bool(x[0] > 1):
            return x + 1
        return x * 2


class Sampled(nn.Module):
    def forward(self, x, grid):
        return F.grid_sample(x, grid)


class Named(nn.Module):
    """Texts are neither tensors nor numbers: they must be known."""

    def forward(self, x, names: List[str]):
        if names[0] == "a":
            return x + len(names)
        return x * 2


class NamedInside(nn.Module):
    names: List[str]

    def __init__(self):
        super().__init__()
        self.names = ["a", "b"]

    def forward(self, x):
        if self.names[0] == "a":
            return x + len(self.names)
        return x * 2


@torch.jit.script
class Settings:
    def __init__(self, scale: float):
        self.scale = scale


class Configured(nn.Module):
    """An object of the user's own class."""

    def forward(self, x, settings: Settings):
        return x * settings.scale


class Keyed(nn.Module):
    def forward(self, x, members: Dict[float, Tensor]):
        return x * members[1.0]


class Anything(nn.Module):
    def forward(self, x, n: Any):
        return x + n if isinstance(n, int) else x


class Nested(nn.Module):
    def forward(self, x, pair: Tuple[Tensor, List[Tensor]]):
        return x * pair[0] + torch.cat(pair[1], 0)


class PairOfTexts(nn.Module):
    def forward(self, x, pair: Tuple[Tensor, List[str]]):
        return x + 1 if pair[1][0] == "a" else x * pair[0]


class Shaped(nn.Module):
    """How many numbers it is given decides."""

    def forward(self, x, shape: List[int]):
        return x.sum() + torch.ones(shape)


class Summed(nn.Module):
    """How many dimensions must be known, and which ones only at run time."""

    def forward(self, x, dims: List[int]):
        return x.sum(dims)


class SummedOrNot(nn.Module):
    def forward(self, x, dims: Optional[List[int]]):
        return x.sum(dims)


class Times(nn.Module):
    def forward(self, x, n: Optional[int]):
        return x if n is None else x * n


class Deep(nn.Module):
    """Dictionaries and lists in dictionaries."""

    def forward(self, batch: Dict[str, Dict[str, Tensor]], rows: List[List[Tensor]]):
        return batch["a"]["x"] @ batch["a"]["y"], torch.cat(rows[0], 0)


class Product(nn.Module):
    def forward(self, k: Dict[str, Tensor]):
        return k["a"] @ k["b"]


class ProductOrNot(nn.Module):
    def forward(self, x, k: Optional[Dict[str, Tensor]] = None):
        if k is not None:
            x = x + k["a"] @ k["b"]
        return x


class Short(nn.Module):
    """Takes no more than two rows, which nothing but a run shows: of a dictionary and of a list."""

    def forward(self, k: Dict[str, Tensor], xs: List[Tensor]):
        if k["a"].size(0) > 2 or xs[0].size(0) > 2:
            raise ValueError("two rows at most")
        return k["a"].softmax(1), torch.cat(xs, 0)


class Looked(nn.Module):
    """Ids, a tensor of any dtype, and one that nothing reads."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(10, 4)

    def forward(self, ids, x, unread):
        return self.words(ids), x + 1


class MaskedList(nn.Module):
    def forward(self, xs: List[Tensor], mask):
        return torch.masked_fill(xs[0], mask, 0.0) + xs[1]


class Sum(nn.Module):
    def forward(self, xs: List[Tensor]):
        return xs[0] + xs[1]


class AdaptivePool(nn.Module):
    def forward(self, x):
        return F.adaptive_avg_pool1d(x, 4) * 2


class AdaptiveMax(nn.Module):
    def forward(self, x):
        return F.adaptive_max_pool2d(x, (2, 3))


class AdaptiveTwo(nn.Module):
    """Its name stands in both inputs."""

    def forward(self, x, y):
        return F.adaptive_avg_pool1d(x, 4) + F.adaptive_avg_pool1d(y, 4)


class Folded(nn.Module):
    def forward(self, x):
        return F.fold(x, (5, 6), 2)


class Decomposed(nn.Module):
    def forward(self, x):
        return torch.linalg.qr(x)[0]


def quantized():
    return torch.quantize_per_tensor(torch.randn(2, 3), 0.1, 3, torch.quint8)


def per_channel():
    return torch.quantize_per_channel(torch.randn(2, 3), torch.tensor([0.1, 0.2]), torch.tensor([0, 0]), 0, torch.qint8)


class JoinedFactor(nn.Module):
    """The sizes of two inputs together fit a third: neither is settled."""

    def forward(self, a, b, c):
        return torch.cat([a, b], 1) @ c


class NumberOrRow(nn.Module):
    """Asks whether it has one element before it reads it as a number."""

    def forward(self, x):
        if x.numel() == 1:
            return x * float(x.item())
        return x + 1


class MaybeMany(nn.Module):
    def forward(self, x, d: Optional[List[Tensor]]):
        assert d is not None
        for each in d:
            x = x + each
        return x


class Past(nn.Module):
    """A state that a call may leave out, as the first step of a decoder does."""

    def forward(self, x, past: Optional[Tuple[Tensor, Tensor]]):
        if past is not None:
            x = torch.cat([past[0], x * past[1]], 0)
        return x.relu()


class TextBeside(nn.Module):
    """A text among the outputs, and a list that decides."""

    def forward(self, x, d: Optional[List[Tensor]]) -> Tuple[Tensor, str]:
        if d is not None:
            x = x + len(d)
        return x, "a"


class TextOfLength(nn.Module):
    def forward(self, d: Optional[List[Tensor]]) -> str:
        y = "a"
        if d is not None:
            if len(d) > 1:
                y = "b"
        return y


class TextOfKeys(nn.Module):
    def forward(self, x, d: Dict[str, Tensor]) -> Tuple[Tensor, str]:
        y = ""
        for key, value in d.items():
            y += key
            x = x + value
        return x, y


class Raising(nn.Module):
    def forward(self, x):
        if x.size(0) > 5:
            raise ValueError("too many rows. Got {}".format(x.size(0)))
        return x.relu()


class Mode(nn.Module):
    """Its default settles which way is taken, and that it doesn't raise."""

    def forward(self, x, mode: str = "double"):
        if mode == "pinv":
            x = torch.linalg.pinv(x)
        elif mode == "double":
            x = x * 2
        else:
            raise ValueError("no such mode")
        return x


class Detector(nn.Module):
    """Lists of dictionaries whose length only the list of images tells."""

    def forward(self, images: List[Tensor]):
        found: List[Dict[str, Tensor]] = []
        sizes: List[Tuple[int, int]] = []
        for image in images:
            sizes.append((image.shape[-2], image.shape[-1]))
            found.append({"scores": image.sigmoid().flatten(), "labels": image.argmax(0)})
        for i, each in enumerate(found):
            each["area"] = torch.tensor(sizes[i][0] * sizes[i][1])
            if "labels" in each:
                each["labels"] = each["labels"] + 1
        return found


class MaybeCounted(nn.Module):
    def forward(self, x, d: Optional[List[Tensor]]):
        if d is not None:
            for i in range(len(d)):
                x = x + d[i]
        return x.relu()


class Pairs(nn.Module):
    def forward(self, x, pairs: List[Tuple[Tensor, Tensor]]):
        for a, b in pairs:
            x = x + a * b
        return x


class CrossAttention(nn.Module):
    """Asks whether two inputs are one object."""

    def __init__(self):
        super().__init__()
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)

    def forward(self, q, k):
        return self.attention(q, k, k)[0]


class Windows(nn.Module):
    """Rows of what is made of sizes alone settle no input's."""

    def forward(self, x):
        h, w, c = x.shape
        mask = torch.zeros(h * 3, w).view(h, 3, w // 3, 3).permute(0, 2, 1, 3).reshape(-1, 9)
        return x.view(h, w, c).sum() + mask.sum()


class Plane(nn.Module):
    def forward(self, x):
        h, w = x.shape
        return torch.zeros(h, w).view(-1, 9)


class SquareRoot(nn.Module):
    """The first iteration of its loop asks for a square matrix; what the loop carries has lost its sizes by then."""

    def forward(self, x):
        eye = torch.eye(x.shape[0])
        y, z = x / x.norm(), eye
        i = 0
        while i < 5:
            y = 0.5 * y * (3 * eye - z @ y)
            i += 1
        return y


class Gated(nn.Module):
    """A number in place of either member would fit, too."""

    def forward(self, x, past: Tuple[Tensor, Tensor]):
        return x + past[0] * past[1]


class ScaledBefore(nn.Module):
    """As would a number for y."""

    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.randn(3, 4))

    def forward(self, x, y):
        return x.softmax(1) + y * self.scale


class GuardedBySizes(nn.Module):
    """The sum runs if the sizes are equal, which the inputs aren't for that."""

    def forward(self, a, b):
        if a.shape == b.shape:
            return a + b
        return a


class Weighted(nn.Module):
    """A batch of what the weight is for."""

    def __init__(self, *sizes):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(sizes))

    def forward(self, x):
        return x * self.weight


class NormalizedFeatures(nn.Module):
    """Of sequences, it would be a chance that there are as many steps as features."""

    def __init__(self):
        super().__init__()
        self.linear, self.norm = nn.Linear(4, 5), nn.BatchNorm1d(5)

    def forward(self, x):
        return self.norm(self.linear(x))


class Transposed(nn.Module):
    """Three dimensions would be taken by one of the two."""

    def forward(self, x):
        return x.t(), x.expand(2, -1, -1)


class ConjugatedOnce(nn.Module):
    def forward(self, x):
        return x.H, x.expand(2, -1, -1)


class Unpooled(nn.Module):
    def forward(self, x, places):
        return torch.ops.aten.max_unpool2d(x, places, [8, 8])


class Convolved(nn.Module):
    """Nothing but the operator tells how many dimensions its weight has."""

    def forward(self, x, w):
        return F.conv2d(x, w)


class ConvolvedBack(nn.Module):
    def forward(self, x, w, b):
        return F.conv_transpose1d(x, w, b, stride=2)


class ByTime(nn.Module):
    def forward(self, x, w, b):
        return torch.conv_tbc(x, w, b)


class Filtered(nn.Module):
    """The kernel is a row of numbers, of any shape."""

    def forward(self, x, w):
        return F.conv1d(x.unsqueeze(1), w.view(1, 1, -1))


class FilteredByPlane(nn.Module):
    def forward(self, x, k):
        return F.conv2d(x, k[None, None])


class Siamese(nn.Module):
    """The template's sizes are the kernel's; those of the other input may vary."""

    def __init__(self):
        super().__init__()
        self.features = nn.Conv2d(3, 4, 3)

    def forward(self, z, x):
        return F.conv2d(self.features(x), self.features(z))


class LstmStep(nn.Module):
    def forward(self, x, h, c, w, v):
        return torch.lstm_cell(x, [h, c], w, v)[0]


class SortedBothWays(nn.Module):
    def forward(self, x):
        return x.sort(1)[0], x.sort(0)[0]


class SortedApart(nn.Module):
    def forward(self, x, y):
        return x.sort(1)[0], y.sort(1)[0]


class Diagonals(nn.Module):
    def forward(self, x):
        return torch.diag_embed(x), x.diag(), x.sort(0)[0]


class Enlarged(nn.Module):
    def forward(self, x, f: float):
        return F.interpolate(x, scale_factor=f)


# name: module, what is assumed of each input
SCRIPTED = {
    "guarded_by_sizes": (GuardedBySizes(), {"a": "f32:a0,a1", "b": "f32:b0,b1"}),
    "weighted": (Weighted(5), {"x": "f32:x0,5"}),
    "weighted_channels": (Weighted(3, 1, 1), {"x": "f32:x0,3,x2,x3"}),
    "normalized_features": (NormalizedFeatures().eval(), {"x": "f32:x0,4"}),
    "transposed": (Transposed(), {"x": "f32:x0,x1"}),
    "conjugated_once": (ConjugatedOnce(), {"x": "f32:x0,x1"}),
    "square_root": (SquareRoot(), {"x": "f32:x0,x0"}),
    "gated": (Gated(), {"x": "f32:x0,x1", "past.0": "f32:x0,x1", "past.1": "f32:x0,x1"}),
    "scaled_before": (ScaledBefore(), {"x": "f32:3,4", "y": "f32:3,4"}),
    "windows": (Windows(), {"x": "f32:x0,x1,x2"}),
    "plane": (Plane(), {"x": "f32:x0,x1"}),
    "cross_attention": (CrossAttention(), {"q": "f32:q0,q1,8", "k": "f32:k0,k1,8"}),
    "joined_factor": (JoinedFactor(), {"a": "f32:a0,a1", "b": "f32:a0,b1", "c": "f32:c0,c1"}),
    "number_or_row": (NumberOrRow(), {"x": "f32:x0,x1"}),
    "classifier": (Classifier(), {"x": "f32:x0,3,x2,x3"}),
    "pair": (Pair(), {"pair.0": "f32:pair_0_0,6", "pair.1": "f32:pair_1_0,6"}),
    "members": (Members(), {"batch.x": "f32:batch_x0,6", "batch.ids": None}),
    "plain": (Plain(), {"x": "f32:x0,6"}),
    "required": (Required(), {"x": "f32:x0,6", "added": "f32:x0,4"}),
    "defaults": (Defaults(), {"x": "f32:x0,6"}),
    "elementwise": (Elementwise(), {"x": "f32:x0,x1"}),
    "three": (Three(), {"x": "f32:x0,5,x2"}),
    "unet": (UNet(), {"x": "f32:x0,3,x2,x3"}),
    "branches": (Branches(), {"xs.0": "f32:xs_0_0,4", "xs.1": "f32:xs_0_0,6"}),
    "picked_by_mask": (PickedByMask(), {"x": "f32:x0,x1", "mask": "bool:x0,x1"}),
    "masked": (Masked(), {"x": "f32:x0,x1,x2", "mask": "bool:x0,x1"}),
    "flat": (Flat(), {"x": "f32:x0,48"}),
    "instance_norm": (nn.InstanceNorm2d(3, affine=True), {"input": "f32:input0,3,input2,input3"}),
    "softmax": (nn.Softmax2d(), {"input": "f32:input0,input1,input2,input3"}),
    "upsample": (nn.Upsample(scale_factor=2), {"input": "f32:input0,input1,input2,input3"}),
    "heads": (Heads(), {"x": "f32:x0,x1,8"}),
    "split": (Split(), {"x": "f32:x0,x1,24"}),
    "bags": (Bags(), {"x": "i64:x0", "offsets": "i64:offsets0"}),
    "cell": (Cell(), {"x": "f32:x0,3", "h": "f32:x0,4", "c": "f32:x0,4"}),
    "asked": (ReadsSizes(), {"x": "f32:x0,x1", "t": "f32:scalar"}),
    "scaled": (Scaled(), {"x": "f32:x0,x1", "n": "f32:scalar"}),
    "shortened": (Shortened(), {"x": "f32:x0,x1", "n": "f32:scalar"}),
    "longest": (Longest(), {"x": "f32:x0,x1", "lengths": "f32:lengths0"}),
    "first": (First(), {"x": "f32:x0"}),
    "sampled": (Sampled(), {"x": "f32:x0,x1,x2,x3", "grid": "f32:x0,grid1,grid2,2"}),
    "attention": (Attention(), {"q": "f32:q0,q1", "k": "f32:k0,q1", "v": "f32:k0,v1"}),
}
TRACED = {
    "quantized": (Dequantized(), (quantized(),)),
    "per_channel": (Dequantized(), (per_channel(),)),
    "beside": (BesideQuantized(), (quantized(), torch.randn(2, 3))),
    "sparse": (Dense(), (torch.randn(3, 3).to_sparse(),)),
    "rows": (Dense(), (torch.randn(3, 3).to_sparse_csr(),)),
    "meta": (Doubled(), (torch.randn(2, 3, device="meta"),)),
    "complex": (Doubled(), (torch.randn(2, 3, dtype=torch.complex64),)),
}


class ConcatenatedTraced(nn.Module):
    def forward(self, xs: List[Tensor]):
        return torch.cat(xs)


class ReadByKey(nn.Module):
    def forward(self, d: Dict[str, Tensor], x):
        return d["a"].abs(), d["b"] * 2 + x


class MixedMembers(nn.Module):
    def forward(self, xs: List[Tensor]):
        return xs[0].abs(), xs[1] + 1


# Traced: {input: (dtype, rank)} as the file records them.
RECORDED = {
    "recorded_list": (ConcatenatedTraced(), ([torch.arange(3), torch.arange(4)],), {"xs": ("Long(*)[]", 0)}),
    "recorded_keys": (ReadByKey(), ({"a": torch.randn(2, 3, 4), "b": torch.arange(3)}, torch.arange(3)),
                      {"d.a": ("f32", 3), "d.b": ("i64", 1), "x": ("i64", 1)}),
    "recorded_mixed": (MixedMembers(), ([torch.randn(2, 3, 4), torch.arange(3)],), {"xs.0": ("f32", 3), "xs.1": ("i64", 1)}),
}


class Checks:
    def __init__(self, program, folder):
        self.program, self.folder, self.failures = program, folder, []
        self.valid = jsonschema.Draft202012Validator(json.loads(self.run("schema")[1]))

    def run(self, *arguments):
        done = subprocess.run([self.program, *map(str, arguments)], text=True, capture_output=True, env=WIDE)
        return done.returncode, done.stdout, done.stderr

    def expect(self, what, got, wanted):
        if got != wanted:
            self.failures.append(f"{what}: {got!r}, not {wanted!r}")

    def report(self, model, *arguments):
        code, out, err = self.run(model, "--format", "json", *arguments)
        if code == 3:
            self.failures.append(f"{model.name}: {err.strip()}")
            return None
        report = json.loads(out)
        self.valid.validate(report)
        return report

    def scripted(self):
        code, out, err = self.run(*(self.saved(name, module) for name, (module, _) in SCRIPTED.items()), "--format", "jsonl")
        reports = {pathlib.Path(report["model"]["path"]).stem: report for report in map(json.loads, out.splitlines())}
        self.expect(f"scripted: {err}", (code, list(reports)), (0, list(SCRIPTED)))
        for name, (_, assumed) in SCRIPTED.items():
            self.valid.validate(reports[name])
            self.assumed(name, reports[name], assumed)
        for name in part_of_the_day(SCRIPTED, "assumed", 3):
            model = self.folder / f"{name}.pt"
            code, out, err = self.run("convert", model, "-o", self.folder / f"{name}.onnx")
            self.expect(f"{name}: convert {err}", code, 0)
            self.expect(f"{name}: convert tells", "assumed --input" in err, True)
            code, out, err = self.run("verify", model)
            self.expect(f"{name}: verify {out}{err}", code, 0)

    def assumed(self, name, report, assumed):
        got = {each["name"]: each.get("option", "=").split("=", 1)[1] for each in report["model"].get("assumed", [])}
        for input, option in assumed.items():
            found = got.pop(input, None)
            if option:
                self.expect(f"{name}: {input}", found, option)
        self.expect(f"{name}: others that are assumed", got, {})
        marked = [each["name"] for each in report["model"]["inputs"] if each.get("assumed")]
        self.expect(f"{name}: marked", bool(marked), True)
        self.expect(f"{name}: verdict", report["verdict"], "yes")

    # The default counts as a constant; --input names another, and then the branches are there.
    def defaults(self):
        model = self.folder / "defaults.pt"
        report = self.report(model)
        ops = {each["op"] for each in report["operators"]}
        self.expect("defaults: operators", bool(ops & {"prim::If", "aten::linalg_pinv", "aten::linalg_svd", "aten::linalg_svdvals"}), False)
        report = self.report(model, "--input", "flag=bool:scalar")
        self.expect("defaults: a flag that is given", "aten::linalg_pinv" in {each["op"] for each in report["operators"]}, True)

    # What is asked for can be given as it is printed.
    def suggested(self):
        stated = {"pooled": ["--input", "x=f32:x0,3,224,224"], "beside": ["--input", "x=f32:x0,3,224,224"]}  # the batch keeps its name
        for name, module in {"inverse": Inverse(), "pooled": Pooled(), "beside": Beside(), "counted": Counted()}.items():
            model = self.folder / f"{name}.pt"
            torch.jit.script(module.eval()).save(model)
            opset = ["--opset", "8"] if name in stated else []   # from 9 on pools of named sizes convert
            report = self.report(model, *opset)
            self.expect(f"{name}: verdict", report["verdict"], "needs_input")
            wanted = "CC001" if name == "inverse" else "CC006"  # one finding says both that there is no mapping and when it isn't needed
            advice = [each["help"].split("the call doesn't run: ")[-1] for each in report["findings"] if each["severity"] == "error"]
            self.expect(f"{name}: findings", [each["id"] for each in report["findings"] if each["severity"] == "error"], [wanted])
            options = re.match(r"(?:--input [^\s,;]+(?:,[^\s,;]+)* ?)+", advice[0])[0].rstrip(" ,").split()
            if name in stated:
                self.expect(f"{name}: what is asked for", options, stated[name])
            self.expect(f"{name}: {options}", self.report(model, *opset, *options)["verdict"], "yes")

    # One finding for one cause: all that its calls need, and no other input.
    def suggested_once(self):
        for name, module, opset, wanted in (
            ("convolved", Convolved(), 17, ["w=f32:w0,16,224,224"]),
            ("convolved_back", ConvolvedBack(), 17, ["w=f32:x1,16,224"]),
            ("by_time", ByTime(), 17, ["w=f32:16,16,224"]),
            ("filtered", Filtered(), 17, ["w=f32:16,16"]),
            ("filtered_by_plane", FilteredByPlane(), 17, ["k=f32:16,16"]),
            ("siamese", Siamese(), 17, ["z=f32:z0,3,224,224"]),
            ("lstm_step", LstmStep(), 17, ["v=f32:16,16"]),
            ("unpooled", Unpooled(), 17, []),
            ("sorted_both_ways", SortedBothWays(), 9, ["x=f32:16,16"]),
            ("sorted_apart", SortedApart(), 9, ["x=f32:x0,16", "y=f32:y0,16"]),
            ("diagonals", Diagonals(), 9, ["x=f32:16,16"]),
        ):
            model = self.saved(name, module)
            errors = self.errors(model, "--opset", opset)
            stated = [option for each in errors for option in re.findall(r"--input ([^\s,;]+(?:,[^\s,;]+)*)", each["help"])]
            self.expect(f"{name}: {errors}", ([each["id"] for each in errors], sorted(stated)), (["CC006"] * len(wanted), wanted))
            options = [word for option in stated for word in ("--input", option)]
            self.expect(f"{name}: {options}", self.report(model, "--opset", opset, *options)["verdict"], "yes")
        errors = self.errors(self.saved("enlarged", Enlarged()), "--opset", "9")
        self.expect(f"enlarged: {errors}", [each["help"].split(" (")[0] for each in errors], ["--opset 11"])

    def saved(self, name, module, *inputs):
        model = self.folder / f"{name}.pt"
        (torch.jit.trace(module.eval(), inputs, check_trace=False) if inputs else torch.jit.script(module.eval())).save(model)
        return model

    def errors(self, model, *options):
        report = self.report(model, *options)
        return [each for each in report["findings"] if each["severity"] == "error"] if report else []

    # What no option states is refused, and the advice is for the model.
    def not_to_be_given(self):
        for name, module, advice, option in (
            ("named", Named(), "set 'names' in __init__", "--input names.0=TEXT"),
            ("configured", Configured(), "set 'settings' in __init__", ""),
            ("keyed", Keyed(), "keys that are texts or ints", ""),
            ("anything", Anything(), "annotate 'n' with one type", ""),
            ("texts", PairOfTexts(), "set 'pair' in __init__", "--input pair.1.0=TEXT"),
        ):
            model = self.saved(name, module)
            self.expect(f"{name}: verdict", self.report(model)["verdict"], "no")
            errors = self.errors(model)
            self.expect(f"{name}: advice {errors}", all(advice in each["help"] for each in errors) and bool(errors), True)
            self.expect(f"{name}: options that are named", any("--input" in each["help"] for each in errors), bool(option))
            self.expect(f"{name}: {option} in {errors}", any(option in each["help"] for each in errors), True)
        maybe = self.saved("maybe_many", MaybeMany())
        self.expect("maybe_many: options may settle it", [each for each in self.errors(maybe) if "no option states" in each["message"]], [])
        self.expect("maybe_many: with a member", self.report(maybe, "--input", "d.0=f32:2,3")["verdict"], "yes")
        self.expect("named: inside", self.report(self.saved("named_inside", NamedInside()))["verdict"], "yes")

    # Numbers, lists of numbers and None are asked for by options that were tried.
    def values(self):
        for name, module, wanted in (
            ("shaped", Shaped(), ["shape.0=i64:scalar"]),
            ("summed", Summed(), ["dims.0=i64:scalar"]),
            ("summed_or_not", SummedOrNot(), ["dims=none", "dims.0=i64:scalar"]),
            ("times", Times(), ["n=none", "n=i64:scalar"]),
        ):
            model = self.saved(name, module)
            (error,) = self.errors(model)
            options = re.findall(r"--input ([^\s,;]+)", error["help"])
            self.expect(f"{name}: {error['help']}", (error["id"], options), ("CC006", wanted))
            for option in options:
                self.expect(f"{name}: {option}", self.report(model, "--input", option)["verdict"], "yes")
                code, out, err = self.run("verify", model, "--input", option)
                self.expect(f"{name}: verify {option}: {out}{err}", code, 0)

    # Naming one member leaves the others inferred; one that the model doesn't read is an error, and so is a whole list or dictionary.
    def members(self):
        product, total = self.saved("product", Product()), self.saved("sum", Sum())
        traced = self.saved("traced_product", Product(), {"a": torch.randn(2, 3), "b": torch.randn(3, 4)})
        for model in product, traced:
            for option, inputs in (
                ("k.a=f32:2,3", {"k.a": ["2", "3"], "k.b": ["3", "k_b1"]}),
                ("k.b=f32:n,4", {"k.a": ["k_a0", "n"], "k.b": ["n", "4"]}),
            ):
                report = self.report(model, "--input", option)
                self.expect(
                    f"{model.name} {option}",
                    (report["verdict"], {each["name"]: [str(size) for size in each["shape"]] for each in report["model"]["inputs"]}),
                    ("yes", inputs),
                )
                code, out, err = self.run("verify", model, "--input", option)
                self.expect(f"{model.name} {option}: verify {out}{err}", code, 0)
            for option, stated in (
                ("k.zzz=f32:2", "reads no member 'zzz' of input 'k'; it reads k.a, k.b"),
                ("k=f32:2,3", "--input k.a=f32:2,3 --input k.b=f32:2,3"),
                ("k.a.x=f32:2", "'k.a' is Tensor"),
            ):
                code, out, err = self.run(model, "--input", option)
                self.expect(f"{model.name} {option}: {err}", (code, stated in err), (2, True))
        for model, options in (
            (self.saved("past", Past()), ["past.0=f32:p,4", "past.1=f32:4", "x=f32:n,4"]),
            (self.saved("pairs", Pairs()), ["pairs.0.0=f32:n,m", "pairs.0.1=f32:m"]),
        ):
            options = [word for option in options for word in ("--input", option)]
            self.expect(f"{model.name}: convertible", self.report(model, *options)["verdict"], "yes")
            code, out, err = self.run("verify", model, *options)
            self.expect(f"{model.name}: verify {out}{err}", code, 0)
        for name, module, output in (
            ("text_beside", TextBeside(), "output_0.1"),
            ("text_of_length", TextOfLength(), "output_0"),
            ("text_of_keys", TextOfKeys(), "output_0.1"),
        ):
            model = self.saved(name, module)
            self.expect(name, self.report(model)["verdict"], "no")
            messages = [each["message"] for each in self.errors(model) if each["id"] == "CC005"]
            self.expect(name, messages, [f"the model returns a text ({output}), but an ONNX model can only return tensors"])
            code, out, err = self.run("convert", model, "-o", self.folder / f"{name}.onnx")
            self.expect(f"{name}: convert {out}{err}", (code, f"a text ({output})" in out + err), (1, True))
        notes = [each["message"] for each in self.report(self.saved("raising", Raising()))["findings"] if each["id"] == "CC013"]
        self.expect(
            "raising", notes, ["TorchScript may raise an exception here, but the ONNX model doesn't: ValueError: too many rows. Got …"]
        )
        mode = self.saved("mode", Mode())
        self.expect(
            "mode", (self.report(mode)["verdict"], [each for each in self.report(mode)["findings"] if each["id"] == "CC013"]), ("yes", [])
        )
        detector = self.saved("detector", Detector())
        report = self.report(detector)
        self.expect(
            "detector",
            (report["verdict"], report["summary"]["missing"], [each["id"] for each in self.errors(detector)]),
            ("needs_input", 0, ["CC006"]),
        )
        option = re.search(r"--input (\S+?)[,;]? ", self.errors(detector)[0]["help"] + " ")[1]
        self.expect(f"detector {option}", self.report(detector, "--input", option)["verdict"], "yes")
        for name, module, stated in (
            ("maybe_counted", MaybeCounted(), "--input d=none or --input d.0=f32:x0,x1 and one such option for each member of the list"),
            ("past", Past(), "--input past=none or --input past.0=f32:past_0_0,x1 --input past.1=f32:x0,x1"),
        ):
            model = self.saved(name, module)
            self.expect(name, [(each["id"], each["help"]) for each in self.errors(model)], [("CC006", stated)])
            for option in stated.split(" or "):
                words = option.split(" and one")[0].split()
                self.expect(f"{name}: {words}", self.report(model, *words)["verdict"], "yes")
        for option, stated in (
            ("past=f32:2", "state its members, as in --input past.0=f32:2 --input past.1=f32:2"),
            ("past.2=f32:2", "the tuple 'past' has 2 members: past.0, past.1"),
        ):
            code, out, err = self.run(self.folder / "past.pt", "--input", option)
            self.expect(f"past {option}: {err}", (code, stated in err), (2, True))
        model = self.saved("product_or_not", ProductOrNot())
        self.expect("an optional dictionary", self.report(model, "--input", "k.a=f32:2,3")["verdict"], "yes")
        traced = self.saved("traced_sum", Sum(), [torch.randn(2, 3), torch.randn(2, 3)])
        for model in total, traced:
            for option in "xs.0=f32:n,3", "xs.1=f32:n,3":
                report = self.report(model, "--input", option)
                self.expect(
                    f"{model.name} {option}",
                    (report["verdict"], [each["name"] for each in report["model"]["inputs"]]),
                    ("yes", ["xs.0", "xs.1"]),
                )
            report = self.report(model, "--input", "xs=f32:n,m")  # a list that the model takes apart may be one input, too
            self.expect(f"{model.name} xs", (report["verdict"], [each["name"] for each in report["model"]["inputs"]]), ("yes", ["xs"]))
            for option, stated in (("xs.2=f32:n,m", "it reads xs.0, xs.1"), ("xs.y=f32:2", "no place in the list")):
                code, out, err = self.run(model, "--input", option)
                self.expect(f"{model.name} {option}: {err}", (code, stated in err), (2, True))
        # Each member of a list of any length, and members in the order of the arguments.
        for options, inputs in (
            (["xs=f64:n,4"], ["xs"]),
            (["f32:n,4"], ["xs.0"]),
            (["f32:n,4", "f32:m,2", "f32:5"], ["xs.0", "xs.1", "xs.2"]),
        ):
            given = [word for option in options for word in ("--input", option)]
            report = self.report(self.folder / "joined.pt", *given)
            self.expect(
                f"joined {options}", ([each["name"] for each in report["model"]["inputs"]], report["model"].get("assumed")), (inputs, None)
            )
            if options[-1] != "f32:5":
                code, out, err = self.run("verify", self.folder / "joined.pt", *given)
                self.expect(f"joined: verify {options} {out}{err}", code, 0)
        code, out, err = self.run(self.folder / "joined.pt", "--input", "xs=f32:n,4", "--input", "xs.0=f32:2,4")
        self.expect(f"joined: both ways {err}", (code, "states the same input in another way" in err), (2, True))
        code, out, err = self.run("verify", self.saved("short", Short()), "--format", "json")
        messages = [each["message"] for each in json.loads(out)["findings"]]
        for stated in "dimension 0 of input 'k.a' (k_a0) can't change", "dimension 0 of each member of input 'xs' stays 2":
            self.expect(f"short: {messages}", any(message.startswith(stated) for message in messages), True)
        deep = self.saved("deep", Deep())
        report = self.report(deep, "--input", "batch.a.x=f32:2,3", "--input", "rows.0.0=f32:2,3", "--input", "rows.0.1=f32:1,3")
        code, out, err = self.run(
            "verify", deep, "--input", "batch.a.x=f32:2,n", "--input", "rows.0.0=f32:2,3", "--input", "rows.0.1=f32:1,3"
        )
        self.expect(f"deep: verify {out}{err}", code, 0)
        self.expect(
            "deep",
            (report["verdict"], [each["name"] for each in report["model"]["inputs"]]),
            ("yes", ["batch.a.x", "batch.a.y", "rows.0.0", "rows.0.1"]),
        )

    # Names that the user gives where only numbers convert: which one to state as a number.
    def named_sizes(self):
        for name, module, inputs, options, wanted in (
            ("pool", AdaptivePool(), (torch.randn(2, 3, 8),), ["x=f32:batch,c,l"], ["x=f32:batch,c,8"]),
            ("max", AdaptiveMax(), (torch.randn(2, 3, 8, 9),), ["f32:batch,3,h,w"], ["f32:batch,3,8,9"]),
            (
                "two",
                AdaptiveTwo(),
                (torch.randn(2, 3, 8), torch.randn(2, 3, 8)),
                ["x=f32:batch,c,l", "y=f32:batch,c,l"],
                ["x=f32:batch,c,8", "y=f32:batch,c,8"],
            ),
            ("pooled_again", Pooled(), (torch.randn(1, 3, 10, 10),), ["x=f32:batch,3,h,w"], ["x=f32:batch,3,10,10"]),
            ("scripted_pool", AdaptivePool(), (), ["x=f32:batch,c,l"], ["x=f32:batch,c,224"]),
            ("decomposed", Decomposed(), (torch.randn(2, 5, 6),), ["x=f32:batch,h,w"], ["x=f32:batch,5,6"]),
        ):
            model = self.saved(name, module, *inputs)
            opset = [] if name == "decomposed" else ["--opset", "8"]   # from 9 on pools of named sizes convert
            given = [*opset, *(word for option in options for word in ("--input", option))]
            errors = self.errors(model, *given)
            advice = sorted({each["help"] for each in errors})
            options = re.findall(r"--input ([^\s]+?)(?=[,;]? |$)", advice[0]) if advice else []
            self.expect(f"{name}: {advice}", options, wanted)
            self.expect(f"{name}: {errors}", {each["id"] for each in errors}, {"CC005"} if opset else {"CC006"})  # another opset helps, too
            given = [*opset, *(word for option in options for word in ("--input", option))]
            self.expect(f"{name}: {options}", self.report(model, *given)["verdict"], "yes")
            code, out, err = self.run("verify", model, *given)
            self.expect(f"{name}: verify {out}{err}", code, 0)

    # A list of which nobody says how many members it has becomes a sequence.
    def lists(self):
        model = self.folder / "joined.pt"
        torch.jit.script(Joined().eval()).save(model)
        report = self.report(model)
        self.expect("joined: verdict", report["verdict"], "yes")
        self.expect("joined: assumed", [(each["dtype"], len(each["shape"])) for each in report["model"]["assumed"]], [("f32", 2)])
        code, out, err = self.run("verify", model)
        self.expect(f"joined: verify {out}{err}", code, 0)
        code, out, err = self.run("verify", model, "--input", "xs.0=f32:n,4", "--input", "xs.1=f32:n,2")
        self.expect(f"joined: members {out}{err}", code, 0)

    # Names that were assumed can be fixed; where the model takes no other size the names fail.
    def fixed(self):
        model = self.folder / "rows.pt"
        torch.jit.script(Rows().eval()).save(model)
        code, out, err = self.run("verify", model, "--dim", "x0=12", "--dim", "x1=4")
        self.expect(f"rows: fixed {out}{err}", code, 0)
        code, out, err = self.run("verify", model, "--dim", "x0=12", "--format", "json")
        self.expect(f"rows: half fixed {out}{err}", code != 0, True)
        code, out, err = self.run("verify", model, "--dim", "y=12")
        self.expect("rows: another name", (code, "no input has a dimension of that name" in err), (2, True))
        model = self.folder / "halves.pt"
        torch.jit.script(Halves().eval()).save(model)
        code, out, err = self.run("verify", model, "--format", "json")
        findings = [(each["id"], each["severity"]) for each in json.loads(out)["findings"]]
        self.expect("halves", (code, findings), (1, [("CC205", "error")]))
        self.expect("halves: advice", "fails at every other size that was tried" in out and "tracing" not in out, True)
        code, out, err = self.run("verify", model, "--dim", "x0=2")
        self.expect(f"halves: fixed {out}{err}", code, 0)

    def overridden(self):
        report = self.report(self.folder / "classifier.pt", "--input", "x=f32:1,3,8,8")
        self.expect("given: assumed", "assumed" in report["model"], False)
        code, out, err = self.run(self.folder / "classifier.pt")
        self.expect("text: assumed", "assumed  --input overrides" in out and "aten::conv2d at " in " ".join(out.split()), True)
        code, out, err = self.run(self.folder / "classifier.pt", "--format", "markdown")
        self.expect("markdown: assumed", "Assumed inputs" in out, True)

    # An option without a dtype keeps the recorded one, else the one that readers imply, else f32.
    def untyped(self):
        given = torch.randint(10, (2, 5)), torch.ones(2, dtype=torch.float16), torch.ones(3)
        dims = {0: torch.export.Dim("batch"), 1: torch.export.Dim("seq")}
        files = [self.folder / f"looked_{ending}" for ending in ("scripted.pt", "traced.pt", "exported.pt2")]
        torch.jit.script(Looked().eval()).save(files[0])
        torch.jit.trace(Looked().eval(), given).save(files[1])
        torch.export.save(torch.export.export(Looked().eval(), given, dynamic_shapes=(dims, None, None)), files[2])
        options = ["--input", "ids=batch,seq", "--input", "x=2", "--input", "3"]
        for file, dtypes in zip(files, (["i64", "f32", "f32"], ["i64", "f16", "f32"], ["i64", "f16", "f32"])):
            report = self.report(file, *options)
            self.expect(f"{file.name}: verdict", report["verdict"], "yes")
            self.expect(f"{file.name}: dtypes", [each["dtype"] for each in report["model"]["inputs"]], dtypes)
            self.expect(f"{file.name}: sizes", report["model"]["inputs"][0]["shape"], ["batch", "seq"])
            assumed = ["ids"] if file == files[0] else []
            self.expect(f"{file.name}: assumed", [each["name"] for each in report["model"].get("assumed", [])], assumed)
            self.expect(f"{file.name}: warnings", report["model"].get("warnings", []), [])
            onnx = self.folder / "looked.onnx"
            code, out, err = self.run("convert", file, "-o", onnx, *options)
            self.expect(f"{file.name}: convert {err}", code, 0)
            for more in ([], [onnx], [onnx, "--bisect"]):
                code, out, err = self.run("verify", file, *more, *options)
                self.expect(f"{file.name}: verify {more} {out}{err}", code, 0)
        stated = self.report(files[0], "--input", "ids=i32:batch,seq", "--input", "x=i64:2", "--input", "3")
        self.expect("looked: stated dtypes", [each["dtype"] for each in stated["model"]["inputs"]], ["i32", "i64", "f32"])
        masked = self.folder / "masked_list.pt"
        torch.jit.script(MaskedList()).save(masked)
        for options in (["xs=3,n", "mask=3,4"], ["xs.0=3,n", "xs.1=3,n", "mask=3,n"]):
            report = self.report(masked, *(word for option in options for word in ("--input", option)))
            dtypes = [each["dtype"] for each in report["model"]["inputs"]]
            self.expect(f"masked list: {options}", (report["verdict"], dtypes[-1]), ("yes", "bool"))

    # The end of the text: the inputs and outputs of the ONNX file, and what a trace of one example fixed.
    def signature(self):
        def words(text):
            return " ".join(text.split())

        for batch, said in ((1, True), (2, False)):
            model, onnx_file = self.folder / f"signature{batch}.pt", self.folder / "signature.onnx"
            torch.jit.trace(Classifier().eval(), torch.randn(batch, 3, 8, 8)).save(model)
            code, out, err = self.run(model)
            advice = "x: 1 in dimension 0 is the size of the example; --input x=f32:batch,3,8,8 lets it vary"
            self.expect(f"batch {batch}: signature {out}", f"x: f32[{batch},3,8,8] → head: f32[{batch},2]" in words(out), True)
            self.expect(f"batch {batch}: note {out}", advice in words(out), said)
            code, out, err = self.run("convert", model, "-o", onnx_file)
            self.expect(f"batch {batch}: convert {err}", (f"x: f32[{batch},3,8,8] → head:" in words(err), advice in words(err)), (True, said))
            code, out, err = self.run("convert", model, "-o", onnx_file, "--input", "x=f32:batch,3,8,8", "--output-names", "scores")
            self.expect(f"batch {batch}: named {err}", ("x: f32[batch,3,8,8] → scores: f32[batch,2]" in words(err), "lets it vary" in err), (True, False))
            written = onnx.load(onnx_file).graph
            self.expect("names in the file", [each.name for each in [*written.input, *written.output]], ["x", "scores"])
        code, out, err = self.run("verify", self.folder / "signature1.pt", "--input", "x=f32:batch,3,8,8")
        self.expect(f"the advice is followed: {out}{err}", code, 0)
        code, out, err = self.run(self.folder / "inverse.pt", "--input", "x=f32:2,3")
        self.expect(f"no signature of a model that doesn't convert: {out}", (code, "→ output_0" in out), (1, False))

    # What example inputs can't give never stops a load, and libtorch's words are one sentence.
    def traced(self):
        for name, (module, inputs) in TRACED.items():
            model = self.folder / f"{name}.pt"
            torch.jit.trace(module.eval(), inputs, check_trace=False).save(model)
            code, out, err = self.run(model)
            self.expect(f"{name}: {err}", code in (0, 1), True)
        # Members of lists, tuples and dictionaries are recorded, too.
        for name, (module, inputs, want) in RECORDED.items():
            model = self.folder / f"{name}.pt"
            torch.jit.trace(module, inputs, check_trace=False, strict=False).save(model)
            for frontend in ("native", "libtorch"):
                report = self.report(model, "--frontend", frontend)
                got = {each["name"]: (each["dtype"], len(each["shape"] or ())) for each in report["model"]["inputs"]}
                self.expect(f"{name}, {frontend}", got, want)
        report = self.report(self.folder / "beside.pt")
        self.expect("beside: inputs", [each["dtype"] for each in report["model"]["inputs"]], ["qu8", "f32"])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    arguments = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        checks = Checks(arguments.program, pathlib.Path(folder))
        for part in (
            checks.scripted,
            checks.defaults,
            checks.suggested,
            checks.suggested_once,
            checks.lists,
            checks.not_to_be_given,
            checks.values,
            checks.members,
            checks.named_sizes,
            checks.fixed,
            checks.overridden,
            checks.untyped,
            checks.signature,
            checks.traced,
        ):
            part()
    print("\n".join(checks.failures) or "all as expected")
    return 1 if checks.failures else 0


if __name__ == "__main__":
    sys.exit(main())
