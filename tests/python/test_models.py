"""Everything that is a model, and what can be done with it."""
import io, os

import compatcheck, onnx, pytest, samples, torch


class Module(torch.nn.Module):
    def forward(self, x, scale=None):
        return torch.relu(x) if scale is None else torch.relu(x) * scale


X = torch.ones(2, 3)


def models():
    yield "path", str(samples.EXPORTED), {}
    yield "PathLike", samples.EXPORTED, {}
    yield "bytes", samples.EXPORTED.read_bytes(), {}
    yield "file", samples.EXPORTED.open("rb"), {}
    yield "buffer", io.BytesIO(samples.EXPORTED.read_bytes()), {}
    yield "loaded", compatcheck.load(samples.EXPORTED), {}
    yield "scripted", torch.jit.script(torch.nn.ReLU()), {}
    yield "traced", torch.jit.trace(Module(), X), {}
    yield "exported", torch.export.export(Module(), (X,)), {}
    yield "module", Module(), {"example_inputs": (X,), "example_kwargs": {"scale": X}}
    yield "module of a tensor", Module(), {"example_inputs": X}


@pytest.mark.parametrize("model,options", [pytest.param(*rest, id=name) for name, *rest in models()])
def test_models(model, options):
    assert compatcheck.check(model, **options).convertible


def test_names_in_reports(tmp_path):
    with samples.EXPORTED.open("rb") as file:
        assert compatcheck.check(file).model.path == str(samples.EXPORTED)
    assert compatcheck.check(torch.jit.script(torch.nn.ReLU())).model.path == "<ReLU>"
    assert compatcheck.check(Module(), example_inputs=(X,)).model.path == "<Module>"
    assert compatcheck.load(samples.MISSING).path == str(samples.MISSING)


def test_dynamic_shapes():
    report = compatcheck.check(Module(), example_inputs=(X,), dynamic_shapes=({0: torch.export.Dim("batch")},))
    assert isinstance(report.model.inputs[0].shape[0], str) and report.model.inputs[0].shape[1] == 3


def test_one_model_for_several_calls():
    model = compatcheck.load(samples.MISSING)
    assert [compatcheck.check(model, opset).summary.missing for opset in (17, 19)] == [3, 2]


def test_convert(tmp_path):
    file = tmp_path / "net.onnx"
    report = compatcheck.convert(samples.EXPORTED, file, 18, input_names=["given"], inputs=None)
    assert report.convertible and report.onnx is None
    model = onnx.load(file)
    assert model.opset_import[0].version == report.written.opset == 18 and model.graph.input[0].name == "given"
    assert report.written.bytes == os.path.getsize(file)
    whole = compatcheck.convert(samples.EXPORTED, opset=18, input_names=["given"])
    assert whole.onnx == file.read_bytes()


def test_options_mean_what_the_flags_mean():
    graph = b"graph(%x : Tensor, %n : int):\n  %d : int = prim::Constant[value=0]()\n  %y : Tensor = aten::cumsum(%x, %d, %n)\n  return (%y)\n"
    for inputs in ("x=f32:N,3", ["x=f32:N,3"], {"x": "f32:N,3"}):
        report = compatcheck.check(graph, inputs=inputs)
        assert report.model.inputs[0].shape == ("N", 3), inputs
    report = compatcheck.check(samples.MISSING, fail_on="never", hash=True, graph=True, targets="tensorrt")
    assert report.gate.fail_on == "never" and report.exit_code == 0
    assert len(report.model.sha256) == 64 and report.graph.nodes and report.targets[0].engine == "tensorrt"
    assert compatcheck.check(samples.MISSING, mappings=samples.GRAPHS / "late.yaml").findings


def test_onnx_file_against_an_engine():
    report = compatcheck.check(samples.GRAPHS / "bodies.onnx", targets=["tensorrt"])
    assert report.model.format == "onnx" and report.targets[0].nodes > 0


def test_onnx_file_at_another_opset(tmp_path):
    report = compatcheck.check(samples.GRAPHS / "words.onnx", opset=[11, 20])
    assert [each.convertible for each in report] == [False, True]
    assert compatcheck.check(samples.GRAPHS / "words.onnx", opset=range(19, 21)).exit_code == 0
    converted = compatcheck.convert(samples.GRAPHS / "bodies.onnx", tmp_path / "older.onnx", opset=11)
    assert converted.written.opset == 11 and (tmp_path / "older.onnx").exists()
    with pytest.raises(compatcheck.NotConvertible):
        compatcheck.convert(samples.GRAPHS / "words.onnx", tmp_path / "words.onnx", opset=11)
    assert not (tmp_path / "words.onnx").exists()
    assert compatcheck.check(samples.GRAPHS / "words.onnx").opset == 20
    with pytest.raises(compatcheck.UsageError, match="name the output"):
        compatcheck.convert(samples.GRAPHS / "words.onnx")


def test_verify():
    verification = compatcheck.verify(torch.jit.trace(Module(), X), runs=1, seed=3)
    assert verification.passed and verification.seed == 3 and verification.outputs[0].dtype == "f32"
    assert verification.report is None
    failed = compatcheck.verify(samples.GRAPHS / "net.pt2", runs=1)
    assert not failed.passed and failed.report.summary.missing == 1
    with pytest.raises(compatcheck.UsageError, match="a graph as text"):
        compatcheck.verify(samples.MISSING)


def test_verify_two_onnx_files(tmp_path):
    for name, opset in (("one.onnx", 17), ("two.onnx", 11)):
        compatcheck.convert(samples.EXPORTED, tmp_path / name, opset=opset)
    verification = compatcheck.verify(tmp_path / "one.onnx", tmp_path / "two.onnx", runs=2, seed=1)
    assert verification.passed and verification.onnx.endswith("two.onnx") and "<h1>" in verification.to_html()
    with pytest.raises(compatcheck.UsageError, match="bisect"):
        compatcheck.verify(tmp_path / "one.onnx", tmp_path / "two.onnx", bisect=True)
    with pytest.raises(TypeError, match="nothing"):
        compatcheck.verify(tmp_path / "one.onnx", tmp_path / "two.onnx", nothing=True)


def test_verify_a_file(tmp_path):
    compatcheck.convert(samples.EXPORTED, tmp_path / "net.onnx")
    verification = compatcheck.verify(samples.EXPORTED, tmp_path / "net.onnx", fail_on="warning")
    assert verification.passed and verification.gate.fail_on == "warning" and len(verification.dimensions) == 1


def test_ops_and_explain():
    row = compatcheck.ops("relu")[0]
    assert (row.op, row.operator_class, row.result) == ("aten::relu", "one-to-one", "Relu")
    assert len(compatcheck.ops()) > 500
    assert compatcheck.explain("CC005").startswith("CC005")
    assert "aten::gelu:" in compatcheck.explain("aten::gelu", scaffold="yaml")
