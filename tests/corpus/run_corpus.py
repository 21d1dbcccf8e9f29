#!/usr/bin/env python3
"""Converts the cases of the operator corpus and compares ONNX Runtime with TorchScript.

    run_corpus.py --program BUILD/tests/corpus_cases --helper BUILD/libexec/compatcheck-torchscript (--corpus DIR | --dtype-calls "ARGS")
                  [--aten REGEX] [--ops REGEX] [--cases REGEX] [--opsets 9,11|deciding|all] [--sample N] [--keep DIR] [--jobs 2]
                  [--coverage DIR] [--against FILE] [--form pt|pt2|core]

Each model that converts is run on the recorded inputs and on three more sets that the conversion never saw: negatives and other
magnitudes, ties, and NaN with infinities; indices take other values within the recorded range. What PyTorch itself refuses is left out.
Prints what is wrong, what the runtime can't run, and what the reference exporter matches and we don't; ends with 1 if there is anything
of the first or the last, or if check and convert disagree. --dtype-calls: the calls that dtype_calls.py makes with these arguments.
--sample N: every Nth case of each operator, at least one.

--form pt2 or core converts the exported programs of the cases, as they are or after run_decompositions(), and compares with TorchScript as
before. What the TorchScript file matches at an opset, as reports/coverage.tsv has it (--known), must then match, too. Cases that
torch.export doesn't take are listed with the reason.
"""
import argparse, collections, json, os, pathlib, re, subprocess, sys, tempfile, threading

HERE = pathlib.Path(__file__).parent
sys.path.append(str(HERE.parent / "operators"))
import coverage
import open_values
from deciding import OPSETS, deciding

FAILURES = ("wrong", "error", "crash", "disagree")
ENDINGS = {"pt2": ".pt2", "core": ".core.pt2"}


def read_cases(arguments):
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
    if arguments.sample > 1:
        seen = collections.Counter()
        kept = []
        for case in cases:
            if seen[case["op"]] % arguments.sample == 0:
                kept.append(case)
            seen[case["op"]] += 1
        cases = kept
    for case in cases:
        script = str(corpus / f"{case['id']}.pt")
        case["inputs"] = str(corpus / f"{case['id']}.npz")
        case |= {"model": script} if arguments.form == "pt" else {"model": str(corpus / f"{case['id']}{ENDINGS[arguments.form]}"), "oracle": script}
    return cases


def exported(cases, form):
    """The cases that torch.export takes; prints the others."""
    for case in cases:
        if case[form] != "ok":
            print(f"NOT EXPORTED {case['id']} [{' '.join(case['aten'])}] {case[form]}")
    return [case for case in cases if case[form] == "ok"]


def left_open(case, form):
    """The entry with what isn't compared."""
    overloads = set(case["overloads"])
    skipped = set()
    if overloads & open_values.OPEN_AT_NAN:
        skipped.add("special")
    skipped.update(*(open_values.OPEN_SETS.get(key, ()) for overload in overloads for key in (overload, (overload, case["dtype"]))))
    outputs = set(case["ties"])
    if len(case["aten"]) == 1:
        outputs.update(*(open_values.OPEN_AT_TIES.get(overload, set()) for overload in overloads))
    return {**case, "skip_sets": sorted(skipped), "open_outputs": sorted(outputs), "specials": open_values.specials(case, form), "by_scale": bool(overloads & open_values.BY_SCALE),
            "kept_inputs": sorted(open_values.kept_inputs(case))}


class Worker(threading.Thread):
    """One corpus_cases at a time, started anew where a case ends it."""

    def __init__(self, command, queue, results, lock):
        super().__init__()
        self.command, self.queue, self.results, self.lock = command, queue, results, lock

    def run(self):
        process = None
        while True:
            with self.lock:
                if not self.queue:
                    break
                case = self.queue.popleft()
            if process is None:
                process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
            line = ""
            try:
                process.stdin.write(json.dumps(case) + "\n")
                process.stdin.flush()
                line = process.stdout.readline()
            except BrokenPipeError:
                pass
            if line:
                results = json.loads(line)["results"]
            else:
                results = [{"opset": 0, "outcome": "crash", "detail": f"corpus_cases ended with {process.wait()}"}]
                process = None
            with self.lock:
                self.results[case["id"]] = results
        if process is not None:
            process.stdin.close()
            process.wait()


def letters_of(case, results, opsets):
    """A letter an opset: the outcome."""
    outcomes = {result["opset"]: result["outcome"] for result in results}
    return "".join(coverage.LETTERS[outcomes.get(opset, outcomes.get(0, "error"))] for opset in opsets)


def opsets_of(case, text):
    """Those at which a case is tried; deciding ones are where the rows of its operators change."""
    if text == "deciding":
        return deciding({*case["aten"], *case["overloads"]}, case["id"])
    return list(OPSETS) if text == "all" else [int(opset) for opset in text.split(",")]


def compare_with(path, cases, results):
    """Lines on cases whose outcomes aren't those of the file."""
    known, lines = coverage.read(path).cases(), []
    for case in cases:
        committed = known.get(case["id"])
        found = letters_of(case, results[case["id"]], case["opsets"])
        expected = "".join(coverage.LETTERS[committed[opset]] for opset in case["opsets"]) if committed else None
        if found != expected:
            lines.append(f"STALE {case['id']}: {found}, and {path} says {expected}; `make corpus` writes it anew")
    return lines


def run_all(arguments, cases, temporary):
    """id → results"""
    extra = {"keep": True} if arguments.keep else {}
    queue = collections.deque({**left_open(case, arguments.form), **extra} for case in cases)
    results, lock = {}, threading.Lock()
    workers = [Worker([arguments.program, arguments.helper, os.path.join(arguments.keep or temporary, str(i))], queue, results, lock) for i in range(arguments.jobs)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return results


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("program", "helper"):
        parser.add_argument("--" + name, required=True)
    given = parser.add_mutually_exclusive_group(required=True)
    given.add_argument("--corpus")
    given.add_argument("--dtype-calls", help="arguments of dtype_calls.py but for --out")
    parser.add_argument("--aten", default="", help="cases whose graph has a matching aten operator (whole name without aten::)")
    parser.add_argument("--ops", default="", help="cases of matching OpInfo operators (whole name)")
    parser.add_argument("--cases", default="", help="cases whose id matches")
    parser.add_argument("--opsets", default="9,11,13,17,20")
    parser.add_argument("--sample", type=int, default=1)
    parser.add_argument("--form", choices=("pt", *ENDINGS), default="pt")
    parser.add_argument("--baseline", default=str(HERE / "baseline_dev.tsv.gz"))
    parser.add_argument("--known", default=str(HERE.parents[1] / "reports" / "coverage.tsv"))
    parser.add_argument("--keep", help="folder for the ONNX files")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--all-lines", action="store_true", help="print every refusal, too")
    parser.add_argument("--coverage", help="folder for coverage.tsv and coverage.md")
    parser.add_argument("--against", help="coverage.tsv whose outcomes must be the same")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        if arguments.dtype_calls is not None:
            arguments.corpus = os.path.join(temporary, "calls")
            command = [sys.executable, HERE / "dtype_calls.py", "--out", arguments.corpus, *arguments.dtype_calls.split()]
            subprocess.run(command, check=True, env={**os.environ, "PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1"})
        cases = read_cases(arguments)
        if arguments.form != "pt":
            cases = exported(cases, arguments.form)
        if not cases:
            sys.exit("no such cases")
        for case in cases:
            case["opsets"] = opsets_of(case, arguments.opsets)
        results = run_all(arguments, cases, temporary)

    reference = coverage.read_baseline(arguments.baseline) if arguments.form == "pt" else collections.defaultdict(dict, coverage.read(arguments.known).cases())
    count, bad = collections.Counter(), 0
    for case in cases:
        for result in results[case["id"]]:
            opset, outcome, detail = result["opset"], result["outcome"], result["detail"]
            count[outcome] += 1
            lost = outcome != "match" and reference[case["id"]].get(opset) == "match"
            count["lost"] += lost
            bad += outcome in FAILURES or lost
            if outcome in (*FAILURES, "runtime", "no_oracle") or lost or arguments.all_lines and outcome != "match":
                print(f"{'LOST ' if lost else ''}{outcome.upper()} {case['id']} @{opset} [{' '.join(case['aten'])}] {detail}")
    if arguments.coverage:
        letters = {case["id"]: letters_of(case, results[case["id"]], OPSETS) for case in cases}
        coverage.write(arguments.coverage, coverage.made(cases, letters, results, list(OPSETS)), reference)
    if arguments.against:
        stale = compare_with(arguments.against, cases, results)
        print(*stale, sep="\n", end="\n" if stale else "")
        bad += len(stale)
    print(", ".join(f"{n} {name}" for name, n in sorted(count.items()) if n))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
