#!/usr/bin/env python3
"""A plugin that crashes the program or never ends costs its model, with exit code 3 and a reason."""
import argparse, pathlib, subprocess, sys, tempfile

GRAPH = """graph(%x : Float(4)):
  %y : Tensor = acme::NAME(%x)
  return (%y)
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    parser.add_argument("--plugin", required=True)
    options = parser.parse_args()
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, command, says in (("aborting", "check", "its process crashed (Aborted)"), ("aborting", "convert", "its process crashed (Aborted)"),
                                    ("endless", "check", "took longer than"), ("endless", "convert", "took longer than")):
            model, onnx = pathlib.Path(folder, f"{name}.ir"), pathlib.Path(folder, "out.onnx")
            model.write_text(GRAPH.replace("NAME", name))
            words = [options.program, command, model, "--plugin", options.plugin, "--timeout", "1", "--no-config"]
            result = subprocess.run([*words, "-o", onnx] if command == "convert" else words, capture_output=True, text=True, timeout=120)
            right = result.returncode == 3 and says in result.stderr and model.name in result.stderr and not onnx.exists()
            print(f"{command} {name}: " + ("passed" if right else f"FAILED: exit {result.returncode}, {result.stderr.strip()!r}"))
            failed += not right
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
