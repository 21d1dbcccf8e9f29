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


class SwinMask(nn.Module):
    """Swin's attention mask: a canvas filled window by window, as many counts as windows."""

    def __init__(self, window: int = 4, shift: int = 2):
        super().__init__()
        self.window = window
        self.shift = shift

    def forward(self, x: Tensor) -> Tensor:
        height, width = x.size(1), x.size(2)
        window, shift = self.window, self.shift
        img_mask = torch.zeros((1, height, width, 1), device=x.device)
        bounds = ((0, -window), (-window, -shift), (-shift, 10000))
        count = 0
        for top, bottom in bounds:
            for left, right in bounds:
                img_mask[:, top:bottom, left:right, :] = count
                count += 1
        windows = img_mask.view(1, height // window, window, width // window, window, 1)
        windows = windows.permute(0, 1, 3, 2, 4, 5).contiguous().view(-1, window * window)
        mask = windows.unsqueeze(1) - windows.unsqueeze(2)
        return mask.masked_fill(mask != 0, -100.0).masked_fill(mask == 0, 0.0)


class CachedDecoder(nn.Module):
    """Keys and values written into a cache that the caller brings, at a position that is given, and read back whole."""

    def forward(self, x: Tensor, keys: Tensor, values: Tensor, position: int) -> Tuple[Tensor, Tensor, Tensor]:
        length = x.size(1)
        keys[:, position:position + length] = x * 0.5                  #: aten::copy_
        values.narrow(1, position, length).copy_(x + 1)                #: aten::copy_
        scores = torch.matmul(x, keys.transpose(1, 2))
        scores.masked_fill_(scores < 0, -1e4)                          #: aten::masked_fill_
        return torch.matmul(torch.softmax(scores, -1), values), keys, values


class ViewsOfViews(nn.Module):
    """Writes through the rarer views, and reads of other views made before."""

    def forward(self, x: Tensor) -> Tuple[Tensor, Tensor, Tensor, Tensor]:
        base = x + 1
        first = base[0]
        column = base.select(-1, 2)
        turned = base.permute(2, 0, 1)
        turned[1].mul_(2)                                              #: aten::mul_
        base.movedim(0, 2)[0, 1].sub_(3)                               #: aten::sub_
        base.diagonal(0, 1, 2).zero_()                                 #: aten::zero_
        column.add_(first[:, 0].sum())                                 #: aten::add_
        a, b, c = base.split([1, 1, 2], dim=2)
        b.copy_(a * 10)                                                #: aten::copy_
        c[..., 1].clamp_(max=4.0)                                      #: aten::clamp_
        rows = base.unbind(0)
        rows[1].neg_()                                                 #: aten::neg_
        base[:, 1, ::2] = -7.0
        base.narrow(0, -1, 1).squeeze(0).t()[0].exp_()                 #: aten::exp_
        base.view(-1)[torch.tensor([0, 5])] = 0.25                     #: aten::index_put_
        return base, first, column, turned


class NestedWrites(nn.Module):
    """Slice assignments in loops within loops and branches; the last of them breaks off."""

    def forward(self, x: Tensor, steps: int) -> Tuple[Tensor, Tensor, Tensor]:
        table = torch.zeros(steps, steps)
        total = torch.zeros(1)
        row = table[0]
        for i in range(steps):
            for j in range(i + 1):
                table[i, j] = x[j % x.size(0)] * (i + 1)               #: aten::copy_
                if j % 2 == 1:
                    table[i].mul_(0.5)                                 #: aten::mul_
                else:
                    total += table[i, j]                               #: aten::add_
            if i > 2:
                row.add_(1)                                            #: aten::add_
        i = 0
        while bool(total > 0) and i < steps:
            total.sub_(x.abs().max() + 1)                              #: aten::sub_
            table[:, i] += total
            i += 1
        return table, total, row


class ListOfSteps(nn.Module):
    """Steps written after they were made and before they are put into a list, as recurrent decoders do."""

    def forward(self, x: Tensor, steps: int) -> Tuple[Tensor, Tensor]:
        state = torch.tanh(x)
        outputs: List[Tensor] = []
        for i in range(steps):
            state = torch.tanh(state * 0.5)
            state[:, i % x.size(1)] = 0.0
            state.clamp_(min=-0.5)                                     #: aten::clamp_
            outputs.append(state)                                      #: aten::append
        return torch.stack(outputs), state


class SizeChanges(nn.Module):
    """In place, but what changes are the sizes."""

    def forward(self, x: Tensor) -> Tensor:
        y = x * 2
        y.unsqueeze_(0).transpose_(1, 2)                               #: aten::unsqueeze_
        y[0, 0] = 3.0
        y.squeeze_(0).t_()                                             #: aten::squeeze_
        return y + x


class ScratchBuffer(nn.Module):
    """Buffers that aren't state: one is filled by each call before it is read, one only counts."""

    def __init__(self):
        super().__init__()
        self.register_buffer("scratch", torch.zeros(3, 4))
        self.register_buffer("calls", torch.zeros(1, dtype=torch.long))

    def forward(self, x: Tensor) -> Tensor:
        self.calls.add_(1)                                             #: aten::add_
        self.scratch.copy_(x)                                          #: aten::copy_
        self.scratch[0].mul_(2)                                        #: aten::mul_
        return self.scratch.sum(0)


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


def swin_mask() -> Example:
    return Example(SwinMask(), (torch.randn(1, 8, 8, 3),))


def cached_decoder() -> Example:
    return Example(CachedDecoder(), (torch.randn(2, 2, 4), torch.randn(2, 6, 4), torch.randn(2, 6, 4), 3))


def views_of_views() -> Example:
    return Example(ViewsOfViews(), (torch.randn(3, 4, 4),))


def nested_writes() -> Example:
    return Example(NestedWrites(), (torch.randn(3), 5))


def list_of_steps() -> Example:
    return Example(ListOfSteps(), (torch.randn(2, 3), 4))


def size_changes() -> Example:
    return Example(SizeChanges(), (torch.randn(3, 4),))


def scratch_buffer() -> Example:
    return Example(ScratchBuffer(), (torch.randn(3, 4),))
