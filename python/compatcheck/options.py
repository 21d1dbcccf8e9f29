"""The options of calls. They have the names of the C++ headers' fields, and mean what the flags of the command line mean."""
from __future__ import annotations

import math
import os
import sys
from typing import Any, Callable, Iterable, Literal, Mapping, Sequence, TypedDict, Union

from . import _core
from .errors import UsageError

Path = Union[str, "os.PathLike[str]"]
Paths = Union[Path, Sequence[Path]]
Words = Union[str, Sequence[str], Mapping[str, Any]]  # "x=f32:1,3", a list of such, or {"x": "f32:1,3"}
Progress = Union[bool, Callable[[str, int, int], object]]


class LoadOptions(TypedDict, total=False):
    method: str  # of the model; else "forward"
    model: str  # which program of a .pt2 archive that holds several
    mappings: Paths  # files or folders of mapping rows; later ones win
    plugins: Paths  # shared libraries with handlers and rows
    frontend: Literal["auto", "native", "libtorch"]  # what reads TorchScript files
    gradients: bool  # what torch.is_grad_enabled() says in the model's code; else false
    op_libraries: Paths  # shared libraries that register custom operators
    op_modules: Union[str, Sequence[str]]  # Python modules that register custom operators
    libtorch: Path  # else that of this environment, or one that is found
    helper: Path  # the TorchScript helper program
    python: Path  # that runs models where there is no helper program; else this one
    run_in_process: Callable[[bytes, int], bytes]  # answers the requests of verify instead of a helper; given for objects of torch
    timeout_seconds: float  # for reading, and again for each step after it
    memory_mb: int
    progress: Progress  # True: a bar of tqdm; else called with (stage, done, total), where a total of 0 is unknown
    # The inputs of an nn.Module with which torch.export makes a program.
    example_inputs: Sequence[Any]
    example_kwargs: Mapping[str, Any]
    dynamic_shapes: Any


class ModelOptions(LoadOptions, total=False):
    inputs: Words  # {"x": "f32:N,3,224,224"}
    inputs_from: Path  # example inputs: a .pt or .npz file, or a folder of input_0.pb, …
    dims: Words  # sizes of named dimensions: {"N": 8}
    custom_opsets: Words  # versions of custom ONNX domains: {"com.acme": 2}
    inline_functions: bool
    export_type: Literal["onnx", "onnx-aten", "onnx-aten-fallback", "onnx-fallthrough", "raw"]
    state: Literal["refuse", "inputs-outputs"]
    complex_io: Literal["refuse", "pairs"]
    quantized_io: Literal["float", "int"]
    prefer: Literal["exact", "compact"]
    targets: Union[str, Sequence[str]]  # engines whose forms calls have: "tensorrt", "ort-cpu@1.31", a profile's file


FailOn = Literal["unconvertible", "missing", "conditional", "composite", "warning", "never"]


class CheckOptions(ModelOptions, total=False):
    fail_on: FailOn
    max_missing: int
    exit_zero: bool
    hash: bool  # fill `model.sha256`
    graph: bool  # fill `graph`


class WriteOptions(ModelOptions, total=False):
    input_names: Sequence[str]
    output_names: Sequence[str]
    external_data: Literal["auto", "always", "never"]
    keep_initializers_as_inputs: bool
    fold: bool
    optimize: bool


class ConvertOptions(WriteOptions, total=False):
    fail_on: FailOn


class VerifyOptions(WriteOptions, total=False):
    ort_library: Path  # else the onnxruntime of this environment, or one that is found
    ort_custom_ops: Paths
    fail_on: Literal["unconvertible", "mismatch", "missing", "conditional", "composite", "warning", "never"]
    rtol: float
    atol: float
    least_cosine: float
    seed: int
    runs: int
    bisect: bool
    repro: Path
    dump: Path
    memory: int  # bytes of intermediate values that are held at a time


class ReferenceOptions(TypedDict, total=False):
    mappings: Paths
    plugins: Paths
    op_libraries: Paths
    op_modules: Union[str, Sequence[str]]
    libtorch: Path
    python: Path
    model: Path  # for a scaffold of a custom operator: a model that calls it


_LEAST = {"timeout_seconds": sys.float_info.min, "memory_mb": 1, "max_missing": 0}


def fill(call: str, options: Mapping[str, Any], *structs: Any) -> None:
    """Sets each option in every struct that has it. None stands for an option that isn't given."""
    for name, value in options.items():
        holders = [struct for struct in structs if hasattr(struct, name)]
        if not holders:
            raise TypeError(f"{call}() got an unexpected keyword argument '{name}'")
        if value is None:
            continue
        for struct in holders:
            try:
                setattr(struct, name, _plain(value, isinstance(getattr(struct, name), list)))
            except TypeError:
                raise TypeError(f"{call}(): {name} can't be {value!r}") from None
        least = _LEAST.get(name)
        if least is not None and not least <= value < math.inf:
            bound = "above 0" if name == "timeout_seconds" else f"at least {least}"
            raise UsageError(f"{name} {value}: must be {bound}")


_LARGEST = 2**31 - 1  # of the library's numbers


def opsets_of(opset: Union[int, Iterable[int]]) -> list[int]:
    given = [opset] if isinstance(opset, int) else list(opset) if isinstance(opset, Iterable) else [opset]
    if isinstance(opset, str) or not all(isinstance(each, int) for each in given):
        raise TypeError(f"opset can't be {opset!r}: it is a number, a list of numbers or a range")
    if not given:
        raise UsageError("opset is an empty list")
    for each in given:
        if abs(each) > _LARGEST:
            raise UsageError(f"there is no opset {each}")
    return given


def _plain(value: Any, is_list: bool) -> Any:
    if not is_list:
        return value
    if isinstance(value, Mapping):
        return [f"{name}={each}" for name, each in value.items()]
    return [value] if isinstance(value, (str, os.PathLike)) else list(value)


def load_options(call: str, options: Mapping[str, Any], *structs: Any) -> _core.LoadOptions:
    """Those of the loader, while the others go to the structs."""
    load = _core.LoadOptions()
    fill(call, _surroundings("libtorch", "torch", options), load)
    own_helper = os.path.join(os.path.dirname(__file__), "libexec", "compatcheck-torchscript")
    if os.path.exists(own_helper) and "COMPATCHECK_HELPER" not in os.environ:
        fill(call, {"helper": own_helper}, load)
    elif not {"COMPATCHECK_HELPER", "COMPATCHECK_PYTHON"} & set(os.environ) and options.get("helper") is None and sys.executable:
        fill(call, {"python": sys.executable}, load)
    fill(call, options, load, *structs)
    return load


def verify_options(options: Mapping[str, Any]) -> _core.VerifyOptions:
    verify = _core.VerifyOptions()
    fill("verify", _surroundings("ort_library", "onnxruntime", options), verify)
    return verify


def _surroundings(option: str, package: str, options: Mapping[str, Any]) -> dict[str, str]:
    """Where this environment has the package: it need not be the active one, in which the library looks by itself."""
    import importlib.util

    variables = {"torch": ("COMPATCHECK_LIBTORCH", "LIBTORCH"), "onnxruntime": ("COMPATCHECK_ORT_LIBRARY",)}[package]
    found = importlib.util.find_spec(package)
    if options.get(option) is not None or any(os.environ.get(name) for name in variables) or not found or not found.origin:
        return {}
    folder = os.path.dirname(found.origin)
    if package == "torch" and not _is_supported_torch(folder):
        return {}
    return {option: folder}


def _is_supported_torch(folder: str) -> bool:
    series = ".".join(_core.torch_version.split(".")[:2]) + "."
    try:
        with open(os.path.join(folder, "version.py"), encoding="utf-8") as file:
            return any(line.startswith(f"__version__ = '{series}") for line in file)
    except OSError:
        return False
