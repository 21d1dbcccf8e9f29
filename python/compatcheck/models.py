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

AnyModel = Union[Path, bytes, IO[bytes], _core.RangedFile, _core.Model, "torch.nn.Module", "torch.export.ExportedProgram"]
_OF_MODULES = ("example_inputs", "example_kwargs", "dynamic_shapes")


def loaded(call: str, model: AnyModel, options: Mapping[str, Any], *structs: Any) -> _core.Model:
    """The model, and the options that aren't the loader's set in the structs."""
    given = {name: value for name, value in options.items() if name != "progress"}
    example = {name: value for name in _OF_MODULES if (value := given.pop(name, None)) is not None}
    load = load_options(call, given, *structs)
    if isinstance(model, _core.Model):
        for name in (*example, *given):
            if options[name] is not None and not any(hasattr(struct, name) for struct in structs):
                raise UsageError(f"{name} is an option of load(), and this model is loaded already")
        return model
    if example and not _is_module(model):
        raise UsageError(f"{next(iter(example))} is for an nn.Module, which torch.export makes a program of")
    if isinstance(model, _core.RangedFile):
        with shown(options.get("progress", False)) as progress:
            return _core.load_ranges(model, load, progress)
    source = model if isinstance(model, (str, os.PathLike)) else _saved(model, example)
    if isinstance(source, tuple) and _is_of_torch(model) and given.get("helper") is None and given.get("python") is None:
        from . import torch_helper  # runs the model beside its operators, which may only exist in this process

        load.run_in_process = torch_helper.answer
    with shown(options.get("progress", False)) as progress:
        if isinstance(source, tuple):
            return _core.load_bytes(*source, load, progress)
        return _core.load_file(source, load, progress)


def _is_module(model: Any) -> bool:
    torch = sys.modules.get("torch")  # who hands over one of its objects has imported it
    return bool(torch and isinstance(model, torch.nn.Module) and not isinstance(model, torch.jit.ScriptModule))


def _is_of_torch(model: Any) -> bool:
    return not isinstance(model, (bytes, bytearray, memoryview)) and not hasattr(model, "read")


def _saved(model: Any, example: dict[str, Any]) -> tuple[bytes, str]:
    """The bytes of a model file, and what the report calls it."""
    if isinstance(model, (bytes, bytearray, memoryview)):
        return bytes(model), "<bytes>"
    if hasattr(model, "read"):
        data = model.read()
        if not isinstance(data, bytes):
            raise UsageError("a model's file must be opened in binary mode: open(path, 'rb')")
        return data, str(getattr(model, "name", "<file>"))
    if "torch" not in sys.modules:
        raise _no_model(model)
    import torch.export

    file = io.BytesIO()
    if isinstance(model, torch.jit.ScriptModule):
        torch.jit.save(model, file)
        return file.getvalue(), f"<{model.original_name}>"
    program = _exported(model, example) if _is_module(model) else model
    if not isinstance(program, torch.export.ExportedProgram):
        raise _no_model(model)
    torch.export.save(program, file)
    return file.getvalue(), f"<{type(model).__name__}>"


def _no_model(model: Any) -> TypeError:
    return TypeError(f"a model is a path, a binary file, bytes, or an object of PyTorch, not {type(model).__name__}")


def _exported(module: Any, example: dict[str, Any]) -> Any:
    import torch.export

    if "example_inputs" not in example and "example_kwargs" not in example:
        raise UsageError(f"{type(module).__name__} is an nn.Module: torch.export needs example_inputs=(x,) to make a program of it")
    inputs = example.get("example_inputs", ())
    return torch.export.export(
        module,
        tuple(inputs) if isinstance(inputs, (list, tuple)) else (inputs,),
        dict(example.get("example_kwargs", {})),
        dynamic_shapes=example.get("dynamic_shapes"),
    )
