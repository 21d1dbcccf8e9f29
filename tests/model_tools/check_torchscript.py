#!/usr/bin/env python3
"""`inspect` of TorchScript models: what it tells of parameters and buffers is what torch's own state_dict holds, and its JSON fits the schema.
Of models that convert, parts are cut at their modules, and ONNX Runtime gives the same for the parts as for the whole."""
import argparse, json, math, os, pathlib, subprocess, sys, tempfile

import jsonschema
import numpy as np
import onnx
import onnxruntime
import torch

MODELS = pathlib.Path(os.environ["COMPATCHECK_MODELS"])
INSPECTED = ["bert-traced", "resnet_small-scripted", "lstm-scripted", "shared_storages-traced", "channels_last-traced",
             "precisions-scripted", "containers-scripted", "quantized_static-traced"]
# A model, and a module of it that has one output: what is before, the module itself and what is after are run one after the other.
CUT = [("bert-traced", "encoder.layer.0.output"), ("resnet_small-traced", "layer2")]


def run(program, *arguments, cwd=None):
    result = subprocess.run([program, *map(str, arguments)], capture_output=True, timeout=120, cwd=cwd)
    assert result.returncode == 0, f"{' '.join(map(str, arguments))}: exit {result.returncode}: {result.stderr.decode()}"
    return result.stdout


def check_inspect(program, name, validator):
    path = MODELS / f"{name}.pt"
    inspected = json.loads(run(program, "inspect", path, "--weights", "--format", "json"))
    validator.validate(inspected)
    for form in ("text", "markdown"):
        assert run(program, "inspect", path, "--format", form)
    state = torch.jit.load(path, map_location="cpu").state_dict()
    tensors = {t["name"]: t for t in inspected["tensors"] if t["kind"] in ("parameter", "buffer")}
    for key, value in state.items():
        if key not in tensors:   # one module under two names is told of once
            assert any(torch.equal(value, state[other]) for other in tensors if other in state), f"{key} isn't told of"
            continue
        entry = tensors[key]
        assert entry["shape"] == list(value.shape), key
        if value.is_floating_point() and value.numel():
            found, expected = entry["statistics"], value.double()
            finite = expected[expected.isfinite()]
            for what, number in (("min", finite.min()), ("max", finite.max()), ("mean", finite.mean()), ("std", finite.std(correction=0))):
                assert math.isclose(found[what], float(number), rel_tol=1e-6, abs_tol=1e-9), f"{key}: {what} {found[what]} for {float(number)}"
            assert found["zeros"] == int((value == 0).sum()), key
    operators = {o["op"]: o["nodes"] for o in inspected["operators"]}
    op = next(iter(operators))
    filtered = json.loads(run(program, "inspect", path, "--op", op, "--format", "json"))
    validator.validate(filtered)
    assert len(filtered["nodes"]) == operators[op] and any(n["line"] and n["file"] for n in filtered["nodes"]), f"{op}: nodes without places"


def session(path):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def check_parts(program, name, module, folder):
    whole = folder / "whole.onnx"
    run(program, "convert", MODELS / f"{name}.pt", "-o", whole, "-q")
    run(program, "extract", whole, "-o", "module.onnx", "--from", module, "--to", module, cwd=folder)
    part = onnx.load(folder / "module.onnx")
    names = [v.name for v in part.graph.input] + [v.name for v in part.graph.output]
    run(program, "extract", whole, "-o", "more.onnx", "--add-outputs", ",".join(names), cwd=folder)
    onnx.checker.check_model(part, full_check=True)
    more, inner = session(folder / "more.onnx"), session(folder / "module.onnx")
    generator = np.random.default_rng(0)
    feeds = {i.name: np.ones(i.shape, np.int64) if "int64" in i.type else generator.random(i.shape, dtype=np.float32) for i in more.get_inputs()}
    values = dict(zip([o.name for o in more.get_outputs()], more.run(None, feeds)))
    got = inner.run(None, {i.name: values[i.name] for i in inner.get_inputs()})
    for output, value in zip(inner.get_outputs(), got):
        assert np.array_equal(value, values[output.name], equal_nan=True), f"{output.name} differs"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    program = str(pathlib.Path(parser.parse_args().program).resolve())
    validator = jsonschema.Draft202012Validator(json.loads(run(program, "schema", "inspect")))
    failed = 0
    for name in INSPECTED:
        try:
            check_inspect(program, name, validator)
        except Exception as error:
            failed += 1
            print(f"{name}: {type(error).__name__}: {error}")
    for name, module in CUT:
        with tempfile.TemporaryDirectory() as folder:
            try:
                check_parts(program, name, module, pathlib.Path(folder))
            except Exception as error:
                failed += 1
                print(f"{name}, {module}: {type(error).__name__}: {error}")
    print(f"{len(INSPECTED)} models inspected, {len(CUT)} cut: {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
