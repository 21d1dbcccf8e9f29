"""Dynamic dimensions: arithmetic on them, dimensions derived from others, guards, and sizes that follow from data."""
import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.export import Dim

from exported import AUTO, BATCH, Program, of, program


def rows(*sizes: int, columns: int = 4) -> tuple:
    return tuple((torch.randn(size, columns),) for size in sizes)


def images(*sizes: tuple) -> tuple:
    return tuple((torch.randn(size),) for size in sizes)


# ------------------------------------------------------------------------------------------------ arithmetic

@program
def powers_of_sizes() -> Program:
    def forward(x):
        n = x.shape[0]
        return torch.arange(n ** 2), x * n ** -1, torch.full((2,), n ** 0.5), torch.full((2,), 2 ** n)
    return of(forward, *rows(3, 5), dynamic=(BATCH,))


@program
def size_arithmetic() -> Program:
    def forward(x: Tensor):
        n, m = x.shape
        return x.new_zeros(2 * n + 1, m // 2), torch.arange(n * m), x.new_ones((n + 3) // 2), x.new_full((max(n, 3),), 1.0)
    return of(forward, *rows(6, 8, 2), dynamic=({0: AUTO, 1: AUTO},))


@program
def size_views() -> Program:
    def forward(x: Tensor):
        n, m = x.shape
        return x.view(-1), x.reshape(m, n), x.view(n, 2, -1), x.unsqueeze(1).expand(n, 3, m).reshape(n * 3, m)
    return of(forward, *rows(3, 5), dynamic=({0: AUTO, 1: AUTO},))


@program
def size_slices() -> Program:
    def forward(x: Tensor):
        n = x.size(0)
        return x[: n // 2], x[n // 2:], x[n - 2:], x[:-1], x[1::2], x.narrow(0, 1, n - 1)
    return of(forward, *rows(6, 7, 9), dynamic=(BATCH,))


@program
def size_outputs() -> Program:
    """Numbers among the outputs follow from sizes."""
    def forward(x: Tensor):
        return x * x.size(0), x.size(0), x.size(0) * 2 + 1, x.numel()
    return of(forward, *rows(3, 5), dynamic=(BATCH,))


@program
def size_as_value() -> Program:
    def forward(x: Tensor):
        n = x.size(0)
        return x / n, x + n ** 2, x * (n / 4), x.sum(0) * math.trunc(n / 2), torch.full((2,), n), x - torch.sym_float(n)
    return of(forward, *rows(4, 7), dynamic=(BATCH,))


@program
def size_modulo() -> Program:
    """Pads to the next multiple of 4."""
    def forward(x: Tensor):
        return F.pad(x, (0, 0, 0, (4 - x.size(0) % 4) % 4)).view(-1, 4, x.size(1))
    return of(forward, *rows(6, 7, 8, 9), dynamic=(BATCH,))


@program
def sizes_joined() -> Program:
    def forward(x: Tensor, y: Tensor):
        z = torch.cat([x, y, x[:1]])
        return z, z.sum(0), torch.stack([x, x]).flatten(0, 1), z[: x.size(0)] + x
    return of(forward, (torch.randn(3, 4), torch.randn(2, 4)), (torch.randn(5, 4), torch.randn(7, 4)), dynamic=(BATCH, BATCH))


@program
def sizes_min_max() -> Program:
    def forward(x: Tensor, y: Tensor):
        n = min(x.size(0), y.size(0))
        return x[:n] + y[:n], x.new_zeros(torch.sym_max(x.size(0), y.size(0)))
    return of(forward, (torch.randn(3, 4), torch.randn(5, 4)), (torch.randn(4, 4), torch.randn(6, 4)), dynamic=(BATCH, BATCH))


@program
def size_choice() -> Program:
    def forward(x: Tensor):
        n = x.size(0)
        return x.new_zeros(torch.sym_ite(n > 4, n * 2, n + 1)) + torch.sym_float(n)
    return of(forward, *rows(3, 4, 5), dynamic=(BATCH,))


@program
def convolved() -> Program:
    class Convolved(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.Sequential(nn.Conv2d(2, 3, 3, 2, 1), nn.ReLU(), nn.MaxPool2d(2, ceil_mode=True), nn.ConvTranspose2d(3, 2, 3, 2, 1))

        def forward(self, x: Tensor):
            return self.layers(x), F.adaptive_avg_pool2d(x, 1), F.avg_pool2d(x, 2)

    return Program(Convolved(), inputs=list(images((2, 2, 16, 16), (3, 2, 21, 18), (2, 2, 33, 40))), dynamic=({0: AUTO, 2: AUTO, 3: AUTO},))


@program
def resized() -> Program:
    def forward(x: Tensor):
        half = F.interpolate(x, scale_factor=0.5, mode="nearest")
        return half, F.interpolate(half, size=x.shape[-2:], mode="bilinear"), F.interpolate(x, scale_factor=2.0, mode="bilinear", align_corners=True)
    return of(forward, *images((2, 2, 8, 8), (3, 2, 12, 10)), dynamic=({0: AUTO, 2: AUTO, 3: AUTO},))


@program
def attended() -> Program:
    """Batch and sequence: heads, a causal mask, positions."""

    class Attended(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.positions = nn.Embedding(50, 8), nn.Embedding(32, 8)
            self.qkv, self.out = nn.Linear(8, 24), nn.Linear(8, 8)

        def forward(self, ids: Tensor):
            b, n = ids.shape
            x = self.embed(ids) + self.positions(torch.arange(n, device=ids.device))
            q, k, v = self.qkv(x).view(b, n, 3, 2, 4).permute(2, 0, 3, 1, 4)
            mask = torch.ones(n, n, dtype=torch.bool).tril()
            y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
            z = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            return self.out((y + z).transpose(1, 2).reshape(b, n, 8))

    ids = [(torch.randint(0, 50, size),) for size in ((2, 5), (3, 9), (4, 2))]
    return Program(Attended(), inputs=ids, dynamic=({0: Dim("batch"), 1: Dim("sequence", max=32)},))


# ------------------------------------------------------------------------------------------------ dimensions that depend on each other

@program
def equal_dims() -> Program:
    batch = Dim("batch")
    def forward(x: Tensor, y: Tensor):
        return x + y, x @ y.t()
    return of(forward, (torch.randn(3, 4), torch.randn(3, 4)), (torch.randn(5, 4), torch.randn(5, 4)), dynamic=({0: batch}, {0: batch}))


@program
def equal_by_guard() -> Program:
    def forward(x: Tensor, y: Tensor):
        return x + y
    return of(forward, (torch.randn(3, 4), torch.randn(3, 4)), (torch.randn(5, 4), torch.randn(5, 4)), dynamic=(BATCH, BATCH))


@program
def derived_double() -> Program:
    half = Dim("half", min=2, max=32)
    def forward(x: Tensor):
        return x.view(-1, 2, x.size(1)).sum(1), x[::2] * x[1::2]
    return of(forward, *rows(6, 10, 4), dynamic=({0: 2 * half},))


@program
def derived_next() -> Program:
    n = Dim("n", min=3, max=64)
    def forward(x: Tensor, y: Tensor):
        return x[1:] + y
    return of(forward, (torch.randn(6, 4), torch.randn(5, 4)), (torch.randn(9, 4), torch.randn(8, 4)), dynamic=({0: n + 1}, {0: n}))


@program
def ranged() -> Program:
    def forward(x: Tensor):
        return x[:4] + x[-4:]
    return of(forward, *rows(6, 9), dynamic=({0: Dim("n", min=5, max=12)},))


# ------------------------------------------------------------------------------------------------ guards

@program
def baked_half() -> Program:
    """The size is computed in floating point: only a guard says that the dimension is 6."""
    def forward(x: Tensor):
        return x.new_zeros(int(x.size(0) * 0.5)) + 1, x * 2
    return of(forward, *rows(6, 6), dynamic=(BATCH,), refused=list(rows(10, 5)))


@program
def baked_slice() -> Program:
    def forward(x: Tensor):
        return x[: int(x.size(0) * 0.5)]
    return of(forward, *rows(6, 6), dynamic=(BATCH,), refused=list(rows(10, 5)))


@program
def baked_parity() -> Program:
    """The branch of even numbers of rows; an odd number isn't taken."""
    def forward(x: Tensor):
        return x * 2 if x.size(0) % 2 == 0 else x * 0
    return of(forward, *rows(6, 10), dynamic=(BATCH,))


@program
def baked_range() -> Program:
    def forward(x: Tensor):
        return x + 1 if x.size(0) > 4 else x - 1
    return of(forward, *rows(6, 10), dynamic=(BATCH,))


@program
def baked_reshape() -> Program:
    """AUTO gives up: the reshape fixes both sizes."""
    def forward(x: Tensor):
        return x.reshape(2, 3, 4)
    return of(forward, *rows(6, 6), dynamic=({0: AUTO, 1: AUTO},), refused=list(rows(4, 12)))


@program
def checked() -> Program:
    def forward(x: Tensor):
        torch._check(x.size(0) < 100)
        assert x.size(1) == 4
        return x.sum(0)
    return of(forward, *rows(6, 10), dynamic=(BATCH,))


# ------------------------------------------------------------------------------------------------ sizes from data

def marked(*counts: int) -> tuple:
    """Inputs of six numbers, so many of which are above 0."""
    return tuple((torch.cat([torch.rand(count) + 0.1, -torch.rand(6 - count)]),) for count in counts)


@program
def positions_of() -> Program:
    def forward(x: Tensor):
        found = (x > 0).nonzero()
        return found, found.squeeze(1) * 2, x[found.squeeze(1)]
    return of(forward, *marked(3, 5, 0))


@program
def selected() -> Program:
    def forward(x: Tensor):
        kept = x[x > 0]
        return kept, kept.sum(), torch.masked_select(x, x < 0) + 1
    return of(forward, *marked(3, 5, 1))


@program
def distinct() -> Program:
    def forward(x: Tensor):
        values, inverse, counts = torch.unique(x, return_inverse=True, return_counts=True)
        return values, inverse, counts, values.size(0)
    return of(forward, (torch.tensor([3, 1, 3, 2]),), (torch.tensor([5, 5, 5, 5]),))


@program
def repeated() -> Program:
    def forward(x: Tensor, counts: Tensor):
        return x.repeat_interleave(counts, dim=0)
    return of(forward, (torch.randn(3, 2), torch.tensor([1, 2, 0])), (torch.randn(3, 2), torch.tensor([4, 0, 1])))


@program
def item_as_size() -> Program:
    def forward(x: Tensor, n: Tensor):
        k = n.item()
        torch._check(k >= 0)
        torch._check(k <= 12)
        return x.new_zeros(k), x[:k], torch.arange(k) + 1, x.sum() * k
    return of(forward, (torch.randn(6), torch.tensor(3)), (torch.randn(6), torch.tensor(12)), (torch.randn(6), torch.tensor(0)))


@program
def item_as_number() -> Program:
    def forward(x: Tensor, a: Tensor, b: Tensor):
        return x * a.item() + 1, x + b.item()
    return of(forward, (torch.randn(3), torch.tensor(2.5), torch.tensor(4)), (torch.randn(3), torch.tensor(-1.0), torch.tensor(0)))


@program
def item_as_index() -> Program:
    def forward(x: Tensor, i: Tensor):
        k = i.item()
        torch._check(k >= 0)
        torch._check(k < x.size(0))
        return x.select(0, k), x.narrow(0, k, 1)
    return of(forward, (torch.randn(4, 3), torch.tensor(2)), (torch.randn(4, 3), torch.tensor(0)))


@program
def listed() -> Program:
    def forward(sizes: Tensor):
        a, b = sizes.tolist()
        torch._check(a >= 2)
        torch._check(b >= 2)
        return torch.zeros(a, b) + a
    return of(forward, (torch.tensor([2, 3]),), (torch.tensor([4, 5]),))


@program
def stated_sizes() -> Program:
    """The number of heads, which -1 stands for, follows from a length that is a quotient. The file states it."""

    class Encoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv, self.query, self.key = nn.Conv1d(1, 64, 64, stride=32), nn.Linear(64, 64), nn.Linear(64, 32)

        def forward(self, x: Tensor):
            short = x.shape[-1] // 32 * 32 + 64 - x.shape[-1]
            hidden = self.conv(F.pad(x.unsqueeze(1), (0, short))).transpose(1, 2)
            heads = lambda y: y.view(*hidden.shape[:-1], -1, 16).transpose(1, 2)
            keys = heads(self.key(hidden))
            return F.scaled_dot_product_attention(heads(self.query(hidden)), keys, keys, enable_gqa=True)

    inputs = [(torch.randn(2, 320),), (torch.randn(3, 500),), (torch.randn(1, 33),)]
    return Program(Encoder(), inputs=inputs, dynamic=({0: AUTO, 1: AUTO},))


@program
def channels_last_pool_core() -> Program:
    """A pool of a channels-last tensor ends with as_strided, which gives the mean the layout that it has."""
    def forward(x: Tensor):
        images = x.permute(0, 3, 1, 2)
        y = F.adaptive_avg_pool2d(images * 2, 1)
        return y, y.flatten(1), F.adaptive_avg_pool2d(F.layer_norm(x, (4,)).permute(0, 3, 1, 2), 1).mT
    return of(forward, (torch.randn(2, 5, 5, 4),), (torch.randn(3, 5, 5, 4),), dynamic=(BATCH,), core=True)


@program
def strided_rows() -> Program:
    def forward(x: Tensor):
        return (x * 2).as_strided((x.shape[0], 3), (9, 1)), (x + 1).as_strided((x.shape[0], 2), (9, 3), 1)
    return of(forward, (torch.randn(4, 3, 3),), (torch.randn(7, 3, 3),), (torch.randn(2, 3, 3),), dynamic=(BATCH,))


# ------------------------------------------------------------------------------------------------ numbers as inputs

@program
def number_input() -> Program:
    def forward(x: Tensor, n: int):
        return x * n, x.new_zeros(n), x[:n]
    return of(forward, (torch.randn(8), 3), (torch.randn(8), 5), dynamic=(None, AUTO))


@program
def numbers_fixed() -> Program:
    def forward(x: Tensor, n: int, scale: float, flag: bool, mode: str):
        return (x * n if flag else x) * scale, len(mode)
    inputs = (2, 0.5, True, "same")
    return of(forward, (torch.randn(4), *inputs), (torch.randn(4), *inputs))
