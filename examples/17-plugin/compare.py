"""Runs TorchScript and ONNX Runtime on the same inputs: python compare.py model.pt model.onnx"""
import sys

import onnxruntime
import torch

import model  # registers acme::scaled_swish  # noqa: F401

script = torch.jit.load(sys.argv[1])
session = onnxruntime.InferenceSession(sys.argv[2], providers=["CPUExecutionProvider"])
name = session.get_inputs()[0].name
for batch in 1, 5, 64:
    x = torch.randn(batch, 4)
    (ours,) = session.run(None, {name: x.numpy()})
    difference = (script(x) - torch.from_numpy(ours)).abs().max().item()
    print(f"batch {batch}: largest difference {difference:.1e}")
    if not difference < 1e-5:
        sys.exit(1)
