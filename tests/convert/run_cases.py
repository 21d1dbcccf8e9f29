#!/usr/bin/env python3
"""Converts the cases of the operator corpus and compares ONNX Runtime with TorchScript.

    run_cases.py --program BUILD/tests/convert_cases --helper BUILD/libexec/compatcheck-torchscript --corpus DIR
                 [--aten REGEX] [--ops REGEX] [--cases REGEX] [--opsets 9,11,13,17,20] [--baseline FILE] [--keep DIR] [--workers 2]

Each model that converts is run on the recorded inputs and on three more sets that the conversion never saw: negatives and other
magnitudes, ties, and NaN with infinities; indices take other values within the recorded range. What PyTorch itself refuses
is left out. Prints what is wrong, what the runtime can't run, and what the reference exporter matches and we don't; ends with 1
if there is anything of the first or the last.
"""
import argparse, collections, csv, gzip, json, multiprocessing, os, pathlib, re, subprocess, sys, tempfile, warnings

os.environ.setdefault("OMP_NUM_THREADS", "1")
warnings.filterwarnings("ignore")
import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "corpus"))
import open_values

TOLERANCES = {"float16": (1e-2, 1e-2), "float32": (1e-3, 1e-5), "float64": (1e-3, 1e-5)}
REAL = {"float16", "float32", "float64"}


def input_sets(arrays, seed, specials, kept):
    """The recorded inputs, then three sets of the same shapes and dtypes."""
    random = np.random.default_rng(seed)

    def other(array, kind, specials):
        if array.dtype == bool:
            return np.asarray(random.random(array.shape) < 0.5)
        if np.issubdtype(array.dtype, np.integer):
            if array.size == 0:
                return array
            return np.asarray(random.integers(array.min(), array.max(), array.shape, endpoint=True)).astype(array.dtype)
        if not np.issubdtype(array.dtype, np.floating):
            return array
        if kind == "negatives":
            return np.asarray(-1.7 * random.permutation(array.reshape(-1)).reshape(array.shape)).astype(array.dtype)
        if kind == "ties":
            return np.asarray(np.round(array)).astype(array.dtype)
        special = np.array(array).reshape(-1)
        for i, value in enumerate(specials):
            if special.size > i:
                special[(i * 7) % special.size] = float(value)
        return special.reshape(array.shape)

    yield "recorded", arrays
    for kind in ("negatives", "ties", "special"):
        yield kind, [array if i in kept else other(array, kind, specials[i]) for i, array in enumerate(arrays)]


def no_further(got, want, precise):
    """Where half precision is no further from what PyTorch gives in single precision than PyTorch's own half precision: it rounds and
    overflows after each step, at which the runtime keeps single precision."""
    with np.errstate(all="ignore"):
        return np.abs(got - precise) <= np.abs(want - precise)


def compare(got, want, ties, precise=None):
    if len(got) != len(want):
        return f"{len(got)} outputs for {len(want)}"
    for i, (g, w) in enumerate(zip(got, want)):
        name = str(w.dtype)
        if not isinstance(g, np.ndarray):
            return f"output {i} is a {type(g).__name__}"
        if g.shape != w.shape:
            return f"output {i}: shape {list(g.shape)} for {list(w.shape)}"
        if g.dtype != w.dtype:
            return f"output {i}: {g.dtype} for {w.dtype}"
        if name in REAL:
            rtol, atol = TOLERANCES[name]
            with np.errstate(all="ignore"):
                ok = np.isclose(g.astype(np.float64), w.astype(np.float64), rtol=rtol, atol=atol, equal_nan=True)
            if name == "float16" and precise is not None and precise[i].shape == w.shape:
                ok = ok | no_further(g.astype(np.float64), w.astype(np.float64), precise[i].astype(np.float64))
        else:
            ok = g == w
        if not ok.all() and i not in ties:
            at = tuple(int(x[0]) for x in np.nonzero(~ok)) if ok.ndim else ()
            return f"output {i}: {int((~ok).sum())}/{ok.size} values, {g[at]!r} for {w[at]!r} at {list(at)}"
    return ""


def run_module(module, inputs, dtypes):
    """Its outputs; None where TorchScript refuses the inputs, or numpy lacks a dtype."""
    import torch
    try:
        with torch.no_grad():
            # A copy: operators may write into their inputs.
            outputs = module(*[torch.from_numpy(np.array(a)).to(getattr(torch, d)) for a, d in zip(inputs, dtypes)])
        outputs = [outputs] if isinstance(outputs, torch.Tensor) else list(outputs)
        return [o.detach().numpy() for o in outputs]
    except Exception:
        return None


def expectations(case, corpus):
    """(kind, inputs, outputs, outputs in single precision if the inputs are halves) of each input set that TorchScript takes."""
    import torch
    torch.set_num_threads(1)
    torch.backends.mkldnn.enabled = any("conv" in aten for aten in case["aten"])   # its gelu(inf) is NaN, PyTorch's own isn't
    module = torch.jit.load(str(corpus / (case["id"] + ".pt")))
    recorded = np.load(corpus / (case["id"] + ".npz"))
    arrays = [recorded[f"in_{i}"] for i in range(len(case["input_dtypes"]))]
    single = ["float32" if d == "float16" else d for d in case["input_dtypes"]]
    made = []
    for kind, inputs in input_sets(arrays, len(case["id"]), open_values.specials(case), open_values.kept_inputs(case)):
        outputs = run_module(module, inputs, case["input_dtypes"])
        if outputs is not None:
            made.append((kind, inputs, outputs, run_module(module, inputs, single) if single != case["input_dtypes"] else None))
    return made


def judge(task):
    """One case at every opset → [(opset, result, detail)]."""
    case, corpus, files = task
    import onnxruntime
    onnxruntime.set_default_logger_severity(4)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    results = []
    try:
        expected = expectations(case, corpus)
    except Exception as error:
        return case["id"], [(opset, "no_oracle", str(error)[:200]) for opset, _ in files]
    for opset, file in files:
        try:
            session = onnxruntime.InferenceSession(file, options, providers=["CPUExecutionProvider"])
        except Exception as error:
            results.append((opset, "runtime", str(error)[:300]))
            continue
        result = ("match", "")
        for kind, inputs, outputs, precise in expected:
            wanted = {i.name for i in session.get_inputs()}
            feed = {f"in_{i}": np.asarray(a) for i, a in enumerate(inputs) if f"in_{i}" in wanted}
            try:
                got = session.run(None, feed)
            except Exception as error:
                result = ("runtime", f"{kind}: {str(error)[:300]}")
                break
            if case["nondeterministic"]:
                same = [(g.shape, g.dtype) for g in got] == [(w.shape, w.dtype) for w in outputs]
                result = ("match", "") if same else ("wrong", f"{kind}: shapes or dtypes of random outputs")
                continue
            ties = set(case["ties"])
            if kind != "recorded":
                if kind == "special" and open_values.OPEN_AT_NAN.intersection(case["overloads"]):
                    continue
                if len(case["aten"]) == 1:
                    ties.update(*(open_values.OPEN_AT_TIES.get(overload, set()) for overload in case["overloads"]))
            difference = compare(got, outputs, ties, precise)
            if difference:
                result = ("wrong", f"{kind}: {difference}")
                break
        results.append((opset, *result))
    return case["id"], results


def baseline_matches(path):
    matches = collections.defaultdict(set)
    with gzip.open(path, "rt") as file:
        for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            if row["ort"] == "match":
                matches[row["id"]].add(int(row["opset"]))
    return matches


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("program", "helper", "corpus"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--aten", default="", help="cases whose graph has a matching aten operator (whole name without aten::)")
    parser.add_argument("--ops", default="", help="cases of matching OpInfo operators (whole name)")
    parser.add_argument("--cases", default="", help="cases whose id matches")
    parser.add_argument("--opsets", default="9,11,13,17,20")
    parser.add_argument("--baseline", default=str(pathlib.Path(__file__).parents[1] / "corpus" / "baseline_dev.tsv.gz"))
    parser.add_argument("--keep", help="folder for the ONNX files")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--all-lines", action="store_true", help="print every refusal, too")
    arguments = parser.parse_args()

    corpus = pathlib.Path(arguments.corpus)
    if (corpus / "dev").is_dir():
        corpus = corpus / "dev"
    cases = [json.loads(line) for line in open(corpus / "index.jsonl")]
    if arguments.aten:
        cases = [c for c in cases if any(re.fullmatch(arguments.aten, a.removeprefix("aten::")) for a in c["aten"])]
    if arguments.ops:
        cases = [c for c in cases if re.fullmatch(arguments.ops, c["op"])]
    if arguments.cases:
        cases = [c for c in cases if re.search(arguments.cases, c["id"])]
    if not cases:
        sys.exit("no such cases")
    by_id = {c["id"]: c for c in cases}

    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.keep or temporary
        done = subprocess.run([arguments.program, arguments.helper, folder, arguments.opsets], text=True, capture_output=True,
                              input="".join(f"{corpus / c['id']}.pt\n" for c in cases))
        if done.returncode:
            sys.exit(f"convert_cases ended with {done.returncode}: {done.stderr}")
        files, refusals = collections.defaultdict(list), collections.defaultdict(list)
        for line in done.stdout.splitlines():
            result = json.loads(line)
            if result["outcome"] == "converted":
                files[result["id"]].append((result["opset"], os.path.join(folder, f"{result['id']}@{result['opset']}.onnx")))
            else:
                refusals[result["id"]].append((result["opset"], result["outcome"], result["reason"]))
        tasks = [(by_id[i], corpus, f) for i, f in files.items()]
        with multiprocessing.Pool(arguments.workers) as pool:
            results = dict(pool.imap_unordered(judge, tasks, chunksize=4))

    matches = baseline_matches(arguments.baseline)
    count, bad = collections.Counter(), 0
    for case in cases:
        lines = [(o, r, d) for o, r, d in results.get(case["id"], [])] + refusals.get(case["id"], [])
        for opset, result, detail in sorted(lines):
            count[result] += 1
            lost = result != "match" and opset in matches[case["id"]]
            if lost:
                count["lost"] += 1
            if result == "wrong" or result == "error" or lost:
                bad += 1
            if result in ("wrong", "runtime", "error", "no_oracle") or lost or arguments.all_lines and result != "match":
                print(f"{'LOST ' if lost else ''}{result.upper()} {case['id']} @{opset} [{' '.join(case['aten'])}] {detail}")
    print(", ".join(f"{n} {name}" for name, n in sorted(count.items())))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
