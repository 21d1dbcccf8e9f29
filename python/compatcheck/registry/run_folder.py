"""The folder of a run: whose it is, and which of its files a scan writes."""
from __future__ import annotations

import json
import re
import uuid
from dataclasses import dataclass, field
from typing import Any, Mapping, Sequence

from ..errors import Error, ModelError, UsageError
from . import chunks, results
from .storage import Folder, Found, reason_of

SETTINGS = f"{chunks.FOLDER}/settings.json"
_FORMAT = 1  # of settings.json
# The names that a scan writes. A scan removes no other file.
PARTS = re.compile(r"reports/part-\d{5,}\.jsonl|(?:models|findings)/verdict=[a-z_]+/part-\d{5,}\.parquet")
_OF_THE_NAME = (FileExistsError, FileNotFoundError, IsADirectoryError, NotADirectoryError, PermissionError)  # another folder helps
PARTIAL = re.compile(r"(?:(?:run|reports|(?:models|findings)/verdict=[a-z_]+)/)?\.[^/]+\.[0-9a-f]{32}\.partial")


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

    def folder(self) -> Folder:
        if self.configuration:
            import fsspec

            fsspec.config.conf.update(self.configuration)
        return Folder(self.output, self.storage)


def _in_use(job: Job) -> ModelError:
    return ModelError(f"{job.output}: another run writes to this folder")


def settings_in(folder: Folder) -> Mapping[str, Any] | None:
    """The settings of the run in the folder. None: the folder holds no run."""
    try:
        found = json.loads(folder.read(SETTINGS))
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return None
    if not isinstance(found, dict) or found.get("scan") != _FORMAT:
        return None
    return found if isinstance(found.get("run"), str) and isinstance(found.get("settings"), str) else None


def check_is_ours(job: Job, folder: Folder) -> None:
    found = settings_in(folder)
    if not found or found["run"] != job.run:
        raise _in_use(job)


def write(folder: Folder, name: str, data: bytes) -> None:
    try:
        folder.write(name, data)
    except Exception as error:
        raise ModelError(f"{folder.uri_of(name)}: can't be written: {reason_of(error)}") from error


def is_written_by_scans(name: str) -> bool:
    return name in (results.TOTALS, results.PAGE, SETTINGS) or any(
        pattern.fullmatch(name) for pattern in (PARTS, PARTIAL, chunks.NAME)
    )


def begin(job: Job, folder: Folder, models: Sequence[Found], resume: bool) -> tuple[dict[str, chunks.Earlier], set[str]]:
    """The reports of earlier runs in the folder, as `earlier_reports` returns them. From here on the folder has no totals, so that it
    isn't complete; and it is the run's: a local folder until the object `folder` closes, another one until another run begins."""
    try:
        if not folder.lock():
            raise _in_use(job)
        names = folder.names()
        is_new = all(PARTIAL.fullmatch(name) for name in names)
        if not is_new:
            if not settings_in(folder):
                raise UsageError(f"{job.output} isn't empty and holds no scan; name another folder")
            if not resume:
                raise UsageError(f"{job.output} isn't empty: --resume goes on with the run that it holds; or name another folder")
        ours = [name for name in names if is_written_by_scans(name)]
        uris = {model.uri for model in models}
        for name in ours:
            if folder.uri_of(name) in uris:
                raise UsageError(f"{job.output}: {name} is a file of a scan and one of the models to check; name another folder")
        earlier = chunks.earlier_reports(folder, job.settings)
        folder.remove([name for name in ours if name in (results.TOTALS, results.PAGE)])
        settings = {"scan": _FORMAT, "run": job.run, "settings": job.settings, "options": job.options}
        if not folder.write(SETTINGS, json.dumps(settings, indent=2).encode(), only_new=is_new):
            raise _in_use(job)
        return earlier
    except Error:
        raise
    except Exception as error:
        kind = UsageError if isinstance(error, _OF_THE_NAME) else ModelError
        raise kind(f"{job.output}: can't be written: {reason_of(error)}") from error
