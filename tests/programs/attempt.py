"""One program: made, converted, run and compared; shrunk where it fails."""
import collections, json, pathlib, re, resource, subprocess, sys, tempfile, warnings

warnings.filterwarnings("ignore")
import numpy as np
import onnxruntime
import torch

import containers, generate, shrink, source_program
from lines import Lines

MOST_SECONDS = 60         # for one conversion
MOST_BYTES = 12 * 2**30
# What ONNX Runtime has no kernel for isn't the converter's fault: mappings/onnxruntime_types.yaml is tested elsewhere.
NO_KERNEL = "NOT_IMPLEMENTED"
# Errors of ONNX Runtime's own kernels where a tensor has no elements, with the opsets at which ONNX leaves no other form.
KNOWN_AT_EMPTY = [
    # Before opset 14 Reshape takes 0 for "as it was".
    (r"size != 0|At most one dimension can be -1|dimension with value zero exceeds|requested shape. Input shape:\{([-\d]+,)*0[,}]", range(14)),
    # Pools want an element in every dimension but the batch.
    (r"pool_attributes\.h", range(99)),
    # A product of matrices wants matrices on the left where the right has a batch; FusedMatMul wants a batch.
    (r"matmul_helper\.h.*cannot broadcast", range(99)),
    # GroupNormalization is a function whose Reshape finds out a size beside the batch's; its nodes have no names.
    (r"Reshape node\. Name:''", range(21, 99)),
    # A normalization of nothing.
    (r"Size of X\.shape\[axis:\] must be at least 1", range(99)),
]
GOOD = ("match", "refused", "without a kernel", "fails where empty", "dropped")


class Converter:
    """One convert_cases, started anew where a model ends it."""

    def __init__(self, arguments, folder):
        self.command = [arguments.program, arguments.helper, str(folder)]
        self.folder = folder
        self.processes = {}

    def convert(self, file, specs, opsets):
        """opset → outcome and reason."""
        key = ",".join(map(str, opsets))
        if key not in self.processes:
            process = subprocess.Popen([*self.command, key], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            self.processes[key] = process, Lines(process.stdout)
        process, lines = self.processes[key]
        process.stdin.write(("\t".join([str(file), *specs]) + "\n").encode())
        process.stdin.flush()
        found = {}
        while len(found) < len(opsets):
            line = lines.next(MOST_SECONDS)
            late = line is None
            if late:
                process.kill()
            if not line:
                del self.processes[key]
                ended = ("late", f"no answer after {MOST_SECONDS} s") if late else ("crash", f"convert_cases ended with {process.wait()}")
                return {opset: found.get(opset, ended) for opset in opsets}
            result = json.loads(line)
            outcome = (result["outcome"], result.get("reason", ""))
            if result["opset"] == 0:
                return {opset: outcome for opset in opsets}
            found[result["opset"]] = outcome
        return found


def flat(value):
    return [part for item in value for part in flat(item)] if isinstance(value, (list, tuple)) else [value]


def differs(got, want, exact, source, half):
    """How the results of ONNX Runtime differ from TorchScript's; empty if they don't."""
    # Of equal values a normalization gives the rounding of their mean times 1/sqrt(1e-5).
    least = 5e-4 if "_norm(" in source else 2e-5
    if len(got) != len(want):
        return f"{len(got)} outputs for {len(want)}"
    for i, (g, w) in enumerate(zip(got, want)):
        if g.shape != w.shape:
            return f"output {i}: shape {list(g.shape)} for {list(w.shape)}"
        if g.dtype != w.dtype:
            return f"output {i}: {g.dtype} for {w.dtype}"
        if w.dtype.kind == "f":
            finite = np.abs(w[np.isfinite(w)]).astype(np.float64)
            scale = max(1.0, finite.max() if finite.size else 1.0)
            rtol, atol = (2e-2, 2e-2 * scale) if half or w.dtype == np.float16 else (1e-3, least * scale)
            with np.errstate(all="ignore"):
                ok = np.isclose(g.astype(np.float64), w.astype(np.float64), rtol=0 if exact[i] else rtol, atol=1e-6 if exact[i] and not half else atol, equal_nan=True)
        else:
            ok = g == w
        if not ok.all():
            at = tuple(int(x[0]) for x in np.nonzero(~ok)) if ok.ndim else ()
            return f"output {i}: {int((~ok).sum())}/{ok.size} values, {g[at]!r} for {w[at]!r} at {list(at)}"
    return ""


class Trial:
    def __init__(self, arguments, folder):
        self.converter = Converter(arguments, folder)
        self.folder = folder
        self.count = 0
        self.failures = collections.Counter()
        self.tried = []          # the outcomes of the last program, opset by opset

    def expected(self, program):
        """The loaded module's results on each set of inputs, and the file; None where PyTorch refuses the program or all sets."""
        self.count += 1
        file = self.folder / f"p{self.count}.pt"
        try:
            torch.jit.save(program.compiled(), str(file))
            module = torch.jit.load(str(file))
        except Exception:
            return None
        wanted = [self.results(module, inputs) for inputs in program.sets()]
        return (file, wanted) if any(w is not None for w in wanted) else None

    @staticmethod
    def results(module, inputs):
        """None where PyTorch refuses the inputs."""
        try:
            return [np.array(x.numpy()) if isinstance(x, torch.Tensor) else np.asarray(x) for x in flat(module(*[x.clone() for x in inputs]))]
        except Exception:
            return None

    def interpreted(self, file, inputs):
        """Results without TorchScript's optimisations: those take x * 1 for x, so that writes to the one change the other."""
        torch._C._set_graph_executor_optimize(False)
        try:
            return self.results(torch.jit.load(str(file)), inputs)
        finally:
            torch._C._set_graph_executor_optimize(True)

    def outcome(self, program, exact, opsets):
        """(outcome, opset, detail)"""
        expected = self.expected(program)
        if expected is None:
            return "dropped", 0, ""
        file, wanted = expected
        half = any(x in program.source() + str(program.specs()) for x in ("float16", "f16"))
        found = []
        for opset, (outcome, reason) in self.converter.convert(file, program.specs(), opsets).items():
            if (outcome == "converted") != (self.folder / f"{file.stem}@{opset}.onnx").exists():
                outcome, reason = "disagree", f"{outcome}, but the file says otherwise: {reason}"
            elif outcome == "converted":
                outcome, reason = self.compared(program, file, wanted, opset, program.exactness(exact), half)
            elif outcome == "needs_input":
                outcome = "refused"
            found.append((outcome, opset, reason))
            if outcome not in GOOD:
                break
        for made in self.folder.glob(f"{file.stem}*"):
            made.unlink()
        self.tried = [outcome for outcome, *_ in found]
        first = lambda name: next((f for f in found if f[0] == name), None)
        return next((f for f in found if f[0] not in GOOD), None) or first("fails where empty") or first("match") or found[-1]

    def compared(self, program, file, wanted, opset, exact, half):
        try:
            session = onnxruntime.InferenceSession(str(self.folder / f"{file.stem}@{opset}.onnx"), providers=["CPUExecutionProvider"])
        except Exception as error:
            return ("without a kernel" if NO_KERNEL in str(error) else "load"), str(error)[:300]
        names = [i.name for i in session.get_inputs()]
        for inputs, want in zip(program.sets(), wanted):
            if want is None:
                continue
            given = {i.name: x.numpy() for i, x in zip(program.inputs, inputs)}
            try:
                got = session.run(None, {name: given[name] if name in given else inputs[int(name.rsplit("_", 1)[1])].numpy() for name in names})
            except Exception as error:
                known = any(opset in opsets and re.search(words, str(error)) for words, opsets in KNOWN_AT_EMPTY)
                return ("fails where empty" if known else "runtime"), str(error)[:600]
            difference = differs(got, want, exact, program.source(), half)
            if difference and differs(got, self.interpreted(file, inputs) or want, exact, program.source(), half):
                return "wrong", f"sizes {[list(x.shape) for x in inputs]}: {difference}"
        return "match", ""


def chosen(opsets, each, seed):
    if not each:
        return opsets
    return sorted({opsets[(seed + i * (len(opsets) // each or 1)) % len(opsets)] for i in range(each)})


def try_seed(trial, seed, arguments, opsets):
    made = (containers if arguments.containers else generate).generate(seed)
    if made is None:
        return {"seed": seed, "outcome": "dropped", "detail": ""}
    program, exact = made
    outcome, opset, detail = trial.outcome(program, exact, chosen(opsets, arguments.opsets_each, seed))
    result = {"seed": seed, "outcome": outcome, "at": f"@{opset}", "detail": detail}
    result["tried"] = trial.tried if outcome != "dropped" else []
    if outcome not in GOOD:
        alike = str(seed) if outcome == "wrong" else outcome + re.sub(r"/tmp/\S+: ", "", detail)
        trial.failures[alike] += 1
        if not arguments.no_shrink and trial.failures[alike] <= arguments.alike:
            fails = lambda p: trial.outcome(p, exact, [opset])[0] == outcome
            program = (source_program if arguments.containers else shrink).shrunk(program, fails)
            result["detail"] = (trial.outcome(program, exact, [opset])[2] or detail) + f" [as made: {detail}]"
        result["source"] = program.report()
    return result


def work(arguments):
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    onnxruntime.set_default_logger_severity(4)
    opsets = [int(o) for o in arguments.opsets.split(",")]
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))   # a program may ask for any number of elements
    with tempfile.TemporaryDirectory() as temporary:
        trial = Trial(arguments, pathlib.Path(temporary))
        for line in sys.stdin:
            print(json.dumps(try_seed(trial, int(line), arguments, opsets)), flush=True)
    return 0
