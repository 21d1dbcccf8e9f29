"""What the tests of the Python package share."""
import os, pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
GRAPHS = ROOT / "tests/cli/models"
MISSING = GRAPHS / "align.ir"       # 3 of 4 operators are missing
EXPORTED = ROOT / "tests/python/net.pt2"    # relu(linear(x)) with a batch of any size, which converts; as net.pt
PROGRAM = os.environ["PROGRAM"]


def long_graph(nodes):
    """A graph whose check takes a while."""
    lines = [f"  %{i + 1} : Float(2, 3) = aten::relu(%{i})" for i in range(nodes)]
    return "graph(%0 : Float(2, 3)):\n" + "\n".join(lines) + f"\n  return (%{nodes})\n"
