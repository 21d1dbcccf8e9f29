#!/usr/bin/env python3
"""CC016: what the report notes of how a file was read, and when it notes nothing."""
import argparse, json, os, subprocess, sys, tempfile, warnings, zipfile
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


def with_other_code(model, made, edit):
    """The archive with its code edited: PyTorch reads more than it writes."""
    with zipfile.ZipFile(model) as old, zipfile.ZipFile(made, "w") as new:
        for name in old.namelist():
            if name.endswith(".py"):
                new.writestr(name, edit(old.read(name).decode()))
            elif not name.endswith(".debug_pkl"):
                new.writestr(name, old.read(name))
    return made


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    options = parser.parse_args()
    failures = 0

    def check(model, *more):
        run = subprocess.run(
            [options.program, model, "--format", "json", *more],
            capture_output=True,
            text=True,
            env=os.environ | {"COMPATCHECK_NO_CONFIG": "1"},
        )
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
        expect(
            verdict != "yes" and len(notes) == 1 and "__setstate__" in notes[0] and "aten::zeros" in notes[0],
            f"a method that computes a state: {verdict}, {notes}",
        )
        text = subprocess.run([options.program, f"{folder}/Model.pt"], capture_output=True, text=True).stdout
        expect("reading the file\n  CC016  the file" in text, f"the text shows it: {text}")
        asserts = with_other_code(
            f"{folder}/Plain.pt", f"{folder}/asserts.pt", lambda code: code.replace("    return", '    assert True, "a"\n    return')
        )
        verdict, notes = check(asserts)
        expect(
            verdict == "yes" and len(notes) == 1 and notes[0].startswith("libtorch read the file"),
            f"code that libtorch alone reads: {verdict}, {notes}",
        )
        expect(
            subprocess.run([options.program, asserts, "--frontend", "native"], capture_output=True).returncode == 3,
            "--frontend native refuses it",
        )
        calls = with_other_code(asserts, f"{folder}/calls.pt", lambda code: code.replace("torch.add(x, 1)", "ops.my_lib.foo(x)"))
        run = subprocess.run([options.program, calls], capture_output=True, text=True)
        expect(
            run.returncode == 1 and "my_lib::foo" in run.stdout, f"it may call an operator that nobody registers: {run.stdout}{run.stderr}"
        )
        verdict, notes = check(f"{folder}/Plain.pt")
        expect((verdict, notes) == ("yes", []), f"nothing to note: {verdict}, {notes}")
    print(f"{failures} failures")
    return failures > 0


if __name__ == "__main__":
    sys.exit(main())
