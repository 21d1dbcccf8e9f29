"""Complex numbers inside a model: arithmetic, shapes, Fourier transforms, and the layers that people build of them."""
import torch
from torch import nn

from layer_cases import Case

c, r = torch.view_as_complex, torch.randn


def v(x):
    return torch.view_as_real(x.resolve_conj())


def pair(*sizes):
    return r(*sizes, 2)


def unary(function, *sizes, **more):
    return Case(lambda x: v(function(c(x))), [(pair(*(sizes or (3, 4))),)], **more)


def binary(function, *sizes, **more):
    a, b = sizes or ((3, 4), (3, 4))
    return Case(lambda x, y: v(function(c(x), c(y))), [(pair(*a), pair(*b))], **more)


def to_real(function, *sizes, **more):
    return Case(lambda x: function(c(x)), [(pair(*(sizes or (3, 4))),)], **more)


def of_real(function, *sizes, **more):
    return Case(lambda x: v(function(x)), [(r(*(sizes or (3, 4))),)], **more)


class Constant(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(r(4, 5, dtype=torch.complex64))
        self.register_buffer("turned", r(5, 4, dtype=torch.complex64).t())
        self.register_buffer("real", r(4, 5))

    def forward(self, x):
        z = c(x) * self.weight + self.turned * self.real
        return v(z @ self.weight.t().conj() + 1j)


class Rotary(nn.Module):
    """As Llama writes it."""

    def __init__(self, heads=2, size=8, length=16):
        super().__init__()
        self.heads, self.size = heads, size
        frequencies = 1.0 / (10000.0 ** (torch.arange(0, size, 2).float() / size))
        turns = torch.outer(torch.arange(length), frequencies)
        self.register_buffer("freqs_cis", torch.polar(torch.ones_like(turns), turns))
        self.query, self.key = nn.Linear(heads * size, heads * size, bias=False), nn.Linear(heads * size, heads * size, bias=False)

    def forward(self, x):
        batch, length, _ = x.shape
        freqs = self.freqs_cis[:length].view(1, length, 1, self.size // 2)
        q, k = self.query(x).view(batch, length, self.heads, self.size), self.key(x).view(batch, length, self.heads, self.size)
        q_ = torch.view_as_complex(q.float().reshape(batch, length, self.heads, -1, 2))
        k_ = torch.view_as_complex(k.float().reshape(batch, length, self.heads, -1, 2))
        q, k = torch.view_as_real(q_ * freqs).flatten(3), torch.view_as_real(k_ * freqs).flatten(3)
        return torch.softmax(q.transpose(1, 2) @ k.transpose(1, 2).transpose(2, 3) / self.size ** 0.5, -1)


class MelSpectrogram(nn.Module):
    def __init__(self, points=64, hop=16, mels=10, power=2.0):
        super().__init__()
        self.points, self.hop, self.power = points, hop, power
        self.register_buffer("window", torch.hann_window(points))
        self.register_buffer("filters", torch.rand(points // 2 + 1, mels))

    def forward(self, x):
        shape = x.size()
        x = x.reshape(-1, shape[-1])
        spectrum = torch.stft(x, self.points, self.hop, self.points, self.window, center=True, pad_mode="reflect", normalized=False, onesided=True, return_complex=True)
        spectrum = spectrum.reshape(shape[:-1] + spectrum.shape[-2:])
        if self.power == 1.0:
            magnitude = spectrum.abs()
        else:
            magnitude = spectrum.abs().pow(self.power)
        return (magnitude.transpose(-1, -2) @ self.filters).transpose(-1, -2).clamp(min=1e-10).log10()


class AsLong(nn.Module):
    """Back to the samples that came in, or to more of them."""

    def __init__(self):
        super().__init__()
        self.register_buffer("window", torch.hann_window(32) + 0.05)

    def forward(self, x):
        z = torch.stft(x, 32, 8, window=self.window, return_complex=True)
        same = torch.istft(z * 2, 32, 8, window=self.window, length=x.size(-1))
        return same, torch.istft(z, 32, 8, window=self.window, length=x.size(-1) - 11, center=False)


class FNet(nn.Module):
    def __init__(self, width=12):
        super().__init__()
        self.norm, self.feed = nn.LayerNorm(width), nn.Linear(width, width)

    def forward(self, x):
        x = self.norm(x + torch.fft.fft2(x).real)
        return x + torch.nn.functional.gelu(self.feed(x))


class SpectralConv2d(nn.Module):
    """Of Fourier neural operators."""

    def __init__(self, inner=3, outer=4, modes=3):
        super().__init__()
        self.outer, self.modes = outer, modes
        self.first = nn.Parameter(torch.rand(inner, outer, modes, modes, dtype=torch.cfloat) / inner)
        self.second = nn.Parameter(torch.rand(inner, outer, modes, modes, dtype=torch.cfloat) / inner)

    def forward(self, x):
        m = self.modes
        x_ft = torch.fft.rfft2(x)
        out = torch.zeros(x.size(0), self.outer, x.size(-2), x.size(-1) // 2 + 1, dtype=torch.cfloat, device=x.device)
        out[:, :, :m, :m] = torch.einsum("bixy,ioxy->boxy", x_ft[:, :, :m, :m], self.first)
        out[:, :, -m:, :m] = torch.einsum("bixy,ioxy->boxy", x_ft[:, :, -m:, :m], self.second)
        return torch.fft.irfft2(out, s=(x.size(-2), x.size(-1)))


class Vocoder(nn.Module):
    def __init__(self, points=32, hop=8, **more):
        super().__init__()
        self.points, self.hop, self.more = points, hop, more
        self.register_buffer("window", torch.hann_window(points) + 0.05)

    def forward(self, x):
        z = torch.stft(x, self.points, self.hop, window=self.window, return_complex=True)
        return torch.istft(torch.polar(z.abs() ** 0.5, z.angle()) * 2, self.points, self.hop, window=self.window, **self.more)


def written(x):
    z = c(x) * 2
    parts = torch.view_as_real(z)
    parts[..., 0] = 3.0
    z[0] = 1j
    z[:, 1:] += 2
    return v(z), z.abs()


def branches(x):
    z = c(x)
    if bool(x.sum() > 0):
        z = z * 2j
    else:
        z = z.conj() + 1
    for i in range(int(x.size(0))):
        z = z + z[i]
    return v(z)


def fourier():
    f = torch.fft
    made = {}
    for norm in ("backward", "ortho", "forward"):
        made |= {
            f"fft_{norm}": unary(lambda x, n=norm: f.fft(x, norm=n), 2, 6),
            f"ifft_{norm}": unary(lambda x, n=norm: f.ifft(x, 5, 0, n), 3, 4),
            f"rfft_{norm}": of_real(lambda x, n=norm: f.rfft(x, norm=n), 3, 7),
            f"irfft_{norm}": to_real(lambda x, n=norm: f.irfft(x, norm=n), 3, 5),
            f"irfft_odd_{norm}": to_real(lambda x, n=norm: f.irfft(x, 7, norm=n), 3, 5),
            f"hfft_{norm}": to_real(lambda x, n=norm: f.hfft(x, norm=n), 3, 5),
            f"ihfft_{norm}": of_real(lambda x, n=norm: f.ihfft(x, norm=n), 3, 6),
            f"fft2_{norm}": unary(lambda x, n=norm: f.fft2(x, norm=n), 2, 4, 3),
            f"ifft2_{norm}": unary(lambda x, n=norm: f.ifft2(x, (3, 5), norm=n), 2, 4, 3),
            f"rfft2_{norm}": of_real(lambda x, n=norm: f.rfft2(x, norm=n), 2, 4, 5),
            f"irfft2_{norm}": to_real(lambda x, n=norm: f.irfft2(x, (4, 6), norm=n), 2, 5, 5),
            f"fftn_{norm}": unary(lambda x, n=norm: f.fftn(x, norm=n), 2, 4, 3),
            f"ifftn_{norm}": unary(lambda x, n=norm: f.ifftn(x, dim=(0, 2), norm=n), 2, 4, 3),
            f"rfftn_{norm}": of_real(lambda x, n=norm: f.rfftn(x, norm=n), 2, 4, 5),
            f"irfftn_{norm}": to_real(lambda x, n=norm: f.irfftn(x, dim=(2, 0), norm=n), 3, 4, 5),
            f"hfft2_{norm}": to_real(lambda x, n=norm: f.hfft2(x, norm=n), 3, 5),
            f"ihfft2_{norm}": of_real(lambda x, n=norm: f.ihfft2(x, norm=n), 3, 5),
            f"hfftn_{norm}": to_real(lambda x, n=norm: f.hfftn(x, norm=n), 3, 4, 5),
            f"ihfftn_{norm}": of_real(lambda x, n=norm: f.ihfftn(x, norm=n), 3, 4, 5),
        }
    return made | {
        "fft_of_real": of_real(f.fft, 2, 5),
        "fft_of_integers": Case(lambda x: v(f.fft(x)), [(torch.arange(6).reshape(2, 3),)]),
        "fft_double": Case(lambda x: v(f.fft(x)), [(r(2, 5, dtype=torch.float64),)]),
        "fft_pads": unary(lambda x: f.fft(x, 9, 0), 4, 3),
        "fft_crops": unary(lambda x: f.fft(x, 2, 0), 4, 3),
        "rfft_pads": of_real(lambda x: f.rfft(x, 9), 4, 6),
        "rfft_middle": of_real(lambda x: f.rfft(x, dim=1), 2, 5, 3),
        "irfft_of_real": Case(lambda x: f.irfft(x), [(r(3, 5),)]),
        "hfft_of_real": Case(lambda x: f.hfft(x, 6), [(r(3, 5),)]),
        "irfft_pads": to_real(lambda x: f.irfft(x, 12), 3, 5), "irfft_of_real_pads": Case(lambda x: f.irfft(x, 12, 0), [(r(4, 5),)]),
        "irfft_of_real_crops": Case(lambda x: f.irfft(x, 4), [(r(3, 5),)]),
        "fft_one_dimension": unary(f.fft, 7),
        "fft_two_points": Case(lambda x: (v(f.fft(x)), v(f.rfft(x)), v(f.ifft(x * 2)), f.irfft(f.rfft(x))),
                               [(torch.tensor([[1., 2], [torch.inf, 1]]),)]),
        "fft_two_primes": of_real(lambda x: f.rfft(x), 1046, tolerance=(1e-3, 1e-4)),
        "fft_one_point": unary(f.fft, 3, 1),
        "fft_600": unary(f.fft, 2, 600, tolerance=(1e-3, 1e-4)),
        "rfft_1024": of_real(f.rfft, 2, 1024, tolerance=(1e-3, 1e-4)),
        "irfft_1024": to_real(f.irfft, 2, 513, tolerance=(1e-3, 1e-5)),
        "fft_middle_1000": unary(lambda x: f.fft(x, dim=1), 2, 1000, 3, tolerance=(1e-3, 1e-4)),
        "fft_too_large": of_real(f.fft, 4099, refused="whose factors are too large"),
        "no_elements": unary(lambda x: x * x + 1, 0, 4),
        "fft_named": Case(lambda x: v(f.fft(x)), [(r(2, 5),), (r(3, 8),)], specs=("f32:batch,points",), opsets=range(11, 27)),
        "rfft_named": Case(lambda x: v(f.rfft(x, norm="ortho")), [(r(2, 5),), (r(3, 8),)], specs=("f32:batch,points",), opsets=range(11, 27)),
        "irfft_named": Case(lambda x: f.irfft(c(x)), [(pair(2, 5),), (pair(3, 8),)], specs=("f32:batch,points,2",), opsets=range(11, 27)),
        "fft_batch_named": Case(lambda x: v(f.fft2(x)), [(r(2, 5, 4),), (r(3, 5, 4),)], specs=("f32:batch,5,4",)),
        "rfft_twice": Case(lambda x: (v(f.rfft(x, 2 * x.size(-1))),
                                      f.irfft(f.rfft(x, n=2 * x.size(-1)) * 2, n=2 * x.size(-1))[..., :x.size(-1)]),
                           [(r(2, 5),), (r(3, 8),)], specs=("f32:batch,points",), opsets=range(11, 27)),
        "fft_other_points": Case(lambda x: (v(f.fft(x, x.size(0) + 3, 1)), v(f.ifft(x, x.size(1) // 2, dim=1)),
                                            f.hfft(f.fft(x), n=x.size(0) * 3), v(f.fft2(x, s=(x.size(1), x.size(0))))),
                                 [(r(4, 9),), (r(7, 5),), (r(2, 3),)], specs=("f32:n,m",), opsets=range(11, 27)),
        "rfft_double_points": Case(lambda x: v(f.rfft(x, 2 * x.size(-1), norm="ortho")),
                                   [(r(2, 5, dtype=torch.float64),), (r(3, 8, dtype=torch.float64),)],
                                   specs=("f64:batch,points",), opsets=range(11, 27)),
        "fftshift": unary(f.fftshift, 3, 4), "ifftshift": unary(lambda x: f.ifftshift(x, 1), 3, 5),
        "filtered": Case(lambda x: f.ifft(f.fft(x) * torch.linspace(0, 1, 8)).real, [(r(2, 8),)]),
        "convolved": Case(lambda x, k: f.irfft(f.rfft(x, 16) * f.rfft(k, 16), 16)[..., :12], [(r(2, 12), r(5))]),
    }


def cases():
    return {f"complex_{name}": case for name, case in (fourier() | numbers() | layers()).items()}


def numbers():
    return {
        "view_as_real": unary(lambda x: x),
        "polar": Case(lambda a, b: v(torch.polar(a, b)), [(r(3, 4).abs(), r(3, 4)), ]),
        "complex": Case(lambda a, b: v(torch.complex(a, b)), [(r(3, 4), r(3, 4))]),
        "complex_broadcast": Case(lambda a, b: v(torch.complex(a, b)), [(r(3, 1), r(4))]),
        "real": to_real(lambda x: x.real), "imag": to_real(lambda x: x.imag),
        "abs": to_real(torch.abs),
        "abs_large": Case(lambda x: c(x).abs(), [(torch.tensor([[1e30, 1e30], [1e-30, 1e-30], [0, 0], [torch.inf, 1], [torch.nan, 1], [3, -4]]),)]),
        "angle": to_real(torch.angle, opsets=range(9, 27)),
        "angle_edges": Case(lambda x: c(x).angle(),
                            [(torch.tensor([[0., 0], [-1, 0], [-1, -0.0], [0, 1], [0, -1], [torch.inf, 1], [1, torch.nan], [-0.0, 0.0]]),)],
                            opsets=range(9, 27)),
        "conj": unary(lambda x: x.conj()), "conj_physical": unary(torch.conj_physical),
        "conj_twice": unary(lambda x: x.conj().conj().resolve_conj().resolve_neg() * x.conj()),
        "adjoint": unary(lambda x: x.mH @ x, 2, 3, 4), "H": unary(lambda x: x.H, 3, 4),
        "add": binary(torch.add), "sub": binary(lambda a, b: torch.sub(a, b, alpha=2)), "mul": binary(torch.mul), "div": binary(torch.div),
        "mul_broadcast": binary(torch.mul, (3, 1), (4,)), "div_broadcast": binary(torch.div, (3, 1), (4,)), "add_broadcast": binary(torch.add, (3, 1), (4,)),
        "mul_infinite": Case(lambda x: (v(c(x) * 2), v(c(x) / 2), v(c(x) * c(x))), [(torch.tensor([[torch.inf, 0], [0, torch.inf], [torch.nan, 1], [1, 2]]),)]),
        "rsub": unary(lambda x: 2 - x), "add_scalars": unary(lambda x: x + 1 + 2.5 + 1j), "mul_scalars": unary(lambda x: x * 2 * (1 - 2j) / 4 / (2 + 1j)),
        "rdiv": unary(lambda x: 2 / x), "rdiv_complex": unary(lambda x: (1 + 2j) / x),
        "with_real": Case(lambda x, y: (v(c(x) * y), v(y * c(x)), v(c(x) + y), v(y - c(x)), v(c(x) / y), v(y / c(x))), [(pair(3, 1), r(4))]),
        "with_integers": Case(lambda x, y: (v(c(x) * y), v(c(x) + y), v(y - c(x))), [(pair(3, 4), torch.arange(4))]),
        "with_bool": Case(lambda x, y: (v(c(x) * y), v(c(x) + y)), [(pair(3, 4), torch.tensor([True, False, True, True]))]),
        "real_with_complex_number": Case(lambda x: (v(x * 2j), v(x + 1j), v(1j - x)), [(r(3, 4),)]),
        "real_with_complex_number_double": Case(lambda x: (v(x * 2j), v(x + 1j)), [(r(3, 4, dtype=torch.float64),)]),
        "double_with_single": Case(lambda x, y: v(c(x) * c(y)), [(pair(3, 4), r(4, 2, dtype=torch.float64))]),
        "double_number_with_single": Case(lambda x, y: v(c(x) * y), [(pair(3, 4), torch.tensor(2.5, dtype=torch.float64))]),
        "neg": unary(torch.neg), "reciprocal": unary(torch.reciprocal), "square": unary(torch.square), "positive": unary(lambda x: +x),
        **{f"pow_{n}".replace("-", "minus_").replace(".", "_"): unary(lambda x, n=n: x ** n, opsets=range(9, 27), tolerance=(1e-3, 1e-5))
           for n in (0, 1, 2, 3, 4, -1, -2, 0.5, 1.5, -0.7)},
        "pow_complex": binary(torch.pow, refused="isn't supported with complex numbers"),
        "exp": unary(torch.exp, opsets=range(9, 27)), "log": unary(torch.log, opsets=range(9, 27)),
        "log2": unary(torch.log2, opsets=range(9, 27)), "log10": unary(torch.log10, opsets=range(9, 27)),
        "exp_real": Case(lambda x: v(torch.exp(c(x))), [(torch.tensor([[100., 0], [1, 2], [-200, 1]]),)], opsets=range(9, 27)),
        "sqrt": unary(torch.sqrt, opsets=range(9, 27)), "rsqrt": unary(torch.rsqrt, opsets=range(9, 27)),
        "sqrt_edges": Case(lambda x: v(c(x).sqrt()), [(torch.tensor([[-2., 0], [-2, -0.0], [0, 0], [3, -1e-4], [-3, 1e-4], [0, 2], [1e30, 1e30]]),)], opsets=range(9, 27)),
        "exp_of_angle": Case(lambda x: v(torch.exp(1j * x)), [(r(3, 4),)], opsets=range(9, 27)),
        "sgn": Case(lambda x: v(torch.sgn(c(x))), [(torch.tensor([[0., 0], [3, 4], [-1, 0]]),)], opsets=range(9, 27)),
        "sum": unary(lambda x: x.sum(1)), "sum_all": unary(torch.sum), "mean": unary(lambda x: x.mean(0, keepdim=True)),
        "cumsum": unary(lambda x: x.cumsum(1), opsets=range(9, 27)),
        "where": Case(lambda x, y, m: (v(torch.where(m, c(x), c(y))), v(torch.where(m, c(x), 1.5)), v(torch.where(m, y[..., 0], c(x)))),
                      [(pair(3, 4), pair(3, 4), r(3, 4) > 0)], opsets=range(9, 27)),
        "masked_fill": Case(lambda x, m: (v(c(x).masked_fill(m, 2.0)), v(c(x).masked_fill(m, 2j))), [(pair(3, 4), r(3, 4) > 0)], opsets=range(9, 27)),
        "eq": Case(lambda x, y: (c(x) == c(y), c(x) != c(y), c(x) == 1, y[..., 0] == c(x)), [(torch.tensor([[1., 0], [2, 3], [4, 5]]), torch.tensor([[1., 0], [2, 4], [5, 5]]))]),
        "isnan": Case(lambda x: torch.isnan(c(x)), [(torch.tensor([[1., 0], [2, torch.nan], [torch.nan, 5]]),)], opsets=range(9, 27)),
        "matmul": binary(torch.matmul, (3, 4), (4, 5)), "bmm": binary(torch.bmm, (2, 3, 4), (2, 4, 5)), "mv": binary(torch.mv, (3, 4), (4,)), "dot": binary(torch.dot, (4,), (4,)),
        "einsum": binary(lambda a, b: torch.einsum("bi,io->bo", a, b), (3, 4), (4, 5)),
        "einsum_one": unary(lambda x: torch.einsum("ij->j", x)), "outer": binary(torch.outer, (3,), (4,)),
        "einsum_three": Case(lambda x, y, z: v(torch.einsum("ab,bc,cd->ad", c(x), c(y), c(z))), [(pair(2, 3), pair(3, 4), pair(4, 2))]),
        "linear": binary(torch.nn.functional.linear, (2, 3), (4, 3)),
        "linear_with_bias": Case(lambda x, w, b: v(torch.nn.functional.linear(c(x), c(w), c(b))),
                                 [(pair(2, 3), pair(4, 3), pair(4))], refused="isn't supported with complex numbers"),
        "conv1d": binary(lambda x, w: torch.nn.functional.conv1d(x, w, padding=1), (1, 2, 6), (3, 2, 3)),
        "shapes": Case(lambda x: tuple(v(y) for y in (c(x).reshape(2, 6), c(x).view(12), c(x).permute(1, 0), c(x).transpose(0, 1), c(x).t(),
                                                      c(x)[1], c(x)[:, 1:3], c(x).unsqueeze(1), c(x).unsqueeze(-1).squeeze(-1),
                                                      c(x).flatten(), c(x)[None].expand(2, 3, 4), c(x).repeat(2, 1), c(x).roll(1, 1),
                                                      c(x).flip(0), c(x).narrow(1, 1, 2), c(x).movedim(0, 1), c(x).clone(),
                                                      c(x).contiguous(), c(x).diagonal(), c(x).tril(), c(x).unfold(1, 2, 1))),
                       [(pair(3, 4),)]),
        "parts": Case(lambda x: tuple(v(y) for y in (*c(x).split(2, 1), *c(x).chunk(2, 0), *c(x).unbind(0), torch.cat([c(x), c(x) * 2j], 1),
                                                     torch.stack([c(x), c(x)], 1), torch.cat([c(x), x[..., 0]], 0),
                                                     *torch.tensor_split(c(x), 3, 1))), [(pair(3, 4),)]),
        "indices": Case(
            lambda x, i: tuple(v(y) for y in (c(x)[i], c(x)[:, i], c(x).index_select(0, i), torch.gather(c(x), 0, i[None].expand(1, 3)),
                                              torch.take_along_dim(c(x), i[:, None], 0))), [(pair(3, 4), torch.tensor([2, 0, 1]))]),
        "pad": Case(lambda x: (v(torch.nn.functional.pad(c(x), (1, 2))), v(torch.nn.functional.pad(c(x), (1, 0, 0, 1), value=2.0))), [(pair(3, 4),)]),
        "created": Case(lambda x: tuple(v(y) for y in (torch.zeros_like(c(x)), torch.full_like(c(x), 2.0), c(x).new_zeros(2),
                                                       torch.full((2,), 1 + 2j) + c(x)[0, :2])), [(pair(3, 4),)]),
        "ones": Case(lambda x: tuple(v(y) for y in (torch.ones_like(c(x)) + x[0, 0, 0], c(x).new_ones(2, x.size(0)) * x[0, 0, 0],
                                                    torch.ones(2, x.size(0), dtype=torch.complex64) * x[0, 0, 0])),
                     [(pair(3, 4),), (pair(2, 4),)], specs=("f32:n,4,2",), opsets=range(9, 27)),
        "scalar": Case(lambda x: v(c(x) + torch.scalar_tensor(2.0, dtype=torch.complex64) + torch.ops.aten.scalar_tensor(1.5, dtype=torch.complex128)), [(pair(3, 4),)]),
        "div_mode": binary(lambda a, b: torch.div(a, b, rounding_mode=None)),
        "scatter": Case(lambda x, i: tuple(v(y) for y in (torch.zeros_like(c(x)).scatter(0, i, c(x)), c(x).index_add(0, i[0], c(x)),
                                                          c(x).scatter_add(0, i, c(x)))),
                        [(pair(3, 3), torch.tensor([[0, 1, 2], [1, 2, 0]]))], opsets=range(9, 27)),
        "casts": Case(lambda x, y: (v(c(x).to(torch.complex128)), v(y.to(torch.complex64)), v(y.to(torch.complex64) + c(x)), v(y.type_as(c(x)))), [(pair(3, 4), torch.arange(4))]),
        "to_real": to_real(lambda x: x.to(torch.float64) + 1), "properties": to_real(lambda x: x.real * x.size(0) + x.numel() + x.dim() + (1 if x.is_complex() else 0)),
        "to_bool": to_real(lambda x: x.to(torch.bool), refused="isn't supported with complex numbers"),
        "tanh": unary(torch.tanh, refused="aten::tanh isn't supported with complex numbers"),
        "prod": unary(lambda x: x.prod(0), refused="aten::prod isn't supported with complex numbers"),
        "constant": Case(Constant().eval(), [(pair(4, 5),)], specs=("f32:4,5,2",)),
        "written": Case(written, [(pair(3, 4),)]), "written_scripted": Case(written, [(pair(3, 4),)], script=True),
        "branches": Case(branches, [(pair(3, 4).abs(),), (-pair(3, 4).abs(),)], script=True),
        "branches_named": Case(branches, [(pair(3, 4).abs(),), (-pair(2, 4).abs(),)], script=True, specs=("f32:n,4,2",)),
        "input": Case(lambda x: x.real, [(r(3, dtype=torch.complex64),)], refused="the model's input"),
        "output": Case(torch.view_as_complex, [(pair(3),)], refused="the model's output"),
    }


def layers():
    return {
        **{f"rotary_{form}": Case(Rotary().eval(), [(r(2, 5, 16),), (r(1, 9, 16),)], specs=("f32:batch,length,16",),
                                  script=form == "scripted", opsets=range(10, 27)) for form in ("traced", "scripted")},
        **{f"mel_{form}_{int(power)}": Case(MelSpectrogram(power=power).eval(), [(r(2, 400),), (r(3, 500),)], specs=("f32:batch,samples",),
                                            script=form == "scripted", tolerance=(1e-3, 1e-4), opsets=range(9, 27))
           for form in ("traced", "scripted") for power in (1.0, 2.0)},
        **{f"fnet_{form}": Case(FNet().eval(), [(r(2, 6, 12),), (r(1, 9, 12),)], specs=("f32:batch,length,12",), script=form == "scripted",
                                opsets=range(11, 27)) for form in ("traced", "scripted")},
        **{f"fno_{form}": Case(SpectralConv2d().eval(), [(r(2, 3, 8, 10),), (r(1, 3, 8, 10),)], specs=("f32:batch,3,8,10",),
                               script=form == "scripted", opsets=range(9, 27)) for form in ("traced", "scripted")},
        "stft_centred": Case(lambda x: v(torch.ops.aten.stft.center(x, 16, 4, 16, torch.hann_window(16), True, "reflect", False, True, True)), [(r(60),)]),
        "stft_pairs": Case(lambda x: v(torch.stft(x, 16, 4, window=torch.hann_window(16), return_complex=True)), [(r(60),)]),
        "stft_twosided": Case(lambda x: v(torch.stft(x, 16, 4, 10, torch.hann_window(10), center=False, onesided=False, normalized=True, return_complex=True)), [(r(2, 60),)]),
        "stft_named": Case(lambda x: v(torch.stft(x, 16, 4, window=torch.hann_window(16), return_complex=True)),
                           [(r(2, 60),), (r(3, 71),)], specs=("f32:batch,samples",), opsets=range(9, 27)),
        "stft_complex_signal": Case(lambda x: v(torch.stft(c(x), 8, 4, window=torch.hann_window(8), return_complex=True)), [(pair(30),)], refused="a signal of complex numbers"),
        "vocoder": Case(Vocoder().eval(), [(r(2, 96),)], opsets=range(9, 27), tolerance=(1e-3, 1e-5)),
        "vocoder_length": Case(Vocoder(length=90).eval(), [(r(2, 96),)], opsets=range(9, 27), tolerance=(1e-3, 1e-5)),
        "vocoder_named": Case(Vocoder().eval(), [(r(2, 96),), (r(1, 120),)], specs=("f32:batch,samples",), opsets=range(9, 27), tolerance=(1e-3, 1e-5)),
        **{f"vocoder_as_long_{form}": Case(AsLong().eval(), [(r(2, 96),), (r(1, 121),), (r(3, 64),)], specs=("f32:batch,samples",),
                                           script=form == "scripted", opsets=range(10, 27), tolerance=(1e-3, 1e-5))
           for form in ("traced", "scripted")},
        "istft_uncentred": Case(lambda x: torch.istft(c(x), 8, 2, window=torch.ones(8), center=False, normalized=True), [(pair(2, 5, 7),)]),
        "istft_twosided": Case(lambda x: torch.istft(c(x), 8, 2, window=torch.ones(8), onesided=False), [(pair(8, 7),)]),
    }
