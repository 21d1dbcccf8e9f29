#!/usr/bin/env python3
"""ONNX files at other opsets, on inputs and with nodes that are easily converted wrong: each is right, or refused with a reason.

    check_hard_files.py --program BUILD/compatcheck
"""
import argparse, json, pathlib, subprocess, sys, tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto as T, helper, numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "convert"))
import older_engine

onnxruntime.set_default_logger_severity(4)


def model(nodes, inputs, outputs, opset, constants=(), functions=(), domains=()):
    typed = lambda values: [helper.make_tensor_value_info(*each) for each in values]
    graph = helper.make_graph(nodes, "g", typed(inputs), typed(outputs), [numpy_helper.from_array(array, name) for name, array in constants])
    imports = [helper.make_opsetid("", opset)] * (opset > 0) + [helper.make_opsetid(domain, 1) for domain in domains]
    return helper.make_model(graph, opset_imports=imports, functions=list(functions), ir_version=8)


def one(op, inputs, output, opset, constants=(), **attributes):
    """A node that reads the inputs, (name, type, shape) each, and the constants."""
    node = helper.make_node(op, [name for name, *_ in [*inputs, *constants]], ["y"], **attributes)
    return model([node], inputs, [("y", *output)], opset, constants)


def ints(*values, dtype=np.int64):
    return np.array(values, dtype)


# name → (model, opset, inputs, whether it is refused); without inputs it isn't run, as where ONNX Runtime has no kernel
ROWS = np.arange(6, dtype=np.float32).reshape(2, 3)
CASES = {
    "gather from the end": (one("GatherElements", [("x", T.FLOAT, [2, 3]), ("i", T.INT64, [2, 1])], (T.FLOAT, [2, 1]), 11, axis=1), 10,
                            {"x": ROWS, "i": ints([-1], [0])}, False),
    "gather of an open size": (one("GatherElements", [("x", T.FLOAT, [2, "n"]), ("i", T.INT64, [2, 1])], (T.FLOAT, [2, 1]), 11, axis=1), 10, None, True),
    "add from the end": (one("ScatterElements", [("x", T.FLOAT, [1, 3]), ("i", T.INT64, [1, 1]), ("u", T.FLOAT, [1, 1])], (T.FLOAT, [1, 3]), 16,
                             axis=1, reduction="add"), 15, {"x": ROWS[:1], "i": ints([-1]), "u": np.full((1, 1), 10, np.float32)}, False),
    "u64": (one("LessOrEqual", [("x", T.UINT64, [1]), ("z", T.UINT64, [1])], (T.BOOL, [1]), 16), 8, None, True),
    "power of an integer": (one("Pow", [("x", T.INT32, [2]), ("e", T.FLOAT, [2])], (T.INT32, [2]), 13), 11,
                            {"x": ints(16777217, 3, dtype=np.int32), "e": np.array([1, 2], np.float32)}, False),
    "scale that broadcasts": (one("LayerNormalization", [("x", T.FLOAT, ["a", "b", "c"])], (T.FLOAT, ["a", "b", "c"]), 17,
                                  [("s", np.ones(4, np.float32))], axis=1), 13, None, True),
    "one hot, far below 0": (one("OneHot", [("i", T.INT64, [3])], (T.FLOAT, [3, 3]), 9, [("d", ints(3)), ("v", np.array([0, 1], np.float32))]), 11,
                             {"i": ints(-4, -6, 1)}, False),
    "one hot of i8": (one("OneHot", [("i", T.INT8, [3])], (T.FLOAT, [3, 3]), 11, [("d", ints(3)), ("v", np.array([0, 1], np.float32))]), 9, None, False),
    "more parts than outputs": (one("Split", [("x", T.FLOAT, ["n"])], (T.FLOAT, ["m"]), 18, num_outputs=2**40), 13, None, True),
    "an output without a shape": (model([helper.make_node("Relu", ["x"], ["y"])], [("x", T.FLOAT, ["n"])], [("y", T.FLOAT, None)], 17), 13,
                                  {"x": ROWS[0]}, False),
    "functions alone": (model([helper.make_node("F", ["x"], ["y"], domain="f")], [("x", T.FLOAT, [2])], [("y", T.FLOAT, [2])], 0, domains=["f"], functions=[
        helper.make_function("f", "F", ["x"], ["y"], [helper.make_node("Relu", ["x"], ["y"])], [helper.make_opsetid("", 17)])]), 13,
        {"x": np.array([-1, 2], np.float32)}, False),
    "another Identity": (model([helper.make_node("Identity", ["a"], ["b"], domain="com.foo"), helper.make_node("Identity", [], ["c"], domain="com.foo"),
                                helper.make_node("ReduceSum", ["x", "b"], ["y"])], [("x", T.FLOAT, [2, 3])], [("y", T.FLOAT, None)], 13,
                               [("a", ints(0))], domains=["com.foo"]), 11, None, True),
    "a long chain": (model([helper.make_node("Identity", ["a" if i == 0 else f"a{i - 1}"], [f"a{i}"]) for i in range(20_000)] +
                           [helper.make_node("ReduceSum", ["x", "a19999"], ["y"])], [("x", T.FLOAT, [2, 3])], [("y", T.FLOAT, None)], 13,
                           [("a", ints(0))]), 11, None, True),
}


def fault(program, folder, name, given, opset, feed, refused):
    before, after = folder / "before.onnx", folder / "after.onnx"
    after.unlink(missing_ok=True)
    onnx.save(given, before)
    made = subprocess.run([program, "convert", before, "-o", after, "--opset", str(opset)], capture_output=True, text=True, timeout=300)
    checked = subprocess.run([program, before, "--opset", str(opset)], capture_output=True, text=True, timeout=300)
    if made.returncode != refused or checked.returncode != refused or after.exists() == refused:
        return f"{name}: convert ended with {made.returncode}, check with {checked.returncode}, not {int(refused)}: {made.stdout}{made.stderr}{checked.stderr}"
    if refused:
        return "" if "CC00" in made.stdout else f"{name}: no finding says why: {made.stdout}"
    if feed is None:
        return ""
    want, got = (onnxruntime.InferenceSession(file, providers=["CPUExecutionProvider"]).run(None, feed) for file in (before, after))
    same = all(a.dtype == b.dtype and np.array_equal(a, b) for a, b in zip(want, got))
    return "" if same else f"{name}: {got}, not {want}"


def weights_stay(program, folder):
    """The model's external data has the name that the new file's would have."""
    given = one("MatMul", [("x", T.FLOAT, [1, 64])], (T.FLOAT, [1, 64]), 12, [("w", np.ones((64, 64), np.float32))])
    onnx.save(given, folder / "a.onnx", save_as_external_data=True, location="b.onnx.data", size_threshold=0)
    data = (folder / "b.onnx.data").read_bytes()
    made = subprocess.run([program, "convert", folder / "a.onnx", "-o", folder / "b.onnx", "--opset", "13"], capture_output=True, text=True)
    if made.returncode != 2 or "that is the model's external data" not in made.stderr or (folder / "b.onnx.data").read_bytes() != data:
        return f"external data: exit {made.returncode}: {made.stderr}"
    return ""


def check_is_of_the_file(program, folder):
    """Without --opset, the nodes that an engine is asked about are the file's own; at an opset, those that convert writes."""
    file, made, profile = folder / "norm.onnx", folder / "made.onnx", folder / "old.yaml"
    onnx.save(one("LayerNormalization", [("x", T.FLOAT, [2, 4])], (T.FLOAT, [2, 4]), 17, [("s", np.ones(4, np.float32))]), file)
    profile.write_text(older_engine.profile(16))
    def report(*words):
        return json.loads(subprocess.run([program, *words, "--target", profile, "--format", "json"], capture_output=True, text=True).stdout)["targets"][0]
    subprocess.run([program, "convert", file, "-o", made, "--target", profile], capture_output=True, check=True)
    as_it_is, at_its_opset, written = report(file), report(file, "--opset", "17"), report(made)
    shown = [(each["nodes"], each["unsupported"], len(each.get("older_forms", ()))) for each in (as_it_is, at_its_opset, written)]
    right = shown[0] == (1, 1, 0) and shown[1][0] > 1 and shown[1][1:] == (0, 1) and shown[2] == (shown[1][0], 0, 0)
    return "" if right else f"check of a file, at its opset, of what is written: {shown}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    program = parser.parse_args().program
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        faults = [fault(program, folder, name, *case) for name, case in CASES.items()] + [weights_stay(program, folder), check_is_of_the_file(program, folder)]
    faults = [each for each in faults if each]
    print(*faults, f"{len(CASES) + 2} cases, {len(faults)} faults", sep="\n")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
