#!/usr/bin/env python3
"""Makes empty stand-ins for the CUDA libraries that a torch wheel needs at import.

    cuda_stubs.py TORCH_FOLDER OUT_FOLDER

The wheels of torch on PyPI are linked to CUDA libraries of several gigabytes. A program that runs on the CPU never
calls them, but the loader must find them. Each stand-in has the name of one missing library; every function in it
returns 100 ("no device"). Put OUT_FOLDER on LD_LIBRARY_PATH. Needs readelf and gcc, on x86-64.
"""
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Iterator

SOURCE = """
    .text
    .globl compatcheck_no_device
compatcheck_no_device:
    movl $100, %eax
    ret
    .section .note.GNU-stack,"",@progbits
"""


def readelf(option: str, library: Path) -> str:
    return subprocess.run(["readelf", option, "-W", str(library)], check=True, capture_output=True, text=True).stdout


def needed_libraries(libraries: list[Path]) -> tuple[list[Path], set[str]]:
    """What `libraries` need beside each other: libraries of this system, and the names of those that are missing."""
    names = {name for library in libraries for name in re.findall(r"\(NEEDED\).*\[(.+)\]", readelf("-d", library))}
    names -= {library.name for library in libraries}
    known = subprocess.run(["/sbin/ldconfig", "-p"], check=True, capture_output=True, text=True).stdout
    paths = dict(re.findall(r"^\s*(\S+) \(.*x86-64.*\) => (\S+)", known, re.MULTILINE))
    return [Path(paths[name]) for name in names if name in paths], names - paths.keys()


def needed_versions(libraries: list[Path]) -> dict[str, set[str]]:
    """For each library, the symbol versions that the others expect in it."""
    versions, file = defaultdict(set), ""
    for library in libraries:
        for line in readelf("-V", library).splitlines():
            if match := re.search(r"File: (\S+)\s+Cnt:", line):
                file = match[1]
            elif match := re.search(r"Name: (\S+)\s+Flags:.*Version: \d+", line):
                versions[file].add(match[1])
    return versions


def symbols_of(library: Path) -> Iterator[tuple[bool, str, str]]:
    """The symbols that a library defines or must find: (defined, name, version or "")."""
    for line in readelf("--dyn-syms", library).splitlines():
        columns = line.split()
        if len(columns) < 8 or not columns[0].endswith(":") or columns[4] == "LOCAL":
            continue
        is_defined = columns[6] != "UND"
        name, _, version = columns[7].partition("@")
        if is_defined or columns[4] != "WEAK":  # a weak symbol may stay undefined
            yield is_defined, name, version


def undefined_symbols(libraries: list[Path], system: list[Path]) -> dict[str, set[str]]:
    """The symbols that `libraries` use and that neither they nor `system` define, by their version."""
    defined = {name for library in libraries + system for is_defined, name, _ in symbols_of(library) if is_defined}
    used = defaultdict(set)
    for library in libraries:
        for is_defined, name, version in symbols_of(library):
            if not is_defined and name not in defined and not re.match("_?Py", name):  # Python has its own symbols
                used[version].add(name)
    return used


def make_stub(library: Path, nodes: dict[str, set[str]]) -> None:
    """Writes the shared library `library` with the symbols of each version in `nodes`."""
    symbols = set().union(*nodes.values())
    source, script = library.with_name(library.name + ".s"), library.with_name(library.name + ".map")
    source.write_text(SOURCE + "".join(f'    .globl "{s}"\n    .set "{s}", compatcheck_no_device\n' for s in symbols))
    options = []
    if any(nodes.keys()):
        script.write_text("".join(f'{version} {{ global: {"".join(f"{s}; " for s in sorted(names))} }};\n'
                                  for version, names in nodes.items() if version))
        options = [f"-Wl,--version-script={script}"]
    subprocess.run(["gcc", "-shared", "-nostdlib", f"-Wl,-soname={library.name}", *options, "-o", str(library),
                    str(source)], check=True)
    source.unlink()
    script.unlink(missing_ok=True)


def make_stubs(torch_folder: Path, out: Path) -> None:
    libraries = sorted((torch_folder / "lib").glob("*.so*"))
    system, missing = needed_libraries(libraries)
    versions, symbols = needed_versions(libraries), undefined_symbols(libraries, system)
    out.mkdir(parents=True, exist_ok=True)
    for name in missing:
        # Nothing tells which library defines a symbol of no version: each library without versions gets them all.
        make_stub(out / name, {version: symbols.get(version, set()) for version in versions.get(name, [""])})


if __name__ == "__main__":
    make_stubs(Path(sys.argv[1]), Path(sys.argv[2]))
