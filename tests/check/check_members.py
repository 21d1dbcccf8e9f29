#!/usr/bin/env python3
"""Options that state members of lists, dictionaries and tuples. What messages advise can be given as it is printed."""
import argparse, json, pathlib, re, subprocess, sys, tempfile
from typing import Dict, List, Optional, Tuple

import onnx
import torch
from torch import Tensor, nn

SPEC = r"--input ([^\s,;]+(?:,[^\s,;]+)*)"


class Scaled(nn.Module):
    def forward(self, x, factors: Optional[List[float]]):
        if factors is not None:
            for factor in factors:
                x = x * factor
        return x


class Counted(nn.Module):
    def forward(self, x, k: Optional[List[int]], m: Optional[List[int]]):
        if k is not None:
            for i in k:
                x = x + i
        if m is not None:
            for i in m:
                x = x * i
        return x


class Flagged(nn.Module):
    def forward(self, x, flags: List[bool]):
        for flag in flags:
            if flag:
                x = x + 1
        return x


class Permuted(nn.Module):
    def forward(self, x, dims: List[int]):
        return x.permute(dims)


class PermutedOrNot(nn.Module):
    def forward(self, x, dims: Optional[List[int]]):
        return x if dims is None else x.permute(dims)


class PermutedByKey(nn.Module):
    def forward(self, x, k: Dict[str, List[int]]):
        return x.permute(k["dims"])


class Weights(nn.Module):
    def forward(self, x, w: Dict[str, float]):
        total = 0.0
        for value in w.values():
            total += value
        return x * total


class Rows(nn.Module):
    def forward(self, d: Dict[str, List[Tensor]]):
        made: List[Tensor] = []
        for values in d.values():
            for value in values:
                made.append(value)
        return torch.cat(made, 0)


class RowsByKey(nn.Module):
    def forward(self, d: Dict[str, List[Tensor]]):
        return torch.cat(d["k"], 0)


class Grid(nn.Module):
    def forward(self, d: List[List[Tensor]]):
        return torch.cat([torch.cat(row, 0) for row in d], 0)


class Pairs(nn.Module):
    def forward(self, x, d: List[Tuple[Tensor, Tensor]]):
        for a, b in d:
            x = x + a * b
        return x


class Numbered(nn.Module):
    def forward(self, x, d: Dict[str, Tuple[Tensor, int]]):
        for value, count in d.values():
            x = x + value * count
        return x


class Maybe(nn.Module):
    def forward(self, x, d: Optional[Dict[str, Tensor]]):
        if d is not None:
            for value in d.values():
                x = x + value
        return x


class MaybeByKey(nn.Module):
    def forward(self, x, d: Optional[Dict[str, Tensor]]):
        return x if d is None else x + d["a"] * d["b"]


class MaybeMany(nn.Module):
    def forward(self, x, xs: Optional[List[Tensor]]):
        return x if xs is None else x + torch.stack(xs).sum(0)


class InTuple(nn.Module):
    def forward(self, x, p: Tuple[Tensor, List[Tensor], Dict[str, Tensor]]):
        first, rows, named = p
        return x + first + torch.stack(rows).sum(0) + named["a"] * named["b"]


class Deeper(nn.Module):
    def forward(self, p: Tuple[Tensor, Tuple[List[Tensor], int]]):
        return torch.cat(p[1][0], 0) * p[1][1] + p[0]


class Images(nn.Module):
    def forward(self, images: List[Tensor], mask: Optional[Tensor] = None):
        y = torch.stack(images)
        return y if mask is None else y * mask


# Whether the attribute is a constant depends on how many members the list has.
class Cached(nn.Module):
    scales: Optional[List[float]]

    def __init__(self):
        super().__init__()
        self.scales = None

    def forward(self, xs: List[Tensor]):
        if self.scales is None:
            scales: List[float] = []
            for _ in xs:
                scales.append(2.0)
            self.scales = scales
        scales = self.scales
        return xs[0] if scales is None else xs[0] * scales[0]


class Checks:
    def __init__(self, program, folder):
        self.program, self.folder, self.failures = program, folder, []

    def run(self, *arguments):
        done = subprocess.run([self.program, *map(str, arguments)], text=True, capture_output=True)
        return done.returncode, done.stdout, done.stderr

    def expect(self, what, got, wanted):
        if got != wanted:
            self.failures.append(f"{what}: {got!r}, not {wanted!r}")

    def model(self, module):
        file = self.folder / f"{type(module).__name__}.pt"
        if not file.exists():
            torch.jit.script(module.eval()).save(file)
        return file

    def report(self, model, *options):
        code, out, err = self.run(model, "--format", "json", *options)
        if not out:
            self.failures.append(f"{model.name} {options}: exit {code}: {err}")
            return {"verdict": None, "findings": [], "model": {"inputs": []}}
        return json.loads(out)

    def verified(self, model, *options):
        code, out, err = self.run("verify", model, *options)
        self.expect(f"{model.name} {options}: {out[-600:]}{err}", code, 0)

    # The advice of CC006, one option or the other.
    def advised(self):
        for module, advice in (
                (Scaled(), [["factors=none"], ["factors=f64:factors0"]]), (Counted(), [["k=none"], ["k=i64:k0"]]),
                (Permuted(), [["dims.0=0"]]), (PermutedOrNot(), [["dims=none"], ["dims.0=0"]]), (PermutedByKey(), [["k.dims.0=0"]]),
                (Weights(), [["w.KEY=f64"]]), (Rows(), [["d.KEY.0=f32:d0,d1"]]), (Grid(), [["d.0.0=f32:d0,d1"]]),
                (Pairs(), [["d.0.0=f32:d0,d1", "d.0.1=f32:d0,d1"]]), (Numbered(), [["d.KEY.0=f32:d0,d1", "d.KEY.1=i64"]]),
                (Maybe(), [["d=none"], ["d.KEY=f32:x0,x1"]]), (MaybeByKey(), [["d=none"], ["d.a=f32:x0,x1", "d.b=f32:x0,x1"]]),
                (MaybeMany(), [["xs=none"], ["xs.0=f32:x0,x1"]]), (Cached(), [["xs.0=f32:xs_0_0,xs_0_1"]])):
            model = self.model(module)
            helps = [each["help"] for each in self.report(model)["findings"] if each["id"] == "CC006"]
            self.expect(f"{model.name}: findings {helps}", len(helps), 2 if isinstance(module, Counted) else 1)
            ways = [re.findall(SPEC, way) for way in helps[0].split(" or --inputs-from")[0].split(" or ")] if helps else []
            self.expect(f"{model.name}: {helps}", ways, advice)
            for way in ways:
                others = ["m=i64:m0"] if isinstance(module, Counted) else []
                options = [word for spec in way + others for word in ("--input", spec)]
                self.expect(f"{model.name} {options}", self.report(model, *options)["verdict"], "yes")
                self.verified(model, *options)

    # The advice of an error message, once.
    def refused(self):
        for module, spec, in_message in (
            (Counted(), "k=i64:2,3", "k=i64:n"),
            (Counted(), "k=f32:n", "k=i64:n"),
            (Counted(), "k=i64", "k=i64:n"),
            (Counted(), "k=3", "k=i64:n"),
            (Counted(), "k.0=i64:n", "k.0=i64"),
            (Flagged(), "flags=i64:n", "flags=bool:n"),
            (Scaled(), "factors=i64:n", "factors=f64:n"),
            (Weights(), "w=f32:2,3", "w.KEY=f64"),
            (Weights(), "w.a=f32:2,3", "w.a=f64"),
            (Rows(), "d=f32:2,3", "d.KEY.0=f32:2,3"),
            (Grid(), "d=f32:2,3", "d.0.0=f32:2,3"),
            (Pairs(), "d=f32:2,3", "d.0.0=f32:2,3"),
            (Numbered(), "d.k=f32:2,3", "d.k.0=f32:2,3"),
            (MaybeByKey(), "d=f32:2,3", "d.a=f32:2,3"),
            (Permuted(), "dims=f32:2", "dims=i64:n"),
        ):
            model = self.model(module)
            code, out, err = self.run(model, "--input", spec)
            found = re.findall(SPEC, err)
            self.expect(f"{model.name} {spec}: {err}", (code, found[1:2]), (2, [in_message]))
            words = [word for each in re.findall(SPEC, err.split(", or ")[0])[1:] for word in ("--input", each)]
            code, out, err = self.run(model, *words)
            self.expect(f"{model.name} {words}: {err}", code in (0, 1), True)
        for module, spec, in_message in (
            (Images(), "images=none", "input 'images' is Tensor[], and only an Optional input can be None"),
            (Images(), "images.0=none", "input 'images.0' is Tensor, and only an Optional input can be None"),
            (Weights(), "w=none", "only an Optional input can be None"),
            (InTuple(), "p.2.zzz=f32:2", "reads no member 'zzz' of input 'p.2'; it reads p.2.a, p.2.b"),
            (InTuple(), "p.1.x=f32:2", "'x' is no place in the list 'p.1'"),
            (InTuple(), "p.0.0=f32:2", "no input 'p.0.0'"),
            (Deeper(), "p.1.0.0.0=f32:2", "'p.1.0.0' is Tensor, and no option can name its members"),
        ):
            code, out, err = self.run(self.model(module), "--input", spec)
            self.expect(f"{type(module).__name__} {spec}: {err}", (code, in_message in err), (2, True))

    # Options without names: all that follow a list's first one are its members, not arguments with defaults.
    def in_order(self):
        model = self.model(Images())
        for specs, inputs in ((["f32:2,3"] * 2, ["images.0", "images.1"]), (["f32:2,3"] * 3, ["images.0", "images.1", "images.2"]),
                              (["f32:2,3", "mask=f32:3", "f32:2,3"], ["images.0", "images.1", "mask"])):
            options = [word for spec in specs for word in ("--input", spec)]
            file = self.folder / "made.onnx"
            code, out, err = self.run("convert", model, "-o", file, *options)
            self.expect(f"images {specs}: {err}", (code, [each.name for each in onnx.load(str(file)).graph.input]), (0, inputs))
            self.verified(model, *options)
            self.verified(model, file)
        code, out, err = self.run("convert", model, "-o", file, "--input-names", "left,right", "--input", "f32:2,3", "--input", "f32:2,3")
        self.verified(model, file)
        code, out, err = self.run(
            self.model(InTuple()),
            "--input",
            "f32:2,3",
            "--input",
            "f32:2,3",
            "--input",
            "f32:2,3",
            "--input",
            "f32:2,3",
            "--input",
            "f32:2,3",
            "--format",
            "json",
        )
        self.expect(
            f"in a tuple: {err}", [each["name"] for each in json.loads(out)["model"]["inputs"]], ["x", "p.0", "p.1.0", "p.2.a", "p.2.b"]
        )

    # Lists of any length, as a whole and inside of others; members of what stands in tuples.
    def stated(self):
        for module, specs, inputs in (
                (Counted(), ["k=i64:n", "m=none"], ["x", "k"]), (Counted(), ["k=i64:3", "m=i64:1"], ["x", "k.0", "k.1", "k.2", "m.0"]),
                (Scaled(), ["factors=f32:n"], ["x", "factors"]), (Flagged(), ["flags=bool:n"], ["x", "flags"]),
                (MaybeMany(), ["xs=f32:2,3", "x=f32:2,3"], ["x", "xs"]), (RowsByKey(), ["d.k=f32:n,4"], ["d.k"]),
                (Rows(), ["d.k=f32:n,4", "d.j.0=f32:2,4"], ["d.k", "d.j.0"]), (Grid(), ["d.0=f32:n,4"], ["d.0"]),
                (PermutedByKey(), ["k.dims.0=1", "k.dims.1=0"], ["x"]), (InTuple(), [], ["x", "p.0", "p.1", "p.2.a", "p.2.b"]),
                (InTuple(), ["p.1.0=f32:2,3", "p.1.1=f32:2,3"], ["x", "p.0", "p.1.0", "p.1.1", "p.2.a", "p.2.b"]),
                (InTuple(), ["p.2.b=f32:2,3"], ["x", "p.0", "p.1", "p.2.a", "p.2.b"]),
                (Deeper(), ["p.1.0.0=f32:n,4", "p.1.0.1=f32:2,4", "p.1.1=3"], ["p.0", "p.1.0.0", "p.1.0.1"])):
            model = self.model(module)
            options = [word for spec in specs for word in ("--input", spec)]
            self.expect(f"{model.name} {specs}", self.report(model, *options)["verdict"], "yes")
            file = self.folder / "made.onnx"
            code, out, err = self.run("convert", model, "-o", file, *options)
            self.expect(f"{model.name} {specs}: convert {err}", code, 0)
            self.expect(f"{model.name} {specs}: inputs", [each.name for each in onnx.load(str(file)).graph.input], inputs)
            self.verified(model, *options)
            self.verified(model, file)
            self.verified(model, file, *options)
        code, out, err = self.run(self.model(InTuple()), "--input", "p.1=f32:2,3", "--input", "p.1.0=f32:2,3")
        self.expect(f"both ways: {err}", (code, "states the same input in another way" in err), (2, True))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        checks = Checks(arguments.program, pathlib.Path(folder))
        for part in checks.advised, checks.refused, checks.in_order, checks.stated:
            part()
    print("\n".join(checks.failures) or "all as expected")
    return 1 if checks.failures else 0


if __name__ == "__main__":
    sys.exit(main())
