"""Higher-order operators: each as torch.export writes it."""
import functools

import torch
from torch import Tensor, nn
from torch._higher_order_ops import associative_scan, map as map_rows, scan, while_loop
from torch._higher_order_ops.associative_scan import associative_scan_op
from torch._higher_order_ops.out_dtype import out_dtype as with_dtype
from torch._higher_order_ops.strict_mode import strict_mode as strictly
from torch.utils.checkpoint import checkpoint as recomputed

from exported import AUTO, BATCH, Program, of, program

LIBRARY = torch.library.Library("exported_lib", "DEF")
LIBRARY.define("add_one_(Tensor(a!) x) -> ()")
LIBRARY.impl("add_one_", lambda x: (x.add_(1), None)[1], "CompositeExplicitAutograd")
LIBRARY.define("fill_pair(Tensor x, Tensor(a!) sum, Tensor(b!) product) -> Tensor")
LIBRARY.impl("fill_pair", lambda x, s, p: (s.copy_(x + x), p.copy_(x * x), x - 1)[2], "CompositeExplicitAutograd")
LIBRARY.impl("fill_pair", lambda x, s, p: torch.empty_like(x), "Meta")


def rows(*sizes: int) -> tuple:
    """Inputs of one tensor, of several sizes."""
    return tuple((torch.randn(size, 4),) for size in sizes)


# ------------------------------------------------------------------------------------------------ cond

@program
def cond_tensor() -> Program:
    def forward(x: Tensor):
        return torch.cond(x.sum() > 0, lambda x: x.sin() + 1, lambda x: x.cos() * 2, (x,))
    return of(forward, (torch.ones(3, 4),), (-torch.ones(5, 4),), (torch.randn(2, 4),), dynamic=(BATCH,))


@program
def cond_weights() -> Program:
    """The branches read parameters, which are lifted to operands."""

    class Branches(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = nn.Linear(4, 3), nn.Linear(4, 3)

        def forward(self, x: Tensor):
            return torch.cond(x.mean() > 0, lambda x: self.first(x), lambda x: self.second(x).relu(), (x,))

    return Program(Branches(), inputs=[(torch.ones(3, 4),), (-torch.ones(5, 4),)], dynamic=(BATCH,))


@program
def cond_nested() -> Program:
    def forward(x: Tensor, flag: Tensor):
        def inner(x):
            return torch.cond(x.max() > 1, lambda x: x - 1, lambda x: x + 1, (x,))
        return torch.cond(flag, inner, lambda x: -x, (x,)) * 2
    return of(forward, (torch.ones(3, 4) * 2, torch.tensor(True)), (torch.zeros(2, 4), torch.tensor(True)), (torch.ones(5, 4), torch.tensor(False)),
              dynamic=(BATCH, None))


@program
def cond_size() -> Program:
    """The condition is a dimension's."""
    def forward(x: Tensor):
        return torch.cond(x.size(0) > 4, lambda x: x + 1, lambda x: x - 1, (x,))
    return of(forward, *rows(3, 4, 5, 9), dynamic=(BATCH,))


@program
def cond_several_results() -> Program:
    def forward(x: Tensor, y: Tensor):
        first, second = torch.cond(x.sum() > y.sum(), lambda x, y: (x + y, x.sum(0)), lambda x, y: (x * y, y.sum(0)), (x, y))
        return first, second, x.sum(0)
    return of(forward, (torch.ones(3, 4), torch.zeros(3, 4)), (torch.zeros(5, 4), torch.ones(5, 4)), dynamic=(BATCH, BATCH))


@program
def cond_without_operands() -> Program:
    def forward(x: Tensor):
        return x + torch.cond(x.sum() > 0, lambda: torch.ones(4), lambda: torch.zeros(4), ())
    return of(forward, (torch.ones(3, 4),), (-torch.ones(3, 4),))


@program
def cond_core() -> Program:
    made = cond_weights()
    made.core = True
    return made


# ------------------------------------------------------------------------------------------------ while_loop

@program
def while_halves() -> Program:
    def forward(x: Tensor):
        return while_loop(lambda i, x: (x.abs().max() > 1) & (i < 20), lambda i, x: (i + 1, x / 2), (torch.tensor(0), x))
    return of(forward, (torch.randn(3, 4) * 9,), (torch.randn(5, 4) * 0.1,), (torch.full((2, 4), 1e9),), dynamic=(BATCH,))


@program
def while_weights() -> Program:
    class Steps(nn.Module):
        def __init__(self):
            super().__init__()
            self.step = nn.Linear(4, 4)

        def forward(self, n: Tensor, x: Tensor):
            count, x = while_loop(lambda i, x: i > 0, lambda i, x: (i - 1, torch.tanh(self.step(x))), (n, x))
            return x, count

    return Program(Steps(), inputs=[(torch.tensor(3), torch.randn(2, 4)), (torch.tensor(0), torch.randn(5, 4))], dynamic=(None, BATCH))


@program
def while_nested() -> Program:
    def forward(x: Tensor):
        def body(i, x):
            _, x = while_loop(lambda j, x: j < i, lambda j, x: (j + 1, x + j), (torch.zeros_like(i), x))
            return i + 1, x
        return while_loop(lambda i, x: i < 4, body, (torch.tensor(0), x))[1]
    return of(forward, *rows(3, 6), dynamic=(BATCH,))


# ------------------------------------------------------------------------------------------------ scan, map, associative_scan

@program
def scan_sums() -> Program:
    def forward(init: Tensor, xs: Tensor):
        return scan(lambda total, x: (total + x, total * x), init, xs)
    return of(forward, (torch.zeros(4), torch.randn(3, 4)), (torch.ones(4), torch.randn(7, 4)), dynamic=(None, BATCH))


@program
def scan_reversed() -> Program:
    def forward(init: Tensor, xs: Tensor):
        return scan(lambda total, x: (total + x, total.clone()), init, xs, dim=1, reverse=True)
    return of(forward, (torch.zeros(4), torch.randn(4, 3)), (torch.ones(4), torch.randn(4, 6)), dynamic=(None, {1: AUTO}))


@program
def scan_recurrent() -> Program:
    """A cell with weights, two states and two results a step."""

    class Recurrent(nn.Module):
        def __init__(self):
            super().__init__()
            self.cell = nn.LSTMCell(4, 3)

        def forward(self, x: Tensor):
            def step(state, x):
                h, c = self.cell(x, state)
                return (h, c), (h.clone(), c.clone())
            zeros = torch.zeros(x.size(1), 3)
            return scan(step, (zeros, zeros.clone()), x)

    return Program(Recurrent(), inputs=[(torch.randn(3, 2, 4),), (torch.randn(6, 2, 4),)], dynamic=(BATCH,))


@program
def map_each() -> Program:
    def forward(xs: Tensor, y: Tensor):
        return map_rows(lambda x, y: x.sum() + y, xs, y)
    return of(forward, (torch.randn(3, 4), torch.randn(2)), (torch.randn(6, 4), torch.randn(2)), dynamic=(BATCH, None))


@program
def map_pairs() -> Program:
    def forward(xs: Tensor, ys: Tensor):
        return map_rows(lambda pair, by: (pair[0] * by, pair[1] + by), (xs, ys), torch.tensor(2.0))
    return of(forward, (torch.randn(3, 4), torch.randn(3)), (torch.randn(5, 4), torch.randn(5)), dynamic=(BATCH, BATCH))


@program
def associative_pointwise() -> Program:
    """The operator itself: the function around it takes this mode on GPUs only."""
    def forward(x: Tensor):
        return associative_scan_op(lambda a, b: [a * b], [x], ())[0]
    return of(forward, *rows(4, 4))


@program
def associative_generic() -> Program:
    def forward(x: Tensor):
        return associative_scan(lambda a, b: a * b + 1, x, 1, combine_mode="generic")
    return of(forward, *rows(3, 3))


# ------------------------------------------------------------------------------------------------ wrappers

@program
def no_grad_region() -> Program:
    class Partly(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = nn.Linear(4, 4), nn.Linear(4, 2)

        def forward(self, x: Tensor):
            y = self.first(x)
            with torch.no_grad():
                z = y.sin() + 1
                w = z * y
            return self.second(w) + z.sum(), w

    return Program(Partly(), inputs=list(rows(3, 5)), dynamic=(BATCH,))


@program
def no_grad_nested() -> Program:
    def forward(x: Tensor):
        with torch.no_grad():
            y = x + 1
            with torch.enable_grad():
                z = y * 2
            y = y - z
        return y + z
    return of(forward, *rows(3, 5), dynamic=(BATCH,))


class HalfRegion(nn.Module):
    """Matrix products in lower precision; what softmax and exp give stays float32."""

    def __init__(self, dtype: torch.dtype, enabled: bool = True):
        super().__init__()
        self.dtype, self.enabled = dtype, enabled
        self.first, self.second = nn.Linear(4, 8), nn.Linear(8, 3)

    def forward(self, x: Tensor):
        with torch.autocast("cpu", self.dtype, enabled=self.enabled):
            y = self.first(x).relu()
            z = torch.softmax(self.second(y), -1)
        return (z + 1).float(), y.float()


@program
def autocast_bfloat16() -> Program:
    return Program(HalfRegion(torch.bfloat16), inputs=list(rows(3, 5)), dynamic=(BATCH,))


@program
def autocast_float16() -> Program:
    return Program(HalfRegion(torch.float16), inputs=list(rows(3, 5)), dynamic=(BATCH,))


@program
def autocast_core() -> Program:
    return Program(HalfRegion(torch.bfloat16), inputs=list(rows(3, 5)), dynamic=(BATCH,), core=True)


@program
def autocast_off() -> Program:
    return Program(HalfRegion(torch.bfloat16, enabled=False), inputs=list(rows(3, 5)), dynamic=(BATCH,))


@program
def autocast_norms() -> Program:
    """Normalizations of halves with weights in single precision, which autocast leaves as they are."""

    class Norms(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer, self.rms, self.linear = nn.LayerNorm(8), nn.RMSNorm(8), nn.Linear(8, 8)
            self.group, self.batch, self.instance = nn.GroupNorm(2, 4), nn.BatchNorm1d(4), nn.InstanceNorm1d(4, affine=True)
            for weight in (p for norm in (self.layer, self.rms, self.group, self.batch, self.instance) for p in norm.parameters()):
                nn.init.normal_(weight)
            self.batch.running_mean.normal_()

        def forward(self, x: Tensor):
            with torch.autocast("cpu", torch.bfloat16):
                y = self.linear(x)
                of_halves = [norm(y) for norm in (self.layer, self.rms, self.group, self.batch, self.instance)]
                of_singles = [norm(x) for norm in (self.layer, self.rms, self.group, self.batch, self.instance)]
            return *[y.float() for y in of_halves], *of_singles

    return Program(Norms(), inputs=[(torch.randn(n, 4, 8),) for n in (3, 5)], dynamic=(BATCH,))


@program
def autocast_nested_off() -> Program:
    class Nested(nn.Module):
        def forward(self, x: Tensor, w: Tensor):
            with torch.autocast("cpu", torch.bfloat16):
                y = x @ w
                with torch.autocast("cpu", enabled=False):
                    z = x @ w
                return y.float() + z, torch.cat([y.float(), z])

    return Program(Nested(), inputs=[(torch.randn(3, 4), torch.randn(4, 4)), (torch.randn(5, 4), torch.randn(4, 4))], dynamic=(BATCH, None))


@program
def hints() -> Program:
    from torch._higher_order_ops.hints_wrap import hints_wrapper

    def forward(x: Tensor, y: Tensor):
        def body(x, y):
            return torch.relu(x) + y
        return hints_wrapper(body, (x, y), {}, hints={"priority": "high"}) * 2
    return of(forward, (torch.randn(3, 4), torch.randn(3, 4)), (torch.randn(3, 4), torch.randn(3, 4)), strict=True)


@torch.compiler.nested_compile_region
def layer_region(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    return torch.tanh(torch.nn.functional.linear(x, weight, bias))


@program
def nested_region() -> Program:
    """One region called twice; each call repeats its graph."""

    class Regions(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(4, 4)

        def forward(self, x: Tensor):
            weight, bias = self.layer.weight, self.layer.bias
            return layer_region(layer_region(x, weight, bias), weight, bias) + x

    return Program(Regions(), inputs=list(rows(3, 5)), dynamic=(BATCH,))


@program
def nested_region_core() -> Program:
    made = nested_region()
    made.core = True
    return made


@program
def strict_region() -> Program:
    def forward(x: Tensor):
        return strictly(lambda x: (x + 1).relu(), (x,)) * 2
    return of(forward, *rows(3, 3))


@program
def checkpointed() -> Program:
    class Checkpointed(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(4, 4)

        def forward(self, x: Tensor):
            return recomputed(lambda x: self.layer(x).relu(), x, use_reentrant=False) + 1

    return Program(Checkpointed(), inputs=list(rows(3, 5)), dynamic=(BATCH,))


@program
def own_gradient() -> Program:
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    def forward(x: Tensor):
        return Double.apply(x) + 1
    return of(forward, *rows(3, 5), dynamic=(BATCH,))


@program
def integer_product() -> Program:
    def forward(x: Tensor, w: Tensor):
        return with_dtype(torch.ops.aten.mm.default, torch.int32, x, w)
    return of(forward, *[(torch.randint(-128, 127, (3, 4), dtype=torch.int8), torch.randint(-128, 127, (4, 5), dtype=torch.int8)) for _ in range(2)])


@program
def prints() -> Program:
    def forward(x: Tensor):
        torch._higher_order_ops.print("x has {} rows", x.size(0))
        return x + 1
    return of(forward, *rows(3, 5), dynamic=(BATCH,))


@program
def prints_with_token() -> Program:
    made = prints()
    made.core = True
    return made


@program
def foreach() -> Program:
    def forward(x: Tensor, y: Tensor):
        return torch._foreach_add([x, y], 1.5)
    return of(forward, *[(torch.randn(3, 4), torch.randn(2)) for _ in range(2)])


@program
def foreach_chain() -> Program:
    def forward(x: Tensor, y: Tensor):
        made = torch._foreach_addcmul(torch._foreach_exp([x, y]), [x, y], [y.sum() + x, y], [0.5, 2.0])
        torch._foreach_mul_(made, torch._foreach_norm([x, y]))
        torch._foreach_maximum_(made, 0.1)
        return made
    return of(forward, *[(torch.randn(n, 4), torch.randn(2)) for n in (3, 5)], dynamic=(BATCH, None))


@program
def batched() -> Program:
    """torch.vmap in a training file: a region of hidden batch dimensions."""
    def forward(x: Tensor, y: Tensor):
        return torch.vmap(lambda a, b: (a * b).sum())(x, y)
    return of(forward, *[(torch.randn(3, 4), torch.randn(3, 4)) for _ in range(2)])


@program
def batched_core() -> Program:
    made = batched()
    made.core = True
    return made


# ------------------------------------------------------------------------------------------------ operators that write

@program
def custom_write() -> Program:
    """An operator of a library that writes to its argument."""
    def forward(x: Tensor):
        y = x.clone()
        torch.ops.exported_lib.add_one_(y)
        return y * 2
    return of(forward, *rows(3, 3))


@program
def custom_write_core() -> Program:
    """The same as auto_functionalized_v2."""
    made = custom_write()
    made.core = True
    return made


@program
def custom_writes_core() -> Program:
    def forward(x: Tensor):
        total, product = torch.empty_like(x), torch.empty_like(x)
        rest = torch.ops.exported_lib.fill_pair(x, total, product)
        return total, product, rest
    return of(forward, *rows(3, 3), core=True)


@program
def autocast_strict() -> Program:
    return Program(HalfRegion(torch.bfloat16), inputs=list(rows(3, 5)), dynamic=(BATCH,), strict=True)


@program
def linear_cross_entropy_chunks() -> Program:
    """PyTorch's own operators written in Python, one for each kind of reduction. Rows that are ignored keep NaN."""
    from torch.nn.modules.linear_cross_entropy_options import LinearCrossEntropyOptions
    chunks = LinearCrossEntropyOptions(batch_chunk_size=2, chunking_method=None)
    layer, bias, classes = torch.randn(5, 4), torch.randn(5), torch.rand(5)

    def forward(x: Tensor, target: Tensor):
        loss = functools.partial(nn.functional.linear_cross_entropy, options=chunks)
        return (loss(x, layer, target), loss(x, layer, target, reduction="sum", linear_bias=bias, weight=classes),
                loss(x, layer, target, reduction="none", linear_bias=bias, weight=classes), loss(x, layer, target * 0 + 1, ignore_index=1))
    targets = torch.tensor([0, 4, -100, 2, 1])
    special = torch.randn(5, 4)
    special[2] = torch.nan
    return of(forward, (torch.randn(5, 4), targets), (special, targets))


@program
def prims_core() -> Program:
    """Decompositions leave prims::scalar_tensor and prims::copy_strided."""
    def forward(x: Tensor):
        return torch.xlogy(2.0, x.abs()), torch.lerp(x.t(), x.t() * 2, 0.3)
    return of(forward, *rows(3, 5), dynamic=(BATCH,), core=True)
