"""Holds --target of a measured engine against the engine itself, on the tests' models: what is supported loads and runs on the recorded
inputs, and gives what ONNX Runtime gives; what isn't supported fails, with optimisations off, which might take a node away: always in
ONNX Runtime, whose kernels are listed, and 95 % in others. Where a profile says that results differ, they may be right for some values.

    check_models.py --engine ort-cpu --program BUILD/tests/target_cases --helper BUILD/libexec/compatcheck-torchscript --models DIR [--only REGEX] [--opsets 9,17,22,26]
"""
import argparse
import collections
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np
import torch

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "convert"), str(HERE.parents[1] / "tools/engines")]
from days import part_of_the_day  # noqa: E402
from model_inputs import Inputs  # noqa: E402
from runtimes import RIGHT, OrtCpu, Trial, Trials, input_names  # noqa: E402

OF_VALUES = "results aren't ONNX's", "results differ from ONNX's", "infinities may become"
# Models that fail though each node alone is right: OpenVINO doesn't know the rank of what an If in a loop gives.
FAIL_TOGETHER = {"openvino": {"greedy_decoder-scripted"}}
LARGE = 50_000_000   # bytes of a model file beyond which it is left to the other tests


def inputs_of(model, folder):
    file = folder / model["file"]
    archive = np.load(file.with_suffix(".npz"))
    arrays = [archive[f"in_{i}"] for i in range(sum(name.startswith("in_") for name in archive.files))]
    names = [argument.name for argument in torch.jit.load(file).forward.schema.arguments[1:]]
    return Inputs(model["inputs"], names, arrays, names[len(model["inputs"]):])


class Engine:
    def __init__(self, name):
        self.name = name
        self.plain, self.optimized = Trials(name), Trials(name, optimized=True)
        self.reference = OrtCpu(optimized=True)

    def trial(self, file, inputs):
        data = file.read_bytes()
        given = inputs.given(inputs.recorded, input_names(data))
        wanted = None
        if self.name != "ort-cpu":
            try:
                wanted = self.reference.run(self.reference.load(data), given)
            except Exception:
                pass   # ONNX Runtime has no kernel for it, or doesn't run it
        return Trial(data, given, wanted, rtol=1e-2, atol=1e-4)

    def outcome(self, trial):
        outcome = self.plain(trial)
        return self.optimized(trial) if outcome[0] == RIGHT and self.name == "ort-cpu" else outcome


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("program", "helper", "models"):
        parser.add_argument("--" + name, required=True, type=pathlib.Path)
    parser.add_argument("--engine", required=True)
    parser.add_argument("--only", default="")
    parser.add_argument("--opsets", default="9,17,22,26")
    parser.add_argument("--part-of-day", type=int, default=1, metavar="N", help="every Nth model, others each day")
    options = parser.parse_args()
    subjects = {}
    models = json.loads((options.models / "index.json").read_text())["models"]
    part = part_of_the_day(models, "engines", options.part_of_day)
    for model in part:
        file = options.models / model["file"]
        if not re.search(options.only, model["file"]) or not file.with_suffix(".npz").exists() or file.stat().st_size > LARGE:
            continue
        try:
            subjects[file.stem] = (file, inputs_of(model, options.models))
        except NotImplementedError:
            continue   # saved from a device that isn't here
    tally, wrong, refused, unknown = collections.Counter(), [], [], []
    engine = Engine(options.engine)
    with tempfile.TemporaryDirectory() as folder:
        lines = "".join("\t".join([str(file), *inputs.texts()]) + "\n" for file, inputs in subjects.values())
        program = subprocess.Popen([options.program, options.helper, folder, options.engine, options.opsets], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        output, _ = program.communicate(lines)
        if program.returncode:
            sys.exit(f"{options.program} ended with {program.returncode}")
        for line in map(json.loads, output.splitlines()):
            if "error" in line:
                wrong.append(f"{line['id']}: {line['error']}")
                continue
            if not line["converts"]:
                tally["not converted", line["support"]] += 1
                if line["support"] == "yes":
                    wrong.append(f"{line['id']} at opset {line['opset']}: supported, though it doesn't convert")
                continue
            where = f"{line['id']} at opset {line['opset']}"
            file = pathlib.Path(folder) / f"{line['id']}@{line['opset']}.onnx"
            outcome, why = engine.outcome(engine.trial(file, subjects[line["id"]][1]))
            file.unlink()
            tally["converted", line["support"], outcome] += 1
            if line["support"] == "yes" and outcome != RIGHT:
                if line["id"] in FAIL_TOGETHER.get(options.engine, ()):
                    continue
                wrong.append(f"{where}: supported, and {outcome}: {why}")
            elif line["support"] == "no" and outcome == RIGHT:
                refused.append(f"{where}: not supported ({line['reason']}), and right")
            elif line["support"] == "unknown":
                is_of_values = any(text in line["reason"] for text in OF_VALUES)
                (unknown if is_of_values or options.engine != "ort-cpu" else wrong).append(f"{where}: unknown: {line['reason']}, and {outcome}")
    no = sum(n for key, n in tally.items() if key[:2] == ("converted", "no"))
    print(*refused, *unknown, sep="\n")
    firm = [text for text in refused if not any(reason in text for reason in OF_VALUES)]
    if firm and (options.engine == "ort-cpu" or len(firm) > 0.05 * no and len(part) == len(models)):
        wrong.append(f"{len(firm)} of {no} that are unsupported are right")
    print(*wrong, sep="\n")
    print(f"{len(subjects)} models at opsets {options.opsets}: " + ", ".join(f"{', '.join(key)}: {n}" for key, n in sorted(tally.items())))
    return 1 if wrong or not tally["converted", "yes", RIGHT] else 0


if __name__ == "__main__":
    sys.exit(main())
