"""Scripted programs: Texts and enums' members of which only the running model knows which one they are."""
from enum import Enum
from typing import Dict, List, Optional, Tuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from script_programs import Programs, FLAG, FLAGS, N3, ROWS, SOME, TWO_FLAGS, r

programs = Programs()
program = programs.add
cases = programs.cases
NUMBERS = [(r(n, 3), torch.tensor(k)) for n, k in ((2, 3), (1, 0), (4, 1), (3, 7))]
NUMBER = "i64:scalar"


class Phase(Enum):
    WARM = 0
    HOT = 1
    DONE = 2


@program(NUMBERS, N3, NUMBER)
class choice_of_list(nn.Module):
    def __init__(self):
        super().__init__()
        self.modes = ["layer", "max", "layer", "none"]

    def forward(self, x: Tensor, n: Tensor):
        for i in range(int(n)):
            mode = self.modes[i % len(self.modes)]
            if mode == "layer":
                x = x - x.mean(-1, keepdim=True)
            elif mode == "max":
                x = x / (1 + x.abs().max())
            else:
                x = x + 0.5
        return x


@program(NUMBERS, N3, NUMBER)
def choice_of_end(x: Tensor, n: Tensor):
    """Counted from behind."""
    names = ["a", "b", "c"]
    return x + (1 if names[-1 - int(n) % 3] == "a" else 2)


@program(NUMBERS, N3, NUMBER)
def choice_carried(x: Tensor, n: Tensor):
    reason = "none"
    i = 0
    while True:
        if i >= int(n):
            reason = "budget"
            break
        if float(x.sum()) > 4:
            reason = "large"
            break
        x = x + 0.25
        i += 1
    if reason == "budget":
        return x, 1, len(reason)
    if reason == "large":
        return x * 2, 2, len(reason)
    return x * 3, 3, len(reason)


@program(NUMBERS, N3, NUMBER)
def choice_of_phase(x: Tensor, n: Tensor):
    phase = Phase.WARM
    total = torch.zeros(3)
    for i in range(int(n)):
        if phase == Phase.WARM:
            total = total + x.sum(0)
            phase = Phase.HOT
        elif phase == Phase.HOT:
            total = total * 2
            if i > 3:
                phase = Phase.DONE
        else:
            total = total - 1
    return total, phase == Phase.DONE, phase.value


@program(TWO_FLAGS, N3, FLAG, FLAG)
def choice_of_argument(x: Tensor, f: Tensor, g: Tensor):
    """What an operator takes as a text."""
    how = "floor" if bool(f > 0) else "trunc"
    kind = "none"
    if bool(g > 0):
        kind = "tanh"
    return torch.div(x * 5, 2.0, rounding_mode=how), F.gelu(x, approximate=kind)


@program(FLAGS, N3, FLAG)
def choice_of_equation(x: Tensor, f: Tensor):
    equation = "ij,kj->ik" if bool(f > 0) else "ij,kl->ik"
    return torch.einsum(equation, x, x)


@program(TWO_FLAGS, N3, FLAG, FLAG)
def choice_of_key(x: Tensor, f: Tensor, g: Tensor):
    held: Dict[str, Tensor] = {"a": x, "b": x * 2}
    key = "a" if bool(f > 0) else "b"
    held[key] = held[key] + 1
    other = "b" if bool(g > 0) else "c"
    found = held.get(other, x * 7)
    if other not in held:
        held[other] = x - 3
    return held["a"], held["b"], found, held[other], len(held)


@program(TWO_FLAGS, N3, FLAG, FLAG)
def choice_of_texts(x: Tensor, f: Tensor, g: Tensor):
    """What is computed of two, one after the other."""
    one = "ab" if bool(f > 0) else "c"
    two = "b" if bool(g > 0) else "ab"
    both = one + "/" + two
    return x, len(both), one == two, both.startswith("ab"), both == "c/b", two in one, one < two


@program(TWO_FLAGS, N3, FLAG, FLAG)
def choice_within(x: Tensor, f: Tensor, g: Tensor):
    """In a tuple, in a list, and where there may be none."""
    pair: Tuple[str, Tensor] = ("x", x)
    if bool(f > 0):
        pair = ("y", x * 2)
    names = ["p", pair[0]]
    names.append("q")
    maybe: Optional[str] = None
    if bool(g > 0):
        maybe = pair[0]
    out = pair[1] + (10 if names[1] == "y" else 20)
    if maybe is not None:
        out = out + (1 if maybe == "x" else 2)
    return out, len(names)


@program(NUMBERS, N3, NUMBER)
class choice_in_attribute(nn.Module):
    """Written before it is read in each call."""

    def __init__(self):
        super().__init__()
        self.mode = "start"

    def forward(self, x: Tensor, n: Tensor):
        self.mode = "start"
        for i in range(int(n)):
            if self.mode == "start":
                x = x + 1
                self.mode = "run"
            elif float(x.sum()) > 0:
                self.mode = "start"
            else:
                x = x + 2
        return x, self.mode == "run"


@program(NUMBERS, N3, NUMBER)
def choice_in_nested_loops(x: Tensor, n: Tensor):
    order = ["gain", "shift", "gain", "clip"]
    last = ""
    for p in range(int(n)):
        for name in order:
            if name == last:
                x = x * 0.5
            if name == "gain":
                x = x * 1.5
            elif name == "shift":
                x = x + p
            else:
                x = x.clamp(-2.0, 2.0)
        last = order[p % 4]
    return x


@program(NUMBERS, N3, NUMBER)
def choice_swapped(x: Tensor, n: Tensor):
    one, two, three = "sum", "mean", "max"
    for i in range(int(n)):
        if i % 2 == 0:
            one, two = two, one
        else:
            two, three = three, two
    out = torch.zeros(3)
    for name in [one, two, three]:
        if name == "sum":
            out = out * 2 + x.sum(0)
        elif name == "mean":
            out = out * 3 + x.mean(0)
        else:
            out = out - x.max(0)[0]
    return out


@program(FLAGS, N3, FLAG)
def choice_that_raises(x: Tensor, f: Tensor):
    mode = "good"
    if bool(f > 5):
        mode = "bad"
    if mode == "bad":
        raise RuntimeError("mode is " + mode)
    return x + len(mode)
