#!/usr/bin/env python3
"""compatcheck verify of members of inputs: fields of NamedTuples, other members than those of an ONNX file, lists of which one item is
read. ONNX Runtime is stopped in a loop that doesn't end."""
import argparse, sys, tempfile
from typing import Dict, List, NamedTuple, Optional, Tuple

import onnx, torch
from onnx import TensorProto, helper
from torch import Tensor

from running import Verify


class Pair(NamedTuple):
    a: Tensor
    b: Tensor


class Numbered(NamedTuple):
    pair: Pair
    scale: Optional[Tensor]
    count: int


class Plain(torch.nn.Module):
    def forward(self, q: Pair):
        return q.a - 2 * q.b


class Returned(torch.nn.Module):
    def forward(self, q: Pair):
        return Pair(q.b, q.a * 2)


class Nested(torch.nn.Module):
    def forward(self, q: Numbered):
        y = q.pair.a - 2 * q.pair.b * q.count
        scale = q.scale
        return y if scale is None else y * scale


class InTuple(torch.nn.Module):
    def forward(self, q: Tuple[Pair, Tensor]):
        return q[0].a - q[0].b * q[1]


class InList(torch.nn.Module):
    def forward(self, q: List[Pair]):
        return q[0].a - q[1].b * 2 + q[1].a


class InDict(torch.nn.Module):
    def forward(self, q: Dict[str, Pair]):
        return q["k"].a - q["l"].b * 2


class Maybe(torch.nn.Module):
    def forward(self, x: Tensor, q: Optional[Pair]):
        return x if q is None else x + q.a - 2 * q.b


class First(torch.nn.Module):
    def forward(self, xs: List[Tensor]):
        return xs[0] * 2


class FirstTwo(torch.nn.Module):
    def forward(self, xs: List[Tensor]):
        return xs[0] * 2 - xs[1]


class Last(torch.nn.Module):
    def forward(self, xs: List[Tensor]):
        return xs[-1] * 2


class Unpacked(torch.nn.Module):
    def forward(self, xs: List[Tensor]):
        a, b = xs
        return a * 2 - b


class InOrder(torch.nn.Module):
    def forward(self, d: Dict[int, Tensor]):
        y = torch.zeros(2)
        for key, value in d.items():
            y = y * 2 + value * key
        return y


class Two(torch.nn.Module):
    def forward(self, d: Dict[int, Tensor]):
        return d[1] * 2 + d[2]


class OfLists(torch.nn.Module):
    def forward(self, d: Dict[int, List[Tensor]]):
        y = torch.zeros(2)
        for values in d.values():
            for value in values:
                y = y * 2 + value
        return y


class Listed(torch.nn.Module):
    def forward(self, xs: List[Tensor]):
        y = torch.zeros(2)
        for x in xs:
            y = y * 2 + x
        return y


def options(*specs):
    return [word for spec in specs for word in ("--input", spec)]


def pair():
    return Pair(torch.rand(3, 4), torch.rand(3, 4))


def endless():
    """y = x in a loop whose condition stays true."""
    body = helper.make_graph(
        [helper.make_node("Identity", ["go"], ["on"]), helper.make_node("Neg", ["held"], ["next"])],
        "body",
        [
            helper.make_tensor_value_info("i", TensorProto.INT64, []),
            helper.make_tensor_value_info("go", TensorProto.BOOL, []),
            helper.make_tensor_value_info("held", TensorProto.FLOAT, [2]),
        ],
        [helper.make_tensor_value_info("on", TensorProto.BOOL, []), helper.make_tensor_value_info("next", TensorProto.FLOAT, [2])],
    )
    graph = helper.make_graph(
        [helper.make_node("Constant", [], ["true"], value=helper.make_tensor("t", TensorProto.BOOL, [], [True])),
         helper.make_node("Loop", ["", "true", "x"], ["y"], body=body)], "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2])], [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2])])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    with tempfile.TemporaryDirectory() as folder:
        verify = Verify(parser.parse_args().program, folder)
        script = lambda module: verify.save(module, script=True)

        def example(name, value):
            torch.save(value, f"{folder}/{name}_example.pt")
            return ["--inputs-from", f"{folder}/{name}_example.pt"]

        # NamedTuples: values that are made, examples, options by field and by place, and a file.
        for module, specs, value in (
                (Plain(), ["q.a=f32:n,4", "q.b=f32:n,4"], pair()), (Returned(), ["q.0=f32:n,4", "q.b=f32:n,4"], pair()),
                (Nested(), ["q.pair.a=f32:n,4", "q.pair.1=f32:n,4", "q.scale=none", "q.count=3"], Numbered(pair(), torch.rand(4), 2)),
                (InTuple(), ["q.0.a=f32:n,4", "q.0.b=f32:n,4", "q.1=f32:n,4"], (pair(), torch.rand(3, 4))),
                (InList(), ["q.0.a=f32:n,4", "q.0.b=f32:n,4", "q.1.0=f32:n,4", "q.1.b=f32:n,4"], [pair(), pair()]),
                (InDict(), ["q.k.a=f32:n,4", "q.k.b=f32:n,4", "q.l.a=f32:n,4", "q.l.1=f32:n,4"], {"k": pair(), "l": pair()}),
                (Maybe(), ["x=f32:n,4", "q.a=f32:n,4", "q.b=f32:n,4"], None)):
            what, model = type(module).__name__, script(module)
            given = options(*specs)
            verify.run(f"{what}: options", 0, model, *given)
            file = verify.convert(model, f"{what}.onnx", *given)
            verify.run(f"{what}: a file", 0, model, file)
            verify.run(f"{what}: a file and options", 0, model, file, *given)
            if value is not None:
                verify.run(f"{what}: examples", 0, model, *example(what, (value,)))
                verify.run(f"{what}: an example by name", 0, model, *example(what, {"q": value}))
        for module in Plain(), Returned(), Nested(), InTuple():
            verify.run(f"{type(module).__name__}: values that are made", 0, script(module))
        verify.run("examples by field", 0, script(Plain()), *example("fields", {"q.a": torch.rand(3, 4), "q.b": torch.rand(3, 4)}))
        verify.run("a fixed size by field", 0, script(Plain()), *options("q.a=f32:n,4", "q.b=f32:n,4"), "--dim", "n=3")
        for spec, says in (
            ("q.z=f32:3", "no input 'q.z'; the model's inputs are q.0 (q.a), q.1 (q.b)"),
            ("q.a.b=f32:3", "no input 'q.a.b'"),
        ):
            verify.run(f"wrong {spec}", 2, script(Plain()), "--input", spec, form=None, says=says)
        verify.run("twice", 2, script(Plain()), *options("q.a=f32:3", "q.0=f32:3"), form=None, says="input 'q.0' is given twice")
        verify.run(
            "a wrong field in a dictionary",
            2,
            script(InDict()),
            *options("q.k.z=f32:3"),
            form=None,
            says="'q.k' has 2 members: q.k.a, q.k.b",
        )

        # A list of any length of which the model reads fixed items stays one input.
        for module in First(), FirstTwo(), Last(), Unpacked():
            what, model = type(module).__name__, script(module)
            note = ["CC205"] if module.__class__ is Unpacked else []  # its length can't change
            verify.run(f"{what}: a list", 0, model, *options("xs=f32:n,3"), ids=note)
            file = verify.convert(model, f"{what}.onnx", *options("xs=f32:n,3"))
            verify.expect(f"{what}: inputs", [each.name for each in onnx.load(str(file)).graph.input] == ["xs"])
            verify.run(f"{what}: a file", 0, model, file, ids=note)

        # A file holds for the members that it was converted with, in any order of the example.
        tensors = lambda *keys: {key: torch.rand(2) for key in keys}
        apart = "the two can't be compared; convert the model with the same members"
        for module in InOrder(), Two():
            model = script(module)
            file = verify.convert(model, "keys.onnx", *example("keys", (tensors(1, 2),)))
            verify.run(f"{model.name}: same keys", 0, model, file, *example("keys", (tensors(1, 2),)))
            verify.run(f"{model.name}: another order", 0, model, file, *example("keys", (tensors(2, 1),)))
        verify.run("a key that isn't read", 0, script(Two()), file, *example("keys", (tensors(1, 3, 2),)))
        model, file = script(InOrder()), verify.convert(script(InOrder()), "keys.onnx", *example("keys", (tensors(1, 2),)))
        for keys in (5, 7), (1, 2, 3), (1, 7), (2,):
            verify.run(f"keys {keys}", 2, model, file, *example("keys", (tensors(*keys),)), form=None, says=apart)
        mixed = {1: torch.tensor([1, 2]), 2: torch.rand(2)}
        file = verify.convert(model, "mixed.onnx", *example("mixed", (mixed,)))
        verify.run("dtypes in another order", 0, model, file, *example("mixed", ({2: mixed[2], 1: mixed[1]},)))
        verify.run("dtypes of other keys", 2, model, file, *example("mixed", ({3: mixed[1], 4: mixed[2]},)), form=None, says=apart)
        model = script(OfLists())
        file = verify.convert(model, "lists.onnx", *example("lists", ({1: [torch.rand(2)], 2: [torch.rand(2)] * 2},)))
        verify.run("lists of the same lengths", 0, model, file, *example("lists", ({1: [torch.rand(2)], 2: [torch.rand(2)] * 2},)))
        verify.run(
            "lists of other lengths",
            2,
            model,
            file,
            *example("lists", ({1: [torch.rand(2)], 2: [torch.rand(2)] * 3},)),
            form=None,
            says=apart,
        )
        model = script(Listed())
        file = verify.convert(model, "list.onnx", *options("xs.0=f32:2", "xs.1=f32:2"))
        verify.run("a list of the same length", 0, model, file, *example("list", ([torch.rand(2)] * 2,)))
        for count in 1, 3:
            verify.run(f"a list of {count}", 2, model, file, *example("list", ([torch.rand(2)] * count,)), form=None, says=apart)

        # ONNX Runtime has the time of --timeout for each run.
        onnx.save(endless(), f"{folder}/endless.onnx")
        model = verify.save(torch.nn.Identity(), torch.rand(2))
        report = verify.run("endless", 1, model, f"{folder}/endless.onnx", "--timeout", "6", ids=["CC201"])
        messages = [finding["message"] for finding in report.get("findings", [])]
        verify.expect(
            "endless", "ONNX Runtime was stopped after 6 s" in str(messages) and "--timeout gives it more" in str(messages), messages
        )
        return verify.end()


if __name__ == "__main__":
    sys.exit(main())
