"""Scripted programs: modules that a number or a text chooses, through an interface."""
from typing import List

import torch
from torch import Tensor, nn

from script_programs import Programs, FLAG, FLAGS, N3, ROWS, SOME

programs = Programs()
program = programs.add
cases = programs.cases
torch.manual_seed(5)


@torch.jit.interface
class Step(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        pass


@torch.jit.interface
class Named(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        pass

    def weigh(self, x: Tensor, times: int) -> Tensor:
        pass


class Linear(nn.Module):
    def __init__(self, bias: float):
        super().__init__()
        self.layer = nn.Linear(3, 3)
        self.bias = bias

    @torch.jit.export
    def weigh(self, x: Tensor, times: int) -> Tensor:
        return x * times + self.bias

    def forward(self, x: Tensor) -> Tensor:
        if bool(x.sum() > 0):
            return self.layer(x)
        return self.weigh(x, 2)


class Repeated(nn.Module):
    @torch.jit.export
    def weigh(self, x: Tensor, times: int) -> Tensor:
        for i in range(times):
            x = x * 0.5
        return x

    def forward(self, x: Tensor) -> Tensor:
        for i in range(int(x.abs().sum()) % 4):
            x = x + i
        return x.tanh()


class Counting(nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, x: Tensor) -> Tensor:
        self.calls += 1
        return x * self.calls


def stack():
    return nn.ModuleList([Linear(0.5), Repeated(), Linear(-1.0)])


ORDERS = [(torch.randn(n, 3), order) for n, order in ((3, [0, 1, 2]), (1, [2]), (5, [1, 1, 0, 2, 1]), (2, [2, 2, 0]))]


@program(ORDERS, N3)
class ChosenByNumber(nn.Module):
    def __init__(self):
        super().__init__()
        self.steps = stack()

    def forward(self, x: Tensor, order: List[int]):
        for i in order:
            step: Step = self.steps[i]
            x = step.forward(x)
        return x


@program(FLAGS, N3, FLAG)
class ChosenByTensor(nn.Module):
    """Two methods of one module, with other arguments."""
    def __init__(self):
        super().__init__()
        self.steps = stack()

    def forward(self, x: Tensor, f: Tensor):
        step: Named = self.steps[int(f) + 1]
        y = step.weigh(x, x.size(0))
        return step.forward(y) + y


@program(SOME, N3)
class ChosenByIteration(nn.Module):
    """The number of iterations is known: no branch is left."""
    def __init__(self):
        super().__init__()
        self.steps = stack()

    def forward(self, x: Tensor):
        for i in range(3):
            step: Step = self.steps[i]
            x = step.forward(x)
        for i in range(2):
            step: Step = self.steps[2 - i]
            x = x + step.forward(x)
        return x


@program(SOME, N3)
class ChosenByText(nn.Module):
    def __init__(self):
        super().__init__()
        self.steps = nn.ModuleDict({"long": Linear(0.5), "short": Repeated(), "other": Linear(2.0)})

    def forward(self, x: Tensor):
        first: Step = self.steps["other"]
        x = first.forward(x)
        step: Step = self.steps["long" if x.size(0) > 2 else "short"]
        return step.forward(x)


class Inner(nn.Module):
    def __init__(self):
        super().__init__()
        self.steps = stack()

    def forward(self, x: Tensor) -> Tensor:
        step: Step = self.steps[x.size(0) % 3]
        return step.forward(x)


@program(FLAGS, N3, FLAG)
class ChosenWithinChosen(nn.Module):
    def __init__(self):
        super().__init__()
        self.steps = nn.ModuleList([Inner(), Repeated()])

    def forward(self, x: Tensor, f: Tensor):
        step: Step = self.steps[int(f)]
        return step.forward(x)


@program(FLAGS, N3, FLAG)
class ChosenCounts(nn.Module):
    """State: a module that only some calls choose counts them."""
    def __init__(self):
        super().__init__()
        self.steps = nn.ModuleList([Counting(), Repeated()])

    def forward(self, x: Tensor, f: Tensor):
        step: Step = self.steps[int(f)]
        return step.forward(x)


@program(FLAGS, N3, FLAG)
class ChosenOfTooMany(nn.Module):
    def __init__(self):
        super().__init__()
        self.steps = nn.ModuleList([Repeated() for _ in range(65)])

    def forward(self, x: Tensor, f: Tensor):
        step: Step = self.steps[int(f)]
        return step.forward(x)
