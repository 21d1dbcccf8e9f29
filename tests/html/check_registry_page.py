#!/usr/bin/env python3
"""The page of very many reports in a real browser: its rows are those of the JSON, filters leave the right ones, it works by
keyboard, and nothing in it runs or loads.

    check_registry_page.py --program build/compatcheck [--reports 2500]
"""
import argparse
import collections
import json
import pathlib
import subprocess
import tempfile

import axe_playwright_python
import sample_reports as samples
from browser import Watched, browser

AXE = pathlib.Path(axe_playwright_python.__file__).with_name("axe.min.js")


def write_reports(file, count):
    """JSON lines of `count` models, junk and hostile names among them."""
    reports = [samples.registry_report(place) for place in range(count)]
    file.write_text("".join(json.dumps(report) + "\n" for report in reports))
    return reports


def make_page(program, reports, page):
    subprocess.run([program, "render", reports, "--format", "html", "-o", page], check=True)


def missing(report):
    return sorted({each["op"] for each in report.get("operators", ()) if each["class"] == "missing"})


def shown(page):
    """The rows in sight, from the first on."""
    return page.locator("#models tbody tr:not([aria-hidden])")


def count(page):
    return int(page.locator(".count").inner_text().split(" of ")[0].replace(",", ""))


def check_rows(page, reports):
    assert count(page) == len(reports)
    assert shown(page).count() < 100, "all rows were made"
    for place, report in enumerate(reports[:10]):
        cells = shown(page).nth(place).locator("th, td").all_inner_texts()
        assert cells[0] == samples.as_page_shows(report["model"]["path"]), (cells, report["model"]["path"])
        if "error" in report:
            assert cells[1] == "not checked" and cells[5]
        else:
            assert cells[1] == {"yes": "converts", "no": "doesn't convert", "needs_input": "needs input"}[report["verdict"]]
            assert cells[3] == f"{report['summary']['nodes']:,}" and cells[5] == " ".join(missing(report))


def check_scrolling(page, reports):
    scroll = page.locator(".registry-scroll")
    scroll.evaluate("element => { element.scrollTop = element.scrollHeight; }")
    page.locator(f"#models tbody tr[aria-rowindex='{len(reports) + 1}']").wait_for()
    last = shown(page).last.locator("th").inner_text()
    assert last == samples.as_page_shows(reports[-1]["model"]["path"]), last
    assert shown(page).last.get_attribute("aria-rowindex") == str(len(reports) + 1)
    scroll.evaluate("element => { element.scrollTop = 0; }")
    page.locator("#models tbody tr[aria-rowindex='2']").wait_for()   # row 1 is the head


def check_filters(page, reports):
    page.get_by_label("Search the paths").fill("team3/")
    matching = [report for report in reports if "team3/" in report["model"]["path"]]
    assert count(page) == len(matching) > 10
    page.get_by_label("Verdict").select_option("n")
    matching = [report for report in matching if report.get("verdict") == "no"]
    assert count(page) == len(matching) > 0
    assert shown(page).first.locator("th").inner_text() == samples.as_page_shows(matching[0]["model"]["path"])
    page.get_by_label("Search the paths").fill("")
    page.get_by_label("Verdict").select_option("")
    counts = collections.Counter(op for report in reports for op in missing(report))
    op, models = counts.most_common(1)[0]
    page.get_by_label("Missing operator", exact=True).select_option(op)
    assert count(page) == models
    page.get_by_label("Missing operator", exact=True).select_option("")
    bar = page.locator(".registry-bar button").first
    bar.focus()
    page.keyboard.press("Enter")
    assert count(page) == models and page.get_by_label("Missing operator", exact=True).input_value() == op
    page.get_by_label("Missing operator", exact=True).select_option("")
    targets = collections.Counter(each["target"] + "=" + each["support"][0] for report in reports for each in report.get("targets", ()))
    page.get_by_label("Engine").select_option("tensorrt@10.15=n")
    assert count(page) == targets["tensorrt@10.15=n"] > 0
    page.get_by_label("Engine").select_option("")
    assert count(page) == len(reports)


def check_sorting(page, reports):
    page.get_by_role("button", name="Nodes", exact=True).click()
    most = max(report["summary"]["nodes"] for report in reports if "summary" in report)
    assert shown(page).first.locator("td").nth(2).inner_text() == f"{most:,}"
    assert page.locator("#models thead th").nth(3).get_attribute("aria-sort") == "descending"
    page.get_by_role("button", name="Model", exact=True).click()
    assert shown(page).first.locator("th").inner_text() == samples.as_page_shows(min(report["model"]["path"] for report in reports))


def check_accessible(page):
    page.evaluate(AXE.read_text() + "; 0")
    found = page.evaluate("async () => (await axe.run()).violations.map(each => each.id + ': ' + each.nodes.map(node => node.html).join(' ').slice(0, 400))")
    assert not found, found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("--reports", type=int, default=2500)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary, browser() as started:
        folder = pathlib.Path(temporary)
        reports = write_reports(folder / "reports.jsonl", options.reports)
        make_page(options.program, folder / "reports.jsonl", folder / "page.html")
        with Watched(started, folder / "page.html") as watched:
            for check in (check_rows, check_scrolling, check_filters, check_sorting):
                check(watched.page, reports)
            check_accessible(watched.page)
            watched.page.get_by_role("button", name="Dark theme").click()
            check_accessible(watched.page)
        # The same reports in two files, and the same twice, give the same page; contradicting ones are refused.
        lines = (folder / "reports.jsonl").read_text().splitlines(True)
        (folder / "a.jsonl").write_text("".join(lines[:2100]))
        (folder / "b.jsonl").write_text("".join(lines[2000:]))
        subprocess.run([options.program, "render", folder / "a.jsonl", folder / "b.jsonl", "--format", "html", "-o", folder / "parts.html"], check=True)
        assert (folder / "parts.html").read_bytes() == (folder / "page.html").read_bytes()
        place = next(i for i, report in enumerate(reports) if "summary" in report)
        (folder / "c.jsonl").write_text(lines[place].replace('"nodes": ', '"nodes": 9', 1))
        refused = subprocess.run([options.program, "render", folder / "a.jsonl", folder / "b.jsonl", folder / "c.jsonl", "--format", "html"], capture_output=True, text=True)
        assert refused.returncode == 2 and "hold different reports" in refused.stderr and not refused.stdout, refused.stderr
        (folder / "cut.jsonl").write_text("".join(lines) + lines[0][:100])
        refused = subprocess.run([options.program, "render", folder / "cut.jsonl", "--format", "html"], capture_output=True, text=True)
        assert refused.returncode == 3 and f"line {len(lines) + 1}" in refused.stderr and not refused.stdout, refused.stderr


if __name__ == "__main__":
    main()
