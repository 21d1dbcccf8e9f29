"""A scan on Ray Data: chunks of models go to actors, one a core; then parts of the reports become results."""
from __future__ import annotations

import concurrent.futures
import json
import logging
import os
import threading
from dataclasses import dataclass, field
from typing import Any, Callable, Mapping, Sequence

from .. import _core
from ..errors import ModelError, UsageError
from . import chunks, results
from .storage import Folder, Found, reason_of
from .workers import Worker, check

MOST_IN_CHUNK = 32
CHUNKS_IN_PART = 64
REMOTE_WORKERS = 4  # processes of an actor, so that its core works while others wait for the network
_SETTINGS = f"{chunks.FOLDER}/settings.json"
OBJECT_STORE_BYTES = 128 << 20  # what goes through it are names


@dataclass(frozen=True)
class Job:
    """What all actors of a run know."""

    output: str
    opset: Any
    options: Mapping[str, Any]
    storage: Mapping[str, Any]
    settings: str
    configuration: Mapping[str, Any] = field(default_factory=dict)  # fsspec's, of the driver

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


def connect(address: str, jobs: int | None) -> bool:
    """Whether a Ray of our own was started. `address`: auto (a cluster that is there, else our own), local, or a cluster's."""
    ray = import_ray()
    if ray.is_initialized():
        return False
    quiet: dict[str, Any] = {"logging_level": "ERROR", "log_to_driver": False}
    if address not in ("auto", "local"):
        try:
            ray.init(address=address, **quiet)
        except Exception as error:
            raise UsageError(f"--ray {address}: {reason_of(error)}") from error
        return True
    if address == "auto":
        try:
            ray.init(address="auto", **quiet)
            return True
        except (ConnectionError, ValueError):
            pass
    ray.init(
        address="local", num_cpus=jobs, include_dashboard=False, object_store_memory=OBJECT_STORE_BYTES, _node_ip_address="127.0.0.1",
        **quiet,
    )
    return True


class CheckModels:
    """An actor: a chunk becomes a file."""

    def __init__(self, job: Job, remote: bool) -> None:
        job.configure()
        self._job = job
        self._folder = job.folder()
        self._of_thread = threading.local()
        # Threads live as long as the actor, and so do their workers.
        self._pool = concurrent.futures.ThreadPoolExecutor(REMOTE_WORKERS if remote else 1)

    def __call__(self, batch: Mapping[str, Any]) -> dict[str, list[Any]]:
        done = [self._chunk(json.loads(text)) for text in batch["chunk"]]
        return {name: [each[name] for each in done] for name in ("place", "file", "models", "reused")}

    def _check(self, model: Found, before: chunks.Earlier | None) -> bytes | None:
        if not hasattr(self._of_thread, "worker"):
            self._of_thread.worker = Worker(self._job.opset, self._job.options)
        return check(self._of_thread.worker, model, self._job.storage, before.identity if before else None)

    def _chunk(self, chunk: Mapping[str, Any]) -> dict[str, Any]:
        models = [Found(*each) for each in chunk["models"]]
        earlier = [chunks.Earlier(*each) if each else None for each in chunk["earlier"]]
        answers = list(self._pool.map(self._check, models, earlier))
        reused = sum(answer is None for answer in answers)
        name = chunks.file_of(self._job.settings, models)
        if reused < len(models) or any(before is None or before.file != name for before in earlier):
            reports = [before.read(self._folder) if answer is None and before else answer for answer, before in zip(answers, earlier)]
            self._folder.write(name, chunks.packed(self._job.settings, models, [each for each in reports if each]))
        return {"place": chunk["place"], "file": name, "models": len(models), "reused": reused}


def write_parts(batch: Mapping[str, Any], job: Job) -> dict[str, list[Any]]:
    """A task: a part of the chunks becomes a file of JSON lines and rows of the tables. What another try wrote is written again."""
    job.configure()
    folder = job.folder()
    done = [_write_part(folder, json.loads(text)) for text in batch["part"]]
    return {"place": [each[0] for each in done], "counts": [each[1] for each in done], "rows": [each[2] for each in done]}


def _write_part(folder: Folder, part: Mapping[str, Any]) -> tuple[int, str, str]:
    place, lines = part["place"], []
    for data in folder.read_all(part["files"]):
        lines += [reports for _, reports in chunks.reports_in(data)]
    models = [[json.loads(line) for line in reports.splitlines()] for reports in lines]
    name = f"part-{place:05}"
    folder.write(f"reports/{name}.jsonl", b"".join(lines))
    for table, data in results.tables([report for model in models for report in model]).items():
        folder.write(f"{table}/{name}.parquet", data)
    totals = results.totals_of(models)
    return place, json.dumps(totals.counts()), _core.page_rows(b"".join(lines))


Progress = Callable[[int, int], object]


def run_checks(job: Job, models: Sequence[Found], earlier: Mapping[str, chunks.Earlier], jobs: int | None, progress: Progress) -> list[str]:
    """The files of all chunks, in the order of the models."""
    ray = import_ray()

    size = max(1, min(MOST_IN_CHUNK, len(models) // 64))
    rows = []
    for place, at in enumerate(range(0, len(models), size)):
        chunk = models[at : at + size]
        before = [earlier.get(model.name) for model in chunk]
        rows.append({"chunk": json.dumps({
            "place": place,
            "models": [[model.name, model.uri] for model in chunk],
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
    for row in data.iter_rows():
        files[int(row["place"])] = row["file"]
        done += int(row["models"])
        progress(done, len(models))
    if len(files) != len(rows):
        raise ModelError(f"{len(rows) - len(files)} chunks of models were lost; --resume goes on from here")
    return [files[place] for place in range(len(rows))]


def write_results(job: Job, files: Sequence[str]) -> dict[str, Any]:
    ray = import_ray()

    folder = job.folder()
    folder.remove([name for name in folder.names() if name.split("/")[0] in results.RESULTS])
    parts = [
        {"part": json.dumps({"place": place, "files": files[at : at + CHUNKS_IN_PART]})}
        for place, at in enumerate(range(0, len(files), CHUNKS_IN_PART))
    ]
    data = ray.data.from_items(parts, override_num_blocks=len(parts)).map_batches(
        write_parts, fn_kwargs={"job": job}, batch_size=1, num_cpus=1
    )
    found = sorted(data.take_all(), key=lambda row: int(row["place"]))
    totals = results.Totals()
    for row in found:
        totals.merge(results.Totals(json.loads(row["counts"])))
    summary = totals.to_dict()
    folder.write(results.PAGE, _core.page_of_rows([row["rows"] for row in found]).encode())
    folder.write(results.TOTALS, (json.dumps(summary, indent=2) + "\n").encode())  # last: with it the results are whole
    return summary


def _begin(job: Job, folder: Folder, resume: bool) -> dict[str, chunks.Earlier]:
    """What the folder holds of earlier runs. From here on it has no totals: it isn't complete."""
    try:
        names = folder.names()
        if names and not resume:
            raise UsageError(f"{job.output} isn't empty: --resume goes on with the run that it holds; or name another folder")
        earlier = chunks.earlier_reports(folder, job.settings)
        folder.remove([name for name in names if name in (results.TOTALS, results.PAGE)])
        folder.write(_SETTINGS, json.dumps({"settings": job.settings, "options": job.options}, indent=2).encode())
        return earlier
    except UsageError:
        raise
    except Exception as error:
        raise UsageError(f"{job.output}: can't be written: {reason_of(error)}") from error


def scan(job: Job, models: Sequence[Found], resume: bool, address: str, jobs: int | None, progress: Progress) -> dict[str, Any]:
    """The totals. Raises UsageError, and ModelError where the run on Ray fails."""
    ray = import_ray()
    folder = job.folder()
    ours = connect(address, jobs)
    try:
        earlier = _begin(job, folder, resume)
        logging.getLogger("ray.data").setLevel(logging.ERROR)
        context = ray.data.DataContext.get_current()
        context.enable_progress_bars = False
        context.print_on_execution_start = False
        files = run_checks(job, models, earlier, jobs, progress)
        totals = write_results(job, files)
        folder.remove([name for name in folder.names(chunks.FOLDER) if name not in {*files, _SETTINGS}])
        return totals
    except ray.exceptions.RayError as error:
        cause = getattr(error, "cause", None) or error
        raise ModelError(f"the run on Ray failed ({reason_of(cause)}); --resume goes on from here") from error
    finally:
        if ours:
            ray.shutdown()
