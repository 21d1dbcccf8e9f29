#!/usr/bin/env python3
"""Calls with arguments that PyTorch itself refuses are never convertible, and what it takes is never called refused by it: calls
with one number, size or dtype changed, run in PyTorch and given to the program as graphs."""
import argparse, itertools, json, pathlib, re, subprocess, sys, tempfile

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "convert"))
import days
from arguments import CALLS, OF_DTYPES, OF_SIZES

INTEGERS = [-2, -1, 0, 1, 2, 3, 5, 9]
FLOATS = [-1.0, 0.0, 0.01, 0.5, 3.0]
DTYPES = [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.bool]
# Refused by the kernels of this machine, not by others'.
ONLY_HERE = re.compile("not implemented for '(Half|BFloat16)'")


def changed(value):
    """Other values for an int, a float or a list of them: of each member, of all, and of the length."""
    if isinstance(value, bool):
        return
    if isinstance(value, (int, float)):
        yield from INTEGERS if isinstance(value, int) else FLOATS
    elif isinstance(value, list) and value:
        others = INTEGERS if isinstance(value[0], int) else FLOATS
        for at, other in itertools.product(range(len(value)), others):
            yield value[:at] + [other] + value[at + 1:]
        for other in others:
            yield [other] * len(value)
        yield value[:-1]
        yield value + value[-1:]


def other_sizes(value):
    """Other tensors for one: a dimension more, fewer or longer, or none."""
    if isinstance(value, torch.Tensor):
        sizes = list(value.shape)
        others = [sizes[1:], sizes[:-1], [1, *sizes], [2, *sizes], []]
        others += [sizes[:at] + [other] + sizes[at + 1:] for at in range(len(sizes)) for other in (1, sizes[at] + 1)]
        for other in others:
            yield value.new_zeros(other)


def with_dtypes(arguments):
    """The same call in other dtypes: all tensors of floats, each one, and all but the first."""
    def cast(value, dtype):
        if isinstance(value, list):
            return [cast(member, dtype) for member in value]
        return value.to(dtype) if isinstance(value, torch.Tensor) and value.is_floating_point() else value

    places = [at for at, value in enumerate(arguments) if cast(value, torch.float64) is not value]
    for dtype in DTYPES:
        yield [cast(value, dtype) for value in arguments]
    for first, second in itertools.permutations(DTYPES[:-1], 2):
        for changed in [[at] for at in places] + ([places[1:]] if len(places) > 2 else []):
            yield [cast(value, second if at in changed else first) for at, value in enumerate(arguments)]


def cases():
    for name, arguments in CALLS + OF_SIZES:
        for at, value in enumerate(arguments):
            for other in [value, *changed(value)] if at else [value]:
                yield name, arguments[:at] + [other] + arguments[at + 1:]
    for name, arguments in OF_SIZES:
        for at, value in enumerate(arguments):
            for other in other_sizes(value):
                yield name, arguments[:at] + [other] + arguments[at + 1:]
    for name, arguments in OF_DTYPES:
        for other in with_dtypes(arguments):
            yield name, other


def operator(name):
    packet, _, overload = name.partition(".")
    return getattr(getattr(torch.ops.aten, packet), overload or "default")


def call_torch(name, arguments):
    """What PyTorch says against the call, or None and its results."""
    function = operator(name)
    positional = [a for a in function._schema.arguments if not a.kwarg_only]
    keywords = {a.name: value for a, value in zip(function._schema.arguments[len(positional):], arguments[len(positional):])}
    try:
        results = function(*arguments[:len(positional)], **keywords)
        return None, results if isinstance(results, (tuple, list)) else (results,)
    except (RuntimeError, ValueError, IndexError, TypeError) as error:
        return str(error).splitlines()[0], ()


def tensor_type(tensor):
    dtype = {torch.float32: "Float", torch.float64: "Double", torch.float16: "Half", torch.bfloat16: "BFloat16", torch.int64: "Long",
             torch.bool: "Bool"}[tensor.dtype]
    return f"{dtype}({', '.join(map(str, tensor.shape))})"


def graph(name, arguments):
    inputs, lines, values = [], [], []

    def constant(value):
        kind = {int: "int", float: "float", bool: "bool", str: "str", type(None): "NoneType"}[type(value)]
        spelled = {bool: lambda: str(int(value)), str: lambda: f'"{value}"', type(None): lambda: None}.get(
            type(value), lambda: repr(value)
        )()
        lines.append(f"  %c{len(lines)} : {kind} = prim::Constant{f'[value={spelled}]' if spelled else ''}()")
        return f"%c{len(lines) - 1}"

    def made(value):
        if not isinstance(value, torch.Tensor):
            return constant(value)
        inputs.append(f"%x{len(inputs)} : {tensor_type(value)}")
        return inputs[-1].split()[0]

    for value, argument in zip(arguments, operator(name)._schema.arguments):
        if isinstance(value, torch.Tensor):
            values.append(made(value))
        elif isinstance(value, list):
            kind = "Tensor" if "Tensor" in str(argument.type) else "float" if "float" in str(argument.type) else "int"
            members = ", ".join([made(member) for member in value])
            lines.append(f"  %c{len(lines)} : {kind}[] = prim::ListConstruct({members})")
            values.append(f"%c{len(lines) - 1}")
        else:
            values.append(constant(value))
    types = ["Tensor[]" if "List" in str(result.type) else "Tensor" for result in operator(name)._schema.returns]
    results = len(types)
    outputs = ", ".join(f"%y{i} : {kind}" for i, kind in enumerate(types))
    call = f"  {outputs} = aten::{name.partition('.')[0]}({', '.join(values)})"
    return "\n".join([f"graph({', '.join(inputs)}):", *lines, call, f"  return ({', '.join(f'%y{i}' for i in range(results))})", ""])


def spell(name, arguments):
    def one(value):
        if isinstance(value, list):
            return f"[{', '.join(map(one, value))}]"
        return tensor_type(value) if isinstance(value, torch.Tensor) else repr(value)

    return f"{name}({', '.join(map(one, arguments))})"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    parser.add_argument("--whole", action="store_true", help="all calls, not those of the day")
    options = parser.parse_args()
    calls = list(cases()) if options.whole else days.part_of_the_day(cases(), "check_arguments", 4)
    with tempfile.TemporaryDirectory() as folder:
        for at, call in enumerate(calls):
            pathlib.Path(folder, f"{at:05}.ir").write_text(graph(*call))
        run = subprocess.run([options.program, folder, "--opset", "18", "--format", "jsonl"], capture_output=True, text=True, timeout=600)
    reports = [json.loads(line) for line in run.stdout.splitlines()]
    if len(reports) != len(calls):
        raise SystemExit(f"{len(reports)} reports of {len(calls)} graphs: {run.stderr[-2000:]}")
    wrong, refused = [], 0
    for call, report in zip(calls, reports):
        refusal, results = call_torch(*call)
        if refusal and ONLY_HERE.search(refusal):
            continue
        refused += refusal is not None
        empty = any(result.numel() == 0 for result in results)  # some kernels of PyTorch refuse that, some don't
        if "error" in report:
            wrong.append(f"{spell(*call)}: {report['error']['message']}")
            continue
        ours = [f["message"] for f in report["findings"] if "PyTorch refuses" in f["message"]]
        if refusal and report["verdict"] == "yes":
            wrong.append(f"{spell(*call)}: PyTorch says \"{refusal}\"; we convert it")
        elif not refusal and ours and not empty:
            wrong.append(f"{spell(*call)}: PyTorch takes it; we say {ours[0]}")
    print(*wrong, sep="\n")
    print(f"{len(calls)} calls, {refused} of them refused by PyTorch: {len(calls) - len(wrong)} passed, {len(wrong)} failed")
    return 1 if wrong or not refused else 0


if __name__ == "__main__":
    sys.exit(main())
