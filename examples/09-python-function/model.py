"""Writes my_add.ir: the graph of a traced module that calls an autograd Function, as print(traced.graph) shows it."""
import pathlib, sys

import torch


class MyAdd(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        return 2 * a + b

    @staticmethod
    def backward(ctx, gradient):
        return 2 * gradient, gradient


class Net(torch.nn.Module):
    def forward(self, a, b):
        return torch.relu(MyAdd.apply(a, b))


traced = torch.jit.trace(Net(), (torch.rand(2, 3), torch.rand(2, 3)))
(pathlib.Path(sys.argv[1]) / "my_add.ir").write_text(str(traced.graph))
