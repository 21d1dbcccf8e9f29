"""Inputs and outputs: nested, absent, constant, twice the same, written."""
import collections
import dataclasses
from typing import NamedTuple, Optional

import torch
from torch import Tensor, nn

from exported import AUTO, BATCH, Keywords, Program, of, program


def rows(*sizes: int) -> list:
    return [(torch.randn(size, 4),) for size in sizes]


class Pair(NamedTuple):
    first: Tensor
    second: Tensor


torch.utils._pytree._register_namedtuple(Pair, serialized_type_name="tests.Pair")


@dataclasses.dataclass
class Settings:
    value: Tensor
    scale: float


torch.export.register_dataclass(Settings, serialized_type_name="tests.Settings")


# ------------------------------------------------------------------------------------------------ structures

@program
def nested_inputs() -> Program:
    def forward(pair, named, items):
        return pair[0] + named["bias"], named["more"]["scale"] * pair[1], items[0] - items[1]

    def inputs(n):
        return ((torch.randn(n, 4), torch.randn(n, 4)), {"bias": torch.randn(4), "more": {"scale": torch.randn(1)}}, [torch.randn(n), torch.randn(n)])
    return of(forward, inputs(3), inputs(5), dynamic=((BATCH, BATCH), {"bias": None, "more": {"scale": None}}, [BATCH, BATCH]))


@program
def keys_in_odd_order() -> Program:
    """Dictionaries keep the caller's order of keys."""
    def forward(named):
        return named["z"] - named["a"], {"y": named["m"] + 1, "b": named["a"]}

    def inputs():
        return {"z": torch.randn(3), "a": torch.randn(3), "m": torch.randn(3)}
    return of(forward, (inputs(),), (inputs(),))


@program
def tuples_with_names() -> Program:
    def forward(pair):
        return Pair(pair.first + pair.second, pair.first * pair.second)
    return of(forward, (Pair(torch.randn(3, 4), torch.randn(3, 4)),), (Pair(torch.randn(5, 4), torch.randn(5, 4)),), dynamic=(Pair(BATCH, BATCH),))


@program
def data_classes() -> Program:
    def forward(settings):
        return Settings(settings.value * settings.scale, 2.0)
    return of(forward, (Settings(torch.randn(3), 0.5),), (Settings(torch.randn(3), 0.5),))


@program
def ordered_dictionary() -> Program:
    def forward(x):
        return collections.OrderedDict([("z", x + 1), ("a", [x - 1, (x * 2,)])])
    return of(forward, *rows(3, 5), dynamic=(BATCH,))


@program
def keywords() -> Program:
    def forward(x: Tensor, *, mask: Optional[Tensor] = None, scale: Tensor):
        return x * scale if mask is None else x * scale * mask

    def inputs(n):
        return torch.randn(n, 4), Keywords(scale=torch.randn(4), mask=torch.rand(n, 4))
    return of(forward, inputs(3), inputs(5), dynamic={"x": BATCH, "scale": None, "mask": BATCH})


@program
def any_arguments() -> Program:
    def forward(*parts: Tensor, **more: Tensor):
        return parts[0] + parts[1], more["p"] - more["q"]

    def inputs():
        return torch.randn(3), torch.randn(3), Keywords(p=torch.randn(2), q=torch.randn(2))
    return of(forward, inputs(), inputs())


@program
def deep_names() -> Program:
    """Names that collide once dots are underscores."""
    def forward(a, a_b):
        return a["b"] + a_b * 2
    return of(forward, ({"b": torch.randn(3)}, torch.randn(3)), ({"b": torch.randn(3)}, torch.randn(3)))


@program
def writes_after_to() -> Program:
    """x.to(dtype) is x itself where it has that dtype, and a copy else."""
    def forward(x, mask):
        same = x.to(torch.float32)
        same += 1
        other = x.to(torch.float64)
        other.mul_(3)
        forced = x.to(torch.float32, copy=True)
        forced.sub_(2)
        flags = mask.to(torch.bool)
        kept = x.type(torch.float32).clone()
        kept.to("cpu").masked_fill_(flags, -1.0)
        return x * 2, other, forced, kept, same.to(x)
    return of(forward, *[(torch.randn(n, 4), torch.randint(0, 2, (n, 4))) for n in (3, 5)], dynamic=(BATCH, BATCH))


# ------------------------------------------------------------------------------------------------ absent and constant

@program
def none_inputs() -> Program:
    def forward(x, mask, y):
        return x + y if mask is None else x * mask
    return of(forward, (torch.randn(3), None, torch.randn(3)), (torch.randn(3), None, torch.randn(3)))


@program
def none_outputs() -> Program:
    def forward(x):
        return x + 1, None, {"a": None, "b": x * 2}
    return of(forward, *rows(3, 5), dynamic=(BATCH,))


@program
def constant_inputs() -> Program:
    def forward(x, times: int, flag: bool, word: str, scale: float):
        return x * times * scale if flag and word == "go" else x
    return of(forward, *[(torch.randn(3), 3, True, "go", 1.5) for _ in range(2)])


@program
def constant_outputs() -> Program:
    def forward(x):
        return x + 1, 3, True, 2.5
    return of(forward, *rows(3, 5), dynamic=(BATCH,))


@program
def constant_tensor_outputs() -> Program:
    def forward(x):
        return torch.arange(4), x.sum(), torch.tensor([1.5, 2.5])
    return of(forward, *rows(3, 5), dynamic=(BATCH,))


@program
def string_output() -> Program:
    def forward(x):
        return x + 1, "done"
    return of(forward, *rows(3, 3))


@program
def no_inputs() -> Program:
    class Alone(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.randn(3))

        def forward(self):
            return self.weight * 2

    return Program(Alone(), inputs=[(), ()])


@program
def unread_input() -> Program:
    def forward(x, unread, y):
        return x - y
    return of(forward, *[(torch.randn(3), torch.randn(2), torch.randn(3)) for _ in range(2)])


# ------------------------------------------------------------------------------------------------ the same again

@program
def same_output_twice() -> Program:
    def forward(x):
        y = x + 1
        return y, y, [y]
    return of(forward, *rows(3, 5), dynamic=(BATCH,))


@program
def input_as_output() -> Program:
    def forward(x, y):
        return x, x + y, y
    return of(forward, *[(torch.randn(n, 4), torch.randn(n, 4)) for n in (3, 5)], dynamic=(BATCH, BATCH))


@program
def only_input_as_output() -> Program:
    def forward(x):
        return x
    return of(forward, *rows(3, 5), dynamic=(BATCH,))


@program
def weights_as_outputs() -> Program:
    class Given(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.randn(3, 4))
            self.register_buffer("table", torch.arange(6.0))

        def forward(self, x: Tensor):
            return x + 1, self.weight, self.table, self.weight

    return Program(Given(), inputs=rows(3, 5), dynamic=(BATCH,))


@program
def views_as_outputs() -> Program:
    def forward(x):
        y = x * 1
        z = y[0]
        y.add_(1)
        return y, z, y.t(), x[:, 1]
    return of(forward, *rows(3, 5), dynamic=(BATCH,))


@program
def one_input_for_two() -> Program:
    """The example gave one tensor for both: the file merges them."""
    def forward(a, b):
        return a - b * 2
    x = torch.randn(3)
    return of(forward, (x, x), (y := torch.randn(3), y))


# ------------------------------------------------------------------------------------------------ writes

class Counter(nn.Module):
    """Each call sees what the last one wrote."""

    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.zeros(1))

    def forward(self, x: Tensor):
        self.count.add_(1)
        return x + self.count


@program
def counter() -> Program:
    return Program(Counter(), inputs=rows(3, 5), dynamic=(BATCH,))


@program
def counter_core() -> Program:
    return Program(Counter(), inputs=rows(3, 5), dynamic=(BATCH,), core=True)


class Unread(nn.Module):
    """The count is written, and nobody reads it."""

    def __init__(self):
        super().__init__()
        self.register_buffer("calls", torch.zeros(1, dtype=torch.long))

    def forward(self, x: Tensor):
        self.calls.add_(1)
        return x * 2


@program
def unread_counter() -> Program:
    return Program(Unread(), inputs=rows(3, 5), dynamic=(BATCH,))


@program
def unread_counter_core() -> Program:
    return Program(Unread(), inputs=rows(3, 5), dynamic=(BATCH,), core=True)


class Scratch(nn.Module):
    """Filled by each call before it is read: no state."""

    def __init__(self):
        super().__init__()
        self.register_buffer("scratch", torch.zeros(3, 4))

    def forward(self, x: Tensor):
        self.scratch.copy_(x)
        self.scratch[0].mul_(2)
        return self.scratch.sum(0)


@program
def scratch_buffer() -> Program:
    return Program(Scratch(), inputs=rows(3, 3))


@program
def scratch_buffer_core() -> Program:
    return Program(Scratch(), inputs=rows(3, 3), core=True)


@program
def written_input() -> Program:
    def forward(x, cache):
        cache.add_(x)
        return cache * 2
    return of(forward, *[(torch.randn(3), torch.randn(3)) for _ in range(2)])


@program
def written_input_core() -> Program:
    made = written_input()
    made.core = True
    return made


@program
def writes_through_views() -> Program:
    def forward(x, y):
        x = x.clone()
        x[:, 0].add_(1)
        x[0] = 5.0
        x[1:3, ::2] = y
        x.view(-1)[3:6].mul_(2)
        x.t()[1].zero_()
        x.diagonal().sub_(0.5)
        x[x > 3] = 3.0
        x.clamp_(min=-2.0)
        return x
    return of(forward, *[(torch.randn(n, 6), torch.randn(2, 3)) for n in (4, 7)], dynamic=(BATCH, None))


@program
def writes_core() -> Program:
    made = writes_through_views()
    made.core = True
    return made


class Normed(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4)

    def forward(self, x: Tensor):
        return self.norm(self.conv(x)).relu_()


@program
def norm_in_training() -> Program:
    return Program(Normed(), inputs=[(torch.randn(n, 3, 6, 6),) for n in (2, 3)], dynamic=(BATCH,), train=True)


@program
def norm_in_training_core() -> Program:
    return Program(Normed(), inputs=[(torch.randn(n, 3, 6, 6),) for n in (2, 3)], dynamic=(BATCH,), train=True, core=True)


@program
def norm_core() -> Program:
    return Program(Normed(), inputs=[(torch.randn(n, 3, 6, 6),) for n in (2, 3)], dynamic=(BATCH,), core=True)
