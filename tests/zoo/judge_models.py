#!/usr/bin/env python3
"""Converts the models of a folder of make_hf.py, runs them in ONNX Runtime at both of their sizes, and writes the table of all.

    judge_models.py --program build/compatcheck --folder FOLDER [--only REGEX] [--peer] [--report reports/models]

--peer: PyTorch's exporter converts the same programs, too. What was judged before with the same program isn't judged again
(FOLDER/judged.jsonl). Ends with 1 if a model gives other results than PyTorch, or if check and convert don't agree.
"""
import argparse, collections, datetime, hashlib, html, importlib.metadata, json, os, pathlib, re, subprocess, sys, time

import numpy as np
import onnx
import onnxruntime

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "convert"))
from compare_arrays import compare
from in_child import in_child

CONVERTED = ("18", "23")                    # converted and run
CHECKED = ("13", "17", "18", "20", "23", "26")  # verdict alone
TOLERANCE = 1e-3, 1e-4                     # relative, absolute
# The program's results have classes of transformers, which must be known to torch when it reads the file.
PEER = """
import importlib, re, sys, warnings, zipfile
warnings.filterwarnings("ignore")
import torch
from transformers.exporters.exporter_dynamo import register_pytree_node
with zipfile.ZipFile(sys.argv[1]) as archive:
    text = "".join(archive.read(name).decode() for name in archive.namelist() if name.endswith("models/model.json"))
for name in sorted(set(re.findall(r"transformers(?:[.]\\w+)+[.:][A-Z]\\w+", text))):
    module, kind = re.split(r"[.:](?=[A-Z])", name, maxsplit=1)
    try:
        register_pytree_node(getattr(importlib.import_module(module), kind))
    except (AttributeError, ImportError, ValueError):
        pass
torch.onnx.export(torch.export.load(sys.argv[1]), dynamo=True, opset_version=18, verbose=False).save(sys.argv[2])
"""
# A process without libraries, because the memory of a parent counts as that of its child.
RUNNER = """
import json, os, subprocess, sys, tempfile
for line in sys.stdin:
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(json.loads(line), stdin=subprocess.DEVNULL, stdout=out, stderr=errors)
        _, status, use = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        texts = [each.seek(0) or each.read() for each in (out, errors)]
    print(json.dumps([process.returncode, *texts, use.ru_utime + use.ru_stime, use.ru_maxrss / 1024]), flush=True)
"""
runner = subprocess.Popen([sys.executable, "-S", "-E", "-c", RUNNER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def measured(command, timeout=600):
    """Exit code, output, errors, seconds of CPU and MB of memory of a process, which ends with 124 after the timeout."""
    print(json.dumps(["timeout", str(timeout), *command]), file=runner.stdin, flush=True)
    return json.loads(runner.stdout.readline())


def results(session, arrays):
    plain = lambda name: name.replace(".", "_")
    given = {plain(key[3:]): arrays[key] for key in arrays.files if key.startswith("in:")}
    return session.run(None, {each.name: given[plain(each.name)] for each in session.get_inputs()})


def run_onnx(onnx_file, model):
    """Outcome and reason of a converted model on the inputs that it was made with, and on those of other sizes."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    try:
        session = onnxruntime.InferenceSession(str(onnx_file), options, providers=["CPUExecutionProvider"])
        for name in (model.with_suffix(".npz"), model.with_suffix(".2.npz")):
            if name.exists():
                arrays = np.load(name)
                want = [arrays[key] for key in arrays.files if key.startswith("out:")]
                why = compare(results(session, arrays), want, tolerance=TOLERANCE)
                if why:
                    return "wrong", ("at other sizes: " if name.suffixes[-2:-1] == [".2"] else "") + why
    except Exception as error:
        return "runtime", str(error).splitlines()[0][:300]
    return "match", ""


def run_apart(onnx_file, model):
    """The same, in a process of its own: ONNX Runtime may crash."""
    made = in_child(lambda: run_onnx(onnx_file, model))
    return made[0] if made else ("runtime", "ONNX Runtime crashes")


def refusal(program, model, opset):
    """Verdict and reasons of a check."""
    code, out, errors, _, _ = measured([program, "check", str(model), "--opset", opset, "--format", "json"])
    if code not in (0, 1):
        return "error", errors.strip()[:300]
    report = json.loads(out)
    reasons = [f"{each['op']}: {each['message']}" if each["op"] else each["message"] for each in report["findings"] if each["severity"] == "error"]
    return report["verdict"], "; ".join(reasons)[:600]


def left_open(program, model, opset):
    """Why other results may be right, too. verify compares with the program, where torch.export changed what the model gives, and at
    values at which PyTorch leaves nothing open."""
    code, out, _, _, _ = measured([program, "verify", str(model), "--opset", opset, "--format", "json"], 900)
    report = json.loads(out) if out else {}
    if code == 0:
        note = report.get("note") or ""
        return note if "among equal values" in note else "torch.export changed the model's results, and the program's are the same"
    return "the model draws random numbers" if {each["id"] for each in report.get("findings", [])} >= {"CC008"} else ""


def converted_by_peer(model, target):
    code, _, errors, seconds, memory = measured([sys.executable, "-c", PEER, str(model), str(target)], 300)
    run = {"seconds": seconds, "memory": memory, "nodes": None, "outcome": "refused", "why": (errors.strip().splitlines() or [""])[-1][:300]}
    if code == 0 and target.exists():
        run["outcome"], run["why"] = run_apart(target, model)
        run["nodes"] = len(onnx.load(target, load_external_data=False).graph.node)
    remove(target)
    return run


def remove(target):
    """With its external data."""
    for left in target.parent.glob(target.name + "*"):
        left.unlink()


def judged(program, model):
    record = {"model": model.stem, "verdicts": {opset: refusal(program, model, opset)[0] for opset in CHECKED}, "runs": {}}
    target = model.with_suffix(".onnx")
    for opset in CONVERTED:
        code, _, errors, seconds, memory = measured([program, "convert", str(model), "-o", str(target), "--opset", opset, "-q"])
        run = {"seconds": seconds, "memory": memory, "nodes": None}
        if target.exists():
            run["outcome"], run["why"] = run_apart(target, model)
            if run["outcome"] in ("wrong", "runtime") and (why := left_open(program, model, opset)):
                run["outcome"], run["why"] = "open", why
            run["nodes"] = len(onnx.load(target, load_external_data=False).graph.node)
        else:
            run["outcome"], run["why"] = "refused", refusal(program, model, opset)[1] or errors.strip()[:300]
        record["runs"][opset] = run
        record["agree"] = record.get("agree", True) and (record["verdicts"][opset] == "yes") == target.exists()
        remove(target)
    return record


def read_lines(file):
    return [json.loads(line) for line in open(file)] if file.exists() else []


MARKS = {"match": "✓", "open": "✓ as far as it can be compared", "wrong": "wrong", "refused": "refused", "runtime": "runtime"}


def cells(made, judgement):
    """A row of the table: model, class, how it was exported, outcomes, nodes, seconds and memory, ours and the peer's."""
    peer = judgement.get("peer", {})
    ours = judgement["runs"][CONVERTED[0]]
    number = lambda run, key, form: "" if run.get(key) is None else form.format(run[key])
    return [made["type"], made["class"], made["how"], *(MARKS[judgement["runs"][opset]["outcome"]] for opset in CONVERTED),
            MARKS[peer["outcome"]] if peer else "", number(ours, "nodes", "{}"), number(peer, "nodes", "{}"),
            number(ours, "seconds", "{:.2f}"), number(peer, "seconds", "{:.1f}"), number(ours, "memory", "{:.0f}"), number(peer, "memory", "{:.0f}")]


HEAD = ["type", "class", "sizes", *(f"opset {opset}" for opset in CONVERTED), "`dynamo=True`", "nodes", "its nodes", "CPU s", "its CPU s", "MB", "its MB"]


def median(values):
    values = sorted(values)
    return values[len(values) // 2] if values else 0


def summary(tried, rows):
    """Sentences over the table."""
    total = len(rows)
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in ("torch", "transformers", "onnxruntime", "onnxscript"))
    lines = [f"Made on {datetime.date.today()} with {versions}.",
             f"Of {len(tried)} model types that were tried, {total} export with `torch.export`. The other types fail before compatcheck sees them."]
    for opset in CONVERTED:
        counts = collections.Counter(judgement["runs"][opset]["outcome"] for _, judgement in rows)
        lines.append(f"At opset {opset}, {counts['match'] + counts['open']} of {total} convert and give PyTorch's results, {counts['open']} of them as far "
                     f"as they can be compared; {counts['refused']} are refused, {counts['wrong']} differ, and ONNX Runtime doesn't run {counts['runtime']}.")
    with_peer = [judgement for _, judgement in rows if "peer" in judgement]
    if with_peer:
        match = sum(each["peer"]["outcome"] == "match" for each in with_peer)
        ours = [each["runs"][CONVERTED[0]] for each in with_peer]
        lines.append(f"`torch.onnx.export(dynamo=True)` was given {len(with_peer)} of these programs: {match} match, where "
                     f"{sum(each['outcome'] in ('match', 'open') for each in ours)} of compatcheck's do. Median CPU time of a conversion: "
                     f"{median(each['seconds'] for each in ours):.2f} s and "
                     f"{median(each['peer']['seconds'] for each in with_peer):.1f} s.")
    return lines


def uncompared(rows):
    return [(judgement["model"], re.sub(r" at \S+/(?=transformers/)", " at ", run["why"])) for _, judgement in rows for run in judgement["runs"].values()
            if run["outcome"] == "open"]


def write_markdown(file, tried, rows, failures):
    text = ["# Architectures of transformers", "",
            "Tiny models of the model types that `transformers` knows, with random weights, exported by its own exporter and converted by",
            "compatcheck. A model counts as a match if ONNX Runtime gives PyTorch's results for the inputs of the export and, where the program",
            "takes them, for inputs of other sizes. `make models` makes this page.", "", *summary(tried, rows), "", "## What isn't converted", ""]
    text += [f"- {name}, opset {opset}: {why}" for name, opset, why in failures] or ["Nothing."]
    text += ["", "## What can't be compared", ""] + [f"- {name}: {why}" for name, why in sorted(set(uncompared(rows)))]
    text += ["", "## All", "", "| " + " | ".join(HEAD) + " |", "|" + "---|" * len(HEAD)]
    text += ["| " + " | ".join(cells(made, judgement)) + " |" for made, judgement in rows]
    by_stage = collections.Counter(each["stage"] for each in tried.values() if each["status"] != "ok")
    stages = ", ".join(f"{stage} {count}" for stage, count in by_stage.most_common())
    text += ["", "## What doesn't export", "", f"Stages at which types end that compatcheck never sees: {stages}.", ""]
    text += [f"- {each['type']} ({each['stage']}): {' '.join(str(each.get('message', '')).split())[:160]}".replace("|", "/")
             for each in sorted(tried.values(), key=lambda each: each["type"]) if each["status"] != "ok"]
    file.write_text("\n".join(text) + "\n")


SCRIPT = """
const table = document.querySelector("table"), body = table.tBodies[0];
table.tHead.onclick = event => {
  const at = event.target.cellIndex, down = event.target.dataset.down = event.target.dataset.down === "1" ? "0" : "1";
  const key = row => { const text = row.cells[at].textContent, number = parseFloat(text); return isNaN(number) ? text : number; };
  [...body.rows].sort((a, b) => (key(a) > key(b) ? 1 : key(a) < key(b) ? -1 : 0) * (down === "1" ? 1 : -1)).forEach(row => body.append(row));
};
document.querySelector("input").oninput = event =>
  [...body.rows].forEach(row => row.hidden = !row.textContent.toLowerCase().includes(event.target.value.toLowerCase()));
"""


def write_html(file, tried, rows):
    row = lambda made, judgement: "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in cells(made, judgement)) + "</tr>"
    head = "".join(f"<th>{html.escape(name.strip('`'))}</th>" for name in HEAD)
    file.write_text(f"""<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Architectures of transformers</title><style>
body{{font:14px system-ui;margin:2em}}table{{border-collapse:collapse}}td,th{{padding:.2em .6em;border-bottom:1px solid #ccc;text-align:left}}th{{cursor:pointer}}</style>
<h1>Architectures of transformers</h1>{"".join(f"<p>{html.escape(line.replace('`', ''))}</p>" for line in summary(tried, rows))}
<p><label>Filter <input></label></p><table><thead><tr>{head}</tr></thead><tbody>{"".join(row(*each) for each in rows)}</tbody></table><script>{SCRIPT}</script></html>
""")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    parser.add_argument("--folder", type=pathlib.Path, required=True)
    parser.add_argument("--only", default="", help="model types in which this is found")
    parser.add_argument("--peer", action="store_true")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no new model after this time")
    parser.add_argument("--report", type=pathlib.Path, help="PATH.md and PATH.html are written")
    options = parser.parse_args()
    onnxruntime.set_default_logger_severity(4)
    program = hashlib.sha256(pathlib.Path(options.program).read_bytes()).hexdigest()[:16]
    store = options.folder / "judged.jsonl"
    lines = read_lines(store)
    known = {each["model"]: each for each in lines if each["program"] == program}
    peers = {each["model"]: each["peer"] for each in lines if "peer" in each}
    for name in known.keys() & peers.keys():
        known[name]["peer"] = peers[name]
    began = time.monotonic()
    for model in sorted(options.folder.glob("*.pt2")):
        before = known.get(model.stem)
        if not re.search(options.only, model.stem.split(".")[0]) or (before and ("peer" in before or not options.peer)) or time.monotonic() - began > options.seconds:
            continue
        record = before or {"program": program, **judged(options.program, model)}
        if options.peer:
            record["peer"] = peers.get(model.stem) or converted_by_peer(model, model.with_suffix(".onnx"))
        known[model.stem] = record
        with open(store, "a") as lines:
            lines.write(json.dumps(known[model.stem]) + "\n")
    types = {each["type"]: each for each in read_lines(options.folder / "index.jsonl")}
    rows = [(made, known[name]) for made in sorted(types.values(), key=lambda made: made["type"]) if made["status"] == "ok"
            for name in [f"{made['type']}.{made['role']}.{made['how']}"] if name in known]
    failures = [(judgement["model"], opset, run["why"]) for _, judgement in rows for opset, run in judgement["runs"].items() if run["outcome"] not in ("match", "open")]
    for failure in failures:
        print(*failure, sep=": ")
    disagree = [judgement["model"] for _, judgement in rows if not judgement["agree"]]
    for name in disagree:
        print(f"{name}: check and convert don't agree")
    print(*summary(types, rows), sep="\n")
    if options.report:
        write_markdown(options.report.with_suffix(".md"), types, rows, failures)
        write_html(options.report.with_suffix(".html"), types, rows)
    return 1 if disagree or any(run["outcome"] == "wrong" for _, judgement in rows for run in judgement["runs"].values()) else 0


if __name__ == "__main__":
    sys.exit(main())
