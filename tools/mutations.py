"""Small faults that a programmer makes, found in the sources by regular expressions: tools/mutants.py applies them.

A candidate is one line before and after. Messages, limits, logs and text tables are left alone: no test should notice those.
"""
import collections, functools, itertools, random, re

# Room → its share; folders below a room count only where they are named.
ROOMS = {"src/handlers": 3, "src/passes": 2, "src/symbolic": 2, "mappings/operators": 2, "mappings/libraries": 1, "src/conversion": 1,
         "src/inference": 1, "src/frontend/native": 1, "src/frontend/pt2": 1, "src/files": 1, "src/examples": 1, "src/onnx": 1}
LEFT_ALONE = re.compile(r"#include|#define|\b(throw|static_assert|template|using|constexpr|namespace|case|operator|for|while)\b"
                        r"|logging::|reserve|[mM]ost|[dD]eepest|[lL]imit|[bB]udget|[bB]ounds|[wW]atch|[cC]ache|[vV]isited|[sS]een|[mM]emo\b")
COMMUTES = re.compile(r"\b(Add|Mul|And|Or|Xor|Equal|Max|Min|add|multiply|max|min|equal\w*|same|both|swap|tie|signs_differ|hypot|joined"
                      r"|wrapped|broadcast\w*|\w*_equal|\w*(add|mul)_overflow|promote\w*|emplace\w*|all|any|sum)\b\W")
AXIS = re.compile(r"\b(ax[ei]s|dims?|perm|order|transpose|gather|concat|split|squeeze|unsqueeze|rank)\b")
COMPARISONS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
Mutation = collections.namedtuple("Mutation", "file line kind before after")


def masked(line, comment):
    """The line, of the same length, without the letters of its strings and without its comment."""
    line = re.sub(r'"(?:[^"\\]|\\.)*"|(?<![\w])\'(?:[^\'\\]|\\.)+\'', lambda found: '"' + "_" * (len(found[0]) - 2) + '"', line)
    return re.sub(rf"(^|\s){comment}.*", lambda found: " " * len(found[0]), line)


def close(text, start, ends):
    """Where the first of `ends`, outside of brackets, or the closing bracket of the surrounding ones, is; None if not on this line."""
    depth = 0
    for at in range(start, len(text)):
        if depth == 0 and (text[at] in ")]}" or any(text.startswith(end, at) for end in ends)):
            return at
        depth += (text[at] in "([{") - (text[at] in ")]}")
    return None


def pieces(text, start):
    """(begin, end) of what commas separate behind an opening bracket; nothing if it isn't closed on this line."""
    found = []
    while (end := close(text, start, [","])) is not None:
        found.append((start, end))
        if text[end] != ",":
            return found
        start = end + 1 + text[end + 1:].startswith(" ")
    return []


def constants(text, _):
    """In a row also the opset from which it holds."""
    for found in re.finditer(r"(?<![\w.<'])(\d+(?:\.\d+)?)(?![\w.>'])", text):
        yield *found.span(1), str(float(found[1]) / 2 or 1.0) if "." in found[1] else str(int(found[1]) + 1)


def comparisons(text, _):
    for found in re.finditer(r" ([<>]=?|[=!]=) ", text):
        yield *found.span(1), COMPARISONS[found[1]]


def conditions(text, line):
    for found in re.finditer(r" (&&|\|\|) ", text):
        if (end := close(text, found.end(), [" && ", " || ", ";", ",", " ? ", " : "])) is not None:
            yield found.start(), end, ""
    if found := re.match(r"\s*(?:\} else )?if \(", text):
        end = close(text, found.end(), [";", " = "])
        if end is not None and text[end] == ")":
            yield found.end(), end, f"({line[found.end():end]}) && false"


def row_conditions(text, _):
    for found in re.finditer(r"(, )?\b(?:when|valid|requires|traits): (?=\S)", text):
        end = close(text, found.end(), [",", "  "]) or len(text.rstrip())
        yield (found.start(), end, "") if found[1] else (found.start(), end + 2 * text.startswith(", ", end), "")
    for found in re.finditer(r"\b(?:when|traits|requires): [\[{]", text):
        for begin, end in pieces(text, found.end())[1:]:
            yield begin - 2, end, ""


def axes(text, _):
    for found in re.finditer(r"(?<=[({ ])(-?\d)(?=[)},])", text if AXIS.search(text) else ""):
        yield *found.span(1), str({0: 1, 1: 0}.get(int(found[1]), int(found[1]) - 1))


def swaps(text, line, types):
    """Two arguments side by side that are names of one type, as far as declarations in the file tell."""
    for found in re.finditer(r"(?<=[\w \"(,])[({]|(?<=inputs: )\[", text):
        if COMMUTES.search(text[:found.end()].rsplit(" = ")[-1]):
            continue
        for (begin, middle), (following, end) in itertools.pairwise(pieces(text, found.end())):
            first, second = text[begin:middle], text[following:end]
            named = re.fullmatch(r"[a-z]\w*", first) and re.fullmatch(r"[a-z]\w*", second)
            if named and first != second and types(first) & types(second):
                yield begin, end, f"{second}, {first}"


def casts(text, line):
    for found in re.finditer(r"\b(?:\w+(?:\.|->))*cast\(", text):
        parts = pieces(text, found.end())
        if len(parts) == 2:
            yield found.start(), parts[1][1] + 1, line[slice(*parts[0])]


CPP = {"constant": constants, "comparison": comparisons, "condition": conditions, "axis": axes, "swap": swaps, "cast": casts}
ROWS = {"constant": constants, "condition": row_conditions, "axis": axes, "swap": swaps}


def types_in(text):
    """name → the types with which it is declared."""
    words = {"return", "else", "const", "case", "auto"}
    return functools.cache(lambda name: {found[1] for found in re.finditer(
        rf"([\w:]+(?:<[\w:, ]+>)?)[&*]* (?:[&*]?\w+, )*[&*]?{name}\b(?= = |[,;{{)\[])", text)} - words)


def of_text(file, text, rows):
    """The mutations of a file, but those of texts that span lines."""
    types, comment = ((lambda name: {"input"}), "#") if rows else (types_in(text), "//")
    raw = False
    for number, line in enumerate(text.splitlines(), 1):
        inside, raw = raw, (raw or 'R"' in line) and ')"' not in line
        plain = masked(line, comment)
        if inside or 'R"' in line or LEFT_ALONE.search(plain):
            continue
        for kind, mutate in (ROWS if rows else CPP).items():
            for begin, end, replacement in mutate(plain, line, *([types] if kind == "swap" else [])):
                yield Mutation(file, number, kind, line, line[:begin] + replacement + line[end:])


def candidates(root, room):
    """kind → its mutations in a room."""
    rows = room.startswith("mappings")
    found = collections.defaultdict(list)
    for file in sorted((root / room).glob("*.yaml" if rows else "*.cpp")):
        for mutation in of_text(str(file.relative_to(root)), file.read_text(), rows):
            found[mutation.kind].append(mutation)
    return found


class Choice:
    """Mutations spread over rooms and kinds, no two in one file: the same for the same seed and sources."""

    def __init__(self, root, seed, rooms):
        self.seed = seed
        self.rooms = [room for turn in range(max(ROOMS.values())) for room in rooms if ROOMS[room] > turn]
        self.found = {room: candidates(root, room) for room in rooms}
        self.kinds = {room: self.shuffled(self.found[room], room) for room in rooms}

    def shuffled(self, items, *salt):
        return random.Random(" ".join([str(self.seed), *salt])).sample(list(items), len(items))

    def next_of(self, slot, used):
        """The mutation for a place in the list, in a file that isn't used yet."""
        turn, place = divmod(slot, len(self.rooms))
        room = self.rooms[place]
        first, kinds = turn * ROOMS[room] + self.rooms[:place].count(room), self.kinds[room]
        turned = [kinds[(first + further) % len(kinds)] for further in range(len(kinds))]
        candidates = (mutation for kind in turned for mutation in self.shuffled(self.found[room][kind], room, kind))
        return next((mutation for mutation in candidates if mutation.file not in used), None)
