"""Control flow."""
import torch
from torch import Tensor

from run_layers import Case


def branches_of_other_sizes(x: Tensor) -> Tensor:
    if bool(x.sum() > 0):
        y = x * 2
    else:
        if bool(x.sum() < -5):
            y = x[:1] + 1
        else:
            y = x[:, :1]
    return y + 1


def cases():
    signs = [(torch.ones(3, 4),), (-torch.ones(3, 4),), (torch.full((3, 4), -0.25),)]
    return {"branches_of_other_sizes": Case(branches_of_other_sizes, signs, script=True, opsets=range(11, 27), refused="the same sizes from both branches")}
