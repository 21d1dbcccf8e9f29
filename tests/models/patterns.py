"""Habits of code around models: decoding loops, early returns, pyramids of features, batches as dictionaries, optional masks."""
from typing import Dict, List, Optional

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from registry import Example


class EarlyReturn(nn.Module):
    """Returns out of branches and of a loop: values that are never set on the other paths."""

    def forward(self, x: Tensor, k: int) -> Tensor:
        if x.size(0) > 100:
            return x[:100]
        if k > 2:
            y = x * k
            if bool(y.sum() > 0):
                return y - 1
            y = y.relu()                                          #: aten::relu
        else:
            y = x.exp()
        for i in range(k):
            y = y + i
            if bool(y.max() > 50):
                return y * 0.5
        return y


class GreedyDecoder(nn.Module):
    """Tokens one after the other, gathered in a list."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(11, 6)
        self.cell = nn.GRUCell(6, 6)
        self.head = nn.Linear(6, 11)

    def forward(self, state: Tensor, steps: int) -> Tensor:
        token = torch.zeros(state.size(0), dtype=torch.long)
        tokens: List[Tensor] = []
        for _ in range(steps):
            state = self.cell(self.words(token), state)
            token = self.head(state).argmax(-1)                   #: aten::argmax
            tokens.append(token)
        return torch.stack(tokens, 1)


class Chunks(nn.Module):
    """A window at a time, as many as the input holds."""

    def forward(self, x: Tensor, window: int) -> Tensor:
        means: List[Tensor] = []
        for start in range(0, x.size(0), window):
            means.append(x[start:min(start + window, x.size(0))].mean(0))
        return torch.stack(means)


class Pyramid(nn.Module):
    """A list of feature maps in, one out: the coarse ones added to the fine ones."""

    def forward(self, features: List[Tensor]) -> List[Tensor]:
        merged: List[Tensor] = []
        last = features[-1]
        for i in range(len(features) - 2, -1, -1):
            last = features[i] + F.interpolate(last, size=features[i].shape[-2:], mode="nearest")
            merged.insert(0, last)
        return merged


class MaskedMean(nn.Module):
    """A batch as a dictionary."""

    def forward(self, batch: Dict[str, Tensor]) -> Tensor:
        kept = batch["ids"].float() * batch["mask"]               #: aten::mul
        return kept.sum(1) / batch["mask"].sum(1)


class ShiftedWindows(nn.Module):
    """Rolled by half of a size."""

    def forward(self, x: Tensor) -> Tensor:
        shift = x.size(1) // 2
        return torch.roll(x, shifts=(-shift, shift), dims=(1, 2))   #: aten::roll


class OptionalMask(nn.Module):
    """The mask isn't given."""

    def forward(self, x: Tensor, mask: Optional[Tensor] = None, scale: Optional[float] = None) -> Tensor:
        if scale is None:
            scale = 1.0 / float(x.size(-1)) ** 0.5
        scores = x @ x.transpose(-1, -2) * scale
        if mask is not None:
            scores = scores + mask
        return scores.softmax(-1)                                 #: aten::softmax


def early_return() -> Example:
    return Example(EarlyReturn(), (torch.randn(4, 6), 3))


def greedy_decoder() -> Example:
    return Example(GreedyDecoder(), (torch.randn(3, 6), 4))


def chunks() -> Example:
    return Example(Chunks(), (torch.randn(7, 3), 3))


def pyramid() -> Example:
    return Example(Pyramid(), ([torch.randn(1, 2, 8, 8), torch.randn(1, 2, 4, 4), torch.randn(1, 2, 2, 2)],))


def masked_mean() -> Example:
    return Example(MaskedMean(), ({"ids": torch.randint(0, 9, (2, 5)), "mask": torch.ones(2, 5)},))


def shifted_windows() -> Example:
    return Example(ShiftedWindows(), (torch.randn(2, 6, 8),))


def optional_mask() -> Example:
    return Example(OptionalMask(), (torch.randn(2, 4, 5),))
