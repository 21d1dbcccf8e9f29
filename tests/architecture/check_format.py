#!/usr/bin/env python3
"""Every C++ file that git tracks is as clang-format, of the pinned version, writes it. Lines of Python have at most 180 columns.

    check_format.py ROOT VERSION
"""
import pathlib, subprocess, sys

LONGEST_LINE = 180   # columns of Python; new lines should have at most 140


def tracked(root, *patterns):
    git = ["git", "-c", f"safe.directory={root}", "ls-files", *patterns]
    listed = subprocess.run(git, cwd=root, check=True, capture_output=True, text=True).stdout.splitlines()
    files = [file for file in listed if (pathlib.Path(root) / file).is_file()]
    if not files:
        sys.exit(f"git tracks no {' or '.join(patterns)} in {root}")
    return files


def long_lines(root, file):
    for number, line in enumerate((pathlib.Path(root) / file).read_text().splitlines(), 1):
        if len(line) > LONGEST_LINE:
            yield f"{file}:{number}: {len(line)} columns, more than {LONGEST_LINE}"


def main():
    root, version = sys.argv[1:]
    program = pathlib.Path(sys.executable).with_name("clang-format")
    output = subprocess.run([program, "--version"], check=True, capture_output=True, text=True).stdout
    if f"version {version}" not in output:
        sys.exit(f"clang-format {version} is pinned (tools/versions.env), and {program} is: {output}")
    done = subprocess.run([program, "--dry-run", "-Werror", *tracked(root, "*.h", "*.cpp")], cwd=root, capture_output=True, text=True)
    wrong = sorted({line.split(":")[0] for line in done.stderr.splitlines() if "[-Wclang-format-violations]" in line})
    found = [f"{file}: isn't formatted; `make format` formats it" for file in wrong] or [done.stderr] * bool(done.returncode)
    found += [defect for file in tracked(root, "*.py") for defect in long_lines(root, file)]
    print(*found, sep="\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
