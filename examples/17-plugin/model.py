"""A model that uses all three operators, saved as model.pt: python model.py [FOLDER]"""
import pathlib
import sys

import torch

torch.library.define("acme::scaled_swish", "(Tensor x, float beta) -> Tensor")


@torch.library.impl("acme::scaled_swish", "CompositeImplicitAutograd")
def scaled_swish(x, beta):
    return x * torch.sigmoid(beta * x)


class Whitening(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 4)

    def forward(self, x):
        matrices = self.layer(x).view(-1, 2, 2) + 4 * torch.eye(2)
        whitened = torch.linalg.inv(matrices).flatten(1)
        return torch.nn.functional.gelu(torch.ops.acme.scaled_swish(whitened, 1.5))


if __name__ == "__main__":
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    torch.manual_seed(0)
    with torch.no_grad(), torch.jit.optimized_execution(False):
        traced = torch.jit.trace(Whitening().eval(), torch.randn(3, 4))
    assert "acme::scaled_swish" in str(traced.inlined_graph)
    traced.save(folder / "model.pt")
