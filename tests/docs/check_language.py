#!/usr/bin/env python3
"""The pages of the YAML languages name every key and word that the readers know."""
import re, sys

import pages

# Page, source, and what the words follow there.
WORDS = [
    ("docs/mappings.md", "src/mapping/reading/read_row.cpp", "row_keys", r"row_keys = \{(.*?)\};"),
    ("docs/mappings.md", "src/mapping/reading/read_row.cpp", "kinds", r"> kinds = \{\{(.*?)\}\};"),
    ("docs/mappings.md", "src/mapping/reading/read_conditions.cpp", "predicates", r"predicate_keys = \{(.*?)\};"),
    ("docs/mappings.md", "src/mapping/reading/read_conditions.cpp", "classes of dtypes", r"dtype_classes = \{(.*?)\};"),
    ("docs/mappings.md", "src/mapping/reading/read_operators.cpp", "keys of operators", r"> words = \{(.*?)\};"),
    ("docs/mappings.md", "src/mapping/reading/read_lists.cpp", "words of lists", r"_words = \{(.*?)\};"),
    ("docs/mappings.md", "src/schema/traits.h", "traits", r"trait_names\[\] = \{(.*?)\};"),
    ("docs/mappings.md", "src/symbolic/fact_words.cpp", "words of facts", r"fact_word\((\"\w+\")"),
    ("docs/engines.md", "src/engines/reading/read_profile.cpp", "keys of profiles", r"profile_keys = \{(.*?)\};"),
    ("docs/engines.md", "src/engines/reading/read_profile.cpp", "keys of entries", r"entry_keys = \{(.*?)\};"),
    ("docs/configuration.md", "src/policy/configuration.cpp", "keys", r"(?:other|allow)_keys\{(.*?)\};"),
    ("docs/configuration.md", "src/policy/configuration.cpp", "severities", r"severity_words\{(.*?)\};"),
]


def code_of(page):
    """All words in the page's code, inline or in blocks."""
    text = page.read_text()
    code = " ".join([*(block for _, _, block in pages.blocks(page)), *re.findall(r"`([^`\n]+)`", pages.FENCE.sub("", text))])
    plain = " ".join(re.findall(r"\(floating [^)]*\)", text))   # a list in a table's cell
    return set(re.findall(r"\w+", f"{code} {plain}"))


def main():
    missing, known = [], 0
    for page, source, what, pattern in WORDS:
        found = [word for part in re.findall(pattern, (pages.ROOT / source).read_text(), re.S) for word in re.findall(r'"([\w.]+)"', part)]
        if not found:
            missing.append(f"{source}: no {what}; has the reader changed?")
        known += len(found)
        code = code_of(pages.ROOT / page)
        missing += [f"{page}: `{word}` of {source} ({what}) isn't there" for word in found if word not in code]
    print(*missing, f"{known} words, {len(missing)} missing", sep="\n")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
