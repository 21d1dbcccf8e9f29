"""Writes dynamic.pt and baked.pt: the same network, traced at one size. One asks the image for its width, the other made a Python
number of it, which tracing takes for a constant."""
import pathlib, sys, warnings

import torch

warnings.simplefilter("ignore")  # the tracer warns of the very thing that is shown


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(1)
        self.conv = torch.nn.Conv2d(3, 4, 3, padding=1)
        self.linear = torch.nn.Linear(4, 5)

    def columns(self, image):
        return torch.arange(image.shape[3]) / image.shape[3]

    def forward(self, image):
        features = torch.relu(self.conv(image)) + self.columns(image)
        tokens = features.flatten(2).transpose(1, 2)
        return self.linear(tokens), torch.nn.functional.interpolate(features, scale_factor=2.0, mode="bilinear")


class Baked(Net):
    def columns(self, image):
        width = int(image.shape[3])
        return torch.arange(width) / width


for name, net in (("dynamic", Net()), ("baked", Baked())):
    torch.jit.trace(net.eval(), torch.rand(2, 3, 8, 8)).save(str(pathlib.Path(sys.argv[1]) / f"{name}.pt"))
