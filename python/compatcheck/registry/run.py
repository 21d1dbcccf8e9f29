"""A scan on Ray Data: chunks of models go to actors, one a core; then parts of the reports become results."""
from __future__ import annotations

import concurrent.futures
import contextlib
import json
import logging
import os
import platform
import re
import threading
import uuid
from dataclasses import dataclass, field
from typing import Any, Callable, Iterator, Mapping, Sequence

from .. import _core
from ..errors import Error, ModelError, UsageError
from . import chunks, results
from .storage import Folder, Found, reason_of
from .workers import StartError, Worker, check

MOST_IN_CHUNK = 32
CHUNKS_IN_PART = 64
REMOTE_WORKERS = 4  # processes of an actor, so that its core works while others wait for the network
start_folder: str | None = None  # the folder that Ray is started in; the command sets it, since users' folders hold any files
OBJECT_STORE_BYTES = 128 << 20  # only names and counts go through it
_SETTINGS = f"{chunks.FOLDER}/settings.json"
_FORMAT = 1  # of settings.json
# The names that a scan writes. A scan removes no other file.
_PARTS = re.compile(r"reports/part-\d{5,}\.jsonl|(?:models|findings)/verdict=[a-z_]+/part-\d{5,}\.parquet")
_PARTIAL = re.compile(r"(?:(?:run|reports|(?:models|findings)/verdict=[a-z_]+)/)?\.[^/]+\.[0-9a-f]{32}\.partial")


@dataclass(frozen=True)
class Job:
    """The facts about a run that all actors know."""

    output: str
    opset: Any
    options: Mapping[str, Any]
    storage: Mapping[str, Any]
    settings: str
    configuration: Mapping[str, Any] = field(default_factory=dict)  # fsspec's, of the driver
    run: str = field(default_factory=lambda: uuid.uuid4().hex)  # tells runs on one folder apart

    def configure(self) -> None:
        if self.configuration:
            import fsspec

            fsspec.config.conf.update(self.configuration)

    def folder(self) -> Folder:
        return Folder(self.output, self.storage)


def import_ray() -> Any:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
        import ray.data
    except ImportError as error:
        name = getattr(error, "name", None) or "ray"
        raise UsageError(f"scan needs Ray, and {name} is not installed: pip install 'compatcheck[ray]'") from None
    return ray


@contextlib.contextmanager
def _in_folder(folder: str | None) -> Iterator[None]:
    """Ray's processes import modules from the folder that Ray is started in."""
    before = os.getcwd() if folder else None
    if folder:
        os.chdir(folder)
    try:
        yield
    finally:
        if before:
            os.chdir(before)


def connect(address: str, jobs: int | None, folder: str | None = None) -> bool:
    """Connects in `folder`, or in the current one. Returns False if the program is connected already. `address`: auto (a cluster that
    this machine names, or else a Ray of our own), local, or the address of a cluster."""
    if import_ray().is_initialized():
        return False
    with _in_folder(folder):
        _connect(address, jobs)
    return True


def _connect(address: str, jobs: int | None) -> None:
    ray = import_ray()
    quiet: dict[str, Any] = {"logging_level": "CRITICAL", "log_to_driver": False}
    if address not in ("auto", "local"):
        try:
            ray.init(address=address, **quiet)
        except Exception as error:
            raise UsageError(f"--ray {address}: {reason_of(error)}") from error
        return
    if address == "auto":
        try:
            ray.init(address="auto", **quiet)
            return
        except (ConnectionError, ValueError):
            pass
    ray.init(
        address="local", num_cpus=jobs, include_dashboard=False, object_store_memory=OBJECT_STORE_BYTES, _node_ip_address="127.0.0.1",
        **quiet,
    )


def settings_in(folder: Folder) -> Mapping[str, Any] | None:
    """The settings of the run in the folder. None: the folder holds no run."""
    try:
        found = json.loads(folder.read(_SETTINGS))
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return None
    if not isinstance(found, dict) or found.get("scan") != _FORMAT:
        return None
    return found if isinstance(found.get("run"), str) and isinstance(found.get("settings"), str) else None


def check_is_ours(job: Job, folder: Folder) -> None:
    found = settings_in(folder)
    if not found or found["run"] != job.run:
        raise ModelError(f"{job.output}: another run writes to this folder")


def _reason(job: Job, error: Exception) -> str:
    """The error of a task, for the driver. Ray's own errors would name Ray's internals."""
    if isinstance(error, StartError):
        return f"{platform.node()}: {error}"
    return str(error) if isinstance(error, Error) else f"{job.output}: {reason_of(error)}"


class CheckModels:
    """An actor, which makes a file of each chunk."""

    def __init__(self, job: Job, remote: bool) -> None:
        self._job = job
        self._folder: Folder | None = None
        self._of_thread = threading.local()
        # Threads live as long as the actor, and so do their workers.
        self._pool = concurrent.futures.ThreadPoolExecutor(REMOTE_WORKERS if remote else 1)

    def __call__(self, batch: Mapping[str, Any]) -> dict[str, list[Any]]:
        done = [self._answer(json.loads(text)) for text in batch["chunk"]]
        return {name: [each[name] for each in done] for name in ("place", "file", "models", "error")}

    def _answer(self, chunk: Mapping[str, Any]) -> dict[str, Any]:
        made = {"place": chunk["place"], "file": "", "models": len(chunk["models"]), "error": ""}
        try:
            if not self._folder:
                self._job.configure()
                self._folder = self._job.folder()
            return {**made, "file": self._chunk(chunk, self._folder)}
        except Exception as error:
            return {**made, "error": _reason(self._job, error)}

    def _check(self, model: Found, identity: str | None) -> bytes | None:
        if not hasattr(self._of_thread, "worker"):
            self._of_thread.worker = Worker(self._job.opset, self._job.options)
        return check(self._of_thread.worker, model, self._job.storage, identity)

    def _chunk(self, chunk: Mapping[str, Any], folder: Folder) -> str:
        """The name of the file."""
        models = [Found(*each) for each in chunk["models"]]
        earlier = [chunks.Earlier(*each) if each else None for each in chunk["earlier"]]
        reports = read_earlier(folder, earlier)

        def look(place: int) -> bytes:
            before, report = earlier[place], reports[place]
            if not before or report is None:
                return self._check(models[place], None) or b""
            if not models[place].changed:
                return report
            return self._check(models[place], before.identity) or report

        data = chunks.packed(self._job.settings, models, list(self._pool.map(look, range(len(models)))))
        name = chunks.file_of(data)
        if not any(before and report is not None and before.file == name for before, report in zip(earlier, reports)):
            _write(folder, name, data)
        return name


def read_earlier(folder: Folder, earlier: Sequence[chunks.Earlier | None]) -> list[bytes | None]:
    """The reports of an earlier run. None: that model must be checked."""
    files: dict[str, bytes] = {}
    for name in {each.file for each in earlier if each}:
        try:
            files[name] = folder.read(name)
        except FileNotFoundError:
            files[name] = b""
    return [each.within(files[each.file]) if each else None for each in earlier]


def _write(folder: Folder, name: str, data: bytes) -> None:
    try:
        folder.write(name, data)
    except Exception as error:
        raise ModelError(f"{folder.uri_of(name)}: can't be written: {reason_of(error)}") from error


def write_parts(batch: Mapping[str, Any], job: Job) -> dict[str, list[Any]]:
    """A task: a part of the chunks becomes a file of JSON lines and rows of the tables. A second attempt writes the same again."""
    done = []
    for part in map(json.loads, batch["part"]):
        try:
            job.configure()
            done.append((part["place"], *_write_part(job, job.folder(), part), ""))
        except Exception as error:
            done.append((part["place"], "", "", _reason(job, error)))
    return {name: [each[at] for each in done] for at, name in enumerate(("place", "counts", "rows", "error"))}


def _write_part(job: Job, folder: Folder, part: Mapping[str, Any]) -> tuple[str, str]:
    lines = []
    for name, data in zip(part["files"], folder.read_all(part["files"])):
        if not chunks.is_whole(name, data):
            raise ModelError(f"{folder.uri_of(name)}: isn't the file that this run wrote")
        lines += [reports for _, reports in chunks.reports_in(data)]
    models = [[json.loads(line) for line in reports.splitlines()] for reports in lines]
    name = f"part-{part['place']:05}"
    tables = results.tables([report for model in models for report in model])
    check_is_ours(job, folder)
    _write(folder, f"reports/{name}.jsonl", b"".join(lines))
    for table, data in tables.items():
        _write(folder, f"{table}/{name}.parquet", data)
    return json.dumps(results.totals_of(models).counts()), _core.page_rows(b"".join(lines))


def _rows(data: Any) -> Iterator[Mapping[str, Any]]:
    """The rows of a data set of Ray. Raises ModelError for what tasks report, and where Ray itself fails."""
    try:
        for row in data.iter_rows():
            if row["error"]:
                raise ModelError(f"{row['error']}; --resume goes on from here")
            yield row
    except Error:
        raise
    except Exception as error:
        cause = getattr(error, "cause", None) or error
        raise ModelError(f"the run on Ray failed ({reason_of(cause)}); --resume goes on from here") from error


Progress = Callable[[int, int], object]


def run_checks(job: Job, models: Sequence[Found], earlier: Mapping[str, chunks.Earlier], jobs: int | None, progress: Progress) -> list[str]:
    """The files of all chunks, in the order of the models."""
    ray = import_ray()

    if not models:
        return []
    size = max(1, min(MOST_IN_CHUNK, len(models) // 64))
    rows = []
    for place, at in enumerate(range(0, len(models), size)):
        chunk = models[at : at + size]
        before = [earlier.get(model.name) for model in chunk]
        rows.append({"chunk": json.dumps({
            "place": place,
            "models": [[model.name, model.uri, model.changed] for model in chunk],
            "earlier": [[each.file, each.identity, each.offset, each.size] if each else None for each in before],
        })})
    cores = jobs or max(1, int(ray.cluster_resources().get("CPU", 1)))
    remote = any("://" in model.uri and not model.uri.startswith(("file://", "local://")) for model in models)
    files: dict[int, str] = {}
    done = 0
    data = ray.data.from_items(rows, override_num_blocks=len(rows)).map_batches(
        CheckModels, fn_constructor_args=(job, remote), batch_size=1, num_cpus=1,
        compute=ray.data.ActorPoolStrategy(min_size=1, max_size=min(cores, len(rows))),
    )
    progress(0, len(models))
    for row in _rows(data):
        files[int(row["place"])] = row["file"]
        done += int(row["models"])
        progress(done, len(models))
    if len(files) != len(rows):
        raise ModelError(f"{len(rows) - len(files)} chunks of models were lost; --resume goes on from here")
    return [files[place] for place in range(len(rows))]


def write_results(job: Job, files: Sequence[str], models: int) -> dict[str, Any]:
    ray = import_ray()

    folder = job.folder()
    check_is_ours(job, folder)
    folder.remove([name for name in folder.names() if _PARTS.fullmatch(name)])
    parts = [
        {"part": json.dumps({"place": place, "files": files[at : at + CHUNKS_IN_PART]})}
        for place, at in enumerate(range(0, len(files), CHUNKS_IN_PART))
    ]
    found: list[Mapping[str, Any]] = []
    if parts:
        data = ray.data.from_items(parts, override_num_blocks=len(parts)).map_batches(
            write_parts, fn_kwargs={"job": job}, batch_size=1, num_cpus=1
        )
        found = sorted(_rows(data), key=lambda row: int(row["place"]))
    totals = results.Totals()
    for row in found:
        totals.merge(results.Totals(json.loads(row["counts"])))
    summary = totals.to_dict()
    if summary["models"] != models:
        raise ModelError(f"{job.output}: the results hold {summary['models']} of {models} models; --resume goes on from here")
    folder.write(results.PAGE, _core.page_of_rows([row["rows"] for row in found]).encode())
    folder.remove([name for name in folder.names() if _PARTIAL.fullmatch(name)])
    check_is_ours(job, folder)
    folder.write(results.TOTALS, (json.dumps(summary, indent=2) + "\n").encode())  # last: with it the results are whole
    return summary


def _is_written_by_scans(name: str) -> bool:
    return name in (results.TOTALS, results.PAGE, _SETTINGS) or any(
        pattern.fullmatch(name) for pattern in (_PARTS, _PARTIAL, chunks.NAME)
    )


def begin(job: Job, folder: Folder, models: Sequence[Found], resume: bool) -> tuple[dict[str, chunks.Earlier], set[str]]:
    """The reports of earlier runs in the folder, as `earlier_reports` returns them. From here on the folder has no totals: it isn't
    complete."""
    try:
        names = folder.names()
        if any(not _PARTIAL.fullmatch(name) for name in names):
            if not settings_in(folder):
                raise UsageError(f"{job.output} isn't empty and holds no scan; name another folder")
            if not resume:
                raise UsageError(f"{job.output} isn't empty: --resume goes on with the run that it holds; or name another folder")
        ours = [name for name in names if _is_written_by_scans(name)]
        uris = {model.uri for model in models}
        for name in ours:
            if folder.uri_of(name) in uris:
                raise UsageError(f"{job.output}: {name} is a file of a scan and one of the models to check; name another folder")
        earlier = chunks.earlier_reports(folder, job.settings)
        folder.remove([name for name in ours if name in (results.TOTALS, results.PAGE)])
        settings = {"scan": _FORMAT, "run": job.run, "settings": job.settings, "options": job.options}
        folder.write(_SETTINGS, json.dumps(settings, indent=2).encode())
        return earlier
    except UsageError:
        raise
    except Exception as error:
        raise UsageError(f"{job.output}: can't be written: {reason_of(error)}") from error


def scan(job: Job, models: Sequence[Found], resume: bool, address: str, jobs: int | None, progress: Progress) -> dict[str, Any]:
    """The totals. Raises UsageError, and ModelError where the run fails. Models that didn't change since the time that the user
    named are in the results if the run that is resumed reported them."""
    ray = import_ray()
    folder = job.folder()
    ours = connect(address, jobs, start_folder)
    try:
        earlier, reported = begin(job, folder, models, resume)
        models = [model for model in models if model.changed or model.name in reported]
        for name in ("ray", "ray.data"):
            logging.getLogger(name).setLevel(logging.CRITICAL)
        context = ray.data.DataContext.get_current()
        context.enable_progress_bars = False
        context.print_on_execution_start = False
        files = run_checks(job, models, earlier, jobs, progress)
        totals = write_results(job, files, len(models))
        check_is_ours(job, folder)
        kept = set(files)
        folder.remove([name for name in folder.names(chunks.FOLDER) if chunks.NAME.fullmatch(name) and name not in kept])
        return totals
    except OSError as error:
        raise ModelError(f"{job.output}: {reason_of(error)}; --resume goes on from here") from error
    finally:
        if ours:
            ray.shutdown()
