"""Writes the profile of an engine that is installed, by asking it: mappings/engines/ort-cpu.yaml, mappings/engines/openvino.yaml.

    python tools/write_profile.py ort-cpu|openvino [OUT.yaml] [--only OPERATOR,…]

tools/engines/cases.py makes thousands of models of one node, from ONNX's node tests. Each is loaded and run in a child process, and its
results are compared with ONNX's own. What has no result that is right isn't supported; tools/engines/conditions.py finds what calls that
fail have in common. The versions and types of ort-cpu are those of its list of kernels. With --only, prints the entries of these
operators.
"""
import argparse
import collections
import datetime
import functools
import importlib.metadata
import pathlib
import sys

import numpy as np
import onnx
from onnx import defs, helper

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "engines"))
import cases  # noqa: E402
import conditions  # noqa: E402
import runtimes  # noqa: E402

# What makes calls that look the same differ, where a look at them has shown it.
WORDS = {
    ("openvino", "Cast"): "infinities may become the largest finite number",
    ("openvino", "CastLike"): "infinities may become the largest finite number",
    ("ort-cpu", "Cast"): "it may round in another way than ONNX",
    ("ort-cpu", "CastLike"): "it may round in another way than ONNX",
    ("openvino", "NonMaxSuppression"): "a box that overlaps by the threshold itself may be left out",
    ("openvino", "MaxPool"): "with ceil_mode, a window that would begin behind the input may count",
    ("openvino", "Resize"): "with scales that don't give whole sizes, results differ from ONNX's",
    ("ort-cpu", "Resize"): "with scales that don't give whole sizes, results differ from ONNX's",
    ("ort-cpu", "StringNormalizer"): "it needs the locale that the node names",
}
# The calls in doubt, where features say it too widely.
CLOSER = {"Resize": "when: {coordinate_transformation_mode: align_corners, scales: {none: false, not: {each: [1, 2, 3, 4, 8, 16]}}}"}
OF_THE_MACHINE = {("ort-cpu", "StringNormalizer")}   # its failures say nothing of another one
# Kernels of the plugin beside those of ONNX's own operators, which no case covers.
WEBGPU_CONTRIB = {f"com.microsoft::{name}": ['{versions: 1-1, note: "its results weren\'t compared"}'] for name in (
    "Attention", "BiasAdd", "BiasSplitGelu", "FastGelu", "FusedConv", "GatherBlockQuantized", "Gelu",
    "GroupQueryAttention", "MatMulNBits", "MultiHeadAttention", "QuickGelu", "RotaryEmbedding", "SkipLayerNormalization",
    "SkipSimplifiedLayerNormalization")}
SLOW = {"ort-webgpu"}
NO_F16 = "requires f16 but the device does not support it"
NO_TRANSLATOR = "No conversion rule found"
WRONG = "its results aren't ONNX's"
UNSETTLED = "some calls of this kind fail or give other values"


# ---- asking

def asked(engine, only):
    """(operator, version) -> Calls, in the order of the cases"""
    found = collections.defaultdict(list)
    with runtimes.Trials(engine) as trials:
        all_cases = cases.all_cases(only)
        for what, case in cases.few(all_cases) if engine in SLOW else all_cases:
            outcome, why = judged(engine, *trials(case.trial()))
            found[case.node.op_type, case.schema.since_version].append(conditions.Call(what, case, outcome, why))
    return found


def judged(engine, outcome, why):
    """what the software adapter lacks says nothing of others"""
    return (runtimes.RIGHT, "") if engine == "ort-webgpu" and NO_F16 in why else (outcome, why)


def loads(engine, opset, ir):
    value = lambda name: helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [1])
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", [value("x")], [value("y")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=ir)
    return probes(engine)(runtimes.Trial(model.SerializeToString(), {"x": np.zeros(1, np.float32)}, None))[0] == runtimes.RIGHT


@functools.cache
def bare(engine, domain, name):
    """what the runtime says of a node without anything"""
    value = lambda text: helper.make_tensor_value_info(text, onnx.TensorProto.FLOAT, [1])
    graph = helper.make_graph([helper.make_node(name, ["x"], ["y"], domain=domain)], "g", [value("x")], [onnx.ValueInfoProto(name="y")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21), helper.make_opsetid(domain or "com.example", 1)], ir_version=10)
    return probes(engine)(runtimes.Trial(model.SerializeToString(), {}, None))[1]


@functools.cache
def probes(engine):
    return runtimes.Trials(engine)


# ---- entries

def limits(engine, op, calls):
    """the texts of entries that decide, and the types that fail"""
    exclusions, left = conditions.learn(calls) if (engine, op) not in OF_THE_MACHINE else ([], [call for call in calls if not call.passed])
    texts, pairs, types = [], [], collections.defaultdict(set)
    ranks = collections.defaultdict(list)
    for some in exclusions:
        (kind, name), value = some[0]
        if len(some) == 1 and kind == "type":
            types[name].add(value)
        elif len(some) == 1 and kind == "rank":
            ranks[name].append(value)
        else:
            pairs.append(some)
    for some in conditions.grouped(pairs):
        # What is named in a model is less than in a trial.
        of_values = (engine, op) in WORDS and "f64" in str(some) and reason(calls, some) == WRONG
        word = "uncertain" if of_values or any(one[0][0] == "named" for one in some) else "no"
        words = WORDS[engine, op] if of_values else f"{conditions.described(some)}, {reason(calls, some)}"
        texts.append((conditions.spelled(some, calls), f'{word}: "{words}"'))
    for name, values in ranks.items():
        why = reason(calls, [(("rank", name), values[0])])
        texts.append((f"when: {{{name}: {{none: false, rank: {sorted(values)}}}}}", f'no: "with {name} of such a rank, {why}"'))
    if left and op in CLOSER:
        texts.append((CLOSER[op], f'uncertain: "{WORDS.get((engine, op), UNSETTLED)}"'))
        if engine == "openvino":
            texts.append(("when: {coordinate_transformation_mode: align_corners, scales: {none: false, constant: false}}", f'no: "{WORDS[engine, op]}"'))
        left = []
    for some in conditions.unsettled(calls, left):
        # Infinities of small floats are ordinary; a computed axis of DFT is rare, and mostly wrong.
        word = "no" if op == "DFT" or any(str(value).startswith(("f8", "f4")) for _, value in some) else "uncertain"
        texts.append((conditions.spelled(some, calls), f'{word}: "{WORDS.get((engine, op), UNSETTLED)}"'))
    return texts, types


def reason(calls, some):
    """how the calls with these features fail"""
    failing = [call for call in calls if not call.passed and all(
        call.features.get(key) == value or isinstance(value, tuple) and call.features.get(key) in value for key, value in some)]
    if any(call.outcome == runtimes.WRONG for call in failing):
        return WRONG
    return "it doesn't load" if all(call.outcome == runtimes.REFUSED for call in failing) else "it fails when it runs"


def entry(versions, *parts):
    return "{" + ", ".join([f"versions: {versions}", *filter(None, parts)]) + "}"


def supported_types(calls, lacking, schema):
    """"types: {T: [f32]}" of the calls that passed; with those of which no call was tried, if there are any"""
    found, with_untried, is_untried = [], [], False
    for parameter in conditions.parameters(schema):
        passed = {call.features["type", parameter] for call in calls if call.passed and ("type", parameter) in call.features}
        allowed = {cases.DTYPES[name] for name in cases.allowed((schema.name, schema.since_version), parameter) if name in cases.DTYPES}
        supported = [name for name in (*cases.DTYPES.values(), "seq") if name in passed - lacking[parameter]]
        sequences = any(name.startswith("seq(") for constraint in schema.type_constraints if constraint.type_param_str == parameter
                        for name in constraint.allowed_type_strs)
        if any(attribute.type.name == "GRAPH" for attribute in schema.attributes.values()):   # its body's nodes have types of their own
            if sequences and "seq" not in supported:
                found.append(f"{parameter}: {{not: [seq]}}")
                with_untried.append(found[-1])
            continue
        tried = {call.features.get(("type", parameter)) for call in calls} | lacking[parameter]
        untried = [name for name in cases.DTYPES.values() if name in allowed - tried - {"string", "c64", "c128"}] if supported else []
        if supported and (allowed - set(supported) or sequences):
            found.append(f"{parameter}: [{', '.join(supported)}]")
            with_untried.append(f"{parameter}: [{', '.join(supported + untried)}]")
            is_untried |= bool(untried)
    text = lambda types: "types: {" + ", ".join(types) + "}" if types else ""
    return text(found), text(with_untried) if is_untried else ""


def joined(by_version, op):
    """a line that versions in a row have is one"""
    order = list(cases.in_force(op))
    rows = {}   # what the entry says -> its versions' places
    for version, lines in by_version.items():
        for line in lines:
            rows.setdefault(tuple(filter(None, line)), []).append(order.index(version))
    found = []
    for line, places in rows.items():
        places = sorted(set(places))
        starts = [at for at in places if at - 1 not in places]
        ends = [at for at in places if at + 1 not in places]
        found += [(first, entry(f"{order[first]}-{order[last]}", *line), line) for first, last in zip(starts, ends)]
    decides = lambda line: any(part.startswith(("no:", "uncertain:")) for part in line)
    return [text for _, text, line in sorted(found, key=lambda one: (not decides(one[2]), one[0]))]


def measured(engine, calls_by_version, op):
    """of an engine without a list of kernels"""
    by_version = {}
    for version, (schema, _) in cases.in_force(op).items():
        calls = calls_by_version.get((op, version))
        if not calls:
            if engine == "openvino" and NO_TRANSLATOR not in bare(engine, "", op):
                by_version[version] = [('unknown: "no call of it was tried"',)]
            continue
        if not any(call.passed for call in calls):
            if any(call.outcome != runtimes.REFUSED for call in calls):
                by_version[version] = [(f'no: "{reason(calls, [])}"',)]
            continue
        texts, lacking = limits(engine, op, calls)
        types, with_untried = supported_types(calls, lacking, schema)
        by_version[version] = [*texts, (types,)]
        if with_untried:
            by_version[version].append((with_untried, 'unknown: "no call with these types was tried"'))
    return joined(by_version, op)


def listed(engine, calls_by_version, op, kernels):
    """of ONNX Runtime: what its kernels take, and what they refuse nevertheless"""
    by_version = {}
    for version in cases.in_force(op):
        calls = [call for call in calls_by_version.get((op, version), []) if not is_of_types(call)]
        if not any(call.passed for call in calls):
            continue
        texts, lacking = limits(engine, op, calls)
        lines = [(f"types: {{{parameter}: [{', '.join(sorted(names))}]}}", 'no: "it fails when it runs"') for parameter, names in lacking.items()]
        by_version[version] = lines + texts
    return joined({version: lines for version, lines in by_version.items() if lines}, op) + kernels


def is_of_types(call):
    """refused for types, which the list of kernels has"""
    return call.outcome == runtimes.REFUSED and ("NOT_IMPLEMENTED" in call.why or "Type Error" in call.why or "Type '" in call.why)


def operator_lines(engine, found, only):
    operators = sorted({name for name in cases.schemas() if cases.in_force(name)})
    made = {}
    if engine == "ort-cpu":
        import kernels
        for (domain, name), entries in kernels.by_operator().items():
            made[f"{domain}::{name}" if domain else name] = entries
        for name in operators:
            if lines := listed(engine, found, name, made.get(name, [])):
                made[name] = lines
        for schema in defs.get_all_schemas():
            if schema.domain not in ("", "ai.onnx.ml") and (schema.has_function or schema.has_context_dependent_function) \
                    and "is not a registered function/op" in bare(engine, schema.domain, schema.name):
                made[f"{schema.domain}::{schema.name}"] = ["no"]
    else:
        for name in operators:
            if lines := measured(engine, found, name):
                made[name] = lines
        made.update(translators(engine) if engine == "openvino" else WEBGPU_CONTRIB)
    return {name: lines for name, lines in sorted(made.items()) if not only or name in only}


def translators(engine):
    """operators of other domains that the frontend knows; what they give wasn't compared"""
    from onnxruntime.capi import onnxruntime_pybind11_state as ort
    names = {("com.microsoft", schema.name) for schema in ort.get_all_operator_schema() if schema.domain == "com.microsoft"}
    names.add(("ai.onnx.ml", "Normalizer"))
    names |= {("org.openvinotoolkit", name) for name in (
        "DeformableConv2D", "DetectionOutput", "ExperimentalDetectronDetectionOutput", "ExperimentalDetectronGenerateProposalsSingleImage",
        "ExperimentalDetectronGroupNorm", "ExperimentalDetectronPriorGridGenerator", "ExperimentalDetectronROIFeatureExtractor",
        "ExperimentalDetectronTopKROIs", "FakeQuantize", "GenerateProposals", "GroupNorm", "Normalize", "PriorBox", "PriorBoxClustered", "Swish")}
    names |= {("org.pytorch.aten", "adaptive_avg_pool2d"), ("mmdeploy", "MMCVRoIAlignRotated"), ("mmdeploy", "NMSRotated")}
    return {f"{domain}::{name}": ['{versions: 1-1, note: "its results weren\'t compared"}'] for domain, name in names
            if NO_TRANSLATOR not in bare(engine, domain, name)}


# ---- the file

def head(engine):
    runtime = runtimes.RUNTIMES[engine]
    version = importlib.metadata.version(runtime.package)
    highest = max(opset for opset in range(cases.LOWEST, cases.HIGHEST + 3) if loads(engine, opset, 8))
    ir = max(ir for ir in range(3, 20) if loads(engine, 17, ir))
    source = {
        "ort-cpu": f"the kernels that onnxruntime {version} lists itself (get_all_opkernel_def), and what calls of them gave",
        "ort-webgpu": f"what calls of each operator gave in onnxruntime-ep-webgpu {version} on a software adapter, which has no f16; "
                      "com.microsoft: js/web/docs/webgpu-operators.md of ONNX Runtime 1.30",
        "openvino": f"what calls of each operator gave in openvino {version} on a CPU of x86-64",
    }[engine]
    lines = [
        "# Written by tools/write_profile.py. The language: docs/engines.md.",
        f"engine: {engine}",
        f'title: "{runtime.title}"',
        f'version: "{version}"',
        f'source: "{source}"',
        f"date: {datetime.date.today().isoformat()}",
        f"opsets: {cases.LOWEST}-{highest}",
        f"ir: {ir}",
        "match: kernel",
        "unlisted: no",
        f"functions: {'false' if engine == 'openvino' else 'true'}",
        "initializers: [Constant]",
    ]
    more = {"openvino": ["local_functions: false"], "ort-cpu": ["casts: {f16: f32}"], "ort-webgpu": ["behind: ort-cpu", 'fallback: "ONNX Runtime runs it on the CPU"']}
    return lines + more.get(engine, []) + ["operators:"]


def text_of(name, entries):
    if len(entries) == 1:
        return [f"  {name}: {entries[0]}"]
    return [f"  {name}:", *(f"    - {one}" for one in entries)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("engine", choices=runtimes.RUNTIMES)
    parser.add_argument("out", nargs="?", type=pathlib.Path)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    only = set(filter(None, options.only.split(",")))
    lines = operator_lines(options.engine, asked(options.engine, only), only)
    texts = [line for name, entries in lines.items() for line in text_of(name, entries)]
    if only:
        print(*texts, sep="\n")
        return
    out = options.out or HERE.parent / f"mappings/engines/{options.engine}.yaml"
    out.write_text("\n".join(head(options.engine) + texts) + "\n")


if __name__ == "__main__":
    main()
