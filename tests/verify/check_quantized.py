#!/usr/bin/env python3
"""Quantized inputs and outputs: as floats or integers, their numbers from the file, from examples and from --input."""
import argparse, json, subprocess, sys, tempfile
from typing import List

import numpy, onnx, onnxruntime, torch
import torch.ao.nn.quantized as nnq

from running import Verify

SCALE, ZERO = 0.5, 128


class Added(torch.nn.Module):
    def forward(self, x, y):
        return torch.ops.quantized.add(x, y, 0.25, 3)


class Hard(torch.nn.Module):
    def forward(self, x):
        return torch.nn.functional.hardtanh(x, -1.3, 2.0)


class Joined(torch.nn.Module):
    def forward(self, xs: List[torch.Tensor]):
        return torch.cat(xs, 1)


class Dequantized(torch.nn.Module):
    def forward(self, x):
        return x.dequantize() + 1


class OpenScale(torch.nn.Module):
    def forward(self, x, scale):
        return torch.quantize_per_tensor(x, scale, torch.tensor(3), torch.quint8)


class Unused(torch.nn.Module):
    def forward(self, x, y):
        return y + 1


def linear():
    made = nnq.Linear(4, 3)
    made.set_weight_bias(torch.quantize_per_tensor(torch.randn(3, 4), 0.02, 0, torch.qint8), torch.randn(3))
    made.scale, made.zero_point = 0.1, 20
    return made


def quantized(*shape, scale=SCALE, zero=ZERO, dtype=torch.quint8):
    return torch.quantize_per_tensor(torch.randn(shape) * 4, scale, zero, dtype)


def channels():
    return torch.quantize_per_channel(
        torch.randn(2, 3), torch.tensor([0.1, 0.2, 0.05], dtype=torch.float64), torch.tensor([3, 0, 9]), 1, torch.quint8
    )


def traced(check, module, *inputs, name):
    file = check.folder / f"{name}.pt"
    torch.jit.trace(module.eval(), inputs, check_trace=False).save(str(file))
    return file


def metadata(file):
    return {prop.key: prop.value for prop in onnx.load(file).metadata_props}


def report_of(check, program, what, code, *arguments):
    run = subprocess.run([program, "check", *map(str, arguments), "--format", "json"], capture_output=True, text=True)
    check.expect(f"{what}: exit code", run.returncode == code, run.stdout[-700:] + run.stderr[-300:])
    return json.loads(run.stdout) if run.stdout else {}


def borders(check, program):
    x = quantized(2, 4)
    for name, module, inputs in [
        ("linear", linear(), [x]),
        ("hard", Hard(), [x]),
        ("added", Added(), [x, quantized(2, 4, scale=0.1, zero=7)]),
        ("signed", Hard(), [quantized(2, 4, zero=-3, dtype=torch.qint8)]),
        ("channels", Dequantized(), [channels()]),
    ]:
        model = traced(check, module, *inputs, name=name)
        torch.save(tuple(inputs), check.folder / f"{name}_inputs.pt")
        examples = ["--inputs-from", check.folder / f"{name}_inputs.pt"] if name == "channels" else []  # the file has no scales of channels
        for form in ("float", "int"):
            what = f"{name} {form}"
            file = check.convert(model, f"{name}_{form}.onnx", "--quantized-io", form, *examples)
            words = metadata(file)
            check.expect(
                f"{what}: metadata",
                words.get("compatcheck.quantized_io") == form and len(words["compatcheck.quantized"].splitlines()) >= len(inputs),
                words,
            )
            session = onnxruntime.InferenceSession(str(file))
            given = [(i.int_repr() if form == "int" else i.dequantize()).numpy() for i in inputs]
            got = session.run(None, {i.name: g for i, g in zip(session.get_inputs(), given)})[0]
            want = module(*inputs)
            if want.is_quantized:
                expected = want.int_repr().numpy().astype(int) if form == "int" else want.dequantize().numpy() / want.q_scale()
                got = got.astype(int) if form == "int" else got / want.q_scale()
            else:
                expected = want.numpy()
            check.expect(f"{what}: values", got.shape == expected.shape and numpy.abs(got - expected).max() < 1.01, (got, expected))
            check.run(f"{what}: verified", 0, model, "--quantized-io", form, *examples)
            check.run(f"{what}: the file verified", 0, model, file)


def numbers(check, program):
    """Where an input's scale and zero point come from."""
    model = traced(check, Hard(), quantized(2, 4), name="recorded")
    info = report_of(check, program, "recorded", 0, model, "--quantized-io", "int")["model"]
    for tensor in (info["inputs"][0], info["outputs"][0]):
        check.expect("recorded: report", tensor["quantization"] == {"scales": [0.5], "zero_points": [128], "onnx_dtype": "u8"}, tensor)
    text = subprocess.run([program, "check", model], capture_output=True, text=True).stdout
    check.expect("recorded: text", "input x (qu8[2,4]): scale 0.5, zero point 128; f32 in the ONNX model" in text, text)
    scripted = check.save(Hard(), script=True, name="scripted")
    needed = report_of(check, program, "unknown", 1, scripted, "--input", "x=qu8:2,4")
    findings = [f for f in needed["findings"] if f["id"] == "CC006"]
    check.expect("unknown: one question", len(findings) == 1 and "--input x=qu8(SCALE,ZERO_POINT):2,4" in json.dumps(findings), findings)
    check.run("stated", 0, scripted, "--input", "x=qu8(0.5,128):n,4", "--quantized-io", "int")
    check.run(
        "stated for channels",
        0,
        check.save(Dequantized(), script=True, name="by_channel"),
        "--input",
        "x=qi8([0.5,0.25],[0,-3],0):2,4",
        "--quantized-io",
        "int",
    )
    torch.save((quantized(2, 4),), check.folder / "example.pt")
    check.run("from an example", 0, scripted, "--inputs-from", check.folder / "example.pt", "--quantized-io", "int")
    torch.save((channels(),), check.folder / "channels.pt")
    check.run("from an example of channels", 0, check.folder / "by_channel.pt", "--inputs-from", check.folder / "channels.pt")
    joined = check.save(Joined(), script=True, name="joined")
    check.run("members", 0, joined, "--input", "xs.0=qu8(0.5,128):2,3", "--input", "xs.1=qu8(0.1,7):2,5")
    recorded = traced(check, Joined(), [quantized(2, 3), quantized(2, 3)], name="recorded_list")   # the file has the dtype alone
    needed = [f for f in report_of(check, program, "recorded list", 1, recorded)["findings"] if f["id"] == "CC006"]
    check.expect("recorded list: one question", len(needed) == 1 and "--input xs.0=qu8(SCALE,ZERO_POINT):" in json.dumps(needed), needed)
    torch.save(([quantized(2, 3), quantized(2, 3, scale=0.1)],), check.folder / "list.pt")
    check.run("recorded list with examples", 0, recorded, "--inputs-from", check.folder / "list.pt", "--quantized-io", "int")
    unused = traced(check, Unused(), quantized(2, 3, zero=0, dtype=torch.qint32), torch.ones(2, 3), name="unused")
    report_of(check, program, "unused input of 32 bits", 0, unused)
    for wrong in ("x=qu8(0,128):2,4", "x=qu8(0.5,300):2,4", "x=qu8(0.5):2,4", "x=qu8([0.5],[0],1):2,4", "x=f32(0.5,1):2,4"):
        run = subprocess.run([program, "check", scripted, "--input", wrong], capture_output=True, text=True)
        check.expect(f"{wrong}: usage error", run.returncode == 2, run.stderr)
    file = check.save(OpenScale(), script=True, name="open_scale")
    inputs = ["--input", "x=f32:2,4", "--input", "scale=f32:scalar"]
    report_of(check, program, "open scale as floats", 0, file, *inputs)
    refused = report_of(check, program, "open scale as integers", 1, file, *inputs, "--quantized-io", "int")
    check.expect("open scale as integers: reason", "--quantized-io float" in json.dumps(refused), refused)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    arguments = parser.parse_args()
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as folder:
        check = Verify(arguments.program, folder)
        borders(check, arguments.program)
        numbers(check, arguments.program)
        return check.end()


if __name__ == "__main__":
    sys.exit(main())
