#!/usr/bin/env python3
"""compatcheck verify --ort-custom-ops: a model that runs with a library of custom operators of ONNX Runtime's, and libraries that
aren't any."""
import argparse, sys, tempfile

import torch

from running import Verify


class Small(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x) + 1


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    parser.add_argument("--library", required=True)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        verify = Verify(arguments.program, folder)
        model = verify.save(Small(), torch.rand(2, 3))
        rows = f"{folder}/rows.yaml"
        open(rows, "w").write("aten::relu:\n  7: {to: acme::Positive, inputs: [self]}\n")
        given = [model, "--input", "x=f32:batch,3", "--mappings", rows]
        verify.run("without the library", 1, *given, ids=["CC201"])
        verify.run("with it", 0, *given, "--ort-custom-ops", arguments.library)
        verify.run("twice", 0, *given, "--ort-custom-ops", arguments.library, "--bisect")
        file = verify.convert(model, "model.onnx", *given[1:])
        verify.run("a file", 0, model, file, *given[1:], "--ort-custom-ops", arguments.library)
        verify.run("no such library", 2, *given, "--ort-custom-ops", f"{folder}/absent.so", says="absent.so: there is no such file")
        junk = f"{folder}/junk.so"
        open(junk, "w").write("junk")
        verify.run("no library", 2, *given, "--ort-custom-ops", junk, says="--ort-custom-ops")
        return verify.end()


if __name__ == "__main__":
    sys.exit(main())
