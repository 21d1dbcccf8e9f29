"""An example of examples/ as its reader runs it: run.sh into an empty folder, then what it left there."""
import argparse, json, os, pathlib, subprocess, sys, tempfile

import numpy as np
import onnx
import onnxruntime
import torch

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"


class Example:
    def __init__(self, name, program, out):
        self.folder, self.program, self.out = EXAMPLES / name, program, out
        run = subprocess.run([self.folder / "run.sh", program, out], capture_output=True, text=True, timeout=900, env=os.environ | {"PYTHON": sys.executable})
        assert run.returncode == 0, f"run.sh ends with {run.returncode}:\n{run.stdout}{run.stderr}"
        self.text = run.stdout

    def compatcheck(self, *arguments, code=0):
        run = subprocess.run([self.program, *map(str, arguments)], cwd=self.out, capture_output=True, text=True, timeout=300)
        assert run.returncode == code, f"{arguments}: exit {run.returncode}, not {code}: {run.stdout}{run.stderr}"
        return run.stdout

    def report(self, name):
        return json.loads((self.out / name).read_text())

    def model(self, name):
        model = onnx.load(self.out / name)
        onnx.checker.check_model(model)
        return model

    def source_line(self, file, code):
        """The number of the line of the example's file that holds `code`."""
        lines = [number for number, line in enumerate((self.folder / file).read_text().splitlines(), 1) if code in line]
        assert len(lines) == 1, (file, code, lines)
        return lines[0]


def ops(graph):
    return [(node.domain + "::" if node.domain else "") + node.op_type for node in graph.node]


def attributes(node):
    return {one.name: onnx.helper.get_attribute_value(one) for one in node.attribute}


def opsets(model):
    return {one.domain: one.version for one in model.opset_import}


def types(values):
    """{name: (element type, sizes)}, sizes as numbers or names."""
    return {value.name: (value.type.tensor_type.elem_type, [dim.dim_param or dim.dim_value for dim in value.type.tensor_type.shape.dim]) for value in values}


def operator(report, op, overload=""):
    (found,) = [one for one in report["operators"] if one["op"] == op and one["overload"] == overload]
    return found


def error(report):
    """The one finding that is an error."""
    (found,) = [one for one in report["findings"] if one["severity"] == "error"]
    return found


def as_array(value):
    return value.detach().numpy() if isinstance(value, torch.Tensor) else np.asarray(value)


def run(model, **inputs):
    """ONNX Runtime's outputs."""
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, {name: as_array(value) for name, value in inputs.items()})


def same(given, wanted, rtol=1e-3, atol=1e-5):
    given, wanted = as_array(given), as_array(wanted)
    assert given.dtype == wanted.dtype and given.shape == wanted.shape, (given.dtype, given.shape, wanted.dtype, wanted.shape)
    np.testing.assert_allclose(given, wanted, rtol=rtol, atol=atol)


def main(description, name, check):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--program", required=True)
    program = str(pathlib.Path(parser.parse_args().program).resolve())
    with tempfile.TemporaryDirectory() as out:
        check(Example(name, program, pathlib.Path(out)))
    print("passed")
