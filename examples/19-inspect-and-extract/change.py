"""Writes changed.onnx: model.onnx with its Relu made a LeakyRelu, as a tool of somebody's might."""
import pathlib, sys

import onnx

out = pathlib.Path(sys.argv[1])
model = onnx.load(out / "model.onnx")
(relu,) = [node for node in model.graph.node if node.op_type == "Relu"]
relu.op_type = "LeakyRelu"
onnx.save(model, out / "changed.onnx")
