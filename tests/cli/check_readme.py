#!/usr/bin/env python3
"""The README's example of a report is what the program prints."""
import argparse, os, pathlib, re, shlex, subprocess, sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True, type=lambda path: str(pathlib.Path(path).resolve()))
    program = parser.parse_args().program
    examples = re.findall(r"^```\n\$ compatcheck (tests/\S+.*)\n((?:.*\n)*?)```$", (ROOT / "README.md").read_text(), re.M)
    wrong = 0
    for command, shown in examples:
        environment = {name: value for name, value in os.environ.items() if name != "FORCE_COLOR"} | {"COMPATCHECK_NO_CONFIG": "1"}
        printed = subprocess.run([program, *shlex.split(command)], cwd=ROOT, capture_output=True, text=True, env=environment).stdout
        if printed != shown:
            wrong += 1
            print(f"compatcheck {command} prints\n{printed}")
    print(f"{len(examples)} examples, {wrong} wrong")
    return 1 if wrong or not examples else 0


if __name__ == "__main__":
    sys.exit(main())
