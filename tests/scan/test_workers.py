"""The process that checks models: its reports are those of the library, and its end fails only one model."""
import json
import os
import pathlib
import shutil
import signal
import threading
import time

import pytest

import compatcheck
from compatcheck.registry import workers
from compatcheck.registry.storage import Found, Remote

NET = pathlib.Path(__file__).resolve().parent.parent / "python" / "net.pt2"


@pytest.fixture
def worker():
    made = workers.Worker(17, {})
    yield made
    made.close()


def checked(worker, file, name="net", known=None):
    return workers.check(worker, Found(name, str(file)), {}, known)


def report(lines):
    return json.loads(lines)


def test_the_report_of_the_library(worker):
    local = json.loads(compatcheck.check(str(NET)).render("jsonl"))
    local["model"]["path"] = "net"
    local.pop("graph", None)
    assert report(checked(worker, NET)) == local


def test_a_model_that_is_known_is_not_checked_again(worker):
    identity = report(checked(worker, NET))["model"]["identity"]
    assert checked(worker, NET, known=identity) is None
    assert checked(worker, NET, known="another") is not None


def test_several_opsets_and_options():
    worker = workers.Worker(range(13, 16), {"targets": ["tensorrt"], "fail_on": "never"})
    reports = [json.loads(line) for line in checked(worker, NET).splitlines()]
    worker.close()
    assert [each["opset"] for each in reports] == [13, 14, 15]
    assert all(each["targets"] and each["gate"]["fail_on"] == "never" for each in reports)


@pytest.mark.parametrize("make, words", [
    (lambda folder: folder / "absent.pt", "net: can't be read: there is no such file or folder"),
    (lambda folder: folder, "net: can't be read: Is a directory"),
    (lambda folder: (folder / "empty.pt").write_bytes(b"") and None or folder / "empty.pt", "net: is empty"),
    (lambda folder: (folder / "junk.pt").write_bytes(b"\x00junk" * 99) and folder / "junk.pt", "net: is neither"),
])
def test_what_cannot_be_read_is_a_row(worker, tmp_path, make, words):
    found = report(checked(worker, make(tmp_path)))
    assert words in found["error"]["message"] and found["exit_code"] == 3
    assert report(checked(worker, NET))["verdict"] == "yes"


class _Disturbed(Remote):
    disturb = None

    def read(self, ranges):
        type(self).disturb()
        return super().read(ranges)


@pytest.fixture
def disturbed(monkeypatch):
    monkeypatch.setattr(workers, "Remote", _Disturbed)
    return _Disturbed


@pytest.mark.parametrize("number, words", [
    (signal.SIGSEGV, "net: its process crashed (Segmentation fault)"),
    (signal.SIGKILL, "net: its process was killed (SIGKILL): the machine was probably out of memory"),
])
def test_a_process_that_dies_costs_its_model(worker, disturbed, number, words):
    def kill():
        os.kill(worker._process.pid, number)

    disturbed.disturb = kill
    assert report(checked(worker, NET))["error"]["message"] == words
    disturbed.disturb = lambda: None
    assert report(checked(worker, NET))["verdict"] == "yes"


def test_a_process_that_hangs_is_ended(worker, disturbed):
    disturbed.disturb = lambda: os.kill(worker._process.pid, signal.SIGSTOP)
    worker._seconds = 1
    assert report(checked(worker, NET))["error"]["message"] == "net: took longer than 1 s"
    assert worker._process is None
    disturbed.disturb, worker._seconds = lambda: None, 100
    assert report(checked(worker, NET))["verdict"] == "yes"


def test_a_store_that_fails_in_between(worker, disturbed):
    def fail():
        raise ConnectionError("the bucket is gone")

    disturbed.disturb = fail
    assert report(checked(worker, NET))["error"]["message"] == "net: can't be read: ConnectionError: the bucket is gone"


def test_a_model_that_is_replaced_while_it_is_read(worker, disturbed, tmp_path):
    file, times = tmp_path / "net.pt2", []
    shutil.copy(NET, file)

    def replace():
        if len(times) < replaced:
            times.append(time.time())
            other = tmp_path / f"other{len(times)}"
            shutil.copy(NET, other)
            other.replace(file)

    disturbed.disturb, replaced = replace, 1
    assert report(checked(worker, file))["verdict"] == "yes"   # the second time
    replaced = 9
    assert "was replaced again and again" in report(checked(worker, file))["error"]["message"]


def test_a_store_that_hangs(worker, disturbed):
    released = threading.Event()
    disturbed.disturb = released.wait
    worker._seconds = 1
    try:
        assert report(checked(worker, NET))["error"]["message"] == "net: took longer than 1 s"
    finally:
        released.set()
    disturbed.disturb, worker._seconds = lambda: None, 100
    assert report(checked(worker, NET))["verdict"] == "yes"


def test_a_store_that_hangs_before_the_first_read(worker, monkeypatch):
    released = threading.Event()
    monkeypatch.setattr(workers, "Remote", lambda *_: released.wait())
    worker._seconds = 1
    try:
        assert report(checked(worker, NET))["error"]["message"] == "net: took longer than 1 s"
    finally:
        released.set()


def test_memory_is_bounded(tmp_path):
    """The first model needs more than the bound; the second doesn't, and is checked by the same worker."""
    large, count = tmp_path / "large.ir", 400_000
    nodes = "".join(f"  %x{place + 1} : Tensor = aten::relu(%x{place})\n" for place in range(count))
    large.write_text(f"graph(%x0 : Tensor):\n{nodes}  return (%x{count})\n")
    worker = workers.Worker(17, {"memory_mb": 128})
    found, after = report(checked(worker, large)), report(checked(worker, NET))
    worker.close()
    assert found["exit_code"] == 3 and "memory" in found["error"]["message"], found
    assert after["verdict"] == "yes"


def test_a_process_that_does_not_start_fails_the_run():
    worker = workers.Worker(17, {"no_such_option": True})   # in a run, the driver refuses it
    with pytest.raises(workers.StartError, match="no process that checks models starts: .*no_such_option"):
        checked(worker, NET)


def test_python_files_in_the_current_folder_do_not_run(worker, tmp_path, monkeypatch):
    hostile = "open(__file__ + '.ran', 'w')\n"
    for name in ("json.py", "signal.py", "compatcheck.py", "resource.py", "ctypes.py"):
        (tmp_path / name).write_text(hostile)
    monkeypatch.chdir(tmp_path)
    assert report(checked(worker, NET))["verdict"] == "yes"
    assert not list(tmp_path.rglob("*.ran"))


def test_a_null_in_the_column_of_spark_is_a_row():
    pandas = pytest.importorskip("pandas")
    udf = compatcheck.check_udf("uri")
    made, = udf(iter([pandas.DataFrame({"uri": [None, float("nan"), str(NET)]}, dtype=object)]))
    assert list(made["verdict"]) == ["not_checked", "not_checked", "yes"] and list(made["path"].isna()) == [True, True, False]
    assert list(made["error"])[:2] == ["the column uri has no URI"] * 2 and list(made["exit_code"]) == [3, 3, 0]
