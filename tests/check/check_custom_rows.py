#!/usr/bin/env python3
"""Rows for custom operators that findings print: lint takes each, and one for a .pt works for the .pt2 of the same model."""
import argparse, json, pathlib, subprocess, sys, tempfile, warnings, zipfile

warnings.filterwarnings("ignore")
import torch

LIBRARY = torch.library.Library("acme_rows", "DEF")


def define(schema, run):
    LIBRARY.define(schema)
    name = schema[:schema.index("(")]
    LIBRARY.impl(name, run, "CompositeExplicitAutograd")
    torch.library.register_fake("acme_rows::" + name)(run)


define("pool(Tensor x, Tensor rois, int size, float scale=1.0) -> Tensor",
       lambda x, rois, size, scale=1.0: x.mean() * scale + rois[:, :size])
define("fast.one(Tensor x, Tensor? w=None, *, bool flag=False) -> (Tensor, Tensor)", lambda x, w=None, *, flag=False: (x * 2, x + 1))
define("fast.two(Tensor x, int n) -> (Tensor, Tensor)", lambda x, n: (x * n, x + n))
define("pick(Tensor[] xs, int[] dims, str mode) -> Tensor", lambda xs, dims, mode: xs[0] * len(dims))
ops = torch.ops.acme_rows


class Pool(torch.nn.Module):
    def forward(self, x, rois):
        return ops.pool(x, rois, 3, 2.0).relu()


class PoolByDefault(torch.nn.Module):
    def forward(self, x, rois):
        return ops.pool(x, rois, 3).relu()


class PoolTwice(torch.nn.Module):
    def forward(self, x, rois):
        return ops.pool(x, rois, 3) + ops.pool(x, rois, 3, 2.0)


class Fast(torch.nn.Module):
    def forward(self, x, rois):
        first, second = ops.fast(x, None, flag=True)
        return first + second


class FastByName(torch.nn.Module):
    """The file names the overload, which rows for all overloads don't."""

    def forward(self, x, rois):
        first, second = ops.fast.two(x, 3)
        return first + second


class Pick(torch.nn.Module):
    def forward(self, x, rois):
        return ops.pick([x, x + 1], [0, 1], "fast")


MODELS = [Pool, PoolByDefault, PoolTwice, Fast, FastByName, Pick]


class Check:
    def __init__(self, program, folder):
        self.program, self.folder, self.wrong = program, pathlib.Path(folder), []

    def run(self, *arguments):
        return subprocess.run([self.program, *map(str, arguments)], capture_output=True, text=True)

    def expect(self, what, holds, shown=""):
        if not holds:
            self.wrong.append(f"{what}: {shown}")

    def rows(self, what, *arguments):
        """A file of the rows that the report prints; lint takes it."""
        findings = json.loads(self.run(*arguments, "--format", "json").stdout)["findings"]
        rows = [finding["row"] for finding in findings if finding.get("row")]
        rows = [row.replace("facts: TODO", "facts: [same, same]" if "-> (Tensor, Tensor)" in row else "facts: same") for row in rows]
        file = self.folder / f"{what}.yaml"
        file.write_text("\n".join(rows) + "\n")
        lint = self.run("lint", file)
        self.expect(f"{what}: row", rows and lint.returncode == 0, f"{rows} {lint.stdout}{lint.stderr}")
        return file

    def converts(self, what, *arguments, by_position=False):
        run = self.run(*arguments, "--format", "json")
        report = json.loads(run.stdout) if run.stdout else {"findings": []}
        noted = any("matched by position" in finding["message"] for finding in report["findings"])
        self.expect(what, run.returncode == 0 and noted == by_position, f"{run.returncode} {run.stderr} {report['findings']}")


def check_model(check, model):
    name = model.__name__
    inputs = (torch.rand(4, 3), torch.rand(4, 3))
    script, exported = check.folder / f"{name}.pt", check.folder / f"{name}.pt2"
    torch.jit.trace(model().eval(), inputs, check_trace=False).save(str(script))
    torch.export.save(torch.export.export(model().eval(), inputs), exported)
    given = [part for input in json.loads(check.run(script, "--format", "json").stdout)["model"]["inputs"]
             for part in ("--input", input["name"] + "=f32:4,3")]
    rows = check.rows(name, script)
    check.converts(f"{name}.pt", script, "--mappings", rows, *given)
    check.converts(f"{name}.pt2 with the row for the .pt", exported, "--mappings", rows, by_position=True)
    check.converts(f"{name}.pt2", exported, "--mappings", check.rows(name + "_2", exported))


def check_misfits(check):
    """Rows whose schema isn't one of the call: each is refused, with both."""
    model = check.folder / "Pool.pt2"
    for what, schema in (
        ("fewer", "Tensor a, Tensor b"),
        ("more", "Tensor a, Tensor b, int c, float d, int e"),
        ("a default, and other names in another order", "Tensor rois, Tensor x, int c, float d=2.0"),
        ("another type", "Tensor a, Tensor b, float c, str d"),
    ):
        rows = check.folder / "misfit.yaml"
        rows.write_text(f'acme_rows::pool: {{schema: "acme_rows::pool({schema}) -> Tensor", facts: same, 7: {{to: acme::Pool}}}}\n')
        run = check.run(model, "--mappings", rows)
        says = "calls acme_rows::pool(x, rois, size, scale), which doesn't fit acme_rows::pool("
        check.expect(what, run.returncode == 3 and says in run.stderr, f"{run.returncode} {run.stdout} {run.stderr}")
    rows.write_text('acme_rows::pool: {schema: "acme_rows::pool(Tensor a) -> Tensor", facts: same, 7: {to: acme::Pool}}\n')
    run = check.run(check.folder / "Pool.pt", "--mappings", rows)
    check.expect("a misfit of a .pt", "acme_rows::pool(Tensor a) -> Tensor" in run.stderr, run.stderr)


def check_scaffolds(check):
    """Rows to start from have the arguments of the model's calls; those for an engine are ONNX text."""
    for name, schema in (
        ("Pool.pt2", "acme_rows::pool(Tensor x, Tensor rois, int size, float scale) -> Tensor"),
        ("PoolTwice.pt2", "acme_rows::pool(Tensor x, Tensor rois, int size, float? scale=None) -> Tensor"),
        ("Pool.pt", "acme_rows::pool(Tensor arg0, Tensor arg1, int arg2, float arg3) -> Tensor"),
    ):
        for form in ("yaml", "inline"):
            text = check.run("explain", "acme_rows::pool", check.folder / name, "--scaffold", form).stdout
            check.expect(f"{form} of {name}", f'schema: "{schema}"\n' in text, text)
            rows = check.folder / "scaffold.yaml"
            rows.write_text(text.replace("facts: TODO   # for example", "facts: same   #"))
            lint = check.run("lint", rows)
            left = "`TODO` is left to fill in: write ONNX operators" if form == "inline" else "no defects"
            check.expect(f"{form} of {name}: lint", left in lint.stdout, lint.stdout)
            kept = [line for line in text.splitlines() if line.startswith("    ") and ("to:" in line or "inline:" in line)]
            check.expect(f"{form} of {name}: form", kept == ["    to: your.domain::pool" if form == "yaml" else "    inline: |"], kept)
    filled = check.run("explain", "acme_rows::pool", check.folder / "Pool.pt2", "--scaffold", "inline").stdout
    rows.write_text(filled.replace("TODO (x, rois)", "Add (x, rois)"))
    check.converts("the inline form, filled in", check.folder / "Pool.pt2", "--mappings", rows)
    other = check.run("explain", "acme_rows::absent", check.folder / "Pool.pt2", "--scaffold", "yaml")
    says = "doesn't call acme_rows::absent; the custom operators that it calls are acme_rows::pool"
    check.expect("another operator", other.returncode == 2 and says in other.stderr, other.stderr)
    without = check.run("explain", "acme_rows::pool", check.folder / "Pool.pt2")
    check.expect("no scaffold", without.returncode == 2 and "only with --scaffold" in without.stderr, without.stderr)


def check_engine(check):
    """An engine supports nodes of a user's domain even less than others."""
    model = check.folder / "Pool.pt2"
    findings = json.loads(check.run(model, "--target", "tensorrt", "--format", "json").stdout)["findings"]
    (row,) = [finding["row"] for finding in findings if finding["id"] == "CC003"]
    check.expect("the row for an engine", "your.domain" not in row and "{ result = TODO (x, rois) }" in row, row)
    rows = check.folder / "engine.yaml"
    rows.write_text(row + "\n")
    lint = check.run("lint", rows)
    check.expect("what is left", lint.returncode == 1 and "`TODO` is left" in lint.stdout and lint.stdout.endswith("1 defect\n"), lint.stdout)
    rows.write_text(row.replace("TODO", "Add") + "\n")
    check.converts("filled in", model, "--mappings", rows, "--target", "tensorrt")
    mapped = check.run(model, "--target", "tensorrt", "--format", "json", "--mappings", check.folder / "Pool_2.yaml")
    findings = json.loads(mapped.stdout)["findings"]
    helps = [finding["help"] for finding in findings if finding["id"].startswith("CC10")]
    says = f"`compatcheck explain acme_rows::pool {model} --scaffold inline`"
    check.expect("a node of the own domain", helps and says in helps[0], helps)


def check_newer_torch(check):
    """An argument that PyTorch's own operator gets in a newer release: no row could name it."""
    model, newer = check.folder / "Pool.pt2", check.folder / "newer.pt2"
    with zipfile.ZipFile(model) as old, zipfile.ZipFile(newer, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            new.writestr(name, content.replace(b'"name": "self"', b'"name": "most"') if name.endswith(".json") else content)
    run = check.run(newer, "--format", "json", "--mappings", check.folder / "Pool_2.yaml")
    findings = [finding for finding in json.loads(run.stdout or '{"findings": []}')["findings"] if finding["severity"] == "error"]
    ids = [(finding["id"], finding.get("row"), "no such overload or argument of aten::relu" in finding["message"]) for finding in findings]
    check.expect("a newer torch", ids == [("CC001", None, True)], f"{findings} {run.stderr}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    with tempfile.TemporaryDirectory() as folder:
        check = Check(parser.parse_args().program, folder)
        for model in MODELS:
            check_model(check, model)
        check_misfits(check)
        check_newer_torch(check)
        check_scaffolds(check)
        check_engine(check)
    print(*check.wrong, sep="\n")
    return 1 if check.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
