#!/usr/bin/env python3
"""Random programs, converted and compared with TorchScript.

    run_programs.py --program BUILD/tests/convert_cases --helper BUILD/libexec/compatcheck-torchscript
                    [--first SEED] [--count N] [--jobs N] [--opsets 9,13,17,20,23] [--opsets-each K] [--failures DIR] [--no-shrink] [--containers]

Each seed makes one program. TorchScript says what is right; a program that PyTorch refuses is dropped, a refusal of the converter is
counted. What remains must convert, run, and agree in values, shapes and dtypes on every set of inputs. What fails is shrunk to a small
program, which is printed as Python source. Ends with 1 if anything failed.
"""
import argparse, collections, json, os, pathlib, re, subprocess, sys, threading, time

HERE = pathlib.Path(__file__).parent
sys.path.append(str(HERE.parent / "convert"))
from days import part_of_the_day
from lines import Lines

MOST_SECONDS = 300       # for one program, shrunk where it fails
GOOD = ("match", "refused", "dropped", "without a kernel", "fails where empty")


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    parser.add_argument("--helper", required=True)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--part-of-day", type=int, default=1, metavar="N", help="every Nth seed, others each day")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--opsets", default="9,13,17,20,23")
    parser.add_argument("--opsets-each", type=int, default=0, help="that many of the opsets for each program, in turn; 0: all")
    parser.add_argument("--failures", help="folder for the shrunk programs")
    parser.add_argument("--no-shrink", action="store_true")
    parser.add_argument("--reasons", action="store_true", help="print why programs are refused, most frequent first")
    parser.add_argument("--containers", action="store_true", help="programs of lists, dictionaries, tuples, Optionals and objects")
    parser.add_argument("--alike", type=int, default=3, help="how many programs that fail with the same words are shrunk; all that give wrong results are")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


class Worker(threading.Thread):
    """A process that tries seeds, started anew where one ends it."""

    def __init__(self, seeds, done, lock):
        super().__init__(daemon=True)
        self.seeds, self.done, self.lock = seeds, done, lock

    def start_process(self):
        process = subprocess.Popen([sys.executable, str(HERE / "run_programs.py"), *sys.argv[1:], "--worker"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   env={**os.environ, "OMP_NUM_THREADS": "1"})
        return process, Lines(process.stdout)

    def run(self):
        (process, lines), tried = self.start_process(), 0
        while True:
            with self.lock:
                if not self.seeds:
                    break
                seed = self.seeds.popleft()
            try:
                process.stdin.write(f"{seed}\n".encode())
                process.stdin.flush()
                line = lines.next(MOST_SECONDS)
                late = line is None
                if late:
                    process.kill()
            except BrokenPipeError:
                line, late = "", False
            result = json.loads(line) if line else {"seed": seed, "outcome": "late" if late else "crash", "detail": f"the process ended with {process.wait()}"}
            self.done(result)
            tried += 1
            if not line or tried % 2000 == 0:   # scripted programs stay in memory
                process.stdin.close()
                process.wait()
                process, lines = self.start_process()
        process.stdin.close()
        process.wait()


def main():
    arguments = options()
    if arguments.worker:
        import attempt
        return attempt.work(arguments)
    seeds = collections.deque(part_of_the_day(range(arguments.first, arguments.first + arguments.count), "programs", arguments.part_of_day))
    counts, conversions, reasons, failures, lock, begun = collections.Counter(), collections.Counter(), collections.Counter(), [], threading.Lock(), time.time()

    def done(result):
        with lock:
            outcome = result["outcome"]
            counts[outcome] += 1
            conversions.update(result.get("tried", []))
            if outcome == "refused":
                reasons[re.sub(r"`[^`]*`", "`…`", re.sub(r"; and \d+ nodes? that depend.*", "", result["detail"].split("\n")[0]))[:160]] += 1
            if outcome not in GOOD:
                failures.append(result)
                print(f"\n# {outcome.upper()} seed {result['seed']} {result.get('at', '')}: {result['detail']}\n{result.get('source', '')}", flush=True)
                if arguments.failures:
                    folder = pathlib.Path(arguments.failures)
                    folder.mkdir(parents=True, exist_ok=True)
                    (folder / f"{result['seed']}.py").write_text(f"# {outcome} {result.get('at', '')}: {result['detail']}\n{result.get('source', '')}\n")
            if sum(counts.values()) % 500 == 0:
                print(f"{sum(counts.values())} programs after {time.time() - begun:.0f} s: {summary(counts)}", file=sys.stderr, flush=True)

    workers = [Worker(seeds, done, lock) for _ in range(arguments.jobs)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    if arguments.reasons:
        for reason, count in reasons.most_common(40):
            print(f"{count:6} {reason}")
    print(f"{sum(counts.values())} programs: {summary(counts)}; {sum(conversions.values())} conversions: {summary(conversions)}")
    if counts["match"] * 2 < sum(counts.values()):
        print("fewer than half of the programs were compared")
        return 1
    return 1 if failures else 0


def summary(counts):
    return ", ".join(f"{n} {what}" for what, n in sorted(counts.items()))


if __name__ == "__main__":
    sys.exit(main())
