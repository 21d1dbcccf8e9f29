#!/usr/bin/env python3
"""compatcheck verify on every model of the tests that converts: as recorded, and with the dimensions named that the model can run with at
another size. It passes, or CC205 tells of a size at which PyTorch itself fails, or CC008 of a model that is random.

    verify_models.py --program BUILD/compatcheck --models DIR [--only REGEX] [--opsets 17] [--full]
"""
import argparse, collections, json, pathlib, re, subprocess, sys, warnings

warnings.filterwarnings("ignore")
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "convert"))
import torch

from days import part_of_the_day
from model_inputs import free_dims
from run_models import Subject


def verify(program, file, opset, texts, dims=()):
    given = [part for text in texts for part in ("--input", text)] + [part for dim in dims for part in ("--dim", dim)]
    run = subprocess.run(
        [program, "verify", file, "--opset", str(opset), "--bisect", "--format", "json", *given],
        capture_output=True,
        text=True,
        timeout=600,
    )
    if not run.stdout:
        return "unrunnable" if "PyTorch itself doesn't run" in run.stderr else "error", run.stderr.strip()[:300]
    report = json.loads(run.stdout)
    if "report" in report:
        return "unconvertible", ""
    ids = {finding["id"] for finding in report["findings"]}
    if run.returncode == 0:
        sizes = {name: {one["sizes"][name] for one in report["runs"] if name in one["sizes"]} for name in report["runs"][0]["sizes"]}
        few = [name for name, seen in sizes.items() if len(seen) < 2 and not dims]
        return ("passed", "") if not few or "CC205" in ids else ("wrong", f"{few} had one size only")
    if ids == {"CC008"}:
        return "random", ""
    return "wrong", f"{[finding['message'] for finding in report['findings']]} {report.get('first_bad')}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True, type=pathlib.Path)
    parser.add_argument("--models", required=True, type=pathlib.Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--part-of-day", type=int, default=1, metavar="N", help="every Nth model, others each day")
    parser.add_argument("--opsets", default="17")
    parser.add_argument("--full", action="store_true", help="the full-size models, too")
    options = parser.parse_args()
    torch.set_num_threads(1)   # no pool that a child would lack
    models = json.loads((options.models / "index.json").read_text())["models"]
    models = [m for m in models if re.search(options.only, m["name"]) and m["runs"] and m["size"] in ("small", "full")[:1 + options.full]]
    models = part_of_the_day(models, "verify", options.part_of_day)
    count = collections.Counter()
    for model in models:
        subject = Subject(model, options.models)
        dims, chosen = free_dims(subject.inputs, subject.accepts)
        for what, texts in [("", subject.inputs.texts())] + ([("named ", subject.inputs.texts(dims))] if chosen else []):
            for opset in options.opsets.split(","):
                verdict, why = verify(options.program, subject.file, int(opset), texts)
                if verdict == "unrunnable" and what:   # no size that verify tries by itself is one that the model takes
                    verdict, why = verify(
                        options.program, subject.file, int(opset), texts, [f"{name}={size}" for name, size in chosen.items()]
                    )
                count[what + verdict] += 1
                if why:
                    print(f"{verdict.upper()} {what}{model['name']} @{opset}: {why}   [{' '.join(texts)}]", flush=True)
    print(", ".join(f"{n} {name}" for name, n in sorted(count.items())))
    return 1 if not models or any(word in name for name in count for word in ("wrong", "error", "unrunnable")) else 0


if __name__ == "__main__":
    sys.exit(main())
