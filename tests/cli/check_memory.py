#!/usr/bin/env python3
"""With less memory than a model needs the program says so and exits 3."""
import argparse, pathlib, resource, subprocess, sys, tempfile

import torch

MEGABYTE = 1 << 20


def limited():
    resource.setrlimit(resource.RLIMIT_AS, (40 * MEGABYTE, 40 * MEGABYTE))


class Doubled(torch.nn.Module):
    def forward(self, x):
        return x * 2


def check_bound(program, folder):
    """--memory of any size loads the model, or is named as what is too small; libtorch itself always starts."""
    model = pathlib.Path(folder) / "doubled.pt"
    torch.jit.script(Doubled()).save(str(model))
    for megabytes in (1, 5, 20, 20, 20, 60, 100, 200, 300, 500):
        run = subprocess.run([program, str(model), "--memory", str(megabytes)], capture_output=True, text=True, timeout=120)
        too_small = run.returncode == 3 and "--memory gives it more" in run.stderr
        if run.returncode != 0 and not too_small:
            yield f"--memory {megabytes}: exit {run.returncode} {run.stderr!r}"
    if run.returncode != 0:
        yield f"--memory {megabytes} isn't enough: {run.stderr!r}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    program = parser.parse_args().program
    wrong = []

    def expect(arguments, message, **options):
        run = subprocess.run([program, *arguments], capture_output=True, text=True, timeout=120, preexec_fn=limited, **options)
        if run.returncode != 3 or run.stderr != f"compatcheck: {message}\n":
            wrong.append(f"{arguments}: exit {run.returncode} {run.stderr!r}")

    with tempfile.TemporaryDirectory() as folder:
        large = pathlib.Path(folder) / "large.ir"
        with open(large, "wb") as file:
            file.write(b"graph(%x : Tensor):\n#" + b" " * 1000)
            file.truncate(60 * MEGABYTE)
        expect([str(large)], f"{large}: out of memory")
        with open(large) as stdin:
            expect(["-"], "<stdin>: is larger than memory; give it as a file", stdin=stdin)
        wrong += check_bound(program, folder)
    print(*wrong, sep="\n")
    print(f"{len(wrong)} failed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
