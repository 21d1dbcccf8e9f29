"""chebyshev.pt, of the operator that ONNX lacks alone: python model.py [FOLDER]"""
import pathlib
import sys

import torch


class Chebyshev(torch.nn.Module):
    def forward(self, x):
        return torch.special.chebyshev_polynomial_t(x, 3)


if __name__ == "__main__":
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    torch.jit.trace(Chebyshev(), torch.rand(2, 3)).save(folder / "chebyshev.pt")
