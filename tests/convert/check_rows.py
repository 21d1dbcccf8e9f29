#!/usr/bin/env python3
"""Users' mapping rows from end to end: models with ONNX functions, nodes put in, custom domains and Python functions, run in ONNX
Runtime against PyTorch; and what each kind of wrong row is told."""
import argparse, json, pathlib, subprocess, sys, tempfile

import numpy as np
import onnx
import onnxruntime
import torch

TESTS = []
FOLDER = None
PROGRAM = None

SELU = """\
aten::selu:
  9:
    when: {self: {dtype: f32}}
    attributes: {gamma: {constant: 1.0507009873554805}}
    function: |
      <domain: "custom-onnx-script", opset_import: ["" : 9]>
      Selu <alpha: float = 1.6732632423543772, gamma> (X) => (Y) {
        zero = Constant <value = float {0.0}> ()
        one = Constant <value = float {1.0}> ()
        a = Constant <value = float {1.6732632423543772}> ()
        g = Constant <value = float {1.0507009873554805}> ()
        e = Exp (X)
        less = Sub (e, one)
        scaled = Mul (a, less)
        above = Greater (X, zero)
        chosen = Where (above, X, scaled)
        Y = Mul (g, chosen)
      }
  15:
    attributes: {gamma: {constant: 1.0507009873554805}}
    function: |
      # what is scaled by alpha
      <domain: "custom-onnx-script", opset_import: ["" : 15]>
      Below <alpha> (X) => (Y) {
        a = Constant <value_float: float = @alpha> ()
        like = CastLike (a, X)
        one = Constant <value_float = 1.0> ()
        one_like = CastLike (one, X)
        e = Exp (X)
        less = Sub (e, one_like)
        Y = Mul (like, less)
      }
      <domain: "custom-onnx-script", opset_import: ["" : 15]>
      Selu <alpha: float = 1.6732632423543772, gamma> (X) => (Y) {
        g = Constant <value_float: float = @gamma> ()
        g_like = CastLike (g, X)
        zero = Constant <value_float = 0.0> ()
        zero_like = CastLike (zero, X)
        above = Greater (X, zero_like)
        scaled = Below <alpha: float = @alpha> (X)
        chosen = Where (above, X, scaled)
        Y = Mul (g_like, chosen)
      }
"""


def test(function):
    TESTS.append(function)
    return function


def compatcheck(*arguments):
    return subprocess.run([PROGRAM, *map(str, arguments)], cwd=FOLDER, capture_output=True, text=True, timeout=300)


def write(name, text):
    (FOLDER / name).write_text(text)
    return name


def convert(graph, rows, *options, opset=17):
    """The model that is written."""
    made = compatcheck("convert", write("m.ir", graph), "--mappings", write("rows.yaml", rows), "-o", "m.onnx", "--opset", opset, *options)
    assert made.returncode == 0, made.stdout + made.stderr
    model = onnx.load(FOLDER / "m.onnx")
    onnx.checker.check_model(model)
    onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True)
    return model


def run(model, **inputs):
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, {name: np.asarray(value) for name, value in inputs.items()})


def same(given, expected, **tolerance):
    expected = expected.numpy() if isinstance(expected, torch.Tensor) else np.asarray(expected)
    assert given.dtype == expected.dtype and given.shape == expected.shape, (given.dtype, given.shape, expected.dtype, expected.shape)
    np.testing.assert_allclose(given, expected, **({"rtol": 1e-5, "atol": 1e-6} | tolerance))


def ops(model):
    return [(node.domain + "::" if node.domain else "") + node.op_type for node in model.graph.node]


def report(graph, rows, *options, opset=17):
    arguments = ["check", write("m.ir", graph), "--format", "json", "--opset", opset, *options]
    if rows:
        arguments += ["--mappings", write("rows.yaml", rows)]
    made = compatcheck(*arguments)
    assert made.stdout, made.stderr
    return json.loads(made.stdout)


def refused(rows, *messages, graph="graph(%x : Float(2, 3)):\n  %y : Tensor = aten::relu(%x)\n  return (%y)\n"):
    """The rows are no table; every word of `messages` is in the message, and `lint` says the same."""
    write("rows.yaml", rows)
    checked = compatcheck("check", write("m.ir", graph), "--mappings", "rows.yaml")
    assert checked.returncode == 2, (rows, checked.stdout, checked.stderr)
    linted = compatcheck("lint", "rows.yaml")
    assert linted.returncode == 1, (rows, linted.stdout, linted.stderr)
    for word in messages:
        assert word in checked.stderr, (word, checked.stderr)
        assert word in linted.stdout + linted.stderr, (word, linted.stdout, linted.stderr)


TWICE = "graph(%x : {}):\n  %y : Tensor = aten::selu(%x)\n  %z : Tensor = aten::selu(%y)\n  return (%z)\n"


@test
def selu_as_a_local_function():
    for opset in (9, 14, 15, 17, 20, 24):
        model = convert(TWICE.format("Float(2, 3)"), SELU, opset=opset)
        assert ops(model) == ["custom-onnx-script::Selu"] * 2, ops(model)
        names = sorted(function.name for function in model.functions)
        assert names == (["Selu"] if opset < 15 else ["Below", "Selu"]), names
        assert model.ir_version >= 8
        imports = {one.domain: one.version for one in model.opset_import}
        assert imports == {"": opset, "custom-onnx-script": 1}, imports
        x = torch.randn(2, 3)
        same(run(model, x=x)[0], torch.selu(torch.selu(x)))


@test
def a_function_serves_every_dtype():
    for spelled, dtype, tolerance in (("Double", torch.float64, {}), ("Half", torch.float16, {"rtol": 1e-2, "atol": 1e-3})):
        model = convert(TWICE.format(spelled + "(2, 3)"), SELU, opset=18)
        x = torch.randn(2, 3).to(dtype)
        same(run(model, x=x)[0], torch.selu(torch.selu(x)), **tolerance)


@test
def functions_put_in_as_nodes():
    model = convert(TWICE.format("Float(2, 3)"), SELU, "--inline-functions")
    assert not model.functions and {one.domain for one in model.opset_import} == {""}, model.opset_import
    assert ops(model).count("Exp") == 2 and ops(model).count("Where") == 2, ops(model)
    x = torch.randn(2, 3)
    same(run(model, x=x)[0], torch.selu(torch.selu(x)))


@test
def the_report_says_whose_row_won():
    found = report(TWICE.format("Float(2, 3)"), SELU)
    (op,) = [op for op in found["operators"] if op["op"] == "aten::selu"]
    assert op["mapping"]["source"] == "rows.yaml" and op["mapping"]["line"] == 20, op
    assert op["class"] == "one_to_one" and op["onnx"] == ["custom-onnx-script::Selu"], op
    text = compatcheck("check", "m.ir", "--mappings", "rows.yaml").stdout
    assert "(your row, rows.yaml:" in text, text


@test
def python_function_of_two_nodes():
    graph = ("graph(%x : Float(2, 3), %y : Float(2, 3)):\n  %z : Float(2, 3) = ^MyAdd()(%x, %y)\n"
             "  %r : Tensor = aten::relu(%z)\n  return (%r)\n")
    rows = ("prim::PythonOp.MyAdd:\n  schema: \"MyAdd(Tensor a, Tensor b) -> Tensor\"\n  9:\n    inputs: [a, b]\n    inline: |\n"
            "      MyAdd (a, b) => (c) {\n        two = Constant <value = float {2.0}> ()\n        double = Mul (two, a)\n        c = Add (double, b)\n      }\n")
    found = report(graph, rows)
    (op,) = [op for op in found["operators"] if op["overload"] == "MyAdd"]
    assert op["class"] == "one_to_many" and op["onnx"] == ["Mul", "Add"], op
    for opset in (9, 17):
        model = convert(graph, rows, opset=opset)
        assert ops(model) == ["Mul", "Add", "Relu"], ops(model)
        x, y = torch.randn(2, 3), torch.randn(2, 3)
        same(run(model, x=x, y=y)[0], torch.relu(2 * x + y))


@test
def clip_with_a_constant_minimum():
    graph = "graph(%x : Float(2, 3)):\n  %y : Float(2, 3) = ^MyRelu()(%x)\n  return (%y)\n"
    for row in ("{to: Clip, inputs: [input_0], attributes: {min: 0.0}}", "{to: Clip, inputs: [input_0], attributes: {min: {float: 0}}}"):
        rows = "prim::PythonOp.MyRelu: {7: " + row + "}\n"
        for opset, inputs, attributes in ((9, 1, 1), (13, 2, 0)):
            model = convert(graph, rows, opset=opset)
            (node,) = model.graph.node
            assert (len(node.input), len(node.attribute)) == (inputs, attributes), node
            x = torch.randn(2, 3)
            same(run(model, x=x)[0], torch.relu(x))
    model = convert(graph, "prim::PythonOp.MyRelu: {11: {to: Clip, inputs: [input_0, {float: 0.0}]}}\n", opset=13)
    assert len(model.graph.node[0].input) == 2
    x = torch.randn(2, 3)
    same(run(model, x=x)[0], torch.relu(x))


@test
def python_functions_by_name():
    graph = ("graph(%x : Float(2, 3)):\n  %y : Float(2, 3) = ^MyClip(0.5)(%x)\n  %z : Float(2, 3) = ^MyRelu()(%y)\n  return (%z)\n")
    rows = ("prim::PythonOp.MyClip: {schema: \"MyClip(Tensor x, float least) -> Tensor\", 9: {to: Clip, inputs: [x], attributes: {min: least}}}\n"
            "prim::PythonOp.MyRelu: {9: {to: Relu, inputs: [input_0]}}\n")
    for opset in (9, 13):
        model = convert(graph, rows, opset=opset)
        x = torch.randn(2, 3)
        same(run(model, x=x)[0], torch.clamp(x, min=0.5).relu())
    found = report(graph.replace("MyRelu", "Other"), rows)
    (finding,) = [f for f in found["findings"] if f["severity"] == "error"]
    assert finding["id"] == "CC003" and "Python function Other" in finding["message"], finding
    assert finding["row"].startswith('prim::PythonOp.Other: {schema: "Other(Tensor input_0) -> Tensor",'), finding
    made = convert(graph.replace("MyRelu", "Other"), rows + finding["row"].replace("TODO", "same") + "\n", opset=13)
    assert ops(made) == ["Clip", "your.domain::Other"], ops(made)
    rows = rows.replace("Tensor x, float least", "Tensor x, Tensor y, float least")
    found = report(graph, rows.replace("inputs: [x], attributes: {min", "inputs: [x, {none: y}], attributes: {min"))
    assert found["verdict"] == "no", found["findings"]


@test
def results_keep_the_declared_type():
    graph = "graph(%x : Float(2, 3)):\n  %y : Double(2, 6) = ^Wide()(%x)\n  %n : int = aten::numel(%y)\n  return (%y, %n)\n"
    model = convert(graph, "prim::PythonOp.Wide: {9: {to: acme::Wide, inputs: [input_0]}}\n")
    output = model.graph.output[0].type.tensor_type
    assert output.elem_type == onnx.TensorProto.DOUBLE and [d.dim_value for d in output.shape.dim] == [2, 6], output


@test
def a_dump_says_inplace_of_every_function():
    graph = ("graph(%x : Float(2, 3)):\n  %y : Double(2, 1) = ^Norm[inplace=0, module=\"net\", Subgraph=<Graph>]()(%x)\n  return (%y)\n")
    found = report(graph, "")
    (finding,) = found["findings"]
    assert "facts" not in finding["row"], finding
    for rows in ("prim::PythonOp.Norm: {9: {to: acme::Norm, inputs: [input_0]}}\n", finding["row"] + "\n"):
        output = convert(graph, rows).graph.output[0].type.tensor_type
        assert output.elem_type == onnx.TensorProto.DOUBLE and [d.dim_value for d in output.shape.dim] == [2, 1], output


@test
def sizes_that_were_seen_are_not_those_of_other_inputs():
    graph = ("graph(%a : Float(2, 3), %b : Float(2, 3)):\n  %0 : int = prim::Constant[value=0]()\n  %c : Float(2, 3) = ^MyAdd()(%a, %b)\n"
             "  %d : Float(2, 3) = ^MyAdd()(%c, %b)\n  %n : int = aten::size(%d, %0)\n  %one : int = prim::Constant[value=1]()\n"
             "  %s : int[] = prim::ListConstruct(%one, %n, %one)\n  %m : int = prim::Constant[value=-1]()\n"
             "  %t : int[] = prim::ListConstruct(%n, %m)\n  %y : Tensor = aten::reshape(%d, %t)\n  %z : Tensor = aten::repeat(%y, %s)\n  return (%z)\n")
    rows = "prim::PythonOp.MyAdd: {9: {inputs: [input_0, input_1], inline: \"MyAdd (a, b) => (c) { d = Add (a, a) c = Add (d, b) }\"}}\n"
    fixed = convert(graph, rows)
    assert [d.dim_value for d in fixed.graph.output[0].type.tensor_type.shape.dim] == [1, 4, 3], fixed.graph.output
    model = convert(graph, rows, "--input", "a=f32:n,m", "--input", "b=f32:n,m")
    for size in ((2, 3), (5, 4)):
        a, b = torch.randn(size), torch.randn(size)
        same(run(model, a=a, b=b)[0], (4 * a + 3 * b).repeat(1, size[0], 1))


@test
def typed_attributes_of_a_custom_domain():
    graph = ("graph(%a : Float(2, 3), %b : Float(2, 3)):\n  %1 : float = prim::Constant[value=1.5]()\n  %2 : int = prim::Constant[value=3]()\n"
             "  %y : Float(2, 3) = custom_ops::foo_forward(%a, %b, %1, %2)\n  return (%y)\n")
    rows = ("domains: {custom_domain: 2}\ncustom_ops::foo_forward:\n"
            "  schema: \"custom_ops::foo_forward(Tensor input1, Tensor input2, float attr1, int attr2) -> Tensor\"\n"
            "  9: {to: custom_domain::Foo, inputs: [input1, input2], attributes: {attr1: {float: attr1}, attr2: {int: attr2}}}\n")
    model = convert(graph, rows)
    (node,) = model.graph.node
    assert [(a.name, a.type) for a in node.attribute] == [("attr1", onnx.AttributeProto.FLOAT), ("attr2", onnx.AttributeProto.INT)], node
    assert {one.domain: one.version for one in model.opset_import} == {"": 17, "custom_domain": 2}
    model = convert(graph, rows, "--custom-opset", "custom_domain=3")
    assert {one.domain: one.version for one in model.opset_import}["custom_domain"] == 3
    for wrong in ("custom_domain", "custom_domain=0", "custom_domain=x", "=2", "ai.onnx=9", "a b=1"):
        made = compatcheck("check", "m.ir", "--mappings", "rows.yaml", "--custom-opset", wrong)
        assert made.returncode == 2 and "--custom-opset " + wrong in made.stderr, (wrong, made.returncode, made.stderr)
    refused(rows.replace("{int: attr2}", "{string: attr2}"), "argument `attr2` is int", "`string`", graph=graph)
    refused(rows.replace("{float: attr1}", "{int: attr1}"), "argument `attr1` is float", "`int`", graph=graph)


@test
def bodies_absent_inputs_and_ml_domains():
    graph = ("graph(%x : Float(2, 3), %w : Float(3)):\n  %n : NoneType = prim::Constant()\n"
             "  %y : Float(2, 3) = acme::scaled(%x, %w, %n)\n  %z : Float(2, 3) = acme::scaled(%y, %n, %w)\n  return (%z)\n")
    rows = ("acme::scaled:\n  schema: \"acme::scaled(Tensor x, Tensor? w, Tensor? b) -> Tensor\"\n  11:\n"
            "    - when: {w: ~}\n      inputs: [x, b]\n      KIND: |\n"
            "        <domain: \"acme\", opset_import: [\"\" : 11]> Shifted (x, b) => (y) {\n"
            "          s = ReduceSum <axes = [0, 1], keepdims = 0> (x)\n          zero = Constant <value = float {0.0}> ()\n          c = Greater (s, zero)\n"
            "          y = If (c) <then_branch = t () => (a) { a = Add (x, b) }, else_branch = e () => (a) { a = Sub (x, b) }>\n        }\n"
            "    - inputs: [x, b, w]\n      KIND: |\n"
            "        <domain: \"acme\", opset_import: [\"\" : 11]> Scaled (x, b, w) => (y) { t = Clip (x, b) y = Mul (t, w) }\n  13:\n"
            "    - when: {w: ~}\n      inputs: [x, b]\n      KIND: |\n"
            "        <domain: \"acme\", opset_import: [\"\" : 13]> Shifted (x, b) => (y) {\n"
            "          axes = Constant <value_ints = [0, 1]> ()\n          s = ReduceSum <keepdims = 0> (x, axes)\n"
            "          zero = Constant <value_float = 0.0> ()\n          c = Greater (s, zero)\n"
            "          y = If (c) <then_branch = t () => (a) { a = Add (x, b) }, else_branch = e () => (a) { a = Sub (x, b) }>\n        }\n"
            "    - inputs: [x, b, w]\n      KIND: |\n"
            "        <domain: \"acme\", opset_import: [\"\" : 13]> Scaled (x, b, w) => (y) { t = Clip (x, b) y = Mul (t, w) }\n")
    for kind in ("function", "inline"):
        for opset in (11, 13, 17):
            model = convert(graph, rows.replace("KIND", kind), opset=opset)
            for _ in range(4):
                x, w = torch.randn(2, 3), torch.randn(3)
                y = x * w
                same(run(model, x=x, w=w)[0], y + w if y.sum() > 0 else y - w)
    refused("domains: {ai.onnx.ml: 1}\nacme::f: {9: {to: ai.onnx.ml::TreeEnsemble}}\n", "ai.onnx.ml::TreeEnsemble", "from version 5")


@test
def dtypes_that_a_function_cannot_take():
    graph = "graph(%x : Short(2, 3)):\n  %y : Short(2, 3) = acme::exp(%x)\n  return (%y)\n"
    rows = "acme::exp: {schema: \"acme::exp(Tensor x) -> Tensor\", 13: {KIND: \"<domain: \\\"acme\\\"> E (x) => (y) { y = Exp (x) }\"}}\n"
    for kind in ("function", "inline"):
        found = report(graph, rows.replace("KIND", kind))
        assert found["verdict"] == "no", found
        written = compatcheck("convert", "m.ir", "--mappings", "rows.yaml", "-o", "never.onnx")
        assert written.returncode == 1 and not (FOLDER / "never.onnx").exists(), written


@test
def a_list_is_not_cut_to_its_first_member():
    graph = ("graph(%x : Float(2, 3)):\n  %a : float = prim::Constant[value=2.]()\n  %b : float = prim::Constant[value=3.]()\n"
             "  %w : float[] = prim::ListConstruct(%a, %b, %a)\n  %y : Float(2, 3) = acme::scale(%x, %w)\n  return (%y)\n")
    rows = ("acme::scale:\n  schema: \"acme::scale(Tensor x, float[] w) -> Tensor\"\n  facts: same\n  13:\n    inputs: [x, ARGUMENT]\n    KIND: |\n"
            "      <domain: \"acme\", opset_import: [\"\" : 13]> Scale (x, w) => (y) { f = Cast <to = 1> (w) y = Mul (x, f) }\n")
    for kind in ("function", "inline"):
        found = report(graph, rows.replace("KIND", kind).replace("ARGUMENT", "w"))
        (finding,) = [f for f in found["findings"] if f["severity"] == "error"]
        assert finding["id"] == "CC005" and finding["message"] == "its row gives 4 inputs, Scale in its ONNX text takes 2", finding
        x = torch.randn(2, 3)
        same(run(convert(graph, rows.replace("KIND", kind).replace("ARGUMENT", "{floats: w}")), x=x)[0], x * torch.tensor([2.0, 3.0, 2.0]))


@test
def wrong_rows():
    body = "aten::relu:\n  9:\n    function: |\n      <domain: \"acme\", opset_import: [\"\" : 9]>\n      F {} (x) => (y) {{ {} }}\n"
    refused(body.format("", "y = Relu (x"), "rows.yaml:5", "ONNX text", "Expected character )")
    refused(body.format("", "y = Reluu (x)"), "rows.yaml:5:27", "ONNX has no operator `Reluu`", "did you mean `Relu`")
    refused(body.format("", "y = LeakyRelu <alfa = 0.1> (x)"), "LeakyRelu has no attribute `alfa`", "did you mean `alpha`")
    refused(body.format("", "y = LeakyRelu <alpha = 1> (x)"), "attribute `alpha` of LeakyRelu is FLOAT, here it is INT")
    refused(body.format("", "y = Gelu (x)"), "`Gelu` is in ONNX from opset 20")
    refused(body.format("", "y = Relu (z)"), "nothing gives `z`")
    refused(body.format("", "z = Relu (x)"), "gives its output `y`")
    refused(body.format("", "y = Relu (x) y = Exp (x)"), "`y` is defined twice")
    refused(body.format("", "y = Relu (x, x)"), "Relu takes 1 input, here it is given 2")
    refused(body.format("<a>", "y = LeakyRelu <alpha: float = @b> (x)"), "`F` has no attribute `b`")
    refused(body.format("<a>", "y = LeakyRelu <alpha: float = @a> (x)"), "`F` needs the attribute `a`")
    refused(body.format("", "y = acme.F (x)"), "functions in a circle")
    refused(body.format("", "y = Relu (x)").replace('"" : 9', '"" : 14'), "written for opset 14, this entry holds from 9")
    refused(body.format("", "y = Clip <min = 0.0> (x)"), "is an input from opset 11 on")
    refused(body.format("", "y = Relu (x)").replace('domain: "acme", ', ""), "has no domain")
    refused(body.format("", "y = Relu (x)").replace('"acme"', '"ai.onnx.ml"'), "ONNX's own")
    refused(body.format("", "y = Relu (x)") + "    to: Relu\n", "`to` is implied")
    refused(body.format("", "y = Relu (x)")
            + "aten::exp:\n  9:\n    function: |\n      <domain: \"acme\">\n      F (x) => (y) { y = Exp (x) }\n",
            "`acme::F` has another body in rows.yaml:")
    refused("aten::elu: {9: {to: Elu, inputs: [self], attributes: {alpha: {int: alpha}}}}\n", "attribute `alpha` of Elu is FLOAT", "as `int`")
    refused("aten::elu: {9: {to: Elu, inputs: [self], attributes: {alpha: {float: \"x\"}}}}\n", "a constant that is float")
    refused("aten::relu: {9: {to: acme::R, inputs: [{string: self}]}}\n", "an input is a tensor", "`string`")
    refused("aten::relu: {9: {to: acme::R, inputs: [other]}}\n", "no argument `other`")
    refused("aten::reluu: {9: Relu}\n", "no operator `aten::reluu` is known")
    refused("domains: {acme: 0}\naten::relu: {9: acme::R}\n", "a domain's version is a number from 1")
    refused("domains: {ai.onnx: 3}\naten::relu: {9: acme::R}\n", "isn't a custom domain")
    refused("domains: [acme]\naten::relu: {9: acme::R}\n", "`domains` maps")


@test
def no_tensor_is_dropped_silently():
    graph = "graph(%x : Float(2, 3), %z : Float(2, 3)):\n  %one : int = prim::Constant[value=1]()\n  %y : Tensor = aten::add(%x, %z, %one)\n  return (%y)\n"
    refused("aten::add.Tensor: {9: {to: Relu, inputs: [self]}}\n", "leaves out the argument `other` of aten::add.Tensor", "{none: other}", graph=graph)
    refused("aten::add: {9: {inputs: [self], inline: \"F (x) => (y) { y = Relu (x) }\"}}\n", "leaves out the argument `other`", graph=graph)
    assert ops(convert(graph, "aten::add.Tensor: {9: {to: Relu, inputs: [self, {none: other}], when: {alpha: 1}}}\n")) == ["Relu"]
    # What no schema says beforehand is found in the call.
    function = "graph(%x : Float(2, 3), %z : Float(2, 3)):\n  %y : Float(2, 3) = ^Pair()(%x, %z)\n  return (%y)\n"
    (finding,) = report(function, "prim::PythonOp.Pair: {9: {to: Relu, inputs: [input_0]}}\n")["findings"]
    assert finding["id"] == "CC005" and "argument input_1" in finding["message"] and "{none: input_1}" in finding["help"], finding
    assert ops(convert(function, "prim::PythonOp.Pair: {9: {to: Relu, inputs: [input_0, {none: input_1}]}}\n")) == ["Relu"]
    # None is no tensor: only what a call gives is missed.
    optional = "graph(%x : Float(2, 3), %z : Float(2, 3)):\n  %n : NoneType = prim::Constant()\n  %y : Float(2, 3) = acme::f(%x, {})\n  return (%y)\n"
    rows = "acme::f: {schema: \"acme::f(Tensor x, Tensor? bias) -> Tensor\", facts: same, 9: {to: Relu, inputs: [x]}}\n"
    assert report(optional.format("%n"), rows)["verdict"] == "yes"
    (finding,) = report(optional.format("%z"), rows)["findings"]
    assert "argument bias" in finding["message"], finding
    # By keyword alone, it is given as any other.
    keyword = "acme::f: {schema: \"acme::f(Tensor x, *, Tensor bias) -> Tensor\", facts: same, 9: {to: acme::F}}\n"
    assert list(convert(optional.format("%z"), keyword).graph.node[0].input) == ["x", "z"]


@test
def what_no_trial_shows_is_an_error_of_the_table():
    graph = "graph(%x : Float(2, 3)):\n  %y : Tensor = aten::exp(%x)\n  return (%y)\n"
    rows = "aten::exp:\n  13:\n    function: |\n      <domain: \"acme\">\n      F (x) => (y) { s = Constant <value_ints = [7]> () y = Expand (x, s) }\n"
    made = compatcheck("convert", write("m.ir", graph), "--mappings", write("rows.yaml", rows), "-o", "never.onnx")
    assert made.returncode == 2 and "Incompatible dimensions" in made.stderr and not (FOLDER / "never.onnx").exists(), made


@test
def the_check_tries_the_whole_model():
    # No trial of one call shows that the row gives other sizes than it states.
    graph = "graph(%x : Float(3, 5)):\n  %y : Tensor = acme::c(%x)\n  return (%y)\n"
    rows = ("acme::c:\n  schema: \"acme::c(Tensor x) -> Tensor\"\n  facts: same\n  13:\n    inputs: [x]\n"
            "    inline: \"c (x) => (y) { s = Constant <value_ints = [7]> () y = Expand (x, s) }\"\n")
    found = report(graph, rows)
    (finding,) = [one for one in found["findings"] if one["severity"] == "error"]
    assert found["verdict"] == "no" and finding["message"].startswith("with the rows and plugins given, "), found["findings"]
    assert report(graph, rows.replace("[7]", "[1]"))["verdict"] == "yes"


def contradiction(graph, rows, *words, options=()):
    """The row is refused for its facts, by the check and by the conversion, with its place and the call."""
    found = report(graph, rows, *options)
    (finding,) = [one for one in found["findings"] if one["severity"] == "error"]
    assert (found["verdict"], finding["id"]) == ("no", "CC005"), found["findings"]
    for word in ("of its row (rows.yaml:", *words):
        assert word in finding["message"], (word, finding["message"])
    assert finding["op"] and len(finding["sites"]) == 1, finding
    written = compatcheck("convert", "m.ir", "--mappings", "rows.yaml", "-o", "never.onnx", *options)
    assert written.returncode == 1 and "of its row (rows.yaml:" in written.stdout and not (FOLDER / "never.onnx").exists(), written


TURNED = ("acme::c:\n  schema: \"acme::c(Tensor x) -> Tensor\"\n  facts: same\n  13: {inputs: [x], KIND: \"<domain: \\\"acme\\\"> c (x) => (y) "
          "{ y = Transpose (x) }\"}\n")


@test
def facts_that_the_nodes_of_the_row_contradict():
    graph = "graph(%x : Float(3, 5)):\n  %y : Tensor = acme::c(%x)\n  return (%y)\n"
    inside = graph.replace("  return (%y)", "  %n : NoneType = prim::Constant()\n  %z : Tensor = aten::sum(%y, %n)\n  return (%z)")
    for kind in ("inline", "function"):
        rows = TURNED.replace("KIND", kind)
        for one in (graph, inside):
            contradiction(one, rows, "`facts: same`", "says f32[3, 5], but its ONNX nodes give ?[5, 3]")
            contradiction(one, rows, "f32[n, m]", "its ONNX nodes give ?[m, n]", options=("--input", "x=f32:n,m"))
            contradiction(one, rows, "f32[n, 5]", "its ONNX nodes give ?[5, n]", options=("--input", "x=f32:n,5"))
        assert report(graph, rows, "--input", "x=f32:3,3")["verdict"] == "yes"
    summed = ("acme::c:\n  schema: \"acme::c(Tensor x) -> Tensor\"\n  facts: same\n"
              "  13: {inputs: [x], to: ReduceMax, attributes: {axes: {ints: [0]}, keepdims: 0}}\n")
    contradiction(inside, summed, "f32[3, 5]", "its ONNX nodes give ?[5]")


@test
def facts_that_recorded_types_contradict():
    graph = "graph(%x : Float(2, 3)):\n  %y : Float(2, 6) = acme::wide(%x) # wide.py:7:8\n  return (%y)\n"
    rows = "acme::wide: {schema: \"acme::wide(Tensor x) -> Tensor\", facts: same, 9: {to: acme::Wide, inputs: [x]}}\n"
    contradiction(graph, rows, "`facts: same`", "f32[2, 3]", "the model's file records f32[2, 6]")
    contradiction(graph.replace("(2, 6)", "(2, 3, 1)"), rows, "the model's file records f32[2, 3, 1]")
    contradiction(graph.replace("(2, 6)", "(2, 3, 1)"), rows, "records f32[?, ?, ?]", options=("--input", "x=f32:n,3"))
    # Other sizes than those of the trace.
    assert report(graph, rows, "--input", "x=f32:2,6")["verdict"] == report(graph.replace("(2, 6)", "(2, 3)"), rows)["verdict"] == "yes"
    found = report(graph.replace("Float(2, 6)", "Double(2, 3)"), rows)
    (finding,) = found["findings"]
    assert (found["verdict"], finding["id"], finding["severity"]) == ("yes", "CC005", "warning"), found["findings"]
    assert "says f32, but the model's file records f64" in finding["message"], finding

    library = torch.library.Library("acme", "FRAGMENT")
    library.define("twice_as_wide(Tensor x) -> Tensor")
    library.impl("twice_as_wide", lambda x: torch.cat([x, x], 1), "CompositeExplicitAutograd")

    class Net(torch.nn.Module):
        def forward(self, x):
            return torch.ops.acme.twice_as_wide(x).relu()

    program = torch.export.export(Net(), (torch.randn(4, 3),), dynamic_shapes=({0: torch.export.Dim("n")},))
    torch.export.save(program, str(FOLDER / "wide.pt2"))
    write("rows.yaml", rows.replace("acme::wide", "acme::twice_as_wide"))
    made = compatcheck("check", "wide.pt2", "--mappings", "rows.yaml", "--format", "json")
    (finding,) = [one for one in json.loads(made.stdout)["findings"] if one["severity"] == "error"]
    assert "the model's file records f32[?, 6]" in finding["message"], finding


@test
def facts_that_pytorch_contradicts():
    graph = ("graph(%x : Float(2, 3)):\n  %0 : int = prim::Constant[value=0]()\n  %1 : int = prim::Constant[value=-1]()\n"
             "  %y : Tensor = aten::flatten(%x, %0, %1)\n  return (%y)\n")
    rows = "aten::flatten: {facts: same, 9: {to: acme::Flat, inputs: [self]}}\n"
    contradiction(graph, rows, "`facts: same`", "f32[2, 3]", "PyTorch gives f32[6]")
    contradiction(graph, rows, "f32[n, 3]", "PyTorch gives f32[3*n]", options=("--input", "x=f32:n,3"))
    assert report(graph, rows.replace("facts: same, ", ""))["verdict"] == "yes"


@test
def a_users_word_for_facts_comes_before_functions():
    graph = "graph(%x : Float(3, 5)):\n  %s : int[] = prim::Constant[value=[1]]()\n  %y : Tensor = aten::flip(%x, %s)\n  return (%y)\n"
    plain = convert(graph, "aten::flip: {9: {to: acme::Flip, inputs: [self], attributes: {dims: {ints: dims}}}}\n")
    assert plain.graph.output[0].type.tensor_type.elem_type == onnx.TensorProto.FLOAT
    stated = convert(graph, "aten::flip: {facts: test, 9: {to: acme::Flip, inputs: [self], attributes: {dims: {ints: dims}}}}\n")
    assert stated.graph.output[0].type.tensor_type.elem_type == onnx.TensorProto.BOOL


@test
def several_results_have_a_word_each():
    schema = "  schema: \"acme::stats(Tensor x, int[] dim, bool keepdim) -> (Tensor, Tensor)\"\n"
    rows = "acme::stats:\n" + schema + "  facts: [same, reduce_index]\n  9: {to: acme::Stats, inputs: [x], attributes: {axes: {ints: dim}, keep: {bool: keepdim}}}\n"
    graph = ("graph(%x : Float(2, 3)):\n  %d : int[] = prim::Constant[value=[1]]()\n  %k : bool = prim::Constant[value=0]()\n"
             "  %zero : int = prim::Constant[value=0]()\n  %last : int = prim::Constant[value=-1]()\n"
             "  %a : Tensor, %b : Tensor = acme::stats(%x, %d, %k)\n  %c : Tensor = aten::flatten(%a, %zero, %last)\n  return (%c, %b)\n")

    def types(model):
        return [(one.type.tensor_type.elem_type, [d.dim_value for d in one.type.tensor_type.shape.dim]) for one in model.graph.output]
    assert ops(convert(graph, rows)) == ["acme::Stats", "Reshape"], "each result has its own dtype: nothing is cast"
    expected = [(onnx.TensorProto.FLOAT, [6]), (onnx.TensorProto.INT64, [2])]
    assert types(convert(graph, rows)) == expected, types(convert(graph, rows))
    second = convert(graph.replace("return (%c, %b)", "return (%c)"), rows.replace("reduce_index", "~"))
    assert types(second) == expected[:1], types(second)
    for wrong, why in (("[same, sam]", "`facts: sam` isn't a word for facts; did you mean `same`"), ("[]", "an empty list of words"),
                       ("[same, same, same]", "`facts` has 3 words, and the results are 2")):
        refused(rows.replace("[same, reduce_index]", wrong), why, graph=graph)
    # The row that a finding gives states them, too.
    (finding,) = [one for one in report(graph, "")["findings"] if one["op"] == "acme::stats"]
    assert "facts: TODO" in finding["row"], finding
    library = torch.library.Library("acme", "DEF")
    library.define("stats(Tensor x, int[] dim, bool keepdim) -> (Tensor, Tensor)")
    library.impl("stats", lambda x, dim, keepdim: (x * 2, x.argmax(dim[0], keepdim)), "CPU")

    class Net(torch.nn.Module):
        def forward(self, x):
            doubled, at = torch.ops.acme.stats(x, [1], False)
            return doubled.flatten(), at

    torch.jit.script(Net()).save(str(FOLDER / "stats.pt"))
    made = compatcheck("convert", "stats.pt", "--mappings", write("rows.yaml", rows), "--input", "x=f32:2,3", "-o", "stats.onnx")
    assert made.returncode == 0, made.stdout + made.stderr
    assert types(onnx.load(FOLDER / "stats.onnx")) == expected


@test
def scaffolds_of_python_functions():
    made = compatcheck("explain", "prim::PythonOp.MyAdd", "--scaffold", "yaml")
    assert made.returncode == 0 and 'schema: "MyAdd(Tensor input_0) -> Tensor"' in made.stdout and "to: your.domain::MyAdd" in made.stdout, made
    linted = compatcheck("lint", write("rows.yaml", made.stdout))
    assert linted.returncode == 0, linted.stdout
    graph = "graph(%x : Float(2, 3)):\n  %y : Float(2, 3) = ^MyAdd()(%x)\n  return (%y)\n"
    assert ops(convert(graph, made.stdout)) == ["your.domain::MyAdd"]


@test
def loops_and_branches():
    graph = ("graph(%x : Float(2, 3), %c : bool):\n  %y : Tensor = aten::relu(%x)\n  %z : Tensor = prim::If(%c)\n    block0():\n"
             "      %a : Tensor = aten::neg(%y)\n      -> (%a)\n    block1():\n      %b : Tensor = aten::relu(%y)\n      -> (%b)\n  return (%z)\n")
    rows = ("aten::relu:\n  13:\n    inline: |\n      Powers (x) => (y) {\n        three = Constant <value_int = 3> ()\n"
            "        yes = Constant <value = bool {1}> ()\n        two = Constant <value_float = 2.0> ()\n"
            "        y, all = Loop (three, yes, x) <body = b (int64 i, bool c, float[N] a) => (bool d, float[N] m, float[N] s) {\n"
            "          d = Identity (c)\n          m = Mul (a, two)\n          s = Relu (m)\n        }>\n      }\n"
            "aten::neg:\n  13:\n    function: |\n      <domain: \"acme\">\n      Negative (x) => (y) {\n        n = Shape (x)\n"
            "        z = ConstantOfShape (n)\n        y = Sub (z, x)\n      }\n")
    for options in ([], ["--inline-functions"]):
        model = convert(graph, rows, *options, opset=15)
        assert len(model.functions) == (0 if options else 1)
        x = torch.randn(2, 3)
        same(run(model, x=x, c=True)[0], -8 * x)
        same(run(model, x=x, c=False)[0], 64 * x)


@test
def other_commands_take_models_with_functions():
    model = convert(TWICE.format("Float(2, 3)"), SELU)
    inspected = json.loads(compatcheck("inspect", "m.onnx", "--format", "json").stdout)
    assert "Selu" in json.dumps(inspected)
    (middle,) = model.graph.node[0].output
    cut = compatcheck("extract", "m.onnx", "-o", "part.onnx", "--to", middle)
    assert cut.returncode == 0, cut.stderr
    x = torch.randn(2, 3)
    same(run(onnx.load(FOLDER / "part.onnx"), x=x)[0], torch.selu(x))


@test
def verify_and_bisect():
    class Net(torch.nn.Module):
        def forward(self, x):
            return torch.selu(torch.nn.functional.linear(torch.selu(x), torch.eye(3) * 0.5))

    torch.jit.script(Net()).save(str(FOLDER / "net.pt"))
    write("rows.yaml", SELU)
    made = compatcheck("verify", "net.pt", "--mappings", "rows.yaml", "--input", "x=f32:2,3")
    assert made.returncode == 0, made.stdout + made.stderr
    made = compatcheck("verify", "net.pt", "--mappings", "rows.yaml", "--input", "x=f32:2,3", "--inline-functions")
    assert made.returncode == 0, made.stdout + made.stderr
    write("rows.yaml", SELU.replace("Y = Mul (g_like, chosen)", "Y = Add (g_like, chosen)"))
    made = compatcheck("verify", "net.pt", "--mappings", "rows.yaml", "--input", "x=f32:2,3", "--bisect", "--format", "json")
    assert made.returncode == 1, made.stdout + made.stderr
    assert json.loads(made.stdout)["first_bad"]["op"] == "aten::selu", made.stdout


def main():
    global FOLDER, PROGRAM
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True, type=lambda path: str(pathlib.Path(path).resolve()))
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    PROGRAM = options.program
    torch.manual_seed(0)
    failed = 0
    for function in TESTS:
        if options.only not in function.__name__:
            continue
        with tempfile.TemporaryDirectory() as folder:
            FOLDER = pathlib.Path(folder)
            try:
                function()
            except Exception as error:  # every test is run
                failed += 1
                print(f"FAILED {function.__name__}: {type(error).__name__}: {error}")
                continue
        print(f"passed {function.__name__}")
    sys.exit(1 if failed else 0)


main()
