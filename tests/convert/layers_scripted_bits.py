"""Tests, bits and rare functions of Python's numbers: math.isnan, `a & b`, `a << b`, math.remainder."""
import math
from typing import Tuple

import torch

from script_programs import N3, Programs, r

programs = Programs()
cases = programs.cases
least, most = -2**63, 2**63 - 1
FLOATS = [(torch.tensor(x, dtype=torch.float64),) for x in (0.0, -2.5, math.nan, math.inf, -math.inf, 1.7e308, 5e-324, 3.0)]
INTS = (0, 1, -1, 5, -77, 2**31, -2**31 - 1, 2**62 + 12345, least, most)
TWO_INTS = [(torch.tensor(a), torch.tensor(b)) for a in INTS for b in INTS]
SHIFTS = [(torch.tensor(a), torch.tensor(b)) for a in INTS for b in (0, 1, 7, 31, 32, 62, 63)]
TWO_FLOATS = [(torch.tensor(a, dtype=torch.float64), torch.tensor(b, dtype=torch.float64))
              for a in (0.0, 2.5, -2.5, 7.25, -7.75, 1e300, math.inf, math.nan) for b in (1.0, -5.0, 0.5, 3e-5, 1.7e308, math.inf, math.nan)]
F64, I64 = "f64:scalar", "i64:scalar"


@programs.add(FLOATS, F64)
def bits_float_is_nan(x: torch.Tensor) -> bool:
    return math.isnan(x.item())


@programs.add(FLOATS, F64)
def bits_float_is_infinite(x: torch.Tensor) -> bool:
    return math.isinf(float(x))


@programs.add(FLOATS, F64)
def bits_float_is_finite(x: torch.Tensor) -> bool:
    return math.isfinite(float(x))


@programs.add([(r(n, 3) / d,) for n, d in ((3, 1.0), (1, 0.0), (2, math.nan))], N3)
def bits_nan_loss(x):
    loss = float(x.sum())
    if math.isnan(loss) or math.isinf(loss):
        return torch.zeros(3)
    return x.mean(0)


@programs.add([(r(n, 3),) for n in (3, 1, 5)], N3)
def bits_known_floats(x):
    unbounded = float("inf")
    return x if math.isinf(unbounded) and not math.isnan(2.5) and math.isfinite(1.5) else x * 2
