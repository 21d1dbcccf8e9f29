#!/usr/bin/env python3
"""ONNX files that PyTorch's two exporters and compatcheck write of small modules, converted to other opsets by `compatcheck convert`.

Each converted file passes onnx's checker and computes in ONNX Runtime what the file itself computes, on inputs that the exporter didn't
see. UNCONVERTED lists the only ones that are refused. What compatcheck writes at opset 20, converted to 11, computes what it writes at
11, with hardly more nodes."""
import argparse, contextlib, io, pathlib, subprocess, sys, tempfile, warnings

import numpy
import onnx
import onnxruntime
import torch
from torch import nn
from torch.nn import functional as F

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "convert"))
from days import part_of_the_day

TARGETS = 9, 11, 13, 17, 20, 23
MOST_NODES = 1.1  # of all modules together
# (module, writer): targets that the file can't be converted to
UNCONVERTED = {
    ("index", "torchscript"): {9},     # Slice with bounds that the model computes
    ("pads", "torchscript"): {9},      # Pad with pads that the model computes
    ("encoder", "torchscript"): {9},   # the same
    ("bag", "torchscript"): {9},       # a Loop that carries nothing
    ("bag", "dynamo"): {9, 11, 13},    # CastLike in a Loop, of a dtype that ONNX's inference doesn't find
}


def module(function, *parts):
    """A module of these parts whose forward is the function."""
    class Made(nn.Module):
        def __init__(self):
            super().__init__()
            self.parts = nn.ModuleList(parts)

        def forward(self, *inputs):
            return function(*self.parts, *inputs)
    return Made().eval()


class Loop(nn.Module):
    def forward(self, x, n: int):
        for _ in range(n):
            if bool(x.sum() > 3):
                x = x * 0.5
            else:
                x = x + F.gelu(x)
        return x


def put(x, i, y):
    z = x.clone()
    z[i] = y
    return z, torch.scatter(x, 0, i[:, None].expand(2, 4), y), x.tril(), torch.einsum("ij,kj->ik", x, y)


def modules():
    rand = torch.randn
    return {
        "conv": (module(lambda c, b, x: F.max_pool2d(F.hardswish(b(c(x))), 2), nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8)),
                 (rand(2, 3, 16, 16),)),
        "encoder": (module(lambda e, x: e(x), nn.TransformerEncoderLayer(32, 4, 64, batch_first=True, activation="gelu")),
                    (rand(2, 7, 32),)),
        "up": (module(lambda x: F.interpolate(x, scale_factor=2.0, mode="bilinear") + F.interpolate(x, scale_factor=2.0)),
               (rand(1, 3, 8, 8),)),
        "lstm": (module(lambda m, x: m(x)[0], nn.LSTM(8, 16, 2, batch_first=True, bidirectional=True)), (rand(2, 5, 8),)),
        "grid": (module(lambda x, g: F.grid_sample(x, g, align_corners=False)),
                 (rand(1, 3, 8, 8), torch.rand(1, 5, 5, 2) * 2 - 1)),
        "attention": (module(lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True)),
                      tuple(rand(1, 2, 5, 8) for _ in range(3))),
        "norms": (module(lambda g, n, i, x: n(g(x)) + i(x), nn.GroupNorm(2, 8), nn.LayerNorm(6), nn.InstanceNorm1d(8)), (rand(2, 8, 6),)),
        "index": (module(lambda x, i: (x[i].cumsum(0), *torch.topk(x, 2, dim=-1), x[:, ::2].flip(1),
                                       *torch.where(x > 0, x, -x).chunk(3, 1))),
                  (rand(5, 7), torch.tensor([0, 3, -1]))),
        "pads": (module(lambda x: (F.pad(x, (1, 2), mode="reflect").clamp(-0.5, 0.5).unsqueeze(1).sum(-1, keepdim=True), x.softmax(1),
                                   x.log_softmax(-1))), (rand(3, 4, 6),)),
        "put": (module(put), (rand(5, 4), torch.tensor([1, 3]), rand(2, 4))),
        "loop": (torch.jit.script(Loop()), (rand(3, 4), 3)),
        "bag": (module(lambda e, a, p, x: F.mish(p(a(e(x)))), nn.EmbeddingBag(10, 4, mode="sum"), nn.Linear(4, 4), nn.PReLU()),
                (torch.randint(0, 10, (3, 4)),)),
    }


def session(file):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])


def inputs_of(session, examples, seed):
    """Other numbers than the exporter saw."""
    random = numpy.random.default_rng(seed)
    fresh = lambda value: random.standard_normal(value.shape).astype(value.dtype) if value.dtype.kind == "f" else value
    return {value.name: fresh(numpy.asarray(example)) for value, example in zip(session.get_inputs(), examples)}


def same(a, b):
    alike = lambda x, y: x.shape == y.shape and x.dtype == y.dtype and numpy.allclose(x, y, rtol=1e-3, atol=1e-5)
    return len(a) == len(b) and all(map(alike, a, b))


def count_nodes(graph):
    return sum(1 + sum(count_nodes(attribute.g) for attribute in node.attribute if attribute.HasField("g")) for node in graph.node)


def convert(program, model, out, opset):
    return subprocess.run([program, "convert", model, "-o", out, "--opset", str(opset), "--no-config"], capture_output=True, text=True)


def files_of(name, made, examples, writers, program, folder):
    """{writer: file} of a module."""
    files = {}
    if "torchscript" in writers:
        files["torchscript"] = folder / f"{name}.torchscript.onnx"
        torch.onnx.export(made, examples, str(files["torchscript"]), dynamo=False, opset_version=17)
    if "dynamo" in writers and not isinstance(made, torch.jit.ScriptModule):
        files["dynamo"] = folder / f"{name}.dynamo.onnx"
        torch.onnx.export(made, examples, str(files["dynamo"]), dynamo=True, opset_version=23, verbose=False)
    if "compatcheck" in writers and name != "encoder":
        model = folder / f"{name}.pt"
        (made if isinstance(made, torch.jit.ScriptModule) else torch.jit.trace(made, examples)).save(str(model))
        for opset in (11, 20):
            files[f"compatcheck {opset}"] = folder / f"{name}.{opset}.onnx"
            result = convert(program, model, files[f"compatcheck {opset}"], opset)
            if result.returncode:
                raise RuntimeError(f"{name}: {result.stderr}{result.stdout}")
    return files


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    onnxruntime.set_default_logger_severity(4)
    torch.manual_seed(0)
    writers = part_of_the_day(["torchscript", "dynamo", "compatcheck"], "exported_files", 3)
    defects, tried, nodes = [], 0, [0, 0]
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for name, (made, examples) in modules().items():
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                files = files_of(name, made, examples, writers, options.program, folder)
            for writer, file in files.items():
                own = session(file)
                given = inputs_of(own, examples, 1)
                expected = own.run(None, given)
                for target in TARGETS:
                    out = folder / f"{name}.{writer}.{target}.onnx"
                    result = convert(options.program, file, out, target)
                    tried += 1
                    refused = target in UNCONVERTED.get((name, writer), ())
                    if result.returncode or refused:
                        if result.returncode != 1 or not refused:
                            defects.append(f"{name} by {writer} to {target}: exit {result.returncode}: {result.stderr}{result.stdout}")
                        continue
                    onnx.checker.check_model(onnx.load(out), full_check=True)
                    if not same(session(out).run(None, given), expected):
                        defects.append(f"{name} by {writer} to {target}: other results")
            if "compatcheck 20" in files:
                there, here = folder / f"{name}.compatcheck 20.11.onnx", files["compatcheck 11"]
                given = inputs_of(session(here), examples, 2)
                if not same(session(there).run(None, given), session(here).run(None, given)):
                    defects.append(f"{name}: from 20 to 11 isn't what is written at 11")
                for i, file in enumerate((there, here)):
                    nodes[i] += count_nodes(onnx.load(file).graph)
    if nodes[0] > MOST_NODES * nodes[1]:
        defects.append(f"{nodes[0]} nodes from 20 to 11, {nodes[1]} written at 11")
    print(*defects, sep="\n")
    print(f"{tried} conversions of files by {', '.join(writers)}; nodes at 11, from 20 and written there: {nodes[0]}, {nodes[1]}")
    return 1 if defects else 0


if __name__ == "__main__":
    sys.exit(main())
