"""Examples are run as their users would: run.sh into an empty folder, then what it left there is looked at."""
import json, os, pathlib, re, subprocess, sys, tempfile

import numpy as np
import onnx
import onnxruntime
import torch

# Paths may be long: nothing is cut.
WIDE = os.environ | {"COLUMNS": "1000"}
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
        self.out = pathlib.Path(self.kept.name) / "not made yet"
        # As the READMEs print it. The timeout is for 10, which compiles against torch.
        command = ["./run.sh", os.path.relpath(program, self.source), self.out]
        ran = subprocess.run(command, cwd=self.source, env=os.environ | {"PYTHON": sys.executable}, capture_output=True, text=True, timeout=900)
        assert ran.returncode == 0, f"run.sh: exit {ran.returncode}: {ran.stdout}{ran.stderr}"
        self.text, self.printed = ran.stdout, ran.stdout + ran.stderr

    def run(self, *words, codes=(0,)):
        """The program run in the example's folder, once it ended with one of the codes."""
        ran = subprocess.run([self.program, *map(str, words)], cwd=self.source, capture_output=True, text=True, timeout=120, env=WIDE)
        assert ran.returncode in codes, f"exit {ran.returncode}, not {codes}: {words}: {ran.stdout}{ran.stderr}"
        return ran

    def output(self, *words, code=0):
        """What it says, in one line: where lines end depends on the length of the folder's name."""
        ran = self.run(*words, codes=(code,))
        return " ".join((ran.stdout + ran.stderr).split())

    def reports(self, *words):
        """The JSON reports of `check`, one for each opset."""
        made = json.loads(self.run(*words, "--format", "json", codes=(0, 1)).stdout)
        return made["reports"] if "reports" in made else [made]

    def left(self, name):
        """The text of a file that run.sh left."""
        return (self.out / name).read_text()

    def left_json(self, name):
        return json.loads(self.left(name))

    def model(self, name):
        made = onnx.load(self.out / name)
        onnx.checker.check_model(made)
        return made

    def session(self, name):
        return onnxruntime.InferenceSession(self.out / name, providers=["CPUExecutionProvider"])

    def source_line(self, file, code):
        """The number of the line of the example's file that holds `code`."""
        (line,) = [number for number, text in enumerate((self.source / file).read_text().splitlines(), 1) if code in text]
        return line


def shown_in(readme):
    """The lines of a README's code, but for what is typed."""
    code = False
    for line in readme.splitlines():
        code ^= line.startswith("```")
        if (code or line.startswith("    ")) and not re.match(r"\s*(```|\./run\.sh|compatcheck |cmake |python |[A-Z]+=)", line):
            yield line


def without_numbers(text):
    return " ".join(re.sub(r"\d+(\.\d+)?(e-?\d+)?", "0", text).split())


@test
def the_readme_shows_what_is_there(example):
    """Each line is printed by run.sh, or stands in a file of the example or of its output. `...` stands for anything."""
    files = [file for folder in (example.source, example.out) for file in folder.iterdir() if file.suffix in (".yaml", ".ir", ".py", ".cpp")]
    known = without_numbers(" ".join([example.printed, *(file.read_text() for file in files)]))
    for line in shown_in((example.source / "README.md").read_text()):
        for part in re.split(r"\.\.\.|…", line):
            assert without_numbers(part) in known, f"neither printed nor in a file: {line}"


def operator(report, op, overload=""):
    """The report's only entry of that operator; of autograd Functions, of which there are several, the one by that name."""
    (found,) = [each for each in report["operators"] if each["op"] == op and overload in ("", each["overload"])]
    equal(found["overload"], overload)
    return found


def error(report):
    """The one finding that is an error."""
    (found,) = [each for each in report["findings"] if each["severity"] == "error"]
    return found


def all_nodes(graph):
    """Bodies of If and Loop included."""
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from all_nodes(attribute.g)


def ops(graph):
    """Of a graph or function: "Relu", "acme::MyNorm"."""
    return [(node.domain + "::" if node.domain else "") + node.op_type for node in graph.node]


def attributes(node):
    """As ONNX stores them; strings as str."""
    values = {attribute.name: onnx.helper.get_attribute_value(attribute) for attribute in node.attribute}
    return {name: value.decode() if isinstance(value, bytes) else value for name, value in values.items()}


def imports(model):
    return {each.domain: each.version for each in model.opset_import}


def types(values):
    """{name: (element type, sizes)}, sizes as numbers or names."""
    return {value.name: (value.type.tensor_type.elem_type, [dim.dim_param or dim.dim_value for dim in value.type.tensor_type.shape.dim]) for value in values}


def as_array(value):
    return value.detach().numpy() if isinstance(value, torch.Tensor) else np.asarray(value)


def outputs(session, **inputs):
    """Of ONNX Runtime, or of ONNX's reference."""
    return session.run(None, {name: as_array(value) for name, value in inputs.items()})


def equal(got, expected):
    assert got == expected, f"{got}, not {expected}"


def holds(text, *words):
    for each in words:
        assert each in text, f"doesn't say '{each}': {text}"


def agree(got, expected):
    """Within the tolerances of f32, whatever the type."""
    expected = as_array(expected)
    assert got.dtype == expected.dtype and got.shape == expected.shape, f"{got.dtype}{got.shape}, not {expected.dtype}{expected.shape}"
    np.testing.assert_allclose(got, expected, rtol=1e-3, atol=1e-5)
