#!/usr/bin/env python3
"""Tries the calls of many models at every opset: what handlers emit is what rows name, and each operator that a row names is emitted
for some call.

    check_rows_reached.py --program BUILD/tests/trial_cases --helper BUILD/libexec/compatcheck-torchscript --corpus DIR
                          [--sample N] [--only REGEX]

The models are the operator corpus, also with other dtypes and with named dimensions in place of the recorded ones, the cases of
layers_*.py, and those of check_dtypes.py. tests/operators/*.txt hold calls for what these don't reach; some calls of
each line convert. No model runs.
--sample N takes every Nth case of each operator of the corpus, --only what matches; both leave rows out, so what isn't reached is no error.
"""
import argparse, collections, concurrent.futures, importlib, json, os, pathlib, re, subprocess, sys, tempfile, warnings

warnings.filterwarnings("ignore")
import torch

HERE = pathlib.Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "check"), str(HERE.parent / "operators")]
import call_graphs

OPSETS = list(range(7, 27))
WORDS = {"float32": "f32", "float64": "f64", "float16": "f16", "bfloat16": "bf16", "int64": "i64", "int32": "i32", "int16": "i16", "int8": "i8",
         "uint8": "u8", "bool": "bool", "complex64": "c64", "complex128": "c128"}
# In place of the recorded dtype.
OTHERS = {"float32": ["f64", "bf16", "i32"], "int64": ["i32", "u8", "i8"], "float16": ["bf16"], "bool": ["u8"]}


def variations(case):
    """The texts for --input with which a case of the corpus is tried; the empty list: as it is recorded."""
    shapes, dtypes = case["input_shapes"], case["input_dtypes"]
    fixed = [",".join(map(str, shape)) if shape else "scalar" for shape in shapes]
    named = [",".join(f"d{size}" if size > 1 else str(size) for size in shape) if shape else "scalar" for shape in shapes]
    recorded = [WORDS[dtype] for dtype in dtypes]
    yield []
    yield [f"{dtype}:{sizes}" for dtype, sizes in zip(recorded, named)]
    main = collections.Counter(dtypes).most_common(1)[0][0] if dtypes else ""
    for other in OTHERS.get(main, []):
        yield [f"{other if dtype == main else word}:{sizes}" for dtype, word, sizes in zip(dtypes, recorded, fixed)]


def corpus_lines(arguments):
    corpus = pathlib.Path(arguments.corpus)
    met = collections.Counter()
    for line in open(corpus / "index.jsonl"):
        case = json.loads(line)
        if not re.search(arguments.only, " ".join([case["op"], *case["aten"]])):
            continue
        key = case["op"], case["dtype"]
        met[key] += 1
        if (met[key] - 1) % arguments.sample:
            continue
        for inputs in variations(case):
            yield "\t".join([str(corpus / f"{case['id']}.pt"), *inputs])


def case_lines(folder, only):
    import run_layers
    for file in sorted(HERE.glob("layers_*.py")):
        module = importlib.import_module(file.stem)
        for name, case in {**module.cases(), **getattr(module, "uncompared", dict)()}.items():
            if re.search(only, name):
                run_layers.save(case, folder / f"{name}.pt")
                yield "\t".join([str(folder / f"{name}.pt"), *run_layers.specs_of(case)])
    import check_dtypes
    for name, module, _, text in check_dtypes.models():
        if re.search(only, name):
            torch.jit.save(module, str(folder / f"{name}.pt"))
            yield f"{folder / name}.pt\t{text}"


def call_lines():
    """Those of tests/operators but for calls that are expected to be refused."""
    for file in call_graphs.files():
        yield from (line for line in open(file) if " @ refused" not in line)


def tried(arguments, lines, seen):
    run = subprocess.run([arguments.program, arguments.helper, ",".join(map(str, OPSETS))], text=True, capture_output=True,
                         input="".join(line + "\n" for line in lines),
                         env={**os.environ, "COMPATCHECK_CHECK_ROWS": str(seen), "OMP_NUM_THREADS": "1"})
    failures = [json.loads(line) for line in run.stdout.splitlines()]
    if run.returncode:
        failures.append({"id": "trial_cases", "opset": 0, "reason": f"ended with {run.returncode}: {run.stderr[-300:]}"})
    return failures


def called(arguments, graphs, seen):
    """The calls of tests/operators, as they stand; lines without an expectation of which no opset takes a call."""
    run = subprocess.run([arguments.program, "--graphs", ",".join(map(str, OPSETS))], text=True, capture_output=True, input="".join(graphs),
                         env={**os.environ, "COMPATCHECK_CHECK_ROWS": str(seen)}, check=True)
    refused = collections.defaultdict(list)
    for failure in map(json.loads, run.stdout.splitlines()):
        refused[failure["id"]].append(failure["reason"])
    calls = collections.Counter(text[2:].splitlines()[0].split("\t")[0] for text in graphs)
    expected = {line.partition(" @ ")[0] for line in call_lines() if " @ " in line}   # run_operators.py has these converted, after passes
    return [f"{line}: {reasons[0]}" for line, reasons in refused.items() if len(reasons) == calls[line] and line not in expected]


def print_wrong(lines):
    """Each way in which handlers and rows differ, once; how many there are."""
    wrong = collections.defaultdict(list)
    for line in lines:
        wrong[re.sub(r" at opset \d+", "", line)].append(line)
    for all_of in wrong.values():
        print(f"WRONG {all_of[0]} ({len(all_of)} times)")
    return len(wrong)


def rows_of(program):
    """Place and name → the rows there, as "operator@opset#number in its entry name": several where an entry is `same`, or an alias."""
    rows = collections.defaultdict(set)
    for line in subprocess.run([program, "--rows"], text=True, capture_output=True, check=True).stdout.splitlines():
        place, row, name = line.split(" ")
        rows[f"{place} {name}"].add(f"{row} {name}")
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True, type=lambda path: str(pathlib.Path(path).resolve()))
    parser.add_argument("--helper", required=True)
    parser.add_argument("--corpus", required=True)
    parser.add_argument("--sample", type=int, default=1)
    parser.add_argument("--only", default="")
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    torch.manual_seed(0)
    torch.set_grad_enabled(False)
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        lines = [*corpus_lines(arguments), *case_lines(folder, arguments.only)]
        seen = folder / "seen"
        seen.touch()
        with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
            work = [lambda part=lines[i::8]: tried(arguments, part, seen) for i in range(8)]
            refused = pool.submit(called, arguments, [text for text in call_graphs.graphs(call_lines()) if re.search(arguments.only, text)], seen)
            failures = [failure for part in pool.map(lambda each: each(), work) for failure in part]
        reached = set(seen.read_text().splitlines())
    for failure in failures:
        print(f"not tried: {failure['id']}: {failure['reason'][:200]}")
    for line in refused.result():
        print(f"REFUSED {line}")
    wrong = len(refused.result()) + print_wrong(line[2:] for line in sorted(reached) if line.startswith("! "))
    rows = rows_of(arguments.program)
    unreached = {row for key, named in rows.items() if key not in reached for row in named}
    whole = arguments.sample == 1 and not arguments.only
    for row in sorted(unreached) if whole else []:
        print(f"UNREACHED {row}: add a call to tests/operators, split the row by conditions, or remove the name from the row")
    print(f"{len(lines)} models, {wrong} ways in which handlers and rows differ, {sum(map(len, rows.values())) - len(unreached)} names reached, "
          f"{len(unreached)} not")
    return 1 if wrong or not lines or (unreached and whole) else 0


if __name__ == "__main__":
    sys.exit(main())
