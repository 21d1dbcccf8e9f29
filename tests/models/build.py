"""Builds one row of the table: the TorchScript file, its example data and its entry of the index."""
import contextlib
import hashlib
import importlib
import inspect
import io
import os
import re
import sys
import tempfile
import warnings
import zlib
from collections import Counter
from pathlib import Path
from typing import Iterator

import numpy as np
import torch

import registry
from archives import rewrite
from registry import Model


def stamp(model: Model, form: str) -> str:
    """Changes when anything does that the file is made from."""
    # Imports stand in the family's text, so its names need no import of heavy packages.
    text = (registry.HERE / f"{model.family}.py").read_text()
    parts = [text] + [file.read_text() for file in sorted(registry.HERE.glob("*.py"))
                      if file.stem in ("registry", "build", "archives") or f"from {file.stem} import" in text
                      or model.edit and file.stem == model.edit.__module__]
    row = [model.name, form, model.edit and model.edit.__name__, model.runs, model.same_outputs, model.loads,
           torch.__version__]
    return hashlib.sha256("\0".join(parts + [repr(row)]).encode()).hexdigest()[:16]


def nodes(block) -> Iterator:
    """The nodes of a graph, inner blocks included."""
    for node in block.nodes():
        yield node
        for inner in node.blocks():
            yield from nodes(inner)


def operators(graph) -> dict:
    """How often each operator stands in a graph."""
    kinds = Counter(node.kind() for node in nodes(graph))
    return {kind: kinds[kind] for kind in sorted(kinds) if kind not in ("prim::Constant", "prim::GetAttr")}


CALLS = {"prim::CallFunction", "prim::CallMethod"}


def written_nodes(module: torch.jit.ScriptModule) -> Iterator:
    """The nodes of every method before inlining, so that calls still stand where they were written."""
    for part in module.modules():
        for name in part._c._method_names():
            yield from nodes(part._c._get_method(name).graph)


def check_marks(module: torch.jit.ScriptModule, marks: list) -> None:
    """Each mark must be a line that PyTorch's saved source positions give to its operator.

    Where a scripted line reaches the operator through a function or module of torch, the position is that call's.
    Freezing inlines such calls and keeps the inner position only, so frozen models have no marks to check.
    """
    present = {node.kind() for node in nodes(module.inlined_graph)}
    relevant = {mark["operator"] for mark in marks} | CALLS
    places = [(node.kind(), node.sourceRange()) for node in written_nodes(module) if node.kind() in relevant]
    for mark in marks:
        operator, file, line = mark["operator"], Path(mark["file"]).name, mark["line"]
        place = re.compile(rf'{re.escape(file)}(", line {line}\n|\({line}\))')
        kinds = {kind for kind, text in places if place.search(text)}
        if operator not in kinds and not (operator in present and kinds & CALLS):
            raise ValueError(f"{operator} is not at {file}:{line}")


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


def warm_up(families: list) -> None:
    """What every model's process would import and set up again, done once before they are forked."""
    torch.set_num_threads(1)     # forked processes have no use for a pool of threads that stayed behind
    example = registry.Example(torch.nn.Linear(1, 1).eval(), (torch.ones(1, 1),))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for form in ("traced", "frozen-scripted"):
            torch.jit.save(registry.FORMS[form](example), io.BytesIO())
    for family in families:
        importlib.import_module(family)


def build(model: Model, form: str, out: Path) -> dict:
    """Writes `<name>-<form>.pt` and `.npz`; returns the index entry. Raises where the form can't be made."""
    with tempfile.TemporaryDirectory(dir=out) as folder:      # whole files only, for those who read meanwhile
        entry = build_in(Path(folder), model, form)
        for file in Path(folder).iterdir():
            file.rename(out / file.name)
    return entry


def build_in(folder: Path, model: Model, form: str) -> dict:
    example = example_of(model)
    name = f"{model.name}-{form}"
    path = folder / f"{name}.pt"
    module = registry.FORMS[form](example)
    torch.jit.save(module, str(path))
    maker = getattr(sys.modules[model.family], model.name)
    entry = {"name": name, "file": path.name, "kind": form, "family": model.family, "size": model.size,
             "note": inspect.getdoc(maker) or "", "loads": model.loads, "runs": model.runs,
             "inputs": [registry.describe(value) for value in example.inputs],
             "marks": [] if form.startswith("frozen") else registry.marks(example)}
    if model.size != "named":
        loaded = torch.jit.load(str(path))
        check_marks(loaded, entry["marks"])
        entry["operators"] = operators(loaded.inlined_graph)
    if model.edit:
        rewrite(path, model.edit)
        module = module if model.same_outputs else torch.jit.load(str(path)) if model.runs else None
    if model.runs or model.same_outputs:
        entry |= run(module, example, folder / f"{name}.npz")
    return entry | {"bytes": path.stat().st_size, "stamp": stamp(model, form)}


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
