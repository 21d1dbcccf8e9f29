#!/usr/bin/env python3
"""`diff` of two models says what changed inside of them: attributes, wiring, weights wherever they lie, bodies, functions; and "no
difference" only of models that are the same."""
import copy, json, pathlib, subprocess, sys

import jsonschema
import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper, parser

from one_by_one import main, test


class Tool:
    def __init__(self, program, folder):
        self.program, self.folder = program, folder
        self.schema = jsonschema.Draft202012Validator(json.loads(subprocess.run([program, "schema", "diff"], capture_output=True, check=True).stdout))

    def save(self, name, model, **options):
        onnx.save(model, self.folder / name, **options)
        return name

    def diff(self, before, after, code=0, says="", *words):
        """What the one model of the JSON report holds that isn't empty; `says`: what the text says."""
        text, form = (subprocess.run([self.program, "diff", before, after, *more, *words], cwd=self.folder, capture_output=True, text=True,
                                     timeout=120) for more in ((), ("--format", "json")))
        assert text.returncode == form.returncode == code, f"exit {text.returncode} and {form.returncode}, not {code}: {text.stdout}{text.stderr}"
        assert says in text.stdout + text.stderr, f"doesn't say '{says}': {text.stdout}{text.stderr}"
        if code == 3:
            return None
        report = json.loads(form.stdout)
        self.schema.validate(report)
        model = report["models"][0]
        found = {key: value for key, value in model.items() if value and isinstance(value, list)}
        assert bool(found) != ("no difference" in text.stdout), f"{found}, and in words: {text.stdout}"
        return found


MODEL = """
<ir_version: 10, opset_import: ["" : 17, "my" : 1]>
g (float[1,3,8,8] x, bool c) => (float[1,4,6,6] y)
{
  h = Conv <kernel_shape = [3, 3]> (x, w)
  s = my.scaled <factor = 2.0> (h)
  y = If (c) <then_branch = t () => (float[1,4,6,6] p) { p = Add (s, b) }, else_branch = e () => (q) { q = LeakyRelu <alpha = 0.1> (s) }>
}
<domain: "my", opset_import: ["" : 17]>
scaled <factor> (i) => (o) { f = Constant <value_float: float = @factor> ()  o = Mul (i, f) }
"""


def model():
    made = parser.parse_model(MODEL)
    random = np.random.default_rng(1)
    made.graph.initializer.append(numpy_helper.from_array(random.random((4, 3, 3, 3)).astype(np.float32) * 9, "w"))
    made.graph.initializer.append(numpy_helper.from_array(np.arange(4 * 36).reshape(1, 4, 6, 6).astype(np.float32), "b"))
    return made


def changed(tool, edit, code=0):
    after = model()
    edit(after)
    return tool.diff(tool.save("before.onnx", model()), tool.save("after.onnx", after), code)


def with_array(proto, name, array):
    for tensor in proto.graph.initializer:
        if tensor.name == name:
            tensor.CopyFrom(numpy_helper.from_array(array, name))


@test
def the_same(tool):
    assert changed(tool, lambda m: None) == {}
    path = tool.save("before.onnx", model())
    # The same elements, stored in other ways.
    outside = tool.save("outside.onnx", model(), save_as_external_data=True, location="weights.bin", size_threshold=0)
    assert tool.diff(path, outside) == {} and tool.diff(outside, path) == {}
    typed = model()
    for tensor in typed.graph.initializer:
        array = numpy_helper.to_array(tensor)
        tensor.CopyFrom(helper.make_tensor(tensor.name, TensorProto.FLOAT, array.shape, array.ravel().tolist()))
    assert tool.diff(path, tool.save("typed.onnx", typed)) == {}


@test
def attributes(tool):
    def edit(m):
        m.graph.node[0].attribute[0].ints[1] = 2
        m.graph.node[0].attribute.append(helper.make_attribute("group", 1))
        m.graph.node[1].attribute[0].f = 3
        next(a for a in m.graph.node[2].attribute if a.name == "else_branch").g.node[0].attribute[0].f = 0.2
    nodes = changed(tool, edit)["nodes"]
    assert [(n["scope"], n["name"], n["op"]) for n in nodes] == [("", "h", "Conv"), ("", "s", "my::scaled"), ("y.else_branch", "q", "LeakyRelu")], nodes
    assert nodes[0]["what"] == [{"name": "attribute kernel_shape", "before": "[3, 3]", "after": "[3, 2]"}, {"name": "attribute group", "before": None, "after": "1"}]
    assert nodes[1]["what"] == [{"name": "attribute factor", "before": "2", "after": "3"}]
    tool.diff("before.onnx", "after.onnx", 0, "attribute kernel_shape: [3, 3] → [3, 2]")


@test
def tensors_in_attributes(tool):
    def constant(values):
        node = helper.make_node("Constant", [], ["y"], value=helper.make_tensor("v", TensorProto.INT64, [len(values)], values))
        graph = helper.make_graph([node], "g", [], [helper.make_tensor_value_info("y", TensorProto.INT64, [len(values)])])
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    small, other = tool.save("small.onnx", constant([1, 2])), tool.save("other.onnx", constant([1, -3]))
    assert tool.diff(small, other)["nodes"][0]["what"] == [{"name": "attribute value", "before": "i64[2] {1, 2}", "after": "i64[2] {1, -3}"}]
    large, changed = tool.save("large.onnx", constant(list(range(5000)))), tool.save("changed.onnx", constant([*range(4999), 7]))
    assert tool.diff(large, changed)["nodes"][0]["what"] == [{"name": "attribute value", "before": "i64[5000]", "after": "i64[5000], other elements"}]
    assert tool.diff(large, large) == {}


@test
def wiring(tool):
    def edit(m):
        m.graph.node[1].input[0] = "x"
        m.graph.node.insert(0, helper.make_node("Neg", ["x"], ["unread"], name="spare"))
    found = changed(tool, lambda m: setattr(m.graph.node[1], "op_type", "other") or setattr(m.functions[0], "name", "other"), 1)
    assert found["nodes"][0]["what"] == [{"name": "operator", "before": "my::scaled", "after": "my::other"}]
    after = model()
    edit(after)
    nodes = tool.diff("before.onnx", tool.save("wired.onnx", after), 1)["nodes"]
    assert {(n["name"], n["before"], n["after"]) for n in nodes} == {("s", True, True), ("spare", False, True)}, nodes
    assert next(n for n in nodes if n["name"] == "s")["what"] == [{"name": "inputs", "before": "h", "after": "x"}]


@test
def functions(tool):
    nodes = changed(tool, lambda m: setattr(m.functions[0].node[1], "op_type", "Div"))
    assert [(n["scope"], n["op"]) for n in nodes["nodes"]] == [("my::scaled", "Div")]


@test
def weights(tool):
    array = numpy_helper.to_array(model().graph.initializer[0]).copy()
    array[0, 0, 0, 0] += 1
    array[3, 2, 2, 2] += 1
    found = changed(tool, lambda m: with_array(m, "w", array))
    assert found == {"weights": [{"scope": "", "name": "w", "before": "f32[4,3,3,3]", "after": "f32[4,3,3,3]", "elements": 108, "changed": 2}]}, found
    tool.diff("before.onnx", "after.onnx", 0, "2 of 108 changed")
    found = changed(tool, lambda m: with_array(m, "w", array.astype(np.float16)))
    assert found["weights"][0]["after"] == "f16[4,3,3,3]" and found["weights"][0]["elements"] == 0
    found = changed(tool, lambda m: (m.graph.initializer.add().CopyFrom(numpy_helper.from_array(array, "spare"))))
    assert found["weights"] == [{"scope": "", "name": "spare", "before": None, "after": "f32[4,3,3,3]", "elements": 0, "changed": 0}]


@test
def weights_outside(tool):
    """Larger than what is read at a time; and missing."""
    def save(name, array):
        graph = helper.make_graph([helper.make_node("Add", ["x", "w"], ["y"])], "g", [helper.make_tensor_value_info("x", TensorProto.INT64, [1])],
                                  [helper.make_tensor_value_info("y", TensorProto.INT64, ["n"])], [numpy_helper.from_array(array, "w")])
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        return tool.save(f"{name}.onnx", made, save_as_external_data=True, location=f"{name}.bin", size_threshold=0)
    array = np.arange(500_000)
    before = save("before", array)
    other = array.copy()
    other[[3, 200_000, 499_999]] += 1
    after = save("after", other)
    assert tool.diff(before, after)["weights"][0]["changed"] == 3
    typed = helper.make_model(helper.make_graph([helper.make_node("Add", ["x", "w"], ["y"])], "g", [helper.make_tensor_value_info("x", TensorProto.INT64, [1])],
                              [helper.make_tensor_value_info("y", TensorProto.INT64, ["n"])], [helper.make_tensor("w", TensorProto.INT64, [500_000], other.tolist())]),
                              opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    assert tool.diff(before, tool.save("typed.onnx", typed))["weights"][0]["changed"] == 3, "int64_data is read as varints"
    assert tool.diff(after, "typed.onnx") == {}
    (tool.folder / "after.bin").unlink()
    tool.diff(before, after, 3, "isn't there")


@test
def everything_else(tool):
    """Nothing that differs is called the same."""
    found = changed(tool, lambda m: setattr(m.graph.node[0], "doc_string", "another"))
    assert found["properties"][0]["name"] == "the rest", found
    order = [helper.make_node("Abs", ["x"], ["a"]), helper.make_node("Neg", ["x"], ["b"])]
    value = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, [2])
    save = lambda name, nodes: tool.save(name, helper.make_model(helper.make_graph(nodes, "g", [value("x")], [value("a"), value("b")]),
                                                                 opset_imports=[helper.make_opsetid("", 17)], ir_version=8))
    assert tool.diff(save("one.onnx", order), save("two.onnx", order[::-1]))["properties"][0]["name"] == "the rest"


@test
def nodes_that_share_a_name(tool):
    twice = model()
    for node in twice.graph.node:
        node.name = "same"
    path = tool.save("twice.onnx", twice)
    assert tool.diff(path, path) == {}
    other = copy.deepcopy(twice)
    other.graph.node[1].attribute[0].f = 5
    assert [n["name"] for n in tool.diff(path, tool.save("other.onnx", other))["nodes"]] == ["same"]


class Net(torch.nn.Module):
    def __init__(self, factor=2):
        super().__init__()
        torch.manual_seed(1)
        self.linear = torch.nn.Linear(300, 20)
        self.factor = factor

    def forward(self, x):
        return self.linear(x).relu() * self.factor


@test
def torchscript(tool):
    def save(name, net):
        torch.jit.trace(net, torch.zeros(2, 300)).save(str(tool.folder / name))
        return name
    before, same, other = Net(), Net(), Net()
    with torch.no_grad():
        other.linear.weight[3, 4] += 1
    assert tool.diff(save("before.pt", before), save("same.pt", same)) == {}
    found = tool.diff("before.pt", save("other.pt", other))
    assert found == {"weights": [{"scope": "", "name": "linear.weight", "before": "f32[20,300]", "after": "f32[20,300]", "elements": 6000, "changed": 1}]}, found
    found = tool.diff("before.pt", save("factor.pt", Net(3)))
    assert found["properties"][0]["name"] == "first line of code that differs", found
    assert found["weights"] == [{"scope": "", "name": "__torch__.Net.forward#0", "before": "i64[]", "after": "i64[]", "elements": 1, "changed": 1}], "a constant of the code"


if __name__ == "__main__":
    sys.exit(main(__doc__, Tool))
