"""Holds mappings/onnxruntime_types.yaml, by which the builder casts, against ONNX Runtime itself: it is what tools/write_runtime_types.py writes."""
import pathlib
import subprocess
import sys
import tempfile


def main():
    root = pathlib.Path(__file__).resolve().parent.parent.parent
    with tempfile.TemporaryDirectory() as folder:
        written = pathlib.Path(folder) / "onnxruntime_types.yaml"
        subprocess.run([sys.executable, root / "tools/write_runtime_types.py", written], check=True)
        new, old = written.read_text().splitlines(), (root / "mappings/onnxruntime_types.yaml").read_text().splitlines()
    wrong = [f"the runtime says: {line}" for line in new if line not in old] + [f"the table says: {line}" for line in old if line not in new]
    print(*wrong, sep="\n")
    print(f"{len(new)} lines written, {len(old)} in the table")
    return 1 if wrong or new != old or len(new) < 100 else 0


if __name__ == "__main__":
    sys.exit(main())
