"""Writes model.pt: a module that calls my_lib::my_add, of the library libmy_lib.so beside it."""
import pathlib, sys

import torch

out = pathlib.Path(sys.argv[1])
torch.ops.load_library(out.resolve() / "libmy_lib.so")


class Net(torch.nn.Module):
    def forward(self, a, b):
        return torch.relu(torch.ops.my_lib.my_add(a, b))


torch.jit.trace(Net(), (torch.rand(2, 3), torch.rand(2, 3))).save(str(out / "model.pt"))
