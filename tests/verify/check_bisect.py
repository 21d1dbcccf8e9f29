#!/usr/bin/env python3
"""compatcheck verify --bisect finds the operator that is wrong: planted in a handler (the program `planted`: aten::atan is computed twice),
or in an ONNX file afterwards; straight, in If, in Loop, nested, in 300 nodes. What --repro writes fails by itself in ONNX Runtime."""
import argparse, json, math, re, subprocess, sys
from typing import List

import numpy
import onnx
import onnxruntime
import torch
from torch import Tensor
from torch.export import Dim

from running import run_cases


class Straight(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(1)
        self.conv = torch.nn.Conv2d(3, 4, 3)
        self.norm = torch.nn.BatchNorm2d(4)
        self.linear = torch.nn.Linear(4, 6)

    def forward(self, x):
        y = torch.relu(self.norm(self.conv(x))).mean((2, 3))
        z = torch.atan(self.linear(y))  # planted
        return z.clamp(-10, 10), z.argmax(1)


class InIf(torch.nn.Module):
    def forward(self, x):
        y = x.sin()
        if bool(y.sum() > -1000):
            z = y * 2
            y = torch.atan(z)  # planted
            y = y + z
        else:
            y = torch.atan(y) + 1
        return y.exp()


class InLoop(torch.nn.Module):
    def forward(self, x, n: int):
        y = x.sin()
        for i in range(n):
            y = y * 0.5 + x
            if i == 1:
                y = torch.atan(y)  # planted
            y = y.cos()
        return y + 1


class InCond(torch.nn.Module):
    def forward(self, x):
        y = x.sin()
        z = torch.cond(y.sum() > -1000, lambda a: torch.atan(a * 2) + a, lambda a: a + 1, (y,))  # planted
        return z.exp()


class InWhile(torch.nn.Module):
    def forward(self, x):
        def body(i, y):
            return i + 1, torch.atan(y * 0.5 + x).cos()

        # The file names the line of the call alone.
        return torch._higher_order_ops.while_loop(lambda i, y: i < 3, body, (torch.tensor(0), x.sin()))[1] + 1  # planted


class Nested(torch.nn.Module):
    def forward(self, x, n: int):
        ys = [x]
        for i in range(n):
            y = ys[-1]
            j = 0
            while j < i:
                if bool(y.sum() > 1000000):
                    y = y.exp()
                else:
                    y = torch.atan(y * 0.9)  # planted
                j += 1
            ys.append(y.sin())
        return ys[-1].abs()


class Healed(torch.nn.Module):
    """The error can't be seen behind the clamp; the one after it can."""

    def forward(self, x):
        y = torch.atan(x)  # planted
        y = y.clamp(1, 1.0001) * x
        return torch.atan(y + 3)


class Mixed(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(1)
        self.attention = torch.nn.MultiheadAttention(16, 4, batch_first=True)

    def forward(self, x):
        return torch.relu(self.attention(x, x, x, need_weights=False)[0])


class Attention(torch.nn.Module):
    def forward(self, x):
        q, k, v = x.view(2, 5, 3, 4, 4).permute(2, 0, 3, 1, 4).unbind(0)
        return torch.nn.functional.scaled_dot_product_attention(q, k, v).sum(1)


class ListInIf(torch.nn.Module):
    """The list that the first branch begins with is empty, and can't be given to the runtime by itself."""

    def forward(self, x):
        ys: List[Tensor] = []
        for i in range(x.size(0)):
            if bool(x[i].sum() > 0):
                ys.append(x[i].exp())
            else:
                ys.append(x[i].tanh())
        return torch.stack(ys)


class Long(torch.nn.Module):
    def forward(self, x):
        total = x
        for i in range(60):
            x = (x * 1.01 + 0.1).sin().tanh()
            total = total + (torch.atan(x * 9) if i == 50 else x)  # planted
        return total.softmax(1).argmax(1), total


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.query, self.key, self.value = (torch.nn.Linear(8, 8) for _ in range(3))
        self.wide, self.narrow, self.norm = torch.nn.Linear(8, 16), torch.nn.Linear(16, 8), torch.nn.LayerNorm(8)

    def forward(self, x):
        heads = [part(x).view(x.size(0), x.size(1), 2, 4).transpose(1, 2) for part in (self.query, self.key, self.value)]
        weights = (heads[0] @ heads[1].transpose(-1, -2) / 2).softmax(-1)
        x = self.norm(x + (weights @ heads[2]).transpose(1, 2).reshape(x.size(0), x.size(1), 8))
        return self.norm(x + self.narrow(torch.nn.functional.gelu(self.wide(x))))


class Bert(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(1)
        self.table, self.layers = torch.nn.Embedding(50, 8), torch.nn.ModuleList(Layer() for _ in range(3))

    def forward(self, ids):
        x = self.table(ids)
        for layer in self.layers:
            x = layer(x)
        return x


def line_of(module, marker="# planted"):
    import inspect
    lines, first = inspect.getsourcelines(module)
    return first + next(i for i, line in enumerate(lines) if marker in line)


def run_repro(folder):
    """The largest difference between what ONNX Runtime makes of the folder and what it should."""
    def read(file):
        tensor = onnx.TensorProto()
        tensor.ParseFromString(file.read_bytes())
        return tensor
    model = onnx.load(folder / "model.onnx")
    onnx.checker.check_model(model, full_check=True)
    session = onnxruntime.InferenceSession(str(folder / "model.onnx"))
    tensors = [read(file) for file in sorted((folder / "test_data_set_0").glob("input_*.pb"))]
    got = session.run(None, {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in tensors})
    expected = onnx.numpy_helper.to_array(read(folder / "test_data_set_0" / "output_0.pb"))
    return float(numpy.abs(got[0].astype(numpy.float64) - expected.astype(numpy.float64)).max())


def nodes_of(graph):
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from nodes_of(attribute.g)


def judge(verify, what, run, op, line, repro, memory=256 << 20):
    if run.returncode != 1:
        return verify.wrong.append(f"{what}: exit {run.returncode}: {run.stdout[-300:]}{run.stderr[-300:]}")
    report = json.loads(run.stdout)
    verify.wrong.extend(f"{what}: {error.message}" for error in verify.valid.iter_errors(report))
    bad, bisection = report.get("first_bad"), report["bisection"]
    if not bad or bad["op"] != op or line and (not bad["file"].endswith("check_bisect.py") or bad["line"] != line):
        verify.wrong.append(f"{what}: found {bad}, not {op} at line {line}: {bisection}")
    elif not bad["onnx_node"] or run_repro(repro) < 1e-3:
        verify.wrong.append(f"{what}: the failing case doesn't fail: {bad}")
    most = math.ceil(bisection["bytes"] / memory) + 3
    if bisection["runs"] > most:
        verify.wrong.append(f"{what}: {bisection['runs']} runs for {bisection['bytes']} bytes, {most} at most")


def planted(verify, module, *inputs, script=False, memory=256 << 20, dims=()):
    file = verify.save(module, *inputs, script=script)
    repro = verify.folder / f"{type(module).__name__}-{memory}"
    run = subprocess.run([verify.options.planted, file, repro, str(memory), *dims], capture_output=True, text=True, timeout=3600)
    judge(verify, f"{type(module).__name__} with {memory} bytes", run, "aten::atan", line_of(type(module)), repro, memory)
    return file


def exported(verify, module, *inputs, core=False, **options):
    file = verify.folder / f"{type(module).__name__}{'-core' * core}.pt2"
    program = torch.export.export(module.eval(), inputs, **options)
    torch.export.save(program.run_decompositions() if core else program, file)
    return file


def changed(verify, what, model, node, op, expected, *options, again=None):
    """An ONNX file of ours in which one node became another. `again`: the options of verify, where they are others."""
    file = verify.folder / "right.onnx"
    subprocess.run([verify.program, "convert", model, "-o", file, "-q", *options], check=True)
    proto = onnx.load(file)
    found = [one for one in nodes_of(proto.graph) if re.fullmatch(node, one.name)]
    if not found:
        return verify.wrong.append(f"{what}: no node is called {node}")
    found[0].op_type = op
    onnx.save(proto, verify.folder / "wrong.onnx")
    repro = verify.folder / what
    run = subprocess.run(
        [
            verify.program,
            "verify",
            model,
            verify.folder / "wrong.onnx",
            "--repro",
            repro,
            "--format",
            "json",
            *(options if again is None else again),
        ],
        capture_output=True,
        text=True,
        timeout=300,
    )
    judge(verify, what, run, expected, None, repro)


def saved_bert(verify):
    return verify.save(Bert(), torch.zeros(2, 6, dtype=torch.long), name="bert")


def exported_programs(verify):
    for module, inputs, sizes in ((Straight(), (torch.rand(2, 3, 8, 8),), ({0: Dim("n")},)), (InCond(), (torch.rand(4, 5),), None),
                                  (InWhile(), (torch.rand(4, 5),), None), (Healed(), (torch.rand(4, 5),), ({0: Dim("n")},))):
        for core in (False, True):
            file = exported(verify, module, *inputs, core=core, dynamic_shapes=sizes)
            run = subprocess.run(
                [verify.options.planted, file, verify.folder / file.stem, str(256 << 20)], capture_output=True, text=True, timeout=3600
            )
            judge(verify, file.name, run, "aten::atan", line_of(type(module)), verify.folder / file.stem)


def traced_and_scripted(verify):
    planted(verify, Straight(), torch.rand(2, 3, 8, 8))
    planted(verify, InIf(), script=True, dims=["x=f32:4,5"])
    planted(verify, InLoop(), script=True, dims=["x=f32:4,5"])
    for memory in (256 << 20, 1000):
        planted(verify, Nested(), script=True, memory=memory, dims=["x=f32:4,5"])
        planted(verify, Long(), torch.rand(4, 100), memory=memory)
    planted(verify, Healed(), torch.rand(4, 5))
    planted(verify, Long(), torch.rand(4, 100), memory=100_000)


def changed_files(verify):
    straight = verify.save(Straight(), torch.rand(2, 3, 8, 8))
    inside, loop = verify.save(InIf(), script=True), verify.save(InLoop(), script=True)
    changed(verify, "file-straight", straight, "/Relu", "Sigmoid", "aten::relu")
    changed(verify, "file-if", inside, "/Atan", "Tanh", "aten::atan", "--input", "x=f32:4,5")
    changed(verify, "file-loop", loop, "/Cos", "Sin", "aten::cos", "--input", "x=f32:batch,5")
    attention = verify.folder / "attention.pt"
    torch.jit.trace(Attention(), torch.rand(2, 5, 48)).save(str(attention))
    changed(verify, "file-attention", attention, "/Softmax", "LogSoftmax", "aten::scaled_dot_product_attention")
    lists = verify.folder / "lists.pt"
    torch.jit.script(ListInIf()).save(str(lists))
    changed(verify, "file-lists", lists, "/Tanh", "Sin", "aten::tanh", "--input", "x=f32:rows,5")
    changed(verify, "file-loop-sum", loop, "/Add.*", "Mul", "aten::add", "--input", "x=f32:batch,5")


def files_of_bert(verify):
    bert = saved_bert(verify)
    named = ["--input", "ids=i64:batch,seq"]
    for what, again in (("bert", None), ("bert-without-input", [])):
        changed(verify, what, bert, "/layers.1/Erf", "Tanh", "aten::gelu", *named, again=again)
        report = json.loads(
            subprocess.run(
                [
                    verify.program,
                    "verify",
                    bert,
                    verify.folder / "wrong.onnx",
                    "--bisect",
                    "--format",
                    "json",
                    *(named if again is None else again),
                ],
                capture_output=True,
                text=True,
            ).stdout
        )
        if report.get("first_bad", {}).get("module") != "layers.1" or "/layers.1/Erf" not in report["first_bad"]["onnx_nodes"]:
            verify.wrong.append(f"{what}: the wrong layer: {report.get('first_bad')}")
    # A file whose input has another dtype, and one of another rank.
    for what, shape, dtype in (("dtype", [2, 6], onnx.TensorProto.INT32), ("rank", [2, 6, 1], onnx.TensorProto.INT64)):
        proto = onnx.load(verify.folder / "right.onnx")
        proto.graph.input[0].CopyFrom(onnx.helper.make_tensor_value_info(proto.graph.input[0].name, dtype, shape))
        proto.graph.ClearField("value_info")
        proto.graph.node.insert(
            0, onnx.helper.make_node("Cast", [proto.graph.input[0].name], ["ids_as_read"], name="reading", to=onnx.TensorProto.INT64)
        )
        for node in proto.graph.node[1:]:
            node.input[:] = ["ids_as_read" if name == proto.graph.input[0].name else name for name in node.input]
        if what == "rank":
            proto.graph.node.insert(1, onnx.helper.make_node("Squeeze", ["ids_as_read", "last"], ["ids_of_rank_2"], name="flattening"))
            proto.graph.initializer.append(onnx.numpy_helper.from_array(numpy.array([2]), "last"))
            for node in proto.graph.node[2:]:
                node.input[:] = ["ids_of_rank_2" if name == "ids_as_read" else name for name in node.input]
        onnx.save(proto, verify.folder / "other.onnx")
        run = subprocess.run(
            [verify.program, "verify", bert, verify.folder / "other.onnx", "--bisect", "--format", "json"], capture_output=True, text=True
        )
        report = json.loads(run.stdout) if run.stdout else {}
        if run.returncode != 1 or "can't be paired" not in report["findings"][0]["message"]:
            verify.wrong.append(f"another {what}: {run.stdout[-300:]}{run.stderr[-300:]}")


def exported_files(verify):
    layers = exported(verify, Bert(), torch.zeros(2, 6, dtype=torch.long), dynamic_shapes=({0: Dim("n"), 1: Dim("s")},))
    changed(verify, "exported", layers, "/layers.1/Erf", "Tanh", "aten::gelu")
    changed(verify, "exported-fixed", layers, "/layers.1/Erf", "Tanh", "aten::gelu", "--input", "ids=i64:3,batch")


def fixed_sizes(verify):
    """Fixed sizes for a file of dynamic ones, and an output that the file calls otherwise."""
    mixed = verify.folder / "mixed.pt"
    torch.jit.script(Mixed().eval()).save(str(mixed))
    for what, again in (("fixed-sizes", ["--input", "x=f32:2,3,16"]), ("one-fixed-size", ["--input", "x=f32:b,3,16"])):
        changed(verify, what, mixed, "/Relu", "Elu", "aten::relu", "--input", "x=f32:batch,seq,16", again=again)
    proto = onnx.load(verify.folder / "right.onnx")
    last = next(node for node in proto.graph.node if node.output[0] == proto.graph.output[0].name)
    last.op_type, last.output[0], proto.graph.output[0].name = "Tanh", "other_name", "other_name"
    onnx.save(proto, verify.folder / "other.onnx")
    run = subprocess.run(
        [verify.program, "verify", mixed, verify.folder / "other.onnx", "--bisect", "--format", "json"], capture_output=True, text=True
    )
    if run.returncode != 1 or json.loads(run.stdout).get("first_bad", {}).get("op") != "aten::relu":
        verify.wrong.append(f"renamed output: {run.stdout[-300:]}{run.stderr[-300:]}")


def foreign_files(verify):
    """Files of other exporters: their names may be ours and mean other values."""
    program, folder, wrong = verify.program, verify.folder, verify.wrong
    model, ids = Bert().eval(), torch.zeros(2, 6, dtype=torch.long)
    bert, named = saved_bert(verify), {"input_names": ["ids"], "opset_version": 18}
    torch.onnx.export(model, (ids,), folder / "older.onnx", dynamo=False, dynamic_axes={"ids": {0: "batch", 1: "seq"}}, **named)
    torch.onnx.export(model, (ids,), folder / "newer.onnx", dynamo=True, verbose=False, **named)
    subprocess.run([program, "convert", bert, "-o", folder / "named.onnx", "-q", "--input", "ids=i64:batch,seq"], check=True)
    proto = onnx.load(folder / "named.onnx")
    inner = {name for node in proto.graph.node for name in node.output} - {output.name for output in proto.graph.output}
    for number, node in enumerate(proto.graph.node):
        node.name = f"n{number}"
        for names in (node.input, node.output):
            names[:] = ["v_" + name[::-1] if name in inner else name for name in names]
    proto.graph.ClearField("value_info")
    onnx.save(proto, folder / "renamed.onnx")

    def bisect(what, change, expected, module, file=None):
        proto = onnx.load(folder / f"{file or what}.onnx")
        change(proto)
        onnx.save(proto, folder / "foreign.onnx")
        repro = folder / f"foreign-{what}-{expected}"
        run = subprocess.run(
            [program, "verify", bert, folder / "foreign.onnx", "--repro", repro, "--format", "json"],
            capture_output=True,
            text=True,
            timeout=300,
        )
        judge(verify, f"{what}: {expected}", run, expected, None, repro)
        report = json.loads(run.stdout)
        if report.get("first_bad", {}).get("module") != module:
            wrong.append(f"{what}: {expected} of the wrong module: {report.get('first_bad')}")
        if "compared by their elements" not in report["bisection"]["note"]:
            wrong.append(f"{what}: {report['bisection']}")

    def second(op, other):
        def change(proto):
            [node for node in proto.graph.node if node.op_type == op][1].op_type = other
        return change

    def other_weight(proto):
        products = [node for node in proto.graph.node if node.op_type in ("MatMul", "Gemm")]
        weights = {one.name: one for one in proto.graph.initializer}
        wide = [
            weights[name] for node in products for name in node.input if name in weights and list(weights[name].dims) in ([8, 16], [16, 8])
        ]
        values = onnx.numpy_helper.to_array(wide[2]).copy()  # layers.1.wide
        values.flat[0] += 1
        wide[2].CopyFrom(onnx.numpy_helper.from_array(values, wide[2].name))

    for what in ("older", "newer", "renamed"):
        bisect(what, second("Erf", "Tanh"), "aten::gelu", "layers.1")
        bisect(what, second("Softmax", "LogSoftmax"), "aten::softmax", "layers.1")
        bisect(what, other_weight, "aten::linear", "layers.1.wide")

    # Nothing in between is there: none is named.
    proto = onnx.load(folder / "newer.onnx")
    kept = onnx.helper.make_graph(
        [
            onnx.helper.make_node("Cast", ["ids"], ["floats"], to=1),
            onnx.helper.make_node("Unsqueeze", ["floats", "last"], ["column"]),
            onnx.helper.make_node("Expand", ["column", "shape"], [proto.graph.output[0].name]),
        ],
        "other",
        list(proto.graph.input),
        list(proto.graph.output),
        [onnx.numpy_helper.from_array(numpy.array([2]), "last"), onnx.numpy_helper.from_array(numpy.array([2, 6, 8]), "shape")],
    )
    onnx.save(onnx.helper.make_model(kept, opset_imports=[onnx.helper.make_opsetid("", 18)], ir_version=10), folder / "foreign.onnx")
    run = subprocess.run(
        [program, "verify", bert, folder / "foreign.onnx", "--bisect", "--format", "json"], capture_output=True, text=True, timeout=300
    )
    report = json.loads(run.stdout) if run.stdout else {}
    if run.returncode != 1 or "first_bad" in report or "can't name an operator" not in report["bisection"]["note"]:
        wrong.append(f"nothing in between: {run.stdout[-600:]}{run.stderr[-300:]}")


def right_models(verify):
    """Nothing to find, and a model that is right by each operator."""
    straight = verify.save(Straight(), torch.rand(2, 3, 8, 8))
    run = subprocess.run([verify.program, "verify", straight, "--bisect", "--format", "json"], capture_output=True, text=True)
    if run.returncode != 0 or "first_bad" in json.loads(run.stdout):
        verify.wrong.append(f"right: {run.stdout[-300:]}")
    run = subprocess.run(
        [verify.program, "verify", straight, "--bisect", "--atol", "0", "--rtol", "0", "--format", "json"], capture_output=True, text=True
    )
    report = json.loads(run.stdout)
    if run.returncode != 1 or not report["bisection"]["compared"]:
        verify.wrong.append(f"no tolerance: {run.stdout[-300:]}")


CASES = [exported_programs, traced_and_scripted, changed_files, files_of_bert, exported_files, fixed_sizes, foreign_files, right_models]

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--planted", required=True)
    sys.exit(run_cases(CASES, __doc__, parser))
