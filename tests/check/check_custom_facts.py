#!/usr/bin/env python3
"""Facts of custom operators that rows spell out, or that follow from their ONNX text: the converted model's outputs have the
dtypes and shapes that PyTorch gives, at two sizes, and lint refuses facts that don't fit the schema."""
import argparse, json, pathlib, subprocess, sys, tempfile, warnings

warnings.filterwarnings("ignore")
import torch

LIBRARY = torch.library.Library("acme_facts", "DEF")
OPS = torch.ops.acme_facts
DTYPES = {torch.float32: "f32", torch.float16: "f16", torch.int64: "i64", torch.bool: "bool"}

# The schema, what it computes, the call, the row's facts and its bindings. x is [n, 6], r is [m, 4].
SPELLED = [
    ("pool(Tensor x, Tensor rois, int size, int many) -> Tensor",
     lambda x, rois, size, many: x.new_zeros(len(rois), x.shape[1], size, size),
     lambda x, r: OPS.pool(x, r, 3, 5), "{dtype: same, shape: [rois.0, x.1, size, size]}",
     "inputs: [x, rois], attributes: {size: size, many: many}"),
    ("window(Tensor x, int k, int s) -> Tensor", lambda x, k, s: x.new_zeros(x.shape[0], (x.shape[1] - k) // s + 1),
     lambda x, r: OPS.window(x, 2, 3), "{dtype: x, shape: [x.0, (x.-1 - k)//s + 1]}",
     "inputs: [x], attributes: {k: k, s: s}"),
    ("pad(Tensor x, int[2] by) -> Tensor", lambda x, by: x.new_zeros(x.shape[0] + by[0], 2 * x.shape[1] + by[1]),
     lambda x, r: OPS.pad(x, [1, 2]), "{dtype: same, shape: [x.0 + by.0, 2*x.1 + by.-1]}",
     "inputs: [x], attributes: {by: {ints: by}}"),
    ("blocks(Tensor x, int by) -> Tensor", lambda x, by: x.new_zeros(-(-x.shape[1] // by), x.shape[1] % by),
     lambda x, r: OPS.blocks(x, 4), "{dtype: f32, shape: [-(-x.1//by), x.1 % by]}",
     "inputs: [x], attributes: {by: by}"),
    ("find(Tensor x) -> Tensor", lambda x: torch.zeros(x.shape[0], 7, dtype=torch.int64),
     lambda x, r: OPS.find(x), "{dtype: i64, shape: [x.0, ~]}",
     "inputs: [x]"),
    ("rank(Tensor x) -> Tensor", lambda x: x.new_zeros(1, 2, 3), lambda x, r: OPS.rank(x), "{dtype: same, rank: 3}",
     "inputs: [x]"),
    ("same_rank(Tensor x) -> Tensor", lambda x: x[:1].half(), lambda x, r: OPS.same_rank(x), "{dtype: f16, rank: x}",
     "inputs: [x]"),
    ("count(Tensor x) -> Tensor", lambda x: x.sum(), lambda x, r: OPS.count(x), "{dtype: same, shape: []}",
     "inputs: [x]"),
    ("two(Tensor x, Tensor y) -> (Tensor, Tensor)", lambda x, y: (x * 1, torch.zeros(len(y), 2, dtype=torch.int64)),
     lambda x, r: OPS.two(x, r), "[same, {dtype: i64, shape: [y.0, 2]}]",
     "inputs: [x, y]"),
    ("masked(Tensor x, Tensor y) -> Tensor", lambda x, y: x > 0, lambda x, r: OPS.masked(x, x[:1]), "{dtype: bool, shape: pointwise}",
     "inputs: [x, y]"),
    ("like(Tensor x, Tensor y) -> Tensor", lambda x, y: torch.zeros_like(y), lambda x, r: OPS.like(x, r), "{dtype: same, shape: y}",
     "inputs: [x, y]"),
    ("full(Tensor x, int[] size) -> Tensor", lambda x, size: x.new_zeros(size), lambda x, r: OPS.full(x, [2, 3]),
     "{dtype: same, shape: size}",
     "inputs: [x, {ints: size}]"),
    ("join(Tensor[] xs) -> Tensor", lambda xs: torch.cat(list(xs)), lambda x, r: OPS.join([x, x]),
     "{dtype: same, shape: [xs.0.0 + xs.1.0, xs.0.1]}",
     "inputs: [xs]"),
    ("cast(Tensor x, ScalarType dtype) -> Tensor", lambda x, dtype: x.to(dtype), lambda x, r: OPS.cast(x, torch.float16),
     "{dtype: dtype, shape: same}",
     "inputs: [x], attributes: {dtype: {dtype: dtype}}"),
]

# As above, with the row's text instead of facts.
TEXTS = [
    ("swish(Tensor x) -> Tensor", lambda x: x * x.sigmoid(), lambda x, r: OPS.swish(x),
     'inputs: [x], inline: "S (a) => (b) { s = Sigmoid (a) b = Mul (a, s) }"'),
    ("rows(Tensor x, Tensor y) -> Tensor", lambda x, y: x.sum(1) @ torch.zeros(len(x), 2), lambda x, r: OPS.rows(x, r),
     'inputs: [x, y], inline: "S (a, b) => (c) { t = Transpose <perm = [1, 0]> (a) c = MatMul (t, a) }"'),
    ("flat(Tensor x) -> Tensor", lambda x: x.reshape(-1), lambda x, r: OPS.flat(x),
     'inputs: [x], inline: "S (a) => (b) { m = Constant <value = int64[1] {-1}> () b = Reshape (a, m) }"'),
    ("split(Tensor x) -> (Tensor, Tensor)", lambda x: (x[:, :3] > 0, x.argmax(1)), lambda x, r: OPS.split(x),
     'inputs: [x], inline: "S (a) => (b, c) { c = ArgMax <axis = 1, keepdims = 0> (a) z = Sub (a, a) b = Greater (a, z) }"'),
    ("scaled(Tensor x, float by) -> Tensor", lambda x, by: x * by, lambda x, r: OPS.scaled(x, 2.0),
     'inputs: [x, {float: by}], function: "<domain: \\"acme\\", opset_import: [\\"\\" : 15]> S (a, s) => (b) { b = Mul (a, s) }"'),
    ("normed(Tensor x, int dim) -> Tensor", lambda x, dim: x.norm(dim=dim), lambda x, r: OPS.normed(x, 1),
     'inputs: [x], attributes: {axes: {ints: dim}}, inline: "S <axes> (a) => (b) { b = ReduceL2 <axes: ints = @axes, keepdims = 0> (a) }"'),
]

MISFITS = {
    "{dtype: same, shape: [roi.0]}": "no argument is named `roi`",
    "{dtype: same, shape: [x.0, rois]}": "`rois` is Tensor: name one of its sizes, as in rois.0",
    "{dtype: same, shape: [size.0]}": "`size` is int: neither a tensor nor a list of ints",
    "{dtype: same, shape: [x.0.1]}": "`x` is Tensor, not a list of tensors",
    "{dtype: same, shape: [x.0 / 2]}": "write // for a division",
    "{dtype: same, shape: [(x.0 + 2]}": "a bracket isn't closed",
    "{dtype: same, shape: [x.0 x.1]}": "`x.1` follows it",
    "{dtype: same, shape: [x.]}": "a number is expected",
    "{dtype: float32, shape: same}": "`dtype: float32` is neither a dtype",
    "{dtype: size, shape: same}": "`dtype: size` is neither a dtype",
    "{dtype: same, shape: size}": "`shape: size` is neither a list of sizes",
    "{dtype: same, rank: size}": "`rank: size` is neither a number",
    "{dtype: same, rank: 3, shape: same}": "leave out `rank`",
    "{dtype: same, shapes: [1]}": "unknown key `shapes`",
    "{}": "`facts` has a `dtype`",
    "[same, {dtype: i64, rank: 1}]": "`facts` has 2 words",
}


def signature(results):
    results = results if isinstance(results, tuple) else (results,)
    return [(DTYPES[result.dtype], list(result.shape)) for result in results]


class Check:
    def __init__(self, program, folder):
        self.program, self.folder, self.wrong = program, pathlib.Path(folder), []

    def run(self, *arguments):
        return subprocess.run([self.program, *map(str, arguments)], capture_output=True, text=True)

    def expect(self, what, holds, shown=""):
        if not holds:
            self.wrong.append(f"{what}: {shown}")

    def model(self, schema, compute, call):
        name = schema[:schema.index("(")]
        LIBRARY.define(schema)
        LIBRARY.impl(name, compute, "CompositeExplicitAutograd")

        class Net(torch.nn.Module):
            def forward(self, x, r):
                return call(x, r)

        file = self.folder / f"{name}.pt"
        torch.jit.trace(Net(), (torch.ones(2, 6), torch.ones(5, 4)), check_trace=False).save(str(file))
        return name, file, Net()

    def outputs(self, name, file, rows, sizes):
        n, m = sizes
        path = self.folder / f"{name}.yaml"
        path.write_text(f"acme_facts::{name}: {rows}\n")
        lint = self.run("lint", path)
        self.expect(f"{name}: lint", lint.returncode == 0 and "note" not in lint.stdout, lint.stdout)
        made = self.folder / "model.onnx"
        run = self.run("convert", file, "--mappings", path, "--input", f"x=f32:{n},6", "--input", f"r=f32:{m},4", "-o", made, "-q")
        self.expect(name, run.returncode == 0, run.stderr + run.stdout)
        if run.returncode:
            return []
        report = json.loads(self.run("inspect", made, "--format", "json").stdout)
        return [(output["dtype"], output["shape"]) for output in report["outputs"]]

    def agree(self, name, file, net, rows):
        for sizes in ((2, 5), (3, 7)):
            n, m = sizes
            expected = signature(net(torch.ones(n, 6), torch.ones(m, 4)))
            found = self.outputs(name, file, rows, sizes)
            same = len(found) == len(expected) and all(
                one == other and len(shape) == len(true)
                and all(size == real or not isinstance(size, int) for size, real in zip(shape, true))
                for (one, shape), (other, true) in zip(found, expected))
            self.expect(f"{name} at {sizes}", same, f"{found}, not {expected}")
        return found, expected


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    with tempfile.TemporaryDirectory() as folder:
        check = Check(parser.parse_args().program, folder)
        for schema, compute, call, facts, bindings in SPELLED:
            name, file, net = check.model(schema, compute, call)
            row = f'{{schema: "acme_facts::{schema}", facts: {facts}, 7: {{to: acme::{name}, {bindings}}}}}'
            check.agree(name, file, net, row)
        for schema, compute, call, text in TEXTS:
            name, file, net = check.model(schema, compute, call)
            row = f'{{schema: "acme_facts::{schema}", 15: {{{text}}}}}'
            if name in ("rows", "split"):  # the shapes are those of the text, not of what the library computes
                found = check.outputs(name, file, row, (3, 7))
                true = {"rows": [("f32", [6, 6])], "split": [("bool", [3, 6]), ("i64", [3])]}[name]
                check.expect(name, found == true, f"{found}, not {true}")
                continue
            found, expected = check.agree(name, file, net, row)
            if name != "flat":  # ONNX's inference computes no products
                check.expect(f"{name}: whole", found == expected, f"{found}, not {expected}")
        rows = check.folder / "misfit.yaml"
        for facts, says in MISFITS.items():
            schema = "acme::pool(Tensor x, Tensor rois, int size) -> Tensor"
            rows.write_text(f'acme::pool: {{schema: "{schema}", facts: {facts}, 7: {{to: a::B, inputs: [x, rois], attributes: {{size: size}}}}}}\n')
            lint = check.run("lint", rows)
            check.expect(f"lint of {facts}", lint.returncode == 1 and says in lint.stdout + lint.stderr, lint.stdout + lint.stderr)
    print(*check.wrong, sep="\n")
    return 1 if check.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
