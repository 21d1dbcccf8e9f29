#!/usr/bin/env python3
"""An operator of a library of its own, stubbed without it, known with it, mapped either way."""
import sys

import torch

from example import agree, equal, error, holds, main, operator, ops, outputs, test, tool


@test
def without_the_library_it_is_a_stub(example):
    stubbed = error(example.left_json("without.json"))
    equal((stubbed["id"], stubbed["op"]), ("CC003", "my_lib::my_add"))
    holds(stubbed["help"], "--op-library")
    holds(stubbed["row"], "(Tensor arg0, Tensor arg1) -> Tensor")   # what a call tells of its schema
    site = stubbed["sites"][0]
    assert site["file"].endswith("model.py"), site
    equal(site["line"], example.source_line("model.py", "torch.relu("))


@test
def with_the_library_its_schema_is_known(example):
    known = error(example.left_json("with_library.json"))
    equal(known["id"], "CC001")
    holds(known["row"], "inputs: [a, b]")
    assert "explain" not in known["help"], known   # which knows no libraries
    assert "schema:" not in known["row"], known


@test
def explain_and_ops_know_the_library(example):
    """As check does, with and without the user's row."""
    library, rows = ["--op-library", example.out / "libmy_lib.so"], ["--mappings", example.source / "rows.yaml"]
    schema = "my_lib::my_add(Tensor a, Tensor b) -> Tensor"
    holds(example.output("explain", "my_lib::my_add", *library), schema, "no row: the operator is missing")
    holds(example.output("explain", "my_lib::my_add", *library, *rows), schema, "rows.yaml:")
    holds(example.output("explain", "my_lib::my_add", *library, "--scaffold", "yaml"), "inputs: [a, b]")
    holds(example.output("ops", "my_lib::my_add", *library), "no row")
    holds(example.output("explain", "my_lib::my_add", "--op-library", example.out / "absent.so", code=2), "operator library", "absent.so is not there")
    holds(example.output("explain", "CC005", *library), "CC005")


@test
def the_printed_row_holds_beside_the_library(example):
    """Once its facts are filled in; where the library has other arguments the error names the difference."""
    row, rows = error(example.left_json("without.json"))["row"], example.out / "printed.yaml"
    rows.write_text(row + "\n")
    holds(example.output(example.out / "model.pt", "--mappings", rows, code=2), "facts: TODO", "fill in")
    filled = row.replace("TODO", "pointwise")
    library = ["--op-library", example.out / "libmy_lib.so"]
    for more in [], library:
        rows.write_text(filled + "\n")
        (report,) = example.reports(example.out / "model.pt", "--mappings", rows, *more)
        equal((report["verdict"], operator(report, "my_lib::my_add")["onnx"]), ("yes", ["your.domain::my_add"]))
    rows.write_text(filled.replace("Tensor arg1", "str arg1").replace("[arg0, arg1]", "[arg0], attributes: {b: {string: arg1}}") + "\n")
    output = example.output(example.out / "model.pt", "--mappings", rows, *library, code=2)
    holds(output, "argument 2 is `arg1: str` in the row, `b: Tensor` in the library")


@test
def the_row_makes_two_nodes(example):
    found = operator(example.left_json("mapped.json"), "my_lib::my_add")
    equal((found["class"], found["onnx"]), ("one_to_many", ["Mul", "Add"]))
    equal(ops(example.model("model.onnx").graph), ["Mul", "Add", "Relu"])


@test
def it_computes_what_the_library_does(example):
    torch.ops.load_library(example.out / "libmy_lib.so")
    session = example.session("model.onnx")
    for size in (2, 3), (7, 1), (1, 30):
        a, b = torch.randn(size), torch.randn(size)
        agree(outputs(session, a=a, b=b)[0], torch.relu(torch.ops.my_lib.my_add(a, b)))


@test
def verify_needs_the_library(example):
    holds(example.left("verify.txt"), "my_lib::my_add", "--op-library")
    verified = example.text.split("== verify with it")[1]
    assert "VERIFIED    4 runs" in verified and "NOT VERIFIED" not in verified, verified


sys.exit(main(__doc__, tool("10-cpp-extension")))
