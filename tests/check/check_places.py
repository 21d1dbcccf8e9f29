#!/usr/bin/env python3
"""Where findings stand: the user's own line of traced and scripted models, in nested modules, methods, functions in other files and
library code; never the archive's own code where the file holds a Python stack; never cut inside file:line. And what the model
asserts and the ONNX model doesn't (CC013), and writes to its inputs (CC014)."""
import argparse, contextlib, importlib, io, json, os, pathlib, re, subprocess, sys, tempfile

import torch

NET = '''
import torch
import torch.nn as nn
import torch.nn.functional as F
import other_file


class Inner(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def twice(self, x):
        return torch.linalg.pinv(x)  # HERE method

    def forward(self, x):
        y = self.linear(x)  # HERE linear
        return self.twice(F.gelu(y))  # HERE gelu


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.Sequential(Inner(), nn.Sequential(Inner()))

    def forward(self, x):
        z = self.blocks(x)
        return other_file.outside(z)


class Held(nn.Module):
    def forward(self, x):
        if x.size(0) < 2:
            raise ValueError("one row is too few")  # HERE raise
        assert x.dim() == 2, "a matrix, please"  # HERE assert
        return x * 2


class Writing(nn.Module):
    def forward(self, x, y):
        x += 1  # HERE write
        y[0] = x[0]  # HERE item
        copy = y.clone()
        copy += 1
        return copy * x


class Halves(nn.Module):
    def forward(self, x):
        return x[::2] + x[1::2]


class Behind(nn.Module):
    def forward(self, x):
        return x[:, 1:] * 2


class Doubled(nn.Module):
    """Its message would have a million million letters."""

    def forward(self, x):
        m = str(x.size(0)) + "a"
''' + "        m = m + m\n" * 40 + '''
        assert x.size(0) > 1, m
        return x * 2
'''
OTHER = '''
import torch


def outside(x):
    return torch.linalg.pinv(x)  # HERE function
'''
LIBRARY = '''
import torch


class Layer(torch.nn.Module):
    def forward(self, x):
        return torch.linalg.pinv(x)  # HERE library
'''


def line_of(text, mark):
    return next(number for number, line in enumerate(text.splitlines(), 1) if line.endswith("# HERE " + mark))


class Tool:
    def __init__(self, program, folder):
        self.program, self.folder = program, folder

    def run(self, *arguments):
        return subprocess.run([self.program, *map(str, arguments)], cwd=self.folder, capture_output=True, text=True, timeout=120)

    def report(self, *arguments):
        made = self.run(*arguments, "--format", "json")
        assert made.returncode in (0, 1), made.stderr
        return json.loads(made.stdout)

    def sites(self, report, op):
        return [site for finding in report["findings"] if finding["op"] == op for site in finding["sites"]]


def same(got, expected, what):
    assert got == expected, f"{what}: {got}, expected {expected}"


def places(sites):
    return sorted({(pathlib.Path(site["file"]).name, site["line"]) for site in sites})


def check_modules(tool, net):
    """Nested modules, a method, torch's own functions and a function of another file."""
    x = torch.rand(4, 4)
    made = {"traced": torch.jit.trace(net.Net().eval(), x), "scripted": torch.jit.script(net.Net().eval())}
    mixed = torch.nn.Sequential(torch.jit.script(net.Inner().eval()), net.Inner().eval())
    made["mixed"] = torch.jit.trace(mixed, x)
    for name, module in made.items():
        module.save(tool.folder / f"{name}.pt")
        report = tool.report(f"{name}.pt", "--opset", 17, "--input", "x=f32:4,4" if name != "mixed" else "f32:4,4")
        outside = [("other_file.py", line_of(OTHER, "function"))] if name != "mixed" else []
        same(places(tool.sites(report, "aten::linalg_pinv")), sorted([("net.py", line_of(NET, "method")), *outside]), name)
        if name != "mixed":
            same(places(tool.sites(report, "aten::gelu")), [("net.py", line_of(NET, "gelu"))], name + ", a function of torch's")
        for finding in report["findings"]:
            for site in finding["sites"]:
                assert not site["file"].startswith("code/"), (name, finding["op"], site)


def check_library(tool):
    """A model of a library's modules alone: its file; the script that traced it says less."""
    packages = tool.folder / "site-packages" / "library"
    packages.mkdir(parents=True)
    (packages / "__init__.py").write_text(LIBRARY)
    sys.path.insert(0, str(packages.parent))
    library = importlib.import_module("library")
    traced = torch.jit.trace(torch.nn.Sequential(library.Layer()), torch.rand(4, 4))
    traced.save(tool.folder / "library.pt")
    sites = tool.sites(tool.report("library.pt"), "aten::linalg_pinv")
    same([(site["file"].endswith("site-packages/library/__init__.py"), site["line"]) for site in sites],
         [(True, line_of(LIBRARY, "library"))], "a library's file")

    class Mine(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = library.Layer()

        def forward(self, x):
            return self.layer(x)

    torch.jit.trace(Mine(), torch.rand(4, 4)).save(tool.folder / "mine.pt")
    sites = tool.sites(tool.report("mine.pt"), "aten::linalg_pinv")
    same([pathlib.Path(site["file"]).name for site in sites], ["check_places.py"], "the user's line before a library's")


def check_formats(tool):
    """The line stands in every format, whole, however narrow the page is."""
    line = line_of(NET, "method")
    path = str(tool.folder / "net.py")
    for width in 40, 60, 100, 200:
        made = subprocess.run([tool.program, "traced.pt", "-vv"], cwd=tool.folder, capture_output=True, text=True,
                              env={**os.environ, "COLUMNS": str(width)})
        assert f"{path}:{line}" in made.stdout, (width, made.stdout)
    for form in "text", "sarif", "junit", "markdown", "github":
        made = tool.run("traced.pt", "--format", form).stdout
        assert re.search(rf"net\.py:{line}\b", made.replace("\\_", "_")), (form, made)


def check_assertions(tool, net):
    """A note of its own for each assertion that sizes don't settle, with its message and line; the exit code is as without it."""
    torch.jit.script(net.Held()).save(tool.folder / "held.pt")
    report = tool.report("held.pt", "--input", "x=f32:n,4")
    notes = [finding for finding in report["findings"] if finding["id"] == "CC013"]
    same([places(note["sites"]) for note in notes], [[("net.py", line_of(NET, "raise"))]], "open assertions")
    assert "one row is too few" in notes[0]["message"] and notes[0]["severity"] == "note", notes
    same((report["verdict"], report["exit_code"]), ("yes", 0), "with an assertion")
    text = tool.run("held.pt", "--input", "x=f32:n,4").stdout
    assert "CC013" in text and "one row is too few" in " ".join(text.split()), text
    settled = tool.report("held.pt", "--input", "x=f32:3,4")
    assert not [finding for finding in settled["findings"] if finding["id"] == "CC013"], settled["findings"]
    sarif = json.loads(tool.run("held.pt", "--input", "x=f32:n,4", "--format", "sarif").stdout)["runs"][0]
    same([rule["id"] for rule in sarif["tool"]["driver"]["rules"] if rule["id"] == "CC013"], ["CC013"], "rules of SARIF")
    torch.jit.script(net.Doubled()).save(tool.folder / "doubled.pt")
    notes = [finding["message"] for finding in tool.report("doubled.pt", "--input", "x=f32:n,4")["findings"] if finding["id"] == "CC013"]
    assert len(notes) == 1 and notes[0].endswith("aaa…") and len(notes[0]) < 300, notes
    assert tool.run("explain", "CC013").stdout.startswith("CC013 dropped-assertion (note)")


def check_conditions(tool, net):
    """Of an exported program: no note for what its dimensions state, nor for sizes that the user states."""
    def notes(name, *options):
        return [finding["message"] for finding in tool.report(name, *options)["findings"] if finding["id"] == "CC013"]

    Dim = torch.export.Dim
    torch.export.save(
        torch.export.export(net.Halves(), (torch.rand(8),), dynamic_shapes=({0: 2 * Dim("d", min=1, max=30)},)), tool.folder / "halves.pt2"
    )
    same(notes("halves.pt2"), [], "conditions of 2*d")
    torch.export.save(
        torch.export.export(net.Behind(), (torch.rand(4, 6),), dynamic_shapes=({0: Dim.AUTO, 1: Dim.AUTO},)), tool.folder / "behind.pt2"
    )
    assert all("the program requires" in note for note in notes("behind.pt2")), notes("behind.pt2")
    same(notes("behind.pt2", "--input", "x=f32:4,6"), [], "conditions of numbers")


def check_lost_writes(tool, net):
    """A note for each input that the model writes to, of both kinds of files; none for what the call makes itself."""
    inputs = torch.rand(3, 4), torch.rand(3, 4)
    torch.jit.trace(net.Writing(), inputs).save(tool.folder / "writing.pt")
    torch.jit.script(net.Writing()).save(tool.folder / "scripted_writing.pt")
    program = torch.export.export(net.Writing(), inputs)
    torch.export.save(program, tool.folder / "writing.pt2")
    torch.export.save(program.run_decompositions(), tool.folder / "core_writing.pt2")
    sized = ["--input", "x=f32:3,4", "--input", "y=f32:3,4"]
    for name in "writing.pt", "scripted_writing.pt", "writing.pt2", "core_writing.pt2":
        report = tool.report(name, *sized)
        notes = [finding for finding in report["findings"] if finding["id"] == "CC014"]
        same([re.search(r"input '(\w)'", note["message"])[1] for note in notes], ["x", "y"], f"inputs that {name} writes to")
        lines = [[site["line"] for site in note["sites"]] for note in notes]
        same(lines, [[line_of(NET, "write")], [line_of(NET, "item")]], f"writes in {name}")
        same((report["verdict"], report["exit_code"]), ("yes", 0), name)
    assert "lost writes" in tool.run("writing.pt", *sized).stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True, type=lambda path: str(pathlib.Path(path).resolve()))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        tool = Tool(options.program, pathlib.Path(folder).resolve())
        for name, text in {"net": NET, "other_file": OTHER}.items():
            (tool.folder / f"{name}.py").write_text(text)
        sys.path.insert(0, str(tool.folder))
        net = importlib.import_module("net")
        with contextlib.redirect_stderr(io.StringIO()):
            check_modules(tool, net)
            check_library(tool)
            check_formats(tool)
            check_assertions(tool, net)
            check_conditions(tool, net)
            check_lost_writes(tool, net)
    print("every place is the user's own line")
    return 0


if __name__ == "__main__":
    sys.exit(main())
