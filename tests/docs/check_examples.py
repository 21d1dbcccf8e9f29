#!/usr/bin/env python3
"""The README of each example says what happens: `./run.sh` without arguments runs with the program on the PATH, the commands of
its blocks run in the folder that run.sh leaves, and each line of its other blocks is printed by one of these, or stands in a file
there. `...` and `…` stand for anything, and numbers may differ.

    check_examples.py --program build/compatcheck [NUMBER...]
"""
import argparse, pathlib, re, shutil, sys, tempfile

import check_commands
import pages

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "convert"))
from days import part_of_the_day

COMMAND = re.compile(r"compatcheck (?!.*\]$)\S.*")   # not the usage line of run.sh
TOO_LONG = {"10"}      # compiles against torch: tests/tutorial runs it
TEXTS = {".py", ".yaml", ".ir", ".sh", ".cpp", ".txt"}
INDENTED = re.compile(r"(?:^    .*\n(?:\n(?=    ))?)+", re.M)


def blocks_of(page):
    """(language, text) of fenced and indented blocks, in order."""
    text = page.read_text()
    found = [(match.start(), match["language"], match["text"]) for match in pages.FENCE.finditer(text)]
    plain = pages.FENCE.sub(lambda match: re.sub(r"[^\n]", "", match.group()), text)
    found += [(text.find(match.group()), "", re.sub(r"^    ", "", match.group(), flags=re.M)) for match in INDENTED.finditer(plain)]
    return [(language, block) for _, language, block in sorted(found)]


def simple(text):
    """Without numbers and with single spaces: lines are wrapped by the width."""
    return " ".join(re.sub(r"-?\d+(?:\.\d+)?(?:e-?\d+)?", "0", text).split())


def is_printed(line, printed):
    parts = [simple(part) for part in re.split(r"\.\.\.|…", line)]
    at = 0
    for part in parts:
        at = printed.find(part, at)
        if at < 0:
            return False
        at += len(part)
    return True


def faults_of(example, shell, folder):
    run = shell.run("./run.sh", folder) if (folder / "run.sh").exists() else None
    if run and run.returncode:
        yield f"./run.sh: exit {run.returncode}\n{run.stdout[-1500:]}{run.stderr[-1500:]}"
        return
    printed = run.stdout + run.stderr if run else ""
    shown = []
    for language, text in blocks_of(folder / "README.md"):
        for line in text.splitlines():
            line = line.split("  #")[0].rstrip()
            if line.startswith("./run.sh") or language == "yaml":
                continue
            if COMMAND.fullmatch(line) and run:
                ran = shell.run(line, folder)
                printed += ran.stdout + ran.stderr
                if ran.returncode > 2:
                    yield f"{line}\n  exit {ran.returncode}: {ran.stdout[-500:]}{ran.stderr[-1500:]}"
                else:
                    yield None
            elif not language and line.strip():
                shown.append(line)
    files = [path for path in folder.rglob("*") if path.suffix in TEXTS and path.name != "run.sh"]
    everything = simple(printed) + " " + simple("\n".join(path.read_text() for path in files))
    for line in shown:
        yield None if is_printed(line, everything) else f"not printed: {line}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True, type=lambda path: pathlib.Path(path).resolve())
    parser.add_argument("numbers", nargs="*", help="default: a third of all, others each day")
    options = parser.parse_args()
    ran = []
    with tempfile.TemporaryDirectory() as name:
        shell = check_commands.Shell(options.program, pathlib.Path(name))
        shell.environment |= {"PYTHON": sys.executable, "COLUMNS": "100"}
        examples = [each for each in sorted((pages.ROOT / "examples").glob("[0-9]*")) if each.name[:2] not in TOO_LONG]
        of_day = part_of_the_day(examples, "examples", 3)
        for example in [each for each in examples if each.name[:2] in options.numbers] if options.numbers else of_day:
            folder = pathlib.Path(name) / example.name
            shutil.copytree(example, folder)
            for fault in faults_of(example, shell, folder):
                ran.append(fault)
                if fault:
                    print(f"examples/{example.name}/README.md: {fault}", flush=True)
    failed = sum(fault is not None for fault in ran)
    print(f"{len(ran)} commands and lines, {failed} failed")
    return 1 if failed or not ran else 0


if __name__ == "__main__":
    sys.exit(main())
