#!/usr/bin/env python3
"""Links of the pages lead somewhere: to a file of the repository, and to a heading of it."""
import re, sys

import pages

LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def anchors(page):
    """As GitHub makes them of headings."""
    headings = re.findall(r"^#+ +(.*)$", pages.FENCE.sub("", page.read_text()), re.M)
    texts = [re.sub(r"[`*]|\[([^\]]*)\]\([^)]*\)", r"\1", heading) for heading in headings]
    return {re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-") for text in texts}


def faults(page):
    for target in LINK.findall(pages.FENCE.sub("", page.read_text())):
        if "://" in target:
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        if not file.exists():
            yield f"{pages.name(page)}: {target}: no such file"
        elif anchor and anchor not in anchors(file):
            yield f"{pages.name(page)}: {target}: no such heading"


def main():
    found = [fault for page in pages.all_pages() for fault in faults(page)]
    print(*found, f"{len(pages.all_pages())} pages, {len(found)} broken links", sep="\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
