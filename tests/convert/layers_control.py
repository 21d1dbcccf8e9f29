"""Control flow."""
import torch
import torch.nn.functional as F
from torch import Tensor

from layer_cases import Case


def branches_of_other_sizes(x: Tensor) -> Tensor:
    if bool(x.sum() > 0):
        y = x * 2
    else:
        if bool(x.sum() < -5):
            y = x[:1] + 1
        else:
            y = x[:, :1]
    return y + 1


def broken_off(x: Tensor) -> Tensor:
    total = torch.zeros_like(x)
    for i in range(5):
        if bool(x[0, 0] > i):
            continue
        total = total + x * i
        if bool(total.sum() > 20):
            break
    return total


def turned(x: Tensor) -> Tensor:
    y = x.t()
    return y + 1 if y.is_contiguous() else y - 1


def turned_back(x: Tensor) -> Tensor:
    y = x.t().t()
    return y + 1 if y.is_contiguous() else y - 1


def resized_sometimes(x: Tensor, by: Tensor) -> Tensor:
    if bool(x.sum() > 0):
        x = F.interpolate(x, scale_factor=1.5, mode="nearest", recompute_scale_factor=True)
    if bool(x.sum() > 1):
        x = F.interpolate(x, scale_factor=float(by), mode="nearest")
    if bool(x.sum() > 2):
        x = F.interpolate(x, size=x.size(2) + 1, mode="linear")
    return x


def named_or_one(x: Tensor) -> Tensor:
    if not bool((x > 1).any()):
        x = torch.full((1, 4), 2.0)
    return torch.zeros_like(x)


def kept_rows(x: Tensor) -> Tensor:
    rows = []
    for i in range(x.size(0)):
        if bool(x[i].sum() > 0):
            rows.append(x[i])
    return torch.stack(rows)


def every_other(x: Tensor) -> Tensor:
    rows = []
    h = x[0]
    for i in range(x.size(0)):
        h = h * 0.5 + x[i]
        if i % 2 == 1:
            continue
        rows.append(h)
    return torch.stack(rows, 1)


def replaced_twice(x: Tensor, y: Tensor) -> Tensor:
    for i in range(2, 0, -1):
        if y.size(0) > 2:
            x = y.repeat(i, 1)
    return x


def cases():
    signs = [(torch.ones(3, 4),), (-torch.ones(3, 4),), (torch.full((3, 4), -0.25),)]
    steps = [(torch.full((3, 4), value),) for value in (0.1, 1.0, 30.0, -1.0)]
    rows = [(torch.randn(n, 4),) for n in (9, 6)]
    return {"kept_rows": Case(kept_rows, rows, specs=("f32:n,4",), script=True, opsets=range(13, 27)),
            "kept_rows_fixed": Case(kept_rows, rows[:1], script=True, opsets=range(13, 27)),
            "every_other": Case(every_other, rows, specs=("f32:n,4",), script=True, opsets=range(13, 27)),
            "turned": Case(turned, [(torch.randn(2, 3),)], script=True),
            "turned_back": Case(turned_back, [(torch.randn(2, 3),)], script=True),
            "replaced_twice": Case(replaced_twice, [(torch.randn(3, 1), torch.randn(3)), (torch.randn(2, 1), torch.randn(2)),
                                                    (torch.randn(5, 1), torch.randn(4))], specs=("f32:n,1", "f32:m"), script=True,
                                   opsets=range(11, 27), refused="the same sizes from both branches"),
            "resized_sometimes": Case(resized_sometimes, [(torch.full((n, 2, m), value), torch.tensor(1.25))
                                                          for n, m, value in ((2, 3, 0.5), (1, 4, -1.0), (3, 2, 0.05))],
                                      specs=("f32:n,2,m", "f32:scalar"), script=True, opsets=range(11, 27)),
            "named_or_one": Case(named_or_one, [(torch.full((n, 4), value),) for n, value in ((3, 2.0), (2, 0.5), (1, 2.0))],
                                 specs=("f32:n,4",), script=True, opsets=range(11, 27), refused="the same sizes from both branches"),
            "broken_off": Case(broken_off, steps, script=True),
            "broken_off_named": Case(broken_off, steps, specs=("f32:rows,columns",), script=True, opsets=range(11, 27),
                                     refused="the same sizes from both branches"),
            "branches_of_other_sizes": Case(branches_of_other_sizes, signs, script=True, opsets=range(11, 27),
                                            refused="the same sizes from both branches")}
