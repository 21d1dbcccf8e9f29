"""What the model makers share: a model, its forms, and the marks in its source.

A mark is a comment on the line where an operator stands, so that the expectation and the source cannot drift apart:

    grid = F.affine_grid(theta, size)      #: missing aten::affine_grid_generator < 20
    y = torch.relu(x)                      #: aten::relu

`missing OP` says that ONNX has no form of OP at any opset, `missing OP < N` that it has one from opset N on.
"""
import dataclasses
import inspect
import re
from pathlib import Path
from typing import Any, Callable, Optional

import torch

HERE = Path(__file__).resolve().parent
MARK = re.compile(r"#: (missing )?(\w+::\w+)(?: < (\d+))?\s*$")


@dataclasses.dataclass
class Example:
    """A module with random weights and the inputs it is traced and run with."""
    module: torch.nn.Module
    inputs: tuple
    sources: tuple = ()      # functions outside the module's classes whose marks count
    grad: bool = False       # trace with gradients on: attention then keeps off its fused path
    strict: bool = True      # False: outputs may be dictionaries that hold tensors
    train: bool = False      # leave the module in training mode


@dataclasses.dataclass
class Model:
    """A row of the table: `family` is a file of this folder, `name` a function in it that returns an Example."""
    family: str
    name: str
    forms: tuple = ("traced", "scripted")
    unscriptable: bool = False       # "scripted" is tried, and its failure recorded instead of raised
    size: str = "small"              # small | full | named (made only when asked for by name)
    runs: bool = True                # False: needs an operator, class or device that is not there
    same_outputs: bool = False       # the edited file can't run here, but means what it did before
    loads: bool = True               # False: torch.jit.load refuses it where nothing is registered
    edit: Optional[Callable] = None  # (archive records) -> None, changes the saved file


def trace(example: Example) -> torch.jit.ScriptModule:
    with torch.set_grad_enabled(example.grad):
        return torch.jit.trace(example.module, example.inputs, check_trace=False, strict=example.strict)


def script(example: Example) -> torch.jit.ScriptModule:
    return torch.jit.script(example.module)


FORMS = {
    "traced": trace,
    "scripted": script,
    "frozen-traced": lambda example: torch.jit.freeze(trace(example)),
    "frozen-scripted": lambda example: torch.jit.freeze(script(example)),
}


def marks(example: Example) -> list:
    """The marked lines in the source of the example's own classes and functions."""
    objects = {type(m) for m in example.module.modules()} | set(example.sources)
    found = {}
    for thing in objects:
        file = Path(inspect.getsourcefile(thing) or "")
        if file.parent != HERE:
            continue
        lines, first = inspect.getsourcelines(thing)
        for number, text in enumerate(lines, first):
            if match := MARK.search(text):
                found[file.name, number] = {
                    "operator": match[2], "file": f"tests/models/{file.name}", "line": number,
                    "missing": bool(match[1]), "available_from": int(match[3]) if match[3] else None}
    return [found[key] for key in sorted(found)]


def describe(value: Any) -> Any:
    """The structure of an input or output, without its contents."""
    if isinstance(value, torch.Tensor):
        dtype = str(value.dtype).removeprefix("torch.")
        return {"dtype": dtype, "shape": list(value.shape)}
    if isinstance(value, dict):
        return {"dict": {str(key): describe(item) for key, item in value.items()}}
    if isinstance(value, tuple):
        return {"tuple": [describe(item) for item in value]}
    if isinstance(value, list):
        return {"list": [describe(item) for item in value]}
    return {"value": value}


def tensors(value: Any) -> list:
    """The tensors of a nested value, in order."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return [tensor for item in value for tensor in tensors(item)]
    return []
