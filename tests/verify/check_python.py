#!/usr/bin/env python3
"""compatcheck verify with the helper in Python: its verdicts are those of the helper program, operators that Python defines run,
and what goes wrong in Python is told."""
import argparse, json, os, pathlib, subprocess, sys, tempfile, warnings
from typing import Dict, List, Optional

warnings.filterwarnings("ignore")
import torch
from torch.export import Dim

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "convert"))
from days import part_of_the_day

MODULE = '''
import ctypes, time
import torch

@torch.library.custom_op("acme_python::scale", mutates_args=())
def scale(x: torch.Tensor, by: float = 2.0) -> torch.Tensor:
    return x * by + 1

@scale.register_fake
def _(x, by=2.0):
    return torch.empty_like(x)

LIBRARY = torch.library.Library("acme_library", "DEF")
LIBRARY.define("twice(Tensor x) -> Tensor")
LIBRARY.impl("twice", lambda x: x + x, "CompositeExplicitAutograd")
LIBRARY.define("crash(Tensor x) -> Tensor")
LIBRARY.impl("crash", lambda x: x if x.shape[0] == 2 and 0 else ctypes.string_at(0), "CPU")
LIBRARY.define("hang(Tensor x) -> Tensor")
LIBRARY.impl("hang", lambda x: time.sleep(60), "CPU")
LIBRARY.define("refuse(Tensor x) -> Tensor")
LIBRARY.impl("refuse", lambda x: 1 / 0, "CPU")
for name in ("twice", "crash", "hang", "refuse"):
    torch.library.register_fake("acme_library::" + name)(torch.empty_like)
'''

ROWS = '''
acme_python::scale:
  schema: "acme_python::scale(Tensor x, float by=2.0) -> Tensor"
  15:
    inputs: [x, {float: by}]
    inline: "S (x, by) => (y) { one = Constant <value_float = 1.0> () c = CastLike (one, x) m = Mul (x, by) y = Add (m, c) }"
acme_library::twice: {schema: "acme_library::twice(Tensor x) -> Tensor", 15: {inputs: [x], inline: "S (x) => (y) { y = Add (x, x) }"}}
acme_library::crash: {schema: "acme_library::crash(Tensor x) -> Tensor", 15: {inputs: [x], inline: "S (x) => (y) { y = Add (x, x) }"}}
acme_library::hang: {schema: "acme_library::hang(Tensor x) -> Tensor", 15: {inputs: [x], inline: "S (x) => (y) { y = Add (x, x) }"}}
acme_library::refuse: {schema: "acme_library::refuse(Tensor x) -> Tensor", 15: {inputs: [x], inline: "S (x) => (y) { y = Add (x, x) }"}}
'''


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm = torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4)

    def forward(self, x):
        y = torch.relu(self.norm(self.conv(x)))
        return y.mean((2, 3)), x.argmax(1), y.to(torch.float16)


class Branches(torch.nn.Module):
    def forward(self, x, n: int, flag: bool, pairs: List[torch.Tensor], named: Dict[str, torch.Tensor], bias: Optional[torch.Tensor]):
        held: List[torch.Tensor] = []
        for i in range(n):
            held.append(x * i)
        total = x
        for one in held:
            total = total + one
        if flag:
            total = total - pairs[0]
        if bias is not None:
            total = total + bias
        return {"total": total, "named": named["a"] * 2, "count": torch.tensor(len(held))}


class Counter(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("seen", torch.zeros(3))

    def forward(self, x):
        self.seen += x.sum(0)
        return x + self.seen


class Random(torch.nn.Module):
    def forward(self, x):
        return x + torch.rand_like(x)


class Odd(torch.nn.Module):
    """Refuses all sizes but even ones."""

    def forward(self, x):
        return x.view(-1, 2, x.shape[1])


class Fixed(torch.nn.Module):
    """A traced size stays."""

    def forward(self, x):
        return x.reshape(int(x.shape[0]), -1)


class Shapes(torch.nn.Module):
    """Lists, texts and numbers, which the helper in Python computes by itself."""

    def forward(self, x, y):
        sizes = list(x.shape)
        sizes.insert(1, 1)
        names = {"a": x, "b": y}
        names.pop("b")
        kept = [x, y][::-1]
        kept += [names["a"] * len("abc"[1:])]
        if 4 in sizes and str(len(kept)) == "3":
            sizes[1] = 2
        return torch.cat(kept, 1), x.unsqueeze(1).expand(sizes), min(sizes[1], 7), torch.stack(kept).sum(0).div(float(len(kept)))


class Packed(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.quant, self.dequant = torch.ao.quantization.QuantStub(), torch.ao.quantization.DeQuantStub()
        self.linear = torch.nn.Linear(4, 3)

    def forward(self, x):
        return self.dequant(self.linear(self.quant(x)))


class Custom(torch.nn.Module):
    def __init__(self, op):
        super().__init__()
        self.op = op

    def forward(self, x):
        return getattr(getattr(torch.ops, self.op[0]), self.op[1])(x).relu()


def quantized():
    model = Packed().eval()
    model.qconfig = torch.ao.quantization.default_qconfig
    prepared = torch.ao.quantization.prepare(model)
    prepared(torch.rand(8, 4))
    return torch.ao.quantization.convert(prepared)


def traced(folder, name, module, *inputs):
    file = folder / f"{name}.pt"
    torch.jit.trace(module.eval(), inputs, check_trace=False).save(str(file))
    return file


def scripted(folder, name, module):
    file = folder / f"{name}.pt"
    torch.jit.script(module.eval()).save(str(file))
    return file


def exported(folder, name, module, *inputs, **options):
    file = folder / f"{name}.pt2"
    torch.export.save(torch.export.export(module.eval(), inputs, **options), file)
    return file


class Check:
    def __init__(self, program, folder):
        self.program, self.folder, self.wrong = program, folder, []
        # Its own Python is the one that an activated environment would give.
        path = os.pathsep.join([str(pathlib.Path(sys.executable).parent), os.environ.get("PATH", "")])
        self.plain = {name: value for name, value in os.environ.items() if name != "COMPATCHECK_PYTHON"} | {"PATH": path}

    def run(self, *arguments, **variables):
        return subprocess.run([self.program, "verify", *map(str, arguments), "--format", "json"], capture_output=True, text=True,
                              timeout=600, cwd=self.folder, env=self.plain | variables)

    def expect(self, what, holds, shown=""):
        if not holds:
            self.wrong.append(f"{what}: {shown}")

    def agree(self, *arguments, code=0, ids=()):
        """Both helpers give one verdict on the same runs: the findings, the sizes, and which outputs pass."""
        found = []
        for extra in ((), ("--python", sys.executable)):
            run = self.run(*arguments, *extra)
            report = json.loads(run.stdout) if run.stdout else {}
            findings = sorted((each["id"], each["severity"], each["message"]) for each in report.get("findings", []))
            outputs = [(each["name"], each["dtype"], each["shape"]) for each in report.get("outputs", [])]
            found.append((run.returncode, findings, outputs, [each.get("sizes") for each in report.get("runs", [])]))
        self.expect(f"{arguments[0]}: both", found[0] == found[1], f"{found[0]} by the program, {found[1]} by Python {run.stderr[-300:]}")
        own = {each[0] for each in found[1][1] if each[1] == "error"}
        self.expect(str(arguments[0]), found[1][0] == code and own == set(ids), f"{found[1]} {run.stderr[-300:]}")

    def told(self, what, code, says, *arguments, **variables):
        run = self.run(*arguments, **variables)
        self.expect(what, run.returncode == code and says in run.stderr, f"exit {run.returncode}: {run.stderr} {run.stdout[-300:]}")


def check_verdicts(check):
    """A part of them each day, because each starts a Python that imports torch."""
    folder, image, agree = check.folder, torch.rand(2, 3, 8, 8), check.agree
    net, wrong = traced(folder, "net", Net(), image), folder / "wrong.onnx"
    converting = [check.program, "convert", net, "-o", wrong, "-q", "--input", "x=f32:n,3,8,8"]
    subprocess.run(converting, check=True, capture_output=True)
    cases = [
        lambda: agree(net, "--input", "x=f32:n,3,8,8"),
        lambda: agree(traced(folder, "net_inner", Net(), image), "--bisect"),
        lambda: agree(exported(folder, "net", Net(), image, dynamic_shapes={"x": {0: Dim("n")}})),
        lambda: agree(scripted(folder, "branches", Branches()), "--input", "x=f32:n,3", "--input", "pairs.0=f32:n,3",
                      "--input", "named.a=f32:2", "--input", "bias=f32:n,3"),
        lambda: agree(traced(folder, "counter", Counter(), torch.rand(2, 3)), "--state", "inputs-outputs"),
        lambda: agree(exported(folder, "counter", Counter(), torch.rand(2, 3)), "--state", "inputs-outputs"),
        lambda: agree(traced(folder, "random", Random(), torch.rand(2, 3)), code=1, ids=["CC008"]),
        lambda: agree(exported(folder, "random", Random(), torch.rand(2, 3)), code=1, ids=["CC008"]),
        lambda: agree(traced(folder, "odd", Odd(), torch.rand(4, 3)), "--input", "x=f32:n,3"),
        lambda: agree(traced(folder, "fixed", Fixed(), torch.rand(4, 3, 2)), "--input", "x=f32:n,3,2", code=1, ids=["CC205"]),
        lambda: agree(traced(folder, "quantized", quantized(), torch.rand(2, 4)), "--input", "x=f32:n,4"),
        lambda: agree(scripted(folder, "shapes", Shapes()), "--input", "x=f32:n,4", "--input", "y=f32:n,4"),
        lambda: agree(traced(folder, "other", Net(), image), wrong, "--bisect", code=1, ids=["CC201"]),
    ]
    for case in part_of_the_day(cases, "python", 6):
        case()


def check_operators(check):
    folder = check.folder
    (folder / "pkg").mkdir()
    (folder / "pkg" / "ops.py").write_text(MODULE)
    rows = folder / "rows.yaml"
    rows.write_text(ROWS)
    sys.path.insert(0, str(folder))
    __import__("pkg.ops")
    x, given = torch.rand(2, 3), ["--mappings", rows, "--op-module", "pkg.ops"]
    ops = ("acme_python", "scale"), ("acme_library", "twice")
    for file in part_of_the_day([make(folder, op[1], Custom(op), x) for op in ops for make in (traced, exported)], "operators", 2):
        run = check.run(file, *given)
        check.expect(file.name, run.returncode == 0 and '"passed": true' in run.stdout, run.stdout[-400:] + run.stderr)
    missing = check.run(folder / "scale.pt", "--mappings", rows)
    check.expect("without the module", missing.returncode in (2, 3) and "--op-module" in missing.stderr, missing.stderr)
    schema = subprocess.run([check.program, "explain", "acme_python::scale", "--scaffold", "yaml", "--op-module", "pkg.ops"], cwd=folder,
                            capture_output=True, text=True, env=check.plain).stdout
    check.expect("the schema of the module", "acme_python::scale(Tensor x, float by=2" in schema, schema)
    check.told("no such module", 2, "can't import the module pkg.absent", folder / "scale.pt", "--op-module", "pkg.absent")
    files = {name: exported(folder, name, Custom(("acme_library", name)), x)
             for name in ("crash", "hang", "refuse")}
    endings = [("a crash", "PyTorch crashes (SIGSEGV", files["crash"], *given),
               ("no end", "was stopped after 12 s", files["hang"], *given, "--timeout", "12"),
               ("a refusal", "division by zero", files["refuse"], *given)]
    for what, says, *arguments in part_of_the_day(endings, "endings", 3):  # each model is tried several times
        check.told(what, 3, says, *arguments)


def check_surroundings(check):
    file = check.folder / "net.pt"
    check.told("no such Python", 2, "which is not there", file, "--python", check.folder / "python9")
    check.told("a variable", 2, "--python names", file, COMPATCHECK_PYTHON=str(check.folder / "python9"))
    without = check.folder / "bare" / "bin" / "python3"
    without.parent.mkdir(parents=True)
    without.write_text(f"#!/bin/sh\nexec {sys.executable} -I -S \"$@\"\n")
    without.chmod(0o755)
    check.told("no torch", 2, "can't import torch", file, "--python", without)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        check = Check(arguments.program, pathlib.Path(folder))
        for case in (check_verdicts, check_operators, check_surroundings):
            if arguments.only in case.__name__:
                case(check)
    print(*check.wrong, sep="\n")
    print(f"{len(check.wrong)} failed")
    return 1 if check.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
