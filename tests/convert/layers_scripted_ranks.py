"""Scripted programs: results whose number of dimensions the way decides, and comparisons of lists."""
from typing import List

import torch
from torch import Tensor

from script_programs import Programs, N3, ROWS, SOME

programs = Programs()
program = programs.add
cases = programs.cases
r = torch.randn
STEPS = [(r(m), torch.tensor(n)) for m, n in ((3, 3), (2, 0), (4, 1), (1, 2))]


@program(STEPS, "f32:m", "i64:scalar")
def ranks_early_return_of_the_sum(x: Tensor, n: Tensor):
    total = torch.zeros(x.size(0))
    rows: List[Tensor] = []
    for i in range(int(n)):
        total = total + x * i
        rows.append(total)
    if int(n) == 0:
        return total
    return torch.stack(rows)


@program(STEPS, "f32:m", "i64:scalar")
def ranks_early_return_of_a_written_sum(x: Tensor, n: Tensor):
    total = torch.zeros(x.size(0))
    rows: List[Tensor] = []
    for i in range(int(n)):
        total += x * i
        rows.append(total.clone())
    if int(n) == 0:
        return total
    return torch.stack(rows)


@program(STEPS, "f32:m", "i64:scalar")
def ranks_loop_begins_with_all_dimensions(x: Tensor, n: Tensor):
    """What the advice for ranks_loop_adds_a_dimension says."""
    total = torch.zeros_like(x)
    for i in range(int(n)):
        total = total + x * i
    return total.sum()


@program(STEPS, "f32:m", "i64:scalar")
def ranks_loop_adds_a_dimension(x: Tensor, n: Tensor):
    total = torch.tensor(0.0)
    for i in range(int(n)):
        total = total + x * i
    return total.softmax(-1).sum()


@program(STEPS, "f32:m", "i64:scalar")
def ranks_dont_matter_to_a_sum(x: Tensor, n: Tensor):
    total = torch.tensor(0.0)
    for i in range(int(n)):
        total = total + x * i
    return total.sum()


@program(STEPS, "f32:m", "i64:scalar")
def ranks_list_keeps_what_is_written(x: Tensor, n: Tensor):
    """Each item of the list is the same tensor, which the loop goes on writing."""
    total = torch.zeros(x.size(0))
    kept: List[Tensor] = []
    for i in range(int(n)):
        total += x * i
        kept.append(total)
    if int(n) == 0:
        return total
    return torch.stack(kept)


COUNTS = [(torch.tensor([n]),) for n in (1, 3, 0, 2)]


@program(COUNTS, "i64:1")
def ranks_squeeze_of_a_computed_size(n: Tensor):
    return torch.zeros(int(n[0]), 4).squeeze(0)


@program(COUNTS, "i64:1")
def ranks_squeeze_of_several_computed_sizes(n: Tensor):
    x = torch.ones(1, int(n[0]), 2, int(n[0]) * 2 - 1 if int(n[0]) > 0 else 0)
    return x.squeeze([0, 1, 3]), x.squeeze([3, 1]) * 2


@program([(torch.tensor(values),) for values in ([1.0, -1.0], [1.0, 2.0], [-1.0, -2.0], [-1.0, 3.0])], "f32:n")
def ranks_squeeze_of_what_is_positive(x: Tensor):
    kept = x[x > 0]
    return kept.squeeze() + 1, kept.unsqueeze(0).squeeze(1)


@program([(r(1, 3, 1), torch.tensor(d)) for d in (0, 1, 2, -1)], "f32:1,3,1", "i64:scalar")
def ranks_squeeze_of_a_computed_dimension(x: Tensor, d: Tensor):
    return x.squeeze(int(d))


@program([(r(2, 3), torch.tensor(n)) for n in (0, 1, 3)], "f32:2,3", "i64:scalar")
def ranks_sizes_in_a_list_of_unknown_length(x: Tensor, n: Tensor):
    sizes: List[int] = []
    for i in range(int(n)):
        sizes.append(1)
    return x.reshape(sizes + [-1]), x.expand(sizes + [2, 3]), torch.ones(sizes + [2])


@program([(r(n, 2),) for n in (1, 3, 0)], "f32:n,2")
def ranks_squeeze_of_a_named_size(x: Tensor):
    return x.squeeze(0)


def integers(*lists):
    return tuple(torch.tensor(each, dtype=torch.int64) for each in lists)


@program([integers([1, 2, 3, 4], [1, 2]), integers([1], [1]), integers([], [1]), integers([1, 2, 2], [1, 2, 2, 2]), integers([], [])],
         "i64:n", "i64:m")
def lists_compared_in_a_loop(x: Tensor, y: Tensor):
    a: List[int] = x.tolist()
    b: List[int] = y.tolist()
    n = 0
    while len(a) > 0 and len(b) > 0 and a != b:
        if a[-1] == b[-1]:
            b.pop()
        a.pop()
        n += 1
    return n, len(a), len(b), a == b, a == [1], [1, 2] != b


@program([tuple(torch.tensor(each, dtype=torch.float64) for each in pair)
          for pair in (([0.5, 1.0], [0.5, 1.0]), ([0.5], [0.5, 1.0]), ([float("nan")], [float("nan")]), ([0.0], [-0.0]), ([1.0, 2.0], [1.0, 2.5]))],
         "f64:n", "f64:m")
def lists_of_floats_compared(x: Tensor, y: Tensor):
    a: List[float] = x.tolist()
    b: List[float] = y.tolist()
    flags: List[bool] = (x > 0.5).tolist()
    others: List[bool] = (y > 0.5).tolist()
    return a == b, a != b, flags == others, flags != others
