"""Exported programs with operators that libraries define in Python."""
import torch
from torch import nn

from exported import BATCH, Program, program

TRANSFORMERS = torch.library.Library("transformers", "FRAGMENT")
TRANSFORMERS.define("grouped_mm_fallback(Tensor input, Tensor weight, Tensor offs) -> Tensor")


@torch.library.impl(TRANSFORMERS, "grouped_mm_fallback", "CPU")
def grouped_mm(input, weight, offs):
    bounds = [0, *offs.tolist()]
    groups = [input[start:end] @ matrix for start, end, matrix in zip(bounds, bounds[1:], weight)]
    return torch.cat([*groups, input.new_zeros(len(input) - bounds[-1], weight.size(2))])


@torch.library.register_fake("transformers::grouped_mm_fallback", lib=TRANSFORMERS)
def grouped_mm_sizes(input, weight, offs):
    return input.new_empty(input.size(0), weight.size(2))


class Experts(nn.Module):
    """Two of the experts for each row, as transformers' models have them."""

    def __init__(self, multiply, experts=4, width=8, wide=16, dtype=torch.float32):
        super().__init__()
        self.multiply = multiply
        self.gate = nn.Linear(width, experts, dtype=dtype)
        self.up = nn.Parameter(torch.randn(experts, width, wide, dtype=dtype) / 3)
        self.down = nn.Parameter(torch.randn(experts, wide, width, dtype=dtype) / 3)

    def forward(self, x):
        x = x.to(self.up.dtype)   # NumPy has no bf16
        weights, chosen = self.gate(x).float().softmax(-1).topk(2, -1)
        numbers = chosen.flatten()
        order = torch.argsort(numbers)
        ends = torch.histc(numbers.float(), bins=len(self.up), min=0, max=len(self.up) - 1).cumsum(0).to(torch.int32)
        hidden = torch.nn.functional.silu(self.multiply(x[order // 2], self.up, ends))
        rows = self.multiply(hidden, self.down, ends)[torch.argsort(order)]
        return (rows.view(-1, 2, x.size(1)) * weights.unsqueeze(-1)).sum(1)


@program
def experts_of_transformers():
    return Program(Experts(torch.ops.transformers.grouped_mm_fallback), inputs=[(torch.randn(n, 8),) for n in (6, 1, 9)], dynamic=(BATCH,))


@program
def experts_of_transformers_in_double_precision():
    module = Experts(torch.ops.transformers.grouped_mm_fallback, dtype=torch.float64)
    return Program(module, inputs=[(torch.randn(n, 8),) for n in (6, 1)], dynamic=(BATCH,))


@program
def experts_in_half_precision():
    module = Experts(lambda x, weight, ends: torch._grouped_mm(x, weight, offs=ends), dtype=torch.bfloat16)
    return Program(module, inputs=[(torch.randn(n, 8),) for n in (6, 1, 9)], dynamic=(BATCH,))
