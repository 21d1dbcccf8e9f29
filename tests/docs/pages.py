"""What the tests of the documents share: the pages, their fenced blocks, and their prose sentence by sentence."""
import pathlib, re

ROOT = pathlib.Path(__file__).resolve().parents[2]
FENCE = re.compile(r"^(?:<!-- \$ (?P<part>[^\n]*) -->\n)?```(?P<language>\S*)\n(?P<text>.*?)^```$", re.M | re.S)


def all_pages():
    """README.md, docs/ with its folders, and the README of each example."""
    return [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md")), *sorted(ROOT.glob("examples/**/README.md"))]


def name(page):
    return str(page.relative_to(ROOT))


def blocks(page):
    """(command, language, text) of each fenced block: the command of which it is a part of the output, if any; the language may be empty."""
    return [(match["part"], match["language"], match["text"]) for match in FENCE.finditer(page.read_text())]


def prose(text):
    """(line number, kind, text) of each heading, paragraph, list item and table cell. Inline code is one word."""
    text = FENCE.sub(lambda match: "\n" * match.group().count("\n"), text)
    start, lines = 0, []

    def unit():
        joined = " ".join(lines)
        lines.clear()
        return [(start, "text", plain(joined))] if joined else []

    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        item = re.match(r"(?:[-*]|\d+\.) +(.*)", stripped)
        if not stripped or stripped[0] in "#|" or item or line.startswith("    "):
            yield from unit()
        if not stripped or (line.startswith("    ") and not item):   # an indented block is code
            continue
        if stripped.startswith("#"):
            yield number, "heading", plain(stripped.lstrip("# "))
        elif stripped.startswith("|"):
            for cell in re.split(r"(?<!\\)\|", stripped.strip("|")):
                if cell.strip(" :-"):
                    yield number, "cell", plain(cell.strip())
        else:
            start = start if lines else number
            lines.append(item[1] if item else stripped)
    yield from unit()


def plain(text):
    """Without Markdown's marks."""
    text = re.sub(r"`+[^`]*`+", "CODE", text)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    return text.replace("**", "").replace("*", "").replace("\\|", "|")


def sentences(text):
    return [sentence for sentence in re.split(r"(?<=[.!?])[\")]?\s+", text) if re.search(r"\w", sentence)]
