#!/usr/bin/env python3
"""Pages are written in plain words: short sentences in the usual order, no words that only this project uses, lines that fit.
Comments of public headers use the same words. Comments of all sources begin with their subject.

    check_prose.py [FILE...]     all pages, public headers and sources without arguments
"""
import pathlib, re, sys

import pages

LONGEST_SENTENCE = 40   # words
LONGEST_LINE = 130      # columns; tables and code may be wider
GENERATED = "docs/reference/"        # their words are the program's

# A word, and the one to write instead.
VOCABULARY = {
    r"taken": "supported, used, read",
    r"takes? (?:it|the model|the node|the operator|a model|a node)": "supports",
    r"told|(?:is|are) tell": "listed, reported",
    r"(?:is|are) wanted|\(wanted": "required, must",
    r"costs? itself": "fails only that model",
    r"go(?:es)? without saying": "need not be repeated",
    r"speaks? (?:of|for)": "name, apply to",
    r"(?:is|are) held against": "is checked against",
    r"holds? .{1,40} against": "checks … against",
    r"hangs? on": "depends on",
    r"mend(?:s|ed|ing)?": "fix",
    r"whoever|by whomever|whomever": "anyone who",
    r"nobody|somebody": "no one; or name who",
    r"of one's own": "of your own",
    r"besides": "also, in addition",
    r"likewise": "the same",
    r"as it stands": "unchanged",
    r"(?:says?|said) otherwise": "changes this",
    r"passed over|passes over": "is skipped",
    r"out of the way|as a whole as": "",
    r"lets? pass": "allow",
    r"(?<=[,;] )else": "otherwise",
    r"aside": "except",
    r"makes 0 of": "turns 1 into 0",
    r"by itself alone|itself alone": "only",
    r"there is to (?:know|see)": "",
    r"one's": "your",
    r"hither|thereof|therein|whence|thus|hence": "",
}
OPENINGS = r"(?:Of|What|That|Whatever|Whoever|Whether) "   # as a sentence's subject, or before one


def words_to_replace(words, name, number):
    for pattern, instead in VOCABULARY.items():
        for found in re.finditer(rf"(?<!\w){pattern}(?!\w)", words, re.I):
            yield f"{name}:{number}: “{found.group()}”" + (f": write {instead}" if instead else "")


def faults_of_comments(header, name):
    """Comments that follow each other, one after the other, are one text."""
    start, comment = 0, []
    for number, line in enumerate([*header.read_text().splitlines(), ""], 1):
        found = re.search(r"//+ ?(.*)", line)
        if comment and not (found and line.lstrip().startswith("//")):
            yield from words_to_replace(" ".join(comment), name, start)
            comment = []
        if found:
            start = start if comment else number
            comment.append(found[1])


def openings_of_comments(source, name):
    for number, line in enumerate(source.read_text().splitlines(), 1):
        if re.match(r"\s*// (?:Of|What|That) ", line):
            yield f"{name}:{number}: begin with the subject: {line.strip()[:90]}"


def faults(page, name):
    if page.suffix in (".h", ".cpp"):
        yield from openings_of_comments(page, name)
        if name.startswith("include/"):
            yield from faults_of_comments(page, name)
        return
    text = page.read_text()
    code = False
    for number, line in enumerate(text.splitlines(), 1):
        code ^= line.startswith("```")
        if not code and not line.startswith(("|", "    ", "```")) and len(line) > LONGEST_LINE:
            yield f"{name}:{number}: {len(line)} columns, more than {LONGEST_LINE}"
    for number, kind, words in pages.prose(text):
        for sentence in pages.sentences(words):
            short = sentence if len(sentence) < 90 else sentence[:87] + "…"
            count = len(re.findall(r"[^\s–—·→]+", sentence))
            if count > LONGEST_SENTENCE:
                yield f"{name}:{number}: {count} words in one sentence: {short}"
            if kind == "text" and not sentence.endswith("?") and re.match(OPENINGS, sentence):
                yield f"{name}:{number}: begin with the subject: {short}"
        yield from words_to_replace(words, name, number)


def main():
    sources = [file for folder in ("include", "src") for file in sorted((pages.ROOT / folder).rglob("*")) if file.suffix in (".h", ".cpp")]
    chosen = [pathlib.Path(path).resolve() for path in sys.argv[1:]] or [*pages.all_pages(), pages.ROOT / "CONTRIBUTING.md", *sources]
    checked = [page for page in chosen if not pages.name(page).startswith(GENERATED)]
    found = [fault for page in checked for fault in faults(page, pages.name(page))]
    print(*found, f"{len(checked)} files, {len(found)} faults", sep="\n")
    return 1 if found or not checked else 0


if __name__ == "__main__":
    sys.exit(main())
