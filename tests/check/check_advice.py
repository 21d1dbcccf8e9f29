#!/usr/bin/env python3
"""Findings about arguments: they stand where they are true and nowhere else, and the rows that they print convert the call."""
import argparse, json, pathlib, subprocess, sys, tempfile

import torch

LIBRARY = torch.library.Library("acme", "DEF")
LIBRARY.define("scaled(Tensor x, Tensor? mask, float by) -> Tensor")


class Scaled(torch.nn.Module):
    def forward(self, x):
        return torch.ops.acme.scaled(x, None, 2.0).relu()


def reports(tool, model, *arguments):
    done = subprocess.run([tool, model, "--opset", "13", "--format", "json", *arguments], capture_output=True, text=True)
    assert done.stdout, done.stderr
    return json.loads(done.stdout)


def check_zero_points(tool, folder):
    """QuantizeLinear rounds before it adds the zero point, PyTorch afterwards: of an odd one, halves differ."""
    for zero_point, expected in ((2, []), (3, ["CC010"]), (-5, ["CC010"]), (0, [])):
        traced = torch.jit.trace(lambda x: torch.quantize_per_tensor(x, 0.5, zero_point, torch.qint8).dequantize(), torch.randn(2, 3))
        traced.save(str(folder / "quantized.pt"))
        report = reports(tool, folder / "quantized.pt")
        found = [finding["id"] for finding in report["findings"] if finding["id"] == "CC010"]
        assert (report["verdict"], found) == ("yes", expected), (zero_point, found, report["verdict"])


def check_row_with_none(tool, folder):
    """The row that is printed for a call with None says that None becomes nothing."""
    torch.jit.script(Scaled()).save(str(folder / "scaled.pt"))
    (finding,) = [f for f in reports(tool, folder / "scaled.pt")["findings"] if f["id"] == "CC003"]
    (folder / "rows.yaml").write_text(finding["row"].replace("TODO", "same") + "\n")
    report = reports(tool, folder / "scaled.pt", "--mappings", folder / "rows.yaml", "--input", "x=f32:n,3")
    assert report["verdict"] == "yes", report["findings"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    tool = parser.parse_args().program
    with tempfile.TemporaryDirectory() as folder:
        check_zero_points(tool, pathlib.Path(folder))
        check_row_with_none(tool, pathlib.Path(folder))
    print("all findings are as expected")
    return 0


if __name__ == "__main__":
    sys.exit(main())
