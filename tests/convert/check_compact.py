#!/usr/bin/env python3
"""--prefer compact: fewer nodes, inputs by check and convert (CC010), equal to PyTorch's on ordinary inputs; without it, on all inputs."""
import argparse, json, pathlib, subprocess, sys, tempfile, warnings

warnings.filterwarnings("ignore")
import numpy as np
import onnx
import onnxruntime
import torch
import torch.nn.functional as F
from torch import nn

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from compare_arrays import compare

NAN = float("nan")


class By(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *values):
        return self.function(*values)


class Upscaled(torch.nn.Module):
    """By factors that are an input."""

    def forward(self, x: torch.Tensor, scales: torch.Tensor):
        factors = [float(scales[0]), float(scales[1])]
        return F.interpolate(x, scale_factor=factors, mode="bicubic", align_corners=False)


def pictures(height, width):
    return torch.randn(2, 3, height, width)


def with_nan(*shape):
    x = torch.randn(shape)
    x.view(-1)[::5] = NAN
    return x


def heads(batch, queries, keys):
    return tuple(torch.randn(batch, 2, length, 4) for length in (queries, keys, keys))


def grid(height, width, farthest=1.2):
    return (torch.rand(2, height, width, 2) * 2 - 1) * farthest


# Name: module, --input, ordinary inputs, unusual ones (None: PyTorch's own result differs by kernel), lowest opset.
CASES = {
    "max": (By(lambda x: x.max(1)), ["f32:n,6"], [(torch.randn(3, 6),), (torch.randn(5, 6),)], [(with_nan(4, 6),)], 11),
    "argmin": (By(lambda x: x.argmin(-1)), ["f32:n,6"], [(torch.randn(5, 6),)], [(with_nan(4, 6),)], 11),
    "amax": (By(lambda x: x.amax((0, 1))), ["f32:n,6"], [(torch.randn(5, 6),)], [(with_nan(4, 6),)], 11),
    "sort": (By(lambda x: x.sort(1)), ["f32:n,6"], [(torch.randn(5, 6),)], [(with_nan(4, 6),)], 11),
    "topk": (By(lambda x: x.topk(2)[0]), ["f32:n,6"], [(torch.randn(5, 6),)], [(with_nan(4, 6),)], 11),
    "grid_sample": (By(lambda x, g: F.grid_sample(x, g, align_corners=False)), ["f32:2,3,h,w", "f32:2,a,b,2"],
                    [(pictures(6, 8), grid(4, 5)), (pictures(5, 5), grid(7, 3))], [(pictures(6, 8), grid(4, 5, 1e12))], 16),
    "bicubic_factors": (torch.jit.script(Upscaled()), ["f32:2,3,h,w", "f32:2"],
                        [(pictures(6, 8), torch.tensor([2.0, 1.5])), (pictures(9, 7), torch.tensor([1.4, 2.25]))],
                        [(pictures(6, 8), torch.tensor([1.0625, 1.03125]))], 11),
    "bicubic_named": (By(lambda x: F.interpolate(x, scale_factor=1.3, mode="bicubic")), ["f32:2,3,h,w"],
                      [(pictures(6, 8),), (pictures(9, 7),)], [(pictures(3, 3),)], 11),
    "attention": (By(F.scaled_dot_product_attention), ["f32:n,2,a,4", "f32:n,2,b,4", "f32:n,2,b,4"], [heads(3, 5, 6), heads(2, 7, 1)],
                  [heads(0, 5, 6), heads(2, 0, 6), heads(2, 5, 0)], 23),
    "attention_mask": (By(F.scaled_dot_product_attention), ["f32:2,2,5,4", "f32:2,2,6,4", "f32:2,2,6,4", "f32:5,6"],
                       [(*heads(2, 5, 6), torch.randn(5, 6)), (*heads(2, 5, 6), torch.eye(5, 6).log())],
                       [(*heads(2, 5, 6), torch.full((5, 6), torch.finfo(torch.float32).min))], 23),
    "encoder_layer": (nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval().requires_grad_(False), ["f32:n,t,8"],
                      [(torch.randn(3, 5, 8),), (torch.randn(1, 4, 8),)], [], 23),
}


# What has one form: --prefer compact changes nothing and says nothing.
UNCHANGED = {
    "matmul": (By(lambda x: x @ x.transpose(-1, -2)), ["f32:a,b,c,8"], torch.randn(2, 3, 5, 8)),
    "matmul_vector": (By(lambda x: x @ torch.ones(8)), ["f32:a,8"], torch.randn(5, 8)),
    "nearest": (By(lambda x: F.interpolate(x, scale_factor=1.2, mode="nearest", recompute_scale_factor=False)), ["f32:1,2,h,w"], torch.randn(1, 2, 10, 15)),
    "any": (By(lambda x: (x > 0).any()), ["f32:n,4"], torch.randn(3, 4)),
    "nanmedian": (By(lambda x: x.nanmedian(1)[0]), ["f32:n,4"], with_nan(3, 4)),
    "known_nan": (By(lambda x: x.sum() + torch.max(torch.tensor([1.0, NAN]))), ["f32:n,4"], torch.randn(3, 4)),
    "relu": (By(lambda x: torch.relu(x)), ["f32:n,4"], torch.randn(3, 4)),
}


def convert(program, file, out, inputs, *options):
    done = subprocess.run([program, "convert", file, "-o", out, *sum((["--input", one] for one in inputs), []), *options], capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def nodes(file):
    def count(graph):
        return sum(1 + sum(count(attribute.g) for attribute in node.attribute if attribute.type == onnx.AttributeProto.GRAPH) for node in graph.node)
    return count(onnx.load(file).graph)


def differences(module, file, inputs):
    session = onnxruntime.InferenceSession(file, providers=["CPUExecutionProvider"])
    made = module(*inputs)
    expected = [one.numpy() for one in (made if isinstance(made, tuple) else (made,))]
    got = session.run(None, {given.name: value.numpy() for given, value in zip(session.get_inputs(), inputs)})
    difference = compare(got, expected)
    return [difference] if difference else []


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    program = parser.parse_args().program
    torch.manual_seed(7)
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        for name, (module, inputs, ordinary, unusual, lowest) in CASES.items():
            file, exact, compact = (f"{folder}/{name}{end}" for end in (".pt", ".exact.onnx", ".compact.onnx"))
            (module if isinstance(module, torch.jit.ScriptModule) else torch.jit.trace(module, ordinary[0], check_trace=False)).save(file)
            for opset in ("11", "17", "20", "23"):
                if int(opset) < lowest:
                    continue
                where = f"{name} @{opset}"
                for out, options in ((exact, []), (compact, ["--prefer", "compact"])):
                    code, text = convert(program, file, out, inputs, "--opset", opset, *options)
                    if code:
                        failures.append(f"{where} {options}: {text}")
                    if ("CC010" in text) != bool(options):
                        failures.append(f"{where} {options}: convert says {text}")
                    report = json.loads(subprocess.run([program, "check", file, "--opset", opset, "--format", "json", *options,
                                                        *sum((["--input", one] for one in inputs), [])], capture_output=True, text=True).stdout)
                    if any(finding["id"] == "CC010" for finding in report["findings"]) != bool(options):
                        failures.append(f"{where} {options}: check's findings are {report['findings']}")
                if not pathlib.Path(exact).exists() or not pathlib.Path(compact).exists():
                    continue
                if nodes(compact) >= nodes(exact):
                    failures.append(f"{where}: {nodes(compact)} nodes, and {nodes(exact)} without --prefer compact")
                for given in ordinary:
                    for out in (exact, compact):
                        failures += [f"{where} {out}: {one}" for one in differences(module, out, given)]
                for given in unusual:
                    failures += [f"{where} {exact}, unusual inputs: {one}" for one in differences(module, exact, given)]
        for name, (module, inputs, given) in UNCHANGED.items():
            file, out = f"{folder}/{name}.pt", f"{folder}/{name}.onnx"
            torch.jit.trace(module, given, check_trace=False).save(file)
            for opset in ("13", "17"):
                counts = []
                for options in ([], ["--prefer", "compact"]):
                    code, text = convert(program, file, out, inputs, "--opset", opset, *options)
                    if code or "CC010" in text:
                        failures.append(f"{name} @{opset} {options}: {text}")
                        continue
                    counts.append(nodes(out))
                    failures += [f"{name} @{opset} {options}: {one}" for one in differences(module, out, (given,))]
                if len(set(counts)) != 1:
                    failures.append(f"{name} @{opset}: {counts} nodes")
    print("\n".join(failures) or f"{len(CASES) + len(UNCHANGED)} models, exact and compact")
    return bool(failures)


sys.exit(main())
