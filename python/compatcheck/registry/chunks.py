"""Finished work of a run, in its folder: a file for each chunk of models.

The first line of a file names the settings and the models, with their identities and the places of their reports; the reports
follow, as JSON lines. A file is named after a hash of its content, so the content of a name never changes.
"""
from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from typing import Any, Mapping, Sequence

from .storage import Folder, Found

FOLDER = "run"
_HEAD_BYTES = 64 << 10
NAME = re.compile(rf"{FOLDER}/[0-9a-f]{{32}}\.jsonl")


@dataclass(frozen=True)
class Earlier:
    """A report of an earlier run: `offset` and `size` are its bytes in `file`."""

    file: str
    identity: str
    offset: int
    size: int

    def within(self, data: bytes) -> bytes | None:
        """The report, from the bytes of the file. None: the file isn't the one that the report was found in."""
        lines = data[self.offset : self.offset + self.size]
        return lines if is_whole(self.file, data) and len(lines) == self.size > 0 else None


def file_of(data: bytes) -> str:
    return f"{FOLDER}/{hashlib.sha256(data).hexdigest()[:32]}.jsonl"


def is_whole(name: str, data: bytes) -> bool:
    return file_of(data) == name


def packed(settings: str, models: Sequence[Found], reports: Sequence[bytes]) -> bytes:
    """Raises ValueError unless each model has a report."""
    if len(models) != len(reports) or not all(reports):
        raise ValueError(f"{len(models)} models have {sum(map(bool, reports))} reports")
    entries, offset = [], 0
    for model, lines in zip(models, reports):
        first = json.loads(lines[: lines.index(b"\n")])
        identity = None if "error" in first else first["model"]["identity"]
        entries.append([model.name, identity, offset, len(lines)])
        offset += len(lines)
    head = json.dumps({"settings": settings, "models": entries}, ensure_ascii=False)
    return head.encode() + b"\n" + b"".join(reports)


def reports_in(data: bytes) -> list[tuple[str, bytes]]:
    """Each model's name and its reports."""
    end = data.index(b"\n") + 1
    return [(name, data[end + offset : end + offset + size]) for name, _, offset, size in json.loads(data[:end])["models"]]


def earlier_reports(folder: Folder, settings: str) -> tuple[dict[str, Earlier], set[str]]:
    """The reports with these settings by the names of their models, and the names of all models that have any report. Files that
    aren't whole are skipped."""
    sizes = {name: size for name, size in folder.sizes(FOLDER).items() if NAME.fullmatch(name)}
    names = sorted(sizes)
    found: dict[str, Earlier] = {}
    reported: set[str] = set()
    for at in range(0, len(names), 256):
        part = names[at : at + 256]
        for name, head in zip(part, folder.heads(part, _HEAD_BYTES)):
            end = head.find(b"\n")
            if end < 0:
                head = folder.read(name)
                end = head.find(b"\n")
            entries = _entries(head[: end + 1], sizes[name])
            if entries is None:
                continue
            same = entries["settings"] == settings
            for model, identity, offset, size in entries["models"]:
                reported.add(model)
                if same and identity:
                    found[model] = Earlier(name, identity, end + 1 + offset, size)
    return found, reported


def _entries(head: bytes, file_size: int) -> Mapping[str, Any] | None:
    """The first line of a file, if the file has the size that this line gives."""
    try:
        line = json.loads(head)
        whole = len(head) + sum(size for _, _, _, size in line["models"]) == file_size
        return line if whole and isinstance(line["settings"], str) else None
    except (ValueError, KeyError, TypeError):
        return None
