#!/usr/bin/env python3
"""verify of a folder, in every format: a line for each model, the pages of those that fail, and the exit code of all."""
import html.parser, json, subprocess, sys
import xml.etree.ElementTree

import torch
from running import run_cases
from torch import nn


class Doubled(nn.Module):
    def forward(self, x):
        return x * 2


class Inverse(nn.Module):
    def forward(self, x):
        return torch.linalg.pinv(x)


class Texts(html.parser.HTMLParser):
    def __init__(self, page):
        super().__init__()
        self.texts, self.tags = [], []
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)

    def handle_data(self, data):
        self.texts.append(data.strip())


def run(verify, code, *words):
    made = subprocess.run([verify.program, "verify", *map(str, words)], capture_output=True, text=True)
    verify.expect(f"exit code of {words}", made.returncode == code, f"{made.returncode}: {made.stdout} {made.stderr}")
    return made


def folder_of_models(verify, name, *broken):
    folder = verify.folder / name
    (folder / "sub").mkdir(parents=True)
    for place in ("net", "sub/net"):
        torch.jit.trace(Doubled(), torch.randn(2, 3)).save(str(folder / f"{place}.pt"))
    torch.export.save(torch.export.export(Doubled(), (torch.randn(2, 3),)), folder / "net.pt2")
    (folder / "graph.ir").write_text("graph(%x : Tensor):\n  %y : Tensor = aten::relu(%x)\n  return (%y)\n")
    if "unconvertible" in broken:
        torch.jit.trace(Inverse(), torch.randn(2, 3)).save(str(folder / "pinv.pt"))
    if "cut" in broken:
        (folder / "cut.pt").write_bytes((folder / "net.pt").read_bytes()[:100])
    return folder


def passing(verify):
    folder = folder_of_models(verify, "good")
    made = run(verify, 0, folder)
    lines = made.stdout.splitlines()
    verify.expect("table", lines[0].split() == ["verdict", "runs", "outputs", "max", "|Δ|", "warnings", "model"], made.stdout)
    models = [str(folder / each) for each in ("net.pt", "net.pt2", "sub/net.pt")]
    verify.expect("models", [line.split()[-1] for line in lines[1:4]] == models, lines)
    verify.expect("verdicts", all(line.startswith("verified ") for line in lines[1:4]), lines)
    verify.expect("end", lines[-2:] == ["3 of 3 models verified", "exit 0"], lines)
    verify.expect("graph text", "graph.ir: skipped" in made.stderr, made.stderr)
    verify.expect("quiet", run(verify, 0, folder, "-q").stdout == "\n3 of 3 models verified\nexit 0\n", "")
    verify.expect("verbose", run(verify, 0, folder, "-v").stdout.count("VERIFIED") == 3, "")


def failing(verify):
    folder = folder_of_models(verify, "bad", "unconvertible", "cut")
    text = run(verify, 3, folder).stdout
    verify.expect("unconvertible", "\nnot convertible " in text and "aten::linalg_pinv" in text, text)
    verify.expect("unreadable", "\nnot run " in text and "cut.pt" in text, text)
    verify.expect("end", text.endswith("3 of 5 models verified\nexit 3\n"), text)
    (folder / "cut.pt").unlink()
    run(verify, 1, folder)
    run(verify, 0, folder, "--fail-on", "never")


def files_of_convert(verify):
    folder, out = folder_of_models(verify, "given"), verify.folder / "out"
    subprocess.run([verify.program, "convert", folder, "-o", out, "-q"], capture_output=True)
    listed = json.loads(run(verify, 0, folder, out, "--format", "json").stdout)
    verify.expect("files", [each["onnx"] for each in listed["verifications"]] ==
                  [str(out / each) for each in ("net.onnx", "net.pt2.onnx", "sub/net.onnx")], listed)
    (out / "sub/net.onnx").unlink()
    verify.expect("a missing file", "there is no such file" in run(verify, 3, folder, out).stdout, "")


def formats(verify):
    folder = folder_of_models(verify, "all", "unconvertible", "cut")
    files = {name: verify.folder / f"report.{name}" for name in ("json", "jsonl", "xml", "md", "html")}
    run(verify, 3, folder, *[word for name, file in files.items() for word in ("--report", {"xml": "junit="}.get(name, "") + str(file))])
    whole = json.loads(files["json"].read_text())
    verify.wrong.extend(f"schema: {error.message}" for error in verify.valid.iter_errors(whole))
    verify.expect("json", [each["exit_code"] for each in whole["verifications"]] == [3, 0, 0, 1, 0] and whole["exit_code"] == 3, whole)
    lines = [json.loads(line) for line in files["jsonl"].read_text().splitlines()]
    verify.expect("lines", lines == whole["verifications"], lines)
    suites = xml.etree.ElementTree.parse(files["xml"]).getroot()
    counts = {name: sum(int(suite.get(name)) for suite in suites) for name in ("tests", "failures", "errors")}
    verify.expect("suites", len(suites) == 5 and {name: int(suites.get(name)) for name in counts} == counts, counts)
    verify.expect("failures", counts["errors"] == 1 and counts["failures"] >= 1, counts)
    markdown = files["md"].read_text()
    verify.expect("markdown", sum(line.startswith("# ") for line in markdown.splitlines()) == 5, markdown)
    page = Texts(files["html"].read_text())
    verify.expect("html", page.tags.count("section") == 5 and page.tags.count("h1") == 5 and "script" not in page.tags, page.tags)
    verify.expect("html's words", any("aten::linalg" in text for text in page.texts), page.texts)


def page_of_one_model(verify):
    file = verify.save(Doubled(), torch.randn(2, 3), name="x<b>&")
    page = run(verify, 0, file, "--format", "html").stdout
    shown = Texts(page)
    verify.expect("title", any("x<b>&.pt · verified" in text for text in shown.texts) and "b" not in shown.tags, shown.texts)
    verify.expect("outputs", "Outputs" in shown.texts and "f32[2,3]" in shown.texts, shown.texts)


def wrong_calls(verify):
    empty = verify.folder / "empty"
    empty.mkdir()
    verify.expect("empty", "no model in this folder" in run(verify, 2, empty).stderr, "")
    folder = folder_of_models(verify, "calls")
    verify.expect("dump", "one model" in run(verify, 2, folder, "--dump", verify.folder / "d").stderr, "")
    verify.expect("three", "at most one folder" in run(verify, 2, folder, empty, empty).stderr, "")
    verify.expect("format", "html" in run(verify, 2, folder, "--report", verify.folder / "x.sarif").stderr, "")


if __name__ == "__main__":
    sys.exit(run_cases((passing, failing, files_of_convert, formats, page_of_one_model, wrong_calls), __doc__))
