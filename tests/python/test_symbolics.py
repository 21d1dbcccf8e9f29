"""Symbolic functions of PyTorch's exporter, as rows."""
import compatcheck, pytest, samples, subprocess, torch

MODULE = '''
import torch
from torch.onnx import symbolic_helper

def scale(g, x, gain):
    return g.op("mine::Scale", x, gain)

@symbolic_helper.parse_args("v", "i")
def fixed(g, x, d):
    return g.op("mine::Fixed", x, axes_i=[1, 2], mode_s="linear", alpha_f=0.5, dim_i=d)

@symbolic_helper.parse_args("v", "f")
def shrink(g, x, lambd):
    return g.op("Shrink", x, lambd_f=lambd)

def two(g, x):
    return g.op("Relu", g.op("Neg", x))

def looks(g, x):
    return g.op("Relu", x) if x.type().dim() == 2 else x

def counts(g, x, n):
    return g.op("mine::Add", x, n + 1)

def picks(g, x, mode):
    return g.op("mine::Up" if mode == 1 else "mine::Down", x)

def maybe(g, x, y):
    return g.op("mine::One", x) if y is None else g.op("mine::Both", x, y)

@symbolic_helper.parse_args("v", "is")
def axes(g, x, dims):
    return g.op("mine::Axes", x, axes_i=dims)

for name, function, opset in (("picks", picks, 9), ("maybe", maybe, 9), ("axes", axes, 9), ("scale", scale, 9), ("scale", two, 14),
                              ("fixed", fixed, 11), ("two", two, 9), ("looks", looks, 9), ("counts", counts, 9)):
    torch.onnx.register_custom_op_symbolic(f"my_lib::{name}", function, opset)
torch.onnx.register_custom_op_symbolic("aten::hardshrink", shrink, 9)
'''
GRAPH = """graph(%x : Float(2, 3)):
  %g : float = prim::Constant[value=2.]()
  %d : int = prim::Constant[value=1]()
  %y : Float(2, 3) = my_lib::scale(%x, %g)
  %z : Float(2, 3) = my_lib::fixed(%y, %d)
  return (%z)
"""


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    folder = tmp_path_factory.mktemp("symbolics")
    (folder / "my_symbolics.py").write_text(MODULE)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        found = compatcheck.symbolics("my_symbolics")
        yield found
    for each in found:
        torch.onnx.unregister_custom_op_symbolic(each.op, each.opset)


def test_single_calls_become_rows(found):
    rows = {each.op: each.row for each in found if (each.op, each.opset) != ("my_lib::scale", 14)}
    assert rows["my_lib::axes"] == '  9: {to: "mine::Axes", inputs: [x], attributes: {axes: {ints: dims}}}\n'
    assert rows["my_lib::scale"] == '  9: {to: "mine::Scale", inputs: [x, gain]}\n'
    assert rows["my_lib::fixed"] == '  11: {to: "mine::Fixed", inputs: [x], attributes: {axes: [1, 2], mode: {constant: "linear"}, alpha: 0.5, dim: {int: d}}}\n'
    assert rows["aten::hardshrink"] == '  9: {to: "Shrink", inputs: [self], attributes: {lambd: {float: lambd}}}\n'
    assert not any(rows[f"my_lib::{name}"] for name in ("two", "looks", "counts", "picks", "maybe"))


def test_others_say_why(found):
    reasons = {each.op: each.reason for each in found}
    assert reasons["my_lib::two"] == "makes 2 calls of g.op: write the row by hand, with `inline`"
    assert reasons["my_lib::looks"] == "reads x.type"
    assert reasons["my_lib::counts"] == "computes with the value of n"
    assert reasons["my_lib::picks"] == "computes with the value of mode"
    assert reasons["my_lib::maybe"] == "depends on whether y is None"
    assert '  14: {missing: "my_symbolics.two makes 2 calls' in found.mappings


def test_rows_settle_findings(found, tmp_path):
    model, rows = tmp_path / "model.ir", tmp_path / "rows.yaml"
    model.write_text(GRAPH)
    rows.write_text(found.mappings)
    report = compatcheck.check(model, opset=13)
    assert sorted(each.op for each in found.settle(report)) == ["my_lib::fixed", "my_lib::scale"]
    assert [each.op for each in found.settle(compatcheck.check(model, opset=10))] == ["my_lib::scale"]
    assert compatcheck.check(model, opset=13, mappings=[rows]).convertible
    assert subprocess.run([samples.PROGRAM, "lint", rows]).returncode == 0


def test_a_module_that_was_imported_before(found):
    assert len(compatcheck.symbolics("my_symbolics")) == len(found) == 10
