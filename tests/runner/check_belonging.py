"""Checks belonging.py: every pattern of TABLE names a test, every alternative in it too, and every file has the tests that it needs."""
import argparse, functools, json, pathlib, re, subprocess, sys

import belonging

# Files that must have tests of their own; headers, helpers and cases of other tests have the label `check` or belong to none.
NEEDS_TESTS = re.compile(r"src/.*\.(cpp|h)|mappings/.*\.yaml|tests/convert/layers_\w+\.py"
                         r"|tests/(check|verify|cli|html|ci|docs)/check_\w+\.py")


def alternatives(pattern):
    """The pattern once for each alternative of its group."""
    group = re.search(r"\(([^()]+)\)", pattern)
    return [pattern.replace(group[0], word, 1) for word in group[1].split("|")] if group else [pattern]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    ctest = pathlib.Path(sys.executable).parent / "ctest"
    listed = subprocess.run([ctest, "--test-dir", parser.parse_args().build, "--show-only=json-v1"], stdout=subprocess.PIPE, check=True)
    tests = {test["name"] for test in json.loads(listed.stdout)["tests"]}
    exists = functools.cache(lambda pattern: any(re.fullmatch(pattern, test) for test in tests))
    found = [file for top in ("src", "mappings", "tests", "python") for file in (belonging.ROOT / top).rglob("*")]
    files = [str(file.relative_to(belonging.ROOT)) for file in found]
    defects = [f"no file is {place}" for place, _ in belonging.TABLE if not any(re.match(place, file) for file in files)]
    for place, words in belonging.TABLE:
        fixed = [word for word in words.split() if "\\" not in word]
        defects += [f"{place}: no test is {one}" for word in fixed for one in alternatives(word) if not exists(one)]
    belongs = lambda file: belonging.families(file, tests) or any(map(exists, belonging.patterns(file)))
    defects += [f"no test belongs to {file}" for file in files if NEEDS_TESTS.fullmatch(file) and not belongs(file)]
    print(*defects, sep="\n")
    return 1 if defects else 0


if __name__ == "__main__":
    sys.exit(main())
