"""The opsets at which an operator's rows change: what holds at them holds at all others."""
import functools, pathlib, sys

import yaml

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "convert"))
from days import OPSETS, opset_of_the_day

MAPPINGS = HERE.parents[1] / "mappings"


def row_files():
    """Those of PyTorch's operators, and those of libraries."""
    return sorted(file for folder in ("operators", "libraries") for file in (MAPPINGS / folder).glob("*.yaml"))


@functools.cache
def history():
    """operator → the opsets from which on another entry of its rows holds"""
    rows = {name: row for file in row_files() for name, row in (yaml.load(file.read_text(), yaml.CSafeLoader) or {}).items()}

    def entries(name):
        row = rows.get(name)
        if isinstance(row, dict) and "alias" in row:
            return entries(row["alias"])
        return {opset for opset in row if isinstance(opset, int)} if isinstance(row, dict) else set()

    return {name: entries(name) for name in rows}


def starts(names):
    """The opsets from which on another entry holds of a row of these operators, whatever its overload; in place, too."""
    wanted = {name.partition(".")[0] for name in names}
    wanted |= {name.removesuffix("_") for name in wanted}
    return {opset for row, opsets in history().items() if row.partition(".")[0] in wanted for opset in opsets if opset in OPSETS}


@functools.cache
def elsewhere():
    """file → the operators that it tests in place of a line"""
    return {file: entry["operators"] for file, entry in yaml.safe_load((HERE / "elsewhere.yaml").read_text()).items()}


def deciding(operators, name):
    """Of operators with or without overloads: before and from each change, the ends, and one of the day."""
    found = {OPSETS[0], 17, OPSETS[-1], opset_of_the_day(name)}
    for operator in operators:
        for row in {operator, operator.partition(".")[0]}:
            found |= {opset for start in history().get(row, ()) for opset in (start - 1, start)}
    return sorted(opset for opset in found if opset in OPSETS)
