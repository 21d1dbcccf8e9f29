"""Importing the package is cheap, and it lives in one process with torch, onnx and onnxruntime."""
import pathlib, re, subprocess, sys

import pytest, samples

CHECK = f"""
import compatcheck
assert len(compatcheck.check({str(samples.MISSING)!r}).findings) == 3
assert compatcheck.convert({str(samples.EXPORTED)!r}).written.nodes > 0
"""
TORCH = """
import torch
module = torch.jit.trace(torch.nn.Linear(3, 2), torch.ones(1, 3))
assert module(torch.ones(1, 3)).shape == (1, 2)
"""
ONNX = """
import onnx
model = onnx.parser.parse_model('<ir_version: 8, opset_import: ["" : 17]> f (float[N] x) => (float[N] y) { y = Relu(x) }')
onnx.checker.check_model(onnx.shape_inference.infer_shapes(model))
"""
RUN = """
import numpy, onnxruntime
session = onnxruntime.InferenceSession(model.SerializeToString())
assert session.run(None, {"x": numpy.array([-1, 2], "float32")})[0].tolist() == [0, 2]
"""


def run(code):
    subprocess.run([sys.executable, "-c", code], check=True, timeout=300)


def test_import_brings_nothing_heavy():
    run("""
import sys
import compatcheck
heavy = {"torch", "numpy", "pandas", "onnx", "onnxruntime", "tqdm", "pytest", "dataclasses", "inspect"} & set(sys.modules)
assert not heavy, heavy
""")


@pytest.mark.parametrize("order", [(CHECK, TORCH, ONNX, RUN), (TORCH, ONNX, RUN, CHECK), (ONNX, CHECK, RUN, TORCH)])
def test_orders_of_import(order):
    run("".join((*order, *order)))


def test_imported_in_threads():
    run(f"""
import threading
failed = []
def work(*codes):
    try:
        for _ in range(3):
            for code in codes:
                exec(code, names)
    except BaseException as error:
        failed.append(error)
        raise
names = {{}}
threads = [threading.Thread(target=work, args=codes) for codes in (({CHECK!r},), ({TORCH!r},), ({ONNX!r}, {RUN!r}), ({CHECK!r},))]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert not failed
""")


def test_library_shows_and_needs_nothing_of_others():
    import compatcheck._core as core

    file = pathlib.Path(core.__file__)
    shown = subprocess.run(["nm", "-D", "--defined-only", file], check=True, capture_output=True, text=True).stdout
    assert [line.split()[-1] for line in shown.splitlines()] == ["PyInit__core"]
    for binary in (file, samples.PROGRAM):
        dynamic = subprocess.run(["readelf", "-d", binary], check=True, capture_output=True, text=True).stdout
        needed = set(re.findall(r"NEEDED.*\[(.*?)\.so", dynamic))
        assert needed <= {"libc", "libm", "ld-linux-x86-64"}, needed
