#!/usr/bin/env python3
"""examples/10-cpp-extension: an operator of a library of its own, stubbed without it, known with it, mapped either way."""
import torch

from tutorial import error, main, operator, ops, run, same


def check(example):
    stubbed = error(example.report("without.json"))
    assert stubbed["id"] == "CC003" and stubbed["op"] == "my_lib::my_add" and "--op-library" in stubbed["help"], stubbed
    assert "(Tensor arg0, Tensor arg1) -> Tensor" in stubbed["row"], "what a call tells of its schema"
    assert stubbed["sites"][0]["file"].endswith("model.py") and stubbed["sites"][0]["line"] == example.source_line("model.py", "torch.relu("), stubbed["sites"]
    known = error(example.report("with_library.json"))
    assert known["id"] == "CC001" and "inputs: [a, b]" in known["row"] and "schema:" not in known["row"], known
    found = operator(example.report("mapped.json"), "my_lib::my_add")
    assert found["class"] == "one_to_many" and found["onnx"] == ["Mul", "Add"], found

    model = example.model("model.onnx")
    assert ops(model.graph) == ["Mul", "Add", "Relu"], model
    torch.ops.load_library(example.out / "libmy_lib.so")
    for size in ((2, 3), (7, 1), (1, 30)):
        a, b = torch.randn(size), torch.randn(size)
        same(run(model, a=a, b=b)[0], torch.relu(torch.ops.my_lib.my_add(a, b)))

    told = (example.out / "verify.txt").read_text()
    assert "my_lib::my_add" in told and "--op-library" in told, told
    verified = example.text.split("== verify with it")[1]
    assert "VERIFIED    3 runs" in verified and "NOT VERIFIED" not in verified, verified


main(__doc__, "10-cpp-extension", check)
