#!/usr/bin/env python3
"""compatcheck verify and the memory of its processes together: about twice the model's weights, once on each side, also where a mismatch
is looked into. What libraries share is counted once (proportional set size)."""
import argparse, glob, subprocess, sys, tempfile, time

import onnx
import torch

FIXED = 150   # MB: libtorch's and ONNX Runtime's own
RUNS = 3      # at most: on a loaded machine what one side gives back and the other takes may be seen together once
PART = 128    # MB: the part of the model that bisecting looks at, while it is opened


class Big(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(1)
        self.layers = torch.nn.ModuleList(torch.nn.Linear(2048, 2048) for _ in range(12))

    def forward(self, x):
        for layer in self.layers:
            x = torch.relu(layer(x))
        return x


def family(root):
    children = {}
    for file in glob.glob("/proc/[0-9]*/stat"):
        try:
            text = open(file).read()
        except OSError:
            continue
        children.setdefault(int(text[text.rindex(")") + 2:].split()[1]), []).append(int(file.split("/")[2]))
    waiting = [root]
    while waiting:
        process = waiting.pop()
        yield process
        waiting += children.get(process, [])


def megabytes(process):
    try:
        return sum(int(line.split()[1]) for line in open(f"/proc/{process}/smaps_rollup") if line.startswith("Pss:")) / 1024
    except OSError:
        return 0


def held_together(root):
    """Read twice, and of each process the less: on a loaded machine what one gave back between two readings is not counted beside
    what the next one took."""
    processes = list(family(root))
    first = [megabytes(process) for process in processes]
    return sum(min(before, megabytes(process)) for process, before in zip(processes, first))


def measured(command):
    run = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    most = 0
    while run.poll() is None:
        most = max(most, held_together(run.pid))
        time.sleep(0.02)
    return run.returncode, most


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    program = parser.parse_args().program
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        model, right, damaged = f"{folder}/big.pt", f"{folder}/big.onnx", f"{folder}/damaged.onnx"
        torch.jit.trace(Big().eval(), torch.rand(2, 2048)).save(model)
        subprocess.run([program, "convert", model, "-o", right, "-q"], check=True)
        proto = onnx.load(right)
        next(node for node in reversed(proto.graph.node) if node.op_type == "Relu").op_type = "Sigmoid"
        onnx.save(proto, damaged)
        size = len(open(model, "rb").read()) / 2**20
        del proto
        for what, code, arguments in (
            ("right", 0, [model]),
            ("a mismatch", 1, [model, damaged]),
            ("bisected", 1, [model, damaged, "--bisect"]),
        ):
            allowed = 2 * size + FIXED + (PART if what == "bisected" else 0)
            for _ in range(RUNS):
                code_found, most = measured([program, "verify", *arguments])
                print(f"{what}: {most:.0f} MB of a model of {size:.0f} MB")
                if most < allowed:
                    break
            if code_found != code:
                wrong.append(f"{what}: exit {code_found}, not {code}")
            if not 0 < most < allowed:
                wrong.append(f"{what}: {most:.0f} MB, and at most {allowed:.0f} are expected")
    print(*wrong, sep="\n")
    print(f"{len(wrong)} failed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
