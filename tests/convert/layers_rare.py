"""Operators that PyTorch's own modules and functions call inside, and that the operator corpus lacks."""
import torch
from torch import Tensor

from run_layers import Case


def counted(x: Tensor):
    numbers = [float(x[0]), float(x[1]), float(x[2])]
    return numbers.count(float(x[3])), numbers == [float(x[3]), float(x[1]), float(x[2])], torch.tensor(sorted(numbers))


def normalized(x: Tensor, weight: Tensor, bias: Tensor, mean: Tensor, variance: Tensor):
    y = torch._batch_norm_impl_index(x, weight, bias, mean, variance, False, 0.1, 0.1, False)
    z = torch._batch_norm_impl_index(x, weight, bias, None, None, True, 0.1, 0.1, False)
    return y[0], z[0]


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
    channels = (torch.rand(3), torch.rand(3), torch.rand(3), torch.rand(3) + 0.5)
    return {
        "norm_except_dim": Case(lambda v: (torch.norm_except_dim(v, 2, 0), torch.norm_except_dim(v, 1, 1), torch.norm_except_dim(v, 3, -1)), [(r(2, 3, 4),)]),
        **{f"weight_norm_{rows}": Case(BranchOfWeights(rows, columns).eval(), [(r(1, rows).abs(),), (-r(1, rows).abs(),)], specs=(f"f32:1,{rows}",), script=True) for rows, columns in ((3, 4), (2, 2**21 + 1))},
        "weight_norm_interface": Case(lambda v, g: torch._weight_norm_interface(v, g, 0), [(r(2, 3, 4), r(2, 1, 1))]),
        "pad_sequence": Case(lambda a, b: (torch._C._nn.pad_sequence([a, b], True, 0.5), torch._C._nn.pad_sequence([a, b], False, 0.0)), [(r(2, 3), r(4, 3))]),
        "fft_fftfreq": Case(lambda x: x + torch.fft.fftfreq(5, 0.5), [(r(5),)]),
        "reshape_from_tensor": Case(lambda x, s: torch._reshape_from_tensor(x, s), [(r(2, 3), torch.tensor([3, 2])), (r(2, 3), torch.tensor([6, 1]))]),
        "all_and_any_true": Case(lambda x: (torch._is_all_true(x > 0), torch._is_any_true(x > 0)), [(torch.ones(3),), (torch.tensor([1., 0, 2]),), (-torch.ones(3),)]),
        "batch_norm_no_update": Case(lambda x: torch.ops.aten._batch_norm_no_update(x, *channels, 0.1, 0.1)[0], [(r(2, 3, 4),)]),
        "batch_norm_impl": Case(normalized, [(r(2, 3, 4), *channels)], script=True),
        "fill_diagonal": Case(diagonal, [(r(3, 4),)], opsets=range(9, 27)),
        "requires_grad": Case(lambda x: (x * 1).requires_grad_(False) + 1, [(r(3),)]),
        "lists_of_doubles": Case(counted, [(torch.tensor(v),) for v in ([1., 2, 3, 1], [1., 1, 1, 1], [0., 1, 2, 5])], script=True),
    }
