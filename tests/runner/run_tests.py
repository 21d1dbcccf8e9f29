#!/usr/bin/env python3
"""Runs the tests of a build folder with ctest, then prints how long it took and which tests were the slowest.

    run_tests.py check|test|all [--preset release] [--since EPOCH] [--exclude LABEL] [--names REGEX] [--resume FILE] [--write-costs]

check   tests with the label `check`, and those that belong to what changed since the last commit (belonging.py)
test    all tests but those with the label `all`
all     all tests

--since: when the command began, in seconds since 1970, so that building counts. --resume: tests whose names FILE lists, behind a line with
COMPATCHECK_SOURCES, passed before with the same sources and don't run again; those that pass are added. --write-costs writes costs.tsv: how long tests take,
so that ctest begins with the longest.
"""
import argparse, collections, contextlib, ctypes, json, os, pathlib, re, signal, subprocess, sys, tempfile, time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import belonging

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parents[1]
COSTS = HERE / "costs.tsv"
LINE = re.compile(r"\s*\d+/\d+ Test\s+#\d+: (\S+) \.*\s*(Passed|\*\*\*.*?)\s+([\d.]+) sec")
SLOWEST = 10


def ctest(preset, *words):
    return [str(pathlib.Path(sys.executable).parent / "ctest"), "--preset", preset, *words]


def labels(test):
    """Of a test as ctest lists it."""
    return {label for property in test.get("properties", []) if property["name"] == "LABELS" for label in property["value"]}


def known_tests(preset):
    """name → labels; environment of those with a helper program that is ready (compatcheck_ready_helper)"""
    listed = json.loads(subprocess.run(ctest(preset, "--show-only=json-v1"), capture_output=True, text=True, check=True, cwd=ROOT).stdout)
    of = lambda test, name: next((p["value"] for p in test.get("properties", []) if p["name"] == name), [])
    environments = (dict(entry.split("=", 1) for entry in of(test, "ENVIRONMENT")) for test in listed["tests"])
    ready = next((each for each in environments if "COMPATCHECK_HELPER" in each), None)
    return {test["name"]: labels(test) for test in listed["tests"]}, ready


def chosen(tier, tests, changed):
    if tier == "all":
        return set(tests)
    daily = {name for name, labels in tests.items() if "all" not in labels}
    if tier == "test":
        return daily
    return {name for name, labels in tests.items() if "check" in labels} | belonging.tests_of(changed, daily)


def minutes(seconds):
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"


def end_with_parent():
    """Called in a child: it gets SIGTERM when this process ends, however it ends."""
    PR_SET_PDEATHSIG = 1
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


class Server:
    """A process that serves at a socket as long as the tests run."""

    def __init__(self, socket, command, environment=None):
        self.socket = socket
        self.process = subprocess.Popen(command, start_new_session=True, env=environment, preexec_fn=end_with_parent)

    def __enter__(self):
        while not os.path.exists(self.socket) and self.process.poll() is None:
            time.sleep(0.02)
        return self.socket

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


def python_server(folder):
    socket = os.path.join(folder, "python")
    return Server(socket, [sys.executable, str(HERE / "forked.py"), "--serve", socket])


def helper_server(folder, environment):
    """The helper program, with libtorch loaded (ready_helper.cpp)."""
    if not environment or not (client := pathlib.Path(environment["COMPATCHECK_HELPER"])).exists():
        return contextlib.nullcontext("")
    socket = os.path.join(folder, "helper")
    program = client.parents[1] / "libexec/compatcheck-torchscript"
    libraries = os.path.join(environment["COMPATCHECK_LIBTORCH"], "lib")
    variables = {"LD_LIBRARY_PATH": libraries, "LD_PRELOAD": str(client.parent / "libready_helper.so"), "COMPATCHECK_READY_HELPER": socket}
    return Server(socket, [str(program)], os.environ | variables)


def run(command, environment, passed):
    """ctest's exit code, and name → seconds."""
    seconds = {}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT, env=environment, errors="replace", preexec_fn=end_with_parent) as process:
        for line in process.stdout:
            print(line, end="", flush=True)
            if found := LINE.match(line):
                seconds[found[1]] = float(found[3])
                if found[2] == "Passed":
                    passed.add(found[1])
    return process.returncode, seconds


class Passed:
    """The tests that passed with these sources."""

    def __init__(self, file):
        self.file, self.names = file and pathlib.Path(file), set()
        if not file:
            return
        sources, *names = self.file.read_text().splitlines() if self.file.exists() else [""]
        if sources == (now := os.environ["COMPATCHECK_SOURCES"]):
            self.names = set(names)
        else:
            self.file.write_text(now + "\n")

    def add(self, name):
        if self.file:
            with self.file.open("a") as file:
                file.write(name + "\n")


def print_slowest(seconds, began):
    print(f"\n{len(seconds)} tests took {minutes(sum(seconds.values()))} in all; the slowest:")
    for name, taken in collections.Counter(seconds).most_common(SLOWEST):
        print(f"  {taken:6.1f} s  {name}")
    print(f"{minutes(time.time() - began)} minutes from the beginning, what was built included", flush=True)


def write_costs(seconds, tests):
    known = dict(line.split("\t") for line in COSTS.read_text().splitlines()) if COSTS.exists() else {}
    known = {name: taken for name, taken in known.items() if name in tests} | {name: f"{taken:.0f}" for name, taken in seconds.items()}
    COSTS.write_text("".join(f"{name}\t{taken}\n" for name, taken in sorted(known.items()) if float(taken) >= 1))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tier", choices=["check", "test", "all"])
    parser.add_argument("--preset", default="release")
    parser.add_argument("--since", type=float, default=time.time())
    parser.add_argument("--jobs", default=str(os.cpu_count() + 1), help="default: one more than processors, for tests that wait")
    parser.add_argument("--exclude", default="", help="a label whose tests don't run")
    parser.add_argument("--names", default="", help="a regular expression of names")
    parser.add_argument("--resume", metavar="FILE")
    parser.add_argument("--write-costs", action="store_true")
    options = parser.parse_args()
    tests, ready = known_tests(options.preset)
    changed = belonging.changed_files(ROOT) if options.tier == "check" else []
    names = {name for name in chosen(options.tier, tests, changed) if options.exclude not in tests[name] and re.search(options.names, name)}
    passed = Passed(options.resume)
    names -= passed.names
    if passed.names:
        print(f"{len(passed.names)} tests passed before, with the same sources", flush=True)
    with tempfile.TemporaryDirectory() as folder, python_server(folder) as python, helper_server(folder, ready) as helper:
        listed = pathlib.Path(folder) / "tests"
        listed.write_text("".join(f"{name}\n" for name in sorted(names)))
        environment = os.environ | {"COMPATCHECK_TEST_SERVER": python, "COMPATCHECK_READY_HELPER": helper}
        code, seconds = run(ctest(options.preset, "-j", options.jobs, "--tests-from-file", str(listed)), environment, passed)
    print_slowest(seconds, options.since)
    if options.write_costs:
        write_costs(seconds, tests)
    return code


if __name__ == "__main__":
    sys.exit(main())
