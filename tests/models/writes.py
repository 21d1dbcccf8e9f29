"""Models that write in place: through views, into lists, into attributes, across branches and loops."""
from typing import List, Tuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from registry import Example


class ViewWrites(nn.Module):
    """Each line writes through another kind of view; the base must see all of them."""

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        x = x.clone()
        x[:, 0].add_(1)                                       #: aten::add_
        x[0] = 5.0
        x[1:3, ::2] = y                                       #: aten::copy_
        x.view(-1)[3:6].mul_(2)
        x.t()[1].zero_()
        x.unsqueeze(0).squeeze(0)[-1, -1] = -1.0
        x.select(0, 1).narrow(0, 0, 2).sigmoid_()
        x.diagonal().sub_(0.5)
        x[x > 3] = 3.0                                        #: aten::index_put_
        x.clamp_(min=-2.0)                                    #: aten::clamp_
        return x


class AliasedWrites(nn.Module):
    """Two names of one tensor, a view taken before the write and read after, chunks, an expanded view."""

    def forward(self, x: Tensor) -> Tuple[Tensor, Tensor, Tensor]:
        base = x * 1
        before = base[0]
        left, right = base.chunk(2, dim=1)
        other = base.reshape(base.size(1), base.size(0))
        left.copy_(right)
        other[0].add_(10)
        wide = base[:, :1].expand(-1, 3)
        base.mul_(2)
        return before, other, wide


class BranchWrites(nn.Module):
    """Writes in a branch and in a loop body to tensors made outside."""

    def forward(self, x: Tensor, steps: int) -> Tensor:
        canvas = torch.zeros(x.size(0), steps, device=x.device)
        if x.sum() > 0:
            canvas[:, 0] = x[:, 0]
        else:
            canvas.add_(1)
        for i in range(1, steps):
            canvas[:, i] = canvas[:, i - 1] + x[:, i % x.size(1)]
            if i % 2 == 0:
                canvas[0, i].neg_()
        return canvas


class ListWrites(nn.Module):
    """A tensor written after it was put in a list, and an item written through the list."""

    def forward(self, x: Tensor) -> List[Tensor]:
        y = x + 1
        items = [y, x * 2, y[0:1]]
        y.add_(1)
        items[1].mul_(3)
        items[0][0] = 7.0
        for item in items:
            item.sub_(0.5)
        return items


class AttributeWrites(nn.Module):
    """State kept between calls: a buffer replaced, a buffer written in place, a counter."""
    count: int

    def __init__(self):
        super().__init__()
        self.register_buffer("memory", torch.zeros(4))
        self.register_buffer("steps", torch.zeros(1, dtype=torch.long))
        self.count = 0

    def forward(self, x: Tensor) -> Tensor:
        self.memory = 0.9 * self.memory + 0.1 * x.mean(0)
        self.steps += 1                                       #: aten::add_
        self.count += 1
        return x - self.memory + self.steps + self.count


class InputWrites(nn.Module):
    """Writes to the caller's own tensors, which ONNX cannot do."""

    def forward(self, x: Tensor, cache: Tensor, position: Tensor) -> Tensor:
        cache.index_copy_(1, position, x)                     #: aten::index_copy_
        cache[:, 0] = 0.0
        return F.softmax(cache, dim=1)


class OutWrites(nn.Module):
    """out= forms and in-place random and activation operators."""

    def forward(self, x: Tensor) -> Tensor:
        out = torch.empty_like(x)
        torch.add(x, x, out=out)
        torch.sin(out, out=out)
        y = F.relu(out, inplace=True)
        y = F.hardswish(F.leaky_relu(y, 0.1, inplace=True), inplace=True)
        return y.masked_fill_(y > 0.9, 0.0).scatter_add_(0, torch.zeros_like(x, dtype=torch.long), x)


def view_writes() -> Example:
    return Example(ViewWrites(), (torch.randn(4, 6), torch.randn(2, 3)))


def aliased_writes() -> Example:
    return Example(AliasedWrites(), (torch.randn(4, 6),))


def branch_writes() -> Example:
    return Example(BranchWrites(), (torch.randn(3, 4), 5))


def list_writes() -> Example:
    return Example(ListWrites(), (torch.randn(3, 4),))


def attribute_writes() -> Example:
    return Example(AttributeWrites(), (torch.randn(3, 4),))


def input_writes() -> Example:
    return Example(InputWrites(), (torch.randn(2, 2), torch.randn(2, 5), torch.tensor([1, 3])))


def out_writes() -> Example:
    return Example(OutWrites(), (torch.randn(3, 4),))
