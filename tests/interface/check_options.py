"""Every struct of options of the public headers is in options_test.cpp, and every member of it has a default."""
import pathlib, re, sys

root = pathlib.Path(sys.argv[1])
tested = (root / "tests/interface/options_test.cpp").read_text()
defects, found = [], 0
for header in sorted((root / "include/compatcheck").glob("*.h")):
    for name, body in re.findall(r"^struct (\w*Options) \{\n(.*?)^\};", header.read_text(), re.DOTALL | re.MULTILINE):
        found += 1
        if f"{name}{{" not in tested:
            defects.append(f"{header.name}: {name} isn't in tests/interface/options_test.cpp")
        code = re.sub(r"//[^\n]*", "", body)
        for member in filter(None, (" ".join(part.split()) for part in code.split(";"))):
            if "=" not in member and not member.endswith("}"):
                defects.append(f"{header.name}: {name}: no default for: {member}")
if found < 10:
    defects.append(f"only {found} structs of options were found")
print(*defects, sep="\n")
sys.exit(bool(defects))
