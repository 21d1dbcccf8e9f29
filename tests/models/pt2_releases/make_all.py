#!/usr/bin/env python3
"""Makes files/, expected/ and skipped.tsv: runs make.py with every torch release below.

    make_all.py [RELEASE ...]

Installs one release at a time from PyPI, without the CUDA libraries that it asks for (cuda_stubs.py stands in for
them), and removes it again: 2.5 GB of disk, 1 GB of download each. Works in /tmp/m: the archives hold the paths of the
files that they were made from, and these paths must be the same on every machine. Needs Python 3.11, gcc and readelf.
"""
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

RELEASES = ("2.1.2 2.2.2 2.3.1 2.4.1 2.5.1 2.6.0 2.7.1 2.8.0 2.9.1 2.10.0 2.11.0 2.12.1 2.13.0 2.14.1 2.15.0").split()
NEEDED = "numpy==1.26.4 sympy==1.13.3 networkx jinja2 fsspec filelock typing_extensions mpmath setuptools".split()
HERE = Path(__file__).resolve().parent
WORK = Path("/tmp/m")


def install(folder: Path, *arguments: str) -> None:
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--no-cache-dir", "--no-compile",
                    "--root-user-action=ignore", "--target", str(folder), *arguments], check=True)


def make(release: str) -> None:
    library, stubs, out = WORK / "lib", WORK / "stubs", WORK / "out" / release
    for folder in (library, stubs, out):
        shutil.rmtree(folder, ignore_errors=True)
    install(library, "--no-deps", f"torch=={release}")
    subprocess.run([sys.executable, str(HERE / "cuda_stubs.py"), str(library / "torch"), str(stubs)], check=True)
    shutil.copy(HERE / "make.py", WORK)
    environment = dict(os.environ, PYTHONPATH=f"{library}:{WORK / 'needed'}", LD_LIBRARY_PATH=str(stubs))
    with open(WORK / f"{release}.log", "w") as log:
        subprocess.run([sys.executable, str(WORK / "make.py"), str(out), str(HERE / "expected")], env=environment,
                       cwd=WORK, stdout=log, stderr=log, check=True)
    shutil.rmtree(library)
    note_skipped(release, (out / "skipped.txt").read_text())
    pack(out, HERE / "files" / f"{release}.tar.xz")


def note_skipped(release: str, failures: str) -> None:
    """Replaces the rows of `release` in skipped.tsv."""
    table = HERE / "skipped.tsv"
    header, *rows = table.read_text().splitlines() if table.exists() else ["release\tmodel\twhat torch says"]
    rows = [row for row in rows if not row.startswith(release + "\t")]
    rows += ["\t".join([release, *line.split(": ", 1)]) for line in failures.splitlines()]
    rows.sort(key=lambda row: [int(number) for number in row.split("\t")[0].split(".")])
    table.write_text("\n".join([header, *rows]) + "\n")


def pack(folder: Path, archive: Path) -> None:
    """Packs the .pt2 files of `folder`. They shrink to a tenth, since their JSON repeats itself."""
    def anonymous(member: tarfile.TarInfo) -> tarfile.TarInfo:
        member.uid = member.gid = member.mtime = 0
        member.uname = member.gname = ""
        member.mode = 0o644
        return member

    archive.parent.mkdir(exist_ok=True)
    unfinished = WORK / archive.name
    with tarfile.open(unfinished, "w:xz", preset=9, format=tarfile.USTAR_FORMAT) as packed:
        for file in sorted(folder.glob("*.pt2")):
            packed.add(file, f"{folder.name}/{file.name}", filter=anonymous)
    shutil.move(unfinished, archive)


def main() -> None:
    WORK.mkdir(exist_ok=True)
    if not (WORK / "needed").exists():
        install(WORK / "needed", *NEEDED)
    for release in sys.argv[1:] or RELEASES:
        print(release, flush=True)
        make(release)


if __name__ == "__main__":
    main()
