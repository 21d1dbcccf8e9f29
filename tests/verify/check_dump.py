#!/usr/bin/env python3
"""compatcheck verify --dump saves what ONNX Runtime itself gives for every value, however little is held at a time; and older values go,
but nobody else's files."""
import argparse, pathlib, signal, subprocess, sys, tempfile, time
from typing import List

import numpy
import onnx
import onnxruntime
import torch


class Straight(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(1)
        self.conv = torch.nn.Conv2d(3, 4, 3)
        self.linear = torch.nn.Linear(4, 6)

    def forward(self, x):
        y = torch.relu(self.conv(x))
        z = self.linear(y.mean((2, 3))).half().float()
        return z + y.sum(), z.argmax(1), z > 0


class Long(torch.nn.Module):
    def forward(self, x):
        for i in range(3000):
            x = (x * 1.25).sin()
        return x


class Scripted(torch.nn.Module):
    def forward(self, x, n: int):
        ys: List[torch.Tensor] = []
        for i in range(n):
            ys.append((x * i).sin())
        y = torch.stack(ys).sum(0)
        if bool(y.sum() > 0):
            y = y.exp()
        return y + x


def saved(folder):
    lines = [line.split("\t") for line in (folder / "values.tsv").read_text().splitlines()]
    return lines[0], {line[1]: dict(zip(lines[0], line)) for line in lines[1:]}


def all_values(file, inputs):
    """Of the main graph, as ONNX Runtime gives them when each is an output."""
    model = onnx.load(file)
    outputs = [name for node in model.graph.node for name in node.output if name]
    del model.graph.output[:]
    model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in outputs)
    session = onnxruntime.InferenceSession(model.SerializeToString())
    return dict(zip(outputs, session.run(None, inputs)))


def statistics_of(array):
    numbers = array.astype(numpy.float64)
    finite = numbers[numpy.isfinite(numbers)]
    return {
        "min": finite.min(),
        "max": finite.max(),
        "mean": finite.mean(),
        "std": finite.std(),
        "zeros": (numbers == 0).sum(),
        "nan": 0,
        "inf": 0,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    parser.add_argument("--dumped", required=True)
    arguments = parser.parse_args()
    wrong = []

    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)

        def judge(what, into, wanted):
            head, table = saved(into)
            found = {value: numpy.load(into / line["file"]) for value, line in table.items()}
            for value, expected in wanted.items():
                members = {f"{value}.{i}": one for i, one in enumerate(expected)} if isinstance(expected, list) else {value: expected}
                for member, array in members.items():
                    if member not in found:
                        wrong.append(f"{what}: {member} isn't saved")
                    elif (
                        found[member].dtype != array.dtype
                        or found[member].shape != array.shape
                        or not numpy.array_equal(found[member], array, equal_nan=array.dtype.kind == "f")
                    ):
                        wrong.append(f"{what}: {member} is {found[member]}, not {array}")
                    elif array.size:
                        stated = {key: float(table[member][key]) for key in ("min", "max", "mean", "std", "zeros", "nan", "inf")}
                        if any(
                            not numpy.isclose(stated[key], float(is_), rtol=1e-5, atol=1e-9) for key, is_ in statistics_of(array).items()
                        ):
                            wrong.append(f"{what}: {member} has {statistics_of(array)}, the table says {stated}")
            files = {path.name for path in into.iterdir()} - {"values.tsv"}
            if files != {line["file"] for line in table.values()}:
                wrong.append(
                    f"{what}: {sorted(files)} are there, of which the table lists {sorted(line['file'] for line in table.values())}"
                )

        def check(module, inputs, *options, script=False):
            what = type(module).__name__
            module.eval()
            model, file = folder / f"{what}.pt", folder / f"{what}.onnx"
            (torch.jit.script(module) if script else torch.jit.trace(module, tuple(map(torch.from_numpy, inputs)))).save(str(model))
            subprocess.run([arguments.program, "convert", model, "-o", file, "-q", *options], check=True)
            names = [one.name for one in onnx.load(file).graph.input]
            wanted = all_values(file, dict(zip(names, inputs)))
            examples = folder / f"{what}-inputs.pt"
            torch.save(tuple(torch.from_numpy(array) if array.ndim else int(array) for array in inputs), examples)
            for memory in (1 << 30, 3000, 1):
                into = folder / f"{what}-{memory}"
                subprocess.run([arguments.dumped, model, file, examples, into, str(memory)], check=True)
                judge(f"{what} with {memory} bytes", into, wanted)
            return model

        model = check(Straight(), [numpy.random.default_rng(1).random((2, 3, 8, 8), numpy.float32)])
        check(
            Scripted(), [numpy.random.default_rng(2).random((4, 5), numpy.float32), numpy.asarray(3)], "--input", "x=f32:4,5", script=True
        )

        # Once more into the same folder: what the older table lists goes, and nothing else.
        into = folder / "values"
        subprocess.run([arguments.program, "verify", model, "--dump", into, "-q"], check=True, capture_output=True)
        first = {path.name for path in into.iterdir()}
        foreign = [into / "mine.npy", into / "9999_mine.npy", folder / "0000_outside.npy"]
        older = into / "9998_gone.npy"
        for path in [*foreign, older]:
            path.write_bytes(b"kept")
        with (into / "values.tsv").open("a") as table:
            table.write("9998_gone.npy\tgone\nmine.npy\tx\n../0000_outside.npy\tx\n")
        subprocess.run([arguments.program, "verify", model, "--dump", into, "-q"], check=True, capture_output=True)
        if (
            older.exists()
            or {path.name for path in into.iterdir()} != first | {"mine.npy", "9999_mine.npy"}
            or not all(path.exists() for path in foreign)
        ):
            wrong.append(f"again: {sorted(path.name for path in into.iterdir())}")
        (into / "values.tsv").write_text("of somebody else\n" + "\n".join(sorted(first)))
        subprocess.run([arguments.program, "verify", model, "--dump", into, "-q"], check=True, capture_output=True)
        if not all(path.exists() for path in foreign):
            wrong.append("another's table: files went")

        # Ctrl-C while values are saved: none stays, whether the folder was there or not.
        long = folder / "long.pt"
        torch.jit.trace(Long(), torch.rand(8)).save(str(long))
        for there in (False, True):
            into = folder / f"interrupted-{there}"
            if there:
                into.mkdir()
                (into / "mine.txt").write_text("kept")
            process = subprocess.Popen(
                [arguments.program, "verify", long, "--dump", into], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
            )
            while process.poll() is None and len(list(into.glob("*.npy"))) < 3:
                time.sleep(0.005)
            process.send_signal(signal.SIGINT)
            stated = process.communicate(timeout=60)[1]
            if process.returncode != 130 or stated != "compatcheck: interrupted (SIGINT)\n":
                wrong.append(f"interrupted: {process.returncode} {stated!r}")
            left = sorted(path.name for path in into.iterdir()) if into.exists() else None
            if left != (["mine.txt"] if there else None):
                wrong.append(f"interrupted: left {left}")
    print(*wrong, sep="\n")
    print(f"{len(wrong)} failed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
