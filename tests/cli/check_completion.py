#!/usr/bin/env python3
"""What bash offers after a few words, by the script that `completion bash` prints; fish's script has the same options."""
import argparse, pathlib, shlex, subprocess, sys

HERE = pathlib.Path(__file__).resolve().parent
# The line up to the word under the cursor → some of what is offered, some of what isn't.
CASES = [
    ("", ["check", "lint"], []),
    ("ops --form", ["--format"], ["--fail-on"]),
    ("model.pt --f", ["--format", "--fail-on"], []),
    ("lint --", ["--color"], ["--opset"]),
    ("--format ", ["jsonl", "text", "sarif"], ["yaml"]),
    ("model.pt --format ", ["jsonl", "markdown"], ["yaml"]),
    ("verify --format ", ["jsonl", "markdown"], ["sarif"]),
    ("explain --format ", ["markdown"], ["jsonl"]),
    ("--opset 11 ops --format ", ["markdown"], ["jsonl"]),
    ("completion ", ["bash", "zsh", "fish"], ["check"]),
    ("--fail-on mi", ["missing"], ["never"]),
    ("--target ", ["tensorrt", "ort-cpu", "list"], []),
    ("explain CC00", ["CC001", "CC009"], ["CC901"]),
    ("explain ", ["CC901", "tensorrt", "targets"], []),
    ("", ["relu.ir"], []),
]


def offered(script, line):
    words = ["compatcheck", *line.split(" ")]
    code = f"{script}\nCOMP_WORDS=({shlex.join(words)}); COMP_CWORD={len(words) - 1}; _compatcheck; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    return subprocess.run(["bash", "-c", code], cwd=HERE / "models", capture_output=True, text=True, check=True, timeout=60).stdout.split()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    program = parser.parse_args().program
    script, fish = (subprocess.run([program, "completion", shell], capture_output=True, text=True, check=True).stdout for shell in ("bash", "fish"))
    wrong = []
    for line, expected, absent in CASES:
        words = offered(script, line)
        if not set(expected) <= set(words) or set(absent) & set(words):
            wrong.append(f"compatcheck {line}: offers {words}")
    for line in fish.splitlines():
        try:
            shlex.split(line.replace("\\'", ""))
        except ValueError as error:
            wrong.append(f"fish: {line}: {error}")
    print(*wrong, sep="\n")
    print(f"{len(CASES)} lines: {len(wrong)} failed")
    return 1 if wrong or not fish else 0


if __name__ == "__main__":
    sys.exit(main())
