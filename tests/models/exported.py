"""What the makers of exported programs share: a program is a module, its inputs, and which of their dimensions are dynamic."""
import dataclasses
import inspect
from typing import Any, Callable, Dict

import torch
from torch import nn


@dataclasses.dataclass
class Program:
    """The module is exported with the first inputs and must give the eager outputs on all of them."""
    module: nn.Module
    _: dataclasses.KW_ONLY
    inputs: list                       # of tuples of arguments; the last member of one may be Keywords
    dynamic: Any = None                # as torch.export takes dynamic_shapes
    strict: bool = False
    core: bool = False                 # saved after run_decompositions()
    train: bool = False                # exported in training mode
    edit: Callable = lambda made, program: None   # changes the program before it is saved, for what torch.export can't write
    refused: list = dataclasses.field(default_factory=list)   # inputs that the program's guards refuse, and the ONNX model must, too


class Keywords(dict):
    """The keyword arguments among the inputs."""


PROGRAMS: Dict[str, Callable[[], Program]] = {}


def program(make: Callable[[], Program]) -> Callable[[], Program]:
    """Adds the function to the programs, by its name."""
    name = make.__name__
    if name in PROGRAMS:
        raise ValueError(f"two programs are named {name}")
    PROGRAMS[name] = make
    return make


def of(function: Callable, *inputs: tuple, **options) -> Program:
    """A function as a module without state. The function's own parameters name the inputs."""
    return Program(type("Function", (nn.Module,), {"forward": with_self(function)})(), inputs=list(inputs), **options)


def with_self(function: Callable) -> Callable:
    kinds = inspect.Parameter
    signature = inspect.signature(function)
    declared = str(signature.replace(parameters=[p.replace(annotation=kinds.empty) for p in signature.parameters.values()]))
    marks = {kinds.VAR_POSITIONAL: "*{0}", kinds.VAR_KEYWORD: "**{0}", kinds.KEYWORD_ONLY: "{0}={0}"}
    passed = ", ".join(marks.get(p.kind, "{0}").format(p.name) for p in signature.parameters.values())
    scope = {"function": function}
    exec(f"def forward(self, {declared[1:]}:\n    return function({passed})\n", scope)
    return scope["forward"]


AUTO = torch.export.Dim.AUTO
BATCH = {0: AUTO}
