#!/usr/bin/env python3
"""The HTML report in a real browser: what it shows is what the JSON says, it works by keyboard, and nothing in it runs or loads.

    check_page.py --program build/compatcheck [--only NAME] [--keep FOLDER]
"""
import argparse
import json
import pathlib
import subprocess
import tempfile

import axe_playwright_python
import sample_reports as samples
from browser import Watched, browser, make_page

AXE = pathlib.Path(axe_playwright_python.__file__).with_name("axe.min.js")


class Pages:
    """Each page is made once."""

    def __init__(self, program, folder):
        self.program, self.folder, self.made = program, folder, {}

    def get(self, name):
        if name not in self.made:
            reports = SAMPLES[name]()
            source = self.folder / "source"
            write_sources(source)
            self.made[name] = (make_page(self.program, reports, self.folder / f"{name}.html", "--source-root", source), reports)
        return self.made[name]


SAMPLES = {
    "network": lambda: samples.listed([samples.report("models/flow_net.pt", samples.network(600, odd=0.2))]),
    "small": lambda: samples.listed([samples.report("models/small.pt", samples.network(150, odd=0.3))]),
    "large": lambda: samples.listed([samples.report("models/large.pt", samples.network(5000))]),
    "flat": lambda: samples.listed([samples.report("models/flat.pt", samples.flat(5000))]),
    "undrawn": lambda: samples.listed([samples.report("models/flow_net.pt", samples.network(600, odd=0.2), with_graph=False)]),
    "engines": samples.opsets_and_engines,
    "many": lambda: samples.many(300),
    "few": lambda: samples.many(8),
    "hostile": samples.hostile,
    "failure": lambda: samples.listed([samples.failure("models/cut.pt")]),
    "convertible": lambda: samples.listed([samples.report("models/net.pt", samples.flat(40), 17)]),
}


def write_sources(root):
    (root / "models").mkdir(parents=True, exist_ok=True)
    (root / "models" / "net.py").write_text("".join(f"line {i} </script><b>\n" for i in range(1, 60)))
    outside = root.parent / "outside.py"
    outside.write_text("secret\n" * 9)
    link = root / "linked.py"
    if not link.is_symlink():
        link.symlink_to(outside)


def text(page, selector):
    return page.locator(selector).first.inner_text()


def rows(page, section):
    return page.locator(f"#{section} tbody tr:not(.detail)")


def show_everything(page):
    page.evaluate("showAll()")


def until(page, expression):
    """The page's policy lets no text be run, which Playwright's own waiting needs."""
    for _ in range(600):
        if page.evaluate(expression):
            return
        page.wait_for_timeout(100)
    raise AssertionError(f"not so after a minute: {expression}")


# --- what is shown ---------------------------------------------------------------------------------------------------

def data_is_the_json(started, pages):
    """The page holds the reports as --format json has them, and the same reports give the same page."""
    for name in ("network", "engines", "hostile"):
        file, reports = pages.get(name)
        plain = json.loads(subprocess.run([pages.program, "render", file.with_suffix(".json"), "--format", "json"], stdout=subprocess.PIPE, check=True).stdout)
        with Watched(started, file) as watched:
            held = json.loads(watched.page.locator("#report").text_content())
        assert held["reports"] == plain.get("reports", [plain])
        assert held["totals"] == reports["totals"], (held["totals"], reports["totals"])
        again = make_page(pages.program, reports, pages.folder / "again.html", "--source-root", pages.folder / "source")
        assert again.read_bytes() == file.read_bytes()


def counts_are_the_jsons(started, pages):
    for name in ("network", "large", "flat", "undrawn", "convertible"):
        file, reports = pages.get(name)
        report = reports["reports"][0]
        with Watched(started, file) as watched:
            page = watched.page
            show_everything(page)
            operators, findings = report["operators"], report["findings"]
            assert text(page, "#operators .count") == f"{len(operators)} of {len(operators)} operators · {sum(op['nodes'] for op in operators):,} nodes"
            assert rows(page, "operators").count() == len(operators)
            cells = page.eval_on_selector_all(
                "#operators tbody tr:not(.detail)",
                "rows => rows.map(row => [row.cells[0].innerText.trim(), row.cells[6].innerText, row.cells[7].innerText])")
            want = [[f"{op['op']}.{op['overload']}".rstrip("."), f"{op['blocked']:,}", f"{op['nodes']:,}"] for op in operators]
            assert sorted(cells) == sorted(want), (cells, want)
            assert page.locator(".finding").count() == len(findings)
            assert page.locator(".finding .sites > li").count() == sum(len(one["sites"]) for one in findings)
            suppressed = sum("suppressed" in one for one in findings)
            assert page.locator(".finding .suppressed").count() == suppressed
            assert (page.get_by_text("Allowed, not counted").count() == 1) == bool(suppressed)
            bars = page.eval_on_selector_all(".bars > div", "rows => rows.map(row => row.innerText.match(/[0-9,]+ (operator|node)/g).map(text => parseInt(text.replace(',', ''))))")
            for kind, bar in zip(("one_to_one", "one_to_many", "missing"), bars):
                assert bar == [report["summary"][kind], sum(op["nodes"] for op in operators if op["class"] == kind)], (kind, bar)
            if "graph" in report:
                assert text(page, "#graph .count") == f"{len(report['graph']['nodes']):,} nodes"
                nodes = page.evaluate("shown.parts.find(part => part.id === 'graph').view.leaves.map(leaf => [leaf.label, leaf.path, leaf.outcome])")
                graph = report["graph"]
                assert nodes == [[graph["operators"][op], graph["modules"][module], outcome] for op, module, outcome, *_ in graph["nodes"]]


def verdict_stands_first(started, pages):
    for name, verdict in (("network", "Not convertible"), ("convertible", "Convertible"), ("failure", "Not checked")):
        with Watched(started, pages.get(name)[0]) as watched:
            assert watched.page.locator("main > :first-child .verdict").inner_text() == verdict
            assert verdict.lower() in watched.page.title()
    with Watched(started, pages.get("failure")[0]) as watched:
        assert "the file ends within its directory\n  at byte 4,096" in watched.page.locator(".reason").text_content()


def opsets_by_engines(started, pages):
    file, reports = pages.get("engines")
    with Watched(started, file) as watched:
        page = watched.page
        lines = page.eval_on_selector_all(".matrix tbody tr", "rows => rows.map(row => [...row.cells].map(cell => cell.innerText))")
        assert len(lines) == len(reports["reports"])
        for line, report in zip(lines, reports["reports"]):
            assert line[0] == f"opset {report['opset']}" and line[2] == str(report["summary"]["missing"])
            for cell, target in zip(line[6:], report["targets"]):
                assert f"{target['supported']:,} of {target['nodes']:,} nodes" in cell and str(target["partitions"]) in cell
                older = sum(form["calls"] for form in target.get("older_forms", ()))
                assert ("in older forms" in cell) == bool(older) and (not older or f"{older} calls in older forms" in cell)
        whole = page.locator(".finding", has_text="the engine supports models of opset 18 to 24")
        assert text(whole, "h4 code") == "the model" and text(whole.locator("xpath=ancestor::*[h3]").last, "h3").startswith("Engines")
        page.locator(".matrix a", has_text="opset 16").click()
        assert "opset 16" in text(page, "#verdict .quiet") and text(page, ".matrix [aria-current]") == "opset 16"
        table = page.locator("#opsets details").nth(1)
        table.locator("summary").click()
        assert table.locator("tbody tr").count() == len(reports["reports"][2]["targets"][1]["operators"])


def words_are_the_text_s(started, pages):
    for name in ("network", "convertible"):
        file, _ = pages.get(name)
        plain = subprocess.run([pages.program, "render", file.with_suffix(".json"), "--format", "text"], stdout=subprocess.PIPE, check=True, text=True).stdout
        with Watched(started, file) as watched:
            headline = text(watched.page, ".headline")
            assert any(line.endswith("    " + headline) for line in plain.splitlines()), (headline, plain)


def models_and_totals(started, pages):
    file, reports = pages.get("many")
    totals = reports["totals"]
    with Watched(started, file) as watched:
        page = watched.page
        assert text(page, "h1") == f"{totals['yes']} of {totals['models']} models convert"
        assert [int(tile) for tile in page.locator(".tiles dd").all_inner_texts()] == [totals[key] for key in ("yes", "no", "needs_input", "not_checked")]
        shown = page.eval_on_selector_all("#missing tbody tr", "rows => rows.map(row => [...row.cells].map(cell => cell.innerText.replace(',', '')))")
        want = {one["op"]: [one["models"], one["nodes"], 0] for one in totals["missing"]}
        for each in reports["reports"]:
            for op in each.get("operators", ()):
                if op["class"] != "missing" and op["blocked"]:
                    entry = want.setdefault(op["op"], [0, 0, 0])
                    entry[0], entry[2] = entry[0] + 1, entry[2] + op["blocked"]
        assert {row[0]: [int(cell) for cell in row[1:]] for row in shown} == want, (shown, want)
        assert any(refused for _, _, refused in want.values()) and [int(row[1]) for row in shown] == sorted((int(row[1]) for row in shown), reverse=True)
        assert rows(page, "models").count() < totals["models"]
        page.get_by_role("button", name=f"Show all {totals['models']} models").click()
        assert rows(page, "models").count() == totals["models"]
        page.locator("#models input").fill("family_3/")
        matching = [one for one in reports["reports"] if "family_3/" in one["model"]["path"]]
        assert text(page, "#models .count") == f"{len(matching)} of {totals['models']} models" and rows(page, "models").count() == len(matching)
        page.locator("#models tbody a").first.click()
        name = matching[0]["model"]["path"].rpartition("/")[2]
        page.wait_for_function("name => document.querySelector('h1').innerText.trim() === name", arg=name)
        assert text(page, "h1") == name
        page.get_by_role("link", name=f"All {totals['models']} models").click()
        rows(page, "models").first.wait_for()   # the page is drawn after the click


# --- how it works ----------------------------------------------------------------------------------------------------

def operators_filter_and_sort(started, pages):
    with Watched(started, pages.get("network")[0]) as watched:
        page = watched.page
        page.locator("#operators input").fill("LAYER_norm")
        assert rows(page, "operators").count() == 0 and text(page, "#operators .count").startswith("0 of ")
        page.locator("#operators input").fill("linear")
        assert rows(page, "operators").all_inner_texts()[0].split()[0] == "aten::linear"
        page.locator("#operators input").fill("")
        page.locator("#operators").get_by_label("Class").select_option("missing")
        assert rows(page, "operators").count() == 2
        page.locator("#operators").get_by_label("Outcome").select_option("partly")
        assert rows(page, "operators").count() == 0
        page.locator("#operators").get_by_label("Class").select_option("")
        assert [row.split()[0] for row in rows(page, "operators").all_inner_texts()] == ["aten::gelu"]
        page.locator("#operators").get_by_label("Outcome").select_option("")
        nodes = lambda: [int(cell.replace(",", "")) for cell in page.locator("#operators tbody tr:not(.detail) td:nth-child(8)").all_inner_texts()]
        assert nodes() == sorted(nodes(), reverse=True)
        header = page.locator("#operators thead th", has_text="Nodes")
        header.get_by_role("button").click()
        assert nodes() == sorted(nodes()) and header.get_attribute("aria-sort") == "ascending"
        page.locator("#operators thead th").first.get_by_role("button").press("Enter")
        names = [row.split()[0] for row in rows(page, "operators").all_inner_texts()]
        assert names == sorted(names) and header.get_attribute("aria-sort") is None
        opener = rows(page, "operators").first.get_by_role("button")
        opener.press("Enter")
        assert opener.get_attribute("aria-expanded") == "true" and "mappings/operators/net.yaml:5" in text(page, "#operators .detail:not([hidden])")


def findings_open_and_copy(started, pages):
    with Watched(started, pages.get("network")[0], permissions=["clipboard-read", "clipboard-write"]) as watched:
        page = watched.page
        finding = page.locator(".finding", has_text="acme::fused_bias").first
        opener = finding.locator("h4 button")
        if opener.get_attribute("aria-expanded") == "true":
            opener.press("Enter")
        assert not finding.locator(".panel").is_visible()
        opener.press("Enter")
        assert opener.get_attribute("aria-expanded") == "true"
        assert "line 2" in text(finding.page, ".snippet .here") and "</script><b>" in text(finding.page, ".snippet .here")
        finding.get_by_role("button", name="Copy row").click()
        until(page, "document.getElementById('said').textContent === 'row copied'")
        assert page.evaluate("navigator.clipboard.readText()") == "acme::fused_bias: {9: {to: acme.ops::FusedBias, inputs: [x, bias]}}"
        page.locator("#findings input").fill("CC004")
        assert text(page, "#findings .count").startswith("2 of ") and page.locator(".finding").count() == 2
        page.locator(".steps .link").first.click()
        assert page.evaluate("document.activeElement.closest('.finding') !== null") and page.locator("#findings input").input_value() == ""
        finding.locator(".sites .link").first.click()
        assert page.locator("[role=treeitem][aria-selected=true]").inner_text().startswith("acme::fused_bias")


def dependents_show_and_filter(started, pages):
    """What hangs on a finding stands in its message, in a page that a check itself writes: of operators that are missing, too."""
    model, file = pages.folder / "chain.ir", pages.folder / "chain.html"
    model.write_text("graph(%x : Float(2, 3)):\n  %a : Tensor = acme::encode(%x)\n  %b : Tensor = aten::relu(%a)\n  %c : Tensor = aten::tanh(%b)\n  %d : Tensor = aten::tanh(%c)\n"
                     "  %e : Tensor = acme::decode(%x)\n  return (%d, %e)\n")
    subprocess.run([pages.program, "check", model, "--report", file, "--report", f"json={file.with_suffix('.json')}", "-q"], stdout=subprocess.PIPE, check=False)
    report = json.loads(file.with_suffix(".json").read_text())
    found = {finding["op"]: finding for finding in report["findings"]}
    hanging = "3 more nodes don't convert because they depend on this operator: aten::tanh (2), aten::relu (1)"
    assert found["acme::encode"]["message"].endswith(hanging) and "depend" not in found["acme::decode"]["message"], found
    with Watched(started, file) as watched:
        page = watched.page
        show_everything(page)
        cause = page.locator(".finding", has_text="acme::encode")
        assert cause.count() == 1 and hanging in cause.inner_text(), cause.inner_text()
        field, count = page.locator("#findings input"), f"of {len(report['findings'])} "
        for word, left in (("aten::tanh", "acme::encode"), ("depend", "acme::encode"), ("acme::decode", "acme::decode")):
            field.fill(word)
            assert page.locator(".finding").count() == 1 and page.locator(".finding h4 code").first.inner_text() == left, word
            assert text(page, "#findings .count").startswith(f"1 {count}"), text(page, "#findings .count")
        field.fill("aten::sigmoid")
        assert page.locator(".finding").count() == 0
        field.fill("")
        page.locator("#findings").get_by_label("Severity").select_option("error")
        assert hanging in page.locator(".finding", has_text="acme::encode").inner_text()
        outcomes = page.eval_on_selector_all("#operators tbody tr:not(.detail)", "rows => rows.map(row => [row.cells[0].innerText.trim(), row.cells[6].innerText])")
        blocked = {op["op"]: str(op["blocked"]) for op in report["operators"]}
        assert dict(map(tuple, outcomes)) == blocked, (outcomes, blocked)
        words = dict(page.eval_on_selector_all("#operators tbody tr:not(.detail)", "rows => rows.map(row => [row.cells[0].innerText.trim(), row.cells[2].innerText.trim()])"))
        assert words == {"acme::encode": "blocked", "acme::decode": "blocked", "aten::relu": "depends on another", "aten::tanh": "depends on another"}, words
        page.locator("#operators").get_by_label("Outcome").select_option("waits")
        assert rows(page, "operators").count() == 2
    bare = {name: value for name, value in report.items() if name != "graph"}
    with Watched(started, make_page(pages.program, samples.listed([bare]), pages.folder / "bare.html")) as watched:
        assert watched.page.locator("#operators .tag", has_text="depends on another").count() == 2


def onnx_files_are_no_conversions(started, pages):
    """An ONNX file isn't converted: neither its own page nor the overview says so."""
    onnx_file = samples.report("models/net.onnx", samples.flat(9), 17)
    onnx_file["model"] |= {"format": "onnx", "description": "ONNX"}
    with Watched(started, make_page(pages.program, samples.listed([onnx_file]), pages.folder / "onnx.html")) as watched:
        assert text(watched.page, ".verdict").strip() == "ONNX model" and watched.page.locator(".todo").count() == 0
        assert "convert" not in watched.page.title()
    other = samples.report("models/net.pt", samples.flat(9), 17)
    made = make_page(pages.program, samples.listed([onnx_file, other]), pages.folder / "both.html")
    with Watched(started, made) as watched:
        assert text(watched.page, "h1") == "1 of 1 model converts" and [tile.split() for tile in watched.page.locator(".tiles > div").all_inner_texts()][-1][-1] == "1"
        assert watched.page.locator("#models .tag", has_text="ONNX model").count() == 1


def commands_can_be_pasted(started, pages):
    """A command under "What to do" writes the model, whatever its name is."""
    folder = pages.folder / "it's here"
    folder.mkdir(exist_ok=True)
    model, file = folder / "some net.ir", pages.folder / "paste.html"
    model.write_text("graph(%x : Float(2, 3)):\n  %a : Tensor = aten::relu(%x)\n  return (%a)\n")
    subprocess.run([pages.program, "check", model, "--report", file, "-q"], stdout=subprocess.PIPE, check=True)
    with Watched(started, file) as watched:
        command = text(watched.page, ".todo pre")
        footer, libtorch = text(watched.page, "#about"), watched.page.locator("#model").inner_text()
    assert "libtorch" not in footer + libtorch, libtorch
    subprocess.run(["bash", "-c", command.replace("compatcheck ", f"'{pages.program}' ", 1)], cwd=folder, check=True, capture_output=True)
    assert (folder / "some net.onnx").is_file(), command
    late = samples.report("models/late.pt", samples.flat(9), 9)
    late |= {"verdict": "no", "summary": late["summary"] | {"lowest_opset": 11, "convertible": False}}
    with Watched(started, make_page(pages.program, samples.listed([late]), pages.folder / "late.html")) as watched:
        assert text(watched.page, ".todo pre") == "compatcheck convert models/late.pt -o late.onnx --opset 11"


def backticks_are_code(started, pages):
    with Watched(started, pages.get("network")[0]) as watched:
        card = watched.page.locator(".finding", has_text="ONNX has no pseudo-inverse")
        assert card.locator(".help code", has_text="compatcheck explain aten::linalg_pinv").count() == 1
        assert "`" not in watched.page.locator("#main").inner_text()
        assert watched.page.locator(".todo pre", has_text="acme::fused_bias: {9:").count() == 1   # the row to paste


def graph_says_what_flows(started, pages):
    """The panel of a node has its call, the dtype and shape of its results, and the ONNX nodes that it becomes."""
    with Watched(started, pages.get("network")[0]) as watched:
        page = watched.page
        page.evaluate("(() => { const view = shown.parts.find(part => part.id === 'graph').view; view.select(view.leaves.find(leaf => leaf.label === 'aten::linear')); })()")
        detail = text(page, ".box-detail")
        assert "linear(x)" in detail and "Gives f32[batch, " in detail and "ONNX Transpose, MatMul, Add" in detail, detail
        assert page.locator(".box-detail li .quiet", has_text="f32[batch, ").count() > 0
        drawn = page.evaluate("""(() => { const view = shown.parts.find(part => part.id === 'graph').view, written = [];
            const before = CanvasRenderingContext2D.prototype.fillText;
            CanvasRenderingContext2D.prototype.fillText = function (text) { written.push(text); };
            view.drawing.show(view.selected); view.drawing.zoom(2.5); view.drawing.drawNow();
            CanvasRenderingContext2D.prototype.fillText = before; return written; })()""")
        assert any(word.startswith("f32[batch, ") for word in drawn), drawn


def columns_keep_their_width(started, pages):
    """On a narrow screen a table scrolls, and a name isn't broken into letters."""
    with Watched(started, pages.get("network")[0], viewport={"width": 400, "height": 800}) as watched:
        page = watched.page
        heights = page.eval_on_selector_all("#operators tbody tr:not(.detail) th code", "all => all.map(each => each.getClientRects().length)")
        assert heights and max(heights) == 1, heights
        buttons = page.eval_on_selector_all(".buttons button", "all => all.map(each => each.getBoundingClientRect().height)")
        assert max(buttons) < 40, buttons


def tree_by_keyboard(started, pages):
    for name in ("network", "undrawn"):
        with Watched(started, pages.get(name)[0]) as watched:
            page = watched.page
            tree = page.get_by_role("tree")
            active = lambda: page.evaluate("document.getElementById(document.querySelector('[role=tree]')"
                                           ".getAttribute('aria-activedescendant'))?.querySelector('.tree-name').textContent")
            expanded = lambda: page.locator("[role=treeitem][aria-selected=true]").get_attribute("aria-expanded")
            tree.focus()
            tree.press("Home")
            assert active() == "the model" and expanded() == "true"
            tree.press("ArrowLeft")
            assert expanded() == "false" and page.get_by_role("treeitem").count() == 1
            tree.press("ArrowRight")
            tree.press("ArrowRight")
            assert active() != "the model" and page.locator("[aria-selected=true]").get_attribute("aria-level") == "2"
            tree.press("End")
            last = active()
            tree.press("ArrowUp")
            assert active() and page.locator("[role=treeitem][aria-selected=true]").is_visible()
            tree.press("Home")
            tree.press("s")
            assert active().startswith("s") and last
            assert page.locator(".box-detail h3").inner_text() == page.evaluate("document.querySelector('[role=treeitem][aria-selected=true] .tree-name').textContent")


def drawing_and_tree_agree(started, pages):
    for name in ("network", "large", "flat"):
        with Watched(started, pages.get(name)[0]) as watched:
            page = watched.page
            canvas = page.locator("canvas")
            canvas.scroll_into_view_if_needed()
            page.evaluate("window.graphView = shown.parts.find(part => part.id === 'graph').view")
            assert page.evaluate("graphView.drawing.element.width > 0")
            until(page, f"{INK} > 4")
            page.evaluate("graphView.select(graphView.leaves.filter(graphView.shows).at(-3))")
            place = page.evaluate("graphView.drawing.screenOf(graphView.selected)")
            chosen = page.locator(".box-detail h3").inner_text()
            page.evaluate("graphView.select(graphView.root, true)")
            assert page.locator(".box-detail h3").inner_text() == "the model"
            canvas.click(position=place)
            assert page.locator(".box-detail h3").inner_text() == chosen
            assert page.evaluate("graphView.opened.has(graphView.selected.parent)") and page.locator("[role=treeitem][aria-selected=true]").count() == 1
            page.get_by_role("button", name="Open all modules").click()
            overlaps = page.evaluate(OVERLAPS)
            assert overlaps == 0, overlaps
            # Only the model itself has modules that read each other: "fuse" stands between stages.
            assert page.evaluate("[...graphView.opened].filter(module => module !== graphView.root "
                                 "&& module.layout?.paths.some(path => path.back)).map(module => module.path)") == []
            for key in ("0", "+", "-", "ArrowDown"):
                canvas.press(key)
            page.get_by_role("button", name="Close all modules").click()
            assert page.evaluate("graphView.opened.size") == 1


# How many colors the drawing has.
INK = """(() => {
  const canvas = graphView.drawing.element, seen = new Set();
  const pixels = new Uint32Array(canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data.buffer);
  for (const pixel of pixels) seen.add(pixel);
  return seen.size;
})()"""

# Boxes of one module, all opened, that lie over each other or leave it; none should.
OVERLAPS = """(() => {
  let wrong = 0;
  for (const module of graphView.opened) {
    const {boxes, width, height} = module.layout ?? {boxes: []};
    const inOrder = [...boxes].sort((a, b) => a.y - b.y);
    inOrder.forEach((a, i) => {
      if (a.x < 0 || a.y < 0 || a.x + a.width > width + 0.5 || a.y + a.height > height + 0.5) wrong += 1;
      for (let j = i + 1; j < inOrder.length && inOrder[j].y < a.y + a.height; ++j) {
        const b = inOrder[j];
        if (a.x + 0.5 < b.x + b.width && b.x + 0.5 < a.x + a.width) wrong += 1;
      }
    });
  }
  return wrong;
})()"""


def nodes_are_found(started, pages):
    file, reports = pages.get("large")
    missing = sum(node[2] == "missing" for node in reports["reports"][0]["graph"]["nodes"])
    with Watched(started, file) as watched:
        page = watched.page
        page.locator("#graph").get_by_label("Outcome").select_option("missing")
        assert text(page, "#graph .count") == f"{missing} nodes"
        met = set()
        for _ in range(missing):
            page.get_by_role("button", name="Next", exact=True).click()
            met.add(page.evaluate("shown.parts.find(part => part.id === 'graph').view.selected.node"))
        assert len(met) == missing
        structural = page.get_by_label("structural nodes")
        structural.check()
        assert page.evaluate(f"shown.parts.find(part => part.id === 'graph').view.leaves.filter(shown.parts.find(part => part.id === 'graph').view.shows).length") == 5000


def theme_changes(started, pages):
    with Watched(started, pages.get("network")[0], color_scheme="dark") as watched:
        page = watched.page
        ground = lambda: page.evaluate("getComputedStyle(document.body).backgroundColor")
        dark, button = ground(), page.locator("#theme")
        assert button.inner_text() == "Light theme"
        button.press("Enter")
        assert ground() != dark and button.inner_text() == "Dark theme"
        page.reload()
        assert ground() != dark and button.inner_text() == "Dark theme"
    with Watched(started, pages.get("network")[0], color_scheme="light") as watched:
        assert watched.page.evaluate("getComputedStyle(document.body).backgroundColor") != dark


# --- what must not happen --------------------------------------------------------------------------------------------

def hostile_names_are_text(started, pages):
    file, reports = pages.get("hostile")
    raw = file.read_bytes().decode()
    data = raw.partition('id="report">')[2].partition("</script>")[0]
    assert not set("<\u2028\u2029") & set(data)
    with Watched(started, file) as watched:
        page = watched.page
        show_everything(page)
        page.evaluate("document.querySelectorAll('button[aria-expanded=false]').forEach(button => button.click())")
        page.evaluate("(() => { const view = shown.parts.find(part => part.id === 'graph').view; view.leaves.forEach(leaf => view.select(leaf)); })()")
        assert page.evaluate("window.broken") is None
        assert page.locator("script").count() == 2 and page.locator("img").count() == 0 and page.locator("[onerror], [style*=url]").count() == 0
        assert page.locator("h4", has_text=samples.HOSTILE[1]).first.is_visible()
        assert not page.evaluate("/[\\u202e\\u0000\\u001b]/.test(document.getElementById('main').textContent)")
        assert "\\u202etxet" in page.locator("#findings").text_content()


def sources_stay_below_the_root(started, pages):
    sites = [{"index": i, "module": "", "file": file, "line": 3, "function": "", "args": ""}
             for i, file in enumerate(["../outside.py", "/x/linked.py", "elsewhere/models/net.py", "models/none.py", ""])]
    report = samples.report("models/net.pt", samples.flat(9), 17)
    report["findings"] = [samples.finding("CC008", "warning", "aten::relu", sites, "message")]
    file = make_page(pages.program, samples.listed([report]), pages.folder / "sources.html", "--source-root", pages.folder / "source")
    with Watched(started, file) as watched:
        held = watched.page.evaluate("data.sources")
    assert held == {"elsewhere/models/net.py": [{"first": 1, "lines": [f"line {i} </script><b>" for i in range(1, 6)]}]}, held
    assert "secret" not in file.read_text()


def paper_holds_everything(started, pages):
    for name in ("network", "engines", "many"):
        with Watched(started, pages.get(name)[0]) as watched:
            page = watched.page
            page.emulate_media(media="print")
            page.evaluate("dispatchEvent(new Event('beforeprint'))")
            assert page.locator("canvas:visible, .bar:visible, .filters:visible, .more:visible, .graph:visible").count() == 0
            assert page.locator(".panel:not(:visible)").count() == page.locator(".panel:empty").count()
            assert page.locator(".verdict:visible").count() or page.locator(".tiles:visible").count()
            if name == "many":
                assert rows(page, "models").count() == 300
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
            assert page.pdf(format="A4").startswith(b"%PDF")


def axe_finds_nothing(started, pages):
    for name in ("small", "engines", "few", "failure"):
        for scheme in ("light", "dark"):
            with Watched(started, pages.get(name)[0], color_scheme=scheme) as watched:
                page = watched.page
                show_everything(page)
                if page.get_by_role("tree").count():
                    page.get_by_role("tree").press("ArrowDown")
                cdp = page.context.new_cdp_session(page)   # the page's own policy lets no other script in
                cdp.send("Runtime.evaluate", {"expression": AXE.read_text()})
                found = page.evaluate("axe.run({runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'best-practice']})")
                violations = [f"{one['id']}: {one['help']}: {[node['html'][:160] for node in one['nodes'][:3]]}" for one in found["violations"]]
                assert not violations, (name, scheme, violations)


def narrow_screens_scroll_one_way(started, pages):
    for name in ("network", "engines", "many", "hostile"):
        with Watched(started, pages.get(name)[0], viewport={"width": 380, "height": 800}) as watched:
            assert watched.page.evaluate("document.documentElement.scrollWidth <= innerWidth"), name


CHECKS = [data_is_the_json, counts_are_the_jsons, verdict_stands_first, opsets_by_engines, words_are_the_text_s, models_and_totals,
          operators_filter_and_sort, findings_open_and_copy, dependents_show_and_filter, onnx_files_are_no_conversions, commands_can_be_pasted,
          backticks_are_code, graph_says_what_flows, columns_keep_their_width, tree_by_keyboard, drawing_and_tree_agree,
          nodes_are_found, theme_changes, hostile_names_are_text, sources_stay_below_the_root, paper_holds_everything,
          axe_finds_nothing, narrow_screens_scroll_one_way]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=pathlib.Path, required=True)
    parser.add_argument("--only", nargs="+", default=[], help="names of checks")
    parser.add_argument("--keep", type=pathlib.Path, help="where pages stay")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary, browser() as started:
        folder = options.keep or pathlib.Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        pages, failed = Pages(options.program.resolve(), folder.resolve()), 0
        for check in CHECKS:
            if options.only and check.__name__ not in options.only:
                continue
            try:
                check(started, pages)
                print(f"ok    {check.__name__}", flush=True)
            except Exception as error:   # the others are run, too
                failed += 1
                line = error.__traceback__
                while line.tb_next and line.tb_next.tb_frame.f_code.co_filename == __file__:
                    line = line.tb_next
                print(f"FAIL  {check.__name__}, line {line.tb_lineno}: {type(error).__name__}: {str(error)[:1500]}", flush=True)
    raise SystemExit(bool(failed))


if __name__ == "__main__":
    main()
