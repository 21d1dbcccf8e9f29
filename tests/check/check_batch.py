#!/usr/bin/env python3
"""Runs over many models in one call: one that crashes, hangs or isn't a model costs itself alone; reports come in the models' order,
whatever the jobs; a run that was interrupted goes on; memory doesn't grow with the number of models."""
import argparse, concurrent.futures, json, os, pathlib, resource, shutil, signal, subprocess, sys, tempfile, time

SOUND = ["branches-scripted", "attribute_writes-scripted", "aliased_writes-traced", "attention-traced", "baked_in-traced"]
REFUSED = ["junk.pt", "cut0.5.pt", "state_dict.pt", "deep_type.pt"]
REFUSED_LATE = ["deep_ifs.pt", "pickle_doubling.pt"]   # after a second or two; the first crashes libtorch
TEXT = "graph(%x : Float(2, 3)):\n  %y : Tensor = aten::relu(%x)\n  return (%y)\n"
CLI_MODELS = pathlib.Path(__file__).resolve().parents[1] / "cli/models"
BOUNDS = ["--timeout", "60", "--memory", "1024"]


class Fault(Exception):
    pass


def expect(condition, message):
    if not condition:
        raise Fault(message)


class Batch:
    def __init__(self, program, models, broken):
        self.program = program
        self.sound = [models / f"{name}.pt" for name in SOUND]
        self.refused = [broken / name for name in REFUSED]
        self.broken = [*self.refused, *(broken / name for name in REFUSED_LATE)]
        wanting = [file for file in [*self.sound, *self.broken] if not file.exists()]
        expect(not wanting, f"models are wanting: {wanting}")

    def command(self, *words):
        return [self.program, *map(str, words)]

    def run(self, *words, cwd=None, code=None, environment=None, before=(), **options):
        result = subprocess.run([*before, *self.command(*words)], capture_output=True, text=True, timeout=600, cwd=cwd,
                                env=os.environ | (environment or {}), **options)
        expect(code is None or result.returncode == code, f"{words[:4]}: exit {result.returncode}, expected {code}: {result.stderr[-400:]}")
        return result

    def fill(self, folder, count, broken=()):
        """Copies under names whose order mixes them; gives the names of the sound ones."""
        sound = []
        for i in range(count):
            source = self.sound[i % len(self.sound)]
            name = f"m{i:04}.pt"
            shutil.copyfile(source, folder / name)
            sound.append(name)
        for i, source in enumerate(broken):
            shutil.copyfile(source, folder / f"m{i * count // len(broken):04}x.pt")
        return sound


def by_name(text):
    return {pathlib.Path(line["model"]["path"]).name: line for line in map(json.loads, text.splitlines())}


def without_path(report):
    return {**report, "model": {**report["model"], "path": ""}}


def many(batch, folder):
    """200 copies, among them some that are no models or crash the loader."""
    names = batch.fill(folder, 200, batch.broken)
    alone = {source.name: json.loads(batch.run(source, "--format", "jsonl").stdout) for source in batch.sound}
    result = batch.run(folder, "--format", "jsonl", "--jobs", "2", *BOUNDS, code=3)
    reports = by_name(result.stdout)
    expect(list(reports) == sorted(reports), "reports don't come in the models' order")
    expect(len(reports) == len(names) + len(batch.broken), f"{len(reports)} reports")
    for i, name in enumerate(names):
        own = alone[batch.sound[i % len(batch.sound)].name]
        expect(without_path(reports[name]) == without_path(own), f"{name}: another report than alone")
    for name, report in reports.items():
        expect(("error" in report) == name.endswith("x.pt"), f"{name}: {report.get('error')}")
    expect(result.stderr.count("x.pt") >= len(batch.broken), "stderr doesn't name each model that failed")


def jobs_do_not_show(batch, folder):
    batch.fill(folder, 24, batch.refused)
    late = [shutil.copyfile(file, folder / f"m0011{file.name}") for file in batch.broken[len(batch.refused):]]
    for form in ("jsonl", "json", "text"):
        one, three = (batch.run(folder, "--format", form, "--jobs", jobs, *BOUNDS, code=3).stdout for jobs in (1, 3))
        expect(one == three, f"{form}: --jobs changes the report")
        if form == "jsonl":   # once is enough
            for file in late:
                file.unlink()


def peak_of(command):
    """Peak resident memory of this process alone, in MB."""
    # A sanitizer keeps 256 MB of what was freed.
    asan = ":".join(filter(None, (os.environ.get("ASAN_OPTIONS"), "quarantine_size_mb=1:thread_local_quarantine_size_kb=64")))
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=os.environ | {"ASAN_OPTIONS": asan})
    peak = 0
    while process.poll() is None:
        try:
            for line in pathlib.Path(f"/proc/{process.pid}/status").read_text().splitlines():
                if line.startswith("VmHWM:"):
                    peak = max(peak, int(line.split()[1]))
        except OSError:
            pass
        time.sleep(0.02)
    return peak / 1024


def memory_is_flat(batch, folder):
    few, all_of_them = folder / "few", folder / "all"
    for place, count in ((few, 20), (all_of_them, 600)):
        place.mkdir()
        batch.fill(place, count)
    for form in ("jsonl", "text"):
        small, big = (peak_of(batch.command(place, "--format", form, "--jobs", 2)) for place in (few, all_of_them))
        expect(big < small + 12, f"{form}: {small:.0f} MB for 20 models, {big:.0f} MB for 600")


def children(pid):
    return [int(child) for task in pathlib.Path(f"/proc/{pid}/task").iterdir() for child in (task / "children").read_text().split()]


def work_of(pid):
    """Nanoseconds on a processor. The process with most of them has had a model."""
    return sum(int((task / "schedstat").read_text().split()[0]) for task in pathlib.Path(f"/proc/{pid}/task").iterdir())


def finished(folder):
    """How many models are done."""
    lines = folder / "run.jsonl.partial"
    return lines.read_bytes().count(b"\n") if lines.exists() else 0


def wait_for(process, holds):
    while process.poll() is None and not holds():
        time.sleep(0.001)


def ends_early(batch, folder, victim, number, says):
    """Stops a worker, or the loader below it, and waits until others have gone on, so that it has a model; then it gets the signal."""
    models, timeout = (60, 15) if victim == "loader" else (200, 3)
    jobs = 2 if says else 1   # a loader that is to be forgiven must have read others: of one alone it is certain
    (folder / "models").mkdir(parents=True)
    for i in range(models):
        place = folder / "models" / f"m{i:03}{'.pt' if victim == 'loader' else '.ir'}"
        shutil.copyfile(batch.sound[0], place) if victim == "loader" else place.write_text(TEXT)
    command = batch.command(folder / "models", "--report", folder / "run.jsonl", "--resume", "-q", "--jobs", jobs, "--timeout", timeout,
                            *(["--frontend", "libtorch"] if victim == "loader" else []))
    with open(folder / "err", "w") as err:
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=err)
    wait_for(process, lambda: finished(folder) >= 2)
    victims = children(process.pid)
    if victim == "loader":
        victims = [loader for worker in victims for loader in children(worker)]
    expect(victims, f"no {victim} to be sent signal {number}: {(folder / 'err').read_text()}")
    chosen = max(victims, key=work_of)
    os.kill(chosen, signal.SIGSTOP)
    done = finished(folder)
    if jobs > 1:
        wait_for(process, lambda: finished(folder) >= done + 10)
    if number != signal.SIGSTOP:
        os.kill(chosen, number)
        os.kill(chosen, signal.SIGCONT)
    process.wait(timeout=300)
    reports = by_name((folder / "run.jsonl").read_text())
    failed = [report["error"]["message"] for report in reports.values() if "error" in report]
    expect(len(reports) == models and len(failed) == (says is not None), f"{victim}, signal {number}: {len(reports)} reports, {failed}")
    expect(process.returncode == (3 if says else 0), f"{victim}, signal {number}: exit {process.returncode}")
    expect(all(says in message for message in failed), f"{victim}, signal {number}: {failed}")


def a_crash_or_a_hang_costs_one_model(batch, folder):
    """Side by side: most of the time nothing happens. A loader that crashes has read other models, which may be to blame: the model is
    read again."""
    cases = [("worker", signal.SIGSEGV, "its process crashed"), ("worker", signal.SIGSTOP, "took longer than 16 s"),
             ("loader", signal.SIGSEGV, None), ("loader", signal.SIGSTOP, "was stopped after 15 s")]
    with concurrent.futures.ThreadPoolExecutor(len(cases)) as threads:
        list(threads.map(lambda case: ends_early(batch, folder / f"{case[0]}-{case[1]}", *case), cases))


def an_interrupted_run_goes_on(batch, folder):
    models = folder / "models"
    models.mkdir()
    batch.fill(models, 60, batch.refused)
    whole, file = folder / "whole.jsonl", folder / "run.jsonl"
    batch.run(models, "--report", whole, "--resume", "-q", *BOUNDS, code=3)
    command = batch.command(models, "--report", file, "--resume", "-q", "--jobs", 2, *BOUNDS)
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    partial = folder / "run.jsonl.partial"
    while process.poll() is None and not (partial.exists() and partial.read_bytes().count(b"\n") >= 20):
        time.sleep(0.01)
    process.kill()
    process.wait()
    expect(not file.exists(), "a run that was killed left a whole report")
    with open(partial, "ab") as stream:
        stream.write(b'{"schema_version":"1.0","to')  # killed in the middle of a line
    again = batch.run(models, "--report", file, "--resume", "-q", "--progress", "always", *BOUNDS, code=3)
    expect(file.read_bytes() == whole.read_bytes(), "another report than that of a run in one go")
    expect(not partial.exists(), "the partial file stayed")
    expect("[1/" not in again.stderr, "models were checked again")
    # Nothing has changed but one model.
    shutil.copyfile(models / "m0001.pt", models / "m0000.pt")
    batch.run(models, "--report", file, "--resume", "-q", *BOUNDS, code=3)
    reports = by_name(file.read_text())
    expect(without_path(reports["m0000.pt"]) == without_path(reports["m0001.pt"]), "the changed model wasn't checked again")
    # Another opset is another question.
    batch.run(models, "--report", file, "--resume", "-q", "--opset", "11", *BOUNDS, code=3)
    expect({report.get("opset", 11) for report in by_name(file.read_text()).values()} == {11}, "reports of another opset were taken")


def what_failed_is_tried_again(batch, folder):
    batch.fill(folder, 3)
    command = [folder, "--report", folder / "run.jsonl", "--resume", "-q", "--frontend", "libtorch", *BOUNDS]
    batch.run(*command, code=2, environment={"COMPATCHECK_HELPER": "/bin/false"})   # a loader that ends at once
    expect(all("error" in report for report in by_name((folder / "run.jsonl").read_text()).values()), "models were loaded without a loader")
    batch.run(*command)
    again = by_name((folder / "run.jsonl").read_text())
    expect(not any("error" in report for report in again.values()), "models that failed aren't tried again")


def shards_are_the_whole(batch, folder):
    batch.fill(folder, 10)
    whole = by_name(batch.run(folder, "--format", "jsonl").stdout)
    parts = [by_name(batch.run(folder, "--format", "jsonl", "--shard", f"{k}/3").stdout) for k in (1, 2, 3)]
    expect(sum(map(len, parts)) == 10 and {k: v for part in parts for k, v in part.items()} == whole, "the shards aren't the whole")
    for wrong in ("0/3", "4/3", "3", "a/b", "1/3x"):
        batch.run(folder, "--shard", wrong, code=2)


def a_list_names_models(batch, folder):
    names = batch.fill(folder, 3)
    (folder / "list").write_text("\n".join(str(folder / name) for name in names[:2]) + "\n\n")
    expect(list(by_name(batch.run("--models-from", folder / "list", "--format", "jsonl").stdout)) == names[:2], "another list")
    listed = lambda: list(by_name(batch.run("--models-from", folder / "list", "--format", "jsonl").stdout))
    (folder / "list").write_bytes(b"\0".join(str(folder / name).encode() for name in names[:2]) + b"\0")   # find -print0
    expect(listed() == names[:2], "a list with NULs")
    (folder / "list").write_bytes(b"\xef\xbb\xbf# models\r\n  " + str(folder / names[0]).encode() + b" \r\n\r\n")
    expect(listed() == names[:1], "a list with a byte order mark, blanks and carriage returns")
    batch.run("--models-from", folder / "absent", code=2)
    batch.run("--models-from", folder, code=2)
    (folder / ".hidden").mkdir()
    shutil.copyfile(folder / names[0], folder / ".hidden" / names[0])
    expect(len(by_name(batch.run(folder / ".hidden", "--format", "jsonl").stdout)) == 1, "a hidden folder that is named is searched")
    found = by_name(batch.run(folder, "--format", "jsonl").stdout).values()
    expect(all(".hidden" not in report["model"]["path"] for report in found), "hidden folders are searched")


def each_model_once(batch, folder):
    for name in ("a.ir", "b.ir"):
        (folder / name).write_text(TEXT)
    (folder / "link.ir").symlink_to("a.ir")
    (folder / "list").write_text("b.ir\n./b.ir\n")
    for words, wanted in ((["a.ir", "./a.ir", folder / "a.ir"], ["a.ir"]), (["b.ir", "."], ["b.ir", "./a.ir", "./link.ir"]),
                          (["--models-from", "list"], ["b.ir"]), (["a.ir", "link.ir"], ["a.ir", "link.ir"]),
                          (["nosuch.ir", "./nosuch.ir"], ["nosuch.ir"])):
        lines = batch.run(*words, "--format", "jsonl", cwd=folder).stdout.splitlines()
        paths = [json.loads(line)["model"]["path"] for line in lines]
        expect(paths == wanted, f"{words}: {paths}")
    lines = batch.run("a.ir", "--opset", "17,9,17", "--format", "jsonl", cwd=folder).stdout.splitlines()
    expect([json.loads(line)["opset"] for line in lines] == [17, 9], "an opset twice")


def hidden_files_are_reported(batch, folder):
    """What may be a model and can't be looked at isn't left out in silence; what is no file is no model."""
    for place in (folder / "tree", folder / "tree" / "sec"):
        place.mkdir()
        (place / "m.ir").write_text(TEXT)
    (folder / "tree" / "gone.pt").symlink_to("nowhere.pt")
    (folder / "tree" / "notes.md").symlink_to("nowhere.md")
    os.mkfifo(folder / "tree" / "pipe.pt")
    (folder / "tree" / "secret.txt").write_text(TEXT)
    (folder / "tree" / "secret.txt").chmod(0)
    (folder / "tree" / "sec").chmod(0)
    leave = "-dac_override,-dac_read_search"   # root may look anywhere
    before = ["setpriv", "--inh-caps", leave, "--bounding-set", leave] if os.geteuid() == 0 else []
    try:
        result = batch.run("tree", "--format", "jsonl", cwd=folder, code=3, before=before)
        reports = {json.loads(line)["model"]["path"]: json.loads(line) for line in result.stdout.splitlines()}
        expect(list(reports) == ["tree/gone.pt", "tree/m.ir", "tree/sec", "tree/secret.txt"], f"{list(reports)}")
        expect([path for path, report in reports.items() if "error" not in report] == ["tree/m.ir"], "what can't be read was checked")
        expect("tree/sec: no permission to read it" in result.stderr, result.stderr)
        batch.run("tree/sec", cwd=folder, code=3, before=before)
    finally:
        (folder / "tree" / "sec").chmod(0o755)


def bounds_may_be_large(batch, folder):
    batch.fill(folder, 2)
    for words in (["--timeout", "1e10"], ["--timeout", "1e300"], ["--memory", str(2**64 - 1)], ["--memory", str(2**44)]):
        reports = by_name(batch.run(folder, "--format", "jsonl", *words).stdout)
        expect(len(reports) == 2 and not any("error" in report for report in reports.values()), f"{words}: {reports}")


def fewer_processes_than_jobs(batch, folder):
    """The system gives no more: here, sockets."""
    # A sanitizer looks at an object's type through a pipe, and takes the lack of one for a wrong type.
    if b"__ubsan_" in pathlib.Path(batch.program).read_bytes():
        return
    for i in range(60):
        (folder / f"m{i:02}.ir").write_text(TEXT)
    few = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (16, 16))
    result = batch.run(folder, "--format", "jsonl", "--jobs", "60", code=0, preexec_fn=few)
    expect(len(by_name(result.stdout)) == 60, "not all models")
    none = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (4, 4))
    result = batch.run(folder, "--format", "jsonl", code=3, preexec_fn=none)
    messages = [report["error"]["message"] for report in by_name(result.stdout).values()]
    expect(all("no process can be started" in message for message in messages), result.stderr[-300:])


def a_slip_in_the_settings_is_reported_once(batch, folder):
    for name in ("a.ir", "b.ir"):
        (folder / name).write_text(TEXT)
    (folder / "bad.yaml").write_text("engine: x\n")
    for words in (["--target", "bad.yaml"], ["--target", "absent.yaml"], ["--inputs-from", "absent.pt"]):
        result = batch.run("a.ir", "b.ir", *words, cwd=folder, code=2)
        expect(not result.stdout and result.stderr.count("compatcheck:") == 1, f"{words}: {result.stdout}{result.stderr}")


def only_what_has_changed(batch, folder):
    outside = folder / "outside"
    outside.mkdir()
    folder = folder / "repository"
    folder.mkdir()
    git = ["git", "-c", "user.name=x", "-c", "user.email=x@example.org", "-C", str(folder)]
    names = batch.fill(folder, 4)
    (folder / "rows.yaml").write_text("acme::foo:\n  schema: acme::foo(Tensor x) -> Tensor\n  9: Relu\n")
    shutil.copyfile(CLI_MODELS / "engines/acme.yaml", folder / "engine.yaml")
    (folder / "tables").mkdir()
    (folder / "tables" / "rows.yaml").write_text((folder / "rows.yaml").read_text())
    (folder / "below").mkdir()
    shutil.copyfile(folder / names[0], folder / "below" / "m.pt")
    (folder / ".gitignore").write_text("built.pt\n")
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "add", "."], check=True)
    subprocess.run([*git, "commit", "-qm", "models"], check=True)

    def changed(*words, at="."):
        result = batch.run(*(words or [at]), "--changed-since", "HEAD", "--format", "jsonl", cwd=folder / at)
        return [report["model"]["path"] for report in map(json.loads, result.stdout.splitlines()) if "model" in report]

    nothing = batch.run(".", "--changed-since", "HEAD", cwd=folder, code=0)
    expect("no model has changed since HEAD" in nothing.stderr, nothing.stderr)
    # What git doesn't track it can't judge.
    for other in (folder / "built.pt", outside / "other.pt"):
        shutil.copyfile(folder / names[0], other)
    expect(changed() == ["./built.pt"], f"ignored: {changed()}")
    expect(changed(names[0], "../outside/other.pt") == ["../outside/other.pt"], "a model outside the repository")
    (folder / "built.pt").unlink()
    shutil.copyfile(folder / names[1], folder / "below" / "m.pt")
    subprocess.run([*git, "config", "diff.relative", "true"], check=True)
    shutil.copyfile(folder / names[0], folder / names[1])
    expect(changed("m.pt", f"../{names[1]}", at="below") == ["m.pt", f"../{names[1]}"], "diff.relative leaves files out")
    shutil.copyfile(folder / names[0], folder / "new.pt")
    expect(changed() == ["./below/m.pt", f"./{names[1]}", "./new.pt"], f"changed: {changed()}")
    # What all verdicts hang on.
    settings = (["--mappings", "rows.yaml"], ["--mappings", "tables"], ["--target", "engine.yaml"], ["--inputs-from", "inputs.npz"])
    for words in settings[:-1]:
        expect(len(changed(".", *words)) == 3, f"{words} hasn't changed")
    (folder / "rows.yaml").write_text((folder / "rows.yaml").read_text().replace("Relu", "Abs"))
    (folder / "tables" / "rows.yaml").unlink()
    (folder / "tables" / "other.yaml").write_text((folder / "rows.yaml").read_text())
    (folder / "engine.yaml").write_text((folder / "engine.yaml").read_text() + "# another\n")
    shutil.copyfile(CLI_MODELS / "example.npz", folder / "inputs.npz")
    for words in settings:
        expect(len(changed(".", *words)) == 6, f"{words}: a change changes each verdict")
    batch.run(".", "--changed-since", "no-such-revision", cwd=folder, code=2)
    batch.run(".", "--changed-since", "--output=x", cwd=folder, code=2)


CASES = [many, jobs_do_not_show, memory_is_flat, a_crash_or_a_hang_costs_one_model, an_interrupted_run_goes_on, what_failed_is_tried_again,
         shards_are_the_whole, a_list_names_models, each_model_once, hidden_files_are_reported, bounds_may_be_large,
         fewer_processes_than_jobs, a_slip_in_the_settings_is_reported_once, only_what_has_changed]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    parser.add_argument("--models", type=pathlib.Path, required=True)
    parser.add_argument("--broken", type=pathlib.Path, required=True)
    parser.add_argument("--only", default="", help="cases with this in their name")
    options = parser.parse_args()
    os.environ["COMPATCHECK_NO_CONFIG"] = "1"  # whatever lies above the temporary folder
    failed = 0
    for case in CASES:
        if options.only not in case.__name__:
            continue
        with tempfile.TemporaryDirectory() as folder:
            try:
                case(Batch(options.program, options.models, options.broken), pathlib.Path(folder))
                print(f"{case.__name__}: passed")
            except Fault as fault:
                failed += 1
                print(f"{case.__name__}: FAILED: {fault}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
