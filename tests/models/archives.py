"""Reading and writing TorchScript archives: zip files whose records stand at multiples of 64 bytes."""
import zipfile
from pathlib import Path
from typing import BinaryIO, Callable, Dict, Union

ALIGNMENT = 64


def read(path: Union[Path, BinaryIO]) -> Dict[str, bytes]:
    """Records by name, the archive's own top folder included, in their order."""
    with zipfile.ZipFile(path) as archive:
        return {info.filename: archive.read(info) for info in archive.infolist()}


def write(path: Union[Path, BinaryIO], records: Dict[str, bytes], compression: int = zipfile.ZIP_STORED) -> None:
    """As PyTorch lays an archive out: one extra field "FB" pads each header so that its content is aligned."""
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, content in records.items():
            info = zipfile.ZipInfo(name, (1980, 0, 0, 0, 0, 0))
            info.compress_type = compression
            start = archive.fp.tell() + zipfile.sizeFileHeader + len(name.encode()) + 4
            padding = -start % ALIGNMENT
            info.extra = b"FB" + padding.to_bytes(2, "little") + b"Z" * padding
            archive.writestr(info, content)


def rewrite(path: Path, edit: Callable[[Dict[str, bytes]], None]) -> None:
    records = read(path)
    edit(records)
    write(path, records)


def replace_in(records: Dict[str, bytes], ending: str, old: bytes, new: bytes) -> None:
    """Replaces in every record with that ending; a text that is not there is an error of the maker."""
    hits = 0
    for name in [name for name in records if name.endswith(ending)]:
        hits += records[name].count(old)
        records[name] = records[name].replace(old, new)
    if not hits:
        raise ValueError(f"no {old!r} in any *{ending}")
