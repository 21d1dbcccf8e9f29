"""Writes model.pt: a module that calls custom_ops::foo_forward, an operator with a float and an int besides its tensors."""
import pathlib, sys

import torch

library = torch.library.Library("custom_ops", "DEF")
library.define("foo_forward(Tensor input1, Tensor input2, float attr1, int attr2) -> Tensor")
library.impl("foo_forward", lambda input1, input2, attr1, attr2: input1 * attr1 - input2 * attr2, "CompositeExplicitAutograd")


class Net(torch.nn.Module):
    def forward(self, input1, input2):
        return torch.relu(torch.ops.custom_ops.foo_forward(input1, input2, 1.5, 3))


torch.jit.trace(Net(), (torch.rand(2, 3), torch.rand(2, 3))).save(str(pathlib.Path(sys.argv[1]) / "model.pt"))
