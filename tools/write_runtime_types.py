"""Writes mappings/onnxruntime_types.yaml: the element types with which the installed ONNX Runtime's CPU provider runs each operator.

    python tools/write_runtime_types.py [OUT.yaml]

A model of one node is loaded for every operator, opset, type parameter and type, without optimizations, which might take the node
away. So types count that the runtime has no kernel for but runs by the operator's function, and half precision that it casts.
Where a model of one node doesn't load for another reason than its types, the runtime's own list of kernels decides.
tests/engines/check_runtime_types.py holds the table against the runtime.
"""
import collections
import pathlib
import sys

import onnx
import onnxruntime
from onnx import defs
from onnxruntime.capi import onnxruntime_pybind11_state as state

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests/engines"))
from check_ort import DTYPES, choices, one_node, runs_in_ort, types_of

LOWEST, HIGHEST = 7, 26
SHORT = {"bool": "bool", "int8": "i8", "uint8": "u8", "int16": "i16", "uint16": "u16", "int32": "i32", "uint32": "u32", "int64": "i64",
         "uint64": "u64", "bfloat16": "bf16", "float16": "f16", "float": "f32", "double": "f64"}
# The builder makes them with bodies or without tensors, and asks nothing of them.
LEFT_OUT = {"If", "Loop", "Scan", "SequenceMap", "Cast", "Constant", "StringNormalizer", "TfIdfVectorizer", "StringConcat", "StringSplit",
            "RegexFullMatch", "Optional", "OptionalGetElement", "OptionalHasElement", "ImageDecoder"}


def registered():
    """(operator, parameter) → [(first version, last version, types)]"""
    kernels = collections.defaultdict(list)
    for kernel in state.get_all_opkernel_def():
        if kernel.provider == "CPUExecutionProvider" and kernel.domain == "":
            for parameter, types in kernel.type_constraints.items():
                kernels[kernel.op_name, parameter].append((*kernel.version_range, set(types)))
    return kernels


KERNELS = registered()


def has_kernel(schema, parameter, dtype):
    """by the runtime's list: the last kernel of an operator serves the version that it is registered for alone"""
    return any((first == schema.since_version or last < 2147483647 and first <= schema.since_version <= last) and f"tensor({dtype})" in types
               for first, last, types in KERNELS[schema.name, parameter])


def schemas_at(opset):
    names = sorted({schema.name for schema in defs.get_all_schemas_with_history() if schema.domain == ""} - LEFT_OUT)
    for name in names:
        try:
            schema = defs.get_schema(name, opset, "")
        except defs.SchemaError:
            continue
        if not schema.deprecated:
            yield schema


def runs_with(schema, opset, chosen):
    """A function whose body depends on the call must run with the inputs that may be left out, too."""
    try:
        truth, _ = runs_in_ort(one_node(schema, opset, chosen))
        if truth == "yes" and schema.has_context_dependent_function and one_kind(schema):
            truth, _ = runs_in_ort(one_node(schema, opset, chosen, optional=True))
        return truth
    except ValueError:
        return "undecided"


def one_kind(schema):
    """whether the inputs that may be left out fit any others, as Clip's bounds do"""
    return len({formal.type_str for formal in schema.inputs}) == 1


def types_at(schema, opset):
    """parameter → types with which some model of one node loads"""
    runs, undecided = collections.defaultdict(set), collections.defaultdict(set)
    for chosen in choices(schema) or ():
        output_only = {f.type_str for f in schema.outputs} - {f.type_str for f in schema.inputs}
        if output_only and any(name in schema.attributes for name in ("to", "dtype")):
            chosen = {**chosen, "output_dtype": chosen[sorted(output_only)[0]]}
        truth = runs_with(schema, opset, chosen)
        for parameter, dtype in chosen.items():
            if parameter in (f.type_str for f in [*schema.inputs, *schema.outputs]):
                (runs if truth == "yes" else undecided if truth == "undecided" else collections.defaultdict(set))[parameter].add(dtype)
    for parameter, dtypes in undecided.items():
        runs[parameter] |= {dtype for dtype in dtypes - runs[parameter] if has_kernel(schema, parameter, dtype)}
    found = {}
    for constraint in schema.type_constraints:
        parameter = constraint.type_param_str
        if allowed := types_of(schema, parameter):
            found[parameter] = tuple(dtype for dtype in DTYPES if dtype in runs[parameter] and dtype in allowed)
    return found


def table(opsets=range(LOWEST, HIGHEST + 1)):
    """operator → [(first opset, last opset, {parameter: types})]"""
    onnxruntime.set_default_logger_severity(4)
    rows = collections.defaultdict(list)
    for opset in opsets:
        for schema in schemas_at(opset):
            found = types_at(schema, opset)
            last = rows[schema.name][-1] if rows[schema.name] else None
            if last and last[2] == found:
                rows[schema.name][-1] = (last[0], opset, found)
            else:
                rows[schema.name].append((opset, opset, found))
    return rows


def main():
    out = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "mappings/onnxruntime_types.yaml"
    lines = ["# The element types with which ONNX Runtime's CPU provider runs an operator, by opset: where it lacks one, the builder casts to a",
             "# wider type and back if no value changes by it.",
             f"# Written by tools/write_runtime_types.py with onnxruntime {onnxruntime.__version__}.", ""]
    for name, rows in sorted(table().items()):
        if not any(types for _, _, types in rows):
            continue
        lines.append(f"{name}:")
        for first, last, types in rows:
            spelled = ", ".join(f"{parameter}: [{', '.join(SHORT[dtype] for dtype in SHORT if dtype in dtypes)}]" for parameter, dtypes in sorted(types.items()))
            lines.append(f"  {first}-{last}: {{{spelled}}}")
    out.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
