#!/usr/bin/env python3
"""The same model gives the same report and the same ONNX file wherever memory happens to lie: no order of addresses shows."""
import argparse, concurrent.futures, os, pathlib, subprocess, sys, tempfile

from days import part_of_the_day

PADS = (0, 8192, 1_000_000)   # bytes that the heap grows by, which moves what is allocated
MOST_BYTES = 4 << 20


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    parser.add_argument("--models", type=pathlib.Path, required=True)
    parser.add_argument("--part-of-day", type=int, default=1, metavar="N", help="every Nth model, others each day")
    options = parser.parse_args()

    def outcome(model, pad, folder):
        environment = os.environ | {"GLIBC_TUNABLES": f"glibc.malloc.top_pad={pad}", "COMPATCHECK_NO_CONFIG": "1"}
        file = folder / f"{pad}.onnx"
        check = subprocess.run([options.program, model, "--format", "json"], capture_output=True, env=environment)
        convert = subprocess.run([options.program, "convert", model, "-o", file, "--quiet"], capture_output=True, env=environment)
        return check.returncode, check.stdout, convert.returncode, file.read_bytes() if file.exists() else None

    def differs(model):
        with tempfile.TemporaryDirectory() as name:
            outcomes = {outcome(model, pad, pathlib.Path(name)) for pad in PADS}
        return len(outcomes) > 1 or any(check not in (0, 1) or convert not in (0, 1) for check, _, convert, _ in outcomes)

    models = [model for pattern in ("*.pt", "*.pt2") for model in sorted(options.models.glob(pattern)) if model.stat().st_size < MOST_BYTES]
    models = part_of_the_day(models, "deterministic", options.part_of_day)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as workers:
        differing = [model.name for model, result in zip(models, workers.map(differs, models)) if result]
    print(*(f"{name}: differs from run to run, or fails" for name in differing), sep="\n")
    print(f"{len(models)} models, {len(differing)} differ")
    return bool(differing) or not models


if __name__ == "__main__":
    sys.exit(main())
