#!/usr/bin/env python3
"""Every command that README.md and docs/ show runs, in a folder with the files that it names.

A command is a line of a fenced block without a language that begins with `compatcheck` or `$ compatcheck`. It must end with 0 or 1, or
as a comment `# exit N` at its end says. What follows a line with `$` is the output, exactly. A block below a comment
`<!-- $ compatcheck ... -->` is a part of that command's output, but for numbers. Blocks of YAML that begin with `# NAME.yaml` become that file
before the commands below them run.
"""
import argparse, os, pathlib, re, shutil, subprocess, sys, tempfile

import pages

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "convert"))
from days import part_of_the_day

TODAY = "1796083200"   # 2026-12-01, for the dates of allow-lists
COMMAND = re.compile(r"(?:[A-Z_]+=\S+ )*(?:build/)?compatcheck\b.*")
NET = """
import torch
from torch import nn


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer, self.act = nn.ModuleList([nn.Linear(16, 16), nn.Linear(16, 16)]), nn.ReLU()

    def forward(self, x):
        for layer in self.layer:
            x = self.act(layer(x))
        return x


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.encoder, self.pooler = nn.Conv2d(3, 16, 3, padding=1), Encoder(), nn.Linear(16, 4)

    def forward(self, x):
        return self.pooler(self.encoder(self.conv(x).mean((2, 3))))


torch.manual_seed(0)
net, example = Net().eval(), torch.rand(1, 3, 8, 8)
traced, scripted = torch.jit.trace(net, example), torch.jit.script(net)
for name in "model.pt", "before.pt", "models/traced.pt", "models/old/earlier.pt":
    traced.save(name)
for name in "after.pt", "models/scripted.pt":
    scripted.save(name)
torch.export.save(torch.export.export(net, (torch.rand(2, 3, 8, 8),), dynamic_shapes={"x": {0: torch.export.Dim("batch")}}), "model.pt2")
torch.save((example,), "inputs.pt")
open("graph.txt", "w").write(str(torch.jit.freeze(traced).graph))

import onnx
import subprocess
subprocess.run(["compatcheck", "convert", "model.pt", "-o", "model.onnx", "-q"], check=True)
model = onnx.load("model.onnx")
onnx.save(model, "before.onnx")
relu = next(node for node in model.graph.node if node.op_type == "Relu")
relu.op_type = "LeakyRelu"
onnx.save(model, "changed.onnx")
onnx.save(model, "after.onnx")
"""
# What pages name as the result of earlier commands.
PREPARED = """
compatcheck model.pt --report before.json -q
compatcheck after.pt --report after.json -q
compatcheck models/ --report run.jsonl --report compat.json --write-baseline known.json -q
compatcheck models/ --shard 2/4 --report 2.jsonl -q
compatcheck models/ --shard 3/4 --report 3.jsonl -q
compatcheck models/ --shard 4/4 --report 4.jsonl -q
git init --quiet && git add . && git commit --quiet --message models && git update-ref refs/remotes/origin/main HEAD
"""


class Shell:
    """Runs lines as a user's shell would, with the program on its PATH."""

    def __init__(self, program, place):
        self.bin = place / "bin"
        self.bin.mkdir()
        (self.bin / "compatcheck").symlink_to(program)
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("COMPATCHECK_", "GIT_")) or name in ("COMPATCHECK_HELPER", "COMPATCHECK_LIBTORCH")}
        for name in ("FORCE_COLOR", "NO_COLOR"):
            kept.pop(name, None)
        me = {f"GIT_{who}_{what}": "a@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        path = f"{self.bin}:{pathlib.Path(sys.executable).parent}:{kept['PATH']}"  # as in an activated environment
        self.environment = kept | me | {"PATH": path, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "SOURCE_DATE_EPOCH": TODAY}

    def run(self, line, folder):
        return subprocess.run(["bash", "-o", "pipefail", "-c", line], cwd=folder, env=self.environment, capture_output=True, text=True, errors="replace", timeout=300)


def prepare(shell, folder, include):
    """A folder with all files that pages name."""
    (folder / "models/old").mkdir(parents=True)
    (folder / "build").mkdir()
    (folder / "build/compatcheck").symlink_to(shell.bin / "compatcheck")
    (folder / "tests").symlink_to(pages.ROOT / "tests")
    for model in ("align.ir", "warp.ir"):
        shutil.copy(pages.ROOT / "tests/cli/models" / model, folder)
    shutil.copy(folder / "warp.ir", folder / "models")
    (folder / "net.py").write_text(NET)
    (folder / "pkg").mkdir()
    (folder / "pkg/ops.py").write_text("import torch\n\nLIBRARY = torch.library.Library('pkg', 'DEF')\nLIBRARY.define('scale(Tensor x) -> Tensor')\n")
    plugin = next(text for _, _, text in pages.blocks(pages.ROOT / "docs/plugins.md") if text.startswith("// acme.cpp"))
    (folder / "acme.cpp").write_text(plugin)
    compiler = os.environ.get("CXX", "g++")
    for line in [f"{sys.executable} net.py", f"{compiler} -std=c++20 -shared -fPIC -I {include} acme.cpp -o acme.so", *PREPARED.strip().splitlines()]:
        ran = shell.run(line, folder)
        if ran.returncode > (1 if line.startswith("compatcheck") else 0):
            sys.exit(f"{line}: exit {ran.returncode}\n{ran.stdout}{ran.stderr}")


def commands(language, text):
    """(command, output or None) of a block."""
    lines = text.splitlines() if not language else []
    if lines and lines[0].startswith("$ "):
        return [(lines[0][2:], text.partition("\n")[2])]
    return [(line, None) for line in lines if COMMAND.fullmatch(line)]


def without_numbers(text):
    return re.sub(r"-?\d+(?:\.\d+)?(?:e-?\d+)?", "0", text)


def faults_of(page, shell, folder):
    """(what is wrong, or None) of each command and each part of an output."""
    for part, language, text in pages.blocks(page):
        named = re.match(r"# ([\w.-]+\.yaml)\n", text)
        if language == "yaml" and named:
            (folder / named[1]).write_text(text)
        if part:
            printed = shell.run(part, folder).stdout.replace(f"{folder.parent}/made/", "")   # where net.py was
            yield None if without_numbers(text) in without_numbers(printed) else f"{part}\n  doesn't print\n{text}  but\n{printed}"
            continue
        for line, output in commands(language, text):
            expected = re.search(r"# exit (\d+)$", line)
            allowed = [int(expected[1])] if expected else [0, 1]
            ran = shell.run(line, folder)
            printed = re.sub(r"^--libtorch .*\n", "", ran.stdout, flags=re.M)   # the test's own option
            if ran.returncode not in allowed:
                yield f"{line}\n  exit {ran.returncode}, not {' or '.join(map(str, allowed))}: {ran.stdout[-500:]}{ran.stderr[-1500:]}"
            elif output is not None and output != printed:
                yield f"{line}\n  prints\n{printed}"
            else:
                yield None


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True, type=lambda path: pathlib.Path(path).resolve())
    parser.add_argument("pages", nargs="*", type=lambda path: pathlib.Path(path).resolve(), help="default: half of README.md and docs/*.md, others each day")
    arguments = parser.parse_args()
    chosen = arguments.pages or part_of_the_day([pages.ROOT / "README.md", *sorted((pages.ROOT / "docs").glob("*.md"))], "pages", 2)
    ran = []
    with tempfile.TemporaryDirectory() as name:
        place = pathlib.Path(name)
        shell = Shell(arguments.program, place)
        prepare(shell, place / "made", pages.ROOT / "include")
        for page in chosen:
            folder = place / pages.name(page).replace("/", "-")
            shutil.copytree(place / "made", folder, symlinks=True)
            for fault in faults_of(page, shell, folder):
                ran.append(fault)
                if fault:
                    print(f"{pages.name(page)}: {fault}")
    failed = sum(fault is not None for fault in ran)
    print(f"{len(ran)} commands, {failed} failed")
    return 1 if failed or not ran else 0


if __name__ == "__main__":
    sys.exit(main())
