#!/usr/bin/env python3
"""compatcheck verify on models made here: right ones, an ONNX file that is wrong, random ones, sizes that tracing baked in."""
import subprocess, sys
from typing import Optional

import numpy as np
import onnx
import torch

from running import run_cases


class Small(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(1)
        self.linear = torch.nn.Linear(4, 3)

    def forward(self, x):
        return torch.relu(self.linear(x)), x.argmax(1)


class Lookup(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = torch.nn.Embedding(7, 4)

    def forward(self, ids):
        return self.embedding(ids)


class Noise(torch.nn.Module):
    def forward(self, x):
        return x + torch.rand_like(x)


class Constant(torch.nn.Module):
    def forward(self):
        return torch.arange(5) * 2


class Ties(torch.nn.Module):
    def forward(self, x):
        y = torch.round(x)
        return (
            torch.sort(y, 1, descending=True)[1],
            torch.topk(y, 3, 1)[1],
            y.argmax(1),
            y.argmin(1, keepdim=True).to(torch.int32),
            y.max(1)[1],
        )


class Resized(torch.nn.Module):
    def __init__(self, mode, factor):
        super().__init__()
        self.mode, self.factor = mode, factor

    def forward(self, x):
        return torch.nn.functional.interpolate(x, scale_factor=self.factor, mode=self.mode)


class Scaled(torch.nn.Module):
    def forward(self, x, n: int, s: float, flag: bool):
        y = x * n + s
        if flag:
            y = y + 1
        return y


class LeftOut(torch.nn.Module):
    """Arguments that a call may leave out: their defaults are constants then."""

    def forward(self, x, mask: Optional[torch.Tensor] = None, flag: bool = False, times: int = 2):
        if mask is not None:
            x = x * mask
        return x * times if flag else x - times


class Share(torch.nn.Module):
    def forward(self, x, target):
        return torch.nn.functional.binary_cross_entropy(x, target)


class Rows(torch.nn.Module):
    def forward(self, x, n: int):
        out = torch.zeros(0)
        for i in range(n):
            out = torch.cat([out, x])
        return out


def joined_in_loop():
    """Rows, with the empty vector left to Concat: at that ONNX Runtime ends its process."""
    helper, types = onnx.helper, onnx.TensorProto
    value = helper.make_tensor_value_info
    body = helper.make_graph(
        [helper.make_node("Identity", ["go"], ["goes"]), helper.make_node("Concat", ["rows", "x"], ["more"], axis=0)],
        "body",
        [value("i", types.INT64, []), value("go", types.BOOL, []), value("rows", types.FLOAT, None)],
        [value("goes", types.BOOL, []), value("more", types.FLOAT, None)],
    )
    graph = helper.make_graph(
        [helper.make_node("Loop", ["n", "", "none"], ["out"], body=body)],
        "rows",
        [value("x", types.FLOAT, ["m", 3]), value("n", types.INT64, [])],
        [value("out", types.FLOAT, None)],
        [helper.make_tensor("none", types.FLOAT, [0], [])],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


class BakedIn(torch.nn.Module):
    def forward(self, x):
        return x + torch.ones(int(x.shape[0]), 1)


LIBRARY = torch.library.Library("acme", "DEF")
LIBRARY.define("fused(Tensor x) -> Tensor")
LIBRARY.impl("fused", torch.abs, "CompositeExplicitAutograd")


class Fused(torch.nn.Module):
    def forward(self, x):
        return torch.ops.acme.fused(x)


def saved_small(verify):
    return verify.save(Small(), torch.rand(2, 4))


def two_sizes(verify):
    """Named sizes vary."""
    small = saved_small(verify)
    report = verify.run("two sizes", 0, small, "--input", "x=f32:batch,4", "--runs", "4")
    if report:
        sizes = {run["sizes"]["batch"] for run in report["runs"]}
        if sizes != {2, 3}:
            verify.wrong.append(f"two sizes: ran at {sizes}")
        if [output["dtype"] for output in report["outputs"]] != ["f32", "i64"] or not all(output["passed"] for output in report["outputs"]):
            verify.wrong.append(f"two sizes: {report['outputs']}")
    again = verify.run("the same seed", 0, small, "--input", "x=f32:batch,4", "--runs", "4")
    if again != report:
        verify.wrong.append("the same seed gives another report")
    verify.run("a size of its own", 0, small, "--input", "x=f32:batch,4", "--dim", "batch=5")


def files(verify):
    """ONNX files that are right, wrong, or no files."""
    small = saved_small(verify)
    folder = verify.folder
    file = verify.convert(small, "small.onnx")
    verify.run("a file", 0, small, file)
    model = onnx.load(file)
    weight = next(one for one in model.graph.initializer if len(one.dims) == 2)
    values = onnx.numpy_helper.to_array(weight).copy()
    values[0, 0] += 0.5
    weight.CopyFrom(onnx.numpy_helper.from_array(values, weight.name))
    onnx.save(model, folder / "changed.onnx")
    verify.run("another weight", 1, small, folder / "changed.onnx", ids=["CC201"])
    verify.run("wide tolerance", 0, small, folder / "changed.onnx", "--atol", "100")
    verify.run(
        "wide tolerance, but cosine", 1, small, folder / "changed.onnx", "--atol", "100", "--require", "cosine>=0.9999999", ids=["CC201"]
    )
    (folder / "junk.onnx").write_bytes(b"junk")
    (folder / "empty.onnx").write_bytes(b"")
    verify.run("junk", 3, small, folder / "junk.onnx", says="no ONNX model")
    verify.run("nothing", 3, small, folder / "empty.onnx", says="no ONNX model")


def weights_beside_the_file(verify):
    folder = verify.folder
    large = verify.save(torch.nn.Linear(64, 64), torch.rand(1, 64))
    far = folder / "far.onnx"
    subprocess.run([verify.program, "convert", large, "-o", far, "-q", "--external-data", "always"], check=True)
    verify.run("weights beside it", 0, large, far)
    data = folder / "far.onnx.data"
    data.write_bytes(data.read_bytes()[:-4])
    verify.run("weights cut short", 3, large, far, says="is cut short")
    data.unlink()
    verify.run("weights gone", 3, large, far, says="far.onnx.data")
    model = onnx.load(far, load_external_data=False)
    data.write_bytes(b"\0" * 64 * 64 * 4)
    (folder / "inside").mkdir()
    for weight in model.graph.initializer:
        for entry in weight.external_data:
            if entry.key == "location":
                entry.value = "../far.onnx.data"
    onnx.save(model, folder / "inside" / "outside.onnx")
    verify.run("weights outside of its folder", 3, large, folder / "inside" / "outside.onnx", says="lies outside of the model's folder")


def operators_that_are_lacking(verify):
    small = saved_small(verify)
    folder = verify.folder
    model = onnx.load(verify.convert(small, "small.onnx"))
    model.graph.node[0].op_type = "NoSuchOperator"
    onnx.save(model, folder / "lacking.onnx")
    verify.run("an operator that the runtime lacks", 1, small, folder / "lacking.onnx", ids=["CC201"])


def resized(verify):
    """And a model without inputs."""
    verify.run("no inputs", 0, verify.save(Constant()))
    for mode in ("nearest", "nearest-exact", "bilinear", "bicubic"):   # a size that stays though the factor isn't 1
        for factor in ((2.0, 1.3), (1.25, 1.25), (0.9, 1.5)):
            resized = verify.save(Resized(mode, factor), torch.rand(1, 3, 2, 2))
            verify.run(f"{mode} by {factor}", 0, resized)
            verify.run(f"{mode} by {factor} of named sizes", 0, resized, "--input", "x=f32:1,3,height,width", "--runs", "4")


def arguments_left_out(verify):
    folder = verify.folder
    left_out = verify.save(LeftOut(), script=True)
    for extra, inputs in (
        ((), ["x"]),
        (("--input", "flag=bool:scalar"), ["x", "flag"]),
        (("--input", "mask=f32:n,3"), ["x", "mask"]),
        (("--input", "times=i64:scalar"), ["x", "times"]),
    ):
        verify.run(f"left out but for {extra}", 0, left_out, "--input", "x=f32:n,3", *extra)
        subprocess.run(
            [verify.program, "convert", left_out, "-o", folder / "left_out.onnx", "-q", "--input", "x=f32:n,3", *extra], check=True
        )
        if [one.name for one in onnx.load(folder / "left_out.onnx").graph.input] != inputs:
            verify.wrong.append(f"left out but for {extra}: the inputs aren't {inputs}")


def numbers(verify):
    """Arguments that are numbers."""
    folder = verify.folder
    scaled = verify.save(Scaled(), script=True)
    verify.run("numbers that vary", 0, scaled, "--input", "x=f32:n,3", "--input", "n=i64", "--input", "s=f64", "--input", "flag=bool")
    verify.run("numbers of one value", 0, scaled, "--input", "x=f32:n,3", "--input", "n=4", "--input", "s=-0.5", "--input", "flag=false")
    subprocess.run([verify.program, "convert", scaled, "-o", folder / "scaled.onnx", "-q", "--input", "x=f32:n,3"], check=True)
    for name, wrong_value in (("n", np.array(2)), ("s", np.array(2.0)), ("flag", np.array(True))):   # the values of the first run
        model = onnx.load(folder / "scaled.onnx")
        model.graph.initializer.append(onnx.numpy_helper.from_array(wrong_value, "always"))
        for node in model.graph.node:
            for place, read in enumerate(node.input):
                if read == name:
                    node.input[place] = "always"
        onnx.save(model, folder / "always.onnx")
        verify.run(f"{name} is always that of the first run", 1, scaled, folder / "always.onnx", "--runs", "8", ids=["CC201"])


def examples(verify):
    left_out = verify.save(LeftOut(), script=True)
    folder = verify.folder
    torch.save((torch.rand(2, 3), None, True, 4), folder / "given.pt")
    verify.run("a flag that an example gives", 0, left_out, "--inputs-from", folder / "given.pt")


def values(verify):
    """Values that are chosen with care, and what differs by rounding."""
    verify.run("shares", 0, verify.save(Share(), torch.rand(4), torch.rand(4)))
    report = verify.run(
        "rounding", 1, verify.save(torch.nn.Linear(513, 64), torch.rand(2, 513)), "--rtol", "0", "--atol", "1e-30", ids=["CC201"]
    )
    if report and not ("last bit" in report["findings"][0]["help"] and report["outputs"][0]["noise_abs"] > 0):
        verify.wrong.append(f"rounding: {report['findings']}")
    verify.run("indices that tie", 0, verify.save(Ties(), torch.rand(4, 50)))


def crashes_of_the_runtime(verify):
    small = saved_small(verify)
    folder = verify.folder
    verify.run("no file", 3, small, folder / "absent.onnx", says="no such file")
    rows = verify.save(Rows(), script=True)
    onnx.save(joined_in_loop(), folder / "rows.onnx")
    verify.run(
        "a crash of ONNX Runtime",
        3,
        rows,
        folder / "rows.onnx",
        "--input",
        "x=f32:m,3",
        "--input",
        "n=i64",
        says="its process crashed (Aborted), where ONNX Runtime runs the model",
    )
    verify.run("rows joined to an empty vector", 0, rows, "--input", "x=f32:m,3", "--input", "n=i64")
    verify.run("no runtime", 2, small, "--ort-library", folder, says="libonnxruntime.so")


def indices_and_noise(verify):
    verify.run(
        "indices within the table", 0, verify.save(Lookup(), torch.zeros(3, dtype=torch.long)), "--input", "ids=i64:words", "--runs", "5"
    )
    verify.run("random", 1, verify.save(Noise(), torch.rand(3)), ids=["CC008"])


def places(verify):
    report = verify.run(
        "a size that tracing baked in", 1, verify.save(BakedIn(), torch.rand(2, 3)), "--input", "x=f32:batch,3", ids=["CC205"]
    )
    if report and not ("aten::add at " in report["findings"][0]["message"] and "check_verify.py:" in report["findings"][0]["message"]):
        verify.wrong.append(f"a size that tracing baked in: no place: {report['findings']}")


def operators_of_ones_own(verify):
    folder = verify.folder
    fused = verify.save(Fused(), torch.rand(2, 3))
    (folder / "rows.yaml").write_text('acme::fused: {schema: "acme::fused(Tensor x) -> Tensor", facts: same, 7: {to: Abs, inputs: [x]}}\n')
    verify.run(
        "an operator that nothing registers",
        2,
        fused,
        "--input",
        "x=f32:2,3",
        "--mappings",
        folder / "rows.yaml",
        says="the library that registers acme::fused: --op-library",
    )


def text(verify):
    folder = verify.folder
    graph = folder / "graph.ir"
    graph.write_text("graph(%x : Float(2)):\n  %y : Tensor = aten::relu(%x)\n  return (%y)\n")
    verify.run("text", 2, graph, says="can't be run")


CASES = [
    two_sizes,
    files,
    weights_beside_the_file,
    operators_that_are_lacking,
    resized,
    arguments_left_out,
    numbers,
    examples,
    values,
    crashes_of_the_runtime,
    indices_and_noise,
    places,
    operators_of_ones_own,
    text,
]

if __name__ == "__main__":
    sys.exit(run_cases(CASES, __doc__))
