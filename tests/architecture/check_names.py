"""Holds that a name of an anonymous namespace stands in one file of its room.

Files of a room are compiled together, several as one unit (cmake/Rooms.cmake), so their anonymous namespaces are one. Two things
of one name are a redefinition, or overloads that change silently which function a call means. The same thing twice belongs into a
header of the room.
"""
import collections
import re
import sys
from pathlib import Path

APART = ("compile", "reading", "torchscript")  # folders of a room that are libraries or programs of their own
TYPE = re.compile(r"(?:template <.*> ?)?(?:struct|class|enum class|enum|union|using|concept) (\w+)(?!\w*::)")
FUNCTION = re.compile(r"[^()=]*?(?<!::)\b(operator\S+|\w+)\(")
MEMBER = re.compile(r"[^()=]*\w::~?\w+\(")
VARIABLE = re.compile(r".*?\b(\w+)(?:\{|\[| =|;)")


def names(file):
    """Each name that begins a line of an anonymous namespace, as clang-format leaves it; with the line if it is an alias, which
    may be repeated."""
    anonymous = False
    for line in file.read_text().splitlines():
        if line == "namespace {":
            anonymous = True
        elif line == "}  // namespace":
            anonymous = False
        elif anonymous and re.match(r"[A-Za-z\[]", line) and not re.match(r"(namespace|using namespace) |using [\w:]+;", line):
            if MEMBER.match(line):
                continue
            found = TYPE.match(line) or FUNCTION.match(line) or VARIABLE.match(line)
            if found and not found.group(1).startswith("operator"):
                yield found.group(1), line if re.match(r"using \w+ = .*;", line) else None


def main():
    source = Path(sys.argv[1]) / "src"
    rooms = collections.defaultdict(lambda: collections.defaultdict(dict))
    for file in sorted(source.rglob("*.cpp")):
        place = file.relative_to(source)
        room = "/".join([place.parts[0], *(part for part in place.parts[1:-1] if part in APART)])
        for name, alias in names(file):
            rooms[room][name][str(place)] = alias
    if sum(map(len, rooms.values())) < 100:
        sys.exit("hardly a name was found: is this the project's root?")
    defects = [f"{name}: {', '.join(sorted(files))}"
               for room in rooms.values() for name, files in sorted(room.items()) if len(files) > 1 and (None in files.values() or len(set(files.values())) > 1)]
    print(*defects, sep="\n")
    return 1 if defects else 0


if __name__ == "__main__":
    sys.exit(main())
