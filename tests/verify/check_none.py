#!/usr/bin/env python3
"""compatcheck verify of models whose outputs are None in some runs: None against None agrees, None against a value is a difference."""
import argparse, sys, tempfile
from typing import Dict, List, Optional, Tuple

import onnx, torch
from onnx import TensorProto, helper
from torch import Tensor

from running import Verify


class Search(torch.nn.Module):
    def forward(self, x) -> Optional[Tensor]:
        for i in range(x.size(0)):
            if bool(x[i] > 0.9):
                return x[i:].sin()
        return None


class Three(torch.nn.Module):
    def forward(self, x) -> Tuple[Optional[Tensor], Tensor, Optional[Tensor]]:
        a: Optional[Tensor] = None
        b: Optional[Tensor] = None
        if bool(x[0] > 0.5):
            a = x.exp()
        if bool(x[1] > 0.5):
            b = x.sum()
        return a, x * 3, b


class Numbers(torch.nn.Module):
    def forward(self, x) -> Tuple[Optional[int], Optional[List[int]], Optional[List[Tensor]]]:
        first: Optional[int] = None
        found: List[int] = []
        parts: List[Tensor] = []
        for i in range(x.size(0)):
            if bool(x[i] > 0.8):
                first = i if first is None else first
                found.append(i)
                parts.append(x[:i])
        if len(found) == 0:
            return None, None, None
        return first, found, parts


class Pair(torch.nn.Module):
    def forward(self, x) -> Tuple[Optional[Tuple[Tensor, Optional[Tensor]]], Dict[str, Optional[Tensor]]]:
        inner: Optional[Tensor] = None
        if bool(x[1] > 0.5):
            inner = x.cumsum(0)
        pair: Optional[Tuple[Tensor, Optional[Tensor]]] = None
        if bool(x[0] > 0.5):
            pair = (x + 1, inner)
        out: Dict[str, Optional[Tensor]] = {"same": inner, "all": x - 1}
        return pair, out


class Fixed(torch.nn.Module):
    def forward(self, x) -> Tuple[Optional[List[Tensor]], Optional[Tensor]]:
        a: Optional[List[Tensor]] = None
        b: Optional[Tensor] = None
        if bool(x[0] > 0.5):
            a = [x, x.sum()]
        if bool(x[1] > 0.5):
            b = x.cos()
        return a, b


class Random(torch.nn.Module):
    def forward(self, x) -> Optional[Tensor]:
        return x if bool(torch.rand(8)[0] > 0.5) else None


def changed(file, name, change):
    """A copy of the file in which `change` edits the If of each optional output."""
    model = onnx.load(str(file))
    optional = {output.name for output in model.graph.output if output.type.HasField("optional_type")}
    for node in [node for node in model.graph.node if set(node.output) & optional]:
        change(model.graph, node)
    onnx.save(model, str(file.parent / name))
    return file.parent / name


def always(truth):
    def change(graph, node):
        if not any(each.name == "always" for each in graph.initializer):
            graph.initializer.append(helper.make_tensor("always", TensorProto.BOOL, [], [truth]))
        node.input[0] = "always"
    return change


def negated(graph, node):
    """The value, where there is one, is wrong."""
    body = next(attribute.g for attribute in node.attribute if attribute.name == "then_branch")
    body.node.insert(0, helper.make_node("Neg", [body.node[0].input[0]], [f"{node.output[0]}_negated"]))
    body.node[1].input[0] = f"{node.output[0]}_negated"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    with tempfile.TemporaryDirectory() as folder:
        verify = Verify(parser.parse_args().program, folder)
        given, many = ("--input", "x=f32:n", "--opset", "17"), ("--runs", "12")
        examples = {"none": [0.1, 0.2, 0.3], "some": [0.95, 0.2, 0.99], "other": [0.2, 0.95, 0.85]}
        for name, numbers in examples.items():
            torch.save((torch.tensor(numbers),), f"{folder}/{name}.pt")
        of = lambda name: ("--inputs-from", f"{folder}/{name}.pt", "--runs", "1")

        for module in (Search(), Three(), Numbers(), Pair(), Fixed()):
            what, model = type(module).__name__, verify.save(module, script=True)
            for opset in (16, 20):
                verify.run(f"{what} at {opset}", 0, model, "--input", "x=f32:n", "--opset", opset, *many)
            file = verify.convert(model, f"{what}.onnx", *given)
            verify.run(f"{what}: a file", 0, model, file, *many)
            for name in examples:
                verify.run(f"{what}: {name}", 0, model, file, *of(name))
            verify.run(f"{what}: never None", 1, model, changed(file, "always.onnx", always(True)), *of("none"), ids=["CC203"])
            verify.run(f"{what}: always None", 1, model, changed(file, "never.onnx", always(False)), *of("some"), ids=["CC203"])
            # The random inputs meet both.
            for truth in (True, False):
                verify.run(f"{what}: always {truth}", 1, model, changed(file, "always.onnx", always(truth)), *many, ids=["CC203"])

        # What is None in every run is said, with the name of the output.
        model, file = verify.folder / "Three.pt", verify.folder / "Three.onnx"
        report = verify.run("None in every run", 0, model, file, *of("none"))
        shown = [(each["name"], each["dtype"]) for each in report.get("outputs", [])]
        verify.expect("None in every run", shown == [("output_0.0", "None"), ("output_0.1", "f32"), ("output_0.2", "None")], shown)
        verify.expect("None in every run", "'output_0.0' is None on both sides in every run" in (report.get("note") or ""), report)
        report = verify.run("None in some runs", 0, model, file, *many)
        shown = [(each["name"], each["dtype"], each["passed"]) for each in report.get("outputs", [])]
        verify.expect("None in some runs", shown == [(f"output_0.{i}", "f32", True) for i in range(3)] and not report.get("note"), report)

        # Which side lacks the value.
        for truth, name, says in ((True, "none", "output 'output_0.0' has a value, TorchScript's is None"),
                                  (False, "some", "output 'output_0.0' is None, TorchScript's isn't")):
            report = verify.run(says, 1, model, changed(file, "always.onnx", always(truth)), *of(name), ids=["CC203"])
            verify.expect(says, [each["message"] for each in report.get("findings", [])] == [says], report.get("findings"))
            report = verify.run(f"{says}: bisected", 1, model, verify.folder / "always.onnx", *of(name), "--bisect", ids=["CC203"])
            verify.expect(
                says,
                "bisection doesn't search for what makes an output None" in report.get("bisection", {}).get("note", ""),
                report.get("bisection"),
            )

        # A wrong value belongs to its output, whatever else is None.
        wrong = changed(file, "wrong.onnx", lambda graph, node: negated(graph, node) if node.output[0] == "output_0.2" else None)
        verify.run("a wrong value that isn't given", 0, model, wrong, *of("some"))
        report = verify.run("a wrong value", 1, model, wrong, *of("other"), "--bisect", ids=["CC201"])
        shown = [(each["name"], each["passed"]) for each in report.get("outputs", [])]
        verify.expect("a wrong value", shown == [("output_0.0", True), ("output_0.1", True), ("output_0.2", False)], shown)
        text = verify.run("a wrong value as text", 1, model, wrong, *of("other"), form=None)
        verify.expect("a wrong value as text", "output_0.0  None\n" in text, text)

        verify.run("None by chance", 1, verify.save(Random(), script=True), *given, ids=["CC008"])
        return verify.end()


if __name__ == "__main__":
    sys.exit(main())
