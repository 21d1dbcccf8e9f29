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


@programs.add(FLOATS, F64)
def bits_modf(x: torch.Tensor) -> Tuple[float, float]:
    fraction, whole = math.modf(float(x))
    return fraction, whole


@programs.add(FLOATS, F64)
def bits_lgamma(x: torch.Tensor) -> float:
    return math.lgamma(float(x))


@programs.add(TWO_FLOATS, F64, F64)
def bits_remainder(x: torch.Tensor, y: torch.Tensor) -> float:
    return math.remainder(float(x), float(y))


@programs.add([(torch.tensor(n),) for n in (0, 1, 5, 12, 20)], I64)
def bits_factorial(n: torch.Tensor) -> int:
    return math.factorial(int(n))


@programs.add(TWO_INTS, I64, I64)
def bits_of_two_ints(a: torch.Tensor, b: torch.Tensor) -> Tuple[int, int, int]:
    return int(a) & int(b), int(a) | int(b), int(a) ^ int(b)


@programs.add([(torch.tensor(a),) for a in INTS], I64)
def bits_and_constants(a: torch.Tensor) -> Tuple[int, int, int, int]:
    return int(a) & 0xFF, int(a) | -8, int(a) ^ -1, -77 & int(a)


@programs.add(SHIFTS, I64, I64)
def bits_shifted(a: torch.Tensor, b: torch.Tensor) -> Tuple[int, int]:
    return int(a) << int(b), int(a) >> int(b)


@programs.add([(torch.tensor(a),) for a in INTS], I64)
def bits_shifted_by_constants(a: torch.Tensor) -> Tuple[int, int, int]:
    return int(a) << 3, int(a) >> 3, 1 << (int(a) & 31)


@programs.add([(r(n, 3),) for n in (4, 2, 6)], N3)
def bits_half_the_rows(x):
    return x[: x.size(0) >> 1], x.new_zeros(x.size(1) << 1, x.size(1) & 1)


@programs.add([(torch.tensor(a),) for a in INTS], I64)
def bits_counted(a: torch.Tensor) -> int:
    count, rest = 0, int(a)
    for _ in range(64):
        count += rest & 1
        rest = rest >> 1
    return count


@programs.add([(torch.arange(n),) for n in (3, 1, 5, 0)], "i64:n")
def bits_of_tensor_and_size(x):
    n = x.size(0)
    return x & (n | 1), x ^ (n & 6), (x << 2) >> (n & 1)


@programs.add(TWO_FLOATS, F64, F64)
def bits_rest(x: torch.Tensor, y: torch.Tensor) -> float:
    return float(x) % float(y)


@programs.add([(torch.tensor(a, dtype=torch.float64), torch.tensor(i)) for a in (0.0, 1.5, -3e-320, 1e308, math.inf, math.nan)
               for i in (0, 3, -1, 1100, -1100, 2080, -2080, 10**6, -10**6)], F64, I64, runs=range(8, 27))
def bits_ldexp(x: torch.Tensor, i: torch.Tensor) -> Tuple[float, float]:
    return math.ldexp(float(x), int(i)), math.ldexp(float(x), -7)


@programs.add([(torch.tensor([3, -7, 2**30 + 5], dtype=torch.int32), torch.tensor(y)) for y in ([1, 2, 3], [0, 30, 1], [40, 33, 62])], "i32:3", "i64:3")
def bits_shifted_in_place(x: torch.Tensor, y: torch.Tensor):
    left = x * 1
    right = x * 1
    left <<= y
    right >>= y
    return left, right
