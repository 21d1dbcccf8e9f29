"""Functions of torch.special at numbers near which their formulas change, and at those that none of them is for."""
import torch

from layer_cases import DTYPES, Case

inf, nan = float("inf"), float("nan")
POLYNOMIALS = {"chebyshev_polynomial_t": 6, "chebyshev_polynomial_u": 6, "chebyshev_polynomial_v": 6, "chebyshev_polynomial_w": 4,
               "shifted_chebyshev_polynomial_t": 6, "shifted_chebyshev_polynomial_u": 6, "shifted_chebyshev_polynomial_v": 6, "shifted_chebyshev_polynomial_w": 4,
               "hermite_polynomial_h": 24, "hermite_polynomial_he": 24, "laguerre_polynomial_l": 24, "legendre_polynomial_p": 24}


def polynomials():
    made = {}
    wide = range(9, 27)
    x = torch.tensor([-2.5, -1.01, -1, -0.999, -0.3, -0.0, 0, 0.01, 0.5, 0.999, 1, 1.01, 3, 12, inf, -inf])
    n = torch.tensor([0., 1, 2, 3, 4.9, 5, 6, 7, 8, 9, 10, 13, 30, -1, -0.5, inf, nan, 1e19]).reshape(-1, 1)
    for name, most in POLYNOMIALS.items():
        f = getattr(torch.special, name)
        made[f"{name}"] = Case(f, [(x, n), (x.flip(0)[:1], n[2:3]), (x[:0], n), (x[5:6], n[:0])], ("f32:a", "f32:b,1"), opsets=wide)
        made[f"{name}_f64"] = Case(f, [(x.double(), n.double())], opsets=wide, tolerance=(1e-9, 1e-9))
        made[f"{name}_integers"] = Case(f, [(torch.arange(-3, 4), torch.arange(12).reshape(-1, 1))], opsets=wide)
        made[f"{name}_of_number"] = Case(lambda n, f=f: (f(0.3, n), f(1, n)), [(n,)], opsets=wide)
        made[f"{name}_to_number"] = Case(lambda x, f=f: tuple(f(x, n) for n in (-1, 0, 1.9, 2, 7, 9)), [(x,), (x[:0],)], ("f32:a",), opsets=wide)
        made[f"{name}_to_large_number"] = Case(lambda x, f=f: (f(x, 60), f(x, 25), f(x, 1000)), [(x[2:11],)], opsets=wide, tolerance=(1e-3, 1e-3))
        made[f"{name}_to_small_number"] = Case(lambda x, f=f, most=most: (f(x, 1), f(x, 2), f(x, 3.5), f(x, most)), [(x,)], opsets=range(7, 27))
        made[f"{name}_of_scalar"] = Case(lambda x, n, f=f: f(x, n), [(x[8], n[11, 0]), (x[10], n[3, 0])], opsets=wide)
    return made


def bessel():
    made = {}
    x = torch.tensor([-inf, -300, -8.3, -5.5, -5, -2.09, -2, -1e-6, -0.0, 0, 1e-30, 1e-6, 0.3, 0.5, 1, 1.999, 2, 2.001, 2.09, 2.4, 4.99, 5,
                      5.01, 8, 8.33, 25, 103, 104, 1e4, inf, nan])
    for name in ("bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "spherical_bessel_j0", "airy_ai", "modified_bessel_k0", "modified_bessel_k1",
                 "scaled_modified_bessel_k0", "scaled_modified_bessel_k1"):
        f = getattr(torch.special, name)
        made[name] = Case(f, [(x,), (x[:0],), (torch.linspace(-12, 12, 500),)], ("f32:a",), opsets=range(9, 27))
        made[f"{name}_f64"] = Case(f, [(x.double(),), (torch.linspace(-12, 12, 500, dtype=torch.float64),)], ("f64:a",), opsets=range(9, 27), tolerance=(1e-12, 1e-14))
        made[f"{name}_integers"] = Case(f, [(torch.arange(-3, 12),)], opsets=range(9, 27))
        made[f"{name}_of_scalar"] = Case(f, [(x[13],)], opsets=range(9, 27))
    return made


def normal():
    made = {}
    x = torch.tensor([-inf, -1e9, -300.3, -30, -8, -5, -1.0001, -1, -0.9999, -1e-5, -0.0, 0, 1e-30, 0.1, 0.5, 1, 2, 5, 8, 11, 40, 300, 1e9, inf, nan])
    y = torch.tensor([-0.1, -0.0, 0, 1e-38, 1e-20, 1e-14, 1e-3, 0.13533, 0.13534, 0.3, 0.5, 0.7, 0.86466, 0.86467, 0.99, 0.999999, 1, 1.1, -inf, inf, nan])
    for name, inputs in (("erfcx", x), ("log_ndtr", x), ("ndtri", y)):
        f = getattr(torch.special, name)
        made[name] = Case(f, [(inputs,), (inputs[:0],), (torch.linspace(-6, 6, 500) if name != "ndtri" else torch.rand(500),)], ("f32:a",), opsets=range(9, 27))
        made[f"{name}_f64"] = Case(f, [(inputs.double(),), (torch.linspace(-6, 6, 500, dtype=torch.float64),)], ("f64:a",), opsets=range(9, 27), tolerance=(1e-13, 1e-15))
        made[f"{name}_integers"] = Case(f, [(torch.arange(-2, 4),)], opsets=range(9, 27))
        made[f"{name}_of_scalar"] = Case(f, [(torch.tensor(0.3),)], opsets=range(9, 27))
    return made


def gamma():
    made = {}
    x = torch.tensor([-inf, -1e9, -300.3, -20.5, -7.75, -3, -2.5, -2.457, -1.5, -1, -0.75, -0.3, -1e-5, -0.0, 0, 1e-30, 1e-5, 0.4999, 0.5,
                      0.75, 1, 1.4616321, 2, 2.5, 6.9, 8, 9.99, 10, 10.5, 33, 1e4, 1e30, inf, nan])
    functions = {"lgamma": torch.lgamma, "digamma": torch.digamma, **{f"polygamma_{n}": (lambda x, n=n: torch.polygamma(n, x)) for n in (0, 1, 2, 3, 7, 20, 40)},
                 **{f"mvlgamma_{p}": (lambda x, p=p: torch.mvlgamma(x, p)) for p in (1, 2, 5)}}
    for name, f in functions.items():
        y = x[2:] if name.startswith("polygamma") else x   # PyTorch counts up to 9 step by step
        made[name] = Case(f, [(y,), (y[:0],), (torch.linspace(-12, 12, 500),)], ("f32:a",), opsets=range(9, 27))
        doubles = y[y != -1].double()   # a pole of polygamma, at which sines are noise
        made[f"{name}_f64"] = Case(f, [(doubles,), (torch.linspace(-12, 12, 500, dtype=torch.float64),)], ("f64:a",), opsets=range(9, 27), tolerance=(1e-12, 1e-14))
        made[f"{name}_integers"] = Case(f, [(torch.arange(-3, 12).reshape(3, 5),)], opsets=range(9, 27))
        made[f"{name}_of_scalar"] = Case(f, [(x[19],)], opsets=range(9, 27))
    # Exactly 0 at 1 and 2: infinity times that is NaN.
    for word, dtype in (("f32", torch.float32), ("f64", torch.float64)):
        made[f"lgamma_roots_{word}"] = Case(lambda x: torch.lgamma(x) * inf, [(torch.tensor([1, 2, 3, 0.5, nan], dtype=dtype),)], (f"{word}:a",), opsets=range(9, 27))
    exponents = torch.tensor([-inf, -2, 0.5, 1, 1.5, 2, 3, 7.5, 40, 300, inf, nan]).reshape(-1, 1)
    made["zeta"] = Case(torch.special.zeta, [(exponents, x[2:]), (exponents[:0], x), (exponents, x[:0])], ("f32:a,1", "f32:b"), opsets=range(9, 27))
    made["zeta_f64"] = Case(torch.special.zeta, [(exponents.double(), x[2:].double())], opsets=range(9, 27), tolerance=(1e-12, 1e-14))
    made["zeta_numbers"] = Case(lambda x: (torch.special.zeta(x, 2.5), torch.special.zeta(3, x), torch.special.zeta(2.5, x)), [(x[2:],)], opsets=range(9, 27))
    return made


def integers():
    made = {}
    generator = torch.Generator().manual_seed(0)
    for dtype in (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8):
        info = torch.iinfo(dtype)
        ends = torch.tensor([info.min, info.min + 1, info.max, info.max - 1, 0, 1, 2, 6, 96, 100], dtype=dtype)
        ends = torch.cat([ends, torch.zeros(6, dtype=dtype).random_(max(info.min, -2**60), min(info.max, 2**60), generator=generator)] + ([-ends[5:]] if info.min else []))
        name = str(dtype).removeprefix("torch.")
        shapes = [(ends, ends.reshape(-1, 1)), (ends[:0], ends.reshape(-1, 1)), (ends[:1], ends[2:3].reshape(-1, 1))]
        word = DTYPES[dtype]
        usual = ends[1:]   # PyTorch may crash at the least integer: it divides by -1
        made[f"gcd_{name}"], made[f"lcm_{name}"] = (Case(op, [(usual, usual.reshape(-1, 1)), (usual[:0], usual[:, None])],
                                                         (f"{word}:a", f"{word}:b,1")) for op in (torch.gcd, torch.lcm))
        for op in (torch.bitwise_and, torch.bitwise_or, torch.bitwise_xor):
            made[f"{op.__name__}_{name}"] = Case(op, shapes, (f"{word}:a", f"{word}:b,1"))
        made[f"bits_and_numbers_{name}"] = Case(lambda x: (x & 5, x | -7 if x.dtype != torch.uint8 else x | 7, x ^ 99,
                                                           torch.bitwise_and(3, x), torch.bitwise_or(3, x), torch.bitwise_xor(3, x)),
                                                [(ends,)])
    mixed = torch.tensor([True, False, True])
    made["bits_of_bools_and_integers"] = Case(lambda x, y: (x & y, x | y, x ^ y, y ^ 6, y | 2, y & 3), [(torch.tensor([-1, 6, 4]), mixed)])
    made["bits_of_scalars"] = Case(lambda x, y: (x & y, x | y, x ^ y), [(torch.tensor(-77), torch.tensor(54)), (torch.tensor(123456789012345), torch.tensor(-54))])
    made["divisors_of_scalars"] = Case(lambda x, y: (torch.gcd(x, y), torch.lcm(x, y)), [(torch.tensor(-77), torch.tensor(56)), (torch.tensor(0), torch.tensor(0))])
    return made


def cases():
    return {f"special_{name}": case for name, case in {**polynomials(), **bessel(), **gamma(), **integers(), **normal()}.items()}
