"""The package is typed, its options are those of the C++ headers, and its pinned versions those of the project."""
import re, subprocess, sys, tomllib, typing

import compatcheck, samples
from compatcheck import _core, options

USER = '''
from pathlib import Path

import compatcheck


def gate(model: Path) -> int:
    report = compatcheck.check(model, opset=17, targets=["tensorrt"], inputs={"x": "f32:N,3"}, progress=True)
    names: list[str] = [finding.op for finding in report.findings if finding.severity == "error"]
    lines: set[int] = {site.line for finding in report.findings for site in finding.sites}
    lowest: int | None = report.summary.lowest_opset
    for each in compatcheck.check(model, opset=[11, 17]):
        print(each.opset, each.convertible, names, lines, lowest)
    written = compatcheck.convert(model, "model.onnx", external_data="auto").written
    size: int = written.bytes if written else 0
    verification = compatcheck.verify(model, runs=1)
    print(size, verification.outputs[0].max_abs, compatcheck.ops("relu")[0].result, compatcheck.explain("CC005"))
    return report.exit_code
'''
WRONG = {
    "compatcheck.check('m.pt', opset='17')": "arg-type",
    "compatcheck.check('m.pt', prefer='small')": "call-overload",
    "compatcheck.check('m.pt', colour=True)": "call-overload",
    "compatcheck.check('m.pt').verdikt": "attr-defined",
    "compatcheck.convert('m.pt', targets=['tensorrt'])": "call-arg",
}


def mypy(cache, *words):
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", cache, "--ignore-missing-imports", *words]
    return subprocess.run(command, capture_output=True, text=True, cwd=samples.ROOT / "python")


def test_mypy(tmp_path):
    good, wrong = tmp_path / "good.py", tmp_path / "wrong.py"
    good.write_text(USER)
    wrong.write_text("import compatcheck\n" + "".join(f"{line}\n" for line in WRONG))
    done = mypy(tmp_path, good, "compatcheck")
    assert done.returncode == 0, done.stdout
    output = mypy(tmp_path, wrong).stdout
    for number, code in enumerate(WRONG.values(), 2):
        assert re.search(rf"wrong\.py:{number}: error: .*\[{code}\]", output), (number, code, output)


def fields(header, struct):
    text = (samples.ROOT / "include/compatcheck" / header).read_text()
    body = re.sub(r"//[^\n]*", "", re.search(rf"struct {struct} \{{\n(.*?)^\}};", text, re.S | re.M)[1])
    return {re.search(r"(\w+)\s*(?:\{.*\}|=.*)$", " ".join(member.split()))[1] for member in body.split(";") if member.strip()} - {"run", "accept"}


def test_options_are_those_of_the_headers():
    load, check, convert, verify = fields("load.h", "LoadOptions"), fields("check.h", "CheckOptions"), fields("convert.h", "ConvertOptions"), fields("verify.h", "VerifyOptions")
    own = {"progress", "example_inputs", "example_kwargs", "dynamic_shapes"}
    annotated = {name: set(typing.get_type_hints(getattr(options, name))) for name in ("LoadOptions", "CheckOptions", "ConvertOptions", "VerifyOptions", "ReferenceOptions")}
    assert annotated["LoadOptions"] == load | own
    assert annotated["CheckOptions"] == (load | check | own) - {"opset"}
    assert annotated["ConvertOptions"] == (load | convert | own) - {"opset"}
    assert annotated["VerifyOptions"] == (load | convert | verify | own) - {"opset", "convert"}
    assert annotated["ReferenceOptions"] == fields("reference.h", "ReferenceOptions") - {"opset", "format", "color", "width", "scaffold"}
    for name, struct in (("load", load), ("check", check - {"opset"}), ("convert", convert), ("verify", verify)):
        bound = getattr(_core, f"{name.capitalize()}Options")
        assert struct == {field for field in vars(bound) if not field.startswith("_")}, name


def test_versions_are_the_pinned_ones():
    pinned = (samples.ROOT / "tools/versions.env").read_text()
    versions = dict(re.findall(r"([\w-]+)==([\w.]+)", pinned)) | {name.lower(): version for name, version in re.findall(r"^([A-Z_]+)=([\d.]+)$", pinned, re.M)}
    project = tomllib.loads((samples.ROOT / "pyproject.toml").read_text())
    requirements = project["build-system"]["requires"] + project["project"]["optional-dependencies"]["verify"]
    for name, version in (requirement.split("==") for requirement in requirements if "==" in requirement):
        assert versions[name] == version, name
    assert compatcheck.__version__ == re.search(r"VERSION ([\d.]+)", (samples.ROOT / "CMakeLists.txt").read_text().split("project(")[1])[1]
