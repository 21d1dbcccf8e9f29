"""How weights and constants lie in the file: storages, strides, dtypes."""
import torch
from torch import Tensor, nn

from exported import BATCH, Program, program

PLAIN = {"f64": torch.float64, "f16": torch.float16, "bf16": torch.bfloat16, "i8": torch.int8, "u8": torch.uint8, "i16": torch.int16,
         "i32": torch.int32, "i64": torch.int64, "u16": torch.uint16, "u32": torch.uint32, "u64": torch.uint64, "bool": torch.bool}
SMALL_FLOATS = {"e4m3fn": torch.float8_e4m3fn, "e5m2": torch.float8_e5m2, "e4m3fnuz": torch.float8_e4m3fnuz, "e5m2fnuz": torch.float8_e5m2fnuz,
                "e8m0fnu": torch.float8_e8m0fnu}


def rows(*sizes: int) -> list:
    return [(torch.randn(size, 4),) for size in sizes]


class Holder(nn.Module):
    """Buffers, and what is made of them."""

    def __init__(self, use, persistent: bool = True, **buffers: Tensor):
        super().__init__()
        self.use = use
        for name, value in buffers.items():
            self.register_buffer(name, value, persistent=persistent)

    def forward(self, x: Tensor):
        return self.use(self, x)


@program
def weights_tied() -> Program:
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.head = nn.Embedding(10, 4), nn.Linear(4, 10, bias=False)
            self.head.weight = self.embed.weight

        def forward(self, ids: Tensor):
            return self.head(self.embed(ids))

    return Program(Tied(), inputs=[(torch.tensor([1, 5, 9]),), (torch.tensor([0, 3, 3, 7]),)], dynamic=(BATCH,))


@program
def weights_views() -> Program:
    """Two parameters in one storage, a transposed one, a slice of a large one, a column."""

    class Views(nn.Module):
        def __init__(self):
            super().__init__()
            flat = torch.randn(28)
            self.first = nn.Parameter(flat[:8].view(2, 4))
            self.second = nn.Parameter(flat[8:24].view(4, 4).t())
            self.register_buffer("slice", torch.randn(1000)[3:7])
            self.register_buffer("column", torch.randn(4, 5)[:, 2])
            self.register_buffer("steps", torch.randn(9)[1::2])

        def forward(self, x: Tensor):
            return torch.cat([x @ self.second, self.first]) + self.slice * self.column - self.steps

    return Program(Views(), inputs=rows(3, 5), dynamic=(BATCH,))


@program
def weights_strides() -> Program:
    cube = torch.randn(2, 3, 4).permute(2, 0, 1)
    return Program(Holder(lambda m, x: x.sum() + m.cube.flatten() + m.wide.sum(0).sum() + m.rows, cube=cube, wide=torch.randn(1, 4).expand(3, 4),
                          rows=torch.randn(1).expand(24)), inputs=rows(3, 5), dynamic=(BATCH,))


@program
def weights_empty() -> Program:
    return Program(Holder(lambda m, x: (torch.cat([x, m.none, m.other]), m.wide), none=torch.empty(0, 4), other=torch.zeros(0, 4), wide=torch.empty(2, 0)),
                   inputs=rows(3, 5), dynamic=(BATCH,))


@program
def weights_channels_last() -> Program:
    class ChannelsLast(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = nn.Conv2d(3, 8, 3).to(memory_format=torch.channels_last)
            self.register_buffer("bias", torch.randn(1, 8, 4, 4).to(memory_format=torch.channels_last))

        def forward(self, x: Tensor):
            return self.conv(x.contiguous(memory_format=torch.channels_last)).relu() + self.bias

    return Program(ChannelsLast(), inputs=[(torch.randn(2, 3, 6, 6),), (torch.randn(3, 3, 6, 6),)], dynamic=(BATCH,))


@program
def weights_not_persistent() -> Program:
    """Lie among the constants."""
    return Program(Holder(lambda m, x: x * m.scale + m.shift, persistent=False, scale=torch.randn(4), shift=torch.randn(1, 1)), inputs=rows(3, 5),
                   dynamic=(BATCH,))


@program
def weights_lifted() -> Program:
    """Tensors that forward makes: constants of rank 0 and more, and a tensor that is no buffer."""

    class Lifted(nn.Module):
        def __init__(self):
            super().__init__()
            self.plain = torch.randn(4)

        def forward(self, x: Tensor):
            y = x * torch.tensor(2.5) + torch.tensor([1, 2, 3, 4]) + self.plain
            return y, y * torch.tensor(2), torch.tensor(7), torch.tensor([[True]])

    return Program(Lifted(), inputs=rows(3, 5), dynamic=(BATCH,))


def of_dtype(name: str, dtype: torch.dtype):
    def make() -> Program:
        values = torch.tensor([0.0, 1.0, 2.5, 100.0] if dtype != torch.bool else [0.0, 1.0, 1.0, 0.0]).to(dtype)
        return Program(Holder(lambda m, x: (x + m.values.float(), m.values.to(torch.int64).float() if name not in SMALL_FLOATS else x), values=values),
                       inputs=rows(3, 5), dynamic=(BATCH,))
    make.__name__ = f"weights_{name}"
    return make


for name, dtype in (PLAIN | SMALL_FLOATS).items():
    program(of_dtype(name, dtype))


@program
def weights_computed_in_half() -> Program:
    class Halves(nn.Module):
        def __init__(self):
            super().__init__()
            self.in_half, self.in_bfloat, self.in_double = nn.Linear(4, 4).half(), nn.Linear(4, 4).bfloat16(), nn.Linear(4, 4).double()

        def forward(self, x: Tensor):
            return self.in_half(x.half()), self.in_bfloat(x.bfloat16()).float(), self.in_double(x.double())

    return Program(Halves(), inputs=rows(3, 5), dynamic=(BATCH,))


@program
def weights_complex() -> Program:
    return Program(Holder(lambda m, x: (torch.view_as_real(x * m.factor), (x * m.factor).abs(), m.factor.real + x), factor=torch.randn(4, dtype=torch.complex64)),
                   inputs=rows(3, 5), dynamic=(BATCH,))


@program
def weights_seen_as() -> Program:
    """One storage under two dtypes."""
    bits = torch.randn(4)
    return Program(Holder(lambda m, x: (x + m.bits, m.numbers + 1), bits=bits, numbers=bits.view(torch.int32)), inputs=rows(3, 5), dynamic=(BATCH,))


@program
def weights_unused() -> Program:
    class Unused(nn.Module):
        def __init__(self):
            super().__init__()
            self.used, self.unused = nn.Linear(4, 4), nn.Linear(7, 3)

        def forward(self, x: Tensor):
            return self.used(x)

    return Program(Unused(), inputs=rows(3, 5), dynamic=(BATCH,))


@program
def weights_aliased_buffer() -> Program:
    """A buffer that is a parameter's view."""

    class Aliased(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.randn(3, 4))
            self.register_buffer("row", self.weight.detach()[1])

        def forward(self, x: Tensor):
            return x @ self.weight.t() + self.row[:3]

    return Program(Aliased(), inputs=rows(3, 5), dynamic=(BATCH,))


@program
def weights_scaled_products() -> Program:
    """Products of fp8, with a scale for each matrix, or for each row and column."""

    class Scaled(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("weight", torch.randn(16, 32).to(torch.float8_e4m3fn))
            self.register_buffer("scale", torch.rand(1, 16) + 0.5)
            self.register_buffer("bias", torch.randn(16))

        def forward(self, x: Tensor):
            scale = x.abs().amax(-1, keepdim=True) / 448
            rows, whole = (x / scale).to(torch.float8_e4m3fn), torch.tensor(0.5)
            turned = self.weight.t()
            return (torch._scaled_mm(rows, turned, scale, self.scale, out_dtype=torch.float32),
                    torch._scaled_mm(rows, turned, whole, whole, bias=self.bias, out_dtype=torch.float32))

    return Program(Scaled(), inputs=[(torch.randn(16, 32),), (torch.randn(48, 32),)], dynamic=(BATCH,))
