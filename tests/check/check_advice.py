#!/usr/bin/env python3
"""Findings about arguments: they stand where they are true and nowhere else, and the rows that they print convert the call."""
import argparse, json, pathlib, subprocess, sys, tempfile
from typing import Dict, Optional, Tuple

import torch
import torch.nn.functional as F

LIBRARY = torch.library.Library("acme", "DEF")
LIBRARY.define("scaled(Tensor x, Tensor? mask, float by) -> Tensor")


class Returning(torch.nn.Module):
    """The caller gets what was written: itself, and in a tuple."""

    def forward(self, x, y, z):
        x += 1
        y[0] = 2
        z.mul_(3)
        return x, (y, x * z)


class TextChoice(torch.nn.Module):
    def forward(self, x, mode: str):
        return x + 1 if mode == "up" else x - 1


class Gradient(torch.nn.Module):
    """The gradient is one of the results, as forces are of an energy."""

    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(3, 4)

    def forward(self, x):
        x = x.detach().requires_grad_()
        energy = self.linear(x).tanh().sum()
        force = torch.autograd.grad([energy], [x])[0]
        assert force is not None
        return energy, -force


class Backward(torch.nn.Module):
    def forward(self, x):
        energy = (x * x).sum()
        energy.backward()
        return energy


class Reduced(torch.nn.Module):
    """Two numbers must be known while converting."""

    def forward(self, x, k: int):
        return F.softshrink(x, float(k)), F.celu(x, float(k + 1))


class Doubling(torch.nn.Module):
    """The first iteration turns integers into floats."""

    def forward(self, x, n: int):
        y = x.to(torch.int64)
        for _ in range(n):
            y = y * 1.5
        return y + 1


class EitherDtype(torch.nn.Module):
    def forward(self, x, n: int):
        y = x
        if n > 2:
            y = x.to(torch.int64)
        return y


class Widening(torch.nn.Module):
    """The first iteration adds a dimension."""

    def forward(self, x, n: int):
        loss = torch.tensor(0.0)
        for i in range(n):
            loss = loss + x * i
        return loss.softmax(0).sum()


class Wide(torch.nn.Module):
    """What the advice for Widening says."""

    def forward(self, x, n: int):
        loss = torch.zeros_like(x)
        for i in range(n):
            loss = loss + x * i
        return loss.sum()


class MaybeNone(torch.nn.Module):
    def forward(self, x, n: int) -> Optional[torch.Tensor]:
        y: Optional[torch.Tensor] = None
        if n > 2:
            y = x + 1
        return y


class MaybeBias(torch.nn.Module):
    def forward(self, x, n: int):
        y: Optional[torch.Tensor] = None
        if n > 2:
            y = x[0]
        return torch.nn.functional.linear(x, x, y)


class ZeroBias(torch.nn.Module):
    """What the advice for MaybeBias says."""

    def forward(self, x, n: int):
        y, there = torch.zeros(3), False
        if n > 2:
            y, there = x[0], True
        return torch.nn.functional.linear(x, x, y) if there else torch.nn.functional.linear(x, x)


class Flagged(torch.nn.Module):
    """A bool beside the value, for opsets at which MaybeNone doesn't convert."""

    def forward(self, x, n: int) -> Tuple[torch.Tensor, bool]:
        y, there = torch.zeros(0), False
        if n > 2:
            y, there = x + 1, True
        return y, there


class FirstRow(torch.nn.Module):
    def forward(self, x):
        return x[0] * 2


class AlwaysDropping(torch.nn.Module):
    def forward(self, x):
        return torch.nn.functional.dropout(x, 0.5, True)


class Remembering(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("keys", torch.zeros(1, 0, 4))

    def forward(self, x):
        self.keys = torch.cat([self.keys, x], 1)
        return self.keys.sum(1)


class Scaled(torch.nn.Module):
    def forward(self, x):
        return torch.ops.acme.scaled(x, None, 2.0).relu()


class Sorting(torch.nn.Module):
    """Two calls that need sizes before opset 10, for two reasons."""

    def forward(self, x):
        return x.sort(dim=1, descending=True, stable=True)[0], x[:, 1::2]


class Writing(torch.nn.Module):
    """Two operators write to one input."""

    def forward(self, x, kept):
        kept.add_(x)
        kept[0] = x[0]
        return kept * 2


class Halved(torch.nn.Module):
    """torch.export finds a condition of its sizes."""

    def forward(self, x):
        return x.reshape(x.shape[0], x.shape[1] // 2, 2).sum(1)


class Asserting(torch.nn.Module):
    """torch.export asserts what a number that is computed must be."""

    def forward(self, x, n):
        count = n.item()
        torch._check(count >= 2)
        return x.sum() * count


def reports(tool, model, *arguments):
    opset = [] if "--opset" in arguments else ["--opset", "13"]
    done = subprocess.run([tool, model, *opset, "--format", "json", *arguments], capture_output=True, text=True)
    assert done.stdout, done.stderr
    return json.loads(done.stdout)


def check_zero_points(tool, folder):
    """QuantizeLinear rounds before it adds the zero point, PyTorch afterwards: of an odd one, halves differ."""
    for zero_point, expected in ((2, []), (3, ["CC010"]), (-5, ["CC010"]), (0, [])):
        traced = torch.jit.trace(lambda x: torch.quantize_per_tensor(x, 0.5, zero_point, torch.qint8).dequantize(), torch.randn(2, 3))
        traced.save(str(folder / "quantized.pt"))
        report = reports(tool, folder / "quantized.pt")
        found = [finding["id"] for finding in report["findings"] if finding["id"] == "CC010"]
        assert (report["verdict"], found) == ("yes", expected), (zero_point, found, report["verdict"])


Q = torch.ops.quantized
# Calls of two quantized tensors, a scale and a zero point: in PyTorch halves round as if the zero point were added before.
SHIFTED = {
    "add": Q.add, "add_relu": Q.add_relu, "mul": Q.mul, "mul_relu": Q.mul_relu,
    "matmul": lambda a, b, s, z: Q.matmul(a, b.t(), s, z),
    "cat": lambda a, b, s, z: Q.cat([a, b], 0, 2 * s, z), "cat_relu": lambda a, b, s, z: Q.cat_relu([a, b], 0, 2 * s, z),
    "sigmoid": lambda a, b, s, z: Q.sigmoid(a, s, z), "leaky_relu": lambda a, b, s, z: Q.leaky_relu(a, 0.5, False, s, z),
    "hardswish": lambda a, b, s, z: Q.hardswish(a, s, z), "elu": lambda a, b, s, z: Q.elu(a, s, z),
    "celu": lambda a, b, s, z: Q.celu(a, s, z),
    "softmax": lambda a, b, s, z: Q.softmax(a, 1, s, z), "layer_norm": lambda a, b, s, z: Q.layer_norm(a, [3], None, None, 1e-5, s, z),
    "instance_norm": lambda a, b, s, z: Q.instance_norm(a.unsqueeze(0), None, None, 1e-5, s, z),
    "group_norm": lambda a, b, s, z: Q.group_norm(a.unsqueeze(0), 2, None, None, 1e-5, s, z),
    "clamp": lambda a, b, s, z: Q.clamp(a, -1.25, 1.0), "aten::clamp": lambda a, b, s, z: a.clamp(-1.0, 1.25),
    "hardtanh": lambda a, b, s, z: torch.nn.functional.hardtanh(a, -1.25, 1.25),
    "threshold": lambda a, b, s, z: torch.nn.functional.threshold(a, 0.25, 1.0),
    "aten::leaky_relu": lambda a, b, s, z: torch.nn.functional.leaky_relu(a, 0.5), "std": lambda a, b, s, z: a.std(1),
    "pad": lambda a, b, s, z: torch.nn.functional.pad(a, (1, 1), value=1.25),
    "masked_fill": lambda a, b, s, z: a.masked_fill(a.dequantize() > 0, 1.25),
    "avg_pool3d": lambda a, b, s, z: torch.nn.functional.avg_pool3d(a.reshape(1, 1, 1, 1, -1), (1, 1, 2)),
    "aten::cat": lambda a, b, s, z: torch.cat([a, torch.quantize_per_tensor(b.dequantize(), 0.25, z, torch.quint8)]),
}
# No half is rounded, or PyTorch rounds it as ONNX does.
EXACT = {
    "clamp": lambda a, b, s, z: Q.clamp(a, -1.0, 1.5), "hardtanh": lambda a, b, s, z: torch.nn.functional.hardtanh(a, -1.0, 1.0),
    "relu6": lambda a, b, s, z: Q.relu6(a), "pad": lambda a, b, s, z: torch.nn.functional.pad(a, (1, 1)),
    "relu": lambda a, b, s, z: a.relu(), "cat": lambda a, b, s, z: Q.cat([a, b], 0, s, z),
    "aten::cat": lambda a, b, s, z: torch.cat([a, b]), "aten::sigmoid": lambda a, b, s, z: a.sigmoid(),
    "add of a number": lambda a, b, s, z: Q.add(a, 1.75), "mean": lambda a, b, s, z: a.mean([1]),
    "avg_pool1d": lambda a, b, s, z: torch.nn.functional.avg_pool1d(a, 2),
}


def check_rounding_of_calls(tool, folder):
    """Of the calls themselves: quantize_per_tensor has a warning of its own."""
    for programs, warns in ((SHIFTED, True), (EXACT, False)):
        for name, program in programs.items():
            for zero in (126, 127):
                def run(x, y):
                    return program(*(torch.quantize_per_tensor(t, 0.5, zero, torch.quint8) for t in (x, y)), 0.5, zero).dequantize()

                torch.jit.trace(run, (torch.randn(2, 3), torch.randn(2, 3)), check_trace=False).save(str(folder / "quantized.pt"))
                report = reports(tool, folder / "quantized.pt", "--input", "f32:2,3", "--input", "f32:2,3")
                found = [f["op"] for f in report["findings"] if f["id"] == "CC010" and f["op"] != "aten::quantize_per_tensor"]
                assert report["verdict"] == "yes" and len(found) == (warns and zero == 127), (name, zero, found, report["findings"])


def check_row_with_none(tool, folder):
    """The row that is printed for a call with None says that None becomes nothing."""
    torch.jit.script(Scaled()).save(str(folder / "scaled.pt"))
    (finding,) = [f for f in reports(tool, folder / "scaled.pt")["findings"] if f["id"] == "CC003"]
    (folder / "rows.yaml").write_text(finding["row"].replace("TODO", "same") + "\n")
    report = reports(tool, folder / "scaled.pt", "--mappings", folder / "rows.yaml", "--input", "x=f32:n,3")
    assert report["verdict"] == "yes", report["findings"]


def errors_of(tool, model, *arguments):
    return [each for each in reports(tool, model, *arguments)["findings"] if each["severity"] == "error"]


def saved(folder, name, module):
    torch.jit.script(module.eval()).save(str(folder / f"{name}.pt"))
    return folder / f"{name}.pt"


def check_values_of_inputs(tool, folder):
    """A number among the inputs that an attribute follows from is to be stated, or set in the model."""
    errors = errors_of(tool, saved(folder, "reduced", Reduced()))
    assert sorted(each["op"] for each in errors) == ["aten::celu", "aten::softshrink"], errors
    for each in errors:
        assert (
            each["id"] == "CC005"
            and each["help"].startswith("--input k=1 ")
            and "set 'k' in __init__" in each["help"]
            and "input 'k'" in each["message"]
        ), each
    assert not errors_of(tool, folder / "reduced.pt", "--input", "k=1"), "with what is asked for"


def check_changed_dtypes(tool, folder):
    """A Loop or If that mixes dtypes is the cause of all that follows, and its advice names the variable."""
    for name, module, op, says in (("doubling", Doubling(), "prim::Loop", "`y`, which is i64 before it"),
                                   ("either", EitherDtype(), "prim::If", " as i64 and as f32")):
        (error,) = errors_of(tool, saved(folder, name, module))
        assert error["op"] == op and says in error["message"] and ".to(torch.float32)" in error["help"], error


def check_changed_rank(tool, folder):
    """What reads a tensor to which a loop adds a dimension says so, and names the variable."""
    stated = ("--input", "x=f32:n")
    (error,) = errors_of(tool, saved(folder, "widening", Widening()), *stated)
    assert "the loop changes the number of dimensions of `loss`, which has 0 dimensions before it" in error["message"], error
    assert "torch.zeros_like(x)" in error["help"], error
    assert not errors_of(tool, saved(folder, "wide", Wide()), *stated)


class MissingKey(torch.nn.Module):
    """Raises KeyError for all numbers but two."""

    def forward(self, x, n: int):
        held: Dict[int, torch.Tensor] = {1: x, 2: x * 2}
        return held[n]


def check_missing_key(tool, folder):
    """PyTorch raises, the model doesn't: that is noted, with the place."""
    found = reports(tool, saved(folder, "missing_key", MissingKey()), "--input", "x=f32:n")
    (note,) = [each for each in found["findings"] if each["id"] == "CC013"]
    assert found["verdict"] == "yes" and "KeyError" in note["message"], found
    assert "check_advice.py" in json.dumps(note["sites"]), note


def check_deep_branches(tool, folder):
    """Readers of ONNX files take 100 messages in each other."""
    for count, verdict in ((20, "yes"), (40, "no")):
        lines = ["graph(%x : Float(2), %n : int):"] + [
            f"  %c{i} : int = prim::Constant[value={i}]()\n  %e{i} : bool = aten::eq(%n, %c{i})" for i in range(count)
        ]
        for i in range(count):
            lines += [
                "  " * i + f"  %y{i} : Tensor = prim::If(%e{i})",
                "  " * i + "    block0():",
                "  " * i + f"      %r{i} : Tensor = aten::relu(%x)",
                "  " * i + f"      -> (%r{i})",
                "  " * i + "    block1():",
            ]
        lines += ["  " * count + "  %z : Tensor = aten::neg(%x)", "  " * count + "  -> (%z)"]
        for i in reversed(range(1, count)):
            lines.append("  " * i + f"  -> (%y{i})")
        (folder / "deep.ir").write_text("\n".join([*lines, "  return (%y0)", ""]))
        found = reports(tool, folder / "deep.ir")
        assert found["verdict"] == verdict, found
        assert verdict == "yes" or "stand within each other" in json.dumps(found["findings"]), found["findings"]


def check_maybe_none(tool, folder):
    stated = ("--input", "x=f32:n")
    model = saved(folder, "maybe", MaybeNone())
    (error,) = errors_of(tool, model, *stated, "--opset", "15")
    assert (
        error["message"]
        == "only the running model knows whether the model's output output_0 is None, and ONNX's If gives no optional value before opset 16"
    ), error
    assert error["help"] == "--opset 16" and error["available_from"] == 16, error
    assert not errors_of(tool, model, *stated, "--opset", "16")
    assert not errors_of(tool, saved(folder, "flagged", Flagged()), *stated, "--opset", "15")


def check_none_inside(tool, folder):
    stated = ("--input", "x=f32:3,3")
    (error,) = errors_of(tool, saved(folder, "bias", MaybeBias()), *stated)
    assert (
        error["message"] == "only the running model knows whether `y` is None, and such a value can't be followed through this code"
    ), error
    assert "an empty tensor, and a bool" in error["help"], error
    assert not errors_of(tool, saved(folder, "zero_bias", ZeroBias()), *stated)


def check_no_trace(tool, folder):
    """Only of a trace may a size or a number be what an example had."""
    torch.jit.trace(FirstRow(), torch.randn(2, 3)).save(str(folder / "first_row.pt"))
    ids = lambda model: [each["id"] for each in reports(tool, model, "--input", "x=f32:n,3")["findings"]]
    assert ids(folder / "first_row.pt") == ["CC012"]
    assert ids(saved(folder, "first_row", FirstRow())) == []


def check_dropout(tool, folder):
    """What the code says of training and what a trace recorded of it are told apart."""
    (finding,) = [each for each in reports(tool, saved(folder, "dropping", AlwaysDropping()))["findings"] if each["severity"] != "note"]
    assert finding["id"] == "CC008" and finding["help"].startswith("the code asks for training mode in this call"), finding
    torch.jit.trace(torch.nn.Dropout(0.5), torch.randn(2, 3), check_trace=False).save(str(folder / "traced.pt"))
    (finding,) = [each for each in reports(tool, folder / "traced.pt")["findings"] if each["id"] == "CC008"]
    assert finding["help"].startswith("call model.eval() before tracing"), finding


class Statistics(torch.nn.Module):
    """The code itself takes those of the batch."""

    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.zeros(3))
        self.register_buffer("variance", torch.ones(3))

    def forward(self, x):
        return torch.nn.functional.batch_norm(x, self.mean, self.variance, training=True)


def check_batch_statistics(tool, folder):
    """A normalization with running statistics that takes those of the batch is in training mode."""
    x = torch.randn(2, 3, 4, 4)
    kinds = {
        "batch": lambda **o: torch.nn.BatchNorm2d(3, **o),
        "instance": lambda **o: torch.nn.InstanceNorm2d(3, **{"track_running_stats": True, **o}),
    }

    def warned(file):
        return [
            (each["op"], each["severity"], each["message"], each["help"][:30])
            for each in reports(tool, file)["findings"]
            if each["id"] == "CC008"
        ]

    for kind, make in kinds.items():
        for training in (True, False):
            for options in ({}, {"track_running_stats": False}):
                module = make(**options).train(training)
                torch.jit.trace(module, x, check_trace=False).save(str(folder / "norm.pt"))
                torch.export.save(torch.export.export(module, (x,)), folder / "norm.pt2")
                torch.export.save(torch.export.export(module, (x,)).run_decompositions(), folder / "decomposed.pt2")
                for file in ("norm.pt", "norm.pt2", "decomposed.pt2"):
                    if kind == "instance" and file == "decomposed.pt2":
                        continue   # what is left of it no longer says that there are running statistics
                    found = warned(folder / file)
                    wanted = training and not options
                    assert bool(found) == wanted, (kind, training, options, file, found)
                    assert not wanted or [each[1:] for each in found] == [
                        ("warning", "the call normalizes by the statistics of the batch, as in training", "call model.eval() before traci")
                    ], found
    (finding,) = warned(saved(folder, "statistics", Statistics()))
    assert finding[0] == "aten::batch_norm" and finding[3] == "the code asks for training mod", finding


def check_reasons(tool, folder):
    """CC006 gives the reason of each operator, and the opset at which none needs the input."""
    model = saved(folder, "sorting", Sorting())
    (finding,) = errors_of(tool, model, "--opset", "9")
    assert finding["id"] == "CC006" and "aten::sort: " in finding["message"] and "aten::slice: " in finding["message"], finding
    assert finding["help"].endswith(", or --opset 10") and finding["available_from"] == 10, finding
    assert not errors_of(tool, model, "--opset", "10"), "at the opset of the advice"
    option = finding["help"].split()[1]
    assert not errors_of(tool, model, "--opset", "9", "--input", option), option


def check_written_inputs(tool, folder):
    """Each operator that writes to an input is a finding of its own; the text gives their advice once."""
    model = saved(folder, "writing", Writing())
    found = [each for each in reports(tool, model)["findings"] if each["id"] == "CC014"]
    assert [(each["op"], each["input"], each["nodes"]) for each in found] == [("aten::add_", "kept", 1), ("aten::copy_", "kept", 1)], found
    text = subprocess.run([tool, model, "--opset", "13"], capture_output=True, text=True).stdout
    assert (text.count("  CC014  "), text.count("→ as below"), text.count("→ return 'kept' as well")) == (2, 1, 1), text
    given = torch.randn(3), torch.randn(3), torch.randn(3)
    files = [folder / "returning_traced.pt", folder / "returning_scripted.pt", folder / "returning.pt2"]
    torch.jit.trace(Returning(), given).save(files[0])
    torch.jit.script(Returning()).save(files[1])
    torch.export.save(torch.export.export(Returning(), given), files[2])
    for file in files:
        found = [each["input"] for each in reports(tool, file)["findings"] if each["id"] == "CC014"]
        assert found == ["z"], (file.name, found)


def check_optimized(tool, folder):
    """What torch.jit.optimize_for_inference leaves isn't whole; the message says what to save instead."""
    net = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.ReLU()).eval()
    for name, made in ("traced", torch.jit.trace(net, torch.randn(1, 3, 8, 8))), ("scripted", torch.jit.script(net)):
        file = folder / f"optimized_{name}.pt"
        torch.jit.optimize_for_inference(made).save(file)
        ran = subprocess.run([tool, file, "--frontend", "native"], capture_output=True, text=True)
        assert ran.returncode == 3 and "save the model before torch.jit.optimize_for_inference" in ran.stderr, (name, ran.stderr)


def check_gradient(tool, folder):
    """The advice for a gradient inside of a model is followed."""
    (finding,) = [each for each in errors_of(tool, saved(folder, "gradient", Gradient()))]
    assert finding["op"] == "aten::grad" and "make_fx" in finding["help"] and "torch.export.save" in finding["help"], finding
    found = [each for each in reports(tool, folder / "gradient.pt")["findings"] if each["id"] == "CC014"]
    assert not found, found
    (finding,) = errors_of(tool, saved(folder, "backward", Backward()))
    assert finding["op"] == "aten::backward" and "the forward pass only" in finding["help"], finding
    from torch.fx.experimental.proxy_tensor import make_fx

    given = torch.randn(2, 3)
    recorded = make_fx(Gradient().eval(), decomposition_table=torch.export.default_decompositions())(given)
    torch.export.save(torch.export.export(recorded, (given,)), folder / "gradient.pt2")
    assert not errors_of(tool, folder / "gradient.pt2")


def check_text_input(tool, folder):
    """A text that decides: it must be known."""
    (finding,) = errors_of(tool, saved(folder, "text_choice", TextChoice()))
    assert "--input mode=TEXT with your own text, or set 'mode' in __init__" in finding["help"], finding


def check_program_conditions(tool, folder):
    """What torch.export requires is spelled as a user writes it, and goes when sizes are stated."""
    rows, columns = torch.export.Dim("rows", min=2), torch.export.Dim.DYNAMIC
    program = torch.export.export(Halved(), (torch.randn(4, 8),), dynamic_shapes=({0: rows, 1: columns},))
    torch.export.save(program, folder / "halved.pt2")
    found = [each for each in reports(tool, folder / "halved.pt2")["findings"] if each["id"] == "CC013"]
    assert found and all("x.size(1)" in each["message"] and "L['" not in each["message"] for each in found), found
    for each in found:
        option = each["help"].split("--input ")[1]
        assert not [
            other for other in reports(tool, folder / "halved.pt2", "--input", option)["findings"] if other["id"] == "CC013"
        ], option


def check_asserted_numbers(tool, folder):
    """An assertion about a number that the program computes says so."""
    program = torch.export.export(Asserting(), (torch.randn(6), torch.tensor(3)))
    torch.export.save(program, folder / "asserting.pt2")
    found = [each for each in reports(tool, folder / "asserting.pt2")["findings"] if each["id"] == "CC013"]
    assert all(each["nodes"] == len(each["sites"]) > 0 for each in found), found
    assert all(
        site["file"].endswith("check_advice.py") and site["function"] == "forward" for each in found for site in each["sites"]
    ), found
    messages = [each["message"] for each in found]
    assert any(
        "PyTorch raises an exception unless u0 >= 2 (u0 is a number that the model computes); the ONNX model doesn't check it" in each
        for each in messages
    ) and not any("on node" in each for each in messages), messages


def check_refused_write(tool, folder):
    """A write that can't be expressed is refused: no operator is missing, for either gate."""
    model = saved(folder, "remembering", Remembering())
    report = reports(tool, model)
    (finding,) = [each for each in report["findings"] if each["severity"] == "error"]
    assert (finding["id"], finding["op"], report["summary"]["missing"], report["summary"]["refused"]) == (
        "CC007",
        "prim::SetAttr",
        0,
        1,
    ), report
    assert all(site["file"].endswith("check_advice.py") and site["line"] > 0 for site in finding["sites"]), finding
    for gate in ["--fail-on", "missing"], ["--fail-on", "never", "--max-missing", "0"]:
        assert reports(tool, model, *gate)["gate"]["passed"], gate
    done = subprocess.run([tool, model], capture_output=True, text=True)
    assert "missing" not in done.stdout.split("\n")[2], done.stdout


def check_word_of_verify(tool, folder):
    """verify repeats the word of --fail-on that it was given."""
    model = saved(folder, "tripled", torch.nn.Tanh())
    for word in "missing", "mismatch", "composite":
        done = subprocess.run([tool, "verify", model, "--fail-on", word], capture_output=True, text=True)
        assert done.returncode == 0 and done.stdout.endswith(f"exit 0 (--fail-on {word})\n"), done.stdout + done.stderr


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    tool = parser.parse_args().program
    with tempfile.TemporaryDirectory() as folder:
        check_zero_points(tool, pathlib.Path(folder))
        for check in (
            check_rounding_of_calls,
            check_row_with_none,
            check_values_of_inputs,
            check_changed_dtypes,
            check_changed_rank,
            check_missing_key,
            check_deep_branches,
            check_maybe_none,
            check_no_trace,
            check_dropout,
            check_batch_statistics,
            check_refused_write,
            check_word_of_verify,
            check_reasons,
            check_written_inputs,
            check_optimized,
            check_gradient,
            check_text_input,
            check_program_conditions,
            check_asserted_numbers,
        ):
            check(tool, pathlib.Path(folder))
    print("all findings are as expected")
    return 0


if __name__ == "__main__":
    sys.exit(main())
