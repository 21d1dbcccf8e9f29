"""Writes three.ir: the graph of a module that calls three autograd Functions, the last of which turns float32 [2, 3] into float64 [2, 1]."""
import pathlib, sys

import torch


class MyClip(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, least):
        return x.clamp(min=least)


class MyRelu(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.relu()


class MyNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.double().norm(dim=1, keepdim=True)


class Net(torch.nn.Module):
    def forward(self, x):
        clipped = MyClip.apply(x, 0.5)
        return MyRelu.apply(x - clipped), MyNorm.apply(clipped)


traced = torch.jit.trace(Net(), torch.rand(2, 3))
(pathlib.Path(sys.argv[1]) / "three.ir").write_text(str(traced.graph))
