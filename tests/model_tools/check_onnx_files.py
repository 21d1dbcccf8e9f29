#!/usr/bin/env python3
"""ONNX models that others wrote: those that the onnx package ships, and those of its tests of single nodes.

Each goes through `inspect` in all formats, and what the JSON says is what onnx's own reader and numpy say. Each is extracted whole, in
two parts at its middle, and with all inner values as outputs; onnx's checker passes what is written, and on a sample ONNX Runtime gives
the same values for the parts as for the whole."""
import argparse, collections, concurrent.futures, json, math, pathlib, subprocess, sys, tempfile, warnings

import ml_dtypes  # noqa: F401  (numpy learns bfloat16 and its like)
import numpy
import onnx
import onnxruntime
from onnx import numpy_helper
from onnx.backend.test.case.node import collect_testcases

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "convert"))
from days import part_of_the_day

PARTS = 2, 16  # the node tests' models with bodies or functions, and the others, are taken on so many days
A = onnx.AttributeProto
LISTS = {A.FLOATS: "floats", A.INTS: "ints", A.STRINGS: "strings"}


class Failure(Exception):
    pass


def run(program, *arguments, codes=(0,)):
    result = subprocess.run([program, *map(str, arguments)], capture_output=True, timeout=60)
    if result.returncode not in codes:
        raise Failure(f"{' '.join(map(str, arguments))}: exit {result.returncode}: {result.stderr.decode()}")
    return result


def demand(truth, what):
    if not truth:
        raise Failure(what)


def graphs_of(nodes):
    for node in nodes:
        for attribute in node.attribute:
            yield from ([attribute.g] if attribute.type == A.GRAPH else list(attribute.graphs))


def has_bodies(model):
    return bool(model.functions) or any(graphs_of(model.graph.node))


def nodes_of(nodes):
    for node in nodes:
        yield node
    for graph in graphs_of(nodes):
        yield from nodes_of(graph.node)


def close(a, b):
    if isinstance(a, str) and a in ("nan", "inf", "-inf"):
        a = float(a)
    return a == b or (isinstance(a, float) and (math.isclose(a, b, rel_tol=1e-6, abs_tol=1e-30) or (math.isnan(a) and math.isnan(b))))


def compare_attribute(inspected, attribute):
    demand(inspected["name"] == attribute.name, "attribute's name")
    if attribute.ref_attr_name:
        demand(inspected["reference"] == attribute.ref_attr_name, "reference")
        return
    value = onnx.helper.get_attribute_value(attribute)
    if attribute.type in LISTS:
        demand(inspected["type"] == LISTS[attribute.type], "attribute's type")
        value = [v.decode("utf-8", "replace") if isinstance(v, bytes) else v for v in value]
        demand(len(value) == len(inspected["value"]) and all(map(close, inspected["value"], value)), f"{attribute.name}: {inspected['value']} for {value}")
    elif attribute.type in (A.INT, A.FLOAT, A.STRING):
        value = value.decode("utf-8", "replace") if isinstance(value, bytes) else value
        demand(close(inspected["value"], value), f"{attribute.name}: {inspected['value']} for {value}")
    elif attribute.type == A.TENSOR:
        demand(inspected["value"]["shape"] == list(value.dims), "tensor's shape")


def compare_statistics(inspected, tensor):
    if "statistics" not in inspected:
        demand(tensor.data_type in (onnx.TensorProto.STRING, onnx.TensorProto.COMPLEX64, onnx.TensorProto.COMPLEX128) or
               onnx.helper.tensor_dtype_to_string(tensor.data_type).endswith(("INT4", "INT2", "E2M1", "E2M3", "E3M2")), f"{tensor.name} has no statistics")
        return
    array = numpy_helper.to_array(tensor).astype(numpy.float64)
    finite = array[numpy.isfinite(array)]
    expected = {"zeros": int((array == 0).sum()), "nan": int(numpy.isnan(array).sum()), "inf": int(numpy.isinf(array).sum())}
    if finite.size:
        expected |= {"min": finite.min(), "max": finite.max(), "mean": finite.mean(), "std": finite.std()}
    for key, value in expected.items():
        demand(math.isclose(inspected["statistics"][key], value, rel_tol=1e-6, abs_tol=1e-9), f"{tensor.name}: {key} {inspected['statistics'][key]} for {value}")


def check_inspect(program, path, model):
    inspected = json.loads(run(program, "inspect", path, "--weights", "--format", "json").stdout)
    for form in ("text", "markdown"):
        demand(run(program, "inspect", path, "--weights", "--format", form).stdout, f"no {form}")
    demand(inspected["onnx"]["ir_version"] == model.ir_version, "IR version")
    demand([(o["domain"], o["version"]) for o in inspected["onnx"]["opsets"]] == [(o.domain, o.version) for o in model.opset_import], "opsets")
    initializers = {t.name for t in model.graph.initializer} | {t.values.name for t in model.graph.sparse_initializer}
    demand([v["name"] for v in inspected["inputs"]] == [v.name for v in model.graph.input if v.name not in initializers], "inputs")
    demand([v["name"] for v in inspected["outputs"]] == [v.name for v in model.graph.output], "outputs")
    counts = collections.Counter((n.op_type if n.domain in ("", "ai.onnx") else f"{n.domain}::{n.op_type}") for n in nodes_of(model.graph.node))
    demand({o["op"]: o["nodes"] for o in inspected["operators"]} == counts, "operators")
    in_functions = sum(len(list(nodes_of(f.node))) for f in model.functions)
    demand(len(inspected["nodes"]) == sum(counts.values()) + in_functions, "nodes")
    main = [n for n in inspected["nodes"] if n["scope"] == ""]
    for entry, node in zip(main, model.graph.node, strict=True):
        demand(entry["inputs"] == list(node.input) and entry["outputs"] == list(node.output) and entry["name"] == node.name, "a node's values")
        for attribute_entry, attribute in zip(entry["attributes"], node.attribute, strict=True):
            compare_attribute(attribute_entry, attribute)
    for entry, tensor in zip((t for t in inspected["initializers"] if t["scope"] == "" and t["kind"] == "initializer"), model.graph.initializer, strict=True):
        demand(entry["name"] == tensor.name and entry["shape"] == list(tensor.dims), "initializer")
        compare_statistics(entry, tensor)


def reads(node):
    names = {name for name in node.input if name}
    for graph in graphs_of([node]):
        inner = set().union(*(reads(n) for n in graph.node)) | {o.name for o in graph.output}
        names |= inner - {v.name for v in graph.input} - {t.name for t in graph.initializer} - {o for n in graph.node for o in n.output}
    return names


def middle(model):
    """What goes from the first half of the nodes to the second."""
    half = len(model.graph.node) // 2
    initializers = {t.name for t in model.graph.initializer} | {t.values.name for t in model.graph.sparse_initializer}
    before = {v.name for v in model.graph.input} - initializers | {o for n in model.graph.node[:half] for o in n.output if o}
    after = set().union(*(reads(n) for n in model.graph.node[half:])) | {v.name for v in model.graph.output}
    return sorted(before & after)


def checked(path):
    model = onnx.load(path)
    onnx.checker.check_model(model)
    return model


def extract(program, path, out, **options):
    words = [word for option, names in options.items() if names for word in (f"--{option.rstrip('_').replace('_', '-')}", ",".join(names))]
    result = run(program, "extract", path, "-o", out, *words, codes=(0, 2))
    if result.returncode == 2:   # said of a value whose rank nobody knows, and of names that --from can't spell
        demand(b"rank isn't known" in result.stderr or b"type isn't known" in result.stderr, f"extract: {result.stderr.decode()}")
        demand(not out.exists(), "a file of a failed extraction is there")
        return None
    return checked(out)


def has_rank(value):
    return not value.type.HasField("tensor_type") or value.type.tensor_type.HasField("shape")


def session(model):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def feeds(model):
    generator = numpy.random.default_rng(0)
    initializers = {t.name for t in model.graph.initializer}
    made = {}
    for value in model.graph.input:
        if value.name in initializers:
            continue
        if value.type.WhichOneof("value") != "tensor_type":
            return None
        dtype = onnx.helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
        shape = [d.dim_value if d.HasField("dim_value") else 2 for d in value.type.tensor_type.shape.dim]
        if dtype == numpy.float32:
            made[value.name] = generator.random(shape, dtype=numpy.float32)
        elif dtype == numpy.int64:
            made[value.name] = numpy.ones(shape, dtype)
        else:
            return None
    return made


def run_all(model, given):
    found = session(model)
    names = [o.name for o in found.get_outputs()]
    return dict(zip(names, found.run(names, {i.name: given[i.name] for i in found.get_inputs() if i.name in given})))


def compare_values(model, whole, first, second, cut):
    """1 if the parts were run and give what the whole gives."""
    given = feeds(model)
    if given is None or len(model.graph.node) > 80:
        return 0
    try:
        expected = run_all(model, given)
    except Exception:  # what ONNX Runtime lacks, or inputs that aren't right for the model
        return 0
    inner = run_all(first, given)
    got = run_all(second, {**{k: v for k, v in given.items() if k in cut}, **inner})
    for values in (run_all(whole, given), got):
        for name, value in expected.items():
            if isinstance(value, numpy.ndarray) and value.dtype.kind in "fiub":
                demand(numpy.array_equal(value, values[name], equal_nan=value.dtype.kind == "f"), f"output {name} differs")
    return 1


def check(program, path, folder):
    model = onnx.load(path)
    inputs = [v.name for v in model.graph.input]
    initializers = {t.name for t in model.graph.initializer}
    needed, outputs = [i for i in inputs if i not in initializers], [v.name for v in model.graph.output]
    check_inspect(program, path, model)
    if any("," in name for name in needed + outputs) or model.training_info:
        return 0
    out = folder / "part.onnx"
    whole = extract(program, path, out, from_=needed, to=outputs)
    demand(whole is not None or not all(map(has_rank, [*model.graph.input, *model.graph.output])), "a whole model isn't extracted")
    out.unlink(missing_ok=True)
    if whole:
        demand([v.name for v in whole.graph.output] == outputs, "outputs of the whole")
        more = extract(program, path, out, add_outputs=["all"])
        demand(more is not None, "no outputs are added")
        demand(list(more.graph.node) == list(model.graph.node), "nodes changed")
        out.unlink()
    cut = middle(model)
    if len(model.graph.node) < 2 or not cut or any("," in name for name in cut):
        return 0
    first = extract(program, path, out, to=[c for c in cut if c not in needed] or cut) if any(c not in needed for c in cut) else None
    out.unlink(missing_ok=True)
    second = extract(program, path, out, from_=cut, to=[o for o in outputs if o not in cut] or outputs) if set(outputs) - set(cut) else None
    out.unlink(missing_ok=True)
    if first and second:
        demand({n.SerializeToString() for n in second.graph.node} <= {n.SerializeToString() for n in model.graph.node}, "other nodes")
        if whole and not set(outputs) & set(cut):
            return compare_values(model, whole, first, second, cut)
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    program = parser.parse_args().program
    warnings.filterwarnings("ignore")
    data = pathlib.Path(onnx.__file__).parent / "backend" / "test" / "data"
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        files = sorted(data.rglob("*.onnx"))
        shipped = len(files)
        cases = [case for case in collect_testcases(None) if case.model]
        plain, nested = ([case for case in cases if has_bodies(case.model) == wanted] for wanted in (False, True))
        for case in part_of_the_day(nested, "nested", PARTS[0]) + part_of_the_day(plain, "plain", PARTS[1]):
            files.append(folder / f"{case.name}.onnx")
            files[-1].write_bytes(case.model.SerializeToString())
        failed = ran = 0

        def one(numbered):
            number, path = numbered
            own = folder / f"work{number}"
            own.mkdir()
            try:
                return path, check(program, path, own), None
            except Exception as error:  # told below, with the file
                return path, 0, f"{type(error).__name__}: {error}"

        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for path, executed, error in pool.map(one, enumerate(files)):
                ran += executed
                if error:
                    failed += 1
                    print(f"{path.parent.name}/{path.name}: {error}")
    print(f"{len(files)} models, {shipped} of them shipped as files, {ran} run in parts: {failed} failed")
    return 1 if failed or shipped < 100 or ran < 20 else 0


if __name__ == "__main__":
    sys.exit(main())
