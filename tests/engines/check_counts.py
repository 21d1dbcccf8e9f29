#!/usr/bin/env python3
"""A finding of an engine counts nodes of the graph, as all findings do: JSON, SARIF and text have the same sums in runs with --target.

    check_counts.py --program BUILD/compatcheck
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

MODELS = pathlib.Path(__file__).resolve().parents[1] / "cli" / "models"
TARGETS = ["ort-cpu", "ort-xnnpack", "tensorrt", "mnn", "acme.yaml"]

# Calls that become several nodes of one ONNX operator.
MANY = """graph(%x : Double(2, 3), %z : Double(2, 3)):
  %a : Double(2, 3) = aten::sinc(%x), scope: __module.first
  %b : Double(2, 3) = aten::logaddexp(%a, %z), scope: __module.second
  %c : Double(2, 3) = aten::logaddexp(%b, %z), scope: __module.second
  return (%c)
"""
# Everything is out of range: a finding without sites.
ACME = 'engine: acme\nversion: "1"\nopsets: 7-8\noperators: {Relu: yes}\n'


def sums(program, folder, model):
    def run(*words):
        done = subprocess.run([program, *map(str, words)], capture_output=True, text=True, timeout=120, cwd=folder)
        if done.returncode not in (0, 1):
            raise RuntimeError(f"{words}: exit {done.returncode}: {done.stderr}")
        return done.stdout
    report = json.loads(run(model, *[word for target in TARGETS for word in ("--target", target)], "--format", "json"))
    saved = folder / "saved.json"
    saved.write_text(json.dumps(report))
    findings = [finding for finding in report["findings"] if "target" in finding]
    results = [result for result in json.loads(run("render", saved, "--format", "sarif"))["runs"][0]["results"] if "target" in result["properties"]]
    names = "|".join(re.escape(target["target"]) for target in report["targets"])
    text = re.findall(rf"^  CC1\d\d .* ([\d,]+) nodes? .*(?:{names})$", run("render", saved, "--format", "text"), re.M)
    return findings, {"json": sum(finding["nodes"] for finding in findings), "sarif": sum(result["occurrenceCount"] for result in results),
                      "sarif's properties": sum(result["properties"]["nodes"] for result in results), "text": sum(int(number.replace(",", "")) for number in text)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True, type=pathlib.Path)
    program = parser.parse_args().program.resolve()
    wrong = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "many.ir").write_text(MANY)
        (folder / "acme.yaml").write_text(ACME)
        for model in [folder / "many.ir", *(MODELS / each for each in ("relu.ir", "branch.ir", "warp.ir", "roi_align.ir"))]:
            findings, counted = sums(program, folder, model)
            print(model.name, counted)
            if not findings or len(set(counted.values())) != 1:
                wrong.append(f"{model.name}: {counted}")
            wrong += [f"{model.name}: {finding['nodes']} nodes, {len(finding['sites'])} sites: {finding['message']}"
                      for finding in findings if finding["sites"] and finding["nodes"] != len(finding["sites"])]
    print(*wrong, sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
