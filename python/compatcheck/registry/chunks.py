"""What a run has done already, in its folder: a file for each chunk of models, written whole.

The first line of a file names the settings and the models, with their identities and the places of their reports; the reports
follow, as JSON lines. A chunk is named after its settings and models, so that who does it again writes the same file.
"""
from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any, Mapping, Sequence

from .storage import Folder, Found

FOLDER = "run"
_HEAD_BYTES = 64 << 10


@dataclass(frozen=True)
class Earlier:
    """A report of an earlier run."""

    file: str
    identity: str
    offset: int
    size: int

    def read(self, folder: Folder) -> bytes:
        return folder.read(self.file, self.offset, self.offset + self.size)


def file_of(settings: str, models: Sequence[Found]) -> str:
    named = "\0".join([settings, *(model.name for model in models)])
    return f"{FOLDER}/{hashlib.sha256(named.encode()).hexdigest()[:32]}.jsonl"


def packed(settings: str, models: Sequence[Found], reports: Sequence[bytes]) -> bytes:
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


def earlier_reports(folder: Folder, settings: str) -> dict[str, Earlier]:
    """By the model's name: what was checked with these settings. What isn't whole is left out."""
    names = [name for name in folder.names(FOLDER) if name.endswith(".jsonl")]
    found: dict[str, Earlier] = {}
    for at in range(0, len(names), 256):
        part = names[at : at + 256]
        for name, head in zip(part, folder.heads(part, _HEAD_BYTES)):
            end = head.find(b"\n")
            if end < 0:
                head = folder.read(name)
                end = head.find(b"\n")
            try:
                line: Mapping[str, Any] = json.loads(head[:end])
            except ValueError:
                continue
            if end < 0 or line.get("settings") != settings:
                continue
            for model, identity, offset, size in line["models"]:
                if identity:
                    found[model] = Earlier(name, identity, end + 1 + offset, size)
    return found
