"""Scripted programs that return objects: each attribute is an output."""
from typing import Dict, List, NamedTuple, Optional

import torch
from torch import Tensor

from script_programs import N3, ROWS, Programs

programs = Programs()
program = programs.add
cases = programs.cases


@torch.jit.script
class Part(object):
    def __init__(self, place: Tensor, number: int):
        self.place = place
        self.number = number


@torch.jit.script
class Whole(object):
    def __init__(self, part: Part, rows: List[Tensor]):
        self.part = part
        self.rows = rows
        self.score = 0.5
        self.extra = torch.jit.annotate(Optional[Tensor], None)


class Named(NamedTuple):
    part: Part
    x: Tensor


@program(ROWS, N3)
def object_output(x: Tensor):
    return Part(x + 1.0, x.size(0))


@program(ROWS, N3)
def object_output_with_objects(x: Tensor):
    whole = Whole(Part(x * 2.0, x.size(0)), [x, x + 1.0])
    whole.part.number += 1
    whole.extra = x - 1.0
    return whole


@program(ROWS, N3)
def object_output_with_none(x: Tensor):
    return Whole(Part(x * 2.0, x.size(0)), [x + 1.0])


@program(ROWS, N3)
def object_outputs_in_tuple(x: Tensor):
    part = Part(x + 1.0, 2)
    other = part
    other.number = 3
    return part, x * 2.0, other


@program(ROWS, N3)
def object_outputs_in_list(x: Tensor):
    return [Part(x + 1.0, x.size(0)), Part(x * 2.0, 3)]


@program(ROWS, N3)
def object_outputs_in_dictionary(x: Tensor):
    out: Dict[str, Part] = {}
    out["a"] = Part(x + 1.0, 2)
    out["b"] = Part(x * 2.0, x.size(0))
    out["a"].number += 5
    return out


@program(ROWS, N3)
def object_output_in_named_tuple(x: Tensor):
    return Named(Part(x + 1.0, x.size(0)), x * 2.0)


@program(ROWS, N3)
def object_output_of_branches(x: Tensor):
    part = Part(x, 1)
    if x.size(0) > 1:
        part.place = part.place + 1.0
    else:
        part = Part(x * 3.0, 4)
    return part


@program(ROWS, N3)
def object_output_or_none(x: Tensor) -> Optional[Part]:
    if x.size(0) > 1:
        return Part(x + 1.0, 1)
    return None


@program(ROWS, N3)
def object_output_of_loop(x: Tensor):
    part = Part(x.sum(0), 0)
    for i in range(x.size(0)):
        part.place = part.place + x[i]
        part.number += i
        if i == 3:
            part = Part(x[i], part.number * 10)
    return part


@program(ROWS, N3)
def object_output_that_is_best(x: Tensor):
    parts: List[Part] = []
    for i in range(x.size(0)):
        parts.append(Part(x[i], i))
    best = Part(torch.zeros(3), -1)
    for part in parts:
        part.number += 1
        if float(part.place.sum()) > float(best.place.sum()):
            best = part
    for part in parts:
        part.number *= 2
    return best


@program(ROWS, N3)
def object_outputs_that_are_first_and_last(x: Tensor):
    parts: List[Part] = []
    kept = [Part(torch.zeros(3), 7)]
    for i in range(x.size(0)):
        parts.append(Part(x[i], i))
        if i % 2 == 0:
            kept.append(parts[-1])
    for part in parts:
        part.number += 1
    return kept[0], Named(kept[-1], x + 1.0)
