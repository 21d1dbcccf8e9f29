#!/usr/bin/env python3
"""Converts the tests' models and compares ONNX Runtime with TorchScript: on the recorded inputs, on others, and, with every
dimension named that the model can run with at another size, at such sizes.

    run_models.py --program BUILD/tests/convert_cases --helper BUILD/libexec/compatcheck-torchscript --models DIR
                  [--only REGEX] [--opsets 11,17,20,23] [--small] [--fixed] [--nodes FILE]

A model that doesn't convert is told with its first reason. Ends with 1 if an output differs, a file can't be run, conversion
fails though the check said yes, or a model that PyTorch's exporter converts at that opset (tests/models/reference.tsv) doesn't
convert. A model that draws random numbers is compared by its outputs' dtypes and shapes. --nodes writes how many nodes
each conversion has (model, opset, nodes), for compare_reference.py.
"""
import argparse, collections, csv, json, os, pathlib, re, subprocess, sys, tempfile, warnings

warnings.filterwarnings("ignore")
import numpy as np
import torch

from apart import apart
from compare_arrays import compare
from days import part_of_the_day
from model_inputs import PLAIN, Inputs, free_dims

RANDOM = {"RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Multinomial", "Bernoulli", "training Dropout"}


def arrays_of(archive, prefix):
    return [archive[f"{prefix}_{i}"] for i in range(sum(name.startswith(prefix + "_") for name in archive.files))]


def flat(value):
    if isinstance(value, torch.Tensor):
        return [value.detach().numpy()]
    if isinstance(value, dict):
        return [x for v in value.values() for x in flat(v)]
    if isinstance(value, (list, tuple)):
        return [x for v in value for x in flat(v)]
    return [] if value is None else [np.asarray(value)]


def flat_results(values):
    return [x for value in values for x in (flat_results(value) if isinstance(value, list) else [value])]


def nodes_of(graph):
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            yield from nodes_of(attribute.g)


def node_count(file):
    """Without constants, which are initializers here and nodes there."""
    import onnx
    return sum(node.op_type != "Constant" for node in nodes_of(onnx.load(file, load_external_data=False).graph))


def operators_of(file):
    import onnx
    return {"training Dropout" if node.op_type == "Dropout" and len(node.input) > 2 else node.op_type
            for node in nodes_of(onnx.load(file, load_external_data=False).graph)}


def narrowest(file):
    """The coarsest floating dtype that the model computes in, perhaps between float32 inputs and outputs."""
    import onnx
    graph = onnx.load(file, load_external_data=False).graph
    dtypes = {tensor.data_type for tensor in graph.initializer} | {a.i for node in nodes_of(graph) if node.op_type == "Cast" for a in node.attribute}
    return "bfloat16" if onnx.TensorProto.BFLOAT16 in dtypes else "float16" if onnx.TensorProto.FLOAT16 in dtypes else ""


class Subject:
    """A model, its inputs, and what PyTorch makes of them."""

    def __init__(self, model, folder):
        self.model, self.file = model, folder / model["file"]
        archive = np.load(self.file.with_suffix(".npz"))
        self.module = torch.jit.load(self.file)
        names = [argument.name for argument in self.module.forward.schema.arguments[1:]]
        self.inputs = Inputs(model["inputs"], names, arrays_of(archive, "in"), names[len(model["inputs"]):])

    def run(self, values):
        def outputs():
            module = torch.jit.load(self.file).eval()   # anew: some keep a state
            with torch.no_grad(), torch.backends.mkldnn.flags(enabled=False):   # whose recurrent layers don't check sizes
                torch.manual_seed(0)
                return flat(module(*self.inputs.arguments(values)))

        return apart(outputs)

    def accepts(self, sizes):
        return self.run(self.inputs.others(sizes)) is not None


# Many quantized layers: a sum that ends between two steps is rounded to another one than in PyTorch, and the layers behind multiply
# the difference. So many steps of the result may be between both; PyTorch's own engines are further apart.
STEPS = {"quantized_resnet": 2, "quantized_resnet_tensor": 2}


def within_steps(file, got, want, steps):
    """Whether float results differ by so many steps of the DequantizeLinear that gives them at most."""
    import onnx
    model = onnx.load(file)
    scales = {one.name: onnx.numpy_helper.to_array(one) for one in model.graph.initializer}
    makers = {node.output[0]: node for node in model.graph.node if node.op_type == "DequantizeLinear"}
    steps_of = [steps * scales[makers[one.name].input[1]] for one in model.graph.output]
    return len(got) == len(want) and all(g.shape == w.shape and g.dtype == w.dtype and np.all(np.abs(g - w) <= step * 1.001) for g, w, step in zip(got, want, steps_of))


def judge(subject, file, runs):
    import onnxruntime
    onnxruntime.set_default_logger_severity(4)
    operators = operators_of(file)
    settings = onnxruntime.SessionOptions()
    if "QuantizeLinear" in operators:   # the runtime's fusions round otherwise than the model says
        settings.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        session = onnxruntime.InferenceSession(file, settings, providers=["CPUExecutionProvider"])
    except Exception as error:
        return f"can't run: {str(error)[:300]}"
    names = [i.name for i in session.get_inputs()]
    random = bool(operators & RANDOM)
    compared = 0
    for what, values in runs:
        given = subject.inputs.given(values, names)
        if len(names) != len(given):
            return f"{len(names)} inputs for {len(given)}"
        want = subject.run(values)
        if want is None:
            continue   # values that PyTorch refuses
        compared += 1
        try:
            got = flat_results(session.run(None, dict(zip(names, given))))
        except Exception as error:
            return f"{what}: can't run: {str(error)[:300]}"
        steps = STEPS.get(subject.model["name"].split("-")[0])
        if steps and within_steps(file, got, want, steps):
            continue
        if wrong := compare(got, want, range(len(want)) if random else (), least=narrowest(file)):
            return f"{what}: {wrong}"
    return "" if compared else "PyTorch refuses all inputs: nothing was compared"


def ways(subject, fixed_only):
    """(what, --input texts, [(what, values)])."""
    inputs = subject.inputs
    same = inputs.sizes()
    yield "", inputs.texts(), [("recorded inputs", inputs.recorded), ("other inputs", inputs.others(same))]
    if fixed_only:
        return
    dims, chosen = free_dims(inputs, subject.accepts)
    if not chosen:
        return
    runs = [("recorded inputs", inputs.recorded), ("other sizes " + str(chosen), inputs.others(inputs.sizes(dims, chosen), 8))]
    runs += [(f"{name} = {size}", inputs.others(inputs.sizes(dims, {name: size}), 9)) for name, size in chosen.items()]
    yield "named ", inputs.texts(dims), runs


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("program", "helper", "models"):
        parser.add_argument("--" + name, required=True, type=pathlib.Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--opsets", default="11,17,20,23")
    parser.add_argument("--part-of-day", type=int, default=1, metavar="N", help="every Nth model, others each day")
    parser.add_argument("--small", action="store_true", help="leave out the full-size models")
    parser.add_argument("--fixed", action="store_true", help="no named dimensions")
    parser.add_argument("--nodes", type=pathlib.Path)
    options = parser.parse_args()
    torch.set_num_threads(1)   # no pool that a child would lack
    torch.backends.quantized.engine = "fbgemm"   # x86 and onednn compute transposed convolutions wrongly
    models = json.loads((options.models / "index.json").read_text())["models"]
    sizes = ("small",) if options.small else ("small", "full")   # those of a size by name are for measurements
    models = [m for m in models if re.search(options.only, m["name"]) and m["runs"] and m["size"] in sizes]
    models = part_of_the_day(models, "models", options.part_of_day)
    with open(pathlib.Path(__file__).parents[1] / "models" / "reference.tsv") as file:
        reference = {(row["model"], int(row["opset"])) for row in csv.DictReader(file, delimiter="\t") if row["export"] == "ok"}
    count, bad, nodes = collections.Counter(), 0, []
    for model in models:
        subject = Subject(model, options.models)
        for what, texts, runs in ways(subject, options.fixed):
            with tempfile.TemporaryDirectory() as temporary:
                line = "\t".join([str(subject.file)] + texts)
                done = subprocess.run([options.program, options.helper, temporary, options.opsets], text=True, capture_output=True, input=line + "\n")
                if done.returncode:
                    print(f"CRASH {model['name']}: {done.returncode} {done.stderr[-300:]}")
                    bad += 1
                    continue
                for result in map(json.loads, done.stdout.splitlines()):
                    where = f"{what}{model['name']} @{result['opset']}"
                    if result["outcome"] != "converted":
                        lost = not what and (model["name"], result["opset"]) in reference
                        bad += lost or result["outcome"] in ("error", "disagree")
                        count[what + ("lost" if lost else result["outcome"])] += 1
                        print(f"{'LOST ' if lost else ''}{result['outcome'].upper()} {where}: {result['reason'][:300]}", flush=True)
                        continue
                    file = os.path.join(temporary, f"{model['name']}@{result['opset']}.onnx")
                    wrong = judge(subject, file, runs)
                    count[what + ("wrong" if wrong else "match")] += 1
                    bad += bool(wrong)
                    nodes.append((what.strip(), model["name"], result["opset"], node_count(file)))
                    if wrong:
                        print(f"WRONG {where}: {wrong}   [{' '.join(texts)}]", flush=True)
    if options.nodes:
        options.nodes.write_text("".join(f"{w}\t{m}\t{o}\t{n}\n" for w, m, o, n in nodes))
    print(", ".join(f"{n} {name}" for name, n in sorted(count.items())))
    return 1 if bad or not models else 0


if __name__ == "__main__":
    sys.exit(main())
