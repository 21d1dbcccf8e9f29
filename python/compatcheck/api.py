"""The calls of the package."""
from __future__ import annotations

import json
import os
from typing import Iterable, Mapping, Union, overload

from . import _core
from .errors import NotConvertible, UsageError
from .models import AnyModel, loaded
from .options import CheckOptions, ConvertOptions, LoadOptions, Path, ReferenceOptions, VerifyOptions, fill, opsets_of, verify_options
from .progress import shown
from .record import Record
from .report import Report, Reports, Verification

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sys

    if sys.version_info >= (3, 11):
        from typing import Literal, Unpack
    else:
        from typing_extensions import Literal, Unpack


def load(model: AnyModel, /, **options: Unpack[LoadOptions]) -> _core.Model:
    """Reads a model once, for several calls."""
    return loaded("load", model, options)


@overload
def check(model: AnyModel, /, opset: Union[int, None] = None, **options: Unpack[CheckOptions]) -> Report: ...
@overload
def check(model: AnyModel, /, opset: Iterable[int], **options: Unpack[CheckOptions]) -> Reports: ...
def check(
    model: AnyModel, /, opset: Union[int, Iterable[int], None] = None, **options: Unpack[CheckOptions]
) -> Union[Report, Reports]:
    """Classifies every operator of a model.

    `opset`: one, a list, or a range, of which one opset is enough for the exit code; 17 if there is none, or the own one of an
    .onnx file. Such a file is also held against `targets`.
    """
    settings = _core.CheckOptions()
    graph = options.get("graph", False)
    file = _onnx_file(model)
    if file is not None:
        fill("check", {name: value for name, value in options.items() if name != "progress"}, _core.LoadOptions(), settings)
        opsets = [] if opset is None else opsets_of(opset)
        with shown(options.get("progress", False)) as progress:
            texts = _core.check_onnx(file, opsets, isinstance(opset, range), settings, progress)
        reports = [Report(text, graph=graph) for text in texts]
        return reports[0] if opset is None or isinstance(opset, int) else Reports(reports)
    opset = 17 if opset is None else opset
    read = loaded("check", model, options, settings)
    fill("check", {"graph": True}, settings)  # which the page of to_html() draws
    opsets = opsets_of(opset)
    with shown(options.get("progress", False)) as progress:
        reports = [Report(text, graph=graph) for text in _core.check(read, opsets, isinstance(opset, range), settings, progress)]
    return reports[0] if isinstance(opset, int) else Reports(reports)


def convert(
    model: AnyModel, /, output: Union[Path, None] = None, opset: Union[int, None] = None, **options: Unpack[ConvertOptions]
) -> Report:
    """Writes the ONNX model to a file, or without one into `onnx` of the report. Raises NotConvertible where it can't.

    `opset`: 17 if there is none, or the own one of an .onnx file, which is written to a file only.
    """
    settings = _core.ConvertOptions()
    file = _onnx_file(model)
    if file is not None:
        if output is None:
            raise UsageError("an .onnx file is written to a file only: name the output")
        fill("convert", {name: value for name, value in options.items() if name != "progress"}, _core.LoadOptions(), settings)
        with shown(options.get("progress", False)) as progress:
            text, written, onnx = *_core.convert_onnx(file, output, opset, settings, progress), None
        return _converted(Report(text, written=written, onnx=onnx))
    read = loaded("convert", model, options, settings)
    fill("convert", {"opset": 17 if opset is None else opset}, settings)
    with shown(options.get("progress", False)) as progress:
        text, written, onnx = _core.convert(read, output, settings, progress)
    return _converted(Report(text, written=written, onnx=onnx))


def _onnx_file(model: AnyModel) -> Union[Path, None]:
    return model if isinstance(model, (str, os.PathLike)) and os.fspath(model).endswith(".onnx") else None


def _converted(report: Report) -> Report:
    if report.written is None:
        raise NotConvertible(report)
    return report


def verify(
    model: AnyModel, /, onnx: Union[Path, None] = None, opset: int = 17, **options: Unpack[VerifyOptions]
) -> Verification:
    """Runs PyTorch and ONNX Runtime on the same inputs: of this ONNX file, or of the model that `convert` would write.

    If `model` is an .onnx file too, both files run in ONNX Runtime.
    """
    settings, conversion = verify_options(options), _core.ConvertOptions()
    file = _onnx_file(model)
    if onnx is not None and file is not None:
        others = {name: value for name, value in options.items() if name not in ("progress", "fail_on")}
        fill("verify", others, _core.LoadOptions(), settings, conversion)
        fill("verify", {"convert": conversion, "fail_on": options.get("fail_on")}, settings)
        with shown(options.get("progress", False)) as progress:
            return Verification(_core.verify_onnx(file, onnx, settings, progress))
    read = loaded("verify", model, {name: value for name, value in options.items() if name != "fail_on"}, settings, conversion)
    fill("verify", {"opset": opset}, conversion)
    fill("verify", {"convert": conversion, "fail_on": options.get("fail_on")}, settings)
    with shown(options.get("progress", False)) as progress:
        return Verification(_core.verify(read, onnx, settings, progress))


class Operator(Record):
    """What an operator becomes at an opset; one with several rows has one of these for each."""

    op: str
    operator_class: str
    verified: bool
    result: str
    when: str
    since: int | None
    available_from: int | None
    _names = {"class": "operator_class"}


def ops(*operators: str, opset: int = 17, **options: Unpack[ReferenceOptions]) -> list[Operator]:
    """The mapping tables: these operators, with or without "aten::", or all."""
    settings = _reference("ops", {**options, "opset": opset, "format": "json"})
    return [Operator(each) for each in json.loads(_core.describe_operators(operators, settings))["operators"]]


def explain(
    subject: str,
    /,
    *,
    opset: Union[int, None] = None,
    format: Literal["text", "json", "markdown"] = "text",
    scaffold: Union[Literal["yaml", "inline", "plugin"], None] = None,
    **options: Unpack[ReferenceOptions],
) -> str:
    """The page of a rule ("CC005"), an operator ("aten::gelu") or an engine ("tensorrt"); a mapping file or plugin to start from."""
    return _core.explain(subject, _reference("explain", {**options, "opset": opset, "format": format, "scaffold": scaffold}))


def _reference(call: str, options: Mapping[str, object]) -> _core.ReferenceOptions:
    settings = _core.ReferenceOptions()
    fill(call, options, settings)
    return settings
