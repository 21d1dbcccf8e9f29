#!/usr/bin/env python3
"""Every aten operator that the installed torch registers gets an answer from `ops` and `explain`: mapped, missing with a
reason, or unknown to the tables; never a failure."""
import argparse, json, subprocess, sys

import torch


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    program = parser.parse_args().program
    names = sorted({schema.name for schema in torch._C._jit_get_all_schemas() if schema.name.startswith("aten::")})
    failed = 0
    for opset in ("7", "17", "26"):
        # In one call: a name that is refused fails the whole.
        run = subprocess.run([program, "ops", *names, "--opset", opset, "--format", "json"], capture_output=True, text=True, timeout=300)
        rows = json.loads(run.stdout)["operators"] if run.returncode == 0 else []
        answered = {row["op"] for row in rows}
        silent = {row["op"] for row in rows if row["class"] in ("missing", "refused") and not row["result"]}
        if run.returncode or answered != set(names) or silent:
            failed += 1
            print(f"opset {opset}: exit {run.returncode} {run.stderr} without answer: {sorted(set(names) - answered)[:10]} without reason: {sorted(silent)[:10]}")
    for name in names[::40]:
        run = subprocess.run([program, "explain", name], capture_output=True, text=True, timeout=60)
        if run.returncode or not run.stdout:
            failed += 1
            print(f"explain {name}: exit {run.returncode} {run.stderr}")
    print(f"{len(names)} operators: {1 if not failed else 0} passed, {failed} failed")
    return 1 if failed or not names else 0


if __name__ == "__main__":
    sys.exit(main())
