"""Holds the includes to what the rooms say they use.

A room is a folder of src/ whose CMakeLists.txt says compatcheck_room(NAME USES ROOM... LINKS LIBRARY...). Its sources
may include its own headers, those of the rooms it uses and of what these use, and the public ones. Torch's headers are
met in src/frontend/torchscript/ alone, onnx's in the room of that name and those that use it. Public headers include only the standard library
and each other. Long files are listed, without failing.
"""
import re
import sys
from pathlib import Path

LONG = 400
INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^>"]+)[>"]')
ROOM = re.compile(r"^\s*compatcheck_room\(\s*(\w+)\s*([^)]*)\)", re.MULTILINE)
STANDARD = {
    "numeric": "accumulate|iota|reduce|inner_product|partial_sum|gcd|lcm|midpoint", "charconv": "to_chars|from_chars", "filesystem": "filesystem",
    "regex": "regex", "complex": "complex", "sstream": "[io]?stringstream", "thread": "thread|this_thread", "chrono": "chrono",
}
KEYWORDS = {"USES", "LINKS", "SOURCES", "PRECOMPILES", "LIKE"}


def read_rooms(src):
    """room -> the rooms that it says it uses"""
    rooms = {"cli": ["process"]}  # the program: beside that the public interface only
    for listing in sorted(src.glob("*/CMakeLists.txt")):
        text = re.sub(r"#.*", "", listing.read_text())
        for name, arguments in ROOM.findall(text):
            listed, keyword = {keyword: [] for keyword in KEYWORDS}, None
            for word in arguments.split():
                if word in KEYWORDS:
                    keyword = word
                # "mapping_reading" in src/mapping/ is a part of that room, built on its own.
                elif not word.startswith(name + "_"):
                    listed[keyword].append(word)
            rooms[name] = listed["USES"]
    return rooms


def reachable(rooms, room):
    seen, todo = set(), [room]
    while todo:
        name = todo.pop()
        if name not in seen:
            seen.add(name)
            todo += rooms[name]
    return seen


def includes(file):
    for number, line in enumerate(file.read_text().splitlines(), 1):
        if match := INCLUDE.match(line):
            yield number, match.group(1), match.group(2)


def sources(folder):
    return sorted(path for path in folder.rglob("*") if path.suffix in {".h", ".cpp"})


def check_rooms(root, rooms):
    for room in rooms:
        allowed = reachable(rooms, room)
        for file in sources(root / "src" / room):
            place = file.relative_to(root)
            torch_side = place.parts[:3] == ("src", "frontend", "torchscript")
            for number, _, header in includes(file):
                first = header.split("/")[0]
                # "onnx/…" is the room if the file is there, the library otherwise.
                if first in rooms and (root / "src" / header).exists():
                    if first not in allowed:
                        yield f"{place}:{number}: {room} includes {header}, but doesn't say that it uses {first}"
                elif first == "onnx" and "onnx" not in allowed:
                    yield f"{place}:{number}: {room} includes {header}, but doesn't say that it uses onnx"
                elif first in {"torch", "ATen", "c10", "caffe2"} and not torch_side:
                    yield f"{place}:{number}: {header} is for src/frontend/torchscript/ alone"


def reached_headers(root, file, seen):
    """The headers that a file of src/ includes, itself or through our own."""
    for _, _, header in includes(file):
        own = next((each for each in (root / "src" / header, root / "include" / header) if each.exists()), None)
        if own is None:
            yield header
        elif own not in seen:
            seen.add(own)
            yield from reached_headers(root, own, seen)


def check_standard_headers(root):
    """Precompiled headers hide that one of these is missing; builds without them, as for AddressSanitizer, fail then."""
    for file in sources(root / "src"):
        text, reached = file.read_text(), None
        for header, names in STANDARD.items():
            if not re.search(rf"std::(?:{names})\b", text):
                continue
            reached = reached or set(reached_headers(root, file, set()))
            if header not in reached:
                yield f"{file.relative_to(root)}: uses what <{header}> declares, and doesn't include it"


def check_cycles(rooms):
    for room in rooms:
        for used in rooms[room]:
            if used not in rooms:
                yield f"src/{room}/CMakeLists.txt: uses {used}, which is no room"
            elif room in reachable(rooms, used):
                yield f"src/{room}/CMakeLists.txt: uses {used}, which uses {room}"


def check_public_headers(root):
    for file in sources(root / "include"):
        for number, bracket, header in includes(file):
            ours = header.startswith("compatcheck/")
            if header in {"stddef.h", "stdint.h"} and file.name.endswith("_abi.h"):
                continue  # plain C, for plugins in C
            # The standard library's headers, C's <…> among them, have no folder and no ending.
            if not ours and (bracket == '"' or "/" in header or "." in header):
                yield f"{file.relative_to(root)}:{number}: a public header includes {header}"


def check_table(root, rooms):
    """The last column of the table of rooms in docs/architecture.md names rooms, and those of USES that no other one brings."""
    text = (root / "docs" / "architecture.md").read_text()
    for room, stated in re.findall(r"^\| `src/(\w+)/`[^|]*\|.*\| ([^|]*) \|$", text, re.MULTILINE):
        named = {word for word in re.findall(r"\w+", stated) if word in rooms}
        if room in rooms and room != "cli" and named - reachable(rooms, room):
            yield f"docs/architecture.md: {room} may not include {', '.join(sorted(named - reachable(rooms, room)))}"
        brought = set().union(*(reachable(rooms, name) for name in named)) if named else set()
        if room in rooms and (missing := set(rooms[room]) - brought):
            yield f"docs/architecture.md: {room} uses {', '.join(sorted(missing))}, too"
    for room in rooms:
        if f"`src/{room}/`" not in text:
            yield f"docs/architecture.md: no row for src/{room}"


def check_folders(root, rooms):
    for folder in sorted((root / "src").iterdir()):
        if folder.is_dir() and sources(folder) and folder.name not in rooms:
            yield f"src/{folder.name}: no compatcheck_room() in its CMakeLists.txt"


def main():
    root = Path(sys.argv[1])
    rooms = read_rooms(root / "src")
    if not rooms or not sources(root / "include"):
        sys.exit("no rooms, or no public headers: is this the project's root?")
    defects = list(check_cycles(rooms))
    if not defects:  # what is reachable is only known without cycles and unknown rooms
        defects += [*check_folders(root, rooms), *check_rooms(root, rooms), *check_public_headers(root), *check_table(root, rooms),
                    *check_standard_headers(root)]
    for folder in ("src", "include", "tests"):
        for file in sources(root / folder):
            lines = len(file.read_text().splitlines())
            if lines > LONG:
                print(f"long: {file.relative_to(root)}: {lines} lines")
    print(*defects, sep="\n")
    return 1 if defects else 0


if __name__ == "__main__":
    sys.exit(main())
