"""The first half of a scan: actors check chunks of models and make a file of each. See `chunks`."""
from __future__ import annotations

import concurrent.futures
import json
import platform
import threading
from typing import Any, Callable, Iterable, Iterator, Mapping, Sequence, Tuple

from ..errors import Error, ModelError
from . import chunks, cluster
from .run_folder import Job, write
from .storage import Folder, Found, reason_of
from .workers import StartError, Worker, check

MOST_IN_CHUNK = 32
CHUNK_BYTES = 8 << 20  # of reports, from which on a chunk's file is written and the next one begins
REMOTE_WORKERS = 4  # processes of an actor, so that its core works while others wait for the network
Progress = Callable[[int, int], object]
File = Tuple[str, int]  # its name and size


def reason(job: Job, error: Exception) -> str:
    """The error of a task, for the driver. Ray's own errors would name Ray's internals."""
    if isinstance(error, StartError):
        return f"{platform.node()}: {error}"
    return str(error) if isinstance(error, Error) else f"{job.output}: {reason_of(error)}"


class CheckModels:
    """An actor."""

    def __init__(self, job: Job, remote: bool) -> None:
        self._job = job
        self._folder: Folder | None = None
        self._of_thread = threading.local()
        # Threads live as long as the actor, and so do their workers.
        self._pool = concurrent.futures.ThreadPoolExecutor(REMOTE_WORKERS if remote else 1)

    def __call__(self, batch: Mapping[str, Any]) -> dict[str, list[Any]]:
        done = [self._answer(json.loads(text)) for text in batch["chunk"]]
        return {name: [each[name] for each in done] for name in ("place", "files", "models", "error")}

    def _answer(self, chunk: Mapping[str, Any]) -> dict[str, Any]:
        made = {"place": chunk["place"], "files": "[]", "models": len(chunk["models"]), "error": ""}
        try:
            self._folder = self._folder or self._job.folder()
            return {**made, "files": json.dumps(list(self._chunk(chunk, self._folder)))}
        except Exception as error:
            return {**made, "error": reason(self._job, error)}

    def _check(self, model: Found, identity: str | None) -> bytes | None:
        if not hasattr(self._of_thread, "worker"):
            self._of_thread.worker = Worker(self._job.opset, self._job.options)
        return check(self._of_thread.worker, model, self._job.storage, identity)

    def _chunk(self, chunk: Mapping[str, Any], folder: Folder) -> Iterator[File]:
        models = [Found(*each) for each in chunk["models"]]
        earlier = [chunks.Earlier(*each) if each else None for each in chunk["earlier"]]
        known = read_earlier(folder, earlier)

        def look(place: int) -> bytes:
            before, report = earlier[place], known[place]
            if not before or report is None:
                return self._check(models[place], None) or b""
            if not models[place].changed:
                return report
            return self._check(models[place], before.identity) or report

        there = {before.file for before, report in zip(earlier, known) if before and report is not None}
        for part, reports in _bounded_parts(models, self._pool.map(look, range(len(models)))):
            data = chunks.packed(self._job.settings, part, reports)
            name = chunks.file_of(data)
            if name not in there:
                write(folder, name, data)
            yield name, len(data)


def _bounded_parts(models: Sequence[Found], reports: Iterable[bytes]) -> Iterator[tuple[list[Found], list[bytes]]]:
    part: list[Found] = []
    held: list[bytes] = []
    for model, lines in zip(models, reports):
        part.append(model)
        held.append(lines)
        if sum(map(len, held)) >= CHUNK_BYTES:
            yield part, held
            part, held = [], []
    if part:
        yield part, held


def read_earlier(folder: Folder, earlier: Sequence[chunks.Earlier | None]) -> list[bytes | None]:
    """The reports of an earlier run. None: that model must be checked."""
    found: list[bytes | None] = [None] * len(earlier)
    for name in {each.file for each in earlier if each}:
        try:
            data = folder.read(name)
        except FileNotFoundError:
            continue
        for place, each in enumerate(earlier):
            if each and each.file == name:
                found[place] = each.within(data)
    return found


def run_checks(job: Job, models: Sequence[Found], earlier: Mapping[str, chunks.Earlier], jobs: int | None, progress: Progress) -> list[File]:
    """The files of all chunks, in the order of the models."""
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
    remote = any("://" in model.uri and not model.uri.startswith(("file://", "local://")) for model in models)
    files: dict[int, list[File]] = {}
    done = 0
    ray = cluster.import_ray()
    data = ray.data.from_items(rows, override_num_blocks=len(rows)).map_batches(
        CheckModels, fn_constructor_args=(job, remote), batch_size=1, num_cpus=1,
        compute=ray.data.ActorPoolStrategy(min_size=1, max_size=min(jobs or cluster.cores(), len(rows))),
    )
    progress(0, len(models))
    for row in cluster.rows(data):
        files[int(row["place"])] = [(name, size) for name, size in json.loads(row["files"])]
        done += int(row["models"])
        progress(done, len(models))
    if len(files) != len(rows):
        raise ModelError(f"{len(rows) - len(files)} chunks of models were lost; --resume goes on from here")
    return [file for place in range(len(rows)) for file in files[place]]
