#!/usr/bin/env python3
"""compatcheck verify of models that take dictionaries: the order of their keys, their sizes in an ONNX file, and stated values."""
import argparse, sys, tempfile
from typing import Dict, List, Optional

import onnx, torch
from torch import Tensor

from running import Verify


class InOrder(torch.nn.Module):
    def forward(self, x: Dict[str, Tensor]):
        total = torch.zeros(2, 3)
        for value in x.values():
            total = total * 2 + value
        return total


class Doubled(torch.nn.Module):
    def forward(self, x: Dict[str, Tensor]):
        made: Dict[str, Tensor] = {}
        for key, value in x.items():
            made[key] = value * 2
        return made


class Returned(torch.nn.Module):
    def forward(self, x: Dict[str, Tensor]):
        x["z"] = x["a"] + 1
        return x


class Nested(torch.nn.Module):
    def forward(self, x: Dict[str, Dict[str, Tensor]]):
        made: List[Tensor] = []
        for inner in x.values():
            for value in inner.values():
                made.append(value)
        return torch.cat(made, 1)


class Maybe(torch.nn.Module):
    def forward(self, x: Optional[Dict[str, Tensor]], mask: Optional[Tensor] = None):
        made: List[Tensor] = [torch.zeros(2, 3)]
        if x is not None:
            for value in x.values():
                made.append(value)
        if mask is not None:
            made.append(mask)
        return torch.cat(made, 1)


class OfLists(torch.nn.Module):
    def forward(self, x: Dict[str, List[Tensor]]):
        made: List[Tensor] = []
        for values in x.values():
            for value in values:
                made.append(value)
        return torch.cat(made, 0)


class Flattened(torch.nn.Module):
    def forward(self, x: Dict[str, Tensor]):
        return x["a"].reshape(2, 12) + x["b"].reshape(1, 12)


class Weighted(torch.nn.Module):
    def forward(self, x, weights: Dict[str, float]):
        total = torch.zeros_like(x)
        for weight in weights.values():
            total = total * 2 + x * weight
        return total / float(len(weights))


class Chosen(torch.nn.Module):
    def forward(self, x, weights: Dict[str, float], scale: float = 2.0, dims: Optional[List[int]] = None):
        y = x * weights["a"] + scale
        return y if dims is None else y.sum(dims)


class Unread(torch.nn.Module):
    def forward(self, x, options: Dict[str, Tensor]):
        return x + 1


class ByNumber(torch.nn.Module):
    def forward(self, x: Dict[int, Tensor]):
        total = torch.zeros(2, 3)
        for key, value in x.items():
            total = total * 2 + value * float(key)
        return total


class KeptLiteral(torch.nn.Module):
    def forward(self, marks):
        counts: List[int] = []
        current: List[int] = []
        for i in range(marks.size(0)):
            if int(marks[i]) == 0:
                counts.append(len(current))
                current = []
            else:
                current.append(i)
        return torch.tensor(counts)


class ClearedList(torch.nn.Module):
    """What the advice for KeptLiteral says."""

    def forward(self, marks):
        counts: List[int] = []
        current: List[int] = []
        for i in range(marks.size(0)):
            if int(marks[i]) == 0:
                counts.append(len(current))
                current.clear()
            else:
                current.append(i)
        return torch.tensor(counts)


class AddedList(torch.nn.Module):
    def forward(self, marks):
        counts: List[int] = []
        current: List[int] = []
        for i in range(marks.size(0)):
            if int(marks[i]) == 0:
                counts.append(len(current))
                current = []
            else:
                current = current + [i]
        return torch.tensor(counts)


def options(*specs):
    return [word for spec in specs for word in ("--input", spec)]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    with tempfile.TemporaryDirectory() as folder:
        verify = Verify(parser.parse_args().program, folder)
        script = lambda module: verify.save(module, script=True)

        # The dictionary has the order of the options, of the file, of the examples.
        one, other = options("x.b=f32:2,3", "x.a=f32:2,3"), options("x.a=f32:2,3", "x.b=f32:2,3")
        torch.save({"x": {"b": torch.rand(2, 3), "a": torch.rand(2, 3)}}, f"{folder}/b_a.pt")
        for module in InOrder(), Doubled(), Returned(), Maybe():
            what, model = type(module).__name__, script(module)
            file = verify.convert(model, f"{what}.onnx", *one)
            for given in (one, other, ["--inputs-from", f"{folder}/b_a.pt"]):
                verify.run(f"{what} {given}", 0, model, *given)
                verify.run(f"{what}: a file, and {given}", 0, model, file, *given)
            verify.run(f"{what}: a file alone", 0, model, file)
        nested = options("x.q.b=f32:2,3", "x.q.a=f32:2,2", "x.p.z=f32:2,4")
        lists = options("x.k.0=f32:2,3", "x.k.1=f32:1,3", "x.j.0=f32:4,3")
        for module, given in ((Nested(), nested), (OfLists(), lists)):
            model = script(module)
            verify.run(f"{model.name}", 0, model, *given)
            verify.run(f"{model.name}: a file", 0, model, verify.convert(model, "nested.onnx", *given))

        # Keys with characters that divide names, and keys that are ints.
        members = {"a.b": torch.rand(2, 3), "a": torch.rand(2, 3), "c=d": torch.rand(2, 3), "50%": torch.rand(2, 3), "\n": torch.rand(2, 3)}
        names = ["x.a%2Eb", "x.a", "x.c%3Dd", "x.50%25", "x.%0A"]
        torch.save({"x": members}, f"{folder}/dots.pt")
        model = verify.folder / "InOrder.pt"
        for given in (["--inputs-from", f"{folder}/dots.pt"], options(*(f"{name}=f32:2,3" for name in names))):
            verify.run(f"keys with dots {given[0]}", 0, model, *given)
            file = verify.convert(model, "dots.onnx", *given)
            held = [each.name for each in onnx.load(str(file)).graph.input]
            verify.expect("names of keys", held == names, held)
            verify.run(f"keys with dots {given[0]}: a file", 0, model, file)
            verify.run(f"keys with dots {given[0]}: a file and examples", 0, model, file, "--inputs-from", f"{folder}/dots.pt")
        for wrong, says in (("x.a.b", "a dot in a key is written %2E, as in x.a%2Eb"), ("x.%", "are written %2E, %3D and %25"),
                            ("x.a%2eb", "'a%2eb' names no key"), ("x.%41", "'%41' names no key")):
            verify.run(f"wrong name {wrong}", 2, model, "--input", f"{wrong}=f32:2,3", form=None, says=says)
        unread = script(Unread())
        for name, code, says in (("options.a.b", 2, "a dot in a key is written %2E"), ("options.a%2Eb", 0, "")):
            torch.save({"x": torch.rand(2, 3), name: torch.rand(2, 3)}, f"{folder}/flat.pt")
            verify.run(f"examples named {name}", code, unread, "--inputs-from", f"{folder}/flat.pt", form=None, says=says)
        ints = script(ByNumber())
        torch.save({"x": {7: torch.rand(2, 3), -2: torch.rand(2, 3)}}, f"{folder}/ints.pt")
        for given in (["--inputs-from", f"{folder}/ints.pt"], options("x.7=f32:2,3", "x.-2=f32:2,3")):
            verify.run(f"int keys {given[0]}", 0, ints, *given)
            verify.run(f"int keys {given[0]}: a file", 0, ints, verify.convert(ints, "ints.onnx", *given))
        for wrong in ("x.a", "x.03", "x.+3"):
            verify.run(
                f"wrong key {wrong}", 2, ints, "--input", f"{wrong}=f32:2,3", form=None, says="is no key of 'x', which is Dict(int, Tensor)"
            )
        torch.save({"x": {"7": torch.rand(2, 3)}}, f"{folder}/texts.pt")
        verify.run("texts for ints", 2, ints, "--inputs-from", f"{folder}/texts.pt", form=None, says='holds the key "7" for input')

        # TorchScript makes a constant of a literal that a loop sets; the Python code doesn't keep it.
        torch.save((torch.tensor([1, 2, 0, 3, 0, 4]),), f"{folder}/marks.pt")
        verify.run("a literal in a loop", 1, script(KeptLiteral()), "--inputs-from", f"{folder}/marks.pt", ids=["CC008"])
        for module in ClearedList(), AddedList():
            verify.run(type(module).__name__, 0, script(module), "--inputs-from", f"{folder}/marks.pt")

        # Outputs in another order are found by name; inputs whose names are exchanged give a difference.
        model = verify.folder / "Doubled.pt"
        file = onnx.load(str(verify.folder / "Doubled.onnx"))
        file.graph.output.append(file.graph.output.pop(0))
        onnx.save(file, f"{folder}/moved.onnx")
        report = verify.run("outputs in another order", 0, model, f"{folder}/moved.onnx")
        verify.expect("outputs in another order", [each["name"] for each in report.get("outputs", [])] == ["b", "a"], report)
        file = onnx.load(str(verify.folder / "InOrder.onnx"))
        for graph_input in file.graph.input:
            graph_input.name = {"x.a": "x.b", "x.b": "x.a"}[graph_input.name]
        for node in file.graph.node:
            for i, name in enumerate(node.input):
                node.input[i] = {"x.a": "x.b", "x.b": "x.a"}.get(name, name)
        renamed = verify.folder / "renamed.onnx"
        onnx.save(file, str(renamed))
        verify.run("a file with another order", 0, verify.folder / "InOrder.pt", renamed)
        for graph_input, name in zip(file.graph.input, ("x.b", "x.a")):
            graph_input.name = name
        onnx.save(file, str(renamed))
        verify.run("a file with exchanged inputs", 1, verify.folder / "InOrder.pt", renamed, ids=["CC201"])

        # Sizes, numbers and None that the file has.
        model = script(Flattened())
        sized = verify.convert(model, "sized.onnx", *options("x.a=f32:2,3,4", "x.b=f32:12"))
        report = verify.run("sizes of the file", 0, model, sized)
        shapes = [[each["shape"] for each in run["inputs"]] for run in report.get("runs", [])]
        verify.expect("sizes of the file", shapes and all(each == [[2, 3, 4], [12]] for each in shapes), shapes)
        named = verify.convert(model, "named.onnx", *options("x.a=f32:n,12", "x.b=f32:12"))
        report = verify.run("the file's other inputs", 0, model, named, *options("x.a=f32:2,12"))
        shapes = [[each["shape"] for each in run["inputs"]] for run in report.get("runs", [])]
        verify.expect("the file's other inputs", shapes and all(each == [[2, 12], [12]] for each in shapes), shapes)

        # Values that were stated while converting are no inputs of the file, but it lists them.
        weighted, chosen, maybe = script(Weighted()), script(Chosen()), verify.folder / "Maybe.pt"
        for model, given in ((weighted, options("weights.b=0.5", "weights.a=2")), (weighted, options("weights.b=-0.1", "weights.a=f64")),
                             (weighted, options("weights.b=f64", "weights.a=f64", "x=f32:2,n")),
                             (chosen, options("weights.a=f64", "scale=0.25")), (chosen, options("weights.a=3", "scale=f64")),
                             (chosen, options("dims.0=0", "dims.1=-1", "x=f32:2,3")), (maybe, options("x=none", "mask=f32:2,5")),
                             (maybe, options("mask=none", "x.b=f32:2,1"))):
            file = verify.convert(model, "values.onnx", *given)
            verify.run(f"{model.name} {given}", 0, model, *given)
            verify.run(f"{model.name} {given}: a file", 0, model, file)
            verify.run(f"{model.name} {given}: a file and its options", 0, model, file, *given)
        file = verify.convert(chosen, "values.onnx", *options("weights.a=f64", "scale=3", "x=f32:2,3"))
        verify.run("another value than the file's", 1, chosen, file, *options("scale=4"), ids=["CC201"])
        verify.run("other inputs beside the file's value", 0, chosen, file, *options("x=f32:2,3"))
        damaged = onnx.load(str(file))
        entry = next(each for each in damaged.metadata_props if each.key == "compatcheck.values")
        verify.expect("values in the metadata", entry.value.splitlines() == ["weights.a", "scale=3", "x"], entry.value)
        entry.value = "scale=3\nnobody=4\nscale=text\nweights=none\n="
        onnx.save(damaged, f"{folder}/damaged.onnx")
        verify.run("values that nothing can be", 0, chosen, f"{folder}/damaged.onnx")
        verify.run("a dictionary that is never read", 0, script(Unread()), "--input", "x=f32:2,3")

        # Names of its own: the message has the options.
        for model, names, given in ((verify.folder / "InOrder.pt", "q,p", one), (verify.folder / "OfLists.pt", "q,p,r", lists),
                                    (verify.folder / "Nested.pt", "q,p,r", nested),
                                    (weighted, "x,q,p", options("weights.b=f64", "weights.a=f64", "x=f32:2,3"))):
            file = verify.convert(model, "names.onnx", "--input-names", names, *given)
            says = f"which the ONNX model has; state which members of '{'weights' if model is weighted else 'x'}' these are"
            verify.run(f"{model.name}: other names", 2, model, file, form=None, says=says)
            advised = verify.advised(model, file)
            verify.run(f"{model.name}: {advised}", 0, model, file, *advised)
        return verify.end()


if __name__ == "__main__":
    sys.exit(main())
