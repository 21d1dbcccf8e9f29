#!/usr/bin/env python3
"""Each link that fails has its own code and its own remedy, and the rows that are printed can be pasted."""
import sys

import torch

from example import agree, equal, holds, imports, main, ops, outputs, test, tool

CHEBYSHEV = "aten::special_chebyshev_polynomial_t"


@test
def each_link_has_its_code(example):
    (report,) = example.reports("links.ir", "--mappings", "missing.yaml")
    found = {each["op"]: each for each in report["findings"] if each["severity"] == "error"}
    equal({op: each["id"] for op, each in found.items()}, {"acme::fused_scale": "CC003", "aten::asinh": "CC011", CHEBYSHEV: "CC001"})
    holds(found["acme::fused_scale"]["help"], "--op-library", "save this row with the other rows in one file")
    holds(found["aten::asinh"]["help"], "ONNX has Asinh", "save this row with the other rows in one file")
    holds(found[CHEBYSHEV]["help"], f"compatcheck explain {CHEBYSHEV}.n_scalar --scaffold yaml")
    equal(report["exit_code"], 1)


@test
def printed_rows_are_ready_to_paste(example):
    (report,) = example.reports("links.ir", "--mappings", "missing.yaml")
    printed = [each["row"] for each in report["findings"] if each.get("row") and each["op"] != CHEBYSHEV]
    equal(len(printed), 2)
    (example.out / "printed.yaml").write_text("\n".join(printed) + "\n")
    kept = [line for line in (example.source / "pasted.yaml").read_text().splitlines() if not line.startswith("#")]
    equal(sorted(kept), sorted(printed))
    (report,) = example.reports("links.ir", "--mappings", "missing.yaml", "--mappings", example.out / "printed.yaml")
    equal([each["op"] for each in report["findings"] if each["severity"] == "error"], [CHEBYSHEV])


@test
def the_scaffold_offers_the_three_ways(example):
    text = example.output("explain", CHEBYSHEV + ".n_scalar", "--scaffold", "yaml")
    holds(text, "to: your.domain::special_chebyshev_polynomial_t", "inline: |", "function: |")


@test
def of_other_operators(example):
    model = example.model("composed.onnx")
    equal(ops(model.graph), ["Asinh", "your.domain::fused_scale", "Mul", "Mul", "Sub", "Mul"])
    (report,) = example.reports("links.ir", "--mappings", "pasted.yaml", "--mappings", "composed.yaml")
    equal({each["op"]: each["class"] for each in report["operators"] if each["class"] != "structural"},
          {"acme::fused_scale": "one_to_one", "aten::asinh": "one_to_one", CHEBYSHEV: "one_to_many"})


@test
def as_a_function_of_the_model(example):
    model = example.model("function.onnx")
    equal(ops(model.graph), ["Asinh", "your.domain::fused_scale", "acme.math::Chebyshev3"])
    equal([(each.domain, each.name) for each in model.functions], [("acme.math", "Chebyshev3")])
    equal(imports(model), {"": 17, "your.domain": 1, "acme.math": 1})


@test
def in_a_custom_domain(example):
    model = example.model("domain.onnx")
    equal(ops(model.graph), ["Asinh", "your.domain::fused_scale", "acme.math::ChebyshevT"])
    equal([(each.name, each.i) for each in model.graph.node[2].attribute], [("degree", 3)])
    equal(imports(model), {"": 17, "your.domain": 1, "acme.math": 2})


@test
def both_compute_the_same(example):
    script = torch.jit.load(example.out / "chebyshev.pt")
    for way in "composed", "function":
        session = example.session(f"chebyshev-{way}.onnx")
        for batch in 1, 7:
            x = 3 * torch.randn(batch, 3)
            (got,) = outputs(session, x=x)
            agree(got, script(x))


sys.exit(main(__doc__, tool("04-three-links")))
