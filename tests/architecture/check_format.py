#!/usr/bin/env python3
"""Every C++ file that git tracks is as clang-format, of the pinned version, writes it.

    check_format.py ROOT VERSION
"""
import pathlib, subprocess, sys


def main():
    root, version = sys.argv[1:]
    program = pathlib.Path(sys.executable).with_name("clang-format")
    output = subprocess.run([program, "--version"], check=True, capture_output=True, text=True).stdout
    if f"version {version}" not in output:
        sys.exit(f"clang-format {version} is pinned (tools/versions.env), and {program} is: {output}")
    listed = subprocess.run(["git", "-c", f"safe.directory={root}", "ls-files", "*.h", "*.cpp"], cwd=root, check=True, capture_output=True, text=True)
    files = [file for file in listed.stdout.splitlines() if (pathlib.Path(root) / file).is_file()]
    if not files:
        sys.exit(f"git tracks no C++ files in {root}")
    done = subprocess.run([program, "--dry-run", "-Werror", *files], cwd=root, capture_output=True, text=True)
    wrong = sorted({line.split(":")[0] for line in done.stderr.splitlines() if "[-Wclang-format-violations]" in line})
    print(*(f"{file}: isn't formatted; `make format` formats it" for file in wrong), done.stderr if done.returncode and not wrong else "", sep="\n")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
