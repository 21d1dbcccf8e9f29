"""Lists files by URIs and reads ranges of them, through fsspec."""
from __future__ import annotations

import contextlib
import datetime
import fcntl
import os
import uuid
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any, Iterable, Mapping, Sequence, Tuple

from ..errors import ModelError, UsageError

ENDINGS = (".pt", ".pt2", ".pth", ".torchscript", ".ir")
_GLOB = frozenset("*?[")
_TIMES = ("LastModified", "mtime", "updated", "last_modified", "modified")


@dataclass(frozen=True)
class Found:
    """A model to check: its name in reports, and the URI by which any machine finds it."""

    name: str
    uri: str
    changed: bool = True  # since the time that the user named


def file_system(uri: str, options: Mapping[str, Any]) -> Tuple[Any, str]:
    """The file system of a URI, and the path in it. Raises UsageError where fsspec or its part for the protocol isn't installed."""
    if "::" in uri:
        raise UsageError(f"{uri}: chained URIs (::) are not supported")
    try:
        from fsspec.core import url_to_fs
    except ImportError:
        raise UsageError("fsspec is not installed: pip install 'compatcheck[ray]'") from None
    try:
        fs, path = url_to_fs(uri, **options)
    except ImportError as error:
        raise UsageError(f"{uri}: {error}") from None
    except ValueError as error:
        raise UsageError(f"{uri}: {error}") from None
    return fs, path


def reason_of(error: BaseException) -> str:
    """The error in one line."""
    if isinstance(error, FileNotFoundError):
        return "there is no such file or folder"
    if isinstance(error, OSError) and error.strerror:
        return str(error.strerror)
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def is_local(fs: Any) -> bool:
    from fsspec.implementations.local import LocalFileSystem

    return isinstance(fs, LocalFileSystem)


def find_models(
    uris: Sequence[str], exclude: Sequence[str], changed_since: datetime.datetime | None, options: Mapping[str, Any]
) -> list[Found]:
    """All models in the order of their names, each once. Raises ModelError for a URI that can't be listed, UsageError for one without
    models."""
    found: dict[str, Found] = {}
    for uri in uris:
        listed = _listed(uri, options)
        models = [model for model in listed if not _is_excluded(model[0], model[1], exclude)]
        if not models:
            left_out = f": --exclude leaves out {len(listed)} file{'s' if len(listed) > 1 else ''}" if listed else ""
            raise UsageError(f"{uri}: no model is there{left_out}; the names of models end in {', '.join(ENDINGS)}")
        for model, _, info in models:
            if changed_since and _modified(model, info, options) < changed_since:
                model = replace(model, changed=False)
            found.setdefault(model.uri, model)
    return sorted(found.values(), key=lambda model: model.name)


def _listed(uri: str, options: Mapping[str, Any]) -> list[Tuple[Found, str, Mapping[str, Any]]]:
    """Each model with its path from the searched folder on, and what the file system says of it."""
    fs, path = file_system(uri, options)
    try:
        is_glob = bool(_GLOB & set(path)) and not fs.exists(path)
        if is_glob:
            files: dict[str, Any] = {}
            for each, info in fs.glob(path, detail=True).items():
                files.update(fs.find(each, detail=True) if info.get("type") == "directory" else {each: info})
            root = path[: path.rfind("/", 0, min(path.index(mark) for mark in _GLOB & set(path))) + 1]
        elif fs.isdir(path):
            files, root = fs.find(path, detail=True), path.rstrip("/") + "/"
        else:
            files, root = {path: fs.info(path)}, path.rpartition("/")[0] + "/"
    except Exception as error:
        raise ModelError(f"{uri}: can't be listed: {reason_of(error)}") from error
    # A file that the user named is a model with any ending, and so is a file that a glob asks for by its ending.
    endings = tuple(ENDINGS) if root.rstrip("/") == path.rstrip("/") or (is_glob and "." not in path.rpartition("/")[2]) else ("",)
    names_hidden = is_glob and any(part.startswith(".") for part in path.removeprefix(root).split("/"))
    models = []
    for each, info in files.items():
        below = each.removeprefix(root)
        info = _behind_link(each, info)
        hidden = path not in files and not names_hidden and any(part.startswith(".") for part in below.split("/"))
        if hidden or info.get("type") not in (None, "file") or not each.endswith(endings):
            continue
        name = os.path.join(uri, below) if "://" not in uri and root.rstrip("/") == path.rstrip("/") else _name(uri, fs, each)
        shown = name.encode(errors="backslashreplace").decode()  # names of local files can be any bytes
        models.append((Found(shown, fs.unstrip_protocol(each)), below, info))
    return models


def _behind_link(path: str, info: Mapping[str, Any]) -> Mapping[str, Any]:
    """fsspec says of a link that it is neither a file nor a folder. Links to folders aren't followed, so that none is searched twice."""
    if not info.get("islink"):
        return info
    time = info.get("mtime", 0)
    with contextlib.suppress(OSError):  # a broken link: the check gives the reason
        time = max(time, os.stat(path).st_mtime)
    return {**info, "type": "directory" if os.path.isdir(path) else "file", "mtime": time}


def _name(uri: str, fs: Any, path: str) -> str:
    """The name in the user's spelling: a relative path stays relative."""
    if "://" in uri or not is_local(fs):
        return str(fs.unstrip_protocol(path))
    return path if os.path.isabs(uri) else os.path.relpath(path)


def _is_excluded(model: Found, below: str, globs: Sequence[str]) -> bool:
    """A glob without a slash is matched with names of files and folders, another with the path."""
    for glob in globs:
        if "/" in glob:
            if fnmatchcase(model.name, glob) or fnmatchcase(below, glob):
                return True
        elif any(fnmatchcase(part, glob) for part in below.split("/")):
            return True
    return False


def _modified(model: Found, info: Mapping[str, Any], options: Mapping[str, Any]) -> datetime.datetime:
    for key in _TIMES:
        if info.get(key):
            return as_time(info[key])
    fs, path = file_system(model.uri, options)
    try:
        return as_time(fs.modified(path))
    except Exception as error:
        raise UsageError(f"--changed-since: {model.name} has no time of modification ({reason_of(error)})") from None


def as_time(value: Any) -> datetime.datetime:
    """A moment, in UTC where it names no zone. Raises ValueError."""
    if isinstance(value, (int, float)):
        return datetime.datetime.fromtimestamp(value, datetime.timezone.utc)
    if isinstance(value, datetime.datetime):
        time = value
    else:
        time = datetime.datetime.fromisoformat(str(value).replace("Z", "+00:00"))
    return time if time.tzinfo else time.replace(tzinfo=datetime.timezone.utc)


class Remote:
    """A file whose bytes are read by ranges. `stamp` tells whether it is another one by now."""

    def __init__(self, uri: str, options: Mapping[str, Any]) -> None:
        self.fs, self.path = file_system(uri, options)
        self._file: int | None = None
        if is_local(self.fs):
            self._file = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            self.size, self.stamp = self._look()
        except BaseException:
            self.close()
            raise

    def _look(self) -> Tuple[int, Tuple[Any, ...]]:
        if self._file is not None:
            status = os.fstat(self._file)
            there = os.stat(self.path)
            return status.st_size, (status.st_size, there.st_mtime_ns, there.st_ino)
        self.fs.invalidate_cache(self.path)
        info = self.fs.info(self.path)
        if info.get("size") is None:
            raise OSError("the server doesn't say how large it is")
        mark = info.get("ETag") or info.get("etag") or next((info[key] for key in _TIMES if info.get(key)), None)
        return int(info["size"]), (int(info["size"]), str(mark))

    def read(self, ranges: Iterable[Sequence[int]]) -> list[bytes]:
        requested = [(int(offset), int(size)) for offset, size in ranges]
        if self._file is not None:
            return [os.pread(self._file, size, offset) for offset, size in requested]
        answers = self.fs.cat_ranges(
            [self.path] * len(requested), [offset for offset, _ in requested], [offset + size for offset, size in requested], on_error="raise"
        )
        for answer, (_, size) in zip(answers, requested):
            if len(answer) > size:
                raise OSError("the server ignores ranges and would send the whole file")
        return [bytes(answer) for answer in answers]

    def has_changed(self) -> bool:
        return self._look()[1] != self.stamp

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None


class Folder:
    """A folder behind a URI, for the files that a run writes. Paths are exact: brackets in them are no globs."""

    def __init__(self, uri: str, options: Mapping[str, Any]) -> None:
        self.uri = uri
        self.fs, path = file_system(uri, options)
        self.path = path.rstrip("/")
        self._lock: int | None = None

    def at(self, name: str) -> str:
        return f"{self.path}/{name}"

    def uri_of(self, name: str) -> str:
        return str(self.fs.unstrip_protocol(self.at(name)))

    def sizes(self, below: str = "") -> dict[str, int]:
        """All files below, by their names from the folder on."""
        root = self.at(below).rstrip("/")
        self.fs.invalidate_cache()
        try:
            found = self.fs.find(root, detail=True)
        except FileNotFoundError:
            return {}
        return {each[len(self.path) + 1 :]: int(info.get("size") or 0) for each, info in sorted(found.items())}

    def names(self, below: str = "") -> list[str]:
        return list(self.sizes(below))

    def __enter__(self) -> Folder:
        return self

    def __exit__(self, *_: object) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def lock(self) -> bool:
        """Makes a local folder this object's until it closes or its process ends. False: another one has it. Object stores, and some
        file systems on networks, have no locks."""
        if is_local(self.fs):
            os.makedirs(self.path, exist_ok=True)
            self._lock = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
            except OSError:
                pass
        return True

    def write(self, name: str, data: bytes, only_new: bool = False) -> bool:
        """The whole file or none of it. False: `only_new`, and the file is there, as far as the store can tell."""
        path = self.at(name)
        if not is_local(self.fs):  # an object appears when it is whole
            try:
                self.fs.pipe_file(path, data, **({"mode": "create"} if only_new else {}))
            except FileExistsError:
                return False
            except (TypeError, NotImplementedError):
                if not only_new:
                    raise
                return self.write(name, data)
            return True
        parent, base = os.path.split(path)
        os.makedirs(parent, exist_ok=True)
        partial = os.path.join(parent, f".{base}.{uuid.uuid4().hex}.partial")  # readers of tables skip names with a leading dot
        try:
            with open(partial, "xb") as file:
                file.write(data)
            os.replace(partial, path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(partial)
            raise
        return True

    def read(self, name: str) -> bytes:
        return bytes(self.fs.cat_file(self.at(name)))

    def read_all(self, names: Sequence[str]) -> list[bytes]:
        return self._ranges(names, None)

    def heads(self, names: Sequence[str], size: int) -> list[bytes]:
        return self._ranges(names, size)

    def _ranges(self, names: Sequence[str], size: int | None) -> list[bytes]:
        if not names:
            return []
        start = None if size is None else 0
        paths = [self.at(name) for name in names]
        return [bytes(data) for data in self.fs.cat_ranges(paths, [start] * len(paths), [size] * len(paths), on_error="raise")]

    def remove(self, names: Sequence[str]) -> None:
        paths = [self.at(name) for name in names]
        if not paths:
            return
        if is_local(self.fs) or any(_GLOB & set(path) for path in paths):  # `rm` expands globs
            for path in paths:
                self.fs.rm_file(path)
        else:
            self.fs.rm(paths)  # many at once
        self.fs.invalidate_cache()
