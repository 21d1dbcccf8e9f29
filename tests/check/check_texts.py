#!/usr/bin/env python3
"""Texts among the inputs: an option states them, and they decide branches. Models are checked, converted and verified."""
import argparse, pathlib, subprocess, sys, tempfile
from typing import Dict, List, Optional

import numpy as np
import onnx
import onnxruntime
import torch
import torch.nn.functional as F
from torch import Tensor, nn


class Activated(nn.Module):
    def forward(self, x, name: str):
        if name == "relu":
            return F.relu(x)
        elif name == "none":
            return x
        elif name == "":
            return x + 1
        elif name == '"q" =a,b:c':
            return x + 2
        return torch.tanh(x)


class Reduced(nn.Module):
    def forward(self, x, y, reduction: Optional[str]):
        if reduction is None:
            return x - y
        return F.mse_loss(x, y, reduction=reduction)


class Listed(nn.Module):
    def forward(self, x, steps: List[str]):
        for step in steps:
            if step == "relu":
                x = F.relu(x)
            else:
                x = x * 2
        return x


class Keyed(nn.Module):
    def forward(self, x, options: Dict[str, str]):
        return F.interpolate(x, scale_factor=2.0, mode=options["mode"])


class Numbered(nn.Module):
    def forward(self, x, einsum: str):
        return torch.einsum(einsum, x, x)


class Texts:
    def __init__(self, program, folder):
        self.program, self.folder, self.wrong = program, folder, []

    def run(self, *words):
        return subprocess.run([self.program, *map(str, words)], capture_output=True, text=True)

    def saved(self, module):
        file = self.folder / f"{type(module).__name__}.pt"
        torch.jit.script(module.eval()).save(str(file))
        return file

    def expect(self, what, holds, shown=""):
        if not holds:
            self.wrong.append(f"{what}: {shown}")

    def converts(self, module, options, arguments, *tensors):
        """Checked, converted, verified by the file's own statements, and compared with the module."""
        file, made = self.saved(module), self.folder / "made.onnx"
        given = [word for option in options for word in ("--input", option)]
        checked = self.run("check", file, *given)
        self.expect(f"check {options}", checked.returncode == 0 and "CONVERTIBLE" in checked.stdout, checked.stdout + checked.stderr)
        converted = self.run("convert", file, "-o", made, *given)
        self.expect(f"convert {options}", converted.returncode == 0, converted.stdout + converted.stderr)
        if converted.returncode:
            return
        session = onnxruntime.InferenceSession(made, providers=["CPUExecutionProvider"])
        self.expect(f"inputs {options}", len(session.get_inputs()) == len(tensors), [each.name for each in session.get_inputs()])
        feeds = {each.name: tensor.numpy() for each, tensor in zip(session.get_inputs(), tensors)}
        found, wanted = session.run(None, feeds)[0], module(*arguments).numpy()
        self.expect(f"values {options}", np.allclose(found, wanted, atol=1e-5), (found, wanted))
        for words in ([file, made], [file, *given]):
            verified = self.run("verify", *words)
            self.expect(f"verify {words}", verified.returncode == 0, verified.stdout + verified.stderr)

    def says(self, module, options, code, text):
        run = self.run("check", self.saved(module), *[word for option in options for word in ("--input", option)])
        printed = " ".join((run.stdout + run.stderr).split())
        self.expect(f"{options}", run.returncode == code and text in printed, printed)


def values_decide(texts):
    x = torch.tensor([[-1.5, 0.5, 2.0]])
    for option, text in (("name=relu", "relu"), ("name='relu'", "relu"), ("name=none", "none"), ('name=""', ""), ("name=", ""),
                         ('name=""q" =a,b:c"', '"q" =a,b:c'), ("name=tan h", "tan h"), ("name=3", "3"), ("name=f32:2", "f32:2")):
        texts.converts(Activated(), ["x=f32:n,3", option], (x, text), x)
    texts.converts(Activated(), ["f32:n,3", "relu"], (x, "relu"), x)
    texts.converts(Numbered(), ["x=f32:3,3", "einsum=ij,jk->ik"], (x.repeat(3, 1), "ij,jk->ik"), x.repeat(3, 1))


def optional_texts(texts):
    x, y = torch.randn(2, 3), torch.randn(2, 3)
    shapes = ["x=f32:2,3", "y=f32:2,3"]
    texts.converts(Reduced(), [*shapes, "reduction=none"], (x, y, None), x, y)
    texts.converts(Reduced(), [*shapes, 'reduction="none"'], (x, y, "none"), x, y)
    texts.converts(Reduced(), [*shapes, "reduction=sum"], (x, y, "sum"), x, y)


def members(texts):
    x = torch.tensor([[-1.5, 0.5, 2.0]])
    texts.converts(Listed(), ["x=f32:n,3", "steps.0=relu", "steps.1=double"], (x, ["relu", "double"]), x)
    image = torch.randn(1, 3, 4, 4)
    texts.converts(Keyed(), ["x=f32:1,3,4,4", "options.mode=nearest"], (image, {"mode": "nearest"}), image)


def other_values_are_noticed(texts):
    """A file that holds one text isn't compared with a call that has another."""
    file, made = texts.saved(Activated()), texts.folder / "relu.onnx"
    texts.run("convert", file, "-o", made, "--input", "x=f32:2,3", "--input", "name=relu")
    texts.expect("metadata", "name=relu" in {each.key: each.value for each in onnx.load(made).metadata_props}.get("compatcheck.values", ""))
    torch.save({"x": torch.randn(2, 3), "name": "tanh"}, texts.folder / "example.pt")
    run = texts.run("verify", file, made, "--inputs-from", texts.folder / "example.pt")
    texts.expect("another value", run.returncode == 2 and "holds relu for the input 'name'" in run.stderr, run.stdout + run.stderr)
    torch.save({"x": torch.randn(2, 3), "name": "relu"}, texts.folder / "example.pt")
    run = texts.run("verify", file, made, "--inputs-from", texts.folder / "example.pt")
    texts.expect("the same value", run.returncode == 0, run.stdout + run.stderr)


def advice_can_be_given(texts):
    texts.says(Activated(), ["x=f32:2,3"], 1, "--input name=TEXT with your own text, or set 'name' in __init__")
    texts.says(Activated(), ["x=f32:2,3", "name=none"], 0, "CONVERTIBLE")
    texts.says(Activated(), ["x=f32:2,3", "name=a\tb"], 2, "a text has no control characters")
    texts.says(Listed(), ["x=f32:2,3"], 1, "--input steps.0=TEXT")
    texts.says(Reduced(), ["x=f32:2,3", "y=f32:2,3"], 1, "TEXT with your own text")


CASES = (values_decide, optional_texts, members, other_values_are_noticed, advice_can_be_given)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        texts = Texts(options.program, pathlib.Path(folder))
        for case in CASES:
            if options.only in case.__name__:
                case(texts)
    print(*texts.wrong, sep="\n")
    print(f"{len(texts.wrong)} failed")
    return bool(texts.wrong)


if __name__ == "__main__":
    sys.exit(main())
