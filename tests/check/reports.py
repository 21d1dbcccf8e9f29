"""Runs the program over many models in one call and gives back its reports by model and opset; none of a model that can't be read."""
import json, pathlib, subprocess


def reports(program, files, opsets, arguments=()):
    found = {}
    for start in range(0, len(files), 500):  # a command line has its limits
        part = [str(file) for file in files[start:start + 500]]
        command = [program, *part, "--opset", ",".join(map(str, opsets)), "--format", "jsonl", *arguments]
        run = subprocess.run(command, capture_output=True, text=True, timeout=1500)
        if run.returncode < 0:
            raise SystemExit(f"the program died of signal {-run.returncode}: {run.stderr[-500:]}")
        for line in run.stderr.splitlines():
            print("stderr:", line)
        for line in run.stdout.splitlines():
            report = json.loads(line)
            if "error" in report:
                continue
            found[pathlib.Path(report["model"]["path"]).stem, report["opset"]] = report
    return found


def refusals(report, missing_only=False):
    """Errors but for CC006, which an --input would settle, and CC007, a write in place that isn't proved: that one is refused on
    purpose where PyTorch's exporter goes on, rightly or wrongly. CC005 refuses a call of an operator that isn't missing."""
    left_out = ("CC005", "CC006", "CC007") if missing_only else ("CC006", "CC007")
    return [f"{f['id']} {f['op']} {f['message']}" for f in report["findings"] if f["severity"] == "error" and f["id"] not in left_out]
