#!/usr/bin/env python3
"""Ranges of named sizes, stated by options and files or demanded by calls: which nodes they make needless, and at which sizes the
models run."""
import sys

import numpy, onnx, onnxruntime, torch
from torch.export import Dim

from running import run_cases


class Mean(torch.nn.Module):
    def forward(self, x):
        return x.mean((1, 2))


class Cropped(torch.nn.Module):
    """Slices that may be shorter, and ones that aren't."""

    def forward(self, x):
        return x[:, :4] * 2, x[:, 4:] + 1, x[:, -3:]


class Convolved(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 4, 5, stride=2)

    def forward(self, x):
        return self.conv(x).mean((2, 3)), x.mean(2)


class Chosen(torch.nn.Module):
    """The convolution runs for some inputs only."""

    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 4, 5)

    def forward(self, x, wide: bool):
        if wide:
            return self.conv(x).mean((2, 3))
        return x.mean((2, 3)).sum(1, keepdim=True).repeat(1, 4)


class Filled(torch.nn.Module):
    """As many values as an input says that has the name of a size."""

    def forward(self, v, n: int):
        return torch.sigmoid(torch.zeros(n) + torch.exp(v * 2).sum()) * 2


def ops(file):
    return {node.op_type for node in onnx.load(file).graph.node}


def sizes_of(report, name):
    return {run["sizes"][name] for run in report.get("runs", [])}


def stated_by_options(verify):
    model, named = verify.save(Mean(), torch.rand(2, 3, 4)), ("--input", "x=f32:b,n,m")
    free = verify.convert(model, "free.onnx", *named)
    bounded = verify.convert(model, "bounded.onnx", *named, "--dim", "n=1..64", "--dim", "m=2..")
    half = verify.convert(model, "half.onnx", *named, "--dim", "n=0..64", "--dim", "m=2..")
    verify.expect("a mean of sizes from 1 on is one node", ops(bounded) == {"ReduceMean"}, ops(bounded))
    verify.expect("a mean of sizes that may be 0 isn't", "ReduceMean" not in ops(free) | ops(half), ops(free))
    report = verify.run("the range", 0, model, bounded, *named, "--dim", "n=1..64", "--dim", "m=2..", "--runs", "12")
    verify.expect("sizes in the range", sizes_of(report, "n") <= set(range(1, 65)) and len(sizes_of(report, "n")) > 1, sizes_of(report, "n"))
    report = verify.run("the range that the file states", 0, model, bounded, "--runs", "12")
    verify.expect("sizes in the file's range", sizes_of(report, "n") <= set(range(1, 65)), sizes_of(report, "n"))
    report = verify.run("a far range", 0, model, *named, "--dim", "n=37..39", "--dim", "m=3..3")
    verify.expect("sizes in a far range", sizes_of(report, "n") <= {37, 38, 39} and sizes_of(report, "m") == {3}, report.get("runs"))
    for narrow, size in (("0..1", 1), ("1..2", 2), ("2..2", 2), ("2..3", 2)):
        report = verify.run(f"a narrow range, {narrow}", 0, model, *named, "--dim", f"n={narrow}")
        verify.expect(f"sizes in {narrow}", size in sizes_of(report, "n") and not report.get("note"), report.get("note"))
    verify.run("a size and a range", 0, model, *named, "--dim", "n=5", "--dim", "n=1..64")
    for text in ("n=8..4", "n=..0", "n=..", "n=1...4", "n=1..x", "n=-1..4", "n=1..99999999999999999999"):
        verify.run(f"no range: {text}", 2, model, *named, "--dim", text, says="a range of sizes, as in NAME=1..64")
    verify.run("a size out of its range", 2, model, *named, "--dim", "n=65", "--dim", "n=1..64", says="another option says 1..64")
    verify.run("a range of no name", 2, model, *named, "--dim", "k=1..4", says="no input has a dimension of that name")
    verify.run("a range twice", 2, model, *named, "--dim", "n=1..4", "--dim", "n=1..5", says="given twice")
    crop = verify.save(Cropped(), torch.rand(2, 9))
    for range_of, shorter in (("n=3..", True), ("n=4..", False), ("n=5..80", False)):
        verify.run(f"slices, {range_of}", 0, crop, "--input", "x=f32:b,n", "--dim", range_of)


def demanded_by_calls(verify):
    model = verify.save(Convolved(), torch.rand(1, 3, 9, 9))
    file = verify.convert(model, "convolved.onnx", "--input", "x=f32:b,3,h,w")
    verify.expect("what a convolution leaves isn't empty", ops(file) <= {"Conv", "ReduceMean"}, ops(file))
    verify.run("a convolution", 0, model, file)
    chosen = verify.save(Chosen(), script=True)
    for wide in ("true", "false"):
        verify.run(f"a convolution that runs where wide is {wide}", 0, chosen, "--input", "x=f32:b,3,h,w", "--input", f"wide={wide}")
    file = verify.convert(chosen, "chosen.onnx", "--input", "x=f32:b,3,h,w", "--input", "wide=bool", "--opset", "17")
    inner = [node for node in onnx.load(file).graph.node if node.op_type == "If"][0]
    other = {node.op_type for node in inner.attribute[1].g.node} | {node.op_type for node in inner.attribute[0].g.node}
    verify.expect("a branch demands nothing of the other one", other - {"Conv", "ReduceMean", "Shape", "Tile", "Concat"}, other)
    verify.run("both branches", 0, chosen, file)


def stated_by_programs(verify):
    def saved(name, **sizes):
        program = torch.export.export(Mean(), (torch.rand(2, 80, 6),), dynamic_shapes=({0: Dim("b"), 1: Dim("n", **sizes)},))
        torch.export.save(program, verify.folder / f"{name}.pt2")
        return verify.folder / f"{name}.pt2", [s for s, r in program.range_constraints.items() if r.upper == sizes.get("max", 7)]

    bounded, symbols = saved("bounded", min=64, max=512)
    for options in ((), ("--dim", f"{symbols[0]}=n"), ("--dim", f"{symbols[0]}=100..200"), ("--input", "x=f32:b,n,6", "--dim", "n=100..")):
        file = verify.convert(bounded, "of_program.onnx", *options)
        verify.expect(f"a mean of a stated range {options}", ops(file) == {"ReduceMean"}, ops(file))
        verify.run(f"a stated range {options}", 0, bounded, file, *options)
    verify.run("a range beyond the program's", 2, bounded, "--dim", f"{symbols[0]}=32..100", says="the program takes sizes from 64 to 512")
    # PyTorch runs programs with sizes of 0 and 1 where the file says from 2 on.
    from_two, _ = saved("from_two", min=2, max=512)
    file = verify.convert(from_two, "from_two.onnx")
    verify.expect("a mean of sizes from 2 on", "ReduceMean" not in ops(file), ops(file))


def numbers_with_names_of_sizes(verify):
    model = verify.save(Filled(), script=True)
    for options in (("--input", "f32:n"), ("--input", "v=f32:n", "--input", "n=i64")):
        file = verify.convert(model, "filled.onnx", *options)
        session = onnxruntime.InferenceSession(file)
        verify.expect(f"two names {options}", session.get_outputs()[0].shape == ["n_value"], session.get_outputs()[0].shape)
        for size, number in ((2, 7), (3, 3), (5, 0)):
            v = torch.rand(size)
            got = session.run(None, {"v": v.numpy(), "n": numpy.array(number)})[0]
            verify.expect(f"{number} values of {size} {options}", numpy.allclose(got, Filled()(v, number), rtol=1e-4), got)


if __name__ == "__main__":
    sys.exit(run_cases([stated_by_options, demanded_by_calls, stated_by_programs, numbers_with_names_of_sizes], __doc__))
