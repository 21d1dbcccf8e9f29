#!/usr/bin/env python3
"""Advice about values of inputs and sizes of their members: each option that a report names converts the model."""
import argparse, json, pathlib, subprocess, sys, tempfile
from typing import Dict, List, Optional

import torch


class Antialiased(torch.nn.Module):
    def __init__(self, recomputes: bool = False):
        super().__init__()
        self.recomputes = recomputes

    def forward(self, x, factor: float):
        return torch.nn.functional.interpolate(
            x, scale_factor=factor, mode="bilinear", antialias=True, recompute_scale_factor=self.recomputes
        )


class Chosen(torch.nn.Module):
    """The values of a list decide which keys a dictionary has."""

    def forward(self, x, k: List[int]) -> List[Dict[str, torch.Tensor]]:
        made: List[Dict[str, torch.Tensor]] = []
        for v in k:
            each: Dict[str, torch.Tensor] = {}
            if v > 1:
                each["scaled"] = x * v
            each["plain"] = x
            made.append(each)
        return made


class Grouped(torch.nn.Module):
    """With one number in the list, nothing is left to the running model."""

    def forward(self, x, k: List[int]) -> List[List[int]]:
        made: List[List[int]] = []
        for v in k:
            made.append([v] * (v % 4))
            if len(made) > 2:
                return made
        made.append([1, 2])
        return made


class ByBool(torch.nn.Module):
    def forward(self, x, k: List[int]):
        held: Dict[bool, int] = {}
        for v in k:
            held[v > 2] = v
        return held


class ByNumber(torch.nn.Module):
    """What the advice for ByBool says."""

    def forward(self, x, k: List[int]):
        held: Dict[int, int] = {}
        for v in k:
            held[int(v > 2)] = v
        return held


class Chunked(torch.nn.Module):
    def forward(self, rows: List[torch.Tensor]):
        return torch._chunk_cat(rows, 0, 2)


class Factor:
    def __init__(self, value: int):
        self.value = value


class ScaledFirst(torch.nn.Module):
    def forward(self, factor: Factor, x):
        return x * factor.value


class ScaledLast(torch.nn.Module):
    def forward(self, x, factor: Factor):
        return x * factor.value


class Mixed(torch.nn.Module):
    """A loop collects tensors of two dtypes."""

    def converted(self, x):
        return x.to(torch.int64)

    def forward(self, x, n: int):
        made: List[torch.Tensor] = []
        for i in range(n):
            if i > 2:
                made.append(x)
            else:
                made.append(self.converted(x))
        return made


class OfOneDtype(Mixed):
    """What the advice for Mixed says."""

    def converted(self, x):
        return x.to(torch.int64).to(torch.float32)


class Slots(torch.nn.Module):
    """Calls set an item of a list in a tuple, at a place that they compute."""

    def __init__(self):
        super().__init__()
        self.slots = ([torch.zeros(1, 2), torch.ones(1, 2)], 3)

    def forward(self, x, n: int):
        rows, size = self.slots
        rows[n % 2] = rows[n % 2] + x.sum(0, keepdim=True)
        return rows[0]


class OwnSlots(torch.nn.Module):
    """What the message for Slots says."""

    def __init__(self):
        super().__init__()
        self.rows = [torch.zeros(1, 2), torch.ones(1, 2)]

    def forward(self, x, n: int):
        self.rows[n % 2] = self.rows[n % 2] + x.sum(0, keepdim=True)
        return self.rows[0]


class Chunks(torch.nn.Module):
    """Lists of lists of tensors are outputs if the loop is unrolled."""

    def forward(self, x, n: Optional[int] = None):
        made: List[List[torch.Tensor]] = []
        last = [x]
        for i in range(x.size(0) if n is None else n):
            v = x[i]
            made.append(last)
            if int(v) < 0:
                last = [v]
            else:
                made[-1].append(v)
        return made, last


class NewChunks(torch.nn.Module):
    """What the advice for Chunks says."""

    def forward(self, x, n: int):
        made: List[torch.Tensor] = []
        last = x
        for i in range(n):
            v = x[i : i + 1]
            made.append(last)
            if int(v) < 0:
                last = v
            else:
                last = torch.cat([last, v])
                made[-1] = last
        return made, last


class Padded(torch.nn.Module):
    def forward(self, rows: List[torch.Tensor], fill: float, first: bool):
        return torch.nn.utils.rnn.pad_sequence(rows, first, fill)


class ChunksOfChunks(torch.nn.Module):
    """Few iterations can be unrolled, because the loops are nested."""

    def forward(self, x):
        made: List[List[int]] = []
        last: List[int] = [0]
        first: Optional[List[int]] = None
        for i in range(x.size(0)):
            for j in range(i):
                if int(x[j]) < 0:
                    made.append(last)
                    last = [i]
                    first = made[0]
                else:
                    last.append(j)
            made.append(last)
            last = [i * 10]
        return made, first


class Permuted(torch.nn.Module):
    """Neither the rank nor the order is known, and the list has many members."""

    def forward(self, x, k: List[int]):
        return x.permute([k[0], k[1], k[2], k[3], k[4], k[5], k[6]])


class Ordered(torch.nn.Module):
    def forward(self, x, k: List[int]):
        return x.permute(k)


class Bounded(torch.nn.Module):
    """A dictionary of lists that is an output."""

    def forward(self, x, most: int):
        held: Dict[int, List[torch.Tensor]] = {}
        for i in range(x.size(0)):
            if len(held) >= most:
                held.popitem()
            held[i] = [x[i]]
        return held


class SomePlaces(torch.nn.Module):
    """The model reads some members of a list only."""

    def forward(self, x, k: List[int]):
        return x.sum(k[5]).permute(k[0], k[1], k[2])


def report_of(tool, model, *arguments):
    done = subprocess.run([tool, model, "--format", "json", "--no-config", *arguments], capture_output=True, text=True)
    assert done.returncode in (0, 1), (done.returncode, done.stdout, done.stderr)
    return json.loads(done.stdout)


def errors_of(tool, model, *arguments):
    return [each for each in report_of(tool, model, *arguments)["findings"] if each["severity"] == "error"]


def saved(folder, name, module):
    torch.jit.script(module.eval()).save(str(folder / f"{name}.pt"))
    return folder / f"{name}.pt"


def options_in(text):
    words = text.split()
    return [word for at, word in enumerate(words) if word == "--input" or (at and words[at - 1] == "--input")]


def check_constants(tool, folder):
    """Where the values of a list decide, the report states them as options: those of the example, if there is one."""
    model, example = saved(folder, "chosen", Chosen()), folder / "chosen_inputs.pt"
    torch.save({"k": [3, 1, 4]}, str(example))
    (error,) = errors_of(tool, model, "--input", "x=f32:n", "--inputs-from", example)
    assert error["help"].endswith(
        "if 'k' has the same values in each call, state them as constants: --input k.0=3 --input k.1=1 --input k.2=4"
    ), error
    assert not errors_of(tool, model, "--input", "x=f32:n", "--inputs-from", example, *options_in(error["help"]))
    for stated in ("k=i64:m", "k=i64:3"):
        (error,) = errors_of(tool, model, "--input", "x=f32:n", "--input", stated)
        assert "state them as constants instead: --input k.0=0 and one such option for each member" in error["help"], error
        assert "--inputs-from" not in error["help"], error


def check_one_member(tool, folder):
    """Advice that holds for one member only says so; an example leaves no question open."""
    model, example = saved(folder, "grouped", Grouped()), folder / "grouped_inputs.pt"
    (error,) = errors_of(tool, model, "--input", "x=f32:n", "--input", "k=i64:m")
    assert error["id"] == "CC006" and error["help"].startswith("--input k.0=0 with your own value if the list has one member"), error
    assert not errors_of(tool, model, "--input", "x=f32:n", *options_in(error["help"]))
    torch.save({"k": [3, 1, 4]}, str(example))
    found = report_of(tool, model, "--input", "x=f32:n", "--inputs-from", example)
    assert found["verdict"] == "no" and "state them as constants" not in json.dumps(found), found


def check_keys_that_are_bools(tool, folder):
    (error,) = errors_of(tool, saved(folder, "by_bool", ByBool()), "--input", "x=f32:n", "--input", "k=i64:m")
    assert "only the running model knows the keys of this dictionary, and they are bools" in error["message"], error
    assert error["help"].endswith("or use ints as keys: int(key)"), error
    assert not errors_of(tool, saved(folder, "by_number", ByNumber()), "--input", "x=f32:n", "--input", "k=i64:m")


def check_sizes_of_members(tool, folder):
    """A call that needs the sizes of a list's members as numbers gets an option with numbers."""
    model = saved(folder, "chunked", Chunked())
    (error,) = errors_of(tool, model)
    assert error["help"] == "--input rows.0=f32:16,16 and one such option for each member of the list, with your own sizes", error
    assert not errors_of(tool, model, *options_in(error["help"]), "--input", "rows.1=f32:7,16")


def check_two_dtypes(tool, folder):
    stated = ("--input", "x=f32:n", "--input", "n=i64")
    (error,) = errors_of(tool, saved(folder, "mixed", Mixed()), *stated)
    assert error["help"].startswith(
        "if the tensors of the list have different dtypes, give them one, for example by .to(torch.float32); or if 'n'"
    ), error
    assert not errors_of(tool, saved(folder, "of_one_dtype", OfOneDtype()), *stated)


def check_places_in_state(tool, folder):
    stated = ("--state", "inputs-outputs", "--input", "x=f32:n,2", "--input", "n=i64")
    errors = errors_of(tool, saved(folder, "slots", Slots()), *stated)
    assert errors
    for error in errors:
        assert (
            "only the running model knows at which place a call sets an item of a list in it; such a list must be an attribute of its own"
            in error["message"]
        ), error
        assert "clone" not in error["help"], error
    assert not errors_of(tool, saved(folder, "own_slots", OwnSlots()), *stated)


def check_small_numbers(tool, folder):
    """An option that converts for small numbers only says so, and the refusal of a larger number names the loops."""
    small = "(small numbers only: 1000 doesn't convert)"
    chunks, nested = saved(folder, "chunks", Chunks()), saved(folder, "chunks_of_chunks", ChunksOfChunks())
    for model, option in (chunks, "x=i64:16"), (nested, "x=i64:4"):
        (error,) = errors_of(tool, model, "--input", "x=i64:m")
        assert error["id"] == "CC006" and error["help"].startswith(f"--input {option} with your number for 'm' {small}"), error
        assert not errors_of(tool, model, *options_in(error["help"]))
    assert errors_of(tool, nested, "--input", "x=i64:16")
    (error,) = errors_of(tool, chunks)
    assert f"with your sizes instead of 16 {small}" in error["help"], error
    (error,) = errors_of(tool, chunks, "--input", "x=i64:m", "--input", "n=i64")
    assert error["help"].startswith("make one tensor of each inner list: torch.cat adds to it; or"), error
    assert error["help"].endswith(f"--input n=1 with your own value {small}"), error
    assert not errors_of(tool, saved(folder, "new_chunks", NewChunks()), "--input", "x=i64:m", "--input", "n=i64")
    (error,) = errors_of(tool, nested, "--input", "x=i64:32")
    assert error["message"].startswith("loops are unrolled to follow the list `made`, but they have too many iterations for this"), error
    errors = errors_of(tool, chunks, "--input", "x=i64:5000")
    assert errors
    for error in errors:
        assert "the loop around it has 5000 iterations, too many to unroll it" in error["message"], error


def check_rank_and_values(tool, folder):
    """Where two inputs decide, the report asks for one after the other."""
    model, stated = saved(folder, "permuted", Permuted()), []
    for asked in "--input k.0=0 --input k.1=1", "--input x=f32:x0,x1 with a number or a name for each of its dimensions":
        (error,) = errors_of(tool, model, *stated)
        assert error["id"] == "CC006" and error["help"].startswith(asked), error
        stated += options_in(error["help"])
    assert not errors_of(tool, model, *stated[:-1], "x=f32:a,b,c,d,e,f,g")


def check_attribute_to_set(tool, folder):
    """The attribute to set is a Python name: the list, and not its member."""
    (error,) = errors_of(tool, saved(folder, "ordered", Ordered()), "--input", "x=f32:n,3,4", "--input", "k.2=0")
    assert (
        "follows from inputs 'k.0', 'k.1'" in error["message"] and "or set 'k' in __init__, as an attribute of the module" in error["help"]
    ), error


def check_removed_keys(tool, folder):
    """Where keys of a dictionary that stays are removed, the finding stands there."""
    (error,) = errors_of(tool, saved(folder, "bounded", Bounded()), "--input", "x=f32:n,4", "--input", "most=i64")
    assert error["op"] == "aten::popitem", error


def check_number_that_is_lacked(tool, folder):
    """The report asks for the number that decides, and not for the list beside it."""
    model, rows = saved(folder, "padded", Padded()), ("--input", "rows=f32:n,2", "--input", "fill=f64")
    (error,) = errors_of(tool, model, *rows, "--input", "first=bool")
    assert "must be known while converting, and follows from input 'first'" in error["message"], error
    assert error["help"].startswith("--input first=true with your own value, or set 'first' in __init__"), error
    assert not errors_of(tool, model, *rows, *options_in(error["help"]))
    (error,) = errors_of(tool, model, *rows, "--input", "first=true", "--opset", "8")
    assert error["help"].count("opset 11") == 1 and error["help"].endswith(", or --opset 11, or a list whose length is fixed"), error
    assert not errors_of(tool, model, *rows, "--input", "first=true", "--opset", "11")
    assert not errors_of(
        tool,
        model,
        "--input",
        "rows.0=f32:3,2",
        "--input",
        "rows.1=f32:4,2",
        "--input",
        "fill=0.5",
        "--input",
        "first=true",
        "--opset",
        "8",
    )


def check_members_of_objects(tool, folder):
    """No option states them, whichever input the object is."""
    for model in ScaledFirst, ScaledLast:
        (error,) = errors_of(tool, saved(folder, model.__name__, model()))
        assert error["message"].startswith("it depends on input 'factor'"), error
        assert error["help"] == "set 'factor' in __init__, as an attribute of the module, and save the model again", error


def check_factor_of_antialiasing(tool, folder):
    """Each piece of the advice works."""
    for recomputes in (False, True):
        model = saved(folder, f"antialiased_{recomputes}", Antialiased(recomputes))
        given = ("--input", "x=f32:1,2,h,w", "--input", "factor=f64")
        (error,) = errors_of(tool, model, *given, "--opset", "8")
        assert error["help"].startswith("--opset 9 (Gather, Pad, Mul, ReduceSum)"), error
        assert not errors_of(tool, model, "--input", "x=f32:1,2,9,7", "--input", "factor=1.5", "--opset", "8")
        for opset in ("9", "17", "18"):
            assert not errors_of(tool, model, *given, "--opset", opset)


def check_places_that_are_read(tool, folder):
    """The options name the members that the model reads: it refuses others."""
    model = saved(folder, "some_places", SomePlaces())
    (error,) = errors_of(tool, model, "--input", "x=f32:a,b,c,d")
    assert error["help"].startswith("--input k.0=0 --input k.1=1 --input k.2=2 --input k.5=3 with your own values"), error
    assert not errors_of(tool, model, "--input", "x=f32:a,b,c,d", *options_in(error["help"]))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    tool = parser.parse_args().program
    with tempfile.TemporaryDirectory() as folder:
        for check in (
            check_constants,
            check_one_member,
            check_keys_that_are_bools,
            check_sizes_of_members,
            check_two_dtypes,
            check_places_in_state,
            check_small_numbers,
            check_rank_and_values,
            check_attribute_to_set,
            check_removed_keys,
            check_number_that_is_lacked,
            check_members_of_objects,
            check_places_that_are_read,
            check_factor_of_antialiasing,
        ):
            check(tool, pathlib.Path(folder))
    print("all findings are as expected")
    return 0


if __name__ == "__main__":
    sys.exit(main())
