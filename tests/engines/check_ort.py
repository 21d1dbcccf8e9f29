"""Holds the profile ort-cpu against ONNX Runtime itself: a model of one node for every operator of ONNX, each of its versions in opsets
7 to 26 and each dtype of each of its type parameters. What the profile takes must load, what it refuses must not, unless it says that it
fails later; optimisations are off, which might take the node away.
"""
import argparse
import collections
import subprocess
import sys

import onnx
import onnxruntime
from onnx import defs, helper

LOWEST, HIGHEST = 7, 26
LATER = "it fails when it runs", "its results aren't ONNX's"
LEFT_OUT = {
    # No model of one node can be made of them without bodies or strings.
    "If", "Loop", "Scan", "SequenceMap", "StringNormalizer", "TfIdfVectorizer", "StringConcat", "StringSplit", "RegexFullMatch",
    "Optional", "OptionalGetElement", "OptionalHasElement", "Constant",
}
DTYPES = ["float", "double", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "uint16", "uint32", "uint64", "bool"]
ELEMENT = {"float": 1, "uint8": 2, "int8": 3, "uint16": 4, "int16": 5, "int32": 6, "int64": 7, "bool": 9, "float16": 10, "double": 11,
           "uint32": 12, "uint64": 13, "bfloat16": 16}
# Values of required attributes that aren't the first thing that comes to mind.
ATTRIBUTES = {
    "perm": [0], "axes": [0], "kernel_shape": [1, 1], "pads": [0, 0, 0, 0], "starts": [0], "ends": [1], "scales": [1.0, 1.0, 1.0, 1.0],
    "equation": "i->i", "direction": "LEFT", "pooled_shape": [1, 1], "hidden_size": 1, "blocksize": 1, "to": 1, "dtype": 1, "num_outputs": 1,
    "axis": 0, "size": 1, "num_groups": 1, "k": 1, "repeats": [1], "shape": [1], "height_scale": 1.0, "width_scale": 1.0, "body": None,
}


def types_of(schema, parameter):
    """the dtypes of a type parameter, tensors alone"""
    for constraint in schema.type_constraints:
        if constraint.type_param_str == parameter:
            names = {name[len("tensor("):-1] for name in constraint.allowed_type_strs if name.startswith("tensor(")}
            return [name for name in DTYPES if name in names]
    name = parameter.removeprefix("tensor(").removesuffix(")")
    return [name] if name in ELEMENT else []


def is_sequence(schema, parameter):
    return any(c.type_param_str == parameter and all(name.startswith("seq(") for name in c.allowed_type_strs) for c in schema.type_constraints)


def sequence_types(schema, parameter):
    for constraint in schema.type_constraints:
        if constraint.type_param_str == parameter:
            names = {name[len("seq(tensor("):-2] for name in constraint.allowed_type_strs if name.startswith("seq(tensor(")}
            return [name for name in DTYPES if name in names]
    return []


def attributes(schema, chosen):
    made = {}
    for name, attribute in schema.attributes.items():
        if name in ("to", "dtype") and (attribute.required or "output_dtype" in chosen):
            made[name] = ELEMENT[chosen.get("output_dtype", "float")]
        elif attribute.required:
            if name not in ATTRIBUTES:
                raise ValueError(f"required attribute {name}")
            made[name] = ATTRIBUTES[name]
    return made


def one_node(schema, opset, chosen, optional=False):
    """chosen: type parameter -> dtype; optional: with the inputs that may be left out"""
    inputs, names = [], []
    required = [f for f in schema.inputs if f.option == defs.OpSchema.FormalParameterOption.Single or f.option == defs.OpSchema.FormalParameterOption.Variadic]
    last = len(schema.inputs) - 1 if optional else max((i for i, f in enumerate(schema.inputs) if f in required), default=-1)
    for i, formal in enumerate(schema.inputs[:last + 1]):
        if formal.option == defs.OpSchema.FormalParameterOption.Optional and not optional:
            names.append("")
            continue
        dtype = chosen[formal.type_str]
        names.append(f"x{i}")
        if is_sequence(schema, formal.type_str):
            inputs.append(helper.make_tensor_sequence_value_info(f"x{i}", ELEMENT[dtype], None))
        else:
            inputs.append(helper.make_tensor_value_info(f"x{i}", ELEMENT[dtype], None))
    outputs, results = [], []
    for i, formal in enumerate(schema.outputs):
        if i and formal.option == defs.OpSchema.FormalParameterOption.Optional:
            break
        results.append(f"y{i}")
        value = onnx.ValueInfoProto()
        value.name = f"y{i}"
        outputs.append(value)
        if i + 1 >= schema.min_output and i + 1 >= 1:
            break
    node = helper.make_node(schema.name, names, results, **attributes(schema, chosen))
    graph = helper.make_graph([node], "one", inputs, outputs)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)
    return model


def choices(schema):
    """every dtype of every parameter, the others at their first"""
    parameters = {}
    for formal in [*schema.inputs, *schema.outputs]:
        types = sequence_types(schema, formal.type_str) if is_sequence(schema, formal.type_str) else types_of(schema, formal.type_str)
        if not types:
            return
        parameters[formal.type_str] = types
    first = {parameter: types[0] for parameter, types in parameters.items()}
    yield dict(first)
    for parameter, types in parameters.items():
        for dtype in types[1:]:
            yield {**first, parameter: dtype}
    # All of one dtype, as most calls are.
    for dtype in DTYPES:
        same = {parameter: dtype if dtype in types else first[parameter] for parameter, types in parameters.items()}
        yield same


def models():
    """(operator, version, dtypes, model)"""
    seen_names = sorted({schema.name for schema in defs.get_all_schemas_with_history() if schema.domain == "" and schema.name not in LEFT_OUT})
    for name in seen_names:
        versions = {}
        for opset in range(LOWEST, HIGHEST + 1):
            try:
                schema = defs.get_schema(name, opset, "")
            except Exception:
                continue
            if not schema.deprecated:
                versions.setdefault(schema.since_version, (schema, opset))
                if opset == HIGHEST:
                    versions[schema.since_version, "newest"] = (schema, opset)
        for schema, opset in versions.values():
            seen = set()
            for chosen in choices(schema) or ():
                output_only = {f.type_str for f in schema.outputs} - {f.type_str for f in schema.inputs}
                if output_only and any(a in schema.attributes for a in ("to", "dtype")):
                    chosen = {**chosen, "output_dtype": chosen[sorted(output_only)[0]]}
                key = tuple(sorted(chosen.items()))
                if key in seen:
                    continue
                seen.add(key)
                try:
                    yield name, schema.since_version, opset, chosen, one_node(schema, opset, chosen)
                except ValueError as error:
                    yield name, schema.since_version, opset, chosen, str(error)


def runs_in_ort(model):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    try:
        onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        return "yes", ""
    except Exception as error:
        text = str(error)
        if "NOT_IMPLEMENTED" in text or "Could not find an implementation" in text:
            return "no", text
        return "undecided", text


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--engine-look", required=True)
    parser.add_argument("--verbose", action="store_true")
    arguments = parser.parse_args()
    onnxruntime.set_default_logger_severity(4)
    cases, stream, unmade = [], [], collections.Counter()
    for name, version, opset, chosen, model in models():
        if isinstance(model, str):
            unmade[name, model] += 1
            continue
        data = model.SerializeToString()
        stream.append(str(len(data)).encode() + b"\n" + data)
        cases.append((name, version, opset, chosen, model))
    verdicts = subprocess.run([arguments.engine_look, "ort-cpu"], input=b"".join(stream), stdout=subprocess.PIPE, check=True).stdout.decode().splitlines()
    assert len(verdicts) == len(cases), (len(verdicts), len(cases))
    tally, wrong, undecided = collections.Counter(), [], collections.Counter()
    for (name, version, opset, chosen, model), line in zip(cases, verdicts):
        support, rule, message = line.split("\t", 2)
        truth, why = runs_in_ort(model)
        tally[support, truth] += 1
        if truth == "undecided":
            undecided[name, version, why[:160].replace("\n", " ")] += 1
        elif support != truth and not (truth == "yes" and (support == "unknown" or message.endswith(LATER))):
            wrong.append((name, version, opset, {k: v for k, v in chosen.items()}, f"profile {support} {rule} {message}; ONNX Runtime {truth} {why[:300]}"))
    print(f"{len(cases)} models of one node: " + ", ".join(f"{a} and {b}: {n}" for (a, b), n in sorted(tally.items())))
    if arguments.verbose:
        for key, n in undecided.most_common():
            print("undecided", n, *key)
        for key, n in unmade.most_common():
            print("not made", n, *key)
    for one in wrong:
        print(*one)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
