#!/usr/bin/env python3
"""Each ONNX operator that a row names is emitted for some call.

    check_rows_reached.py --program BUILD/tests/trial_cases --reached BUILD/tests/reached

Other tests note what their calls reach: a file each in the folder (COMPATCHECK_CHECK_ROWS), written while they convert the operator
corpus, the lines of tests/operators and the cases of layers_*.py. Here the lines of tests/operators are tried at every opset, also those
that are only tried; some calls of each line convert. No model runs. A row that emits what it doesn't name fails where it does.
"""
import argparse, collections, json, os, pathlib, subprocess, sys, tempfile

HERE = pathlib.Path(__file__).parent
sys.path[:0] = [str(HERE.parent / "operators")]
import call_graphs

OPSETS = ",".join(map(str, range(7, 27)))


def call_lines():
    """Those of tests/operators but for calls that are expected to be refused."""
    for file in call_graphs.files():
        yield from (line for line in open(file) if " @ refused" not in line)


def tried(program, graphs, seen):
    """Lines of tests/operators without an expectation of which no opset takes a call, and calls whose nodes their row doesn't name."""
    run = subprocess.run([program, "--graphs", OPSETS], text=True, capture_output=True, input="".join(graphs),
                         env={**os.environ, "COMPATCHECK_CHECK_ROWS": str(seen)}, check=True)
    refused = collections.defaultdict(list)
    for failure in map(json.loads, run.stdout.splitlines()):
        refused[failure["id"]].append(failure["reason"])
    calls = collections.Counter(text[2:].splitlines()[0].split("\t")[0] for text in graphs)
    expected = {line.partition(" @ ")[0] for line in call_lines() if " @ " in line}   # run_operators.py has these converted, after passes
    for line, reasons in refused.items():
        yield from (f"WRONG {line}: {reason}" for reason in reasons if "its row" in reason)
        if len(reasons) == calls[line] and line not in expected:
            yield f"REFUSED {line}: {reasons[0]}"


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
    parser.add_argument("--reached", required=True, type=pathlib.Path)
    arguments = parser.parse_args()
    noted = sorted(arguments.reached.iterdir())
    reached = {line for file in noted for line in file.read_text().splitlines()}
    with tempfile.TemporaryDirectory() as folder:
        seen = pathlib.Path(folder) / "seen"
        seen.touch()
        wrong = list(tried(arguments.program, list(call_graphs.graphs(call_lines())), seen))
        reached |= set(seen.read_text().splitlines())
    print(*wrong, sep="\n")
    rows = rows_of(arguments.program)
    unreached = {row for key, named in rows.items() if key not in reached for row in named}
    for row in sorted(unreached):
        print(f"UNREACHED {row}: add a call to tests/operators, split the row by conditions, or remove the name from the row")
    print(f"{len(noted)} tests noted what they reached; {sum(map(len, rows.values())) - len(unreached)} names are reached, {len(unreached)} are not")
    return 1 if wrong or unreached or not noted else 0


if __name__ == "__main__":
    sys.exit(main())
