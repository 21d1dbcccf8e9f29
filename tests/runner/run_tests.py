#!/usr/bin/env python3
"""Runs the tests of a build folder with ctest, then prints how long it took and which tests were the slowest.

    run_tests.py check|test|all [--preset release] [--since EPOCH] [--exclude LABEL] [--names REGEX] [--write-costs]

check   tests with the label `check`, and those that belong to what changed since the last commit (belonging.py)
test    all tests but those with the label `all`
all     all tests

--since: when the command began, in seconds since 1970, so that building counts. --write-costs writes costs.tsv: how long tests take,
so that ctest begins with the longest.
"""
import argparse, collections, json, os, pathlib, re, subprocess, sys, tempfile, time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import belonging

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parents[1]
COSTS = HERE / "costs.tsv"
LINE = re.compile(r"\s*\d+/\d+ Test\s+#\d+: (\S+) \.*\s*(Passed|\*\*\*.*?)\s+([\d.]+) sec")
SLOWEST = 10


def ctest(preset, *words):
    return [str(pathlib.Path(sys.executable).parent / "ctest"), "--preset", preset, *words]


def known_tests(preset):
    """name → labels"""
    listed = json.loads(subprocess.run(ctest(preset, "--show-only=json-v1"), capture_output=True, text=True, check=True, cwd=ROOT).stdout)
    labels = lambda test: next((p["value"] for p in test.get("properties", []) if p["name"] == "LABELS"), [])
    return {test["name"]: set(labels(test)) for test in listed["tests"]}


def chosen(tier, tests, changed):
    if tier == "all":
        return set(tests)
    if tier == "test":
        return {name for name, labels in tests.items() if "all" not in labels}
    return {name for name, labels in tests.items() if "check" in labels} | belonging.tests_of(changed, tests)


def minutes(seconds):
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"


class Server:
    """forked.py --serve, as long as the tests run."""

    def __init__(self, folder):
        self.socket = os.path.join(folder, "python")
        self.process = subprocess.Popen([sys.executable, str(HERE / "forked.py"), "--serve", self.socket], start_new_session=True)

    def __enter__(self):
        while not os.path.exists(self.socket) and self.process.poll() is None:
            time.sleep(0.02)
        return self.socket

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


def run(command, environment):
    """ctest's exit code, and name → seconds."""
    seconds = {}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT, env=environment, errors="replace") as process:
        for line in process.stdout:
            print(line, end="", flush=True)
            if found := LINE.match(line):
                seconds[found[1]] = float(found[3])
    return process.returncode, seconds


def print_slowest(seconds, began):
    print(f"\n{len(seconds)} tests took {minutes(sum(seconds.values()))} in all; the slowest:")
    for name, taken in collections.Counter(seconds).most_common(SLOWEST):
        print(f"  {taken:6.1f} s  {name}")
    print(f"{minutes(time.time() - began)} minutes from the beginning, what was built included", flush=True)


def write_costs(seconds):
    known = dict(line.split("\t") for line in COSTS.read_text().splitlines()) if COSTS.exists() else {}
    known |= {name: f"{taken:.0f}" for name, taken in seconds.items()}
    COSTS.write_text("".join(f"{name}\t{taken}\n" for name, taken in sorted(known.items()) if float(taken) >= 1))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tier", choices=["check", "test", "all"])
    parser.add_argument("--preset", default="release")
    parser.add_argument("--since", type=float, default=time.time())
    parser.add_argument("--jobs", default=str(os.cpu_count()))
    parser.add_argument("--exclude", default="", help="a label whose tests don't run")
    parser.add_argument("--names", default="", help="a regular expression of names")
    parser.add_argument("--write-costs", action="store_true")
    options = parser.parse_args()
    tests = known_tests(options.preset)
    changed = belonging.changed_files(ROOT) if options.tier == "check" else []
    names = {name for name in chosen(options.tier, tests, changed) if options.exclude not in tests[name] and re.search(options.names, name)}
    with tempfile.TemporaryDirectory() as folder, Server(folder) as socket:
        listed = pathlib.Path(folder) / "tests"
        listed.write_text("".join(f"{name}\n" for name in sorted(names)))
        environment = os.environ | {"COMPATCHECK_TEST_SERVER": socket}
        code, seconds = run(ctest(options.preset, "-j", options.jobs, "--tests-from-file", str(listed)), environment)
    print_slowest(seconds, options.since)
    if options.write_costs:
        write_costs(seconds)
    return code


if __name__ == "__main__":
    sys.exit(main())
