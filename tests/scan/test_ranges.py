"""Models whose weights are folded: engines get the same report of parts of the file as of the whole file."""
import warnings

import pytest

warnings.filterwarnings("ignore")
import torch
import torch.nn.functional as F
from torch import nn

import compatcheck


class Cosine(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.rand(300, 256))

    def forward(self, x):
        return F.linear(F.normalize(x), F.normalize(self.w))


class Positions(nn.Module):
    def __init__(self):
        super().__init__()
        self.p = nn.Parameter(torch.rand(1, 512, 256))

    def forward(self, x):
        return x + self.p[:, :16] * 0.5


class Table(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(40, 256)
        self.register_buffer("ids", torch.arange(16384).remainder(40).reshape(1, -1))

    def forward(self, x):
        return x + self.embedding(self.ids[:, :16])


CASES = {
    "cosine": (Cosine(), torch.rand(2, 256)),
    "positions": (Positions(), torch.rand(2, 16, 256)),
    "table": (Table(), torch.rand(2, 16, 256)),
    "weight_norm": (nn.utils.parametrizations.weight_norm(nn.Linear(256, 300)), torch.rand(2, 256)),
}


@pytest.mark.parametrize("name", CASES)
def test_the_report_is_that_of_the_file(name, tmp_path):
    module, example = CASES[name]
    traced, exported = tmp_path / "traced.pt", tmp_path / "exported.pt2"
    torch.jit.trace(module.eval(), example).save(traced)
    torch.export.save(torch.export.export(module, (example,)), exported)
    for path in traced, exported:
        options = {"opset": 17, "targets": ["tensorrt", "ort-cpu", "ort-qnn"]}
        whole, parts = compatcheck.check(path, **options), compatcheck.check(compatcheck.ranged_file(path.as_uri()), **options)
        assert [each.message for each in parts.findings] == [each.message for each in whole.findings]
        assert parts.targets == whole.targets


@pytest.mark.parametrize("what", ["gone", "folder"])
def test_what_cannot_be_read_is_a_model_error(what, tmp_path):
    """It may go between the look and the read."""
    file = tmp_path / "model.pt"
    torch.jit.script(nn.Linear(2, 2)).save(str(file))
    with pytest.raises(compatcheck.ModelError, match="can't be read"):
        ranged = compatcheck.ranged_file(tmp_path.as_uri() if what == "folder" else f"memory:///{what}.pt")
        compatcheck.check(ranged)
