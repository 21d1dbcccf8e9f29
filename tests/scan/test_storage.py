"""Models by their URIs: what is found, and parts of files."""
import datetime
import functools
import http.server
import os
import pathlib
import shutil
import threading

import pytest
import surroundings as around

import compatcheck
from compatcheck.registry.storage import Folder, Remote, as_time, find_models

NET = pathlib.Path(__file__).resolve().parent.parent / "python" / "net.pt2"


def names(*uris, exclude=(), since=None):
    return [model.name for model in find_models(uris, exclude, since, {}) if model.changed]


@pytest.fixture
def tree(tmp_path, monkeypatch):
    for name in ("a/net.pt2", "a/deep/old.pt", "b/net.pt", "b/notes.txt", ".hidden/net.pt", "b/.part.pt", "skip/me.pth"):
        file = tmp_path / "models" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"x")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "models"


def test_folders_are_searched_in_order_of_names(tree):
    assert names("models") == ["models/a/deep/old.pt", "models/a/net.pt2", "models/b/net.pt", "models/skip/me.pth"]
    assert names(str(tree / "b")) == [f"{tree}/b/net.pt"]
    assert names(f"file://{tree}/b") == [f"file://{tree}/b/net.pt"]


def test_brackets_in_names(tree):
    shutil.move(tree / "b", tree / "b[1]")
    (tree / "b[1]" / "x[2].pt").write_bytes(b"x")
    assert names("models/b[1]") == ["models/b[1]/net.pt", "models/b[1]/x[2].pt"]
    assert names("models/b[1]/x[2].pt") == ["models/b[1]/x[2].pt"]
    assert names("models/[ab]/net.pt2") == ["models/a/net.pt2"]
    (tree / "b1").mkdir()
    (tree / "b1" / "x.txt").write_text("mine")
    folder = Folder(str(tree / "b[1]"), {})
    for name in ("x.txt", "y.txt"):
        folder.write(name, name.encode())
    assert folder.read_all(["x.txt", "y.txt"]) == [b"x.txt", b"y.txt"] and folder.heads(["y.txt"], 1) == [b"y"]
    folder.remove(["x.txt"])
    assert (tree / "b1" / "x.txt").read_text() == "mine" and not (tree / "b[1]" / "x.txt").exists()


def test_links(tree):
    """Those to files are models, as for `check`; those to folders aren't followed."""
    (tree / "b" / "link.pt").symlink_to("../a/net.pt2")
    (tree / "b" / "broken.pt").symlink_to("nowhere")
    (tree / "b" / "itself.pt").symlink_to("itself.pt")
    (tree / "b" / "loop").symlink_to("..")
    (tree / "b" / "folder.pt").symlink_to("../a")
    os.mkfifo(tree / "b" / "pipe.pt")
    assert names("models/b") == names("models/b/*.pt") == [f"models/b/{name}.pt" for name in ("broken", "itself", "link", "net")]
    old = as_time("2020-01-01").timestamp()
    os.utime(tree / "b" / "link.pt", (old, old), follow_symlinks=False)
    assert names("models/b/link.pt", since=as_time("2021-01-01")) == ["models/b/link.pt"]   # the time of the file
    os.utime(tree / "a" / "net.pt2", (old, old))
    assert names("models/b/link.pt", since=as_time("2021-01-01")) == []


def test_a_glob_in_the_first_part_of_a_path():
    import fsspec

    memory = fsspec.filesystem("memory")
    memory.pipe("/bucket1/net.pt", b"x")
    try:
        assert names("memory://bucket*/net.pt") == ["memory:///bucket1/net.pt"]
    finally:
        memory.rm("/bucket1", recursive=True)


def test_each_model_comes_once(tree):
    assert names("models", "models/b", str(tree / "b" / "net.pt")) == names("models")


def test_globs(tree):
    assert names("models/*/net.*") == ["models/a/net.pt2", "models/b/net.pt"]
    assert names("models/**") == names("models")
    assert names("models/b/*.txt") == ["models/b/notes.txt"]   # asked for by its ending
    assert names("models/b/*") == ["models/b/net.pt"]


def test_a_file_that_is_named_is_checked_whatever_it_is_called(tree):
    assert names("models/b/notes.txt") == ["models/b/notes.txt"]


def test_excluded(tree):
    assert names("models", exclude=["deep", "*.pth"]) == ["models/a/net.pt2", "models/b/net.pt"]
    assert names("models", exclude=["a/*"]) == ["models/b/net.pt", "models/skip/me.pth"]
    assert names("models", exclude=["models/b/*"]) == ["models/a/deep/old.pt", "models/a/net.pt2", "models/skip/me.pth"]
    with pytest.raises(compatcheck.UsageError, match="--exclude leaves out 4 files"):
        names("models", exclude=["*"])


def test_changed_since(tree):
    for name, day in (("a/net.pt2", "2026-01-01"), ("b/net.pt", "2026-03-01")):
        time = as_time(day).timestamp()
        os.utime(tree / name, (time, time))
    assert names("models/a/net.pt2", "models/b/net.pt", since=as_time("2026-02-01")) == ["models/b/net.pt"]
    assert names("models/b/net.pt", since=as_time("2026-03-01")) == ["models/b/net.pt"]


def test_times():
    noon = datetime.datetime(2026, 1, 31, 12, tzinfo=datetime.timezone.utc)
    assert as_time("2026-01-31T12:00:00Z") == as_time("2026-01-31T12:00:00") == as_time("2026-01-31T13:00:00+01:00") == as_time(noon.timestamp()) == noon
    with pytest.raises(ValueError):
        as_time("yesterday")


@pytest.mark.parametrize("uri, error, words", [
    ("nowhere", compatcheck.ModelError, "nowhere: can't be listed: there is no such file or folder"),
    ("gopher://x/y", compatcheck.UsageError, "gopher"),
    ("zip://*.pt::s3://models/all.zip", compatcheck.UsageError, "chained URIs"),
    ("http://127.0.0.1:1/models/", compatcheck.ModelError, "can't be listed"),
])
def test_what_cannot_be_listed(tree, uri, error, words):
    with pytest.raises(error, match=words):
        names(uri)


def test_a_folder_without_models(tmp_path):
    with pytest.raises(compatcheck.UsageError, match="no model is there"):
        names(str(tmp_path))


def test_a_file_is_read_whole_or_not_at_all(tmp_path):
    folder = Folder(str(tmp_path / "out"), {})
    assert folder.names() == []
    folder.write("a/b.txt", b"0123456789")
    folder.write("a/b.txt", b"0123456789!")
    assert folder.names() == ["a/b.txt"] and folder.read("a/b.txt") == b"0123456789!"
    assert folder.heads(["a/b.txt"], 4) == [b"0123"] and folder.read_all(["a/b.txt", "a/b.txt"])[0] == b"0123456789!"
    folder.remove(["a/b.txt"])
    assert folder.names() == []


# --- Ranges ---


class _Ranged(http.server.SimpleHTTPRequestHandler):
    """Listings, and ranges of files."""

    requested, obeys = [], True

    def log_message(self, *_):
        pass

    def send_head(self):
        given = self.headers.get("Range")
        file = self.translate_path(self.path)
        if not given or not self.obeys or not os.path.isfile(file):
            return super().send_head()
        data = open(file, "rb").read()
        begin, end = given.removeprefix("bytes=").split("-")
        piece = data[int(begin): int(end) + 1]
        self.requested.append(len(piece))
        self.send_response(206)
        self.send_header("Content-Length", str(len(piece)))
        self.send_header("Content-Range", f"bytes {begin}-{end}/{len(data)}")
        self.end_headers()
        import io
        return io.BytesIO(piece)


@pytest.fixture
def web(tmp_path):
    (tmp_path / "models").mkdir()
    shutil.copy(NET, tmp_path / "models" / "net.pt2")
    _Ranged.requested, _Ranged.obeys = [], True
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Ranged, directory=str(tmp_path)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()


LETTERS = ("b[1].pt2", "st*r.pt2", "q?.pt2", "h#ash.pt2", "sp ace.pt2", "per%20cent.pt2", "pl+us.pt2", "ünïcode.pt2", "[x]/{y}/net.pt2", "new\nline.pt2")


def test_letters_of_globs_in_local_names(tmp_path):
    for name in LETTERS:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(NET, tmp_path / name)
    found = find_models([str(tmp_path)], (), None, {})
    assert [model.name for model in found] == sorted(f"{tmp_path}/{name}" for name in LETTERS)
    for model in found:
        assert find_models([model.name], (), None, {}) == [model]   # by its own name, too
        remote = Remote(model.uri, {})
        assert remote.size == NET.stat().st_size and remote.read([(0, 4)]) == [NET.read_bytes()[:4]] and not remote.has_changed()
        remote.close()


def test_letters_of_globs_in_keys_of_s3(monkeypatch):
    pytest.importorskip("moto")
    data = NET.read_bytes()
    with around.s3_server() as s3:
        for name, value in s3.environment().items():
            monkeypatch.setenv(name, value)
        client = s3.client()
        client.create_bucket(Bucket="models")
        keys = LETTERS[:-1]   # the test's server has no keys with ends of lines
        for name in keys:
            client.put_object(Bucket="models", Key=f"m[1]/{name}", Body=data)
        client.put_object(Bucket="models", Key="m1/other.pt", Body=b"x")
        found = find_models(["s3://models/m[1]"], (), None, {})
        assert [model.name for model in found] == sorted(f"s3://models/m[1]/{name}" for name in keys)
        for model in found:
            assert find_models([model.name], (), None, {}) == [model]
            assert compatcheck.check(compatcheck.ranged_file(model.uri)).verdict == "yes"
        folder = Folder("s3://models/o[u]t*", {})
        client.put_object(Bucket="models", Key="out/x.txt", Body=b"mine")
        assert folder.write("x.txt", b"x", only_new=True) and not folder.write("x.txt", b"y", only_new=True)
        assert folder.names() == ["x.txt"] and folder.read_all(["x.txt"]) == [b"x"]
        folder.remove(["x.txt"])
        assert folder.names() == [] and Folder("s3://models/out", {}).read("x.txt") == b"mine"


def test_a_listing_of_http(web):
    assert names(f"{web}/models/") == [f"{web}/models/net.pt2"]
    report = compatcheck.check(compatcheck.ranged_file(f"{web}/models/net.pt2"))
    local = compatcheck.check(str(NET)).to_dict()
    assert report.to_dict() == {**local, "model": {**local["model"], "path": f"{web}/models/net.pt2"}}
    assert _Ranged.requested


def test_a_server_that_ignores_ranges(web, tmp_path):
    import random

    (tmp_path / "models" / "large.pt").write_bytes(random.Random(1).randbytes(600_000))
    _Ranged.obeys = False
    with pytest.raises(compatcheck.ModelError, match="ignores ranges"):
        compatcheck.check(compatcheck.ranged_file(f"{web}/models/large.pt"))


def test_a_ranged_file_of_a_reader_of_ones_own():
    data, requested = NET.read_bytes(), []

    def read(ranges):
        requested.extend(ranges)
        return [data[offset: offset + size] for offset, size in ranges]

    file = compatcheck.RangedFile("store/net", len(data), read)
    assert compatcheck.check(file).convertible and file.requests == 1 and file.bytes_read == sum(size for _, size in requested)
    assert compatcheck.check(compatcheck.load(file), opset=[13, 17]).exit_code == 0
    with pytest.raises(compatcheck.UsageError, match="convert needs a file on this machine"):
        compatcheck.convert(file)


def test_names_of_any_bytes(tmp_path):
    file = os.fsencode(tmp_path) + b"/net\xff.pt2"
    with open(file, "wb") as made:
        made.write(NET.read_bytes())
    found, = find_models([str(tmp_path)], (), None, {})
    assert found.name == f"{tmp_path}/net\\udcff.pt2"
    remote = Remote(found.uri, {})
    assert remote.size == NET.stat().st_size
    remote.close()


def test_what_a_reader_raises_reaches_the_caller():
    def read(ranges):
        raise KeyError("no such blob")

    with pytest.raises(KeyError, match="no such blob"):
        compatcheck.check(compatcheck.RangedFile("x", 100, read))
    with pytest.raises(compatcheck.ModelError, match="other ranges"):
        compatcheck.check(compatcheck.RangedFile("x", 100, lambda ranges: []))
    with pytest.raises(compatcheck.ModelError, match="gave 3 bytes"):
        compatcheck.check(compatcheck.RangedFile("x", 100, lambda ranges: [b"few"]))


@pytest.mark.parametrize("answer, kind", [
    (lambda ranges: ["x" * size for _, size in ranges], "str"), (lambda ranges: [bytearray(size) for _, size in ranges], "bytearray"),
    (lambda ranges: [None], "NoneType"), (lambda ranges: None, "NoneType"), (lambda ranges: 5, "int"), (lambda ranges: b"abc", "bytes"),
])
def test_a_reader_that_returns_no_bytes(answer, kind):
    with pytest.raises(TypeError, match=f"the read of a RangedFile returned {kind} instead of a list of bytes"):
        compatcheck.check(compatcheck.RangedFile("x", 100, answer))


def test_an_absent_file():
    with pytest.raises(compatcheck.ModelError, match="there is no such file"):
        compatcheck.ranged_file("/nowhere/net.pt")


def test_a_file_that_was_replaced_is_noticed(tmp_path):
    file = tmp_path / "net.pt2"
    shutil.copy(NET, file)
    remote = Remote(str(file), {})
    assert not remote.has_changed()
    other = tmp_path / "other"
    shutil.copy(NET, other)
    other.replace(file)
    assert remote.has_changed()
    remote.close()
