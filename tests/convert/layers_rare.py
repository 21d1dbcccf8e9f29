"""Operators that PyTorch's own modules and functions call inside, and that neither the operator corpus nor a line of tests/operators has."""
import torch
from torch import Tensor

from layer_cases import Case


def counted(x: Tensor):
    numbers = [float(x[0]), float(x[1]), float(x[2])]
    return numbers.count(float(x[3])), numbers == [float(x[3]), float(x[1]), float(x[2])], torch.tensor(sorted(numbers))


def diagonal(x):
    y = x * 1
    y.fill_diagonal_(3.0)
    return y


class BranchOfWeights(torch.nn.Module):
    """Its weights are normed in a branch, and too large for conversion to do it."""

    def __init__(self, rows, columns):
        super().__init__()
        self.v, self.g = torch.nn.Parameter(torch.randn(rows, columns)), torch.nn.Parameter(torch.rand(rows, 1))

    def forward(self, x):
        if bool(x.sum() > 0):
            y = x @ torch._weight_norm(self.v, self.g, 0)
        else:
            y = x @ torch._weight_norm(self.v * 2, self.g, 0) - 1
        return y


def cases():
    r = torch.randn
    return {
        **{f"weight_norm_{rows}": Case(BranchOfWeights(rows, columns).eval(), [(r(1, rows).abs(),), (-r(1, rows).abs(),)],
                                       specs=(f"f32:1,{rows}",), script=True) for rows, columns in ((3, 4), (2, 2**21 + 1))},
        "reshape_from_tensor": Case(lambda x, s: torch._reshape_from_tensor(x, s), [(r(2, 3), torch.tensor([3, 2])), (r(2, 3), torch.tensor([6, 1]))]),
        "fill_diagonal": Case(diagonal, [(r(3, 4),)], opsets=range(9, 27)),
        "requires_grad": Case(lambda x: (x * 1).requires_grad_(False) + 1, [(r(3),)]),
        "lists_of_doubles": Case(counted, [(torch.tensor(v),) for v in ([1., 2, 3, 1], [1., 1, 1, 1], [0., 1, 2, 5])], script=True),
    }
