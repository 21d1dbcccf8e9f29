#!/usr/bin/env python3
"""With less memory than a model needs the program says so and exits 3."""
import argparse, pathlib, resource, subprocess, sys, tempfile

MEGABYTE = 1 << 20


def limited():
    resource.setrlimit(resource.RLIMIT_AS, (40 * MEGABYTE, 40 * MEGABYTE))


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
    print(*wrong, sep="\n")
    print(f"2 runs: {len(wrong)} failed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
