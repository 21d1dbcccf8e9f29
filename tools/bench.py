#!/usr/bin/env python3
"""Speed and memory as ratios within one run: whole processes, taken in turn (A B A B …), medians.

    tools/bench.py [--build build] [--models build/bench] [--runs 9]

Prints one line a budget of docs/architecture.md. Nothing here is a test: figures of a busy machine prove nothing.
"""
import argparse, os, pathlib, statistics, subprocess, sys, threading, time

ROOT = pathlib.Path(__file__).resolve().parent.parent
PYTHON_WAY = "import sys, torch; g = torch.jit.load(sys.argv[1]).inlined_graph; print(sum(1 for _ in g.nodes()))"


def children(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            return [int(child) for child in file.read().split()]
    except OSError:
        return []


def high_water(pid):
    try:
        with open(f"/proc/{pid}/status") as file:
            return next((int(line.split()[1]) / 1024 for line in file if line.startswith("VmHWM")), 0)
    except OSError:
        return 0


def run(command, memory=False):
    """Seconds, and the highest resident memory in MB of the process and of its children, added up."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    peaks = {}

    def watch():
        while process.poll() is None:
            for pid in [process.pid, *children(process.pid)]:
                peaks[pid] = max(peaks.get(pid, 0), high_water(pid))
            time.sleep(0.001)

    if memory:
        watcher = threading.Thread(target=watch)
        watcher.start()
        watcher.join()
    code = process.wait()
    seconds = time.perf_counter() - start
    if code not in (0, 1):
        sys.exit(f"bench: {' '.join(map(str, command))} ended with {code}")
    return seconds, sum(peaks.values())


def in_turn(runs, *commands, memory=False):
    for command in commands:
        run(command)  # warm
    samples = [[run(command, memory) for command in commands] for _ in range(runs)]
    pick = 1 if memory else 0
    return [statistics.median(sample[i][pick] for sample in samples) for i in range(len(commands))]


def line(what, figure, budget, met):
    print(f"{what:<66} {figure:>26}   {budget:<22} {'met' if met else 'NOT MET'}", flush=True)


def straight_graph(path, nodes):
    lines = ["graph(%x0 : Float(8, 16, 32, 32)):"]
    for i in range(nodes):
        op = ("relu", "sigmoid", "tanh", "neg", "abs")[i % 5]
        lines.append(f"  %x{i + 1} : Tensor = aten::{op}(%x{i}) # net.py:{i + 1}:8")
    path.write_text("\n".join([*lines, f"  return (%x{nodes})", ""]))
    return path


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--models", type=pathlib.Path, default=ROOT / "build" / "bench")
    parser.add_argument("--runs", type=int, default=9)
    options = parser.parse_args()
    tool, empty, models, runs = options.build / "compatcheck", options.build / "bench" / "empty_torch", options.models, options.runs
    models.mkdir(parents=True, exist_ok=True)
    names = ["resnet50-traced", "bert_base-traced", "large-traced", "large_twin-traced"]
    subprocess.run([sys.executable, ROOT / "tests" / "models" / "make_models.py", "--out", models, "--only", ",".join(names)],
                   check=True, stdout=subprocess.DEVNULL)
    model = {name: models / f"{name}.pt" for name in names}

    for arguments in (["--help"], ["explain", "aten::gelu"], ["ops"]):
        seconds, = in_turn(runs, [tool, *arguments])
        line("compatcheck " + " ".join(arguments), f"{seconds * 1000:.0f} ms", "≤ 30 ms", seconds <= 0.030)

    for name in names[:2]:
        ours, floor, python = in_turn(runs, [tool, model[name], "--opset", "11"], [empty], [sys.executable, "-c", PYTHON_WAY, model[name]])
        line(f"check {name} ÷ empty program with libtorch", f"{ours:.3f} ÷ {floor:.3f} s = {ours / floor:.2f}", "≤ 2", ours <= 2 * floor)
        line(f"python's torch.jit.load and a walk ÷ check {name}", f"{python:.2f} ÷ {ours:.3f} s = {python / ours:.1f}", "", True)
        ours, floor = in_turn(3, [tool, model[name], "--opset", "11"], [empty], memory=True)
        line(f"memory of both processes, {name}", f"{ours:.0f} MB, floor {floor:.0f} MB", "≤ floor + 100 MB", ours <= floor + 100)

    large, twin = in_turn(runs, [tool, model["large-traced"]], [tool, model["large_twin-traced"]])
    line("1.6 GB model − its 1 MB twin, time", f"{(large - twin) * 1000:+.0f} ms", "within 20 ms", abs(large - twin) <= 0.020)
    large, twin = in_turn(3, [tool, model["large-traced"]], [tool, model["large_twin-traced"]], memory=True)
    line("1.6 GB model − its 1 MB twin, memory of both processes", f"{large - twin:+.1f} MB", "within 20 MB", abs(large - twin) <= 20)

    short, long = straight_graph(models / "10.ir", 10), straight_graph(models / "1010.ir", 1010)
    few, many, opsets = in_turn(runs, [tool, short], [tool, long], [tool, long, "--opset", "7-26"])
    line("our own part, 1,000 nodes", f"{(many - few) * 1000:.1f} ms", "≤ 40 ms", many - few <= 0.040)
    line("each further opset, 1,000 nodes", f"{(opsets - many) / 19 * 1000:.1f} ms", "≤ 15 ms", (opsets - many) / 19 <= 0.015)


if __name__ == "__main__":
    main()
