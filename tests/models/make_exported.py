#!/usr/bin/env python3
"""Makes exported programs (.pt2) for the tests.

    make_exported.py --out DIR [--only REGEX] [--jobs N]
    make_exported.py --list

DIR then holds `<name>.pt2`, `<name>.npz` (in_K_*, out_K_*: the leaves of the K-th inputs and of the eager outputs; K = 0 are those
it was exported with; refused_K_*: inputs that its guards refuse) and index.json. What is there and made from the same sources is left alone. Programs that torch.export can't
make are listed in the index with the reason; not_exported.tsv says which.
"""
import argparse
import copy
import hashlib
import importlib
import json
import multiprocessing
import os
import re
import signal
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Optional

sys.path.insert(0, str(Path(__file__).resolve().parent))
import numpy as np
import torch
from torch.utils import _pytree as pytree

import build
import exported
import make_models
import registry

FAMILIES = ("exported_control", "exported_shapes", "exported_weights", "exported_signatures", "exported_models", "exported_examples",
            "exported_libraries", "exported_vmap")
CPU_SECONDS = 60


def not_exported() -> dict:
    """What torch.export or its file format of this release can't do: words of the reason."""
    lines = (registry.HERE / "not_exported.tsv").read_text().splitlines()
    return dict(line.split("\t") for line in lines if not line.startswith("#"))


def stamp(name: str) -> str:
    """Changes when anything does that the file is made from."""
    family = exported.PROGRAMS[name].__module__
    others = [file.stem for file in registry.HERE.glob("*.py") if not re.match("exported|make_|broken", file.stem)]
    files = ["exported", "make_exported", "build", family] + (others if family == "exported_models" else [])
    text = b"".join((registry.HERE / f"{file}.py").read_bytes() for file in sorted(files))
    return hashlib.sha256(text + name.encode() + torch.__version__.encode()).hexdigest()[:16]


def split(inputs: tuple) -> tuple:
    """(args, kwargs)"""
    if inputs and isinstance(inputs[-1], exported.Keywords):
        return inputs[:-1], dict(inputs[-1])
    return inputs, {}


NUMPY_DTYPES = {torch.bool, torch.uint8, torch.uint16, torch.uint32, torch.uint64, torch.int8, torch.int16, torch.int32, torch.int64,
                torch.float16, torch.float32, torch.float64, torch.complex64, torch.complex128}


def saved(leaf) -> np.ndarray:
    """complex32 and the small floats in the next dtype that numpy has."""
    if not isinstance(leaf, torch.Tensor):
        return np.asarray(leaf)
    leaf = leaf.detach().resolve_conj().resolve_neg().contiguous()
    return (leaf if leaf.dtype in NUMPY_DTYPES else leaf.float()).numpy().copy()


def described(leaf) -> dict:
    if isinstance(leaf, torch.Tensor):
        return {"dtype": str(leaf.dtype).removeprefix("torch."), "shape": list(leaf.shape)}
    return {"value": leaf}


def input_names(program) -> list:
    """The names of user inputs in the file; None for those that are constants there."""
    kinds = torch.export.graph_signature
    return [spec.arg.name if not isinstance(spec.arg, kinds.ConstantArgument) else None
            for spec in program.graph_signature.input_specs if spec.kind == kinds.InputKind.USER_INPUT]


def other_inputs(program, made: exported.Program) -> list:
    """Inputs that the program wasn't exported with: other values, at other sizes of its dynamic dimensions if it takes them."""
    args, kwargs = split(made.inputs[0])
    leaves, spec = pytree.tree_flatten((args, kwargs))
    nodes = {node.name: node.meta["val"] for node in program.graph.nodes if node.op == "placeholder"}
    shapes = [nodes[name].shape if isinstance(leaf, torch.Tensor) and name else () for leaf, name in zip(leaves, input_names(program))]
    hints = {size.node.expr: size.node.hint for shape in shapes for size in shape if isinstance(size, torch.SymInt) and size.node.expr.is_symbol}

    def at(sizes: dict, integers: bool = True) -> tuple:
        given = [other_values(leaf, [int(size.node.expr.subs(sizes)) if isinstance(size, torch.SymInt) else size for size in shape])
                 if isinstance(leaf, torch.Tensor) and (integers or leaf.is_floating_point()) else leaf for leaf, shape in zip(leaves, shapes)]
        args, kwargs = pytree.tree_unflatten(given, spec)
        return (*args, exported.Keywords(kwargs)) if kwargs else args

    module = program.module()     # which checks its guards
    changes = [{}] if not hints else [{s: change(h) for s, h in hints.items() if s in chosen}
                                      for chosen in (list(hints), *([s] for s in hints))
                                      for change in (lambda h: h + 1, lambda h: 2 * h, lambda h: h + 2, lambda h: h - 1)]
    for sizes in changes:
        inputs = at(hints | sizes)
        try:
            args, kwargs = split(pytree.tree_map(lambda x: x.clone() if isinstance(x, torch.Tensor) else x, inputs))
            module(*args, **kwargs)
            run(made, inputs)
            return [inputs]
        except Exception:
            continue
    return [at(hints, integers=False)]


def other_values(tensor: torch.Tensor, sizes: list) -> torch.Tensor:
    """Random floats; other dtypes take their values from the tensor's own."""
    if tensor.is_floating_point():
        return torch.randn(sizes, dtype=torch.float32).to(tensor.dtype)
    flat = tensor.flatten()
    return flat[torch.randint(len(flat), sizes)] if len(flat) else tensor.new_zeros(sizes)


def own_module(made: exported.Program) -> torch.nn.Module:
    module = copy.deepcopy(made.module)
    return module if isinstance(module, torch.fx.GraphModule) else module.train(made.train)


def run(made: exported.Program, inputs: tuple) -> tuple:
    """The leaves of inputs and eager outputs. A module of its own, and copies of inputs: both may be written to."""
    args, kwargs = split(inputs)
    module = own_module(made)
    before = [saved(leaf) if leaf is not None else None for leaf in pytree.tree_leaves((args, kwargs))]
    args, kwargs = pytree.tree_map(lambda x: x.clone() if isinstance(x, torch.Tensor) else x, (args, kwargs))
    build.seed("run")
    with torch.no_grad():
        return before, pytree.tree_leaves(module(*args, **kwargs))


def accepts(program, args: tuple, kwargs: dict) -> bool:
    try:
        program.module()(*args, **kwargs)
        return True
    except Exception:
        return False


def export(made: exported.Program):
    args, kwargs = split(made.inputs[0])
    module = own_module(made)
    program = torch.export.export(module, args, kwargs or None, dynamic_shapes=made.dynamic, strict=made.strict)
    if made.core:
        program = program.run_decompositions()
    made.edit(made, program)
    return program


def build_in(folder: Path, name: str) -> dict:
    build.seed(name)
    with torch.no_grad():     # what is computed from parameters can then be copied
        made = exported.PROGRAMS[name]()
    program = export(made)
    if len(made.inputs) == 1:
        made.inputs += other_inputs(program, made)
    arrays, entry = {}, {"name": name, "file": f"{name}.pt2", "sets": len(made.inputs), "inputs": input_names(program)}
    for k, inputs in enumerate(made.inputs):
        given, results = run(made, inputs)
        arrays |= {f"in_{k}_{i}": leaf for i, leaf in enumerate(given) if leaf is not None}
        arrays |= {f"out_{k}_{i}": saved(leaf) for i, leaf in enumerate(results) if leaf is not None}
        if k == 0:
            entry["outputs"] = [described(leaf) for leaf in results]
    entry["refused"] = len(made.refused)
    for k, inputs in enumerate(made.refused):
        args, kwargs = split(inputs)
        if accepts(program, args, kwargs):
            raise ValueError(f"the program's guards take the inputs {k} that they should refuse")
        arrays |= {f"refused_{k}_{i}": saved(leaf) for i, leaf in enumerate(pytree.tree_leaves((args, kwargs))) if leaf is not None}
    torch.export.save(program, folder / entry["file"])
    np.savez(folder / f"{name}.npz", **arrays)
    return entry | {"bytes": (folder / entry["file"]).stat().st_size}


def too_long(*_) -> None:
    raise TimeoutError(f"takes more than {CPU_SECONDS} s")


def attempt(task: tuple) -> dict:
    name, out = task
    start = time.process_time()
    signal.signal(signal.SIGVTALRM, too_long)
    signal.setitimer(signal.ITIMER_VIRTUAL, CPU_SECONDS)     # guards of many dynamic dimensions may take for ever
    try:
        with build.quiet(), warnings.catch_warnings(), tempfile.TemporaryDirectory(dir=out) as folder:
            warnings.simplefilter("ignore")
            entry = build_in(Path(folder), name)
            for file in Path(folder).iterdir():
                file.rename(out / file.name)
    except Exception as error:
        entry = {"name": name, "reason": build.reason(error)}
    signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    return entry | {"stamp": stamp(name), "seconds": round(time.process_time() - start, 2)}


def unexpected(entry: dict, words: Optional[str]) -> str:
    """What is wrong with it; empty if it was made, or if it couldn't be made for the reason with these words."""
    reason = entry.get("reason")
    if words is None:
        return f"can't be made: {reason}" if reason else ""
    return "" if reason and words in reason else f"should fail with '{words}': {reason or 'it was made'}"


def make(names: list, out: Path, jobs: int) -> int:
    out.mkdir(parents=True, exist_ok=True)
    index = out / "index.json"
    known = {entry["name"]: entry for entry in json.loads(index.read_text())["programs"]} if index.exists() else {}

    def current(name: str) -> bool:
        entry = known.get(name, {})
        return entry.get("stamp") == stamp(name) and ("file" not in entry or (out / entry["file"]).exists())

    tasks = [(name, out) for name in names if not current(name)]
    with multiprocessing.get_context("fork").Pool(jobs, maxtasksperchild=1) as pool:
        for entry in pool.imap_unordered(attempt, tasks):
            known[entry["name"]] = entry
            write_index(index, [known[name] for name in exported.PROGRAMS if name in known])
    failures = not_exported()
    wrong = [f"{name}: {words}" for name in names if (words := unexpected(known[name], failures.get(name)))]
    print(*wrong, sep="\n", file=sys.stderr)
    print(f"{len(tasks)} made, {sum('reason' in known[name] for name in names)} of {len(names)} can't be exported")
    return len(wrong)


def write_index(index: Path, programs: list) -> None:
    temporary = index.with_suffix(".tmp")
    temporary.write_text(json.dumps({"programs": programs}, indent=1) + "\n")
    temporary.rename(index)


def warm_up(names: list) -> None:
    """What every process would import and set up again, before they are forked."""
    if any(name.startswith("model_") for name in names):
        build.warm_up(sorted({model.family for model in make_models.MODELS}))
    torch.set_num_threads(1)
    with build.quiet(), tempfile.TemporaryFile() as file:
        program = torch.export.export(torch.nn.Linear(1, 1), (torch.ones(2, 1),), dynamic_shapes=({0: exported.AUTO},), strict=True)
        torch.export.save(program.run_decompositions(), file)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--only", metavar="REGEX", default="")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    arguments = parser.parse_args()
    with build.quiet():
        for family in FAMILIES:
            importlib.import_module(family)
    names = [name for name in exported.PROGRAMS if re.search(arguments.only, name)]
    if arguments.list:
        print(*names, sep="\n")
        return 0
    if not arguments.out or not names:
        parser.error("--out DIR and programs are needed")
    warm_up(names)
    return 1 if make(names, arguments.out, arguments.jobs) else 0


if __name__ == "__main__":
    sys.exit(main())
