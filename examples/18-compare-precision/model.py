"""Writes model.pt: a small classifier that gives float32, float16 and int64."""
import pathlib, sys

import torch


class Classifier(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(1)
        self.first = torch.nn.Linear(16, 24)
        self.last = torch.nn.Linear(24, 5)

    def forward(self, x):
        logits = self.last(torch.nn.functional.gelu(self.first(x)))
        return torch.softmax(logits, 1), logits.half(), logits.argmax(1)


torch.jit.trace(Classifier().eval(), torch.rand(2, 16)).save(str(pathlib.Path(sys.argv[1]) / "model.pt"))
