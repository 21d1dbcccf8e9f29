#!/usr/bin/env python3
"""How strong the tests are: makes small faults in the sources (mutations.py), one at a time, and reports which test finds each.

    mutants.py [--seed 46] [--count 48] [--rooms src/handlers,src/passes] [--resume] [--report FILE]
    mutants.py --against COMMIT [--report FILE]     tries what survived on the tests of another commit

A fault is made in a copy of HEAD (WORK/tree), built, and tried on the tests that belong to its file (tests/runner/belonging.py). What
survives them is tried on all that `make test` runs: all survivors at once, then each alone on the tests that failed. WORK/state.json
keeps the outcomes; --resume continues from there if seed, count, rooms and commit are the same.
"""
import argparse, collections, contextlib, datetime, functools, json, os, pathlib, re, resource, subprocess, sys, tempfile, time

ROOT = pathlib.Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests/runner"), str(ROOT / "tools")]
import belonging, run_tests
from mutations import ROOMS, Choice

TOOLS = pathlib.Path(sys.executable).parent
MEMORY = 12 << 30          # bytes of a process: a fault may ask for all that there is
LONG = 10                  # seconds; shorter tests run before longer ones
TIMEOUTS = {False: 90, True: 400}   # seconds of short and long tests that state none: a fault may be a loop without end
OF_STYLE = {"formatted"}   # finds every changed line


@functools.cache
def costs():
    """test → seconds"""
    return {name: float(seconds) for name, seconds in (line.split("\t") for line in run_tests.COSTS.read_text().splitlines())}


@contextlib.contextmanager
def timed(what):
    began = time.time()
    yield
    print(f"mutants: {what}: {run_tests.minutes(time.time() - began)} minutes", flush=True)


def git(folder, *words):
    return subprocess.run(["git", "-C", folder, *words], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


class Tree:
    """A copy of the sources with a build folder of its own."""

    def __init__(self, folder, commit, environment):
        self.folder, self.environment = folder, environment
        if not folder.exists():
            git(ROOT, "clone", "--quiet", "--shared", "--no-checkout", ROOT, folder)
        git(folder, "checkout", "--quiet", "--force", "--detach", commit)
        with timed(f"set-up and build of {commit[:8]}"):
            self.call("cmake", "--preset", "release", "--log-level=WARNING").check_returncode()
            if error := self.build(["all"]):
                sys.exit(f"the sources don't build: {error}")
        listed = json.loads(self.call("ctest", "--preset", "release", "--show-only=json-v1").stdout)["tests"]
        self.commands = {test["name"]: test.get("command", []) for test in listed if not run_tests.labels(test) & {"all"}}
        self.tests = set(self.commands) - OF_STYLE

    def call(self, program, *words):
        return subprocess.run([TOOLS / program, *words], cwd=self.folder, env=self.environment, text=True, errors="replace",
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def apply(self, mutations):
        """Makes these faults and no others; false if a line isn't there. In another commit it may be elsewhere."""
        git(self.folder, "checkout", "--quiet", "--", "src", "mappings")
        for mutation in mutations:
            file = self.folder / mutation["file"]
            lines = file.read_text().split("\n") if file.exists() else []
            places = [at for at, line in enumerate(lines) if line == mutation["before"]]
            if not places:
                return False
            lines[min(places, key=lambda at: abs(at + 1 - mutation["line"]))] = mutation["after"]
            file.write_text("\n".join(lines))
        return True

    def targets(self, names):
        """The programs that the commands of these tests name; everything where a command names none."""
        build = f"{self.folder}/build/"
        of = lambda name: {word.removeprefix(build) for word in self.commands[name] if word.startswith(build) and os.path.isfile(word)}
        programs = [of(name) for name in names]
        return sorted(set().union(*programs)) if all(programs) else ["all"]

    def build(self, targets):
        """Why it fails; "" if it doesn't."""
        done = self.call("cmake", "--build", "--preset", "release", "--target", *targets)
        lines = [line for line in done.stdout.splitlines() if ": " in line]
        if done.returncode and "FAILED: " not in done.stdout:
            sys.exit(f"no step of the build fails, but it does: {done.stdout[-600:]}")
        return next((line for line in lines if "error: " in line), lines[-1] if lines else "no message") if done.returncode else ""

    def run(self, names, stop=False):
        """The tests that fail, and those that couldn't run: the short ones first."""
        failed, unable = set(), set()
        for long in (False, True):
            turn = {name for name in names if (costs().get(name, 0) > LONG) == long}
            if turn and not (stop and failed):
                found = self.run_turn(turn, stop, TIMEOUTS[long])
                failed, unable = failed | found[0], unable | found[1]
        return failed, unable

    def run_turn(self, names, stop, timeout):
        with tempfile.NamedTemporaryFile("w") as listed:
            listed.writelines(f"{name}\n" for name in sorted(names))
            listed.flush()
            words = ["-j", str(os.cpu_count()), "--timeout", str(timeout), "--tests-from-file", listed.name]
            done = self.call("ctest", "--preset", "release", *words, *(["--stop-on-failure"] if stop else []))
        outcomes = {found[1]: found[2] for found in map(run_tests.LINE.match, done.stdout.splitlines()) if found}
        if not outcomes:
            sys.exit(f"ctest ran nothing: {done.stdout[-600:]}")
        unable = {name for name, outcome in outcomes.items() if "Not Run" in outcome}
        return {name for name, outcome in outcomes.items() if outcome != "Passed"} - unable, unable

    def try_out(self, mutations, names, stop=False):
        """As run(), with these faults."""
        self.apply(mutations)
        error = self.build(self.targets(names))
        if error and not mutations:
            sys.exit(f"the sources don't build: {error}")
        return (set(names), set()) if error else self.run(names, stop)


def share_out(mutants, tests, run):
    """mutant → a test that finds it, without those that no test finds.

    run(mutants, tests) gives the tests that fail with all these faults at once, and those that couldn't run. One run serves all mutants;
    then each is tried alone on the tests that failed. Where that doesn't explain all, halves are tried.
    """
    failed, unable = run(mutants, tests) if mutants else (set(), set())
    if not failed | unable:
        return {}
    if len(mutants) == 1:
        return {mutants[0]: min(failed or unable)}
    if len(failed) > max(20, len(tests) / 2):   # hardly anything works, whoever is to blame
        return halves(mutants, tests, run)
    found = {mutant: min(alone) for mutant in mutants if failed and (alone := set().union(*run([mutant], failed)))}
    alive = [mutant for mutant in mutants if mutant not in found]
    rest = set().union(*run(alive, failed | unable)) if alive else set()
    if rest and rest <= unable:
        return found | share_out(alive, rest, run)
    return found | (halves(alive, tests, run) if rest else {})   # only together they fail: one may hide another


def halves(mutants, tests, run):
    middle = (len(mutants) + 1) // 2
    return share_out(mutants[:middle], tests, run) | share_out(mutants[middle:], tests, run)


class State:
    """What is known of each mutant. Outcomes: invalid (doesn't compile), killed, alive (the tests of its file pass), survives."""

    def __init__(self, file, settings, resume):
        kept = json.loads(file.read_text()) if resume and file.exists() else {}
        same = kept and settings.items() <= kept.items()
        self.file, self.data = file, kept if same else settings | {"day": str(datetime.date.today()), "mutants": []}
        self.mutants = self.data["mutants"]

    def having(self, *outcomes):
        return [mutant for mutant in self.mutants if mutant["outcome"] in outcomes]

    def save(self):
        self.file.write_text(json.dumps(self.data, indent=1))


def try_mutation(tree, mutation):
    """What the tests that belong to its file find."""
    names = belonging.tests_of([mutation["file"]], tree.tests)
    tree.apply([mutation])
    began = time.time()
    if error := tree.build(tree.targets(names)):
        # A handler that doesn't compile is no mutant; a row with which the tables can't be made is killed.
        return {"outcome": "invalid" if re.search(r"\.(cpp|h):\d+:\d+: error: ", error) else "killed", "by": "the build", "error": error}
    built = time.time()
    failed = tree.run(names, stop=True)[0]
    seconds = {"build": round(built - began), "tests": round(time.time() - built)}
    return {"outcome": "killed" if failed else "alive", "by": min(failed, default=""), **seconds}


def try_each(tree, state, choice):
    """Every place of the list gets a mutant that compiles."""
    for slot in range(state.data["count"]):
        while not any(mutant["slot"] == slot for mutant in state.having("killed", "alive", "survives")):
            if not (mutation := choice.next_of(slot, {mutant["file"] for mutant in state.mutants})):
                sys.exit(f"{slot}: no candidate is left")
            mutant = {"slot": slot, **mutation._asdict()}
            outcome = try_mutation(tree, mutant)
            state.mutants.append(mutant | outcome)
            state.save()
            print(f"mutants: {slot} {place(mutant)} {mutant['kind']} {change(mutant)}:", *outcome.values(), flush=True)


def untrusted(tree, tests):
    """Of these tests, those that fail without a fault: they kill nothing, and don't run again."""
    with timed(f"{len(tests)} tests that killed, without a fault"):
        failed = set().union(*tree.try_out([], tests)) if tests else set()
    tree.tests -= failed
    for name in sorted(failed):
        print(f"mutants: {name} fails without a fault")
    return failed


def try_together(tree, mutants):
    """index → the test that finds it."""
    def run(indices, tests):
        with timed(f"{len(indices)} mutants on {len(tests)} tests"):
            return tree.try_out([mutants[index] for index in indices], tests, stop=len(indices) == 1)
    while untrusted(tree, set((found := share_out(list(range(len(mutants))), set(tree.tests), run)).values())):
        pass
    return found


def measure(tree, state, choice):
    with timed("each mutant on the tests of its file"):
        try_each(tree, state, choice)
    while failed := untrusted(tree, {mutant["by"] for mutant in state.having("killed")} & tree.tests):
        state.mutants[:] = [mutant for mutant in state.mutants if mutant["by"] not in failed]
        try_each(tree, state, choice)
    alive = state.having("alive")
    found = try_together(tree, alive)
    for index, mutant in enumerate(alive):
        mutant |= {"outcome": "killed", "by": found[index]} if index in found else {"outcome": "survives", "by": "survives"}
    state.save()


def try_against(tree, state, commit):
    """What another commit's tests find of the survivors, with the same faults in its own sources."""
    alive = state.having("survives")
    there = [mutant for mutant in alive if tree.apply([mutant])]
    found = try_together(tree, there)
    for mutant in alive:
        mutant.setdefault("against", {})[commit] = found.get(there.index(mutant), "survives") if mutant in there else "has no such line"
    state.save()


def place(mutant):
    return f"{mutant['file']}:{mutant['line']}"


def change(mutant):
    """What differs, with a little around it."""
    texts = [mutant[name].strip() for name in ("before", "after")]
    head = max(0, len(os.path.commonprefix(texts)) - 24)
    tail = max(0, len(os.path.commonprefix([text[head:][::-1] for text in texts])) - 24)
    cut = ["…" * (head > 0) + text[head:len(text) - tail].replace("|", "\\|") + "…" * (tail > 0) for text in texts]
    return f"`{cut[0]}` → `{cut[1]}`" if texts[1] else f"without `{cut[0]}`"


def table(titles, rows):
    return ["| " + " | ".join(map(str, cells)) + " |" for cells in (titles, ["---"] * len(titles), *rows)] + [""]


def totals(mutants, title, of):
    counts = collections.Counter((of(mutant), mutant["outcome"]) for mutant in mutants)
    rows = [(name, counts[name, "killed"], counts[name, "survives"]) for name in sorted({name for name, _ in counts})]
    return table([title, "killed", "survive"], rows)


def report(state):
    valid, alive, data = state.having("killed", "survives"), state.having("survives"), state.data
    against = sorted({commit for mutant in alive for commit in mutant.get("against", {})})
    rooms = "" if data["rooms"] == list(ROOMS) else f" --rooms {','.join(data['rooms'])}"
    lines = ["# Mutants", "", f"Small faults in the sources of {data['commit'][:8]}, and the tests that find them. Written by",
             f"`tools/mutants.py --seed {data['seed']} --count {data['count']}{rooms} --report reports/mutants.md`.", "",
             f"Of {len(valid)} mutants, {len(alive)} survive `make test`. Another",
             f"{len(state.having('invalid'))} did not compile and were replaced.", ""]
    lines += totals(valid, "room", lambda mutant: mutant["file"].rpartition("/")[0]) + totals(valid, "kind", lambda mutant: mutant["kind"])
    there = lambda mutant: [mutant.get("against", {}).get(commit, "") for commit in against]
    rows = [[mutant["slot"], place(mutant), mutant["kind"], change(mutant), mutant["by"], *there(mutant)] for mutant in valid]
    titles = ["id", "place", "kind", "change", "killed by", *(f"killed by a test of {commit[:8]}" for commit in against)]
    return "\n".join(lines + table(titles, rows))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=46)
    parser.add_argument("--count", type=int, default=48)
    parser.add_argument("--rooms", default=",".join(ROOMS))
    parser.add_argument("--work", type=pathlib.Path, default=ROOT / "build/mutants")
    parser.add_argument("--report", type=pathlib.Path, help="default: WORK/mutants.md")
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--against", metavar="COMMIT")
    options = parser.parse_args()
    work, against = options.work.resolve(), options.against and git(ROOT, "rev-parse", f"{options.against}^{{commit}}")
    work.mkdir(parents=True, exist_ok=True)
    settings = {"seed": options.seed, "count": options.count, "rooms": options.rooms.split(","), "commit": git(ROOT, "rev-parse", "HEAD")}
    state = State(work / "state.json", {} if against else settings, options.resume or against)
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    with tempfile.TemporaryDirectory() as folder, run_tests.python_server(folder) as socket:
        environment = os.environ | {"COMPATCHECK_TEST_SERVER": socket, "COMPATCHECK_TEST_DAY": state.data["day"]}
        tree = Tree(work / ("against" if against else "tree"), against or settings["commit"], environment)
        if against:
            try_against(tree, state, against)
        else:
            measure(tree, state, Choice(tree.folder, options.seed, settings["rooms"]))
    file = options.report or work / "mutants.md"
    file.write_text(report(state))
    for mutant in state.having("survives"):
        print(f"survives: {place(mutant)} {mutant['kind']} {change(mutant)}")
    print(f"mutants: {len(state.having('killed'))} killed, {len(state.having('survives'))} survive; {file}")


if __name__ == "__main__":
    sys.exit(main())
