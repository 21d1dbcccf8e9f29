"""SRCNN (Dong et al. 2014), whose scale factor is an input: python model.py [FOLDER]"""
import pathlib
import sys
from typing import List

import torch


class SRCNN(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = torch.nn.Conv2d(3, 8, 9, padding=4)
        self.conv2 = torch.nn.Conv2d(8, 4, 1)
        self.conv3 = torch.nn.Conv2d(4, 3, 5, padding=2)

    def forward(self, x: torch.Tensor, scales: torch.Tensor) -> torch.Tensor:
        factors: List[float] = scales.tolist()    # batch, channels, height, width
        x = torch.nn.functional.interpolate(x, scale_factor=factors[-2:], mode="bicubic", align_corners=False)
        x = torch.relu(self.conv1(x))
        x = torch.relu(self.conv2(x))
        return self.conv3(x)


if __name__ == "__main__":
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    torch.manual_seed(0)
    torch.jit.script(SRCNN().eval()).save(folder / "srcnn.pt")   # scripted: a trace would hold the example's factors
    torch.save((torch.rand(1, 3, 12, 10), torch.tensor([1.0, 1.0, 3.0, 3.0])), folder / "inputs.pt")
