"""Examples are run as their users would: run.sh, then what it left is looked at."""
import json, os, pathlib, subprocess, sys, tempfile

import numpy as np
import onnx
import onnxruntime

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "model_tools"))
from one_by_one import main, test  # noqa: E402,F401  the tests take them from here


def tool(name):
    """What one_by_one makes for each test: the example of that name, run once for all of them."""
    ran = []

    def made(program, _):
        if not ran:
            ran.append(Example(name, program))
        return ran[0]

    return made


class Example:
    def __init__(self, name, program):
        self.program, self.source = program, EXAMPLES / name
        self.kept = tempfile.TemporaryDirectory()
        self.out = pathlib.Path(self.kept.name)
        ran = subprocess.run(["sh", self.source / "run.sh", program, self.out], env={**os.environ, "PYTHON": sys.executable}, capture_output=True, text=True, timeout=300)
        assert ran.returncode == 0, f"run.sh: exit {ran.returncode}: {ran.stdout}{ran.stderr}"
        self.said = ran.stdout + ran.stderr

    def run(self, *words, code=0):
        ran = subprocess.run([self.program, *map(str, words)], cwd=self.source, capture_output=True, text=True, timeout=120)
        assert ran.returncode == code, f"exit {ran.returncode}, not {code}: {words}: {ran.stdout}{ran.stderr}"
        return ran.stdout + ran.stderr

    def reports(self, *words):
        """The JSON reports of `check`, one for each opset."""
        ran = subprocess.run([self.program, *map(str, words), "--format", "json"], cwd=self.source, capture_output=True, text=True, timeout=120)
        assert ran.returncode in (0, 1), f"exit {ran.returncode}: {ran.stderr}"
        made = json.loads(ran.stdout)
        return made["reports"] if "reports" in made else [made]

    def model(self, name):
        made = onnx.load(self.out / name)
        onnx.checker.check_model(made)
        return made

    def session(self, name):
        return onnxruntime.InferenceSession(self.out / name, providers=["CPUExecutionProvider"])


def all_nodes(graph):
    """Bodies of If and Loop included."""
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from all_nodes(attribute.g)


def attributes(node):
    """As ONNX stores them; strings as str."""
    values = {attribute.name: onnx.helper.get_attribute_value(attribute) for attribute in node.attribute}
    return {name: value.decode() if isinstance(value, bytes) else value for name, value in values.items()}


def imports(model):
    return {each.domain: each.version for each in model.opset_import}


def equal(got, expected):
    assert got == expected, f"{got}, not {expected}"


def holds(text, *words):
    """Line breaks aside."""
    text = " ".join(text.split())
    for each in words:
        assert each in text, f"doesn't say '{each}': {text}"


def agree(got, expected):
    """Of f32."""
    expected = np.asarray(expected)
    assert got.dtype == expected.dtype and got.shape == expected.shape, f"{got.dtype}{got.shape}, not {expected.dtype}{expected.shape}"
    np.testing.assert_allclose(got, expected, rtol=1e-3, atol=1e-5)
