"""Scans on a Ray of this machine: what they write, and how they go on."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import threading

import pytest
import surroundings as around

import compatcheck

OWN = pathlib.Path(__file__).resolve().parent.parent
NET, OTHER = OWN / "python" / "net.pt2", OWN / "python" / "net.pt"
PROGRAM = os.environ["PROGRAM"]


@pytest.fixture(scope="module")
def ray():
    os.environ.update(around.QUIET)
    ray = pytest.importorskip("ray")
    ray.init(address="local", num_cpus=2, include_dashboard=False, object_store_memory=around.OBJECT_STORE, log_to_driver=False, logging_level="ERROR")
    yield ray
    ray.shutdown()


@pytest.fixture
def registry(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "models" / "team").mkdir(parents=True)
    shutil.copy(NET, tmp_path / "models" / "net.pt2")
    shutil.copy(OTHER, tmp_path / "models" / "team" / "net.pt")
    shutil.copy(OWN / "cli" / "models" / "align.ir", tmp_path / "models" / "align.ir")
    (tmp_path / "models" / "junk.pt").write_bytes(b"junk" * 100)
    return tmp_path


def lines(folder):
    return [line for file in sorted((folder / "out" / "reports").iterdir()) for line in file.read_text().splitlines()]


def test_a_scan_and_what_becomes_of_it(ray, registry):
    seen = []
    totals = compatcheck.scan("models", "out", targets=["tensorrt"], progress=lambda *state: seen.append(state))
    assert (totals.models, totals.yes, totals.no, totals.not_checked, totals.exit_code) == (4, 2, 1, 1, 3)
    assert totals.missing[0]["models"] == 1 and totals.targets[0]["yes"] + totals.targets[0]["no"] + totals.targets[0]["unknown"] == 3
    assert seen[0] == ("check", 0, 4) and seen[-1] == ("check", 4, 4)
    assert "4 models: 2 convert, 1 don't" in str(totals) and "aten::linalg_pinv" in str(totals)
    assert json.loads((registry / "out" / "totals.json").read_text()) == totals.to_dict()
    first = lines(registry)
    assert [json.loads(line)["model"]["path"] for line in first] == ["models/align.ir", "models/junk.pt", "models/net.pt2", "models/team/net.pt"]

    # The same run again: no report changes, and no file of models that didn't.
    with pytest.raises(compatcheck.UsageError, match="isn't empty: --resume"):
        compatcheck.scan("models", "out", targets=["tensorrt"])
    kept = {file.name: file.stat().st_mtime_ns for file in (registry / "out" / "run").glob("*.jsonl")}
    assert compatcheck.scan("models", "out", targets=["tensorrt"], resume=True) == totals
    again = {file.name: file.stat().st_mtime_ns for file in (registry / "out" / "run").glob("*.jsonl")}
    assert set(kept) == set(again) and sum(kept[name] == again[name] for name in kept) == 3   # junk is looked at again
    assert lines(registry) == first

    # Changed, added and removed models.
    shutil.copy(OTHER, registry / "models" / "net.pt2")
    shutil.copy(NET, registry / "models" / "added.pt2")
    (registry / "models" / "junk.pt").unlink()
    later = compatcheck.scan("models", "out", targets=["tensorrt"], resume=True)
    assert (later.models, later.yes, later.not_checked, later.exit_code) == (4, 3, 0, 1)
    reports = {json.loads(line)["model"]["path"]: json.loads(line) for line in lines(registry)}
    assert sorted(reports) == ["models/added.pt2", "models/align.ir", "models/net.pt2", "models/team/net.pt"]
    assert reports["models/net.pt2"]["model"]["identity"] == reports["models/team/net.pt"]["model"]["identity"]
    assert {file.parent.name for file in (registry / "out" / "models").rglob("*.parquet")} == {"verdict=yes", "verdict=no"}

    # Other settings: nothing of the earlier run holds.
    opsets = compatcheck.scan("models", "out", opset=range(17, 20), resume=True)
    assert len(lines(registry)) == 12 and opsets.models == 4 and opsets.to_dict()["targets"] == []


def test_the_page_is_that_of_render(ray, registry):
    """`render` makes this page of more than 2,000 reports."""
    from compatcheck import _core

    compatcheck.scan("models", "out")
    page, made = (registry / "out" / "page.html").read_text(), lines(registry)
    assert "models/align.ir" in page and "aten::linalg_pinv" in page
    assert page == _core.page_of_rows([_core.page_rows("".join(line + "\n" for line in made).encode())])
    many = [line.replace('"path":"models/', f'"path":"models/{place:04}/') + "\n" for place in range(600) for line in made]
    assert len(set(many)) == 2400
    (registry / "many.jsonl").write_text("".join(many))
    rendered = subprocess.run([PROGRAM, "render", "many.jsonl", "--format", "html"], capture_output=True, text=True, check=True).stdout
    assert rendered == _core.page_of_rows([_core.page_rows("".join(part).encode()) for part in (many[:1000], many[1000:])])


def test_resume_into_a_registry_leaves_it_alone(ray, registry):
    before = {file: file.read_bytes() for file in registry.rglob("*") if file.is_file()}
    with pytest.raises(compatcheck.UsageError, match="holds no scan"):
        compatcheck.scan("models", ".", resume=True)
    assert before == {file: file.read_bytes() for file in registry.rglob("*") if file.is_file()}


def test_files_of_others_stay(ray, registry):
    compatcheck.scan("models", "out")
    others = [registry / "out" / name for name in ("reports/mine.txt", "models/net.pt", "run/mine.jsonl", "mine.partial")]
    for file in others:
        file.write_text("mine")
    left = registry / "out" / "reports" / f".part-00000.jsonl.{'0' * 32}.partial"
    left.write_text("cut")
    assert compatcheck.scan("models", "out", resume=True).models == 4
    assert all(file.read_text() == "mine" for file in others) and not left.exists()


def test_render_takes_the_reports_of_the_run(ray, registry):
    def render(*arguments):
        return subprocess.run([PROGRAM, "render", "out", "--format", "jsonl", *arguments], capture_output=True, text=True)

    compatcheck.scan("models", "out")
    reports = registry / "out" / "reports"
    for name in ("mine.jsonl", "part-00000.jsonl.bak", ".part-00001.jsonl.partial", "part-1.jsonl"):
        (reports / name).write_text("mine")
    (reports / "part-00001.jsonl.d").mkdir()
    done = render()
    assert done.returncode == 0 and done.stdout == (reports / "part-00000.jsonl").read_text(), done
    (registry / "out" / "totals.json").unlink()
    done = render()
    assert (done.returncode, done.stdout) == (3, "") and "out: the scan in this folder isn't complete" in done.stderr
    shutil.rmtree(registry / "out")
    compatcheck.scan("models", "out", changed_since="2100-01-01")
    done = render()
    assert (done.returncode, done.stdout) == (3, "") and "out: the scan in this folder has no reports" in done.stderr


def test_the_totals_are_those_of_check(ray, registry):
    """The program counts the reports that it holds; a scan adds up parts that no machine holds together."""
    for options in ({"opset": [9, 17]}, {"opset": range(13, 18)}, {}):
        totals = compatcheck.scan("models", "out", resume=(registry / "out").exists(), **options).to_dict()
        opset = ["--opset", "9,17" if isinstance(options["opset"], list) else "13-17"] if options else []
        done = subprocess.run([PROGRAM, "check", "models", "--frontend", "native", "--no-config", "--format", "json", *opset], capture_output=True, text=True)
        theirs = json.loads(done.stdout)["totals"]
        assert done.returncode == totals["exit_code"] and theirs["models"] == totals["models"] == 4
        assert [theirs[name] for name in ("yes", "no", "needs_input", "not_checked")] == [totals[name] for name in ("yes", "no", "needs_input", "not_checked")]
        assert theirs["missing"] == [{name: each[name] for name in ("op", "models", "nodes")} for each in totals["missing"]]


def test_another_run_takes_the_folder(ray, registry, monkeypatch):
    from compatcheck.registry import run

    checks = run.run_checks

    def in_use(*arguments):
        files = checks(*arguments)
        settings = json.loads((registry / "out" / "run" / "settings.json").read_text())
        (registry / "out" / "run" / "settings.json").write_text(json.dumps({**settings, "run": "another"}))
        return files

    monkeypatch.setattr(run, "run_checks", in_use)
    with pytest.raises(compatcheck.ModelError, match="another run writes to this folder"):
        compatcheck.scan("models", "out")
    assert not (registry / "out" / "totals.json").exists()


def test_lost_models_are_an_error(ray, registry, monkeypatch):
    from compatcheck.registry import run

    checks = run.run_checks
    monkeypatch.setattr(run, "run_checks", lambda *arguments: checks(*arguments)[1:])
    with pytest.raises(compatcheck.ModelError, match="the results hold 3 of 4 models"):
        compatcheck.scan("models", "out")
    assert not (registry / "out" / "totals.json").exists()


def test_workers_that_do_not_start_on_a_node(ray, registry, monkeypatch):
    """A mapping file that the node lacks."""
    from compatcheck.registry import run

    mapping, checks = registry / "own.yaml", run.run_checks
    mapping.write_text("acme::fused_bias: {9: {to: com.acme::FusedBias, inputs: [x, bias]}}\n")
    monkeypatch.setattr(run, "run_checks", lambda *arguments: (mapping.unlink(), checks(*arguments))[1])
    with pytest.raises(compatcheck.ModelError, match=r": no process that checks models starts: .*own\.yaml.*; --resume goes on from here$"):
        compatcheck.scan("models", "out", mappings=["own.yaml"])
    assert not (registry / "out" / "totals.json").exists()


def test_a_cluster_that_gives_no_answer(ray, registry, monkeypatch):
    from compatcheck.registry import cluster

    class Silent:
        """Data whose rows never come."""

        def iter_rows(self):
            released.wait()
            return iter(())

    released = threading.Event()
    monkeypatch.setattr(cluster, "LOOK_SECONDS", 0)
    try:
        monkeypatch.setattr(cluster, "NODE_SECONDS", 0)
        monkeypatch.setattr(ray, "nodes", lambda: [{"Alive": True, "Resources": {}}, {"Alive": False, "Resources": {"CPU": 1}}])
        with pytest.raises(compatcheck.ModelError, match="no node of the Ray cluster has cores; --resume goes on"):
            list(cluster.rows(Silent()))
        monkeypatch.setattr(cluster, "SILENCE_SECONDS", 0.1)
        monkeypatch.setattr(ray, "nodes", released.wait)
        with pytest.raises(compatcheck.ModelError, match="the Ray cluster gave no answer in 0.1 s; --resume goes on"):
            list(cluster.rows(Silent()))
    finally:
        released.set()


@pytest.mark.parametrize("cause, words", [
    (None, "ConnectionError: nobody answers$"), (RuntimeError("... ray.exceptions.AuthenticationError: RPC error"), "takes another one; set RAY_AUTH_MODE=token"),
    ("silence", "gave no answer in 0.1 s$"),
])
def test_a_cluster_that_cannot_be_joined(monkeypatch, cause, words):
    from compatcheck.registry import cluster

    class Ray:
        def init(**_):
            if cause == "silence":
                released.wait()
            raise ConnectionError("nobody answers") from cause

    released = threading.Event()
    messages = []
    monkeypatch.setattr(cluster, "_is_reachable", lambda address: True)
    monkeypatch.setattr(cluster, "CONNECT_SECONDS", 0.1 if cause == "silence" else 60)
    monkeypatch.setattr(cluster, "notify", messages.append)
    with pytest.raises(compatcheck.UsageError, match=f"RAY_ADDRESS far:1: .*{words}"):
        cluster._join(Ray, "far:1", "RAY_ADDRESS")
    released.set()
    assert messages == ["connecting to the Ray cluster at far:1 (RAY_ADDRESS)"]


@pytest.mark.parametrize("variable, file, found", [
    ("", "", (None, "")), ("local", "", (None, "RAY_ADDRESS")), ("far:6379", "near:6379", ("far:6379", "RAY_ADDRESS")),
    ("", "near:6379", ("near:6379", "the cluster of `ray start`")), ("auto", "dead:6379", (None, "")),
])
def test_the_cluster_that_auto_joins(ray, monkeypatch, variable, file, found):
    """Not one that another program started for itself, as Ray's own "auto" does."""
    from compatcheck.registry import cluster

    monkeypatch.setenv("RAY_ADDRESS", variable)
    monkeypatch.setenv("RAY_AUTH_MODE", os.environ.get("RAY_AUTH_MODE", "disabled"))
    monkeypatch.setattr("ray._private.utils.read_ray_address", lambda: file or None)
    monkeypatch.setattr(cluster, "_is_reachable", lambda address: not address.startswith("dead"))
    assert cluster._address_of("auto") == found
    assert cluster._address_of("named:1") == ("named:1", "--ray")


def test_the_gate_is_that_of_the_call(ray, registry):
    options = {"exclude": "junk.pt"}
    assert compatcheck.scan("models", "out", **options).exit_code == 1
    assert compatcheck.scan("models", "out", resume=True, exit_zero=True, **options).exit_code == 0
    assert compatcheck.scan("models", "out", resume=True, fail_on="never", **options).exit_code == 0
    assert compatcheck.scan("models", "out", resume=True, **options).exit_code == 1


def test_changed_since(ray, registry):
    old = compatcheck.registry.storage.as_time("2020-01-01").timestamp()
    for file in registry.glob("models/**/*.*"):
        os.utime(file, (old, old))
    assert compatcheck.scan("models", "none", changed_since="2021-01-01").to_dict()["models"] == 0
    assert json.loads((registry / "none" / "totals.json").read_text())["exit_code"] == 0
    first = compatcheck.scan("models", "out")
    whole = lines(registry)
    assert compatcheck.scan("models", "out", resume=True, changed_since="2021-01-01") == first and lines(registry) == whole
    shutil.copy(OTHER, registry / "models" / "net.pt2")
    shutil.copy(NET, registry / "models" / "old.pt2")
    os.utime(registry / "models" / "old.pt2", (old, old))
    later = compatcheck.scan("models", "out", resume=True, changed_since="2021-01-01")
    reports = {json.loads(line)["model"]["path"]: json.loads(line) for line in lines(registry)}
    assert later.models == 4 and sorted(reports) == ["models/align.ir", "models/junk.pt", "models/net.pt2", "models/team/net.pt"]
    assert reports["models/net.pt2"]["model"]["identity"] == reports["models/team/net.pt"]["model"]["identity"]


@pytest.mark.parametrize("options, words", [
    ({"opset": 99}, "opset 99"),
    ({"opset": []}, "empty list"),
    ({"targets": ["nobodys"]}, "nobodys"),
    ({"mappings": ["absent.yaml"]}, "absent.yaml"),
    ({"frontend": "libtorch"}, "libtorch needs files"),
    ({"hash": True}, "scan has no hash"),
    ({"timeout_seconds": -1}, "timeout_seconds -1: must be above 0"),
    ({"memory_mb": 0}, "memory_mb 0: must be at least 1"),
    ({"jobs": 0}, "jobs 0: must be at least 1"),
    ({"changed_since": 1e30}, "expected a date or time"),
    ({"changed_since": "yesterday"}, "expected a date or time"),
    ({"ray": "nowhere"}, "--ray nowhere: .*Invalid address"),
    ({"ray": "127.0.0.1:1"}, "--ray 127.0.0.1:1: no cluster answers there"),
])
def test_wrong_options_are_reported_once(registry, options, words, monkeypatch):
    if "ray" in options:
        import ray as imported

        monkeypatch.setattr(imported, "is_initialized", lambda: False)
    with pytest.raises((compatcheck.UsageError, compatcheck.TableError), match=words):
        compatcheck.scan("models", "out", **options)
    assert not (registry / "out").exists()


@pytest.mark.parametrize("options", [
    {"progress": 5}, {"opset": "17"}, {"opset": 17.5}, {"ray": 5}, {"jobs": "2"}, {"resume": "yes"}, {"exclude": 5}, {"storage_options": "anon"}, {"targets": 5},
    {"timeout_seconds": "soon"}, {"nonsense": 1},
])
def test_arguments_of_other_types(registry, options):
    pytest.importorskip("ray")
    name, = options
    with pytest.raises(TypeError, match=name):
        compatcheck.scan("models", "out", **options)
    assert not (registry / "out").exists()


def test_no_uris(registry):
    for uris in ([], ""):
        with pytest.raises(compatcheck.UsageError, match="uris is empty"):
            compatcheck.scan(uris, "out")
    with pytest.raises(TypeError, match="uris can't be 5"):
        compatcheck.scan(5, "out")
    with pytest.raises(TypeError, match="output can't be 5"):
        compatcheck.scan("models", 5)


# --- The program ---


def program(*arguments, path=None, **environment):
    given = {**os.environ, **around.QUIET, "COMPATCHECK_PYTHON": sys.executable, **environment}
    if path is not None:
        given["PYTHONPATH"] = path
    return subprocess.run([PROGRAM, "scan", *arguments], env=given, capture_output=True, text=True, timeout=600)


def test_without_ray(registry):
    done = program("models", "-o", "out", path="")
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr == "scan needs Ray, and ray is not installed: pip install 'compatcheck[ray]'\n"


def test_without_the_package(registry, tmp_path):
    bare = tmp_path / "bare" / "compatcheck"
    bare.parent.mkdir()
    shutil.copy(PROGRAM, bare)
    done = subprocess.run([bare, "scan", "models", "-o", "out"], capture_output=True, text=True,
                          env={"PATH": os.environ["PATH"], "COMPATCHECK_PYTHON": sys.executable})
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1 and "pip install 'compatcheck[ray] @ file:///" in done.stderr
    done = subprocess.run([bare, "scan", "models", "-o", "out"], capture_output=True, text=True, env={"COMPATCHECK_PYTHON": "/nowhere/python3"})
    assert done.returncode == 2 and "can't be started" in done.stderr


@pytest.mark.parametrize("arguments, code, words", [
    ((), 2, "no models are named"),
    (("models",), 2, "-o URI"),
    (("models", "-o", "out", "--opset", "3"), 2, "--opset"),
    (("models", "-o", "out", "--opest", "17"), 2, "did you mean --opset?"),
    (("nowhere", "-o", "out"), 3, "nowhere: can't be listed: there is no such file or folder"),
    (("models", "-o", "out", "--exclude", "*"), 2, "no model is there"),
    (("models", "-o", "out", "--changed-since", "soon"), 2, "--changed-since soon: expected a date"),
    (("models", "-o", "out", "--jobs", "0"), 2, "--jobs 0"),
])
def test_wrong_calls(registry, arguments, code, words):
    done = program(*arguments)
    assert (done.returncode, done.stdout) == (code, "") and words in done.stderr, done
    assert not (registry / "out").exists()


def test_a_bucket_that_cannot_be_reached(registry):
    done = program("s3://models", "-o", "out", AWS_MAX_ATTEMPTS="1", **around.KEYS, AWS_ENDPOINT_URL="http://127.0.0.1:1")
    assert done.returncode == 3 and "s3://models: can't be listed" in done.stderr and len(done.stderr.splitlines()) == 1, done


@pytest.mark.cluster
def test_a_folder_that_cannot_be_written(registry):
    (registry / "file").write_text("")
    done = program("models", "-o", "file/out")
    assert done.returncode == 2 and "can't be written" in done.stderr and len(done.stderr.splitlines()) == 1, done


@pytest.mark.cluster
def test_python_files_in_the_current_folder_do_not_run(registry):
    for name in ("json", "fsspec", "pyarrow", "ray", "numpy", "compatcheck", "pandas", "s3fs", "platform", "resource"):
        (registry / f"{name}.py").write_text("open(__file__ + '.ran', 'w')\n")
    done = program("models", "-o", "out", "--ray", "local", "--quiet")
    assert done.returncode == 3 and (registry / "out" / "totals.json").exists() and done.stderr == "", done
    assert not list(registry.rglob("*.ran"))


def test_errors_of_the_driver_are_one_line():
    code = """
import sys
from compatcheck.registry import command, scan
totals = scan.ScanTotals({**{name: 0 for name in ("models", "yes", "no", "needs_input", "not_checked")},
                          **{name: [] for name in ("missing", "opsets", "targets", "failures")}, "exit_code": 1}, "out")
def made(*arguments, **options):
    if arguments[1] == "full":
        raise PermissionError(13, "Permission denied")
    if arguments[1] == "wrong":
        raise ZeroDivisionError("division by zero")
    return totals
scan.scan = made
sys.exit(command.main(sys.argv[1:]))
"""

    def run(output, stdout):
        done = subprocess.run([sys.executable, "-c", code, "--output", output, "--", "models"], stdout=stdout, stderr=subprocess.PIPE, text=True)
        return done.returncode, done.stderr

    with open("/dev/full", "w") as full:
        assert run("out", full) == (3, "stdout: can't be written: No space left on device\n")
    source, target = os.pipe()
    os.close(source)
    assert run("out", target) == (1, "")
    os.close(target)
    assert run("out", subprocess.DEVNULL) == (1, "")
    assert run("full", subprocess.DEVNULL) == (3, "scan failed: Permission denied\n")
    assert run("wrong", subprocess.DEVNULL) == (3, "scan failed: ZeroDivisionError: division by zero\n")


def test_a_program_whose_ray_dies():
    """Ray's library ends its process with exit code 1, which is the code of findings."""
    code = """
import os, signal, sys
from compatcheck.registry import command, scan
def made(*arguments, **options):
    if arguments[1] == "exit":
        os._exit(1)
    if arguments[1] == "wait":
        os.write(int(options["method"]), b"r")
        signal.pause()
    os.kill(os.getpid(), signal.SIGKILL)
scan.scan = made
sys.exit(command.main(sys.argv[1:]))
"""

    def start(output, *words, **options):
        return subprocess.Popen([sys.executable, "-c", code, "--output", output, *words, "--", "models"], stderr=subprocess.PIPE, text=True, **options)

    for output, reason in (("exit", "Ray ended the scan"), ("kill", "the scan was killed (SIGKILL)")):
        done = start(output)
        assert done.communicate()[1] == f"{reason}; --resume goes on from here\n" and done.returncode == 3
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        source, target = os.pipe()
        done = start("wait", "--method", str(target), pass_fds=[target])
        assert os.read(source, 1) == b"r"
        done.send_signal(number)
        assert done.communicate()[1] == "interrupted; --resume goes on from here\n" and done.returncode == 130
        os.close(source)
        os.close(target)


@pytest.mark.parametrize("words, options, uris", [
    (["--exclude", "--", "--opset", "17", "--", "a", "--"], {"exclude": ["--"], "opset": 17}, ["a", "--"]),
    (["--resume", "", "--opset-range", "13,17", "--"], {"resume": True, "opset": range(13, 18)}, []),
])
def test_words_of_the_program(words, options, uris):
    from compatcheck.registry.command import parsed

    assert parsed(words) == (options, uris)


@pytest.mark.parametrize("line, shown", [
    (b"2026-12-01 10:00:00,123\tERROR streaming_executor.py:10 -- Operator failed\n", False),
    (b"2026-12-01 10:00:00,123\tINFO worker.py:1 -- Started\n", False),
    (b"[2026-12-01 10:00:00,123 E 1 2] raylet.cc:12: lost\n", False),
    (b"disk is full\n", True),
])
def test_the_log_of_ray_is_not_shown(line, shown, capfd):
    from compatcheck.registry.command import _WithoutLog

    with _WithoutLog():
        os.write(2, line + b"    a line below\n\ntext\n")
    text = line.decode() + "    a line below\n\n" if shown else ""
    assert capfd.readouterr().err == text + "text\n"


@pytest.mark.cluster
def test_a_program_run(registry):
    done = program("models", "-o", "out", "--ray", "local", "--opset", "17", "--exit-zero", "--exclude", "junk.pt", "--format", "json", COMPATCHECK_TARGET="tensorrt")
    assert done.returncode == 0 and done.stderr == "", done
    totals = json.loads(done.stdout)
    assert totals["models"] == 3 and totals["targets"][0]["target"].startswith("tensorrt")


@pytest.mark.cluster
def test_the_two_options_changed_since(registry):
    """That of check, a revision, isn't that of scan, a time."""
    done = program("models", "-o", "out", "--ray", "local", "--quiet", COMPATCHECK_CHANGED_SINCE="origin/main", COMPATCHECK_SCAN_CHANGED_SINCE="2100-01-01")
    assert (done.returncode, done.stderr) == (0, ""), done
    assert json.loads((registry / "out" / "totals.json").read_text())["models"] == 0
    done = program("models", "-o", "other", COMPATCHECK_SCAN_CHANGED_SINCE="soon")
    assert done.returncode == 2 and "--changed-since soon: expected a date" in done.stderr


def test_examples_of_the_page(ray, registry, monkeypatch, capsys):
    """The Python of docs/scan.md, with a folder in the place of the bucket; Spark's part is in test_spark.py."""
    import re

    page = (OWN.parent / "docs" / "scan.md").read_text()
    blocks = [block for block in re.findall(r"^```python\n(.*?)^```$", page, re.M | re.S) if "spark" not in block]
    assert len(blocks) == 3
    shutil.copy(registry / "models" / "net.pt2", registry / "models" / "net.pt")
    compatcheck.scan("models", "results", targets=["tensorrt"])
    names = {}
    for block in blocks:
        exec(block.replace("s3://results", str(registry / "results-of-page")).replace("s3://models", str(registry / "models")), names)
    assert "aten::linalg_pinv" in capsys.readouterr().out
