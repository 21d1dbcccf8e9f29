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
        running = []
        for name, command, says in (("aborting", "check", "its process crashed (Aborted)"), ("aborting", "convert", "its process crashed (Aborted)"),
                                    ("endless", "check", "took longer than"), ("endless", "convert", "took longer than")):
            model, onnx = pathlib.Path(folder, f"{name}.ir"), pathlib.Path(folder, f"{name}.onnx")
            model.write_text(GRAPH.replace("NAME", name))
            words = [options.program, command, model, "--plugin", options.plugin, "--timeout", "1", "--no-config"]
            process = subprocess.Popen([*words, "-o", onnx] if command == "convert" else words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            running.append((f"{command} {name}", says, model, onnx, process))
        for what, says, model, onnx, process in running:
            stderr = process.communicate(timeout=120)[1]
            right = process.returncode == 3 and says in stderr and model.name in stderr and not onnx.exists()
            print(f"{what}: " + ("passed" if right else f"FAILED: exit {process.returncode}, {stderr.strip()!r}"))
            failed += not right
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
