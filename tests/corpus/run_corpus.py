#!/usr/bin/env python3
"""Converts the cases of the operator corpus and compares ONNX Runtime with TorchScript.

    run_corpus.py --program BUILD/tests/corpus_cases --helper BUILD/libexec/compatcheck-torchscript (--corpus DIR | --dtype-calls "ARGS")
                  [--aten REGEX] [--ops REGEX] [--cases REGEX] [--opsets 9,11|all] [--sample N] [--keep DIR] [--jobs 2]
                  [--coverage DIR] [--against FILE] [--form pt|pt2|core]

Each model that converts is run on the recorded inputs and on three more sets that the conversion never saw: negatives and other
magnitudes, ties, and NaN with infinities; indices take other values within the recorded range. What PyTorch itself refuses is left out.
Prints what is wrong, what the runtime can't run, and what the reference exporter matches and we don't; ends with 1 if there is anything
of the first or the last, or if check and convert disagree. --dtype-calls: the calls that dtype_calls.py makes with these arguments. --sample N: every Nth case of each operator, at least one.

--form pt2 or core converts the exported programs of the cases, as they are or after run_decompositions(), and compares with TorchScript as
before. What the TorchScript file matches at an opset, as reports/coverage.json has it (--known), must then match, too. Cases that
torch.export doesn't take are listed with the reason.
"""
import argparse, collections, csv, gzip, json, os, pathlib, re, subprocess, sys, tempfile, threading

import open_values

ALL_OPSETS = list(range(7, 27))
HERE = pathlib.Path(__file__).parent
FAILURES = ("wrong", "error", "crash", "disagree")
OUTCOMES = ("match", "refused", "needs_input", "runtime", "wrong", "no_oracle", "disagree", "error", "crash")
LETTERS = dict(zip(OUTCOMES, "mrnuwodex"))
NAMES = {letter: name for name, letter in LETTERS.items()}
BASELINE_OPSETS = (9, 11, 13, 17, 20)
PAGE_OPSETS = (7, 9, 11, 13, 17, 20, 23, 26)
ENDINGS = {"pt2": ".pt2", "core": ".core.pt2"}
MOST_REASONS = 5
LONGEST_REASON = 160


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


def read_baseline(path):
    """id → opset → what the reference exporter's model does"""
    found = collections.defaultdict(dict)
    with gzip.open(path, "rt") as file:
        for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            found[row["id"]][int(row["opset"])] = row["ort"] if row["export"] == "ok" else "not exported"
    return found


def read_coverage(path):
    """The same of our own outcomes, from coverage.json."""
    known = json.loads(pathlib.Path(path).read_text())
    return collections.defaultdict(dict, {name: dict(zip(known["opsets"], map(NAMES.get, letters))) for name, letters in known["cases"].items()})


def letters_of(case, results, opsets):
    """A letter an opset: the outcome."""
    outcomes = {result["opset"]: result["outcome"] for result in results}
    return "".join(LETTERS[outcomes.get(opset, outcomes.get(0, "error"))] for opset in opsets)


def compare_with(path, cases, results, opsets):
    """Lines on cases whose outcomes aren't those of the file."""
    known = json.loads(pathlib.Path(path).read_text())
    places = {opset: i for i, opset in enumerate(known["opsets"])}
    lines = []
    for case in cases:
        committed = known["cases"].get(case["id"])
        found = letters_of(case, results[case["id"]], opsets)
        wanted = "".join(committed[places[opset]] for opset in opsets) if committed else None
        if found != wanted:
            lines.append(f"STALE {case['id']}: {found}, and {path} says {wanted}; `make corpus` writes it anew")
    return lines


def write_coverage(folder, cases, results, baseline, opsets):
    folder = pathlib.Path(folder)
    letters = {case["id"]: letters_of(case, results[case["id"]], opsets) for case in cases}
    reasons = collections.defaultdict(collections.Counter)
    for case in cases:
        for result in results[case["id"]]:
            if result["outcome"] != "match":
                reasons[case["op"]][f"{result['outcome']}: {result['detail']}"] += 1
    operators = collections.defaultdict(list)
    for case in cases:
        operators[case["op"]].append(case)
    table = {}
    for name, members in sorted(operators.items()):
        table[name] = {
            "aten": sorted({aten for case in members for aten in case["aten"]}),
            "cases": len(members),
            "outcomes": {str(opset): dict(sorted(collections.Counter(NAMES[letters[case["id"]][i]] for case in members).items())) for i, opset in enumerate(opsets)},
            "reference_matches": {str(opset): sum(baseline[case["id"]].get(opset) == "match" for case in members) for opset in BASELINE_OPSETS},
            "reasons": dict(reasons[name].most_common(MOST_REASONS)),
        }
    data = {"opsets": opsets, "letters": {letter: name for letter, name in sorted(NAMES.items())}, "operators": table, "cases": dict(sorted(letters.items()))}
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "coverage.json").write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n")
    (folder / "coverage.md").write_text(coverage_page(data, cases, baseline))


def coverage_page(data, cases, baseline):
    opsets, table = data["opsets"], data["operators"]
    lines = ["# Coverage of the operator corpus", "",
             "Written by `make corpus`: every case of PyTorch's operator database that the development split holds, converted at every opset and run in",
             "ONNX Runtime against TorchScript on four sets of inputs. A match is right on all four. The reference is `torch.onnx.export(dynamo=False)`.", "",
             "| opset | " + " | ".join(OUTCOMES) + " | the reference matches |", "|---|" + "---|" * (len(OUTCOMES) + 1)]
    for i, opset in enumerate(opsets):
        count = collections.Counter(NAMES[letters[i]] for letters in data["cases"].values())
        reference = f"{sum(baseline[case['id']].get(opset) == 'match' for case in cases):,}" if opset in BASELINE_OPSETS else ""
        lines.append(f"| {opset} | " + " | ".join(f"{count[outcome]:,}" for outcome in OUTCOMES) + f" | {reference} |")
    lines += ["", f"By operator: matches of its cases at each opset, in brackets those of the reference.", "",
              "| operator | cases | " + " | ".join(map(str, PAGE_OPSETS)) + " | why not, at most |", "|---|---|" + "---|" * (len(PAGE_OPSETS) + 1)]
    for name, row in table.items():
        cells = []
        for opset in PAGE_OPSETS:
            cell = str(row["outcomes"][str(opset)].get("match", 0))
            cells.append(f"{cell} ({row['reference_matches'][str(opset)]})" if opset in BASELINE_OPSETS else cell)
        reason = next(iter(row["reasons"]), "").replace("|", "\\|").replace("\n", " ")
        lines.append(f"| {name} | {row['cases']} | " + " | ".join(cells) + f" | {reason[:LONGEST_REASON]} |")
    return "\n".join(lines) + "\n"


def run_all(arguments, cases, opsets, temporary):
    """id → results"""
    extra = {"opsets": opsets, **({"keep": True} if arguments.keep else {})}
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
    parser.add_argument("--known", default=str(HERE.parents[1] / "reports" / "coverage.json"))
    parser.add_argument("--keep", help="folder for the ONNX files")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--all-lines", action="store_true", help="print every refusal, too")
    parser.add_argument("--coverage", help="folder for coverage.json and coverage.md")
    parser.add_argument("--against", help="coverage.json whose outcomes must be the same")
    arguments = parser.parse_args()
    opsets = ALL_OPSETS if arguments.opsets == "all" else [int(opset) for opset in arguments.opsets.split(",")]

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
        results = run_all(arguments, cases, opsets, temporary)

    baseline = read_baseline(arguments.baseline) if arguments.form == "pt" else read_coverage(arguments.known)
    count, bad = collections.Counter(), 0
    for case in cases:
        for result in results[case["id"]]:
            opset, outcome, detail = result["opset"], result["outcome"], result["detail"]
            count[outcome] += 1
            lost = outcome != "match" and baseline[case["id"]].get(opset) == "match"
            count["lost"] += lost
            bad += outcome in FAILURES or lost
            if outcome in (*FAILURES, "runtime", "no_oracle") or lost or arguments.all_lines and outcome != "match":
                print(f"{'LOST ' if lost else ''}{outcome.upper()} {case['id']} @{opset} [{' '.join(case['aten'])}] {detail}")
    if arguments.coverage:
        write_coverage(arguments.coverage, cases, results, baseline, opsets)
    if arguments.against:
        stale = compare_with(arguments.against, cases, results, opsets)
        print(*stale, sep="\n", end="\n" if stale else "")
        bad += len(stale)
    print(", ".join(f"{n} {name}" for name, n in sorted(count.items()) if n))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
