"""The process that checks a model: its reports are the program's, and what ends it costs one model."""
import json
import os
import pathlib
import shutil
import signal
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


def test_memory_is_bounded(tmp_path):
    from compatcheck.registry.storage import Found as Model

    worker = workers.Worker(17, {"memory_mb": 1})
    found = report(workers.check(worker, Model("net", str(NET)), {}))
    worker.close()
    assert found["exit_code"] == 3 and "error" in found
