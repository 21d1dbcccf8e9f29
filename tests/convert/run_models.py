#!/usr/bin/env python3
"""Converts the tests' models and compares ONNX Runtime with TorchScript, on the recorded inputs and on others.

    run_models.py --program BUILD/tests/convert_cases --helper BUILD/libexec/compatcheck-torchscript --models DIR
                  [--only REGEX] [--opsets 11,17,20,23] [--small]

A model that doesn't convert is told with its first reason. Ends with 1 if an output differs, a file can't be run, or a
model that PyTorch's exporter converts at that opset (tests/models/reference.tsv) doesn't convert.
"""
import argparse, collections, csv, json, os, pathlib, re, subprocess, sys, tempfile, warnings

warnings.filterwarnings("ignore")
import numpy as np

SHORT = {"float32": "f32", "float64": "f64", "float16": "f16", "bfloat16": "bf16", "int64": "i64", "int32": "i32",
         "int16": "i16", "int8": "i8", "uint8": "u8", "bool": "bool"}
TOLERANCES = {"float16": (1e-2, 1e-3), "float32": (1e-3, 1e-4), "float64": (1e-6, 1e-8)}


def arrays_of(archive, prefix):
    return [archive[f"{prefix}_{i}"] for i in range(sum(name.startswith(prefix + "_") for name in archive.files))]


def input_texts(model):
    """--input of the leading inputs that are tensors."""
    texts = []
    for given in model["inputs"]:
        if given.get("dtype") not in SHORT:
            break
        texts.append(f"{SHORT[given['dtype']]}:{','.join(map(str, given['shape'])) or 'scalar'}")
    return texts


def others(arrays):
    random = np.random.default_rng(7)
    for array in arrays:
        if np.issubdtype(array.dtype, np.floating):
            yield random.standard_normal(array.shape).astype(array.dtype)
        elif array.dtype == bool or not array.size:
            yield array
        else:
            yield np.asarray(random.permutation(array.reshape(-1)).reshape(array.shape))


def flat(value):
    import torch
    if isinstance(value, torch.Tensor):
        return [value.detach().numpy()]
    if isinstance(value, dict):
        return [x for v in value.values() for x in flat(v)]
    if isinstance(value, (list, tuple)):
        return [x for v in value for x in flat(v)]
    return [] if value is None else [np.asarray(value)]


def difference(got, want):
    if len(got) != len(want):
        return f"{len(got)} outputs for {len(want)}"
    for i, (g, w) in enumerate(zip(got, want)):
        if g.shape != w.shape or g.dtype != w.dtype:
            return f"output {i}: {g.dtype}{list(g.shape)} for {w.dtype}{list(w.shape)}"
        rtol, atol = TOLERANCES.get(str(w.dtype), (0, 0))
        scale = max(1.0, float(np.abs(w).max())) if w.size and w.dtype.kind == "f" and np.isfinite(w).all() else 1.0
        with np.errstate(all="ignore"):
            ok = np.isclose(g, w, rtol=rtol, atol=atol * scale, equal_nan=True) if w.dtype.kind == "f" else g == w
        if not np.all(ok):
            return f"output {i}: {int((~ok).sum())}/{ok.size} values differ"
    return ""


def judge(model, folder, file):
    import onnxruntime, torch
    onnxruntime.set_default_logger_severity(4)
    archive = np.load(folder / model["file"].replace(".pt", ".npz"))
    inputs, outputs = arrays_of(archive, "in"), arrays_of(archive, "out")
    try:
        session = onnxruntime.InferenceSession(file, providers=["CPUExecutionProvider"])
    except Exception as error:
        return f"can't run: {str(error)[:300]}"
    numbers = [np.asarray(i["value"]) for i in model["inputs"] if isinstance(i.get("value"), (bool, int, float))]
    names = [i.name for i in session.get_inputs()]
    inputs += numbers
    if len(names) != len(inputs):
        return f"{len(names)} inputs for {len(inputs)}"

    def run(arrays):
        return session.run(None, dict(zip(names, arrays)))

    try:
        if wrong := difference(run(inputs), outputs):
            return "recorded inputs: " + wrong
    except Exception as error:
        return f"can't run: {str(error)[:300]}"
    made = list(others(inputs))
    try:
        module = torch.jit.load(folder / model["file"])
        with torch.no_grad():
            want = flat(module(*[torch.from_numpy(np.array(a)) for a in made]))
    except Exception:
        return ""   # inputs that are tuples or dictionaries, or values that PyTorch refuses
    try:
        if wrong := difference(run(made), want):
            return "other inputs: " + wrong
    except Exception as error:
        return f"can't run other inputs: {str(error)[:300]}"
    return ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("program", "helper", "models"):
        parser.add_argument("--" + name, required=True, type=pathlib.Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--opsets", default="11,17,20,23")
    parser.add_argument("--small", action="store_true", help="leave out the full-size models")
    options = parser.parse_args()
    models = json.loads((options.models / "index.json").read_text())["models"]
    models = [m for m in models if re.search(options.only, m["name"]) and m["runs"] and m["family"] != "training" and not (options.small and m["size"] != "small")]
    with open(pathlib.Path(__file__).parents[1] / "models" / "reference.tsv") as file:
        reference = {(row["model"], int(row["opset"])) for row in csv.DictReader(file, delimiter="\t") if row["export"] == "ok"}
    count, bad = collections.Counter(), 0
    for model in models:
        with tempfile.TemporaryDirectory() as temporary:
            line = "\t".join([str(options.models / model["file"])] + input_texts(model))
            done = subprocess.run([options.program, options.helper, temporary, options.opsets], text=True, capture_output=True, input=line + "\n")
            if done.returncode:
                print(f"CRASH {model['name']}: {done.returncode} {done.stderr[-300:]}")
                bad += 1
                continue
            for result in map(json.loads, done.stdout.splitlines()):
                where = f"{model['name']} @{result['opset']}"
                if result["outcome"] != "converted":
                    lost = (model["name"], result["opset"]) in reference
                    bad += lost
                    count["lost" if lost else result["outcome"]] += 1
                    print(f"{'LOST ' if lost else ''}{result['outcome'].upper()} {where}: {result['reason'][:300]}")
                    continue
                wrong = judge(model, options.models, os.path.join(temporary, f"{model['name']}@{result['opset']}.onnx"))
                count["wrong" if wrong else "match"] += 1
                bad += bool(wrong)
                if wrong:
                    print(f"WRONG {where}: {wrong}")
    print(", ".join(f"{n} {name}" for name, n in sorted(count.items())))
    return 1 if bad or not models else 0


if __name__ == "__main__":
    sys.exit(main())
