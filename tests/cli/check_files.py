#!/usr/bin/env python3
"""What lies on the disk after a run: links are written through, '-' is stdout, a file that can't be written is no run that passed, saved reports are
whole or refused, and a signal leaves nothing behind."""
import argparse, json, os, pathlib, shutil, signal, subprocess, sys, tempfile, time, zipfile

MODELS = pathlib.Path(__file__).resolve().parent / "models"


class Runs:
    def __init__(self, program):
        self.program = program
        self.failed = 0

    def expect(self, condition, message):
        if not condition:
            self.failed += 1
            print(f"FAILED: {message}")

    def run(self, *words, code, says="", **options):
        result = subprocess.run([self.program, *map(str, words)], capture_output=True, text=True, timeout=120, **options)
        self.expect(result.returncode == code and says in result.stderr, f"{words}: exit {result.returncode}, expected {code}; stderr: {result.stderr}")
        return result.stdout


def links(runs, folder):
    for model in ("relu.ir", "branch.ir"):
        shutil.copyfile(MODELS / model, folder / model)
    (folder / "kept").mkdir()
    for name, words in (("report.json", ["--report", "link"]), ("known.json", ["--write-baseline", "link"]), ("known.json", ["--baseline", "link", "--prune-baseline"])):
        link = folder / ("link." + name)
        if not os.path.lexists(link):
            link.symlink_to(pathlib.Path("kept") / name)   # leads nowhere yet
        runs.run("relu.ir", *[str(link) if word == "link" else word for word in words], code=0, cwd=folder)
        runs.expect(link.is_symlink() and (folder / "kept" / name).is_file(), f"{words}: the link is gone")
    (folder / "link.ir.json").symlink_to("relu.ir")
    runs.run("relu.ir", "--report", "link.ir.json", code=2, says="that is the model", cwd=folder)


def stdout(runs, folder):
    shutil.copyfile(MODELS / "relu.ir", folder / "relu.ir")
    run = lambda *words, code=0, says="": runs.run(*words, code=code, says=says, cwd=folder)
    plain, page = run("relu.ir", "--format", "json"), run("relu.ir", "--format", "markdown")
    runs.expect(run("relu.ir", "--report", "json=-", "--report", "r.json") == plain == (folder / "r.json").read_text(), "--report json=-: another report")
    for words in (["--format", "text", "--report", "json=-"], ["--report", "html=-", "--report", "json=-"]):
        run("relu.ir", *words, code=2, says="two reports go to stdout")
    text = run("render", "r.json")
    runs.expect(run("render", "r.json", "-o", "-") == text, "-o -: another report")
    runs.expect(run("render", "r.json", "-o", "-", "--format", "markdown") == page, "-o - --format markdown: another report")
    run("render", "r.json", "-o", "-", "--report", "json=-", code=2, says="two reports go to stdout")
    runs.expect(run("render", "r.json", "-o", "x.md", "--report", "json=-") == plain and (folder / "x.md").read_text() == page, "-o beside stdout")
    run("render", "r.json", "--format", "text", "-o", "x.md")
    runs.expect((folder / "x.md").read_text() == text, "--format text -o x.md: no text")
    run("render", "r.json", "-o", "x.foo", code=2, says="the ending names no format")
    run("render", "r.json", "-o", "x.foo", "--format", "markdown")
    runs.expect((folder / "x.foo").read_text() == page, "--format markdown -o x.foo: another report")
    with open(folder / "out.json", "w") as out:
        result = subprocess.run([runs.program, "relu.ir", "--report", "out.json"], stdout=out, stderr=subprocess.PIPE, text=True, cwd=folder)
    runs.expect(result.returncode == 2 and "goes there" in result.stderr, f"a report over stdout: {result}")
    runs.expect(not (folder / "-").exists(), "there is a file '-'")


def full_disk(runs, folder):
    shutil.copyfile(MODELS / "relu.ir", folder / "relu.ir")
    for words in (["--write-baseline", "/dev/full"], ["--report", "json=/dev/full"]):
        runs.expect("exit 0" not in runs.run("relu.ir", *words, code=2, says="can't be written", cwd=folder), f"{words}: stdout says 0, the run ends with 2")


def saved_reports(runs, folder):
    for model in ("relu.ir", "branch.ir"):
        shutil.copyfile(MODELS / model, folder / model)
    run = lambda *words, code=0, says="": runs.run(*words, code=code, says=says, cwd=folder)
    one = run("relu.ir", "--format", "jsonl")
    both = run("relu.ir", "branch.ir", "--format", "jsonl", code=1)
    for name, text, says in (("half", one[:len(one) // 2], "half: line 1: "), ("more", one + "xx", "more: line 2: "), ("joined", one.strip() + one, "joined: line 1: "),
                             ("empty", "", "empty: holds no report"), ("cut", both[:-20], "cut: line 2: ")):
        (folder / name).write_text(text)
        run("render", name, code=3, says=says)
    # The same twice is there once; contradictions are refused.
    (folder / "one").write_text(one)
    (folder / "both").write_text(both)
    merged = [json.loads(line)["model"]["path"] for line in run("render", "one", "both", "one", "--format", "jsonl").splitlines()]
    runs.expect(merged == ["relu.ir", "branch.ir"], f"merged: {merged}")
    (folder / "opset9").write_text(run("relu.ir", "--opset", "9", "--format", "jsonl"))
    runs.expect(run("render", "one", "opset9", "--format", "jsonl").count("\n") == 2, "two opsets are two reports")
    (folder / "other").write_text(run("relu.ir", "--fail-on", "never", "--format", "jsonl"))
    run("render", "both", "other", code=2, says="both and other hold different reports of relu.ir at opset 17")
    (folder / "relu.ir").unlink()
    (folder / "gone").write_text(run("relu.ir", "branch.ir", "--format", "jsonl", code=3))
    run("render", "one", "gone", code=2, says="one and gone hold different reports of relu.ir")
    # A run without models has a report that says so.
    (folder / "none").write_text(run("branch.ir", "--shard", "2/2", "--format", "jsonl", says="no model in this shard"))
    runs.expect(run("render", "none", "one", "--format", "jsonl") == one, "a shard without models")


def conversions(runs, folder):
    """convert --report, and a folder of models: each is written to its place, and one that fails stops no other."""
    models = folder / "models"
    (models / "old").mkdir(parents=True)
    for name in ("relu.ir", "old/relu.ir", "branch.ir", "broken.ir"):
        shutil.copyfile(MODELS / pathlib.Path(name).name, models / name)
    shutil.copyfile(MODELS / "relu.ir", models / "relu.txt")
    run = lambda *words, code=0, says="": runs.run("convert", *words, code=code, says=says, cwd=folder)
    run("models/relu.ir", "-o", "one.onnx", "--report", "one.json", "--report", "one.md", says="x: f32[")
    report = json.loads((folder / "one.json").read_text())
    runs.expect((report["verdict"], report["model"]["path"]) == ("yes", "models/relu.ir"), f"convert --report: {report}")
    runs.expect(json.loads(run("models/branch.ir", "-o", "two.onnx", "--report", "json=-", code=1))["verdict"] == "no", "--report json=-")
    run("models/relu.ir", "-o", "-", "--report", "json=-", code=2, says="the ONNX model goes to stdout")
    run("models/relu.ir", "-o", "one.onnx", "--report", "json=one.onnx", code=2, says="two reports go to one.onnx")
    out = run("models", "-o", "made/onnx", "--report", "all.jsonl", code=3, says="3 of 5 models written to made/onnx")
    written = sorted(str(file.relative_to(folder / "made/onnx")) for file in (folder / "made").rglob("*.onnx"))
    runs.expect(written == ["old/relu.onnx", "relu.onnx", "relu.txt.onnx"], f"a folder converted: {written}")
    verdicts = [json.loads(line).get("verdict") for line in (folder / "all.jsonl").read_text().splitlines()]
    runs.expect(verdicts == ["no", None, "yes", "yes", "yes"], f"reports of a folder: {verdicts}")
    runs.expect(out.count("NOT CONVERTIBLE") == 1, f"a folder's page: {out}")
    run("models", "-o", "one.onnx", code=2, says="the models of a folder need a folder")


def folders(runs, folder):
    """What of a folder is checked: globs, ONNX files, files that hold something else."""
    (folder / "models" / "old").mkdir(parents=True)
    for name in ("relu.ir", "mean.ir", "old/relu.ir"):
        shutil.copyfile(MODELS / pathlib.Path(name).name, folder / "models" / name)
    shutil.copyfile(MODELS / "bodies.onnx", folder / "models" / "bodies.onnx")

    def checked(*words, code=0, says=""):
        return [json.loads(line)["model"]["path"] for line in
                runs.run("models", "--format", "jsonl", *words, code=code, says=says, cwd=folder).splitlines()]

    everything = ["models/mean.ir", "models/old/relu.ir", "models/relu.ir"]
    runs.expect(checked() == everything, "a folder")
    for words, left in ((["--exclude", "old"], ["models/mean.ir", "models/relu.ir"]), (["--exclude", "relu.*"], ["models/mean.ir"]),
                        (["--exclude", "old/*"], ["models/mean.ir", "models/relu.ir"]), (["--exclude", "models/m*"], everything[1:]),
                        (["--exclude", "old", "--exclude", "mean.ir"], ["models/relu.ir"]), (["--exclude", "nothing"], everything)):
        runs.expect(checked(*words) == left, f"{words}: {checked(*words)}")
    checked("--exclude", "*", code=2, says="no model in this folder")
    runs.expect(checked("--target", "ort-cpu") == ["models/bodies.onnx", *everything], "ONNX files beside others")
    with zipfile.ZipFile(folder / "models" / "weights.pth", "w") as archive:
        # torch.save(OrderedDict()) in its smallest form.
        archive.writestr("weights/data.pkl", b"\x80\x02ccollections\nOrderedDict\n)R.")
        archive.writestr("weights/version", b"3\n")
    checked(code=3, says="weights.pth: holds weights without code (a state_dict)")
    runs.expect(checked("--skip-foreign", says="models/weights.pth: skipped (state_dict)") == everything, "--skip-foreign")
    (folder / "models" / "notes.pt").write_text("notes\n")
    runs.expect(checked("--skip-foreign", says="models/notes.pt: skipped (text)") == everything, "--skip-foreign: text")
    # A run that looks at nothing must not pass.
    left = "no model is left to check: --skip-foreign leaves out 2 files"
    checked("--skip-foreign", "--exclude", "*.ir", "--exclude", "old", code=2, says=left)
    (folder / "models" / "junk.pt").write_bytes(b"junk\0")
    checked("--skip-foreign", code=3, says="junk.pt")


def onnx_to_stdout(runs, folder):
    """The same bytes as in a file, and nothing else; what was written, and warnings, on stderr."""
    shutil.copyfile(MODELS / "relu.ir", folder / "relu.ir")
    runs.run("convert", "relu.ir", "-o", "x.onnx", code=0, says="x.onnx: written, opset 17 · 1 node · ", cwd=folder)
    made = subprocess.run([runs.program, "convert", "relu.ir", "-o", "-"], cwd=folder, capture_output=True)
    runs.expect(made.returncode == 0 and made.stdout == (folder / "x.onnx").read_bytes(), "-o -: other bytes than those of a file")
    runs.expect(made.stderr.startswith(b"compatcheck: <stdout>: written, "), f"-o -: {made.stderr}")
    runs.run("convert", "relu.ir", "-o", "-", "--external-data", "always", code=2, says="--external-data `always` needs a file", cwd=folder)
    # What protobuf can't hold is refused before anything is written.
    import torch
    class Wide(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("weight", torch.zeros(1).expand(30000, 20000))   # 2.4 GB in the ONNX model

        def forward(self, x):
            return x @ self.weight
    torch.jit.trace(Wide(), torch.rand(1, 30000), check_trace=False).save(str(folder / "wide.pt"))
    for words in ([], ["--external-data", "never"]):
        made = subprocess.run([runs.program, "convert", "wide.pt", "-o", "-", *words], cwd=folder, capture_output=True)
        runs.expect(made.returncode == 2 and not made.stdout and b"larger than 2 GB" in made.stderr, f"2 GB to stdout: {made.returncode} {made.stderr} {len(made.stdout)}")
    (folder / "wide.pt").unlink()
    # Dimensions by name; nothing is written where findings fail the gate.
    runs.run("convert", "relu.ir", "-o", "y.onnx", "--input", "x=f32:batch,width", code=0, says="dynamic dimensions  batch, width", cwd=folder)
    runs.expect(sorted(path.name for path in folder.iterdir()) == ["relu.ir", "x.onnx", "y.onnx"], f"left {list(folder.iterdir())}")


def alive(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def descendants(pid):
    found = []
    for tasks in pathlib.Path(f"/proc/{pid}/task").glob("*/children"):
        for child in map(int, tasks.read_text().split()):
            found += [child, *descendants(child)]
    return found


def wait_for(runs, condition, message):
    for _ in range(1000):
        if condition():
            return
        time.sleep(0.01)
    runs.expect(False, message)


def commands_end(runs, folder):
    """Each command that reads a model, while it waits for one on stdin."""
    for words in (["check", "-"], ["convert", "-", "-o", "x.onnx"], ["verify", "-"], ["inspect", "-"]):
        process = subprocess.Popen([runs.program, *words, "--log", "off"], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        wait_for(runs, lambda: "SigCgt:\t" in (status := pathlib.Path(f"/proc/{process.pid}/status").read_text()) and
                 int(status.split("SigCgt:\t")[1].split()[0], 16) & 1 << signal.SIGINT - 1, f"{words}: catches no SIGINT")
        process.send_signal(signal.SIGINT)
        process.wait(timeout=60)   # communicate() would end its input first
        out, err = process.communicate(timeout=60)
        runs.expect((process.returncode, out, err) == (130, "", "compatcheck: interrupted (SIGINT)\n"), f"{words}: {process.returncode} {out!r} {err!r}")
    runs.expect(not list(folder.iterdir()), f"left {list(folder.iterdir())}")


def signals(runs, folder):
    """One model comes from a pipe that nobody ends: the run waits with its files open."""
    shutil.copyfile(MODELS / "relu.ir", folder / "relu.ir")
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        process = subprocess.Popen([runs.program, "relu.ir", "-", "--report", "out.jsonl", "--jobs", "2"], cwd=folder, stdin=subprocess.PIPE,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        while process.poll() is None and not (list(folder.glob("out.jsonl.tmp*")) and descendants(process.pid)):
            time.sleep(0.01)
        others = descendants(process.pid)
        process.send_signal(number)
        runs.expect(process.wait(timeout=60) == 130, f"{number.name}: ended with {process.returncode}")
        output = process.stderr.read()
        runs.expect(output == f"compatcheck: interrupted ({number.name})\n", f"{number.name}: said {output!r}")
        process.stdin.close()
        wait_for(runs, lambda: not any(alive(pid) for pid in others), f"{number.name}: processes are left")
        runs.expect([path.name for path in folder.iterdir()] == ["relu.ir"], f"{number.name} left {list(folder.iterdir())}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True, type=lambda path: str(pathlib.Path(path).resolve()))
    runs = Runs(parser.parse_args().program)
    os.environ["COMPATCHECK_NO_CONFIG"] = "1"  # whatever lies above the temporary folder
    cases = [links, stdout, full_disk, saved_reports, signals, commands_end, conversions, folders, onnx_to_stdout]
    for case in cases:
        with tempfile.TemporaryDirectory() as folder:
            case(runs, pathlib.Path(folder))
    print(f"{len(cases)} cases, {runs.failed} failures")
    return 1 if runs.failed else 0


if __name__ == "__main__":
    sys.exit(main())
