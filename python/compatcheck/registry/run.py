"""A scan on Ray Data: chunks of models go to actors, one a core; then tasks make results of parts of the reports."""
from __future__ import annotations

import json
from typing import Any, Iterator, Mapping, Sequence

from .. import _core
from ..errors import ModelError
from . import chunks, cluster, results
from .checks import File, Progress, reason, run_checks
from .run_folder import PARTIAL, PARTS, Job, begin, check_is_ours, write
from .storage import Folder, Found, reason_of

MOST_IN_PART, PART_BYTES = 64, 32 << 20  # files of chunks, which a task holds in its memory


def write_parts(batch: Mapping[str, Any], job: Job) -> dict[str, list[Any]]:
    """A task: a part of the chunks becomes a file of JSON lines and rows of the tables. A second attempt writes the same again."""
    done = []
    for part in map(json.loads, batch["part"]):
        try:
            done.append((part["place"], *_write_part(job, job.folder(), part), ""))
        except Exception as error:
            done.append((part["place"], "", "", "", reason(job, error)))
    return {name: [each[at] for each in done] for at, name in enumerate(("place", "written", "counts", "rows", "error"))}


def _write_part(job: Job, folder: Folder, part: Mapping[str, Any]) -> tuple[str, str, str]:
    lines = []
    for name, data in zip(part["files"], folder.read_all(part["files"])):
        if not chunks.is_whole(name, data):
            raise ModelError(f"{folder.uri_of(name)}: isn't the file that this run wrote")
        lines += [reports for _, reports in chunks.reports_in(data)]
    models = [[json.loads(line) for line in reports.splitlines()] for reports in lines]
    tables = results.tables([report for model in models for report in model])
    name = f"part-{part['place']:05}"
    files = {f"reports/{name}.jsonl": b"".join(lines), **{f"{table}/{name}.parquet": data for table, data in tables.items()}}
    check_is_ours(job, folder)
    for each, data in files.items():
        write(folder, each, data)
    return json.dumps(list(files)), json.dumps(results.totals_of(models).counts()), _core.page_rows(b"".join(lines))


def _parts(files: Sequence[File]) -> Iterator[list[str]]:
    part: list[str] = []
    held = 0
    for name, size in files:
        if part and (len(part) == MOST_IN_PART or held + size > PART_BYTES):
            yield part
            part, held = [], 0
        part.append(name)
        held += size
    if part:
        yield part


def write_results(job: Job, folder: Folder, files: Sequence[File], models: int) -> dict[str, Any]:
    check_is_ours(job, folder)
    folder.remove([name for name in folder.names() if PARTS.fullmatch(name)])
    parts = [{"part": json.dumps({"place": place, "files": part})} for place, part in enumerate(_parts(files))]
    found: list[Mapping[str, Any]] = []
    if parts:
        data = cluster.import_ray().data.from_items(parts, override_num_blocks=len(parts)).map_batches(
            write_parts, fn_kwargs={"job": job}, batch_size=1, num_cpus=1
        )
        found = sorted(cluster.rows(data), key=lambda row: int(row["place"]))
    totals = results.Totals()
    for row in found:
        totals.merge(results.Totals(json.loads(row["counts"])))
    summary = totals.to_dict()
    if summary["models"] != models:
        raise ModelError(f"{job.output}: the results hold {summary['models']} of {models} model{'' if models == 1 else 's'}; --resume goes on from here")
    write(folder, results.PAGE, _core.page_of_rows([row["rows"] for row in found]).encode())
    # Those of a task that a run left behind when it was killed are removed, too.
    written = {name for row in found for name in json.loads(row["written"])}
    folder.remove([name for name in folder.names() if PARTIAL.fullmatch(name) or (PARTS.fullmatch(name) and name not in written)])
    check_is_ours(job, folder)
    write(folder, results.TOTALS, (json.dumps(summary, indent=2) + "\n").encode())  # last: with it the results are whole
    return summary


def scan(job: Job, models: Sequence[Found], resume: bool, address: str, jobs: int | None, progress: Progress) -> dict[str, Any]:
    """The totals. Raises UsageError, and ModelError where the run fails. Models that didn't change since the time that the user
    named are in the results if the run that is resumed reported them."""
    ray = cluster.import_ray()
    try:
        with cluster.connected(address, jobs), job.folder() as folder:
            earlier, reported = begin(job, folder, models, resume)
            models = [model for model in models if model.changed or model.name in reported]
            cluster.quiet()
            files = run_checks(job, models, earlier, jobs, progress)
            totals = write_results(job, folder, files, len(models))
            check_is_ours(job, folder)
            kept = {name for name, _ in files}
            folder.remove([name for name in folder.names(chunks.FOLDER) if chunks.NAME.fullmatch(name) and name not in kept])
            return totals
    except (OSError, ray.exceptions.RayError) as error:
        raise ModelError(f"{job.output}: {reason_of(error)}; --resume goes on from here") from error
