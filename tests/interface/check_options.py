"""Every struct of options of the public headers is in options_test.cpp, and every member of it, and of the structs that it
holds, has a default: else a caller that names some of them gets a warning for each other."""
import pathlib, re, sys

root = pathlib.Path(sys.argv[1])
tested = (root / "tests/interface/options_test.cpp").read_text()
structs = {}  # name: header, members
for header in sorted((root / "include/compatcheck").glob("*.h")):
    nested_too = r"^(?=( *)(?:struct|class) (\w+) \{\n(.*?)^\1\};)"
    for _, name, body in re.findall(nested_too, header.read_text(), re.DOTALL | re.MULTILINE):
        structs[name] = header.name, re.sub(r"//[^\n]*", "", body)
options = [name for name in structs if name.endswith("Options")]
defects = [f"only {len(options)} structs of options were found"] if len(options) < 10 else []
defects += [f"{structs[name][0]}: {name} isn't in tests/interface/options_test.cpp" for name in options if f"{name}{{" not in tested]
reached = list(options)
for name in reached:
    header, body = structs[name]
    if f"class {name} {{" in (root / "include/compatcheck" / header).read_text():
        reached += [inner for inner in re.findall(r"struct (\w+) \{", body) if inner not in reached]
        continue
    for member in filter(None, (" ".join(part.split()) for part in body.split(";"))):
        if "(" in member and "std::function" not in member:
            continue
        if "=" not in member and not member.endswith("}"):
            defects.append(f"{header}: {name}: no default for: {member}")
        if "std::function" not in member:
            reached += [held for held in re.findall(r"\w+", member) if held in structs and held not in reached]
print(*defects, sep="\n")
sys.exit(bool(defects))
