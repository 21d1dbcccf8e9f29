"""Writes elu.ir: the graph of a traced ELU, as print(traced.graph) shows it."""
import pathlib, sys

import torch


class Net(torch.nn.Module):
    def forward(self, input):
        return torch._C._nn.elu(input, 1.0)  # as torch.nn.functional.elu, but the line that the graph records is this one


traced = torch.jit.trace(Net(), torch.rand(2, 3))
(pathlib.Path(sys.argv[1]) / "elu.ir").write_text(str(traced.graph))
