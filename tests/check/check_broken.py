#!/usr/bin/env python3
"""What is no model, or a malformed one: the exit code that its index entry allows, a reason on stderr with the words that the entry
has, no signal, in time."""
import argparse, json, os, pathlib, subprocess, sys, tempfile

SECONDS = 60


def run(program, file):
    return subprocess.run([program, str(file), "--timeout", "20", "--memory", "2048"], capture_output=True, text=True, timeout=SECONDS)


def fault(program, file, exits, words=""):
    try:
        result = run(program, file)
    except subprocess.TimeoutExpired:
        return f"{file.name}: still running after {SECONDS} s"
    if result.returncode not in exits:
        return f"{file.name}: exit {result.returncode}, allowed are {exits}: {result.stderr.strip()[:200]}"
    if result.returncode == 3 and (file.name not in result.stderr or "\n\n" in result.stderr.strip()):
        return f"{file.name}: stderr doesn't say what is wrong with it: {result.stderr!r}"
    if result.returncode and words not in result.stderr + result.stdout:
        return f"{file.name}: exit {result.returncode}, and nothing says '{words}': {(result.stderr or result.stdout).strip()[:300]!r}"
    return None


def places_without_a_model():
    """Absent, an empty folder, a file that can't be read."""
    folder = pathlib.Path(tempfile.mkdtemp())
    yield folder / "absent.pt", [3]
    (folder / "empty").mkdir()
    yield folder / "empty", [2]
    unreadable = folder / "unreadable.pt"
    unreadable.write_bytes(b"x")
    unreadable.chmod(0)
    if not os.access(unreadable, os.R_OK):  # root reads everything
        yield unreadable, [3]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    parser.add_argument("--broken", type=pathlib.Path, required=True)
    options = parser.parse_args()
    entries = json.loads((options.broken / "index.json").read_text())["files"]
    cases = [(options.broken / entry["file"], entry["exits"], entry["words"]) for entry in entries] + list(places_without_a_model())
    wrong = [fault(options.program, *case) for case in cases]
    wrong = [line for line in wrong if line]
    print(*wrong, sep="\n")
    print(f"{len(cases) - len(wrong)} passed, {len(wrong)} failed")
    return 1 if wrong or not entries else 0


if __name__ == "__main__":
    sys.exit(main())
