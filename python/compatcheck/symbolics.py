"""Symbolic functions that people wrote for PyTorch's exporter, as mapping rows."""
from __future__ import annotations

import importlib
import json
from types import ModuleType
from typing import Any, Callable, Iterator, NamedTuple, Sequence, Union

from .report import Report

# How PyTorch's exporter marks the kind of an attribute: alpha_f.
_KINDS = {"f": "float", "i": "int", "s": "string"}
# The schema's type for each letter of parse_args.
_TYPES = {"v": "Tensor", "t": "Tensor", "i": "int", "f": "float", "b": "bool", "s": "str", "is": "int[]", "fs": "float[]"}


class Symbolic(NamedTuple):
    """One registration. `row`: an entry of a mapping file, or empty where `reason` says why there is none."""

    op: str
    opset: int
    function: str
    row: str = ""
    reason: str = ""
    schema: str = ""  # beside the row, where no library states one

    def settles(self, report: Report) -> bool:
        """Whether the report calls the operator unconvertible at an opset that the function is registered for."""
        return report.opset >= self.opset and any(_base(each.op) == self.op and each.blocked > 0 for each in report.operators)


class Symbolics(Sequence[Symbolic]):
    """What a module registers, by operator and opset."""

    def __init__(self, entries: Sequence[Symbolic]) -> None:
        self._entries = tuple(entries)

    def __getitem__(self, place: Any) -> Any:
        return self._entries[place]

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[Symbolic]:
        return iter(self._entries)

    def settle(self, report: Report) -> list[Symbolic]:
        """Those that a finding of the report waits for."""
        return [each for each in self if each.settles(report)]

    @property
    def mappings(self) -> str:
        """A mapping file with the rows that could be written: for `mappings=` and `--mappings`."""
        operators: dict[str, list[Symbolic]] = {}
        for each in self:
            operators.setdefault(each.op, []).append(each)
        return "".join(_entry(op, each) for op, each in operators.items() if any(one.row for one in each))


def _entry(op: str, symbolics: list[Symbolic]) -> str:
    """The rows of an operator. One that can't be written ends those before it."""
    first = next(place for place, each in enumerate(symbolics) if each.row)
    text = f"{op}:\n{symbolics[first].schema}  # facts: same      add this if the result has the dtype and shape of the first argument\n"
    for each in symbolics[first:]:
        text += each.row or f"  {max(each.opset, 7)}: {{missing: {json.dumps(f'{each.function} {each.reason}')}}}\n"
    return text


def symbolics(module: Union[str, ModuleType]) -> Symbolics:
    """Imports a module that registers symbolic functions for PyTorch's exporter, and reads what it registers.

    A function whose result is one `g.op` call becomes a mapping row. Needs torch.
    """
    before = _registered()
    imported = importlib.import_module(module) if isinstance(module, str) else module
    found = {key: function for key, function in _registered().items() if before.get(key) is not function or _of(function, imported)}
    return Symbolics([_read(op, opset, function) for (op, opset), function in sorted(found.items(), key=lambda item: item[0])])


def _of(function: Callable[..., Any], module: ModuleType) -> bool:
    import inspect

    return bool(getattr(inspect.unwrap(function), "__module__", None) == module.__name__)


def _base(op: str) -> str:
    return op.split(".")[0]


def _registered() -> dict[tuple[str, int], Callable[..., Any]]:
    from torch.onnx._internal.torchscript_exporter import registration

    found: dict[tuple[str, int], Callable[..., Any]] = {}
    for name in registration.registry.all_functions():
        group = registration.registry.get_function_group(name)
        overrides = getattr(getattr(group, "_functions", None), "_overrides", {})
        found.update({(name, opset): function for opset, function in overrides.items()})
    return found


class _NotOneCall(Exception):
    pass


class _Value:
    """Stands for an argument, or for a result of a call."""

    def __init__(self, name: str, kind: str = "") -> None:
        self.name = name
        self.kind = kind  # as parse_args says: "is"

    def __getattr__(self, name: str) -> Any:
        raise _NotOneCall(f"reads {self.name}.{name}")

    def _used(self, *_: Any) -> Any:
        raise _NotOneCall(f"computes with the value of {self.name}")

    __eq__ = __ne__ = __contains__ = __hash__ = __str__ = __format__ = _used
    __bool__ = __int__ = __float__ = __index__ = __len__ = __iter__ = __getitem__ = _used
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __neg__ = __lt__ = __gt__ = __le__ = __ge__ = _used


class _Call(NamedTuple):
    name: str
    inputs: tuple[Any, ...]
    attributes: dict[str, Any]
    result: _Value


class _Graph:
    """What a symbolic function gets as its first argument: it takes calls down."""

    def __init__(self, opset: int) -> None:
        self.opset = opset
        self.calls: list[_Call] = []

    def op(self, name: str, *inputs: Any, outputs: int = 1, **attributes: Any) -> Any:
        if outputs != 1:
            raise _NotOneCall(f"{name} has {outputs} results")
        result = _Value(f"the result of {name}")
        self.calls.append(_Call(name, inputs, attributes, result))
        return result

    def __getattr__(self, name: str) -> Any:
        raise _NotOneCall(f"uses g.{name}")


def _read(op: str, opset: int, function: Callable[..., Any]) -> Symbolic:
    import inspect

    plain = inspect.unwrap(function)  # without parse_args, which wants values of the exporter
    name = f"{plain.__module__}.{plain.__qualname__}"
    try:
        graph = _Graph(opset)
        parameters = list(inspect.signature(plain).parameters.values())[1:]
        if any(each.kind not in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD) for each in parameters):
            raise _NotOneCall("takes *args or arguments by keyword alone")
        if any(each.default is not each.empty for each in parameters):
            raise _NotOneCall("has arguments with defaults, which only a schema can state")
        names, schema = _signature(op, [each.name for each in parameters], getattr(function, "_arg_descriptors", ()))
        kinds = [*getattr(function, "_arg_descriptors", ()), *[""] * len(names)]
        arguments = [_Value(argument, kind) for argument, kind in zip(names, kinds)]
        row = _row(opset, graph, plain(graph, *arguments), arguments)
        _refuse_cases_of_none(plain, graph, arguments)
        return Symbolic(op, opset, name, row=row, schema=schema)
    except _NotOneCall as why:
        return Symbolic(op, opset, name, reason=str(why))
    except Exception as error:
        return Symbolic(op, opset, name, reason=f"fails outside of the exporter: {error}")


def _refuse_cases_of_none(plain: Callable[..., Any], graph: _Graph, arguments: list[_Value]) -> None:
    """`x is None` can't be seen in one call: with None for each argument in turn, the node must be the same."""
    for place in range(1, len(arguments)):
        other = _Graph(graph.opset)
        given: list[Any] = list(arguments)
        given[place] = None
        try:
            plain(other, *given)
        except Exception:
            continue  # None isn't meant to be given
        (call,) = graph.calls
        alike = len(other.calls) == 1 and other.calls[0].name == call.name and len(other.calls[0].inputs) == len(call.inputs)
        if not alike or set(other.calls[0].attributes) != set(call.attributes):
            raise _NotOneCall(f"depends on whether {arguments[place].name} is None")


def _signature(op: str, parameters: list[str], kinds: Sequence[str]) -> tuple[list[str], str]:
    """The schema's names of the arguments, which rows use and the function may not; and a schema, if no library states one."""
    import torch

    schemas = torch._C._jit_get_schemas_for_operator(op)
    for schema in schemas:
        if len(schema.arguments) == len(parameters):
            return [argument.name for argument in schema.arguments], ""
    if schemas:
        raise _NotOneCall(f"takes {len(parameters)} arguments, as no overload of {op} does")
    types = [_TYPES.get(kind, "Any") for kind in kinds] + ["Any"] * (len(parameters) - len(kinds))
    arguments = ", ".join(f"{kind} {name}" for kind, name in zip(types, parameters))
    return parameters, f'  schema: "{op}({arguments}) -> Tensor"\n'


def _row(opset: int, graph: _Graph, result: object, arguments: list[_Value]) -> str:
    if len(graph.calls) != 1 or result is not graph.calls[0].result:
        raise _NotOneCall(f"makes {len(graph.calls)} calls of g.op: write the row by hand, with `inline`")
    call = graph.calls[0]
    for value in call.inputs:
        if not any(value is argument for argument in arguments):
            raise _NotOneCall(f"gives {call.name} an input that isn't an argument")
    inputs = ", ".join(value.name for value in call.inputs)
    attributes = ", ".join(_attribute(call.name, key, value) for key, value in call.attributes.items())
    name = call.name.removeprefix("onnx::")
    return f"  {max(opset, 7)}: {{to: {json.dumps(name)}, inputs: [{inputs}]" + (f", attributes: {{{attributes}}}" if attributes else "") + "}\n"


def _attribute(call: str, key: str, value: object) -> str:
    name, _, mark = key.rpartition("_")
    several = isinstance(value, (list, tuple))
    if mark not in _KINDS or not name:
        raise _NotOneCall(f"gives {call} the attribute {key}, which a row can't hold")
    if isinstance(value, _Value):
        kind = _KINDS[mark] + ("s" if value.kind in ("is", "fs") else "")
        return f"{name}: {{{kind}: {value.name}}}"
    if any(isinstance(each, _Value) for each in (value if several else [value])):  # type: ignore[attr-defined]
        raise _NotOneCall(f"gives {call} a list that arguments are part of")
    if mark == "s":
        return f"{name}: {{constant: {json.dumps(value)}}}"
    numbers = [float(each) if mark == "f" else int(each) for each in (value if several else [value])]  # type: ignore[attr-defined]
    return f"{name}: {json.dumps(numbers if several else numbers[0])}"
