#!/usr/bin/env python3
"""compatcheck verify with examples that don't fit: members that are missing or stated twice, values that the ONNX file holds as
constants."""
import argparse, sys, tempfile
from typing import Dict, List, NamedTuple, Optional, Tuple

import numpy, onnx, torch
from torch import Tensor

from running import Verify


class Sides(NamedTuple):
    left: Tensor
    right: Tensor


class Mixed(torch.nn.Module):
    def forward(self, xs: List[Tensor], d: Dict[str, Tensor], n: int, l: List[int], f: float = 0.5, o: Optional[Tensor] = None):
        s = d["a"] * n + f
        for x in xs:
            s = s + x.sum()
        for v in l:
            s = s + v
        if o is not None:
            s = s + o
        return s


class Sum(torch.nn.Module):
    def forward(self, sides: Sides):
        return sides.left * 2 + sides.right


class MaybeKey(torch.nn.Module):
    """Only some calls read the second key."""

    def forward(self, d: Dict[str, Tensor], more: bool):
        s = d["a"]
        if more:
            s = s + d["b"]
        return s


class Pairs(torch.nn.Module):
    """Defaults with members, and one that isn't equal to itself."""

    def forward(self, x, ks: Tuple[int, int] = (1, 2), w: float = float("nan")):
        return x * ks[0] + ks[1] + w


class SummedOver(torch.nn.Module):
    def forward(self, x, ks: List[int]):
        return x.sum(ks)


class SetsKey(torch.nn.Module):
    """Sets the key itself before it reads it."""

    def forward(self, d: Dict[str, Tensor]):
        d["b"] = d["a"] + 1
        return d["b"] * 2


class Transposed(torch.nn.Module):
    def forward(self, x):
        return x.t()


class Collatz(torch.nn.Module):
    """Doesn't end for 0."""

    def forward(self, x, n: int):
        while n != 1:
            n = n // 2 if n % 2 == 0 else 3 * n + 1
        return x + n


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    with tempfile.TemporaryDirectory() as folder:
        verify = Verify(parser.parse_args().program, folder)

        def example(name, value):
            torch.save(value, f"{folder}/{name}.pt")
            return "--inputs-from", f"{folder}/{name}.pt"

        def arrays(name, **held):
            numpy.savez(f"{folder}/{name}.npz", **held)
            return "--inputs-from", f"{folder}/{name}.npz"

        x, xs, d, l = torch.rand(3), [torch.rand(2), torch.rand(2)], {"a": torch.rand(3)}, [1, 2, 3]
        call = (xs, d, 4, l)
        model = verify.save(Mixed(), script=True)

        # Keys that every call reads.
        file = verify.convert(model, "mixed.onnx", *example("call", call))
        verify.run("the same", 0, model, file, *example("call", call))
        lacks = "holds no 'd.a', and every call needs this member of 'd'"
        for what, keys in ("another key", {"b": x}), ("no key", {}):
            for arguments in (model,), (model, file):
                verify.run(what, 2, *arguments, *example("keys", (xs, keys, 4, l)), form=None, says=lacks)
            verify.run(f"{what}, and an option", 0, model, *example("keys", (xs, keys, 4, l)), "--input", "d.a=f32:3")
        model_of_keys = verify.save(MaybeKey(), script=True)
        verify.run("a key that some calls read", 0, model_of_keys, *example("some", ({"a": x}, False)))

        # NamedTuples are whole, and each member is stated once.
        model_of_sides, side = verify.save(Sum(), script=True), numpy.ones((2, 3), numpy.float32)
        verify.run("by fields", 0, model_of_sides, *arrays("fields", **{"sides.left": side, "sides.right": side}))
        verify.run("by field and place", 0, model_of_sides, *arrays("places", **{"sides.left": side, "sides.1": side}))
        verify.run("twice", 2, model_of_sides, *arrays("twice", **{"sides.left": side, "sides.0": side}), form=None,
                   says="holds 'sides.left' and 'sides.0', which state one input twice")
        verify.run("a part", 2, model_of_sides, *arrays("part", **{"sides.left": side}), form=None,
                   says="holds no 'sides.1' (sides.right), and every call needs this member of 'sides'")
        verify.run("a part, and an option", 0, model_of_sides, *arrays("part", **{"sides.left": side}), "--input", "sides.right=f32:2,3")

        # Values that the file holds as constants.
        held = (
            "the ONNX model holds {} for the input '{}', and the value given is {}: the two can't be compared; "
            "convert the model with this value"
        )
        verify.run("the defaults", 0, model, file, *example("defaults", (*call, 0.5, None)))
        verify.run("another number", 2, model, file, *example("number", (*call, 2.0)), form=None, says=held.format("0.5", "f", "2.0"))
        verify.run("a tensor", 2, model, file, *example("tensor", (*call, 0.5, x)), form=None, says=held.format("none", "o", "a tensor"))
        stated = verify.convert(model, "stated.onnx", *example("call", call), "--input", "n=4")
        verify.run("the stated number", 0, model, stated, *example("call", call))
        verify.run(
            "another than the stated number", 2, model, stated, *example("five", (xs, d, 5, l)), form=None, says=held.format("4", "n", "5")
        )

        pairs = verify.save(Pairs(), script=True)
        verify.run("defaults with members", 0, pairs, verify.convert(pairs, "pairs.onnx", "--input", "x=f32:n"))
        summed = verify.save(SummedOver(), script=True)
        over = verify.convert(summed, "over.onnx", "--input", "x=f32:a,b,c", "--input", "ks.0=1", "--input", "ks.1=0")
        verify.run("the same members", 0, summed, over, *example("two", {"x": torch.rand(2, 3, 4), "ks": [1, 0]}))
        verify.run(
            "other members",
            2,
            summed,
            over,
            *example("other", {"x": torch.rand(2, 3, 4), "ks": [2, 0]}),
            form=None,
            says=held.format("1", "ks.0", "2"),
        )
        for count, ks in (3, [2, 1, 0]), (1, [0]):
            verify.run(f"{count} members", 2, summed, over, *example("many", {"x": torch.rand(2, 3, 4), "ks": ks}), form=None,
                       says="the ONNX model holds a list of 2 members for the input 'ks', and the value given is a list of")
        sets = verify.save(SetsKey(), script=True)
        verify.run("a key that the model sets", 0, sets, *example("sets", {"d": {"a": torch.rand(3)}}))

        # Lists that were empty at conversion, or are now.
        for name, empty, other in ("xs", ([], d, 4, l), "one with 'xs.0'"), ("l", (xs, d, 4, []), "a list of 3 members"):
            without = verify.convert(model, f"without_{name}.onnx", *example("empty", empty))
            entries = {each.key: each.value.split("\n") for each in onnx.load(str(without)).metadata_props}
            verify.expect(f"{name}: metadata", f"{name}=empty" in entries.get("compatcheck.values", []), entries)
            verify.run(f"{name}: empty as before", 0, model, without, *example("empty", empty))
            verify.run(
                f"{name}: no more empty", 2, model, without, *example("call", call), form=None, says=held.format("empty", name, other)
            )
            apart = verify.run(
                f"{name}: empty now",
                2,
                model,
                file,
                *example("empty", empty),
                form=None,
                says=f"of the input '{name}', and the values given are none: the two can't be compared; "
                "convert the model with the same members",
            )

        # Nothing was compared, so there are no figures.
        model = verify.save(Transposed(), torch.rand(2, 3))
        graph = onnx.helper.make_graph(
            [onnx.helper.make_node("Identity", ["x"], ["y"])],
            "g",
            [onnx.helper.make_tensor_value_info("x", 1, [2, 3])],
            [onnx.helper.make_tensor_value_info("y", 1, [2, 3])],
        )
        onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8), f"{folder}/same.onnx")
        text = verify.run("another shape", 1, model, f"{folder}/same.onnx", form="text")
        verify.expect("no figures", "✗" in text and "cosine" not in text and "max |Δ|" not in text, text)

        # A loop that doesn't end for the values that were made.
        model = verify.save(Collatz(), script=True)
        verify.run("endless", 3, model, "--input", "x=f32:3", "--input", "n=i64", "--timeout", "5", form=None,
                   says="the model's code may never end; this run has n=")
        verify.run("endless advice", 0, model, "--input", "x=f32:3", "--input", "n=27")
        return verify.end()


if __name__ == "__main__":
    sys.exit(main())
