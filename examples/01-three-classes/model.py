"""classes.pt, an operator of each class, and baked.pt, whose trace took values of its example for constants: python model.py [FOLDER]"""
import pathlib
import sys
import warnings

import torch


class Classes(torch.nn.Module):
    def forward(self, x):
        y = torch.relu(x)                         # one ONNX node
        y = torch.nn.functional.silu(y)           # two
        return torch.linalg.pinv(y)               # none


class Baked(torch.nn.Module):
    def forward(self, x, lengths):
        rows = int(x.shape[0])                    # a Python number: the trace holds the example's 7
        if float(x.mean()) > 0:                   # a Python branch: the trace holds the side that was taken
            x = torch.nn.functional.silu(x)
        longest = float(lengths.max())            # lengths is read by Python alone: the graph doesn't use it
        return torch.relu(x * longest).reshape(rows, -1)


if __name__ == "__main__":
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    torch.manual_seed(0)
    warnings.simplefilter("ignore", torch.jit.TracerWarning)   # they say the same as the comments above
    torch.jit.trace(Classes(), torch.rand(5, 4)).save(folder / "classes.pt")
    torch.jit.trace(Baked(), (torch.rand(7, 3, 4), torch.rand(7))).save(folder / "baked.pt")
