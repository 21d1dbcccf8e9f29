"""Holds that a name of an anonymous namespace stands in one file of its room, and in none of the room's headers.

Files of a room are compiled together, several as one unit (cmake/Rooms.cmake), so their anonymous namespaces are one. Two things
of one name are a redefinition, or overloads that change silently which function a call means. The same thing twice belongs into a
header of the room. A file may overload what a header declares that it includes.
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
NAMELESS = re.compile(r"(namespace|using namespace) |using [\w:]+;|template <|#")


def name_in(line):
    """What a line without indentation declares, as clang-format leaves it; None if it declares nothing, or a member."""
    if not re.match(r"[A-Za-z\[]", line) or NAMELESS.match(line) or MEMBER.match(line):
        return None
    found = TYPE.match(line) or FUNCTION.match(line) or VARIABLE.match(line)
    return found.group(1) if found and not found.group(1).startswith("operator") else None


def anonymous_names(text):
    """Each name with None, or with its line if it is an alias, which may be repeated."""
    anonymous = False
    for line in text.splitlines():
        if line in ("namespace {", "}  // namespace"):
            anonymous = line == "namespace {"
        elif anonymous and (name := name_in(line)):
            yield name, line if re.match(r"using \w+ = .*;", line) else None


def room_of(place):
    return "/".join([place.parts[0], *(part for part in place.parts[1:-1] if part in APART)])


def main():
    source = Path(sys.argv[1]) / "src"
    declared = collections.defaultdict(lambda: collections.defaultdict(set))  # room -> name -> headers
    for header in source.rglob("*.h"):
        place = header.relative_to(source)
        for line in header.read_text().splitlines():
            if name := name_in(line):
                declared[room_of(place)][name].add(str(place))
    rooms = collections.defaultdict(lambda: collections.defaultdict(dict))
    defects = []
    for file in sorted(source.rglob("*.cpp")):
        place, text = file.relative_to(source), file.read_text()
        for name, alias in anonymous_names(text):
            rooms[room_of(place)][name][str(place)] = alias
            headers = declared[room_of(place)].get(name, set())
            if headers and not any(f'#include "{header}"' in text for header in headers):
                defects.append(f"{name}: {place}, {', '.join(sorted(headers))}")
    if sum(map(len, rooms.values())) < 100 or sum(map(len, declared.values())) < 100:
        sys.exit("hardly a name was found: is this the project's root?")
    defects += [f"{name}: {', '.join(sorted(files))}" for room in rooms.values() for name, files in sorted(room.items())
                if len(files) > 1 and (None in files.values() or len(set(files.values())) > 1)]
    print(*sorted(set(defects)), sep="\n")
    return 1 if defects else 0


if __name__ == "__main__":
    sys.exit(main())
