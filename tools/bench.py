#!/usr/bin/env python3
"""Speed and memory as ratios within one run: whole processes, taken in turn (A B A B …), medians.

    tools/bench.py [--build build] [--models build/bench] [--runs 9]

Prints one line a budget of docs/architecture.md. Nothing here is a test: figures of a busy machine prove nothing.
"""
import argparse, os, pathlib, resource, shutil, statistics, subprocess, sys, tempfile, time

ROOT = pathlib.Path(__file__).resolve().parent.parent
EXPORT = """import sys, time, torch, numpy, warnings
warnings.filterwarnings("ignore")
start = time.perf_counter()
model = torch.jit.load(sys.argv[1])
recorded = numpy.load(sys.argv[1][:-3] + ".npz")
inputs = tuple(torch.from_numpy(recorded[f"in_{i}"]) for i in range(sum(name.startswith("in_") for name in recorded.files)))
torch.onnx.export(model, inputs, sys.argv[2], opset_version=17, dynamo=False)
print(time.perf_counter() - start)
"""
EXPORT_PROGRAM = """import sys, time, torch, warnings
warnings.filterwarnings("ignore")
start = time.perf_counter()
torch.onnx.export(torch.export.load(sys.argv[1]), dynamo=True, verbose=False).save(sys.argv[2], external_data=True)
print(time.perf_counter() - start)
"""
MAKE_PROGRAM = """import importlib, sys, torch
sys.path.insert(0, sys.argv[1])
example = getattr(importlib.import_module(sys.argv[2]), sys.argv[3])()
torch.export.save(torch.export.export(example.module.eval(), example.inputs), sys.argv[4])
"""
# A chain of that many nodes, by repeating the two of a small program.
MAKE_CHAIN = """import copy, json, sys, torch, zipfile
class Pair(torch.nn.Module):
    def forward(self, x): return torch.relu(x + 1.5)
torch.export.save(torch.export.export(Pair(), (torch.randn(4, 8),)), sys.argv[1])
with zipfile.ZipFile(sys.argv[1]) as archive:
    records = {name: archive.read(name) for name in archive.namelist()}
name, = (name for name in records if name.endswith("models/model.json"))
program = json.loads(records[name])
graph = program["graph_module"]["graph"]
pair, graph["nodes"], last = graph["nodes"], [], "x"
for i in range(int(sys.argv[2])):
    node = copy.deepcopy(pair[i % 2])
    node["inputs"][0]["arg"]["as_tensor"]["name"] = last
    last = node["outputs"][0]["as_tensor"]["name"] = f"v{i}"
    graph["tensor_values"][last] = graph["tensor_values"]["x"]
    graph["nodes"].append(node)
graph["outputs"][0]["as_tensor"]["name"] = last
program["graph_module"]["signature"]["output_specs"][0]["user_output"]["arg"]["as_tensor"]["name"] = last
records[name] = json.dumps(program).encode()
with zipfile.ZipFile(sys.argv[1], "w") as archive:
    for name, content in records.items(): archive.writestr(name, content)
"""
# Converted by both; the last two are above 300 MB.
ARCHITECTURES = ["mobilenet_v3-traced", "resnet50-traced", "vit-traced", "swin-traced", "unet-traced", "bert-traced", "gpt2-traced", "t5-traced",
                 "whisper_encoder-traced", "lstm-traced", "bert_base-traced", "large-traced"]
LARGE = 300 << 20
TINY = ["branches-scripted", "attribute_writes-scripted", "aliased_writes-traced", "attention-traced"]   # about 10 nodes: 2 ms each
PYTHON_WAY = "import sys, torch; g = torch.jit.load(sys.argv[1]).inlined_graph; print(sum(1 for _ in g.nodes()))"


def children(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            return [int(child) for child in file.read().split()]
    except OSError:
        return []


def memory_of(pid, kind):
    """In MB; kind: a line of /proc/PID/status."""
    try:
        with open(f"/proc/{pid}/status") as file:
            return next((int(line.split()[1]) / 1024 for line in file if line.startswith(kind)), 0)
    except OSError:
        return 0


def run(command, memory=None):
    """Seconds, and the highest memory in MB that the process and its children have at one time; `memory`: its kind."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    peak = 0
    while memory and process.poll() is None:
        peak = max(peak, sum(memory_of(pid, memory) for pid in [process.pid, *children(process.pid)]))
        time.sleep(0.001)
    code = process.wait()
    seconds = time.perf_counter() - start
    if code not in (0, 1):
        sys.exit(f"bench: {' '.join(map(str, command))} ended with {code}")
    return seconds, peak


def in_turn(runs, *commands, memory=None):
    for command in commands:
        run(command)  # warm
    samples = [[run(command, memory) for command in commands] for _ in range(runs)]
    pick = 1 if memory else 0
    return [statistics.median(sample[i][pick] for sample in samples) for i in range(len(commands))]


def bench_convert(tool, models, runs):
    """The conversion against torch.onnx.export, whole processes on the same files."""
    ratios = []
    for name in ARCHITECTURES:
        file, out = models / f"{name}.pt", models / "out.onnx"
        large = file.stat().st_size > LARGE
        ours, theirs = [tool, "convert", file, "-o", out], [sys.executable, "-c", EXPORT, file, out]
        reference = subprocess.run(theirs, capture_output=True, text=True)
        if reference.returncode:
            line(f"torch.onnx.export of {name}", "fails", "", True)
            continue
        inside = float(reference.stdout.split()[-1])
        took, exported = in_turn(min(runs, 3), ours, theirs)
        peak, exported_peak = in_turn(1, ours, theirs, memory="VmRSS")
        ratio, least = exported / took, 10 if large else 4
        ratios.append(ratio)
        line(f"torch.onnx.export ÷ convert {name} ({file.stat().st_size >> 20} MB)", f"{exported:.2f} ÷ {took:.3f} s = {ratio:.1f}", f"≥ {least}", ratio >= least)
        line("  the same without import torch", f"{inside:.2f} ÷ {took:.3f} s = {inside / took:.1f}", "", True)
        line("  memory", f"{peak:.0f} of {exported_peak:.0f} MB", "≤ half", peak <= exported_peak / 2)
        out.unlink(missing_ok=True)
    line("torch.onnx.export ÷ convert, median", f"{statistics.median(ratios):.1f}", "≥ 6", statistics.median(ratios) >= 6)


def bench_exported(tool, models, runs):
    """Exported programs: the check by itself, the conversion against cp and against torch.onnx.export(program, dynamo=True)."""
    for family, name in (("convnets", "resnet50"), ("language", "bert_base")):
        file, out, copied = models / f"{name}.pt2", models / "out.onnx", models / "copied.pt2"
        if not file.exists():
            subprocess.run([sys.executable, "-c", MAKE_PROGRAM, ROOT / "tests" / "models", family, name, file], check=True, stdout=subprocess.DEVNULL)
        seconds, = in_turn(runs, [tool, file])
        memory, = in_turn(3, [tool, file], memory="VmRSS")
        line(f"check {name}.pt2", f"{seconds * 1000:.0f} ms, {memory:.0f} MB", "≤ 60 ms, 80 MB", seconds <= 0.060 and memory <= 80)
        took, copy = in_turn(runs, [tool, "convert", file, "-o", out], ["cp", file, copied])
        line(f"convert {name}.pt2 against cp", f"{took:.3f} and {copy:.3f} s", "≤ 1.5 cp + 0.1 s", took <= 1.5 * copy + 0.1)
        theirs = [sys.executable, "-c", EXPORT_PROGRAM, file, out]
        reference = subprocess.run(theirs, capture_output=True, text=True)
        if reference.returncode:
            why = "needs onnxscript, onnx_ir" if "onnxscript" in reference.stderr else "fails"
            line(f"torch.onnx.export(dynamo=True) of {name}.pt2", why, "", True)
        else:
            inside = float(reference.stdout.split()[-1])
            took, exported = in_turn(min(runs, 3), [tool, "convert", file, "-o", out], theirs)
            line(f"torch.onnx.export(dynamo=True) ÷ convert {name}.pt2", f"{exported:.2f} ÷ {took:.3f} s = {exported / took:.1f}", "", True)
            line("  the same without import torch", f"{inside:.2f} ÷ {took:.3f} s = {inside / took:.1f}", "", True)
        for left in (out, copied, *models.glob("out.onnx*")):
            left.unlink(missing_ok=True)
    chain = models / "chain.pt2"
    subprocess.run([sys.executable, "-c", MAKE_CHAIN, chain, "50000"], check=True, stdout=subprocess.DEVNULL)
    seconds, = in_turn(3, [tool, chain])
    line("check of 50,000 nodes (.pt2)", f"{seconds:.2f} s", "≤ 2 s", seconds <= 2)


def bench_batch(tool, models, runs):
    """1,000 copies of models, by one process and by two: of every model below 1 MB in turn, and of the smallest, where the start of a
    process, 0.25 s with libtorch, is a tenth of the work."""
    small = sorted(file for file in models.glob("*.pt") if file.stat().st_size < 1_000_000)
    for name, sources, least in (("mixed small models", small, 1.6), ("tiny models", [models / f"{each}.pt" for each in TINY], None)):
        with tempfile.TemporaryDirectory() as folder:
            for i in range(1000):
                shutil.copyfile(sources[i % len(sources)], pathlib.Path(folder) / f"m{i:04}.pt")
            one, two = in_turn(min(runs, 3), *([tool, folder, "--format", "jsonl", "--jobs", jobs] for jobs in ("1", "2")))
        line(f"1,000 {name}, one job ÷ two", f"{one:.1f} ÷ {two:.1f} s = {one / two:.2f}", f"≥ {least}" if least else "", not least or one >= least * two)
        line(f"1,000 {name}, two jobs", f"{1000 / two:.0f} a second", "", True)


SCAN = """import shutil, sys, time, ray, compatcheck
ray.init(address="local", num_cpus=int(sys.argv[3]), include_dashboard=False, object_store_memory=100 << 20, log_to_driver=False, logging_level="ERROR")
seconds = []
for _ in range(int(sys.argv[4])):
    shutil.rmtree(sys.argv[2], ignore_errors=True)
    start = time.perf_counter()
    compatcheck.scan(sys.argv[1], sys.argv[2], jobs=int(sys.argv[3]))
    seconds.append(time.perf_counter() - start)
print(sorted(seconds)[len(seconds) // 2])
"""


def bench_scan(tool, models, runs, count=1000):
    """The same models by a batch and by a scan on Ray, whose start isn't counted, but for that of its actors."""
    paths = subprocess.run([ROOT / "tools" / "setup.sh", "paths"], check=True, capture_output=True, text=True).stdout
    packages = next(each.split("=", 1)[1] for each in paths.splitlines() if each.startswith("scan_test="))
    environment = {**os.environ, "RAY_USAGE_STATS_ENABLED": "0", "PYTHONPATH": f"{tool.parent / 'python'}:{packages}"}
    small = sorted(file for file in models.glob("*.pt") if file.stat().st_size < 1_000_000)
    with tempfile.TemporaryDirectory() as folder:
        for i in range(count):
            (pathlib.Path(folder) / "models").mkdir(exist_ok=True)
            shutil.copyfile(small[i % len(small)], pathlib.Path(folder) / "models" / f"m{i:04}.pt")
        for jobs in ("1", "2"):
            batch, = in_turn(min(runs, 3), [tool, f"{folder}/models", "--format", "jsonl", "--frontend", "native", "--jobs", jobs])
            done = subprocess.run([sys.executable, "-c", SCAN, f"{folder}/models", f"{folder}/out", jobs, str(min(runs, 3))], env=environment,
                                  check=True, capture_output=True, text=True)
            scan = float(done.stdout.split()[-1])
            line(f"{count:,} models, batch ÷ scan on Ray, {jobs} at a time", f"{count / batch:.0f} ÷ {count / scan:.0f} a second", "", True)


def bench_registry_page(tool, models, runs):
    """The page of 100,000 reports in headless Chromium."""
    sys.path.insert(0, str(ROOT / "tests" / "html"))
    import check_registry_page
    from browser import Watched, browser
    reports, page, figures = models / "registry.jsonl", models / "registry.html", []
    check_registry_page.write_reports(reports, 100_000)
    start = time.perf_counter()
    check_registry_page.make_page(tool, reports, page)
    line(f"render of 100,000 reports ({reports.stat().st_size / 1e9:.1f} GB)", f"{time.perf_counter() - start:.1f} s", "", True)
    with browser() as started:
        for _ in range(runs):
            with Watched(started, page) as watched:
                opened = watched.page.evaluate(OPENED) / 1000
                filtered = watched.page.evaluate(FILTER.replace("#operators", "#models").replace("linear", "team3")) / 1000
                figures.append([opened, filtered])
    opened, filtered = (statistics.median(column) for column in zip(*figures))
    line(f"HTML page of 100,000 reports ({page.stat().st_size / 1e6:.0f} MB): opening", f"{opened * 1000:.0f} ms", "< 1 s", opened < 1)
    line("  filtering its models", f"{filtered * 1000:.0f} ms", "< 1 s", filtered < 1)
    reports.unlink()


# Runs in the page as the operator table is filtered: until the browser has drawn what is left.
FILTER = """async () => {
  const input = document.querySelector("#operators input"), drawn = () => new Promise(done => requestAnimationFrame(() => setTimeout(done)));
  await drawn();
  const start = performance.now();
  input.value = "linear";
  input.dispatchEvent(new Event("input"));
  await drawn();
  return performance.now() - start;
}"""
FIND = FILTER.replace("#operators", "#graph")
OPEN_ALL = FILTER.replace('input.value = "linear";', "").replace('input.dispatchEvent(new Event("input"))', 'document.querySelector("[aria-label=\'Open all modules\']").click()')
OPENED = "async () => { while (!window.openedAfter) await new Promise(done => setTimeout(done, 20)); return window.openedAfter; }"


def bench_html(tool, models, runs):
    """The page of a model of 5,000 nodes in headless Chromium."""
    sys.path.insert(0, str(ROOT / "tests" / "html"))
    import sample_reports
    from browser import Watched, browser, make_page
    figures = []
    with browser() as started:
        file = make_page(tool, sample_reports.listed([sample_reports.report("large.pt", sample_reports.network(5000))]), models / "large.html")
        for _ in range(runs):
            with Watched(started, file) as watched:
                opened = watched.page.evaluate(OPENED) / 1000
                figures.append([opened, watched.busy(), *(watched.page.evaluate(script) / 1000 for script in (FILTER, FIND, OPEN_ALL))])
    opened, busy, filtered, found, all_opened = (statistics.median(column) for column in zip(*figures))
    line("HTML page of 5,000 nodes: opening", f"{opened * 1000:.0f} ms", "< 1 s", opened < 1)
    line("  of which its thread was at work", f"{busy * 1000:.0f} ms", "", True)
    line("  filtering its operators", f"{filtered * 1000:.0f} ms", "< 1 s", filtered < 1)
    line("  finding nodes in its graph", f"{found * 1000:.0f} ms", "< 1 s", found < 1)
    line("  drawing it with every module open", f"{all_opened * 1000:.0f} ms", "", True)


def bench_build(folder):
    """Builds without a compiler cache: CPU time of the program, of all else with the tests, then the time of one handler and its test."""
    shutil.rmtree(folder, ignore_errors=True)
    environment = {**os.environ, "CCACHE_DISABLE": "1"}
    cmake = pathlib.Path(sys.executable).with_name("cmake")

    def cpu_seconds(*command):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        if (done := subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)).returncode:
            sys.exit(f"bench: {' '.join(map(str, command))} fails:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    build = [cmake, "--build", folder, "--target"]
    program = cpu_seconds(cmake, "--preset", "release", "-B", folder) + cpu_seconds(*build, "compatcheck")
    line("building what `make demo` builds from nothing, CPU time", f"{program / 60:.1f} min", "≤ 8 min", program <= 8 * 60)
    tests = cpu_seconds(*build, "all")
    line("building what `make test` adds, CPU time", f"{tests / 60:.1f} min", "≤ 8 min", tests <= 8 * 60)
    (ROOT / "src" / "handlers" / "histogram.cpp").touch()
    environment["OPS"] = "histc"
    start = time.perf_counter()
    cpu_seconds(*build, "operators_of")
    changed = time.perf_counter() - start
    line("a change in one handler, built and its operator tested", f"{changed:.1f} s", "≤ 15 s", changed <= 15)
    shutil.rmtree(folder)


def bench_huge(tool, models):
    """A model of 5 GB: weights go from file to file."""
    file, out = models / "huge.pt", models / "huge.onnx"
    make = """import sys, torch
class Huge(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Linear(16384, 16384, bias=False, device="meta").to_empty(device="cpu") for _ in range(5))
    def forward(self, x):
        for layer in self.layers: x = layer(x)
        return x
torch.jit.trace(Huge(), torch.rand(1, 16384), check_trace=False).save(sys.argv[1])"""
    subprocess.run([sys.executable, "-c", make, file], check=True)
    _, peak = run([tool, "convert", file, "-o", out], memory="RssAnon")
    line(f"anonymous memory converting {file.stat().st_size / 1e9:.1f} GB, both processes", f"{peak:.0f} MB", "≤ 300 MB", peak <= 300)
    for left in [file, *models.glob("huge.onnx*")]:
        left.unlink()


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
    parser.add_argument("--only-build", action="store_true", help="only the time of builds")
    parser.add_argument("--huge", action="store_true", help="a model of 5 GB, too (takes 12 GB of disk)")
    options = parser.parse_args()
    if options.only_build:
        return bench_build(ROOT / "build-bench")
    tool, empty, models, runs = options.build / "compatcheck", options.build / "bench" / "empty_torch", options.models, options.runs
    models.mkdir(parents=True, exist_ok=True)
    names = ["resnet50-traced", "bert_base-traced", "large-traced", "large_twin-traced"]
    for which in (["--small"], ["--only", ",".join({*names, *ARCHITECTURES})]):
        subprocess.run([sys.executable, ROOT / "tests" / "models" / "make_models.py", "--out", models, *which], check=True, stdout=subprocess.DEVNULL)
    model = {name: models / f"{name}.pt" for name in names}

    for arguments in (["--help"], ["explain", "aten::gelu"], ["ops"]):
        seconds, = in_turn(runs, [tool, *arguments])
        line("compatcheck " + " ".join(arguments), f"{seconds * 1000:.0f} ms", "≤ 30 ms", seconds <= 0.030)

    for name in names[:2]:
        ours, floor, python = in_turn(runs, [tool, model[name], "--opset", "11"], [empty], [sys.executable, "-c", PYTHON_WAY, model[name]])
        line(f"check {name} ÷ empty program with libtorch", f"{ours:.3f} ÷ {floor:.3f} s = {ours / floor:.2f}", "≤ 1", ours <= floor)
        line(f"python's torch.jit.load and a walk ÷ check {name}", f"{python:.2f} ÷ {ours:.3f} s = {python / ours:.1f}", "", True)
        ours, floor = in_turn(3, [tool, model[name], "--opset", "11"], [empty], memory="VmRSS")
        line(f"memory of both processes, {name}", f"{ours:.0f} MB, floor {floor:.0f} MB", "≤ floor", ours <= floor)

    large, twin = in_turn(runs, [tool, model["large-traced"]], [tool, model["large_twin-traced"]])
    line("1.6 GB model − its 1 MB twin, time", f"{(large - twin) * 1000:+.0f} ms", "within 20 ms", abs(large - twin) <= 0.020)
    large, twin = in_turn(3, [tool, model["large-traced"]], [tool, model["large_twin-traced"]], memory="VmRSS")
    line("1.6 GB model − its 1 MB twin, memory of both processes", f"{large - twin:+.1f} MB", "within 20 MB", abs(large - twin) <= 20)

    short, long = straight_graph(models / "10.ir", 10), straight_graph(models / "1010.ir", 1010)
    few, many, opsets = in_turn(runs, [tool, short], [tool, long], [tool, long, "--opset", "7-26"])
    line("our own part, 1,000 nodes", f"{(many - few) * 1000:.1f} ms", "≤ 40 ms", many - few <= 0.040)
    line("each further opset, 1,000 nodes", f"{(opsets - many) / 19 * 1000:.1f} ms", "≤ 15 ms", (opsets - many) / 19 <= 0.015)

    bench_batch(tool, models, runs)
    bench_scan(tool, models, runs)
    bench_html(tool, models, runs)
    bench_registry_page(tool, models, runs)
    bench_convert(tool, models, runs)
    bench_exported(tool, models, runs)
    bench_build(ROOT / "build-bench")
    if options.huge:
        bench_huge(tool, models)


if __name__ == "__main__":
    main()
