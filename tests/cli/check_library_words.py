#!/usr/bin/env python3
"""Errors of the library name options by their fields, which the program turns into flags: no error below src/ outside src/cli names a flag, every field
that one names exists and has a flag, and every such flag is an option."""
import pathlib, re, sys

root = pathlib.Path(sys.argv[1])
defects = []
flags = dict(re.findall(r'\{"(\w+)", "(--[\w-]+)"\}', (root / "src/report/library_words.cpp").read_text()))
options = set(re.findall(r'Option\{"(--[\w-]+)"', (root / "src/cli/option_table.cpp").read_text()))
headers = "\n".join(path.read_text() for path in sorted((root / "include/compatcheck").glob("*.h")))
fields = {}
for name, body in re.findall(r"^struct (\w*Options) \{\n(.*?)^\};", headers, re.DOTALL | re.MULTILINE):
    fields[name] = set(re.findall(r"\b(\w+)(?:\{\}| = [^;]+|\{[^;]*\});", re.sub(r"//[^\n]*", "", body)))
used = set()
for path in sorted((root / "src").rglob("*.cpp")):
    if path.is_relative_to(root / "src/cli"):
        continue
    text = path.read_text()
    for number, line in enumerate(text.splitlines(), 1):
        for struct, field in re.findall(r"\b(\w+Options)::(\w+)", "".join(re.findall(r'"(?:[^"\\]|\\.)*"', line))):
            used.add(field)
            if field not in fields.get(struct, ()):
                defects.append(f"{path.relative_to(root)}:{number}: {struct} has no field {field}")
    # Whole throw statements: messages go over several lines.
    for match in re.finditer(r"\bthrow (?:Usage|Model|Table|Internal)Error\(.*?\);", text, re.DOTALL):
        for literal in re.findall(r'"(?:[^"\\]|\\.)*"', match.group()):
            for flag in re.findall(r"(?<![\w`-])--[a-z][\w-]*", literal):
                defects.append(f"{path.relative_to(root)}:{text.count(chr(10), 0, match.start()) + 1}: an error names {flag}")
if not used:
    defects.append("no field was found in the sources")
defects += [f"no flag for the field {field}" for field in sorted(used - flags.keys())]
defects += [f"the flag {flag} of {field} is no option" for field, flag in flags.items() if flag not in options]
defects += [f"nothing names the field {field}" for field in sorted(flags.keys() - used)]
print(*defects, sep="\n")
sys.exit(bool(defects))
