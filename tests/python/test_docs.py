"""Every example of docs/python.md runs, in the order of the page and with the names of those before it."""
import contextlib, io, os, pathlib, re, subprocess, sys

import pytest, samples

PAGE = samples.ROOT / "docs/python.md"
BLOCK = re.compile(r"^```(python|text)\n(.*?)^```$", re.M | re.S)


def make_models(folder):
    import torch

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = torch.nn.Linear(3, 2)

        def forward(self, x):
            return torch.relu(self.linear(x))

    batch = torch.export.Dim("batch")
    torch.export.save(torch.export.export(Net(), (torch.ones(2, 3),), dynamic_shapes=({0: batch},)), folder / "model.pt2")
    torch.jit.trace(Net(), torch.ones(2, 3)).save(folder / "model.pt")
    (folder / "align.ir").write_bytes(samples.MISSING.read_bytes())
    return {"Net": Net}


def test_examples(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    names = make_models(tmp_path)
    blocks = BLOCK.findall(PAGE.read_text())
    printed, ran = "", 0
    for language, text in blocks:
        if language == "text":
            assert printed.strip() == text.strip()
        elif "import pytest" in text:   # a file of tests
            (tmp_path / "test_model.py").write_text(text)
            done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "compatcheck.pytest_plugin", "test_model.py"], capture_output=True, text=True)
            assert done.returncode == 0, done.stdout
            ran += 1
        else:
            output = io.StringIO()
            with contextlib.redirect_stdout(output):
                exec(compile(text, str(PAGE), "exec"), names)
            printed, ran = output.getvalue(), ran + 1
    assert ran >= 6
