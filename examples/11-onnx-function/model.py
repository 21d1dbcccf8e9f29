"""Writes f32.pt and f64.pt: SELU twice, in float32 and in float64."""
import pathlib, sys

import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(1)
        self.linear = torch.nn.Linear(4, 3)

    def forward(self, x):
        return torch.selu(self.linear(torch.selu(x)))


for name, dtype in (("f32", torch.float32), ("f64", torch.float64)):
    net = Net().to(dtype).eval()
    torch.jit.trace(net, torch.rand(2, 4, dtype=dtype)).save(str(pathlib.Path(sys.argv[1]) / f"{name}.pt"))
