#!/usr/bin/env python3
"""CC016: what the report notes of how a file was read, and when it notes nothing."""
import argparse, json, os, subprocess, sys, tempfile, warnings
from typing import Tuple

warnings.filterwarnings("ignore")
import torch
from torch import Tensor, nn


class Scaled(nn.Module):
    """Its state is computed when it is loaded."""

    def __init__(self):
        super().__init__()
        self.weight = torch.ones(3)
        self.training = False

    @torch.jit.export
    def __getstate__(self) -> Tuple[Tensor, bool]:
        return self.weight, self.training

    @torch.jit.export
    def __setstate__(self, state: Tuple[Tensor, bool]):
        self.weight = torch.zeros(3) + state[0]
        self.training = state[1]

    def forward(self, x):
        return x * self.weight


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.scaled = Scaled()

    def forward(self, x):
        return self.scaled(x)


class Plain(nn.Module):
    def forward(self, x):
        return x + 1


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    options = parser.parse_args()
    failures = 0

    def check(model, *more):
        run = subprocess.run([options.program, model, "--format", "json", *more], capture_output=True, text=True, env=os.environ | {"COMPATCHECK_NO_CONFIG": "1"})
        report = json.loads(run.stdout)
        return report["verdict"], [finding["message"] for finding in report["findings"] if finding["id"] == "CC016"]

    def expect(holds, what):
        nonlocal failures
        failures += not holds
        if not holds:
            print(f"FAILED: {what}")

    with tempfile.TemporaryDirectory() as folder:
        for module in Model(), Plain():
            torch.jit.script(module).save(f"{folder}/{type(module).__name__}.pt")
        verdict, notes = check(f"{folder}/Model.pt")
        expect(verdict != "yes" and len(notes) == 1 and "__setstate__" in notes[0] and "aten::zeros" in notes[0], f"a method that computes a state: {verdict}, {notes}")
        text = subprocess.run([options.program, f"{folder}/Model.pt"], capture_output=True, text=True).stdout
        expect("reading the file\n  CC016  the file" in text, f"the text shows it: {text}")
        verdict, notes = check(f"{folder}/Plain.pt")
        expect((verdict, notes) == ("yes", []), f"nothing to note: {verdict}, {notes}")
    print(f"{failures} failures")
    return failures > 0


if __name__ == "__main__":
    sys.exit(main())
