"""Whether the shipped profiles are what tools/write_profile.py prints of the engines installed, for some operators; each day others."""
import argparse
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/convert"), str(ROOT / "tools/engines")]
from days import part_of_the_day  # noqa: E402
from cases import in_force, schemas  # noqa: E402

ENGINES = "ort-cpu", "openvino"


def shipped(engine):
    """operator -> its lines"""
    found, name = {}, None
    lines = (ROOT / f"mappings/engines/{engine}.yaml").read_text().splitlines()
    for line in lines[lines.index("operators:") + 1:]:
        if not line.startswith("    "):
            name = line.strip().rsplit(": {", 1)[0].removesuffix(": no").removesuffix(":").split(": ")[0]
        found.setdefault(name, []).append(line)
    return found


def written(engine, operators):
    command = [sys.executable, "-W", "ignore", ROOT / "tools/write_profile.py", engine, "--only", ",".join(operators)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part-of-day", type=int, default=1)
    options = parser.parse_args()
    operators = part_of_the_day(sorted(name for name in schemas() if in_force(name)), "written profiles", options.part_of_day)
    wrong = []
    for engine in ENGINES:
        lines = shipped(engine)
        wanted = [line for name in operators for line in lines.get(name, [])]
        if (made := written(engine, operators)) != wanted:
            wrong += [f"{engine}: shipped: {line}" for line in wanted if line not in made]
            wrong += [f"{engine}: written: {line}" for line in made if line not in wanted]
            wrong.append(f"{engine}: the tool writes other entries, or in another order")
        if not made:
            wrong.append(f"{engine}: nothing is written of {', '.join(operators)}")
    print(*wrong, f"{len(operators)} operators: {', '.join(operators)}", sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
