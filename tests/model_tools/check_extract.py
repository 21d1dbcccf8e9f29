#!/usr/bin/env python3
"""`extract` and `inspect` on models made for it: captures of bodies, local functions, modules, external data, files above 2 GB; and what is
damaged, missing or wrong, which ends with a reason, the right exit code, and no file."""
import json, pathlib, subprocess, sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper, parser

from one_by_one import main, test


class Tool:
    def __init__(self, program, folder):
        self.program, self.folder = program, folder

    def run(self, *words, code=0, says=""):
        result = subprocess.run([self.program, *map(str, words)], cwd=self.folder, capture_output=True, timeout=120)
        inspected = result.stderr.decode() + result.stdout.decode()
        assert result.returncode == code, f"{words}: exit {result.returncode}, not {code}: {inspected}"
        assert says in inspected, f"{words}: doesn't say '{says}': {inspected}"
        left = [path.name for path in self.folder.iterdir() if ".part" in path.name]
        assert not left, f"{words}: left {left}"
        return result

    def extract(self, model, *words, **more):
        out = self.folder / "out.onnx"
        out.unlink(missing_ok=True)
        pathlib.Path(str(out) + ".data").unlink(missing_ok=True)
        self.run("extract", model, "-o", out, *words, **more)
        if more.get("code"):
            assert not out.exists(), f"{words}: a file of a failed extraction is there"
            return None
        onnx.checker.check_model(str(out), full_check=True)
        return onnx.load(out)

    def save(self, name, model, **options):
        onnx.save(model, self.folder / name, **options)
        return name


def text_model(text):
    return parser.parse_model(text)


def names(values):
    return [value.name for value in values]


CAPTURES = """
<ir_version: 8, opset_import: ["" : 17]>
g (float[2,3] x, bool c, float[2,3] unused) => (float[2,3] y, float[2,3] z)
<float[2,3] w = {1,2,3,4,5,6}, float[2,3] v = {1,1,1,1,1,1}>
{
  a = Abs (x)
  b = Exp (a)
  y = If (c) <then_branch = t () => (float[2,3] p) { p = Add (b, w) }, else_branch = e () => (float[2,3] q) { q = Sub (a, v) }>
  z = Neg (y)
}
"""


@test
def captures_count_as_inputs(tool):
    path = tool.save("captures.onnx", text_model(CAPTURES))
    part = tool.extract(path, "--from", "a,b,c", "--to", "y")
    assert names(part.graph.input) == ["a", "b", "c"] and names(part.graph.initializer) == ["w", "v"] and len(part.graph.node) == 1
    tool.extract(path, "--from", "b,c", "--to", "y", code=2, says="--from lacks inputs of the model that y needs: x (read by Abs (number 0))")
    part = tool.extract(path, "--from", "y", "--to", "z")
    assert names(part.graph.initializer) == [] and names(part.graph.input) == ["y"]
    part = tool.extract(path, "--to", "a")
    assert names(part.graph.input) == ["x"]
    tool.extract(path, "--from", "a,b,c", "--to", "p", code=2, says="lies in a body of node If (number 2)")
    tool.extract(path, "--from", "y", "--to", "a", code=2, says="nothing on the way reads y")
    tool.extract(path, "--from", "x,unused", "--to", "a", says="nothing on the way reads unused")
    tool.extract(path, "--from", "a", "--to", "a", code=2, says="nothing lies between")
    tool.extract(path, "--from", "w,b,a,c", "--to", "y")
    inspected = json.loads(tool.run("inspect", path, "--format", "json", "--op", "Add").stdout)
    assert [(n["op"], n["scope"]) for n in inspected["nodes"]] == [("Add", "If#2.then_branch")] and inspected["node_count"] == 6
    inspected = json.loads(tool.run("inspect", path, "--format", "json", "--node", "q").stdout)
    assert [n["op"] for n in inspected["nodes"]] == ["Sub"]


FUNCTIONS = """
<ir_version: 8, opset_import: ["" : 17, "my" : 1], producer_name: "hand", metadata_props: ["k": "v"]>
g (float[N] x) => (float[N] y)
{
  h = my.outer <factor = 2.5> (x)
  y = my.other (h)
}
<domain: "my", opset_import: ["" : 17, "my" : 1]>
outer <factor> (i) => (o) { c = Constant <value_float: float = @factor> ()  m = Mul (i, c)  o = my.inner (m) }
<domain: "my", opset_import: ["" : 17]>
inner (i) => (o) { o = Relu (i) }
<domain: "my", opset_import: ["" : 17]>
other (i) => (o) { o = Neg (i) }
"""


@test
def functions_that_are_used_are_kept(tool):
    path = tool.save("functions.onnx", text_model(FUNCTIONS))
    part = tool.extract(path, "--from", "x", "--to", "h")
    assert sorted(f.name for f in part.functions) == ["inner", "outer"]
    assert [(o.domain, o.version) for o in part.opset_import] == [("", 17), ("my", 1)] and part.metadata_props[0].value == "v"
    assert part.graph.output[0].type.tensor_type.shape.dim[0].dim_param == "N", "the shape is inferred through the function"
    inspected = json.loads(tool.run("inspect", path, "--format", "json").stdout)
    outer = next(f for f in inspected["onnx"]["functions"] if f["name"] == "outer")
    assert outer["attributes"] == ["factor"] and outer["calls"] == 1 and outer["nodes"] == 3
    constant = next(n for n in inspected["nodes"] if n["op"] == "Constant")
    assert constant["scope"] == "my::outer" and constant["attributes"] == [{"name": "value_float", "type": "float", "reference": "factor"}]


@test
def modules_are_cut_points(tool):
    value = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, [2])
    node = lambda op, inputs, output, name: helper.make_node(op, inputs, [output], name=name)
    nodes = [node("Relu", ["x"], "a", "/embed/Relu"), node("Abs", ["a"], "b", "/encoder/layer.0/act/Abs"), node("Add", ["b", "w"], "c", "/encoder/layer.0/Add"),
             node("Exp", ["c"], "d", "/encoder.layer.1/Exp"), node("Neg", ["d"], "y", "/encoder.layer.10/Neg")]
    graph = helper.make_graph(nodes, "g", [value("x")], [value("y")], [numpy_helper.from_array(np.ones(2, np.float32), "w")])
    path = tool.save("modules.onnx", helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8))
    for words, inputs, outputs in [(["--from", "encoder.layer.0", "--to", "encoder.layer.0"], ["a"], ["c"]), (["--from", "encoder.layer.1", "--to", "layer.1"], ["c"], ["d"]),
                                   (["--from", "layer.0.act", "--to", "encoder"], ["a"], ["y"]), (["--to", "/embed/Relu"], ["x"], ["a"])]:
        part = tool.extract(path, *words)
        assert names(part.graph.input) == inputs and names(part.graph.output) == outputs, f"{words}: {names(part.graph.input)} to {names(part.graph.output)}"
    tool.extract(path, "--from", "encoder.layer.2", "--to", "y", code=2, says="did you mean encoder.layer.0")
    tool.extract(path, "--from", "encoder.layer.0,encoder.layer.1", "--to", "encoder.layer.1")


def weights_model(elements=1000):
    value = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, [elements])
    nodes = [helper.make_node("Add", ["x", "w"], ["h"]), helper.make_node("Mul", ["h", "v"], ["y"])]
    weights = [numpy_helper.from_array(np.arange(elements, dtype=np.float32) + offset, name) for name, offset in (("w", 1), ("v", 5))]
    return helper.make_model(helper.make_graph(nodes, "g", [value("x")], [value("y")], weights), opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@test
def external_data_comes_along(tool):
    path = tool.save("outside.onnx", weights_model(), save_as_external_data=True, location="weights.bin", size_threshold=0)
    whole = onnxruntime.InferenceSession(weights_model().SerializeToString()).run(None, {"x": np.ones(1000, np.float32)})[0]
    part = tool.extract(path, "--from", "h", "--to", "y")
    assert [t.name for t in part.graph.initializer] == ["v"]
    raw = onnx.load(tool.folder / "out.onnx", load_external_data=False).graph.initializer[0]
    assert {e.key: e.value for e in raw.external_data} == {"location": "out.onnx.data", "offset": "0", "length": "4000"}
    assert (tool.folder / "out.onnx.data").stat().st_size == 4000
    tool.extract(path, "--from", "x", "--to", "y")
    assert np.array_equal(onnxruntime.InferenceSession(str(tool.folder / "out.onnx")).run(None, {"x": np.ones(1000, np.float32)})[0], whole)
    tool.extract(path, "--from", "x", "--to", "y", "--external-data", "never")
    assert not (tool.folder / "out.onnx.data").exists()
    tool.save("inside.onnx", weights_model())
    tool.extract("inside.onnx", "--from", "x", "--to", "y", "--external-data", "always")
    assert (tool.folder / "out.onnx.data").exists()
    inspected = json.loads(tool.run("inspect", path, "--weights", "--format", "json").stdout)
    assert inspected["initializers"][1]["statistics"]["max"] == 1004 and inspected["onnx"]["external_files"][0]["problems"] == 0
    tool.run("extract", path, "-o", "weights.bin", "--to", "h", code=2, says="the model's own weights lie there")
    tool.run("extract", path, "-o", path, "--to", "h", code=2, says="that is the model itself")
    # A file that is cut short, then gone: told by inspect, an error only where it is needed.
    data = tool.folder / "weights.bin"
    data.write_bytes(data.read_bytes()[:5000])
    inspected = json.loads(tool.run("inspect", path, "--weights", "--format", "json").stdout)
    assert "cut short" in inspected["initializers"][1]["external"]["problem"] and "statistics" in inspected["initializers"][0]
    tool.extract(path, "--from", "x", "--to", "h")
    tool.extract(path, "--from", "h", "--to", "y", code=3, says="external data of 'v', weights.bin: is cut short")
    data.unlink()
    tool.run("inspect", path, "--weights", says="not there, 2 tensors not in it")
    tool.extract(path, "--from", "h", "--to", "y", code=3, says="isn't there")


@test
def external_data_stays_in_the_folder(tool):
    (tool.folder / "sub").mkdir()
    for location in ("../secret.bin", str(tool.folder / "secret.bin"), ""):
        (tool.folder / "secret.bin").write_bytes(b"\0" * 4000)
        model = weights_model()
        tensor = model.graph.initializer[0]
        onnx.external_data_helper.set_external_data(tensor, location, offset=0, length=4000)
        tensor.ClearField("raw_data")
        (tool.folder / "sub" / "model.onnx").write_bytes(model.SerializeToString())
        tool.extract("sub/model.onnx", "--from", "x", "--to", "y", code=3, says="outside of the model's folder" if location else "no location")
        tool.run("inspect", "sub/model.onnx", "--weights", says="outside of the model's folder" if location else "no location")
    for key, value, says in (("offset", "-1", "is no number"), ("length", "12", "is less than"), ("offset", str(2**64 - 1), "is cut short"),
                             ("length", str(2**63), "is cut short")):
        model = weights_model()
        tensor = model.graph.initializer[0]
        onnx.external_data_helper.set_external_data(tensor, "secret.bin", offset=0, length=4000)
        tensor.ClearField("raw_data")
        next(e for e in tensor.external_data if e.key == key).value = value
        (tool.folder / "model.onnx").write_bytes(model.SerializeToString())
        tool.extract("model.onnx", "--from", "x", "--to", "y", code=3, says=says)


def varint(value):
    out = b""
    while value >= 0x80:
        out += bytes([value & 0x7f | 0x80])
        value >>= 7
    return out + bytes([value])


def field(number, payload, length=None):
    return varint(number << 3 | 2) + varint(len(payload) if length is None else length) + payload


@test
def files_above_two_gigabytes(tool):
    """With the second weight a hole of 2.5 GB in the file, which protobuf wouldn't read."""
    big = 5 << 29
    model = weights_model()
    last = model.graph.initializer.pop()
    last.ClearField("raw_data")
    last.dims[0] = big // 4
    head = last.SerializeToString() + varint(9 << 3 | 2) + varint(big)
    graph = model.graph.SerializeToString() + field(5, head, len(head) + big)
    model.ClearField("graph")
    path = tool.folder / "huge.onnx"
    path.write_bytes(model.SerializeToString() + field(7, graph, len(graph) + big))
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size + big)
    inspected = json.loads(tool.run("inspect", path, "--format", "json").stdout)
    assert [t["bytes"] for t in inspected["initializers"]] == [4000, big] and inspected["sizes"][0]["bytes"] == big + 4000
    part = tool.extract(path, "--from", "x", "--to", "h")
    assert names(part.graph.initializer) == ["w"] and numpy_helper.to_array(part.graph.initializer[0])[999] == 1000
    tool.extract(path, "--from", "h", "--to", "y", "--external-data", "never", code=2, says="larger than 2 GB")
    path.unlink()


@test
def typed_fields_and_attributes(tool):
    """Elements in float_data, int64_data, int32_data and a Constant's big tensor: left in the file as they are."""
    floats, longs = [float(i) for i in range(2000)], [i * i - 5 for i in range(2000)]
    halves = helper.make_tensor("h", TensorProto.FLOAT16, [2000], np.arange(2000).astype(np.float16))
    constants = [helper.make_tensor("f", TensorProto.FLOAT, [2000], floats), helper.make_tensor("l", TensorProto.INT64, [2000], longs), halves]
    nodes = [helper.make_node("Constant", [], [t.name], value=t) for t in constants]
    nodes += [helper.make_node("Cast", [name], [name + "_cast"], to=TensorProto.FLOAT) for name in "lh"]
    nodes += [helper.make_node("Sum", ["x", "f", "l_cast", "h_cast"], ["y"])]
    value = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, [2000])
    model = helper.make_model(helper.make_graph(nodes, "g", [value("x")], [value("y")]), opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path = tool.save("typed.onnx", model)
    assert tool.extract(path, "--add-outputs", "f_cast,l_cast".split(",")[1]).graph.node == model.graph.node
    inspected = json.loads(tool.run("inspect", path, "--weights", "--format", "json").stdout)
    found = [n["attributes"][0]["value"]["statistics"] for n in inspected["nodes"] if n["op"] == "Constant"]
    assert [f["max"] for f in found] == [1999, 1999 * 1999 - 5, 1999] and [f["zeros"] for f in found] == [1, 0, 1], found


@test
def older_and_odder_models(tool):
    value = lambda name, shape=(2,): helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
    w = numpy_helper.from_array(np.ones(2, np.float32), "w")
    node = helper.make_node
    old = helper.make_model(helper.make_graph([node("Add", ["x", "w"], ["h"]), node("Relu", ["h"], ["y"])], "g", [value("x"), value("w")], [value("y")], [w]),
                            opset_imports=[helper.make_opsetid("", 8)], ir_version=3)
    part = tool.extract(tool.save("old.onnx", old), "--from", "x", "--to", "h")
    assert names(part.graph.input) == ["x", "w"], "before IR version 4 an initializer is an input too"
    custom = helper.make_model(helper.make_graph([node("Mystery", ["x"], ["h"], domain="acme"), node("Neg", ["h"], ["y"])], "g", [value("x")], [value("y")]),
                               opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("acme", 1)], ir_version=8)
    path = tool.save("custom.onnx", custom)
    tool.extract(path, "--from", "x", "--to", "h", code=2, says="type isn't known")
    tool.extract(path, "--add-outputs", "all", says="1 value has no rank that is known, and can't be outputs: h")
    tool.extract(path, "--add-outputs", "h", code=2, says="'h': its type isn't known")
    tool.extract(path, "--add-outputs", "nosuch", code=2, says="--add-outputs nosuch: the model has no such value")
    tool.extract(path, "--add-outputs", "x", code=2, says="is no node's output")


@test
def an_output_beside_one_that_is_cut_at(tool):
    model = text_model("""<ir_version: 8, opset_import: ["" : 17]>
    g (float[4] x) => (float[2] y) { a, b = Split (x)  y = Add (a, b) }""")
    part = tool.extract(tool.save("split.onnx", model), "--from", "a,x", "--to", "y")
    assert list(part.graph.node[0].output) == ["a_cut", "b"] and list(part.graph.node[1].input) == ["a", "b"]


@test
def weights_that_share_a_place_go_on_sharing_it(tool):
    model = weights_model()
    for tensor in model.graph.initializer:
        onnx.external_data_helper.set_external_data(tensor, "weights.bin", offset=0, length=4000)
        tensor.ClearField("raw_data")
    (tool.folder / "weights.bin").write_bytes(np.arange(1000, dtype=np.float32).tobytes())
    (tool.folder / "shared.onnx").write_bytes(model.SerializeToString())
    tool.extract("shared.onnx", "--from", "x", "--to", "y")
    assert (tool.folder / "out.onnx.data").stat().st_size == 4000


@test
def invalid_models_are_refused(tool):
    value = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, (2,))
    node = helper.make_node

    def save(nodes, functions=(), opsets=(("", 17), ("f", 1))):
        graph = helper.make_graph(nodes, "g", [value("x")], [value("y")])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid(*o) for o in opsets], ir_version=8, functions=list(functions))
        return tool.save("bad.onnx", model)

    for nodes, says in [([node("Add", ["x", "b"], ["a"]), node("Add", ["a", "x"], ["b"]), node("Neg", ["b"], ["y"])], "topologically sorted"),
                        ([node("Neg", ["x"], ["y"]), node("Abs", ["x"], ["y"])], "'y' is given twice"),
                        ([node("Neg", ["nosuch"], ["y"])], "'nosuch', which nothing gives"),
                        ([node("NoSuchOperator", ["x"], ["y"])], "isn't valid ONNX"),
                        ([node("Neg", ["x"], ["y"], bogus=1)], "isn't valid ONNX")]:
        path = save(nodes)
        tool.run("inspect", path)
        tool.extract(path, "--from", "x", "--to", "y", code=3, says=says)
    function = lambda name, called: helper.make_function("f", name, ["i"], ["o"], [node(called, ["i"], ["o"], domain="f")], [helper.make_opsetid("f", 1)])
    path = save([node("one", ["x"], ["y"], domain="f")], [function("one", "two"), function("two", "one")])
    tool.run("inspect", path)
    tool.extract(path, "--from", "x", "--to", "y", code=3, says="calls itself")
    # Each function calls the one before twice: 2^60 nodes, if one walked them all.
    before = lambda i, x, y: node(f"f{i - 1}" if i else "Neg", [x], [y], domain="f" if i else "")
    twice = lambda i: helper.make_function("f", f"f{i}", ["i"], ["o"], [before(i, "i", "a"), before(i, "a", "o")],
                                           [helper.make_opsetid("f", 1), helper.make_opsetid("", 17)])
    path = save([node("f59", ["x"], ["h"], domain="f"), node("Neg", ["h"], ["y"])], [twice(i) for i in range(60)])
    tool.extract(path, "--from", "x", "--to", "h", code=2, says="type isn't known")


@test
def more_than_can_be_listed(tool):
    """Two bytes in the file each."""
    path = tool.folder / "many.onnx"
    path.write_bytes(b"\x08\x08" + field(7, field(1, b"") * 600_000))
    tool.run("inspect", path, code=3, says="ask for some of its nodes (--op, --node)")
    tool.run("inspect", path, "--op", "Conv")
    path.write_bytes(b"\x08\x08" + field(7, field(1, b"") * (4 << 20)))
    for words in (["inspect", path], ["inspect", path, "--op", "Conv"], ["extract", path, "-o", "out.onnx", "--to", "y"], ["diff", path, path]):
        tool.run(*words, code=3, says="512 MB of memory")


@test
def the_time_is_up(tool):
    nodes = [helper.make_node("Neg", [f"v{i}" if i else "x"], [f"v{i + 1}"]) for i in range(2000)]
    value = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, (2,))
    path = tool.save("long.onnx", helper.make_model(helper.make_graph(nodes, "g", [value("x")], [value("v2000")]), opset_imports=[helper.make_opsetid("", 17)], ir_version=8))
    for words in (["inspect", path], ["extract", path, "-o", "out.onnx", "--to", "v7"], ["diff", path, path]):
        tool.run(*words)
        tool.run(*words, "--timeout", "1e-9", code=3, says="--timeout gives it more")


@test
def damaged_files(tool):
    whole = weights_model().SerializeToString()
    graph = field(7, b"", 2**62)
    deep = b"\x0a\x01a"
    for _ in range(200):   # Model.graph.node.attribute.g.node …
        deep = field(1, field(5, field(6, deep)))
    cases = {"empty": b"", "junk": b"\x08\x07" + bytes(range(256)) * 9, "text": b"not a model at all, but a text\n", "head alone": whole[:10], "no graph": b"\x08\x08\x12\x04hand",
             "huge length": b"\x08\x08" + graph, "length of ten bytes": b"\x08\x08\x3a" + b"\xff" * 9 + b"\x01", "deep": b"\x08\x08" + field(7, deep), "group": b"\x08\x08\x3b\x3c",
             "field number 0": b"\x08\x08\x02\x00"} | {f"cut at {i}": whole[:i] for i in range(11, len(whole), 307)}
    for name, data in cases.items():
        (tool.folder / "damaged.onnx").write_bytes(data)
        for form in ("text", "json"):
            tool.run("inspect", "damaged.onnx", "--format", form, code=3, says="damaged.onnx: ")
        tool.extract("damaged.onnx", "--to", "y", code=3, says="damaged.onnx: ")
    for position in range(0, 400, 5):   # one byte at a time: no crash, no half-written file
        data = bytearray(whole)
        data[position] ^= 0x55
        (tool.folder / "flipped.onnx").write_bytes(data)
        for words in (["inspect", "flipped.onnx", "--weights"], ["extract", "flipped.onnx", "-o", "out.onnx", "--to", "y"]):
            result = subprocess.run([tool.program, *words], cwd=tool.folder, capture_output=True, timeout=60)
            assert result.returncode in (0, 2, 3) and b"defect of compatcheck" not in result.stderr, f"byte {position}: {result.returncode} {result.stderr.decode()}"
    tool.run("inspect", "nosuch.onnx", code=3, says="no such file")
    tool.run("inspect", ".", code=3, says="is a folder")
    tool.run("inspect", code=2, says="no model is named")
    tool.run("extract", "x.onnx", code=2, says="no output file")
    tool.run("extract", "x.onnx", "-o", "y.onnx", code=2, says="no part is named")
    tool.save("fine.onnx", weights_model())
    tool.run("extract", "fine.onnx", "-o", "nosuch/out.onnx", "--to", "y", code=2, says="can't write")
    tool.run("extract", "fine.onnx", "-o", "out.onnx", "--to", "yy", code=2, says="did you mean y?")


if __name__ == "__main__":
    sys.exit(main(__doc__, Tool))
