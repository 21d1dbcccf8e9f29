"""Scripted programs: Flags of the program."""
import enum

import torch
from torch import Tensor

from script_programs import Programs, FLAG, FLAGS, N3, SOME

programs = Programs()
program = programs.add
cases = programs.cases


class Mode(enum.Enum):
    SUM = 1
    MEAN = 2


@program(SOME, N3)
def flag_enum(x: Tensor):
    total = x[0] * 0
    for m in [Mode.SUM, Mode.MEAN]:
        if m == Mode.SUM:
            total = total + x.sum(0)
        else:
            total = total + x.mean(0)
    return total


@program(SOME, N3)
def flag_enum_members(x: Tensor):
    total = x[0] * Mode.MEAN.value
    for m in [Mode.SUM, Mode.MEAN]:
        if m.name == "SUM":
            total = total + x.sum(0) * m.value
    return total


@program(FLAGS, N3, FLAG)
def flag_enum_by_branch(x: Tensor, f: Tensor):
    m = Mode.SUM
    if bool(f > 0):
        m = Mode.MEAN
    if m == Mode.SUM:
        return x.sum(0)
    return x.mean(0)


@program(FLAGS, N3, FLAG)
def flag_string_by_branch(x: Tensor, f: Tensor):
    m = "sum"
    if bool(f > 0):
        m = "mean"
    if m == "sum":
        return x.sum(0)
    return x.mean(0)


@program(FLAGS, N3, FLAG)
def flag_string_by_branches(x: Tensor, f: Tensor):
    k, m = "a", "q"
    if bool(f > 0):
        k = "b"
    elif bool(x.max() > 0):
        k = "c"
    if bool(x.min() > 0):
        m = "r"
    if k + m == "br":
        x = x + 1
    if k < "b":
        x = x * 2
    if "c" in k:
        x = x - 3
    return x * ord(k)


@program(FLAGS, N3, FLAG)
def flag_int_float_bool(x: Tensor, f: Tensor):
    k, s, done = 0, 1.0, False
    i = 0
    while not done:
        if i % 2 == 0:
            k += i
        else:
            s *= 1.5
        i += 1
        done = i > x.size(0) or (bool(f > 0) and k > 2)
    return x * s + k, i, done
