#!/usr/bin/env python3
"""The reports of all test models, saved as JSON, are read back whole: rendering them gives the same bytes, as JSON and as text. Broken and hostile
models, too."""
import argparse, os, pathlib, subprocess, sys, tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "hostile"))
import hostile

CLI_MODELS = pathlib.Path(__file__).resolve().parents[1] / "cli" / "models"


def run(program, *words, cwd):
    result = subprocess.run([program, *map(str, words)], capture_output=True, timeout=1500, cwd=cwd)
    assert result.returncode >= 0, f"{words[:3]}: signal {-result.returncode}"
    return result.stdout


def hostile_graphs(folder):
    (folder / "nested.ir").write_text(hostile.nested_ifs(30))
    (folder / "few.ir").write_text(hostile.too_few_arguments())
    (folder / "bytes.ir").write_bytes(b"graph(%x : Tensor):\n  %y : Tensor = aten::relu(%x), scope: a\\nb # \xff\xfe\x1b[31m.py:3:0\n  return (%y)\n")
    (folder / "broken.ir").write_text("graph(%x : Tensor):\n  %y = nothing\n")
    return sorted(folder.glob("*.ir"))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True, type=lambda path: str(pathlib.Path(path).resolve()))
    program = parser.parse_args().program
    failed = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        models = [*sorted(pathlib.Path(os.environ["COMPATCHECK_MODELS"]).glob("*.pt")), *sorted(CLI_MODELS.glob("*.ir")), *hostile_graphs(folder)]
        for first in range(0, len(models), 100):
            for opsets in ("11", "9,17"):
                part = [str(model) for model in models[first:first + 100]]
                json, jsonl, text = (folder / f"saved.{ending}" for ending in ("json", "jsonl", "txt"))
                run(program, *part, "--opset", opsets, "-vv", *(word for file in (json, jsonl, text) for word in ("--report", file)), cwd=folder)
                for saved, format, expected in ((json, "json", json), (jsonl, "jsonl", jsonl), (json, "jsonl", jsonl), (jsonl, "json", json), (json, "text", text)):
                    if run(program, "render", saved, "--format", format, "-vv", cwd=folder) != expected.read_bytes():
                        failed += 1
                        print(f"{saved.name} rendered as {format} differs: models {first} to {first + len(part)}, opset {opsets}")
        print(f"{len(models)} models, {failed} failed")
    return 1 if failed or len(models) < 50 else 0


if __name__ == "__main__":
    sys.exit(main())
