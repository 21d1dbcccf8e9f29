#!/usr/bin/env python3
"""Checks and converts exported programs (.pt2) and compares ONNX Runtime with the eager outputs of their modules.

    run_exported.py --program BUILD/tests/convert_cases --helper BUILD/libexec/compatcheck-torchscript --exported DIR
                    [--only REGEX] [--opsets 11,17,20,23] [--table FILE] [--all-lines]

DIR is what tests/models/make_exported.py wrote: each program has at least two sets of inputs, of other sizes where dimensions are
dynamic; where guards refuse sizes, the ONNX model must refuse them. A program matches, or it is refused with the words that
exported_refusals.tsv states for it; any other outcome fails, and so does a line of that table that nothing needs. A program that
PyTorch's own exporter converts rightly (exportdb_reference.tsv) must convert at the opset that stands there. --table writes our
outcomes for these beside that exporter's.
"""
import argparse, collections, csv, json, os, pathlib, re, subprocess, sys, tempfile

import numpy as np

from compare_arrays import compare
from days import part_of_the_day
from run_models import RANDOM, flat_results, narrowest, operators_of

HERE = pathlib.Path(__file__).parent
MOST_AT_ONCE = 24   # programs of one process, for the disk's sake


class Refusal:
    """A line of exported_refusals.tsv."""

    def __init__(self, row):
        self.programs, self.words = row["programs"], row["words"]
        self.first, self.last = map(int, row["opsets"].split("-"))
        self.met = False

    def holds(self, name, opset):
        return re.fullmatch(self.programs, name) and self.first <= opset <= self.last


def rows_of(file):
    with open(HERE / file) as text:
        return list(csv.DictReader((line for line in text if not line.startswith("#")), delimiter="\t", quoting=csv.QUOTE_NONE))


class Program:
    def __init__(self, entry, folder):
        self.entry, self.file = entry, folder / entry["file"]
        self.arrays = np.load(self.file.with_suffix(".npz"))

    def inputs(self, k, of="in"):
        """name → array, of those that aren't constants of the file"""
        return {name: self.arrays[f"{of}_{k}_{i}"] for i, name in enumerate(self.entry["inputs"]) if name is not None}

    def outputs(self, k):
        return [self.arrays[f"out_{k}_{i}"] for i in range(len(self.entry["outputs"])) if f"out_{k}_{i}" in self.arrays]

    @staticmethod
    def named(given, wanted):
        """The file's values have names like pair_0 and batch_mask where the user's are pair.0 and batch.mask."""
        plain = lambda name: re.sub(r"\W", "_", name)
        by_plain = {plain(name): array for name, array in given.items()}
        if len(wanted) == len(given) and len(by_plain.keys() & {plain(name) for name in wanted}) < len(wanted):   # a_b and a.b, or a file of torch before 2.4, which keeps no names
            return dict(zip(wanted, given.values()))
        return {name: by_plain[plain(name)] for name in wanted if plain(name) in by_plain}

    def feeds(self, session, arrays):
        """Raises KeyError if the model has an input that `arrays` lacks."""
        names = [i.name for i in session.get_inputs()]
        given = self.named(arrays, names)
        if missing := [name for name in names if name not in given]:
            raise KeyError(f"has inputs {missing}; the file's are {list(arrays)}")
        return given

    def compare(self, file):
        """What is wrong; empty if nothing is."""
        import onnxruntime
        from onnxruntime.capi.onnxruntime_pybind11_state import Fail, InvalidArgument, RuntimeException
        onnxruntime.set_default_logger_severity(4)
        settings = onnxruntime.SessionOptions()
        settings.intra_op_num_threads = 1
        operators = operators_of(file)
        if "QuantizeLinear" in operators:   # the runtime's fusions round otherwise than the model says
            settings.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        try:
            session = onnxruntime.InferenceSession(file, settings, providers=["CPUExecutionProvider"])
        except Exception as error:
            return f"can't run: {str(error)[:300]}"
        for k in range(self.entry["sets"]):
            try:
                got = flat_results(session.run(None, self.feeds(session, self.inputs(k))))
            except Exception as error:
                return f"inputs {k}: can't run: {str(error)[:300]}"
            want = self.outputs(k)
            if wrong := compare(got, want, range(len(want)) if operators & RANDOM else (), least=narrowest(file)):
                return f"inputs {k}: {wrong}"
        for k in range(self.entry["refused"]):
            try:
                given = self.feeds(session, self.inputs(k, "refused"))
                session.run(None, given)
                return f"runs with sizes that the program's guards refuse: {[list(x.shape) for x in given.values()]}"
            except (Fail, InvalidArgument, RuntimeException):
                pass   # refused by the runtime, as it should be
            except KeyError as error:
                return f"refused inputs {k}: {error}"
        return ""


def convert(arguments, programs, folder):
    """(name, opset) → result; opset 0 stands for all."""
    found, left = {}, list(programs)
    while left:
        lines = "".join(f"{program.file}\n" for program in left)
        done = subprocess.run([arguments.program, arguments.helper, folder, arguments.opsets], text=True, capture_output=True, input=lines)
        for result in map(json.loads, done.stdout.splitlines()):
            found[result["id"], result["opset"]] = result
        left = [p for p in left if (p.entry["name"], 0) not in found and (p.entry["name"], opsets_of(arguments)[-1]) not in found]
        if left:   # the first of them crashed it
            found[left.pop(0).entry["name"], 0] = {"outcome": "crash", "opset": None, "reason": f"convert_cases ended with {done.returncode}: {done.stderr[-300:]}"}
    return found


def opsets_of(arguments):
    return [int(opset) for opset in arguments.opsets.split(",")]


# ONNX Runtime has no kernels for random operators as of opset 22.
NO_RANDOM_KERNEL = re.compile(r"NOT_IMPLEMENTED.*(RandomUniformLike|RandomNormalLike|Bernoulli)\(22\)", re.S)


def judge(program, opset, result, file, refusals):
    """(outcome, detail, whether that is as it should be)"""
    outcome, reason = result["outcome"], result.get("reason", "")
    if outcome == "error" and result["opset"] == 0:   # loading it fails, for check and convert alike
        outcome = "unreadable"
    expected = [refusal for refusal in refusals if refusal.holds(program.entry["name"], opset)]
    if outcome == "converted":
        wrong = program.compare(file)
        if NO_RANDOM_KERNEL.search(wrong):
            return "no kernel", wrong, opset >= 22
        if wrong:
            return "wrong", wrong, False
        return "match", "" if not expected else f"exported_refusals.tsv says that it is refused: {expected[0].words}", not expected
    fitting = [refusal for refusal in expected if refusal.words in reason]
    for refusal in fitting:
        refusal.met = True
    return outcome, reason, outcome in ("refused", "needs_input", "unreadable") and bool(fitting)


def write_table(path, outcomes, opsets, reference):
    lines = ["| program | torch.onnx.export(dynamo=True) | " + " | ".join(f"ours, {opset}" for opset in opsets) + " |", "|---|---|" + "---|" * len(opsets)]
    for name in sorted(reference):
        peer = reference[name]
        lines.append(f"| {name.removeprefix('exportdb_')} | {peer['onnxruntime'] or peer['status']} | " + " | ".join(outcomes.get((name, opset), "") for opset in opsets) + " |")
    path.write_text("\n".join(lines) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("program", "helper", "exported"):
        parser.add_argument("--" + name, required=True, type=pathlib.Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--opsets", default=",".join(map(str, part_of_the_day((11, 17, 20, 23), "exported", 2))))
    parser.add_argument("--table", type=pathlib.Path)
    parser.add_argument("--all-lines", action="store_true", help="print every refusal, too")
    arguments = parser.parse_args()
    opsets = opsets_of(arguments)
    index = json.loads((arguments.exported / "index.json").read_text())["programs"]
    programs = [Program(entry, arguments.exported) for entry in index if "file" in entry and re.search(arguments.only, entry["name"])]
    refusals = [Refusal(row) for row in rows_of("exported_refusals.tsv")]
    reference = {row["program"]: row for row in rows_of("exportdb_reference.tsv")}
    count, bad, outcomes = collections.Counter(), 0, {}
    for start in range(0, len(programs), MOST_AT_ONCE):
        with tempfile.TemporaryDirectory() as temporary:
            part = programs[start:start + MOST_AT_ONCE]
            results = convert(arguments, part, temporary)
            for program in part:
                name = program.entry["name"]
                for opset in opsets:
                    result = results.get((name, opset)) or results.get((name, 0)) or {"outcome": "lost", "opset": opset}
                    outcome, detail, good = judge(program, opset, result, pathlib.Path(temporary, f"{name}@{opset}.onnx"), refusals)
                    lost = outcome != "match" and reference.get(name, {}).get("onnxruntime") == "match" and opset == int(reference[name]["opset"])
                    outcomes[name, opset] = outcome
                    count[outcome] += 1
                    bad += not good or lost
                    if not good or lost or arguments.all_lines and outcome != "match":
                        print(f"{'' if good and not lost else 'BAD '}{'LOST ' if lost else ''}{outcome.upper()} {name} @{opset} {detail[:400]}", flush=True)
    if not arguments.only:
        stale = [refusal for refusal in refusals if not refusal.met and any(refusal.first <= opset <= refusal.last for opset in opsets)]
        for refusal in stale:
            print(f"STALE {refusal.programs} {refusal.first}-{refusal.last} {refusal.words}: nothing is refused so")
        bad += len(stale)
    if arguments.table:
        write_table(arguments.table, outcomes, opsets, reference)
    print(f"{len(programs)} programs, {len(index) - sum('file' in entry for entry in index)} that torch.export doesn't take: "
          + ", ".join(f"{n} {name}" for name, n in sorted(count.items())))
    return 1 if bad or not programs else 0


if __name__ == "__main__":
    sys.exit(main())
