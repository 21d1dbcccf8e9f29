"""What can be checked: files, their bytes, and PyTorch's objects."""
from __future__ import annotations

import io
import os
import sys
from typing import IO, Any, Mapping, Union

from . import _core
from .errors import UsageError
from .options import Path, load_options
from .progress import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    import torch

AnyModel = Union[Path, bytes, IO[bytes], _core.Model, "torch.nn.Module", "torch.export.ExportedProgram"]
_OF_MODULES = ("example_inputs", "example_kwargs", "dynamic_shapes")


def loaded(call: str, model: AnyModel, options: Mapping[str, Any], *structs: Any) -> _core.Model:
    """The model, and the options that aren't the loader's set in the structs."""
    rest = {name: value for name, value in options.items() if name not in ("progress", *_OF_MODULES)}
    example = {name: options[name] for name in _OF_MODULES if options.get(name) is not None}
    load = load_options(call, rest, *structs)
    if isinstance(model, _core.Model):
        return model
    source = model if isinstance(model, (str, os.PathLike)) else _saved(model, example)
    with shown(options.get("progress", False)) as progress:
        if isinstance(source, tuple):
            return _core.load_bytes(*source, load, progress)
        return _core.load_file(source, load, progress)


def _saved(model: Any, example: dict[str, Any]) -> tuple[bytes, str]:
    """The bytes of a model file, and what the report calls it."""
    if isinstance(model, (bytes, bytearray, memoryview)):
        return bytes(model), "<bytes>"
    if hasattr(model, "read"):
        data = model.read()
        if not isinstance(data, bytes):
            raise UsageError("a model's file must be opened in binary mode: open(path, 'rb')")
        return data, str(getattr(model, "name", "<file>"))
    torch = sys.modules.get("torch")  # who hands over one of its objects has imported it
    if torch is None:
        raise TypeError(f"a model is a path, a binary file, bytes, or an object of PyTorch, not {type(model).__name__}")
    file = io.BytesIO()
    if isinstance(model, torch.jit.ScriptModule):
        torch.jit.save(model, file)
        return file.getvalue(), f"<{model.original_name}>"
    name = f"<{type(model).__name__}>"
    import torch.export

    if isinstance(model, torch.nn.Module):
        model = _exported(torch, model, example)
    if not isinstance(model, torch.export.ExportedProgram):
        raise TypeError(f"a model is a path, a binary file, bytes, or an object of PyTorch, not {type(model).__name__}")
    torch.export.save(model, file)
    return file.getvalue(), name


def _exported(torch: Any, module: Any, example: dict[str, Any]) -> Any:
    if "example_inputs" not in example and "example_kwargs" not in example:
        raise UsageError(f"{type(module).__name__} is an nn.Module: torch.export needs example_inputs=(x,) to make a program of it")
    inputs = example.get("example_inputs", ())
    return torch.export.export(
        module,
        tuple(inputs) if isinstance(inputs, (list, tuple)) else (inputs,),
        dict(example.get("example_kwargs", {})),
        dynamic_shapes=example.get("dynamic_shapes"),
    )
