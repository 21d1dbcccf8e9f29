#!/usr/bin/env python3
"""Runs the cases of cases/*.txt, each of them

    $ compatcheck relu.ir --opset 11
    what it prints on stdout
    --- stderr
    what it prints on stderr
    --- exit 1

in the folder models/, and compares everything. A line `$ A=b compatcheck ...` sets a variable; `| file` after the
command gives that file to stdin. `--update` writes what was printed into the case (look at the difference before you commit it).
"""
import argparse, difflib, os, pathlib, shlex, subprocess, sys

HERE = pathlib.Path(__file__).resolve().parent


DAY = "1796000000"   # 2026-11-30: what is a year old then isn't older as days pass


def environment(extra):
    kept = {k: v for k, v in os.environ.items() if not k.startswith("COMPATCHECK_") or k in ("COMPATCHECK_HELPER", "COMPATCHECK_LIBTORCH")}
    for name in ("NO_COLOR", "FORCE_COLOR"):
        kept.pop(name, None)
    return kept | {"SOURCE_DATE_EPOCH": DAY} | extra


def run(command, program):
    command, _, stdin = command.partition(" < ")
    words = shlex.split(command)
    extra = {}
    while "=" in words[0]:
        name, value = words.pop(0).split("=", 1)
        extra[name] = value.encode().decode("unicode_escape")
    assert words[0] == "compatcheck", f"a case runs compatcheck, not {words[0]}"
    with open(HERE / "models" / stdin, "rb") if stdin else open(os.devnull, "rb") as source:
        return subprocess.run([program, *words[1:]], cwd=HERE / "models", env=environment(extra), stdin=source,
                              capture_output=True, timeout=120)


def spell(command, result):
    text = f"$ {command}\n" + result.stdout.decode("utf-8", "replace")
    if result.stderr:
        text += "--- stderr\n" + result.stderr.decode("utf-8", "replace")
    return text + f"--- exit {result.returncode}\n"


def commands(text):
    return [line[2:] for line in text.splitlines() if line.startswith("$ ")]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True, type=lambda path: str(pathlib.Path(path).resolve()))
    parser.add_argument("--update", action="store_true")
    options = parser.parse_args()
    failed = 0
    cases = sorted((HERE / "cases").glob("*.txt"))
    for case in cases:
        expected = case.read_text()
        actual = "\n".join(spell(command, run(command, options.program)) for command in commands(expected))
        if actual == expected:
            continue
        if options.update:
            case.write_text(actual)
            continue
        failed += 1
        sys.stdout.writelines(difflib.unified_diff(expected.splitlines(True), actual.splitlines(True), f"cases/{case.name}", "printed"))
    print(f"{len(cases) - failed} passed, {failed} failed")
    return 1 if failed or not cases else 0


if __name__ == "__main__":
    sys.exit(main())
