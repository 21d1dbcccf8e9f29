"""What a program has computed so far, on each set of inputs: statements are chosen by it, and kept only where PyTorch takes them.

A value is exact where it is finite and a small multiple of 1/64 that exact operations made: steps, comparisons and sorts are asked of
exact values only, as a rounding error elsewhere would flip them.
"""
import contextlib, copy

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from program import GLOBALS, lines_of

FLOATS = (torch.float16, torch.float32, torch.float64)
INTEGERS = (torch.int64, torch.int32, torch.int16, torch.uint8, torch.int8)
NUMERIC = FLOATS + INTEGERS
ALL = NUMERIC + (torch.bool,)
LARGEST = {torch.float16: 2000.0}
MOST_ELEMENTS = 600


class Unfit(Exception):
    """The statement can't be made here: another is tried."""


def exact_value(value):
    if isinstance(value, torch.Tensor) and value.dtype in FLOATS:
        scaled = value.to(torch.float64) * 64
        return bool(torch.isfinite(scaled).all() and (scaled == scaled.round()).all() and (scaled.abs() < 2**17).all())
    return not isinstance(value, float) or value == value and abs(value) < 2048 and value * 64 == round(value * 64)


def bounded(value):
    """No overflow, and nothing that a cast to integers leaves open."""
    if not isinstance(value, torch.Tensor):
        return not isinstance(value, (int, float)) or abs(value) < 2**40
    if value.numel() > MOST_ELEMENTS or value.dim() > 6:
        return False
    if value.dtype in FLOATS:
        return bool((value.abs() < LARGEST.get(value.dtype, 1e6)).all())   # nor NaN
    return value.dtype in ALL and (value.dtype != torch.int64 or bool((value.abs() < 2**31).all()))


class IntegersOfSpecials(TorchDispatchMode):
    """Refuses to make integers of infinity, NaN and what no integer can hold: C++ leaves open what they become."""
    MAKERS = ("aten::_to_copy", "aten::copy_", "aten::sum", "aten::cumsum", "aten::cumsum_", "aten::cumprod", "aten::cumprod_", "aten::prod")

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        if function._schema.name in self.MAKERS and result.dtype in INTEGERS:
            floats = [x for x in args if isinstance(x, torch.Tensor) and x.dtype in FLOATS]
            if not all((x.abs() < 2.0**63).all() for x in floats):
                raise Unfit
        return result


class State:
    def __init__(self, rng, inputs, scripted):
        self.rng, self.scripted = rng, scripted
        self.inputs = inputs
        self.sets = list(range(len(inputs[0].values)))    # those whose values the program takes
        self.envs = [{i.name: i.values[s].clone() for i in inputs} for s in self.sets]
        self.names = [i.name for i in inputs]             # in scope
        self.inexact = set()
        self.used = []
        self.counter = 0
        self.depth = 0
        self.special = False                              # infinities and NaN may come

    # ---- Choosing
    def value(self, name):
        return self.envs[0][name]

    def is_exact(self, name):
        value = self.value(name)
        if name in self.inexact:
            return False
        if not isinstance(value, torch.Tensor):
            return True
        place = value.untyped_storage().data_ptr()
        return not any(isinstance(other, torch.Tensor) and other.untyped_storage().data_ptr() == place and value.numel() for other in
                       (self.value(n) for n in self.inexact if n in self.envs[0]))

    def has_exact_values(self, name):
        """On every set of inputs: a chain of products may outgrow a float's digits on one of them."""
        return all(exact_value(env[name]) for env in self.envs if name in env)

    def overlaps(self, name, other):
        """Memory that two tensors share in part: PyTorch leaves open what an element-wise write to one does to the other."""
        a, b = self.value(name), self.value(other)
        return a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr() and (a.data_ptr(), a.shape, a.stride()) != (b.data_ptr(), b.shape, b.stride())

    def candidates(self, dtypes=ALL, rank=None, exact=False, test=None):
        found = []
        for name in self.names:
            value = self.value(name)
            if not isinstance(value, torch.Tensor) or value.dtype not in dtypes:
                continue
            if rank is not None and (value.dim() not in rank if isinstance(rank, (tuple, range)) else value.dim() != rank):
                continue
            if (not exact or self.is_exact(name)) and (test is None or test(value)):
                found.append(name)
        return found

    def tensor(self, *args, **kwargs):
        """A name; later ones are likelier."""
        found = self.candidates(*args, **kwargs)
        if not found:
            raise Unfit
        name = found[max(self.rng.randrange(len(found)), self.rng.randrange(len(found)))]
        self.used.append(name)
        return name

    def number(self, kind):
        """The name of a Python int, float or bool that the program computed."""
        found = [name for name in self.names if type(self.value(name)) is kind]
        if not found:
            raise Unfit
        name = self.rng.choice(found)
        self.used.append(name)
        return name

    def axis(self, name):
        rank = self.value(name).dim()
        if rank == 0:
            raise Unfit
        return self.rng.randrange(-rank, rank)

    def fresh(self):
        self.counter += 1
        return f"v{self.counter}"

    # ---- Trying
    def run(self, statement):
        """The environments after a statement; Unfit where PyTorch doesn't take it. A set beyond the first may be given up."""
        code = compile("\n".join(lines_of([statement])), "<statement>", "exec")
        after, kept = [], []
        for number, env in zip(self.sets, self.envs):
            trial = copy.deepcopy(env)
            try:
                with IntegersOfSpecials() if self.special else contextlib.nullcontext():
                    exec(code, dict(GLOBALS), trial)
                fits = all(bounded(v) or self.special for v in trial.values() if isinstance(v, (torch.Tensor, int, float)))
            except Exception:
                fits = False
            if fits:
                after.append(trial)
                kept.append(number)
            elif number == 0 or self.rng.random() < 0.9:
                raise Unfit
        return after, kept

    def accept(self, statement, exact, targets=()):
        before = self.envs[0]
        names = set(self.used)
        inputs_exact = all(self.is_exact(name) for name in names if name in before)
        self.envs, self.sets = self.run(statement)
        for name, value in self.envs[0].items():
            if name not in before or name in targets:
                if not (exact and inputs_exact and self.has_exact_values(name)):
                    self.inexact.add(name)
                elif name not in before:
                    self.inexact.discard(name)
            if name not in before and name not in self.names and not name.startswith("_") and isinstance(value, (torch.Tensor, int, float, bool)):
                self.names.append(name)
