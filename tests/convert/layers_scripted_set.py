"""Scripted programs: attributes that forward sets and then writes to, and buffers of which each call fills the same places. Inputs come
one after another, as calls of one module."""
import torch
from torch import Tensor, nn

from script_programs import Programs, N3, SOME, r

programs = Programs()
program = programs.add
cases = programs.cases


class WithBuffer(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("kept", torch.arange(6.).reshape(2, 3))


TWO = [(r(2, 3),) for _ in range(3)]


@program(SOME, N3)
class SetThenAdded(WithBuffer):
    def forward(self, x: Tensor):
        self.kept = x * 2
        self.kept.add_(1)
        return self.kept + 0


@program(SOME, N3)
class SetThenRow(WithBuffer):
    def forward(self, x: Tensor):
        self.kept = torch.zeros_like(x)
        self.kept[0] = x[0]
        return self.kept + x


@program(SOME, N3)
class SetThenRowsInLoop(WithBuffer):
    def forward(self, x: Tensor):
        self.kept = torch.zeros_like(x)
        for i in range(x.size(0)):
            self.kept[i] = x[i] * i
        return self.kept * 2


@program(SOME, N3)
class SetThenAddedInLoop(WithBuffer):
    def forward(self, x: Tensor):
        self.kept = torch.zeros(3)
        for i in range(x.size(0)):
            self.kept += x[i]
        return self.kept * 2


@program(SOME, N3)
class SetThenWrittenInBranch(WithBuffer):
    def forward(self, x: Tensor):
        self.kept = x + 1
        if bool(x.sum() > 0):
            self.kept[0] = 5.0
        return self.kept * 2


@program(SOME, N3)
class SetTwiceAndWritten(WithBuffer):
    """The first tensor is another one than the second."""
    def forward(self, x: Tensor):
        self.kept = x * 2
        first = self.kept
        self.kept = x * 3
        self.kept.add_(1)
        return first, self.kept + first


@program(SOME, N3)
class AddedBeforeSet(WithBuffer):
    """State: each call reads what the one before it left."""
    def forward(self, x: Tensor):
        y = self.kept.sum() + x
        self.kept = x * 2
        self.kept.add_(1)
        return y


@program(SOME, N3)
class SetInBranchThenWritten(WithBuffer):
    """State: a call that doesn't set it writes to what was there."""
    def forward(self, x: Tensor):
        if bool(x.sum() > 0):
            self.kept = x * 2
        self.kept.add_(1)
        return self.kept + 0


@program(SOME, N3)
class CountsUp(WithBuffer):
    """State."""
    def forward(self, x: Tensor):
        self.kept += 1
        return self.kept.sum() + x


@program(TWO)
class FilledRow(WithBuffer):
    def forward(self, x: Tensor):
        self.kept[0] = x[0]
        return self.kept + x


@program(TWO)
class FilledColumnByNumber(WithBuffer):
    def forward(self, x: Tensor):
        self.kept[:, 1] = 7.0
        self.kept.t()[2].copy_(x.sum(1))
        return self.kept + x


@program(TWO)
class FilledRowsInLoop(WithBuffer):
    def forward(self, x: Tensor):
        for i in range(2):
            self.kept[i] = x[i] * i
        return self.kept + x


@program(TWO)
class FilledPlaces(WithBuffer):
    def forward(self, x: Tensor):
        self.kept[torch.tensor([1])] = x[:1]
        return self.kept + x


@program(TWO)
class FilledAfterRead(WithBuffer):
    """State: the first line reads the row that the call before it filled."""
    def forward(self, x: Tensor):
        y = self.kept.sum()
        self.kept[0] = x[0]
        return self.kept + y


@program(TWO)
class FilledFromItself(WithBuffer):
    """State."""
    def forward(self, x: Tensor):
        self.kept[0] = self.kept[1] + x[0]
        self.kept[1] = x[1] + self.kept[0]
        return self.kept + x


@program(TWO)
class FilledWhereStated(WithBuffer):
    """State: another row in each call."""
    def forward(self, x: Tensor):
        self.kept[(x[0, 0] > 0).long()] = x[0]
        return self.kept + x


@program(TWO)
class FilledInOneBranch(WithBuffer):
    """State."""
    def forward(self, x: Tensor):
        if bool(x.sum() > 0):
            self.kept[0] = x[0]
        return self.kept + x


@program(TWO)
class AddedInPlaces(WithBuffer):
    """State."""
    def forward(self, x: Tensor):
        self.kept.index_put_((torch.tensor([1]),), x[:1], accumulate=True)
        return self.kept + x
