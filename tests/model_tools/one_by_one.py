"""Tests as functions of a tool in an empty folder: each is run, whatever became of the others."""
import argparse, pathlib, tempfile

TESTS = []


def test(function):
    TESTS.append(function)
    return function


def main(description, tool):
    """`tool`: made of the program's path and the folder. Returns the exit code."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--program", required=True)
    program = str(pathlib.Path(parser.parse_args().program).resolve())
    failed = 0
    for each in TESTS:
        with tempfile.TemporaryDirectory() as folder:
            try:
                each(tool(program, pathlib.Path(folder)))
            except Exception as error:  # told, and the others run all the same
                failed += 1
                print(f"{each.__name__}: {type(error).__name__}: {error}")
    print(f"{len(TESTS)} tests: {failed} failed")
    return 1 if failed else 0
