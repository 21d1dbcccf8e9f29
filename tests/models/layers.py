"""Layers with their less usual options, and the indexing, masking and sorting that real forward methods do."""
from typing import Dict, List, Tuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from registry import Example


class Convolutions(nn.Module):
    """Convolutions and pooling in one, two and three dimensions, every padding mode, strides, groups, dilation."""

    def __init__(self):
        super().__init__()
        self.one = nn.Conv1d(4, 6, 3, padding=2, padding_mode="circular")
        self.two = nn.Conv2d(4, 4, (3, 2), stride=(2, 1), padding="valid", groups=2)
        self.same = nn.Conv2d(4, 4, 3, padding="same", dilation=2, padding_mode="reflect")
        self.replicated = nn.Conv2d(4, 4, 3, padding=1, padding_mode="replicate", bias=False)
        self.up = nn.ConvTranspose2d(4, 4, 3, stride=2, padding=1, output_padding=1, groups=2, dilation=1)
        self.three = nn.Conv3d(2, 2, 2)
        self.up1 = nn.ConvTranspose1d(6, 4, 2, stride=2)
        self.pools = nn.Sequential(nn.MaxPool2d(3, 2, 1, ceil_mode=True),
                                   nn.AvgPool2d(2, 1, padding=1, count_include_pad=False))
        self.max1 = nn.MaxPool1d(2, dilation=2)
        self.lp = nn.LPPool2d(2, 2)
        self.adaptive = nn.AdaptiveMaxPool2d((2, 1))

    def forward(self, x: Tensor) -> Tuple[Tensor, Tensor, Tensor, Tensor]:
        y = self.up(self.replicated(self.same(self.two(x))))
        line = self.up1(self.one(x.flatten(2)))
        volume = F.avg_pool3d(self.three(x.unflatten(1, (2, 2))), [1, 2, 2])
        return self.pools(y), self.max1(line), volume, self.adaptive(self.lp(y))


class Norms(nn.Module):
    """Normalising and activation layers."""

    def __init__(self):
        super().__init__()
        self.norms = nn.Sequential(nn.GroupNorm(2, 4), nn.InstanceNorm2d(4, affine=True), nn.BatchNorm2d(4),
                                   nn.LocalResponseNorm(2))
        self.tracked = nn.InstanceNorm2d(4, track_running_stats=True)
        self.rms = nn.RMSNorm(4)
        self.activations = nn.Sequential(
            nn.PReLU(4), nn.ELU(0.5), nn.SELU(), nn.CELU(0.7), nn.GELU(approximate="tanh"), nn.Mish(), nn.Softplus(2.0),
            nn.Softsign(), nn.Hardtanh(-0.9, 0.9), nn.LogSigmoid(), nn.Softshrink(0.1), nn.Hardshrink(0.01),
            nn.Tanhshrink(), nn.Threshold(-0.5, 0.0), nn.ReLU6(), nn.Softmin(dim=1), nn.GLU(dim=1))

    def forward(self, x: Tensor) -> Tensor:
        x = self.tracked(self.norms(x))
        return self.activations(self.rms(x))


class WeightNorms(nn.Module):
    """Weights that are computed at each call, by a hook and by a parametrization."""

    def __init__(self):
        super().__init__()
        self.old = nn.utils.weight_norm(nn.Conv1d(4, 4, 1))
        self.new = nn.utils.parametrizations.weight_norm(nn.Linear(4, 4))

    def forward(self, x: Tensor) -> Tensor:
        return self.new(self.old(x))


class Rearranged(nn.Module):
    """Pixel shuffles, folds, flips, rolls, repeats, meshes, einsum, padding of every kind."""

    def forward(self, x: Tensor) -> List[Tensor]:
        n, c, h, w = x.size(0), x.size(1), x.size(2), x.size(3)
        columns = F.unfold(x, [2, 2], stride=2)                               #: aten::im2col
        return [F.pixel_shuffle(x, 2), F.pixel_unshuffle(x, 2), F.channel_shuffle(x, 2),
                F.fold(columns, [h, w], [2, 2], stride=[2, 2]),
                torch.einsum("nchw,nkhw->nck", x, x),                         #: aten::einsum
                x.flip([2]).roll([1], [3]).rot90(1, [2, 3]),
                x.repeat_interleave(2, dim=1).tile([1, 1, 2, 1]),
                F.pad(x, [1, 1, 2, 0], mode="reflect"), F.pad(x, [-1, 1], value=0.5),
                F.pad(x, [1, 0, 0, 1], mode="replicate"),
                x.movedim(1, -1).reshape(n, h * w, c).swapaxes(1, 2).contiguous(),
                x.tril(1) + x.triu(-1), torch.diagonal(x, 0, 2, 3)]


class Indexing(nn.Module):
    """Advanced indices, masks, gather and scatter, sorting, searching."""

    def forward(self, x: Tensor, rows: Tensor, columns: Tensor) -> Dict[str, Tensor]:
        values, order = x.sort(dim=1, descending=True, stable=True)
        top, where = x.topk(2, dim=-1)
        mask = x > 0
        return {"pairs": x[rows, columns], "outer": x[rows[:, None], columns], "rows": x[rows], "steps": x[:, 1::2],
                "mixed": x[:, None, columns], "last": x[..., -1], "masked": x[mask],
                "gather": x.gather(1, order), "take": torch.take(x, rows), "sorted": values,
                "scatter": torch.zeros_like(x).scatter(1, where, top), "added": x.index_add(0, rows, x[rows]),
                "reduced": x.scatter_reduce(1, where, top, reduce="amax"),
                "filled": x.masked_fill(~mask, -1.0), "nonzero": mask.nonzero(), "one": F.one_hot(rows, 5),
                "unique": torch.unique(rows), "cum": x.cumsum(1), "bucket": torch.bucketize(x, values[0].flip(0)),
                "best": x.argmax(1, keepdim=True), "any": mask.any(1), "norm": x.norm(2, 1), "std": x.std(1),
                "median": x.amax([0, 1]) - x.amin([0, 1]), "logsum": x.logsumexp(1)}


class Numbers(nn.Module):
    """Type promotion and rounding: integers, floats, bools and Python numbers mixed."""

    def forward(self, x: Tensor, i: Tensor, b: Tensor) -> List[Tensor]:
        half = x.half()
        return [i + 1.5, i / 2, i // 2, -i // 2, i % 3, torch.fmod(i, -3), i * b, b + b, b & (i > 1), i << 1, ~b,
                torch.div(x, 0.3, rounding_mode="trunc"), torch.div(i, 2, rounding_mode="floor"),
                x ** 2, 2 ** i, x ** i, half + 1.0, half + x, half * i, x.to(torch.int32) + i,
                torch.where(b, x, 0.0), torch.where(b, i, 1.5),
                1 - i, 1 / x, x.round(decimals=1), x.clamp(-0.5), torch.maximum(x, i),
                i.sum(), b.sum(), i.float().mean(), torch.add(x, i, alpha=2), x.lerp(x * 2, 0.3),
                torch.true_divide(i, i + 1), x.sign() * x.abs().sqrt(),
                torch.remainder(x, -0.7), torch.floor_divide(x, 0.7), i.eq(2.0), x > i, torch.logical_xor(b, i)]


class Attention(nn.Module):
    """scaled_dot_product_attention in its variants: causal, boolean and float masks, a scale, dropout of zero."""

    def forward(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tuple[Tensor, Tensor, Tensor, Tensor]:
        bias = torch.zeros_like(mask, dtype=q.dtype).masked_fill(~mask, float("-inf"))
        plain = F.scaled_dot_product_attention(q, k, v)           #: aten::scaled_dot_product_attention
        return (plain, F.scaled_dot_product_attention(q, q, q, is_causal=True),
                F.scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=0.5),
                F.scaled_dot_product_attention(q, k, v, bias, 0.0))


class Spectral(nn.Module):
    """Complex numbers and Fourier transforms: stft, fft, view_as_complex."""

    def __init__(self):
        super().__init__()
        self.register_buffer("window", torch.hann_window(16))

    def forward(self, x: Tensor) -> Tensor:
        spectrum = torch.stft(x, 16, 8, window=self.window, center=True, return_complex=True)
        rotated = torch.view_as_complex(torch.view_as_real(spectrum).contiguous()) * spectrum.conj()
        return rotated.abs().log1p() + torch.fft.rfft(x).abs().sum()          #: aten::fft_rfft


class Geometry(nn.Module):
    """A spatial transformer."""

    def __init__(self):
        super().__init__()
        self.theta = nn.Linear(16, 6)

    def forward(self, x: Tensor) -> Tensor:
        theta = self.theta(F.adaptive_avg_pool2d(x, 4).mean(1).flatten(1)).view(-1, 2, 3)
        size = [x.size(0), x.size(1), 6, 8]
        grid = F.affine_grid(theta, size, align_corners=True)     #: missing aten::affine_grid_generator < 20
        return F.grid_sample(x, grid, "bilinear", "border", align_corners=True)   #: missing aten::grid_sampler < 16


class Embeddings(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(20, 4, padding_idx=0)
        self.bag = nn.EmbeddingBag(20, 4, mode="mean", include_last_offset=True)
        self.bilinear = nn.Bilinear(4, 4, 3)
        self.cosine = nn.CosineSimilarity(dim=1)

    def forward(self, ids: Tensor, offsets: Tensor) -> Tuple[Tensor, Tensor]:
        words = self.words(ids).mean(0, keepdim=True).expand(offsets.size(0) - 1, -1)
        bags = self.bag(ids, offsets)                                         #: aten::embedding_bag
        return self.bilinear(words, bags), self.cosine(words, bags)


def convolutions() -> Example:
    return Example(Convolutions(), (torch.randn(2, 4, 9, 10),))


def norms() -> Example:
    return Example(Norms(), (torch.randn(2, 4, 6, 4),))


def weight_norms() -> Example:
    return Example(WeightNorms(), (torch.randn(2, 4, 4),))


def rearranged() -> Example:
    return Example(Rearranged(), (torch.randn(2, 4, 6, 8),))


def indexing() -> Example:
    return Example(Indexing(), (torch.randn(3, 6), torch.tensor([0, 2, 2]), torch.tensor([1, 5, 3])), strict=False)


def numbers() -> Example:
    return Example(Numbers(), (torch.randn(4), torch.arange(1, 5), torch.tensor([True, False, True, True])))


def attention() -> Example:
    q, k, v = torch.randn(2, 3, 4, 8), torch.randn(2, 3, 5, 8), torch.randn(2, 3, 5, 8)
    mask = torch.ones(4, 5, dtype=torch.bool).tril(2)
    return Example(Attention(), (q, k, v, mask))


def spectral() -> Example:
    return Example(Spectral(), (torch.randn(2, 64),))


def geometry() -> Example:
    return Example(Geometry(), (torch.randn(2, 3, 8, 8),))


def embeddings() -> Example:
    return Example(Embeddings(), (torch.randint(1, 20, (7,)), torch.tensor([0, 2, 5, 7])))
