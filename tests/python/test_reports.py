"""Reports have the JSON's fields, and every format of the command line byte by byte."""
import copy, json, pickle, subprocess

import compatcheck, pytest, samples

FORMATS = ["text", "json", "jsonl", "sarif", "junit", "github", "gitlab", "markdown", "html", "allowlist-yaml"]


def output_of_program(*words):
    return subprocess.run([samples.PROGRAM, *map(str, words), "--no-config", "--color", "never"], capture_output=True, text=True).stdout


@pytest.mark.parametrize("format", FORMATS)
def test_formats_are_the_programs(format):
    report = compatcheck.check(samples.MISSING, opset=11)
    assert report.render(format) == output_of_program(samples.MISSING, "--opset", 11, "--format", format)
    both = compatcheck.check(samples.MISSING, opset=[11, 19])
    assert both.render(format) == output_of_program(samples.MISSING, "--opset", "11,19", "--format", format)


def test_fields():
    report = compatcheck.check(samples.MISSING)
    assert report.to_dict() == json.loads(report.to_json())
    assert (report.verdict, report.convertible, report.exit_code, report.summary.missing) == ("no", False, 1, 3)
    first = report.findings[0]
    assert (first.id, first.severity, first.available_from) == ("CC002", "error", 19)
    assert first.sites[0].file == "models/align.py" and first.sites[0].line == 88
    assert {op.op: op.operator_class for op in report.operators}["aten::relu"] == "one_to_one"
    assert report.targets == () and report.graph is None and report.export_type == "onnx" and report.written is None
    assert repr(report).startswith("<Report ") and str(report) == report.to_text()


def test_signature():
    signature = compatcheck.check(samples.EXPORTED).signature
    assert [each.type[:4] for each in (*signature.inputs, *signature.outputs)] == ["f32["] * 2 and signature.traced_batches == ()
    assert compatcheck.check(samples.MISSING).signature is None


def test_several_opsets():
    reports = compatcheck.check(samples.MISSING, opset=range(17, 20))
    assert len(reports) == 3 and [report.opset for report in reports] == [17, 18, 19]
    assert reports.at(19).summary.missing == 2 and reports[0].opset == 17
    assert reports.totals.models == 1 and reports.totals.no == 1 and reports.exit_code == 1
    assert reports.to_dict() == json.loads(reports.to_json())
    passing = samples.GRAPHS / "late.ir"
    opsets = {opset: compatcheck.check(passing, opset).exit_code for opset in (7, 17, 20, 26)}
    if len(set(opsets.values())) == 2:   # of a range one opset is enough, and each of a list must pass
        assert compatcheck.check(passing, opset=range(7, 27)).exit_code == 0
        assert compatcheck.check(passing, opset=list(opsets)).exit_code == 1


def test_copies():
    for report in (compatcheck.check(samples.MISSING), compatcheck.check(samples.MISSING, [11, 17]), compatcheck.convert(samples.EXPORTED)):
        for other in (pickle.loads(pickle.dumps(report)), copy.deepcopy(report)):
            assert other == report and other.to_html() == report.to_html()
    assert compatcheck.check(samples.MISSING, [11, 17]) != compatcheck.check(samples.MISSING, [11, 18])


def test_tables():
    report = compatcheck.check(samples.MISSING)
    table = report.to_pandas()
    assert list(table["op"]) == [op.op for op in report.operators] and set(table["opset"]) == {17}
    findings = report.to_pandas("findings")
    assert len(findings) == sum(max(1, len(finding.sites)) for finding in report.findings) and "line" in findings
    assert len(compatcheck.check(samples.MISSING, [11, 17]).to_pandas()) == 2 * len(table)
    with pytest.raises(ValueError, match="no table"):
        report.to_pandas("cells")


def test_notebook():
    page = compatcheck.check(samples.MISSING)._repr_html_()
    assert page.startswith("<iframe srcdoc=") and "sandbox" in page and "&lt;!doctype html&gt;" in page.lower()


def test_verification_formats():
    verification = compatcheck.verify(samples.EXPORTED, runs=1)
    assert json.loads(verification.to_json())["passed"] is True
    assert verification.to_dict()["outputs"] == json.loads(verification.to_json())["outputs"]
    assert "<testsuite" in verification.to_junit() and verification.to_markdown().strip() and verification.to_text().strip()
    assert list(verification.to_pandas()["name"]) == [output.name for output in verification.outputs]
