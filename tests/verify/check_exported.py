#!/usr/bin/env python3
"""compatcheck verify of exported programs: sizes that are expressions, ranges, names, numbers in the place of tensors, half precision
inside, the archive's own inputs, and normalization in training mode as state."""
import argparse, pathlib, subprocess, sys, tempfile, zipfile

import numpy, onnxruntime, torch
from torch.export import Dim

from running import Verify


class Derived(torch.nn.Module):
    def forward(self, x, longer, pairs):
        return x[:, :2] * 2 + longer[1:, None], pairs * x.shape[0], x.flatten()


class Numbers(torch.nn.Module):
    def forward(self, x):
        return (1 - x) * 2, 7 // (x + 10), (1.0 - x).sum()


class HalfInside(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.first, self.second = torch.nn.Linear(64, 64), torch.nn.Linear(64, 8)

    def forward(self, x):
        with torch.autocast("cpu", torch.bfloat16):
            y = self.second(torch.relu(self.first(x)))
        return y.float(), y @ y.mT


class Table(torch.nn.Module):
    """Takes few of the integers that could be made for it."""
    def forward(self, keys):
        torch._check(keys[0].item() == 77)
        return keys * 2


class Even(torch.nn.Module):
    def forward(self, x):
        return x * 2 if x.shape[0] % 2 == 0 else x * 3


def save(folder, name, module, inputs, core=False, **options):
    program = torch.export.export(module, inputs, **options)
    torch.export.save(program.run_decompositions() if core else program, folder / f"{name}.pt2")
    return folder / f"{name}.pt2"


def check_sizes(verify):
    d, e = Dim("d", min=3, max=50), Dim("e", min=2, max=40)
    file = save(verify.folder, "derived", Derived(), (torch.randn(4, 8), torch.randn(5), torch.randn(8)),
                dynamic_shapes=({0: d, 1: 2 * e}, {0: d + 1}, {0: 2 * d}))
    report = verify.run("sizes that are expressions", 0, file)
    for run in report.get("runs", []):
        x, longer, pairs = (entry["shape"] for entry in run["inputs"])
        fits = (
            3 <= int(x[0]) <= 50
            and 4 <= int(x[1]) <= 80
            and int(x[1]) % 2 == 0
            and int(longer[0]) == int(x[0]) + 1
            and int(pairs[0]) == 2 * int(x[0])
        )
        verify.expect("sizes are the program's", fits, run)
    verify.expect("two symbols vary", len({tuple(sorted(run["sizes"].items())) for run in report.get("runs", [])}) > 2, report.get("runs"))
    names = sorted(report["runs"][0]["sizes"]) if report else ["", ""]
    for name, by in zip(names, (7, 9)):
        verify.run(f"{name} fixed", 0, file, "--dim", f"{name}={by}")
        verify.run(f"{name} named and fixed", 0, file, "--dim", f"{name}=size", "--dim", f"size={by}")
        verify.run(f"{name} beyond its range", 2, file, "--dim", f"{name}=1000", says="the program takes sizes from")
    verify.run("numbers for expressions", 0, file, "--input", "x=f32:3,8")
    verify.run("a size that no symbol gives", 2, file, "--input", "x=f32:3,7", says=" gives 7")


def check_guards(verify):
    file = save(verify.folder, "even", Even(), (torch.randn(6, 3),), dynamic_shapes=({0: Dim.AUTO},))
    report = verify.run("sizes that a guard accepts", 0, file)
    for symbol in report["runs"][0]["sizes"] if report else []:
        for option, size in (("--dim", f"{symbol}=5"), ("--input", "x=f32:5,3")):
            verify.run(f"a size of {option} that a guard refuses", 2, file, option, size, says="the sizes of --input and --dim don't fit")


def check_symbols(verify):
    """Those of releases before 2.6 are s0, s1, ..., s10: one begins like another."""
    file = save(verify.folder, "symbols", torch.nn.ReLU(), (torch.randn(3, 4),), dynamic_shapes=({0: Dim("d"), 1: Dim("e")},))
    report = verify.run("two symbols", 0, file)
    renamed = verify.folder / "renamed.pt2"
    with zipfile.ZipFile(file) as read, zipfile.ZipFile(renamed, "w") as write:
        for record in read.infolist():
            contents = read.read(record)
            for symbol, name in zip(sorted(report["runs"][0]["sizes"]) if report else [], (b"s10", b"s1")):
                contents = contents.replace(symbol.encode(), name)
            write.writestr(record.filename, contents)
    verify.run("all symbols are listed", 2, renamed, "--dim", "n=batch", says="it has s1, s10")


def check_given_files(verify):
    """An ONNX file with other names, numbers or named dimensions than the program has."""
    module = torch.nn.Linear(3, 2)
    static = save(verify.folder, "static", module, (torch.randn(2, 3),))
    dynamic = save(verify.folder, "dynamic", module, (torch.randn(2, 3),), dynamic_shapes=({0: Dim("n", min=2, max=9)},))
    for name, options in (("named", ()), ("renamed", ("--input", "input=f32:batch,3")), ("fixed", ("--input", "input=f32:4,3"))):
        verify.run(f"a {name} file of the dynamic program", 0, dynamic, verify.convert(dynamic, f"{name}.onnx", *options))
    verify.run("a dynamic file of a static program", 0, static, verify.folder / "named.onnx")


def check_own_inputs(verify):
    file = save(verify.folder, "table", Table(), (torch.tensor([77, 1, 2]),))
    report = verify.run("the archive's own inputs", 0, file)
    verify.expect("one run at least", len(report.get("runs", [])) > 0, report)


class Normed(torch.nn.Module):
    def __init__(self, norm):
        super().__init__()
        self.norm = norm

    def forward(self, x):
        return self.norm(x), self.norm.running_mean * 1, self.norm.running_var * 1


def check_training(verify):
    """As eager PyTorch moves the statistics from call to call."""
    for name, norm in (
        ("batches", torch.nn.BatchNorm1d(4, momentum=0.3)),
        ("instances", torch.nn.InstanceNorm1d(4, track_running_stats=True, affine=True)),
    ):
        for core in (False, True):
            module = Normed(norm).train()
            module.load_state_dict({key: torch.zeros_like(value) if "mean" in key or "tracked" in key else torch.ones_like(value)
                                    for key, value in module.state_dict().items()})
            file = save(verify.folder, f"{name}_{core}", module, (torch.randn(3, 4, 5),), core)
            module.norm.reset_running_stats()
            run = subprocess.run([verify.program, "check", file, "-q"], capture_output=True, text=True)
            verify.expect(
                f"{name}: refused by default", run.returncode == 1 and "from call to call" in " ".join(run.stdout.split()), run.stdout
            )
            verify.run(f"{name}: state", 0, file, "--state", "inputs-outputs")
            onnx_file = verify.convert(file, f"{name}_{core}.onnx", "--state", "inputs-outputs")
            session = onnxruntime.InferenceSession(str(onnx_file))
            state = {
                "norm.running_mean": numpy.zeros(4, "float32"),
                "norm.running_var": numpy.ones(4, "float32"),
                "norm.num_batches_tracked": numpy.array(0),
            }
            input_names = {each.name for each in session.get_inputs()}
            for _ in range(3):
                x = torch.randn(3, 4, 5)
                found = dict(zip((each.name for each in session.get_outputs()),
                                 session.run(None, {"x": x.numpy()} | {key: value for key, value in state.items() if key in input_names})))
                expected = module(x)
                state.update({key[:-len(".next")]: value for key, value in found.items() if key.endswith(".next")})
                shown = [value for key, value in found.items() if not key.endswith(".next")]
                for ours, theirs in zip(shown, expected):
                    verify.expect(f"{name}: as eager", numpy.allclose(ours, theirs.detach().numpy(), atol=1e-5), (ours, theirs))
                verify.expect(
                    f"{name}: variance", numpy.allclose(state["norm.running_var"], module.norm.running_var.numpy(), atol=1e-5), state
                )


def check_unread_statistics(verify):
    """What no output depends on is no state: such a model converts as it is."""
    for core in (False, True):
        norm = torch.nn.BatchNorm1d(4).train()
        file = save(verify.folder, f"unread_{core}", norm, (torch.randn(3, 4),), core)
        session = onnxruntime.InferenceSession(str(verify.convert(file, f"unread_{core}.onnx")))
        x = torch.randn(3, 4)
        (found,) = session.run(None, {session.get_inputs()[0].name: x.numpy()})
        verify.expect("training, unread", numpy.allclose(found, norm(x).detach().numpy(), atol=1e-5), found)


class Cache(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("kept", torch.zeros(8, 3))

    def forward(self, x, places):
        self.kept[places] = x
        return self.kept.sum(0)


class Limited(torch.nn.Module):
    """Room for eight rows: three calls of three don't fit, two do."""

    def __init__(self):
        super().__init__()
        self.register_buffer("rows", torch.zeros(1, 8, 3))
        self.register_buffer("used", torch.zeros((), dtype=torch.int64))

    def forward(self, x):
        self.rows.index_copy_(1, torch.arange(x.shape[1]) + self.used, x)
        self.used += x.shape[1]
        return self.rows @ x.transpose(1, 2), self.used * 2


class Powers(torch.nn.Module):
    def forward(self, x):
        n = x.shape[0]
        return torch.arange(n ** 2), x * n ** -1, torch.full((2,), n ** 0.5), x.new_zeros(n ** 2) + 1


def check_refused_sizes(verify):
    """PyTorch refuses sizes that are tried, of a program with state: others are taken."""
    for core in (False, True):
        file = save(
            verify.folder,
            f"cache_{core}",
            Cache(),
            (torch.randn(2, 3), torch.tensor([0, 1])),
            core,
            dynamic_shapes=({0: Dim.AUTO}, {0: Dim.AUTO}),
        )
        verify.run("sizes of a cache", 0, file, "--state", "inputs-outputs", ids=("CC205",))
        file = save(verify.folder, f"limited_{core}", Limited(), (torch.randn(1, 2, 3),), core, dynamic_shapes=({1: Dim.AUTO},))
        verify.run("a cache that fills up", 0, file, "--state", "inputs-outputs")


def check_powers(verify):
    file = save(verify.folder, "powers", Powers(), (torch.randn(8, 3),), dynamic_shapes=({0: Dim.AUTO},))
    verify.run("powers of sizes", 0, file)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    tool = parser.parse_args().program
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as folder:
        verify = Verify(tool, pathlib.Path(folder))
        check_sizes(verify)
        check_guards(verify)
        check_symbols(verify)
        for core in (False, True):
            file = save(
                verify.folder, f"numbers_{core}", Numbers(), (torch.randn(5, 3),), core, dynamic_shapes=({0: Dim("n", min=3, max=64)},)
            )
            verify.run("numbers in the place of tensors", 0, file)
            file = save(verify.folder, f"half_{core}", HalfInside(), (torch.randn(6, 64),), core)
            verify.run("half precision inside", 0, file)
        check_own_inputs(verify)
        check_given_files(verify)
        check_training(verify)
        check_unread_statistics(verify)
        check_refused_sizes(verify)
        check_powers(verify)
        return verify.end()


if __name__ == "__main__":
    sys.exit(main())
