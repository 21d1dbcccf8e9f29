#!/usr/bin/env python3
"""What is random in TorchScript is random in ONNX Runtime with its default optimisations, wherever the operator stands; and compatcheck
verify
says of a file where it isn't. tests/operators/run_random.py has each operator by itself."""
import argparse, sys, tempfile

import numpy
import onnx
import onnxruntime
import torch
import torch.nn.functional as F

from running import Verify


class Prenet(torch.nn.Module):
    """Tacotron's, which drops when it speaks, too."""

    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList([torch.nn.Linear(8, 8), torch.nn.Linear(8, 8)])

    def forward(self, x):
        for layer in self.layers:
            x = F.dropout(F.relu(layer(x)), p=0.5, training=True)
        return torch.tanh(x)


class Twice(torch.nn.Module):
    """Two masks of one tensor: their difference is random, too."""

    def forward(self, x):
        return torch.tanh(F.dropout(x, 0.5, True) - F.dropout(x, 0.5, True))


class Weights(torch.nn.Module):
    """Of constants alone, which the runtime could compute beforehand."""

    def __init__(self):
        super().__init__()
        self.register_buffer("weight", torch.rand(4, 8) + 1)

    def forward(self, x):
        return x @ torch.relu(F.dropout(self.weight, 0.5, True)).t(), x[0, 0] + torch.rand_like(self.weight) + torch.normal(self.weight, self.weight)


class Branch(torch.nn.Module):
    def forward(self, x):
        if bool(x.sum() > -1000):
            y = torch.relu(F.dropout(x, 0.5, True))
        else:
            y = x + torch.rand_like(x)
        return y * 2


class Loop(torch.nn.Module):
    """Each iteration draws anew."""

    def forward(self, x):
        made = torch.jit.annotate(list[torch.Tensor], [])
        for i in range(x.size(0)):
            made.append(torch.relu(F.dropout(torch.ones(32), 0.5, True)) + torch.rand(32))
        return torch.stack(made)


class Attention(torch.nn.Module):
    def forward(self, x):
        y = x.reshape(1, 1, -1, 8)
        return torch.tanh(F.scaled_dot_product_attention(y, y, y, dropout_p=0.5))


class Whole(torch.nn.Module):
    """What drops whole channels, and what SELU needs."""

    def forward(self, x):
        image = x.reshape(1, -1, 2, 2)
        return (torch.tanh(F.dropout2d(image, 0.5, True)), torch.tanh(F.dropout1d(x, 0.5, True)), torch.tanh(F.dropout3d(image[:, :, None], 0.5, True)),
                torch.tanh(F.alpha_dropout(x, 0.5, True)), torch.tanh(F.feature_alpha_dropout(image, 0.5, True)))


class Given(torch.nn.Module):
    """The probability is an input."""

    def forward(self, x, p: float):
        return torch.relu(F.dropout(x, p, True))


MODULES = [Prenet(), Twice(), Weights(), Branch(), Loop(), Attention(), Whole()]
# The form that compatcheck wrote once, and ONNX Runtime removes.
REMOVED = '<ir_version: 8, opset_import: ["": 17]> g (float[6,8] x) => (float[6,8] y) ' \
          "{ p = Constant<value=float {0.5}>() t = Constant<value=bool {1}>() r = Relu(x) d = Dropout(r, p, t) y = Tanh(d) }"


class Removed(torch.nn.Module):
    def forward(self, x):
        return torch.tanh(F.dropout(torch.relu(x), 0.5, True))


def runs(file, feed, count=20):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
    return [session.run(None, feed) for _ in range(count)]


def check_modules(verify):
    x = torch.rand(6, 8) + 0.5
    for module in MODULES:
        name = type(module).__name__
        ways = {"scripted": verify.save(module, script=True, name=name), "exported": verify.folder / f"{name}.pt2"}
        if name not in ("Loop", "Branch"):
            ways["traced"] = verify.save(module, x, name=name + "_traced")
            torch.export.save(torch.export.export(module, (x,)), ways["exported"])
        else:
            del ways["exported"]
        for way, model in ways.items():
            inputs = () if way == "exported" else ("--input", "f32:6,8")
            for opset in (9, 12, 17, 21) if way == "scripted" else (17,):
                if name == "Loop" and opset < 12:
                    continue
                file = verify.convert(model, "random.onnx", "--opset", opset, *inputs)
                made = runs(file, {onnx.load(file).graph.input[0].name: x.numpy()})
                for i, outputs in enumerate(zip(*made)):
                    count = len({output.tobytes() for output in outputs})
                    verify.expect(f"{name}, {way} at {opset}, output {i}", count == 20 or (count > 5 and name == "Whole"), f"{count} results of 20 runs")
                if name == "Loop":
                    rows = numpy.concatenate([outputs[0] for outputs in made])
                    verify.expect("iterations of a loop", len(numpy.unique(rows, axis=0)) == len(rows))
        verify.run(f"verify of {name}", 1, ways["scripted"], "--input", "f32:6,8", ids=["CC008"])


def check_share(verify):
    """Of zeros, with p known at run time; 0 and 1 are no exceptions."""
    x = torch.ones(100, 100)
    file = verify.convert(verify.save(Given(), script=True), "given.onnx", "--input", "x=f32:n,100")
    names = [given.name for given in onnx.load(file).graph.input]
    for p in (0.0, 0.1, 0.7, 1.0):
        (made,), = runs(file, dict(zip(names, (x.numpy(), numpy.array(p)))), 1)
        kept = made[made != 0]
        verify.expect(f"p={p}", abs((made == 0).mean() - p) < 0.02 and (not kept.size or numpy.allclose(kept, 1 / (1 - p))), f"{(made == 0).mean()} zeros, {kept[:3]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    torch.manual_seed(1)
    with tempfile.TemporaryDirectory() as folder:
        verify = Verify(parser.parse_args().program, folder)
        check_modules(verify)
        check_share(verify)
        form = verify.folder / "removed.onnx"
        onnx.save(onnx.parser.parse_model(REMOVED), form)
        report = verify.run("a Dropout that is removed", 1, verify.save(Removed(), torch.rand(6, 8)), form, ids=["CC008", "CC201"])
        finding = next((finding for finding in report.get("findings", []) if finding["id"] == "CC201"), {})
        verify.expect("a Dropout that is removed", "the same in 20 runs" in finding.get("message", "") and "they are at fault" in finding.get("help", ""), finding)
        verify.run("what is drawn instead", 1, verify.save(Removed(), torch.rand(6, 8)), ids=["CC008"])
        return verify.end()


if __name__ == "__main__":
    sys.exit(main())
