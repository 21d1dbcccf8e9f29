#!/usr/bin/env python3
"""Writes src/schema/torch_schemas.txt: every operator schema that PyTorch registers, one a line, by name, overloads in
libtorch's own order (it tries them in that order). `--check` compares instead of writing."""
import argparse
import difflib
import pathlib
import sys

SUPPORTED = "2.13"
FILE = pathlib.Path(__file__).resolve().parent.parent / "src" / "schema" / "torch_schemas.txt"


def schemas():
    import torch
    import torch.ao.quantization.fx._decomposed  # registers quantized_decomposed, which libtorch doesn't have

    if not torch.__version__.startswith(SUPPORTED + "."):
        sys.exit(f"the schemas are torch {SUPPORTED}'s; this is torch {torch.__version__}")
    registered = sorted(torch._C._jit_get_all_schemas(), key=lambda schema: schema.name.encode())
    return [str(schema) for schema in registered]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="exit 1 and show the differences if the file is out of date")
    arguments = parser.parse_args()
    lines = schemas()
    if not arguments.check:
        FILE.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return
    shipped = FILE.read_text(encoding="utf-8").splitlines()
    difference = list(difflib.unified_diff(shipped, lines, str(FILE.name), "libtorch", lineterm="", n=0))
    print("\n".join(difference[:50]) if difference else f"{len(lines)} schemas, as registered")
    sys.exit(1 if difference else 0)


if __name__ == "__main__":
    main()
