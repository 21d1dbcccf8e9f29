"""Scripted programs with lists of Optionals whose length only the running model knows."""
from typing import List, Optional

import torch
from torch import Tensor

from script_programs import N3, Programs

programs = Programs()
program = programs.add
cases = programs.cases


def rows(*counts: int):
    made = torch.Generator().manual_seed(7)
    return [(torch.randn(count, 3, generator=made),) for count in counts]


ROWS = rows(4, 9, 1, 0, 13)


@torch.jit.script
class Cell(object):
    def __init__(self, place: Tensor, number: int):
        self.place = place
        self.number = number


@program(ROWS, N3)
def optional_list_of_ints(x: Tensor):
    out: List[Optional[int]] = []
    for i in range(x.size(0)):
        if bool(x[i, 0] > 0):
            out.append(i)
        else:
            out.append(None)
    total = 0
    for item in out:
        if item is not None:
            total += item
        else:
            total += 100
    return total, len(out)


@program(ROWS, N3)
def optional_list_of_tensors(x: Tensor):
    out: List[Optional[Tensor]] = []
    for i in range(x.size(0)):
        out.append(x[i] if bool(x[i, 0] > 0) else None)
    total = torch.zeros(3)
    for item in out:
        if item is None:
            total = total - 1.0
        else:
            total = total * 2.0 + item
    return total


@program(ROWS, N3)
def optional_list_filled_by_places(x: Tensor):
    out: List[Optional[Tensor]] = [torch.jit.annotate(Optional[Tensor], None)] * x.size(0)
    for i in range(x.size(0)):
        if bool(x[i, 0] > 0):
            out[x.size(0) - 1 - i] = x[i]
        if bool(x[i, 1] > 1):
            out[i] = None
    total = torch.zeros(3)
    missing = 0
    for i in range(x.size(0)):
        item = out[i]
        if item is not None:
            total = total * 2.0 + item
        else:
            missing += 1
    return total, missing


@program(ROWS, N3)
def optional_list_of_objects(x: Tensor):
    out: List[Optional[Cell]] = []
    for i in range(x.size(0)):
        if bool(x[i, 0] > 0):
            out.append(Cell(x[i], i))
        else:
            out.append(None)
    last: Optional[Cell] = None
    for item in out:
        if item is not None:
            item.number += 1
            last = item
    if last is not None:
        last.number *= 3
    total = 0
    for item in out:
        if item is not None:
            total += item.number
    return total, last.place if last is not None else x.sum(0)


@program(ROWS, N3)
def optional_list_cut_and_popped(x: Tensor):
    out: List[Optional[float]] = []
    for i in range(x.size(0)):
        if bool(x[i, 0] > 0):
            out.append(float(x[i, 1]))
        elif bool(x[i, 1] > 0):
            out.append(None)
    out = out[::-1] + out[:2]
    kept = out[1:]
    while len(out) > 2:
        if out.pop() is None:
            break
    best = -1.0
    for item in out:
        if item is not None and item > best:
            best = item
    return best, len(out), len(kept)


@program(ROWS, N3)
def optional_list_of_lists(x: Tensor):
    out: List[Optional[List[int]]] = []
    for i in range(x.size(0)):
        if bool(x[i, 0] > 0):
            out.append([i, 1])
        else:
            out.append(None)
    total = 0
    for item in out:
        if item is not None:
            item.append(5)
    for item in out:
        if item is not None:
            total += item[0] + len(item)
    return total


@program(ROWS, N3)
def optional_list_with_two_names(x: Tensor):
    out: List[Optional[int]] = []
    other = out
    copied = out[:0]
    for i in range(x.size(0)):
        if bool(x[i, 0] > 0):
            other.append(i)
        else:
            out.append(None)
        if i == 2:
            copied = out + copied
    out.insert(0, 7)
    total = 0
    for item in other:
        total = total * 2 + (item if item is not None else 1)
    for item in copied:
        total = total * 3 + (item if item is not None else 1)
    return total


@program(ROWS, N3)
def optional_list_returned(x: Tensor):  # ONNX has no lists of optionals
    out: List[Optional[int]] = []
    for i in range(x.size(0)):
        out.append(i if bool(x[i, 0] > 0) else None)
    return out
