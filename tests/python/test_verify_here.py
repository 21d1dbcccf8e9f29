"""verify() of PyTorch's objects runs in the caller's process: with operators that only exist there."""
import subprocess
import sys

import pytest
import torch

import compatcheck

LIBRARY = torch.library.Library("acme_here", "DEF")
LIBRARY.define("twice(Tensor x) -> Tensor")
LIBRARY.impl("twice", lambda x: x + x, "CompositeExplicitAutograd")
torch.library.register_fake("acme_here::twice")(torch.empty_like)
LIBRARY.define("refuse(Tensor x) -> Tensor")
LIBRARY.impl("refuse", lambda x: 1 / 0, "CPU")
torch.library.register_fake("acme_here::refuse")(torch.empty_like)
X = torch.rand(2, 3)


class Net(torch.nn.Module):
    def __init__(self, op="twice"):
        super().__init__()
        self.op = getattr(torch.ops.acme_here, op)

    def forward(self, x):
        return self.op(x).relu()


@pytest.fixture
def rows(tmp_path):
    file = tmp_path / "rows.yaml"
    file.write_text(
        "".join(
            f'acme_here::{name}: {{schema: "acme_here::{name}(Tensor x) -> Tensor", '
            '9: {inputs: [x], inline: "S (x) => (y) { y = Add (x, x) }"}}\n'
            for name in ("twice", "refuse")
        )
    )
    return file


def test_an_nn_module(rows):
    verification = compatcheck.verify(Net(), example_inputs=(X,), mappings=rows)
    assert verification.passed and len(verification.runs) == 3


def test_a_script_module(rows):
    traced = torch.jit.trace(Net(), X, check_trace=False)
    assert compatcheck.verify(traced, mappings=rows, inputs={"x": "f32:n,3"}).passed


def test_a_difference_is_found(rows):
    rows.write_text(rows.read_text().replace("Add", "Mul"))
    assert not compatcheck.verify(Net(), example_inputs=(X,), mappings=rows).passed


def test_an_exception_of_the_operator(rows):
    with pytest.raises(compatcheck.ModelError, match="division by zero"):
        compatcheck.verify(Net("refuse"), example_inputs=(X,), mappings=rows)


def test_the_process_stays_as_it_was(rows):
    torch.manual_seed(7)
    expected = torch.rand(3)
    torch.manual_seed(7)
    before = torch.get_num_threads(), torch.is_grad_enabled()
    compatcheck.verify(Net(), example_inputs=(X,), mappings=rows)
    assert (torch.get_num_threads(), torch.is_grad_enabled()) == before
    torch.manual_seed(7)
    compatcheck.verify(torch.export.export(Net(), (X,)), mappings=rows)
    assert torch.equal(torch.rand(3), expected)


def test_another_process_lacks_the_operator(rows):
    with pytest.raises((compatcheck.ModelError, compatcheck.UsageError), match="acme_here"):
        compatcheck.verify(Net(), example_inputs=(X,), mappings=rows, python=sys.executable)


def test_a_module_of_operators(tmp_path):
    (tmp_path / "there_ops.py").write_text(
        "import torch\n"
        'LIBRARY = torch.library.Library("acme_there", "DEF")\n'
        'LIBRARY.define("twice(Tensor x) -> Tensor")\n'
        'LIBRARY.impl("twice", lambda x: x + x, "CompositeExplicitAutograd")\n'
        'torch.library.register_fake("acme_there::twice")(torch.empty_like)\n'
    )
    (tmp_path / "make.py").write_text(
        "import torch, there_ops\n"
        "class Net(torch.nn.Module):\n    def forward(self, x): return torch.ops.acme_there.twice(x)\n"
        "torch.export.save(torch.export.export(Net(), (torch.rand(2, 3),)), 'net.pt2')\n"
    )
    subprocess.run([sys.executable, "make.py"], cwd=tmp_path, check=True, capture_output=True)
    (tmp_path / "rows.yaml").write_text('acme_there::twice: {9: {inputs: [x], inline: "S (x) => (y) { y = Add (x, x) }"}}\n')
    code = "import compatcheck; print(compatcheck.verify('net.pt2', mappings='rows.yaml', op_modules='there_ops').passed)"
    run = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert run.stdout == "True\n", run.stderr
