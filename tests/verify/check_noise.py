#!/usr/bin/env python3
"""compatcheck verify and rounding: what a model makes of it is no mismatch, what is more is one; and what --require asks for."""
import argparse, subprocess, sys, tempfile

import numpy
import onnx
import torch

from running import Verify


class Wide(torch.nn.Module):
    """Sums of large terms: near 0 their rounding is far above the tolerance."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(1)
        self.linear = torch.nn.Linear(1024, 256)

    def forward(self, x):
        return self.linear(x * 100)


class Words(Wide):
    """No float is given to it: its own weights are all that is rounded."""

    def __init__(self):
        super().__init__()
        self.table = torch.nn.Embedding(1000, 1024)

    def forward(self, ids):
        return self.linear(self.table(ids) * 100)


class Stacked(torch.nn.Module):
    """Convolutions whose terms are far larger than their sums."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(1)
        layers = []
        for _ in range(4):
            layers += [torch.nn.Conv2d(32, 32, 3, padding=1), torch.nn.Tanh()]
        self.layers = torch.nn.Sequential(*layers, torch.nn.Conv2d(32, 8, 3))

    def forward(self, x):
        return self.layers(x) * 300


class Ragged(torch.nn.Module):
    """Makes everything of the last bits: its noise is as large as its results."""

    def forward(self, x):
        return torch.sin(x * 1e7)


class Gelu(torch.nn.Module):
    def forward(self, x):
        return torch.nn.functional.gelu(x)


class Tanh(torch.nn.Module):
    def forward(self, x):
        return torch.nn.functional.gelu(x, approximate="tanh")


def shifted(file, to, by):
    """The model with each element of its only output moved."""
    model = onnx.load(file)
    output = model.graph.output[0].name
    for node in model.graph.node:
        node.output[:] = ["before_shift" if name == output else name for name in node.output]
    model.graph.initializer.append(onnx.numpy_helper.from_array(numpy.array(by, numpy.float32), "shift"))
    model.graph.node.append(onnx.helper.make_node("Add", ["before_shift", "shift"], [output], name="shifting"))
    onnx.save(model, to)
    return to


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    with tempfile.TemporaryDirectory() as folder:
        verify = Verify(parser.parse_args().program, folder)
        wide = verify.save(Wide(), torch.rand(512, 1024))
        report = verify.run("within the noise", 0, wide)
        output = report["outputs"][0] if report else {}
        verify.expect(
            "within the noise", output and output["within_noise"] > 0 and output["noise_abs"] > 1e-5 and output["mismatched"] == 0, output
        )
        text = verify.run("within the noise, as text", 0, wide, form=None)
        verify.expect("within the noise, as text", "within the model's own rounding noise" in text and "optimisations" not in text, text)
        if output:
            file = verify.convert(wide, "wide.onnx")
            report = verify.run(
                "ten times the noise", 1, wide, shifted(file, f"{folder}/shifted.onnx", 10 * output["noise_abs"]), ids=["CC201"]
            )
            verify.expect("ten times the noise", report and "optimisations" not in report["findings"][0]["help"], report)
        # A model of integers alone: its weights tell; scripted, too, and where they are constants of its code.
        words = torch.randint(0, 1000, (32, 64))
        frozen = f"{folder}/frozen.pt"
        torch.jit.freeze(torch.jit.trace(Words().eval(), words, check_trace=False)).save(frozen)
        for what, model in (
            ("words, traced", verify.save(Words(), words)),
            ("words, scripted", verify.save(Words(), script=True, name="scripted")),
            ("words, frozen", frozen),
        ):
            report = verify.run(what, 0, model, "--input", "ids=i64:32,64")
            output = report["outputs"][0] if report else {}
            verify.expect(what, output and output["within_noise"] > 0 and output["noise_abs"] > 1e-5 and output["mismatched"] == 0, output)
        if output:
            file = verify.convert(frozen, "words.onnx", "--input", "ids=i64:32,64")
            verify.run(
                "words, ten times the noise", 1, frozen, shifted(file, f"{folder}/shifted.onnx", 10 * output["noise_abs"]), ids=["CC201"]
            )

        # Convolutions; and a model that rounding alone tears apart, which no noise excuses.
        verify.run("stacked", 0, verify.save(Stacked(), torch.randn(1, 32, 24, 24)))
        ragged = verify.save(Ragged(), torch.rand(64, 64))
        report = verify.run(
            "ragged", 1, ragged, shifted(verify.convert(ragged, "ragged.onnx"), f"{folder}/ragged_shifted.onnx", 0.01), ids=["CC201"]
        )

        verify.run("no relative tolerance, no excuse", 1, wide, "--rtol", "0", ids=["CC201"])

        gelu = verify.save(Gelu(), torch.rand(64, 64))
        other = verify.convert(verify.save(Tanh(), torch.rand(64, 64)), "tanh.onnx")
        verify.run("another operator, near the tolerance", 1, gelu, other, ids=["CC201"])
        report = verify.run("an unreachable cosine", 1, gelu, "--require", "cosine>=2", ids=["CC201"])
        verify.expect(
            "an unreachable cosine",
            report and "optimisations" not in report["findings"][0]["help"] and "a cosine is at most 1" in report["findings"][0]["help"],
            report,
        )
        report = verify.run("a cosine that isn't reached", 1, gelu, other, "--atol", "1", "--require", "cosine>=0.99999999", ids=["CC201"])
        verify.expect("a cosine that isn't reached", report and "optimisations" not in report["findings"][0]["help"], report)
        return verify.end()


if __name__ == "__main__":
    sys.exit(main())
