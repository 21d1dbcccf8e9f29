"""Writes my_relu.ir: the graph of a module that calls MyRelu, an autograd Function whose `symbolic` says what it is in ONNX."""
import pathlib, sys

import torch


class MyRelu(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clamp(min=0)

    @staticmethod
    def symbolic(g, x):
        return g.op("Clip", x, g.op("Constant", value_t=torch.tensor(0.0)))


class Net(torch.nn.Module):
    def forward(self, x):
        return MyRelu.apply(x)


traced = torch.jit.trace(Net(), torch.rand(2, 3))
(pathlib.Path(sys.argv[1]) / "my_relu.ir").write_text(str(traced.graph))
