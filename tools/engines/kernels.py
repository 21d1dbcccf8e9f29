"""The kernels that the installed ONNX Runtime lists for its CPU provider, as entries of a profile: versions and types.

A kernel's constraint that takes every type that ONNX's schema allows goes without saying. An optional is judged by the type of the
value that it holds.
"""
import collections

import onnx
from onnxruntime.capi import onnxruntime_pybind11_state as ort

from cases import DTYPES, HIGHEST, LOWEST

OPEN_END = 2147483647
EVERY = frozenset(DTYPES.values()) | {f"seq({name})" for name in DTYPES.values()}
ORDER = {name: place for place, name in enumerate(DTYPES.values())}
DOMAINS = ("", "ai.onnx.ml", "com.microsoft")


def spelled(types):
    """"tensor(float)" -> f32, "seq(tensor(float))" -> seq(f32); others are left out"""
    names = set()
    for name in types:
        inner = name.removeprefix("seq(").removeprefix("tensor(").rstrip(")")
        if inner in DTYPES and name.startswith(("tensor(", "seq(")):
            names.add(f"seq({DTYPES[inner]})" if name.startswith("seq(") else DTYPES[inner])
    return frozenset(names)


def in_order(names):
    return sorted(names, key=lambda name: (name.startswith("seq("), ORDER[name.removeprefix("seq(").rstrip(")")]))


def schemas_of(domain, name, versions):
    """the schemas of the operator that a kernel of these versions serves"""
    first, last = versions
    return [schema for schema in SCHEMAS[domain, name]
            if (first <= schema.since_version <= last if last < OPEN_END else first == schema.since_version)]


def holds_optionals_only(domain, name, parameter, versions):
    return all(each.startswith("optional(") for schema in schemas_of(domain, name, versions) for constraint in schema.type_constraints
               if constraint.type_param_str == parameter for each in constraint.allowed_type_strs)


def constraints(domain, name, kernel, versions):
    """what the kernel takes less than ONNX allows: {parameter: types}"""
    found = {}
    for parameter, types in kernel.items():
        supported = spelled(types)
        allowed = set()
        for schema in schemas_of(domain, name, versions):
            for constraint in schema.type_constraints:
                if constraint.type_param_str == parameter:
                    allowed |= spelled(constraint.allowed_type_strs)
            for formal in [*schema.inputs, *schema.outputs]:
                if formal.name == parameter:
                    allowed |= spelled(formal.types)
        if holds_optionals_only(domain, name, parameter, versions) and all(each.startswith("optional(") for each in types):
            continue  # follows from the value that it holds
        if not allowed or not allowed <= supported:
            found[parameter] = supported
    return found


def positions(name, kernel):
    """of a domain whose schemas onnx lacks: by the places of its inputs and outputs"""
    schema = CONTRIB[name]
    places = {}
    for side, formals in (("inputs", schema.inputs), ("outputs", schema.outputs)):
        for place, formal in enumerate(formals):
            if formal.typeStr in kernel:
                places[f"{side}.{place}"] = spelled(kernel[formal.typeStr])
    return places


def merged(kernels):
    """kernels that differ in one constraint are one"""
    kernels = [dict(kernel) for kernel in kernels]
    again = True
    while again:
        again = False
        for i, one in enumerate(kernels):
            for j in range(i + 1, len(kernels)):
                other = kernels[j]
                if one.keys() != other.keys():
                    continue
                differing = [key for key in one if one[key] != other[key]]
                if len(differing) <= 1:
                    for key in differing:
                        one[key] = one[key] | other[key]
                    del kernels[j]
                    again = True
                    break
            if again:
                break
    return kernels


def merged_positions(kernels):
    """the same where several places have one type parameter: equal changes count as one"""
    groups = collections.OrderedDict()
    for kernel in kernels:
        groups.setdefault(tuple(sorted((key, tuple(in_order(value))) for key, value in kernel.items())), kernel)
    return list(groups.values())


def flow(types):
    return "{" + ", ".join(f"{key}: {listed(value)}" for key, value in types.items()) + "}"


def listed(supported):
    lacking = EVERY - supported
    short = lacking if len(lacking) < len(supported) else supported
    text = f"[{', '.join(in_order(short))}]"
    return f"{{not: {text}}}" if short is lacking else text


def ranges(by_versions):
    """closed ranges that follow each other and say the same are one"""
    joined = []
    for (first, last), found in sorted(by_versions.items()):
        if joined and last < OPEN_END and joined[-1][0][1] + 1 == first and joined[-1][1] == found:
            joined[-1] = ((joined[-1][0][0], last), found)
        else:
            joined.append(((first, last), found))
    return joined


def entries(domain, name, kernels):
    by_versions = collections.defaultdict(list)
    for versions, kernel in kernels:
        if domain == "" and not reachable(name, versions):
            continue
        if domain in ("", "ai.onnx.ml"):
            by_versions[versions].append(constraints(domain, name, kernel, versions))
        else:
            by_versions[versions].append(positions(name, kernel))
    lines = {}
    for versions, found in by_versions.items():
        supported = merged(found) if domain != "com.microsoft" else merged_positions(found)
        lines[versions] = [f", types: {flow(types)}" if types else "" for types in supported if all(types.values())]
        if not lines[versions]:
            lines[versions] = [', unknown: "of its types this profile knows none"']
    return [f"{{versions: {first if last == OPEN_END else f'{first}-{last}'}{types}}}"
            for (first, last), found in ranges(lines) for types in dict.fromkeys(found)]


def reachable(name, versions):
    """whether a model of opset 7 to HIGHEST has a version of the operator that the kernel serves"""
    served = {schema.since_version for schema in schemas_of("", name, versions)}
    in_force = set()
    for opset in range(LOWEST, HIGHEST + 1):
        in_force.add(max((s.since_version for s in SCHEMAS["", name] if s.since_version <= opset), default=0))
    return bool(served & in_force)


def by_operator():
    """{(domain, name): entries as text}"""
    kernels = collections.defaultdict(list)
    for kernel in ort.get_all_opkernel_def():
        if kernel.provider == "CPUExecutionProvider" and kernel.domain in DOMAINS:
            kernels[kernel.domain, kernel.op_name].append((tuple(kernel.version_range), kernel.type_constraints))
    return {key: found for key in sorted(kernels) if (found := entries(*key, kernels[key]))}


SCHEMAS = collections.defaultdict(list)
for known in onnx.defs.get_all_schemas_with_history():
    SCHEMAS[known.domain, known.name].append(known)
CONTRIB = {schema.name: schema for schema in ort.get_all_operator_schema() if schema.domain == "com.microsoft"}
