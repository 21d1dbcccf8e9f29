"""Every mode of interpolate as outputs of three models: python model.py [FOLDER]"""
import pathlib
import sys

import torch
from torch.nn.functional import interpolate


class Repeat(torch.nn.Module):
    """Cells are repeated."""

    def __init__(self):
        super().__init__()
        self.up = torch.nn.Upsample(scale_factor=2, mode="nearest")    # the old name of the same

    def forward(self, x):
        return self.up(x), interpolate(x, scale_factor=3.0, mode="nearest"), interpolate(x, scale_factor=2.0, mode="nearest-exact")


class Smooth(torch.nn.Module):
    """Cells are weighed; each mode with align_corners=False and True."""

    def forward(self, x):
        line, volume = x[:, :, 0], x.unsqueeze(2)
        return tuple(interpolate(of, scale_factor=2.0, mode=mode, align_corners=aligned)
                     for of, mode in ((line, "linear"), (x, "bilinear"), (volume, "trilinear"), (x, "bicubic")) for aligned in (False, True))


class Others(torch.nn.Module):
    def forward(self, x):
        return (interpolate(x, scale_factor=0.5, mode="area"), interpolate(x, size=[4, 3], mode="bilinear", antialias=True),
                interpolate(x, size=[4, 3], mode="bicubic", antialias=True))


MODELS = {"repeat": Repeat(), "smooth": Smooth(), "others": Others()}

if __name__ == "__main__":
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    torch.manual_seed(0)
    for name, model in MODELS.items():
        torch.jit.trace(model, torch.rand(2, 3, 6, 8)).save(folder / f"{name}.pt")
