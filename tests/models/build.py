"""Builds one row of the table: the TorchScript file, its example data and its entry of the index."""
import contextlib
import hashlib
import importlib
import inspect
import os
import re
import warnings
import zlib
from pathlib import Path

import numpy as np
import torch
from torch.testing._internal.jit_utils import clear_class_registry

import registry
from archives import rewrite
from registry import Model


def stamp(model: Model, form: str) -> str:
    """Changes when anything does that the file is made from."""
    # Imports stand in the family's text, so its names need no import of heavy packages.
    text = (registry.HERE / f"{model.family}.py").read_text()
    parts = [text] + [file.read_text() for file in sorted(registry.HERE.glob("*.py"))
                      if file.stem in ("registry", "build", "archives") or f"from {file.stem} import" in text]
    edit = model.edit.__name__ if model.edit else ""
    row = [model.name, form, edit, model.runs, model.loads, model.note, model.facts, torch.__version__]
    return hashlib.sha256("\0".join(parts + [repr(row)]).encode()).hexdigest()[:16]


def operators(graph) -> dict:
    """How often each operator stands in a graph, inner blocks included."""
    count = {}
    blocks = [graph]
    while blocks:
        for node in blocks.pop().nodes():
            if node.kind() != "prim::Constant" and node.kind() != "prim::GetAttr":
                count[node.kind()] = count.get(node.kind(), 0) + 1
            blocks += node.blocks()
    return dict(sorted(count.items()))


def array(tensor: torch.Tensor) -> np.ndarray:
    tensor = tensor.detach().dequantize() if tensor.is_quantized else tensor.detach()
    return (tensor.float() if tensor.dtype == torch.bfloat16 else tensor).numpy()


def seed(name: str) -> None:
    torch.manual_seed(zlib.crc32(name.encode()))


def example_of(model: Model) -> registry.Example:
    seed(model.name)
    example = getattr(importlib.import_module(model.family), model.name)()
    example.module.train(example.train)
    return example


def reason(error: Exception) -> str:
    """The lines of a compiler's message that say why and where."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    where = re.search(r'File "(?:.*/site-packages/)?([^"]+)", line (\d+)', str(error))
    text = f"{type(error).__name__}: {lines[0] if lines else ''}"
    return text[:300] + (f" {where[1]}:{where[2]}" if where else "")


def build(model: Model, form: str, out: Path) -> dict:
    """Writes `<name>-<form>.pt` and `.npz`; returns the index entry. Raises where the form can't be made."""
    clear_class_registry()       # so that the names of mangled classes don't hang on what was made before
    example = example_of(model)
    name = f"{model.name}-{form}"
    path = out / f"{name}.pt"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scripted = registry.FORMS[form](example)
        torch.jit.save(scripted, str(path))
    entry = {"name": name, "file": path.name, "kind": form, "family": model.family, "size": model.size,
             "note": model.note or inspect.getdoc(getattr(importlib.import_module(model.family), model.name)) or "",
             "inputs": [registry.describe(value) for value in example.inputs]}
    if model.runs:
        entry |= run(scripted, example, out / f"{name}.npz")
    if model.size != "named":
        entry["operators"] = operators(torch.jit.load(str(path)).inlined_graph)
    if model.edit:
        rewrite(path, model.edit)
    entry |= {"bytes": path.stat().st_size, "loads": model.loads, "runs": model.runs,
              "marks": registry.marks(example), "facts": model.facts, "stamp": stamp(model, form)}
    return entry


def run(scripted: torch.jit.ScriptModule, example: registry.Example, data: Path) -> dict:
    """Outputs of the saved module, kept beside it with the inputs."""
    arrays = {f"in_{i}": array(t).copy() for i, t in enumerate(registry.tensors(example.inputs))}
    seed("run")
    with torch.no_grad():
        result = scripted(*example.inputs)
    arrays |= {f"out_{i}": array(t) for i, t in enumerate(registry.tensors(result))}
    np.savez(data, **arrays)
    return {"outputs": registry.describe(result), "data": data.name}


@contextlib.contextmanager
def quiet():
    """torch prints warnings of deprecated parts from C++ too."""
    saved, null = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 2)
    try:
        yield
    finally:
        os.dup2(saved, 2)
        os.close(saved)
        os.close(null)
