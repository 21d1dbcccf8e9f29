"""Writes model.pt: two stages of a small network; the second takes a mask besides what the first gives."""
import pathlib, sys

import torch


class Stem(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 8, 3, padding=1, stride=2)

    def forward(self, image):
        return torch.relu(self.conv(image))


class Head(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(8, 5)

    def forward(self, features, mask):
        return self.linear((features * mask).mean((2, 3)))


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(1)
        self.stem = Stem()
        self.head = Head()

    def forward(self, image, mask):
        return self.head(self.stem(image), mask)


torch.jit.trace(Net().eval(), (torch.rand(1, 3, 16, 16), torch.rand(1, 1, 8, 8))).save(str(pathlib.Path(sys.argv[1]) / "model.pt"))
