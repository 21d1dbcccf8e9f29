"""Layers that mix by Fourier transforms: neural operators, FNet, global filters."""
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from registry import Example


class SpectralConv1d(nn.Module):
    def __init__(self, in_channels: int, out_channels: int, modes1: int):
        super().__init__()
        self.in_channels, self.out_channels, self.modes1 = in_channels, out_channels, modes1
        self.scale = 1 / (in_channels * out_channels)
        self.weights1 = nn.Parameter(self.scale * torch.rand(in_channels, out_channels, modes1, dtype=torch.cfloat))

    def compl_mul1d(self, input: Tensor, weights: Tensor) -> Tensor:
        return torch.einsum("bix,iox->box", input, weights)

    def forward(self, x: Tensor) -> Tensor:
        batchsize = x.shape[0]
        x_ft = torch.fft.rfft(x)
        out_ft = torch.zeros(batchsize, self.out_channels, x.size(-1) // 2 + 1, device=x.device, dtype=torch.cfloat)
        out_ft[:, :, :self.modes1] = self.compl_mul1d(x_ft[:, :, :self.modes1], self.weights1)
        return torch.fft.irfft(out_ft, n=x.size(-1))


class FNO1d(nn.Module):
    """Li et al. 2021, the code of the paper: the grid is made in forward."""

    def __init__(self, modes: int = 4, width: int = 8):
        super().__init__()
        self.fc0 = nn.Linear(2, width)
        self.conv0, self.conv1 = SpectralConv1d(width, width, modes), SpectralConv1d(width, width, modes)
        self.w0, self.w1 = nn.Conv1d(width, width, 1), nn.Conv1d(width, width, 1)
        self.fc1, self.fc2 = nn.Linear(width, 16), nn.Linear(16, 1)

    def get_grid(self, x: Tensor) -> Tensor:
        batchsize, size_x = x.shape[0], x.shape[1]
        gridx = torch.linspace(0, 1, size_x, dtype=torch.float, device=x.device)
        return gridx.reshape(1, size_x, 1).repeat([batchsize, 1, 1])

    def forward(self, x: Tensor) -> Tensor:
        x = torch.cat((x, self.get_grid(x)), dim=-1)
        x = self.fc0(x).permute(0, 2, 1)
        x = F.gelu(self.conv0(x) + self.w0(x))
        x = self.conv1(x) + self.w1(x)
        x = x.permute(0, 2, 1)
        return self.fc2(F.gelu(self.fc1(x)))


class SpectralConv2d(nn.Module):
    def __init__(self, in_channels: int, out_channels: int, modes1: int, modes2: int):
        super().__init__()
        self.out_channels, self.modes1, self.modes2 = out_channels, modes1, modes2
        scale = 1 / (in_channels * out_channels)
        self.weights1 = nn.Parameter(scale * torch.rand(in_channels, out_channels, modes1, modes2, dtype=torch.cfloat))
        self.weights2 = nn.Parameter(scale * torch.rand(in_channels, out_channels, modes1, modes2, dtype=torch.cfloat))

    def compl_mul2d(self, input: Tensor, weights: Tensor) -> Tensor:
        return torch.einsum("bixy,ioxy->boxy", input, weights)

    def forward(self, x: Tensor) -> Tensor:
        batchsize = x.shape[0]
        x_ft = torch.fft.rfft2(x)                                             #: aten::fft_rfft2
        out_ft = torch.zeros(batchsize, self.out_channels, x.size(-2), x.size(-1) // 2 + 1, dtype=torch.cfloat, device=x.device)
        out_ft[:, :, :self.modes1, :self.modes2] = self.compl_mul2d(x_ft[:, :, :self.modes1, :self.modes2], self.weights1)
        out_ft[:, :, -self.modes1:, :self.modes2] = self.compl_mul2d(x_ft[:, :, -self.modes1:, :self.modes2], self.weights2)
        return torch.fft.irfft2(out_ft, s=(x.size(-2), x.size(-1)))


class FNO2d(nn.Module):
    def __init__(self, modes: int = 3, width: int = 6):
        super().__init__()
        self.padding = 2
        self.lift = nn.Linear(3, width)
        self.conv0, self.conv1 = SpectralConv2d(width, width, modes, modes), SpectralConv2d(width, width, modes, modes)
        self.w0, self.w1 = nn.Conv2d(width, width, 1), nn.Conv2d(width, width, 1)
        self.norm = nn.InstanceNorm2d(width)
        self.out = nn.Linear(width, 1)

    def get_grid(self, x: Tensor) -> Tensor:
        batchsize, size_x, size_y = x.shape[0], x.shape[1], x.shape[2]
        gridx = torch.linspace(0, 1, size_x, dtype=torch.float, device=x.device).reshape(1, size_x, 1, 1).repeat([batchsize, 1, size_y, 1])
        gridy = torch.linspace(0, 1, size_y, dtype=torch.float, device=x.device).reshape(1, 1, size_y, 1).repeat([batchsize, size_x, 1, 1])
        return torch.cat((gridx, gridy), dim=-1)

    def forward(self, x: Tensor) -> Tensor:
        x = self.lift(torch.cat((x, self.get_grid(x)), dim=-1)).permute(0, 3, 1, 2)
        x = F.pad(x, [0, self.padding, 0, self.padding])
        x = F.gelu(self.norm(self.conv0(self.norm(x))) + self.w0(x))
        x = self.conv1(x) + self.w1(x)
        x = x[..., :-self.padding, :-self.padding]
        return self.out(x.permute(0, 2, 3, 1))


class RealWeights(nn.Module):
    """Operators whose weights are pairs of reals, as for data-parallel training; the parts are multiplied by hand."""

    def __init__(self, channels: int = 4, modes: int = 3):
        super().__init__()
        self.modes = modes
        self.weight = nn.Parameter(torch.randn(channels, channels, modes, 2) / channels)
        self.bias = nn.Parameter(torch.randn(2, channels, modes) * 0.1)

    def forward(self, x: Tensor) -> Tensor:
        x_ft = torch.fft.rfft(x, dim=-1, norm="ortho")
        low = x_ft[..., :self.modes]
        real = torch.einsum("bix,iox->box", low.real, self.weight[..., 0]) - torch.einsum("bix,iox->box", low.imag, self.weight[..., 1])
        imaginary = torch.einsum("bix,iox->box", low.imag, self.weight[..., 0]) + torch.einsum("bix,iox->box", low.real, self.weight[..., 1])
        low = torch.complex(F.relu(real + self.bias[0]), F.relu(imaginary + self.bias[1]))
        shrunk = torch.view_as_complex(F.softshrink(torch.view_as_real(low), lambd=0.01))
        shrunk = F.pad(shrunk, [0, x_ft.size(-1) - self.modes])
        return torch.fft.irfft(shrunk, n=x.size(-1), dim=-1, norm="ortho") + x


class GlobalFilter(nn.Module):
    """GFNet: Rao et al. 2021; the weight is stored as reals."""

    def __init__(self, dim: int = 6, h: int = 8, w: int = 5):
        super().__init__()
        self.complex_weight = nn.Parameter(torch.randn(h, w, dim, 2) * 0.02)

    def forward(self, x: Tensor) -> Tensor:
        b, n, c = x.shape
        a = 8
        x = x.view(b, a, a, c)
        x = x.to(torch.float32)
        x = torch.fft.rfft2(x, dim=(1, 2), norm="ortho")
        weight = torch.view_as_complex(self.complex_weight)
        x = x * weight
        x = torch.fft.irfft2(x, s=(a, a), dim=(1, 2), norm="ortho")
        return x.reshape(b, n, c)


class FNetBlock(nn.Module):
    """Lee-Thorp et al. 2021: two transforms and the real part."""

    def __init__(self, dim: int = 12):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.feed = nn.Sequential(nn.Linear(dim, 24), nn.GELU(), nn.Linear(24, dim))

    def forward(self, x: Tensor) -> Tensor:
        x = self.norm1(x + torch.fft.fft(torch.fft.fft(x, dim=-1), dim=-2).real)
        return self.norm2(x + self.feed(x))


class AutoCorrelation(nn.Module):
    """Autoformer: correlation by the spectrum, the best delays rolled and summed."""

    def forward(self, queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        length = queries.size(1)
        q_fft = torch.fft.rfft(queries.permute(0, 2, 1).contiguous(), dim=-1)
        k_fft = torch.fft.rfft(keys.permute(0, 2, 1).contiguous(), dim=-1)
        corr = torch.fft.irfft(q_fft * torch.conj(k_fft), n=length, dim=-1)
        weights, delay = torch.topk(corr.mean(1), 2, dim=-1)
        weights = torch.softmax(weights, dim=-1)
        values = values.permute(0, 2, 1)
        tmp_values = values.repeat(1, 1, 2)
        start = torch.arange(length, device=values.device)[None, None, :].repeat(values.size(0), values.size(1), 1)
        out = torch.zeros_like(values)
        for i in range(2):
            at = start + delay[:, i, None, None]
            out = out + torch.gather(tmp_values, -1, at) * weights[:, i, None, None]
        return out.permute(0, 2, 1)


class LongConvolution(nn.Module):
    """Hyena and S4: a filter as long as the sequence, by transforms of twice the length; S4D's kernel of complex poles."""

    def __init__(self, channels: int = 5, states: int = 4):
        super().__init__()
        self.log_dt = nn.Parameter(torch.rand(channels) - 3)
        self.c = nn.Parameter(torch.randn(channels, states, 2))
        self.log_a_real = nn.Parameter(torch.log(0.5 * torch.ones(channels, states)))
        self.a_imag = nn.Parameter(3.14159 * torch.arange(states).repeat(channels, 1).float())
        self.d = nn.Parameter(torch.randn(channels))

    def forward(self, u: Tensor) -> Tensor:
        length = u.size(-1)
        dt = torch.exp(self.log_dt)
        c = torch.view_as_complex(self.c)
        a = -torch.exp(self.log_a_real) + 1j * self.a_imag
        dt_a = a * dt.unsqueeze(-1)
        k = dt_a.unsqueeze(-1) * torch.arange(length, device=u.device)
        c = c * (torch.exp(dt_a) - 1.0) / a
        k = 2 * torch.einsum("hn,hnl->hl", c, torch.exp(k)).real
        k_f = torch.fft.rfft(k, n=2 * length)
        u_f = torch.fft.rfft(u, n=2 * length)
        y = torch.fft.irfft(u_f * k_f, n=2 * length)[..., :length]
        return F.gelu(y + u * self.d.unsqueeze(-1))


def fno1d() -> Example:
    return Example(FNO1d(), (torch.randn(2, 16, 1),))


def fno2d() -> Example:
    return Example(FNO2d(), (torch.randn(2, 10, 12, 1),))


def fno_real() -> Example:
    return Example(RealWeights(), (torch.randn(2, 4, 14),))


def global_filter() -> Example:
    return Example(GlobalFilter(), (torch.randn(2, 64, 6),))


def fnet() -> Example:
    return Example(FNetBlock(), (torch.randn(2, 7, 12),))


def autocorrelation() -> Example:
    return Example(AutoCorrelation(), (torch.randn(2, 9, 4), torch.randn(2, 9, 4), torch.randn(2, 9, 4)))


def long_convolution() -> Example:
    return Example(LongConvolution(), (torch.randn(2, 5, 20),))
