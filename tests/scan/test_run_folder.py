"""The folder of a run: which files it may remove, what a run takes from an earlier one, and two runs in one folder. No Ray is needed."""
import errno
import json
import os
import pathlib
import shutil

import pytest

import compatcheck
from compatcheck.registry import checks, chunks, run, run_folder, storage
from compatcheck.registry.storage import Found

OWN = pathlib.Path(__file__).resolve().parent.parent
NET, OTHER = OWN / "python" / "net.pt2", OWN / "python" / "net.pt"


def job(folder, settings="s"):
    return run_folder.Job(str(folder), 17, {}, {}, settings)


def found(*files, changed=True):
    return [Found(file.name, f"file://{file}", changed) for file in files]


def chunk(models, earlier=None):
    before = [(earlier or {}).get(model.name) for model in models]
    return {"place": 0, "models": [[each.name, each.uri, each.changed] for each in models],
            "earlier": [[each.file, each.identity, each.offset, each.size] if each else None for each in before]}


def check(made_job, models, earlier=None):
    """What an actor answers."""
    answer, = checks.CheckModels(made_job, False)._answer(chunk(models, earlier)),
    assert not answer["error"], answer
    (name, size), = json.loads(answer["files"])
    assert size > 0
    return name


def reports(folder, file):
    return {name: json.loads(lines) for name, lines in chunks.reports_in((folder / file).read_bytes())}


@pytest.fixture
def models(tmp_path):
    made = []
    for name, source in (("a.pt2", NET), ("b.pt", OTHER), ("c.pt2", NET)):
        made.append(tmp_path / "models" / name)
        made[-1].parent.mkdir(exist_ok=True)
        shutil.copy(source, made[-1])
    return made


@pytest.fixture
def out(tmp_path):
    return tmp_path / "out"


def begin(made_job, models, resume=False):
    """Another run that begins while this one's folder is open is refused: see test_two_runs_at_once."""
    with made_job.folder() as folder:
        return run_folder.begin(made_job, folder, models, resume)


@pytest.mark.parametrize("settings", [None, b"", b"[]", b'{"settings": "x", "run": "y"}', b'{"scan": 1, "settings": "x"}'])
@pytest.mark.parametrize("resume", [True, False])
def test_a_folder_that_holds_no_scan_is_left_alone(models, out, settings, resume):
    for name in ("reports/mine.jsonl", "models/net.pt", "findings/x", "totals.json", "reports/part-00000.jsonl"):
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        (out / name).write_text("mine")
    if settings is not None:
        (out / "run").mkdir()
        (out / "run" / "settings.json").write_bytes(settings)
    before = {file: file.read_bytes() for file in out.rglob("*") if file.is_file()}
    with pytest.raises(compatcheck.UsageError, match="isn't empty and holds no scan; name another folder$"):
        begin(job(out), found(*models), resume)
    assert before == {file: file.read_bytes() for file in out.rglob("*") if file.is_file()}


def test_a_model_that_has_the_name_of_a_result_is_refused(models, out):
    begin(job(out), found(*models))
    part = out / "reports" / "part-00000.jsonl"
    part.parent.mkdir()
    part.write_text("{}")
    with pytest.raises(compatcheck.UsageError, match="reports/part-00000.jsonl is a file of a scan and one of the models"):
        begin(job(out), found(*models, part), resume=True)


@pytest.mark.parametrize("name, written", [
    ("reports/part-00000.jsonl", True), ("reports/part-123456.jsonl", True), ("models/verdict=no/part-00000.parquet", True),
    ("reports/part-0.jsonl", False), ("reports/mine.jsonl", False), ("models/net.pt", False), ("models/verdict=no/net.pt", False),
    ("models/verdict=no/deep/part-00000.parquet", False), ("x/reports/part-00000.jsonl", False),
])
def test_only_names_of_results_are_removed(name, written):
    assert bool(run_folder.PARTS.fullmatch(name)) == written == run_folder.is_written_by_scans(name)


def test_a_chunk_that_is_done_twice(models, out):
    """The second attempt finds the file of the first, whose offsets are other ones than those that it was given."""
    first = job(out)
    begin(first, found(*models))
    check(first, found(*models))
    shutil.copy(OTHER, models[0])
    earlier, _ = begin(first, found(*models), resume=True)
    assert sorted(earlier) == ["a.pt2", "b.pt", "c.pt2"]
    once = check(first, found(*models), earlier)
    again = check(first, found(*models), earlier)
    assert once == again and sorted(reports(out, once)) == ["a.pt2", "b.pt", "c.pt2"]
    assert reports(out, once)["a.pt2"]["model"]["identity"] == reports(out, once)["b.pt"]["model"]["identity"]
    assert once != earlier["b.pt"].file and chunks.is_whole(earlier["b.pt"].file, (out / earlier["b.pt"].file).read_bytes())


@pytest.mark.parametrize("damage", [lambda file: file.unlink(), lambda file: file.write_bytes(file.read_bytes()[:-9]),
                                    lambda file: file.write_bytes(file.read_bytes().replace(b'"yes"', b'"no!"'))])
def test_an_earlier_report_that_cannot_be_read_is_made_again(models, out, damage):
    made = job(out)
    begin(made, found(*models))
    whole = reports(out, check(made, found(*models)))
    earlier, _ = begin(made, found(*models), resume=True)
    damage(out / earlier["a.pt2"].file)
    assert reports(out, check(made, found(*models, changed=False), earlier)) == whole


def test_a_file_that_is_cut_is_no_earlier_run(models, out):
    made = job(out)
    begin(made, found(*models))
    file = out / check(made, found(*models))
    file.write_bytes(file.read_bytes()[:-1])
    assert begin(made, found(*models), resume=True) == ({}, set())


def test_every_model_needs_a_report(models):
    for given in ([b"{}\n"], [b"{}\n", b"", b"{}\n"]):
        with pytest.raises(ValueError, match="3 models have"):
            chunks.packed("s", found(*models), given)


def test_other_settings_start_afresh_but_know_the_models(models, out):
    made = job(out)
    begin(made, found(*models))
    check(made, found(*models))
    assert begin(job(out, "others"), found(*models), resume=True) == ({}, {"a.pt2", "b.pt", "c.pt2"})


def test_an_unchanged_model_keeps_its_report_without_a_look(models, out):
    made = job(out)
    begin(made, found(*models))
    before = check(made, found(*models))
    earlier, _ = begin(made, found(*models), resume=True)
    for file in models:
        file.unlink()
    assert check(made, found(*models, changed=False), earlier) == before
    assert all("error" in each for each in reports(out, check(made, found(*models), earlier)).values())


def test_another_run_in_the_folder_is_noticed(models, out):
    first, second = job(out), job(out)
    begin(first, found(*models))
    run_folder.check_is_ours(first, first.folder())
    begin(second, found(*models), resume=True)
    with pytest.raises(compatcheck.ModelError, match="another run writes to this folder"):
        run_folder.check_is_ours(first, first.folder())
    file = check(first, found(*models))
    answer = run.write_parts({"part": [json.dumps({"place": 0, "files": [file]})]}, first)
    assert answer["error"] == [f"{out}: another run writes to this folder"] and not (out / "reports").exists()


def test_two_runs_at_once(models, out):
    first, second = job(out), job(out)
    with first.folder() as mine, second.folder() as theirs:
        run_folder.begin(first, mine, found(*models), False)
        for resume in (False, True):
            with pytest.raises(compatcheck.ModelError, match="out: another run writes to this folder$"):
                run_folder.begin(second, theirs, found(*models), resume)
        run_folder.check_is_ours(first, mine)
    begin(second, found(*models), resume=True)


def test_two_runs_that_begin_at_once_in_an_object_store(models, monkeypatch):
    """Both see an empty folder; one of them makes the settings."""
    first, second = job("memory://two/out"), job("memory://two/out")
    monkeypatch.setattr(storage.Folder, "names", lambda *_: [])
    try:
        begin(first, found(*models))
        with pytest.raises(compatcheck.ModelError, match="another run writes to this folder"):
            begin(second, found(*models))
        run_folder.check_is_ours(first, first.folder())
    finally:
        first.folder().fs.rm("/two", recursive=True)


def test_files_of_chunks_and_parts_are_bounded_by_bytes(models, out, monkeypatch):
    made = job(out)
    begin(made, found(*models))
    monkeypatch.setattr(checks, "CHUNK_BYTES", 1)
    answer = checks.CheckModels(made, False)._answer(chunk(found(*models)))
    files = [(name, size) for name, size in json.loads(answer["files"])]
    assert [list(reports(out, name)) for name, _ in files] == [["a.pt2"], ["b.pt"], ["c.pt2"]]
    assert [size for _, size in files] == [(out / name).stat().st_size for name, _ in files]
    names = [name for name, _ in files]
    assert list(run._parts(files)) == [names]
    monkeypatch.setattr(run, "PART_BYTES", files[0][1] + files[1][1])
    assert list(run._parts(files)) == [names[:2], names[2:]]
    monkeypatch.setattr(run, "PART_BYTES", 1)
    assert list(run._parts(files)) == [[name] for name in names] and list(run._parts([])) == []
    # A resumed run takes the reports from all of them.
    earlier, _ = begin(made, found(*models), resume=True)
    again = checks.CheckModels(made, False)._answer(chunk(found(*models, changed=False), earlier))
    assert again == answer


def test_errors_of_tasks_name_the_file(models, out, monkeypatch):
    made = job(out)
    begin(made, found(*models))

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(compatcheck.ModelError, match="out: can't be written: No space left on device"):
        begin(made, found(*models), resume=True)
    answer = checks.CheckModels(made, False)._answer(chunk(found(*models)))
    assert f"{out}/run/" in answer["error"] and answer["error"].endswith("can't be written: No space left on device")
    assert [each.name for each in (out / "run").iterdir()] == ["settings.json"]   # no part of a file stays


def test_failures_of_one_kind_are_counted_together():
    from compatcheck.registry.results import _reason

    assert _reason("t/b.ir:2:7: expected '(' after garb\n  garb\n      ^", "t/b.ir") == "expected '(' after garb"
    assert _reason("t/b.pt: isn't a model", "t/b.pt") == "isn't a model" and _reason("out of memory", "b.pt") == "out of memory"
