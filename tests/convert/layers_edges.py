"""Where the usual form of a conversion doesn't hold: bounds on both sides of a short dimension, sizes that agree by chance, empty sets."""
from typing import Optional

import torch
import torch.nn.functional as F
from torch import Tensor

from layer_cases import Case

INF, NAN = float("inf"), float("nan")


def written(bounds, value):
    """A slice of a copy, written: sizes at which the bounds pass one another."""
    def assigned(a):
        v = a * 1
        v[bounds] = value
        return v

    def added(a):
        v = a * 1
        v[bounds] += value
        return v

    def scattered(a):
        part = a[bounds]
        return torch.slice_scatter(a, part * 0 - 3.0, 0, bounds.start, bounds.stop, bounds.step or 1)

    return {"assigned": assigned, "added": added, "scattered": scattered}


def scaled_after_cast(image: Tensor):
    """A cast to another dtype is a copy, to its own the tensor itself."""
    x = image.to(torch.float32)
    x.div_(255)
    return x, image + 1, image.to(torch.float32).mul_(2)


def slice_writes():
    made = {}
    inputs = [(torch.arange(2.0 * n).reshape(n, 2),) for n in (4, 1, 2, 3, 0, 6)]
    for start, stop, step in [(-2, 1, None), (-3, -1, None), (-1, -3, None), (1, -2, None), (2, 4, None), (3, 1, None), (-5, 2, None), (None, -2, None), (-2, None, None),
                              (None, 3, None), (2, None, None), (-4, 3, 2), (-3, -1, 2), (1, -1, 2), (None, None, 2), (-2, 1, 3), (None, 1, None), (-1, None, None),
                              (0, 1, None), (None, -1, None), (1, None, None)]:
        mixed = start is not None and stop is not None and (start < 0) != (stop < 0)   # ends that are computed
        for name, function in written(slice(start, stop, step), 5.0).items():
            made[f"slice_{name}_{start}_{stop}_{step}"] = Case(function, inputs, ("f32:n,2",), opsets=range(10 if step or mixed else 7, 27))
    return made


def resizes():
    made = {}
    shapes = {1: (1, 2, 5), 2: (1, 2, 4, 5), 3: (1, 2, 3, 4, 5)}
    modes = {1: ("nearest", "nearest-exact", "linear", "area"), 2: ("nearest", "nearest-exact", "bilinear", "bicubic", "area"),
             3: ("nearest", "nearest-exact", "trilinear", "area")}
    for dims, shape in shapes.items():
        for mode in modes[dims]:
            for scale in (1.05, 1.3, 1.9, 2.1, 0.9):
                for recompute in (None, True):
                    function = lambda x, scale=scale, mode=mode, recompute=recompute: F.interpolate(x, scale_factor=scale, mode=mode, recompute_scale_factor=recompute)
                    name = f"interpolate_{dims}d_{mode}_{scale}{'_recomputed' if recompute else ''}"
                    made[name] = Case(function, [(torch.randn(shape),) for _ in range(2)])
                    if mode != "area" and not recompute:
                        other = [tuple(s + more for s in shape[2:]) for more in (0, -1, 3)]
                        made[name + "_named"] = Case(function, [(torch.randn(1, 2, *sizes),) for sizes in other], (f"f32:1,2,{','.join('dhw'[-dims:])}",), opsets=range(11, 27))
    for mode in ("nearest", "nearest-exact"):   # beyond 128 places PyTorch takes another kernel
        for dtype in (torch.float32, torch.float64):
            sizes = [(2, 127), (2, 30), (60, 60), (3, 3)]
            function = lambda x, mode=mode: F.interpolate(x, scale_factor=(1.0, 1.004), mode=mode)
            doubled = lambda x, mode=mode: F.interpolate(x, scale_factor=(1.0, 2.003), mode=mode)
            name = f"interpolate_by_places_{mode}_{'f64' if dtype == torch.float64 else 'f32'}"
            for label, each in (("", function), ("_doubled", doubled)):
                made[name + label] = Case(each, [(torch.randn(1, 1, h, w, dtype=dtype),) for h, w in sizes],
                                          ("f64:1,1,h,w" if dtype == torch.float64 else "f32:1,1,h,w",), opsets=range(11, 27))
    made["interpolate_issue"] = Case(lambda x: F.interpolate(x, scale_factor=1.3, mode="nearest"), [(torch.tensor([[[0., 1.]]]),)])
    return made


def short_circuit(x: Tensor) -> Tensor:
    if x.size(0) > 0 and bool(x[0] > 1):
        return x + 1
    return x - 1


def short_circuit_or(x: Tensor) -> Tensor:
    if x.numel() == 0 or bool(x.max() < 0):
        return x * 2
    return x * 3


def guarded(x: Tensor, i: int) -> Tensor:
    y = x.sum()
    if x.size(0) > i:
        y = y + x[i]
    return y


def guarded_by_index(x: Tensor) -> Tensor:
    return x[2] if x.size(0) > 2 else x.sum()


def guarded_division(x: Tensor) -> Tensor:
    n = x.size(0)
    y = x.sum().long()
    if n > 0:
        y = y // n + 10 // n
    return y


def guarded_outside(x: Tensor) -> Tensor:
    ok = x.size(0) > 1
    y = x.sum()
    if ok:
        z = x.view(-1, 2) if x.size(0) % 2 == 0 else x[1:].view(-1, 1)
        y = z.max() + x[1]
    return y


def circuits():
    vectors = [(torch.tensor(v),) for v in ([2.0, 3.0, 1.0], [], [0.5], [3.0, 4.0])]
    return {"short_circuit": Case(short_circuit, vectors, ("f32:n",), script=True),
            "short_circuit_or": Case(short_circuit_or, vectors, ("f32:n",), script=True),
            "guarded_by_index": Case(guarded_by_index, vectors, ("f32:n",), script=True),
            "guarded_division": Case(guarded_division, vectors, ("f32:n",), script=True),
            "guarded_outside": Case(guarded_outside, vectors, ("f32:n",), script=True, opsets=range(11, 27))}


def squeezed_write(a: Tensor) -> Tensor:
    t = a * 1
    u = t.squeeze(0)
    u.mul_(3.)
    return t


def masks_of_other_counts(x, a, b):
    y = x * 1
    y[a, b] = 0
    return y


def singles():
    r = torch.randn
    steps = [(torch.randn(3, 4),), (torch.randn(1, 4),), (torch.randn(5, 4),)]
    masks = lambda p, q: (r(3, 4), torch.tensor(p), torch.tensor(q))
    made = {
        "squeezed_write": Case(squeezed_write, [(r(1, 3, 4),), (r(1, 2, 4),), (r(2, 3, 4),)], ("f32:N,L,4",), script=True, opsets=range(11, 27)),
        "vecdot_of_scalars": Case(lambda a, b: torch.linalg.vecdot(a, b), [(r(()), r(()))], opsets=range(7, 27)),
        "clamp_of_numbers": Case(lambda x: (torch.clamp(x, 2., -1), torch.clamp(x, 1., -1.), x.clamp(3, 3)), [(r(3, 4),)], opsets=range(7, 27)),
        "masks_of_other_counts": Case(masks_of_other_counts, [masks([True, False, True], [True, False, True, False]),
                                                              masks([True, False, False], [True, True, True, False]),
                                                              masks([True, True, True], [False, False, True, False])], opsets=range(9, 27)),
        "inner_with_number": Case(lambda a, b: (torch.inner(a, b), torch.inner(b, a)), [(torch.arange(6).reshape(2, 3), torch.tensor(2))], opsets=range(7, 27)),
        "tensordot_over_one": Case(lambda a, b: torch.tensordot(a, b, ([1], [0])), [(r(2, 1), r(3, 4))], opsets=range(7, 27)),
        "tensordot_over_ones": Case(lambda a, b: torch.tensordot(a, b, ([0, 2], [1, 0])), [(r(3, 2, 1), r(4, 1, 5))], opsets=range(7, 27)),
        "circular_cropped": Case(lambda x: F.pad(x, (2, -1), mode="circular"), [(r(1, 2, 4),)], opsets=range(7, 27)),
        "circular_cropped_before": Case(lambda x: F.pad(x, (-1, 3), mode="circular"), [(r(1, 2, 4),), (r(1, 2, 6),)], ("f32:1,2,n",), opsets=range(7, 27)),
        "circular_cropped_2d": Case(lambda x: F.pad(x, (2, -1, -1, 1), mode="circular"), [(r(1, 2, 4, 5),)], opsets=range(7, 27)),
        "replicate_cropped": Case(lambda x: (F.pad(x, (2, -1), mode="replicate"), F.pad(x, (-1, 2), mode="reflect")), [(r(1, 2, 4),)], opsets=range(7, 27)),
        "take_along_dim_broadcast": Case(lambda x, i: torch.take_along_dim(x, i, 1), [(r(3, 4), torch.tensor([[1, 0, 3]]))], opsets=range(7, 27)),
        "take_along_dim_broadcast_self": Case(lambda x, i: torch.take_along_dim(x, i, 0), [(r(3, 1), torch.tensor([[1, 0, 2], [0, 0, 1]]))], opsets=range(7, 27)),
        "take_along_dim_named": Case(lambda x, i: torch.take_along_dim(x, i, 1),
                                     [(r(3, 4), torch.tensor([[1, 0, 3]])), (r(1, 4), torch.tensor([[1], [2]])),
                                      (r(2, 4), torch.tensor([[3], [1]]))], ("f32:n,4", "i64:m,k"), opsets=range(11, 27)),
        "var_mean_of_infinities": Case(lambda x: (*torch.var_mean(x, 1), *torch.std_mean(x, 1, correction=0), x.mean(1), x.var(1)),
                                       [(r(3, 4),), (torch.tensor([[INF, 1, 2, 3], [INF, -INF, 0, 1], [INF, INF, NAN, 1]]),)],
                                       opsets=range(7, 27)),
        "trapezoid_of_infinities": Case(lambda x: (torch.trapezoid(x, dim=1), torch.trapezoid(x, x * 0 + torch.arange(4.), dim=1),
                                                   torch.trapezoid(x, dx=0.5, dim=1), torch.cumulative_trapezoid(x, dim=1)),
                                        [(r(3, 4),), (torch.tensor([[INF, 1, 2, 3], [INF, -INF, 0, 1], [3e38, 3e38, 0, 1]]),)],
                                        opsets=range(11, 27)),
        "cummax_of_static_integers": Case(lambda a: torch.cummax(2**a, 1), [(torch.tensor([[1, 3, 2], [0, 5, 4]]),)], opsets=range(9, 27)),
    }
    for name in ("cummax", "cummin", "cumprod", "logcumsumexp"):
        for dtype in (torch.float32, torch.float64, torch.int64):
            if dtype == torch.int64 and name == "logcumsumexp":
                continue
            spec = {torch.float32: "f32", torch.float64: "f64", torch.int64: "i64"}[dtype]
            made[f"{name}_of_unstated_{spec}"] = Case(lambda x, name=name: getattr(torch, name)(x.t()[x.t().sum(1) > -99], 1),
                                                      [(s[0].mul(3).to(dtype),) for s in steps] + [(torch.zeros(0, 4, dtype=dtype),)],
                                                      (f"{spec}:n,4",), opsets=range(9, 27))
            made[f"{name}_named_{spec}"] = Case(lambda x, name=name: (getattr(torch, name)(x, 0), getattr(torch, name)(x, 1)),
                                                [(s[0].mul(3).to(dtype),) for s in steps], (f"{spec}:n,4",), opsets=range(9, 27))
    return made


class FirstRow(torch.nn.Module):
    def forward(self, x):
        y = x * 1
        for row in range(y[:1].size(0)):
            y[row] = 3.0
        if x[:1].size(0) == 1:
            y = y + 1
        return y, x[:1].size(0) + x[-1:].numel(), x[:1].squeeze(-1).flatten(), torch.zeros(x[:1].shape)


def written_in_place(x: Tensor) -> Tensor:
    for i in range(len(x)):
        x.flatten().add_(1)
    x.squeeze_(0)
    return x


def constants_in_a_row(x):
    """No pass computes the bound; conversion does, call by call."""
    bound = torch.tensor(1)
    for _ in range(12):
        bound = (bound + 1).to("cpu")
    return x.clamp(bound - 14, bound)


def write_optional(x: Tensor):
    y = x * 2
    held: Optional[Tensor] = None
    if x.size(0) > 1:
        held = y
    target = held if held is not None else y
    target.add_(1.0)
    return y


def put_in_places(x):
    """Of three columns fewer, which may be none."""
    rows, columns, both = x[:, 3:] * 1, x[:, 3:].t() * 1, x[:, 3:].unsqueeze(2) * 1
    rows[torch.tensor([0, 1])] = 5.0
    columns[:, torch.tensor([0, 1])] = columns[:, :2] * 2
    both[torch.tensor([0, 1]), :, torch.tensor([[0], [0]])] = 3.0
    rows.index_put_((torch.tensor([0, 1]),), torch.tensor(1.0), True)
    return rows, columns, both


def write_first_two(x):
    y = x.flatten(-2)[:2]
    y[::3] = y.flip(0)[::3]
    return y


def write_and_carry(x: torch.Tensor, go: torch.Tensor):
    """What the loop writes by another name is the memory of y."""
    v = x[..., -1]
    y = x[None, -1]
    y[3:5] = -y[3:5]
    i = 0
    while i < 2 and bool(go.all()):
        y = y.ravel()
        v.neg_()
        v = v * 2
        i += 1
    return y


def write_meshgrid(x):
    columns = torch.meshgrid(x * 2, x * 2, indexing="ij")[1]
    columns[0] += columns[-1]
    return columns


def products_of_nothing():
    """Sums over no elements, after a run that left values in memory; and sizes that Reshape can't find out."""
    r = torch.randn
    made = {}
    sizes = lambda *shapes: [tuple(r(*[n if d == "n" else d for d in shape]) for shape in shapes) for n in (4, 0, 1, 4, 0)]
    spec = lambda *shapes: tuple("f32:" + ",".join(map(str, shape)) for shape in shapes)
    for name, function, *shapes in [
            ("plain", lambda a, b: a @ b, (2, 3, "n"), (2, "n", 5)), ("left_turned", lambda a, b: a.transpose(1, 2) @ b, (2, "n", 3), (2, "n", 5)),
            ("right_turned", lambda a, b: a @ b.transpose(1, 2), (2, 3, "n"), (2, 5, "n")), ("left_turned_by_matrix", lambda a, b: a.transpose(1, 2) @ b, (2, "n", 3), ("n", 5)),
            ("more_on_the_right", lambda a, b: a @ b, (3, "n"), (2, "n", 5)), ("turned_against_more", lambda a, b: a.t() @ b, ("n", 3), (2, "n", 5)),
            ("repeated_left", lambda a, b: a @ b, (1, 3, "n"), (2, "n", 5)), ("repeated_both", lambda a, b: a @ b, (2, 1, 3, "n"), (1, 4, "n", 5)),
            ("vector_by_matrices", lambda a, b: a @ b, ("n",), (2, "n", 5)), ("matrices_by_vector", lambda a, b: a @ b, (2, 3, "n"), ("n",)),
            ("vector_by_turned", lambda a, b: a @ b.transpose(1, 2), ("n",), (2, 5, "n")), ("bmm_turned", lambda a, b: torch.bmm(a.transpose(1, 2), b), (2, "n", 3), (2, "n", 5))]:
        made[f"nothing_summed_{name}"] = Case(
            function, sizes(*shapes), spec(*shapes),
            opsets=range(8 if "repeated" in name or "more" in name or name in ("vector_by_matrices", "vector_by_turned") else 7, 27))
    mixed = [(r(2, 3, 4), r(4, 5)), (torch.tensor([[[INF, 1, -1, 0]]]), r(1, 5)), (r(2, 0, 0), r(0, 5)),
             (r(2, 3, 1), torch.tensor([[0., INF], [1, -1], [2, 0.]])), (r(1, 1, 1), r(0, 2))]
    made["tensordot_broadcast"] = Case(lambda a, b: torch.tensordot(a, b, 1), mixed, ("f32:a,b,c", "f32:d,e"), opsets=range(9, 27), zeros=range(14, 27))
    made["tensordot_broadcast_integers"] = Case(lambda a, b: torch.tensordot(a, b, 1),
                                                [tuple((x.clamp(-5, 5) * 4).to(torch.int64) for x in pair) for pair in mixed],
                                                ("i64:a,b,c", "i64:d,e"), opsets=range(9, 27), zeros=range(14, 27))
    made["tensordot_infinite"] = Case(lambda a, b: torch.tensordot(a, b, 1), [(torch.tensor([[INF]]), torch.tensor([[0., 1], [1, -1]]))], opsets=range(7, 27))
    for name, function, *shapes in [("flatten", lambda x: x.flatten(-2), ("n", 4, 2)), ("flatten_sliced", lambda x: x[..., -2:0].flatten(-2), (3, 4, "n")),
                                    ("unflatten", lambda x: x[3:-1, 1::3].unflatten(-3, [-1, 2]), (2, "n", 4)), ("kron", torch.kron, ("n", 2), ("n", 3)),
                                    ("inner", torch.inner, (2, "n"), (3, 2, "n")), ("inner_rows", torch.inner, (2, 3), ("n", 2, 3))]:
        made[f"nothing_{name}"] = Case(function, sizes(*shapes), spec(*shapes), opsets=range(10 if name == "unflatten" else 7, 27),
                                       zeros=range(14 if name == "unflatten" else 7, 27))
    made["nothing_kron_both"] = Case(torch.kron, [(r(2, 3), r(3, 2)), (r(0, 3), r(3, 0))], ("f32:a,3", "f32:3,b"), opsets=range(7, 27), zeros=range(14, 27))
    made["circular_of_nothing"] = Case(lambda x: F.pad(x, (1, 2), mode="circular"), [(r(2, n, 4),) for n in (3, 0, 1)], ("f32:2,n,4",), opsets=range(7, 27))
    groups = (torch.rand(4), torch.rand(4))
    made["group_norm_of_no_batch"] = Case(lambda x: (F.group_norm(x, 2), F.group_norm(x, 2, *groups)), [(r(n, 4, 3),) for n in (3, 0, 1)], ("f32:n,4,3",), zeros=range(7, 21))
    made["relu_clipped_below_zero"] = Case(lambda x: torch.relu(x).clamp(-1.5, -1.5), [(r(3, 4),)], opsets=range(7, 27))
    made["roll_of_nothing"] = Case(lambda x: x[x > 1].roll(1, -1), [(torch.tensor(v),) for v in ([3., 2, 0], [0., 0, 0], [2., 0, 0])], opsets=range(9, 27))
    first = lambda x: (x[:1].reshape(-1), x[-1:].mean(), x[:1].sum(0), x[:1] + x, torch.cat([x[:1], x]), x[:1].expand(x.size(0), 4),
                       x.new_zeros(x[:1].shape), x[-1:].cumsum(0), x.sum() + x[:1].numel())
    made["first_of_nothing"] = Case(FirstRow(), [(r(n, 4),) for n in (3, 0, 1)], ("f32:n,4",), script=True, opsets=range(10, 27))
    made["first_of_nothing_traced"] = Case(first, [(r(n, 4),) for n in (3, 0, 1)], ("f32:n,4",), opsets=range(9, 27))
    made["no_queries"] = Case(lambda q, k: (q.transpose(0, 1) * 0.5) @ k.transpose(0, 1).transpose(1, 2),
                              [(r(n, 2, 3), r(4, 2, 3)) for n in (3, 0, 1)], ("f32:n,2,3", "f32:4,2,3"), opsets=range(7, 27))
    made["unique_of_nothing"] = Case(lambda x: torch.unique(x, return_inverse=True), sizes((3, "n")), spec((3, "n")), opsets=range(11, 27))
    made["cov_of_a_number"] = Case(torch.cov, [(torch.tensor(4., dtype=torch.float64),), (torch.tensor(-1., dtype=torch.float64),)], opsets=range(7, 27))
    made["rows_of_nothing_put"] = Case(put_in_places, [(r(3, 5),), (r(2, 3),), (r(2, 2),)], ("f32:n,m",), opsets=range(9, 27))
    made["columns_of_nothing_filled"] = Case(lambda x: x[:, -2:-7].index_fill(0, torch.tensor([0, -1]), 4) + x[:, :1], [(r(3, 4),), (r(2, 4),)], ("f32:n,4",), opsets=range(9, 27))
    made["nothing_sorted"] = Case(lambda x: (*x.sort(0), x.argsort(0, descending=True), *x.transpose(0, 1).topk(0, 0)),
                                  [(r(0, 4, 2),), (r(0, 4, 1),)], ("f32:0,4,n",), opsets=range(7, 27))
    made["bounds_moved"] = Case(lambda x: x.clamp(torch.tensor(-1).to("cpu"), torch.tensor(1)), [(torch.tensor([-3, 0, 4]),)], ("i64:n",), opsets=range(7, 27))
    made["relu_clipped_below_zero"] = Case(lambda x: torch.clamp(torch.relu(x), -3, -1), [(torch.tensor([-4.0, -2.0, 0.0, 2.0]),)], ("f32:n",), opsets=range(7, 27))
    made["constants_in_a_row"] = Case(constants_in_a_row, [(torch.tensor([-3, 0, 40]),)], ("i64:n",), opsets=range(7, 27))
    made["divided_by_a_number"] = Case(lambda x, y: (torch.fmod(x, y), torch.remainder(x, y), torch.floor_divide(x, y), torch.div(x, y, rounding_mode="trunc")),
                                       [(torch.tensor([[-7, 7]]), torch.tensor(-2)),
                                        (torch.zeros(0, 2, dtype=torch.int64), torch.tensor(0))],
                                       ("i64:n,2", "i64:scalar"), opsets=range(7, 27))
    for name, dtype, spec in (("floats", torch.float32, "f32"), ("doubles", torch.float64, "f64")):
        made[f"all_of_none_{name}"] = Case(lambda x: (*F.adaptive_max_pool2d(x, 1, return_indices=True), F.adaptive_max_pool2d(x, 1), F.adaptive_max_pool1d(x.flatten(0, 1), 1)),
                                           [(r(2, 3, 4, 5).to(dtype),), (r(0, 3, 4, 6).to(dtype),)], (f"{spec}:n,3,4,w",), zeros=range(7, 27))
    made["regrouped"] = Case(lambda x: (x.flatten(1), x.flatten(2), F.group_norm(x, 2)), [(r(2, 4, 3, 2),), (r(0, 4, 3, 2),)],
                             ("f32:n,4,h,w",), zeros=range(7, 21))  # from 21 on GroupNormalization is a function that reshapes
    made["dilated_over_many"] = Case(lambda x: F.max_pool1d(x, 3000, 1, 0, 2), [(r(1, 1, 9000),)], ("f32:1,1,9000",), opsets=range(10, 27))
    for name, (size, stride, padding) in {"padding_alone": (4, 1, 1), "padding_alone_last": (4, 3, 1)}.items():
        made[name] = Case(lambda x, at=(2, stride, padding, 5): F.max_pool1d(x, *at), [(r(1, 1, size),)], (f"f32:1,1,{size}",), refused="a window reads padding alone")
    made["logsumexp_of_infinity_and_nan"] = Case(lambda x: (x.logsumexp((0, 1)), x.logsumexp((0, 1), True), x[0].logsumexp(0)),
                                                 [(torch.tensor([[1, INF, float("nan")]]),), (torch.tensor([[1, INF, 2], [1, 2, 3]]),)],
                                                 ("f32:n,3",), opsets=range(7, 27))
    made["optional_written"] = Case(write_optional, [(torch.tensor([[3.0, 0.5], [1.0, 2.0]]),)], ("f32:2,2",), script=True)
    made["meshgrid_written"] = Case(write_meshgrid, [(torch.tensor([2.0, 1.75, -3.5]),)], ("f32:3",), refused="whose elements share memory")
    made["stated_and_written"] = Case(written_in_place, [(torch.tensor([1, 2, 3]),)], ("i64:3",), script=True)
    made["empty_batch"] = Case(lambda x, t: (F.cross_entropy(x, t), F.cross_entropy(x, t, reduction="sum"),
                                             F.nll_loss(x, t, reduction="none"), F.cross_entropy(x, t, label_smoothing=0.25)),
                               [(r(n, 4), torch.randint(4, (n,))) for n in (3, 0, 1)], ("f32:n,4", "i64:n"), opsets=range(9, 27))
    made["no_classes"] = Case(lambda x, t: (F.cross_entropy(x, t), F.cross_entropy(x, t, reduction="sum")),
                              [(r(2, n), torch.rand(2, n)) for n in (3, 0, 1)], ("f32:2,n", "f32:2,n"), opsets=range(7, 27))
    made["no_samples"] = Case(lambda x: torch.trapezoid(x, dim=1), [(torch.zeros(2, 0, dtype=torch.uint8),)], ("u8:2,0",), opsets=range(7, 27))
    made["perhaps_samples"] = Case(lambda x: torch.trapezoid(x, dim=1), [(torch.zeros(0, 3, 4, dtype=torch.uint8),)], ("u8:0,n,4",),
                                   opsets=range(0), needs="has the dtype of y if the size is 0")
    for offset in (0, 1, -1, 3, -4):
        def filled(x, offset=offset):
            y = x.clone()
            y.diagonal(offset).fill_(7)
            return y

        def doubled(x, offset=offset):
            y = x.clone()
            y.diagonal(offset, 2, 0).mul_(2)
            return y
        sizes = [(3, 5), (5, 3), (4, 4), (1, 4), (4, 1), (2, 0)]
        for dtype, code in ((torch.float32, "f32"), (torch.int64, "i64"), (torch.bool, "bool"), (torch.float64, "f64"), (torch.uint8, "u8")):
            made[f"written_diagonal_{offset}_{code}"] = Case(filled, [(torch.zeros(n, m, dtype=dtype),) for n, m in sizes],
                                                             (f"{code}:n,m",), opsets=range(10 if "f" in code else 11, 27))
        made[f"doubled_diagonal_{offset}"] = Case(doubled, [(r(n, 2, m),) for n, m in sizes], ("f32:n,b,m",), opsets=range(10, 27))
    for dtype, spec in ((torch.uint8, "u8"), (torch.float32, "f32"), (torch.int64, "i64")):
        images = [(torch.randint(0, 200, (n, 3)).to(dtype),) for n in (2, 1, 4)]
        made[f"scaled_after_cast_{spec}"] = Case(scaled_after_cast, images, (f"{spec}:n,3",))
        made[f"scaled_after_cast_script_{spec}"] = Case(scaled_after_cast, images, (f"{spec}:n,3",), script=True)
    parts = [(r(n, m),) for n, m in ((4, 6), (5, 3), (7, 7))]
    made["slices_of_named_sizes"] = Case(lambda x: (torch.relu(x)[:-1].exp().sum(), x[:, 1:].tanh().sum(), torch.relu(x)[:-1].amax(), x[:, 1:].tanh()), parts, ("f32:n,m",))
    made["joined_slices"] = Case(lambda x: (torch.cat([(x * 2)[:1], (x * 2)[:-1]]), torch.cat([x[:, 1:], (x * 2)[:, :1]], 1)), parts, ("f32:n,m",))
    made["slices_of_slices"] = Case(lambda x: (x * 2)[:-1][1:, 1:][:, :-1].exp()[-1:] + x[:1, 1:-1], parts, ("f32:n,m",))
    counted_back = [(r(n, 2), torch.tensor(places), r(len(places), 2)) for n, places in ((5, [0, 2, -1]), (3, [1, 1]), (4, [-1, 3, -4, 0]))]
    for name, function in {"accumulated": lambda x, i, v: x.index_put((i,), v, accumulate=True), "put": lambda x, i, v: x.index_put((i,), v),
                           "filled": lambda x, i, v: x.index_fill(0, i, 2.0),
                           "read": lambda x, i, v: x[i] + v, "flat": lambda x, i, v: x.put(i, v[:, 0], accumulate=True), "taken": lambda x, i, v: x.take(i)}.items():
        made[f"counted_back_{name}"] = Case(function, counted_back, ("f32:n,2", "i64:k", "f32:k,2"), opsets=range(7 if name in ("read", "taken") else 9, 27))
    made["no_diagonal"] = Case(lambda x: (x[:, :, 4:].diagonal(0, 1, 2), x[:, 3:].diagonal(1, 1, -1), torch.linalg.diagonal(x[:, :, 4:])),
                               [(r(n, 3, 4),) for n in (3, 1)], ("f32:n,3,4",), opsets=range(7, 27))
    made["two_of_nothing"] = Case(write_first_two, [(r(n, 4),) for n in (3, 0, 1)], ("f32:n,4",), opsets=range(10, 27))
    for label, divided in {"floor": lambda x: x // 0, "remainder": lambda x: x % 0, "fmod": lambda x: torch.fmod(x, 0), "tensor": lambda x: x // torch.tensor([0, 1, 2]),
                           "trunc": lambda x: torch.div(x, 0, rounding_mode="trunc")}.items():
        made[f"nothing_by_zero_{label}"] = Case(divided, [(torch.zeros(0, 3, dtype=torch.int64),)], ("i64:n,3",), refused="integers are divided by 0")
    made["wrapped_contents"] = Case(lambda x: (torch.arange(3, -3, -1, dtype=torch.uint8) // 3 + x,
                                               (torch.tensor(200, dtype=torch.uint8) + torch.tensor(100, dtype=torch.uint8)) // 3 + x),
                                    [(torch.tensor(1, dtype=torch.uint8),)])
    made["integers_scaled_twice"] = Case(lambda x: ((x * 2 + 1) * 2 @ x.t(), (x * 2) @ x.t(), ((x * 2) * 2) @ (x * 2).t()), [(torch.arange(12).reshape(3, 4),)])
    ones = lambda *sizes: torch.full(sizes, 100, dtype=torch.int8)
    for label, equation, sizes in (("row", "bi,bi->b", ((2, 3), (2, 1))), ("vector", "i,i->", ((1,), (3,))),
                                   ("same", "bi,bi->b", ((2, 3), (2, 3))), ("one", "i,i->", ((1,), (1,)))):
        made[f"einsum_i8_{label}"] = Case(lambda a, b, equation=equation: torch.einsum(equation, a, b), [tuple(ones(*s) for s in sizes)])
    made["write_and_carry"] = Case(write_and_carry, [(torch.tensor([2, 4, 126]), torch.tensor(1.0))], ("i64:3", "f32:scalar"), script=True, refused="writes")
    return made


def refusals():
    """What PyTorch refuses of these dtypes; the models are traced with others."""
    floats = (torch.randn(4),)
    demanding = {
        "relu": (torch.relu, "bool"), "relu6": (F.relu6, "bool"), "threshold": (lambda x: F.threshold(x, 0.5, 0.0), "bool"), "hardshrink": (F.hardshrink, "i64"),
        "gelu": (F.gelu, "i32"), "topk": (lambda x: torch.topk(x, 2)[0], "bool"),
        "exponential": (lambda x: x.clone().exponential_(), "i64"), "cauchy": (lambda x: x.clone().cauchy_(), "u8"),
        "full_like": (lambda x: torch.full_like(x, 300), "u8"), "full_like_nan": (lambda x: torch.full_like(x, NAN), "i64"), "fill": (lambda x: x.clone().fill_(-200), "i8"),
        "pad": (lambda x: F.pad(x, (1, 1), value=-1.0), "u8"), "fill_half": (lambda x: torch.full_like(x, 1e6), "f16"),
        "addcmul": (lambda x: torch.addcmul(x, x, x, value=300), "i8"),
        "add": (lambda x: torch.add(x, x, alpha=300), "u8"), "argmax": (torch.argmax, "bool"), "argmin": (torch.argmin, "bool"),
        "vecdot": (lambda x: torch.linalg.vecdot(x, x), "i8"), "mean": (lambda x: x.mean(0), "i64"), "mean_whole": (torch.mean, "bool"),
        "cumprod_of_bools": (lambda x: x.clone().cumprod_(0), "bool"), "cumprod_in_f32": (lambda x: x.clone().cumprod_(0, dtype=torch.float32), "u8"),
        "cumprod_of_f64_in_f32": (lambda x: x.clone().cumprod_(0, dtype=torch.float32), "f64"), "vander": (torch.linalg.vander, "f16"),
    }
    return {f"refused_{name}_{spec}": Case(function, [floats], (f"{spec}:4",), refused="PyTorch refuses this call") for name, (function, spec) in demanding.items()}


def never_run():
    """Calls that PyTorch refuses whatever it is given: (the call, what a, b, c are)."""
    calls = {
        "rot90_one_dimension": ("torch.rot90(a, 1, [0, -2])", "f32:2,3"), "rot90_no_turn": ("torch.rot90(a, 0, [1, 1])", "f32:n,3"),
        "prelu_channels": ("torch.prelu(a, b)", "f32:2,3,4", "f32:2"), "prelu_of_vector": ("torch.prelu(a, b)", "f32:3", "f32:3"),
        "prelu_matrix": ("torch.prelu(a, b)", "f32:2,3,4", "f32:3,1"), "prelu_of_number": ("torch.prelu(a, b)", "f32:scalar", "f32:2"),
        "prelu_nothing": ("torch.prelu(a, b)", "f32:2,3", "f32:0"), "prelu_kernel": ("torch._prelu_kernel(a, b)", "f32:2,3", "f32:1,2"),
        "layer_norm_weight": ("torch.layer_norm(a, [4], b)", "f32:2,4", "f32:1,4"), "rms_norm_weight": ("torch.rms_norm(a, [4], b)", "f32:2,4", "f32:1,4"),
        "hsplit": ("torch.hsplit(a, 2)[0]", "f32:4,3"), "vsplit": ("torch.vsplit(a, 3)[0]", "f32:4,3"),
        "dsplit": ("torch.dsplit(a, 2)[0]", "f32:4,3,3"), "hsplit_by_0": ("torch.hsplit(a, 0)[0]", "f32:4,3"),
        "split_by_0": ("torch.split(a, 0)[0]", "f32:4,3"), "chunks": ("torch.chunk(a, 0)[0]", "f32:4,3"),
        "negative_chunks": ("torch.chunk(a, -1)[0]", "f32:n,3"), "glu": ("torch.nn.functional.glu(a)", "f32:2,5"),
        "attention_dropout": ("torch._C._nn.scaled_dot_product_attention(a, a, a, dropout_p=-0.5)", "f32:2,3,4"), "dropout": ("torch.dropout(a, -0.5, False)", "f32:2"),
        "feature_dropout": ("torch.feature_dropout(a, 1.5, False)", "f32:2,3"),
        "alpha_dropout": ("torch.alpha_dropout(a, 1.5, False)", "f32:2"),
        "feature_alpha_dropout": ("torch.feature_alpha_dropout(a, 1.5, False)", "f32:2,3"),
        "vander_one_column": ("torch.linalg.vander(a, N=1)", "f32:3"), "vander_of_one": ("torch.linalg.vander(a)", "f32:3,1"),
        "gather_larger": ("torch.gather(a, 0, b)", "f32:2,3", "i64:2,4"),
        "scatter_larger": ("torch.scatter(a, 0, b, c)", "f32:2,3", "i64:2,4", "f32:2,4"),
        "scatter_rank": ("torch.scatter(a, 0, b, 1.0)", "f32:2,3", "i64:2"),
        "scatter_source": ("torch.scatter_add(a, 0, b, c)", "f32:2,3", "i64:2,3", "f32:1,3"), "view": ("a.view(-1, -1)", "f32:n,3"),
        "quantile": ("torch.quantile(a, 1.5)", "f32:3"), "quantile_of_halves": ("torch.quantile(a, 0.5)", "f16:3"),
        "nanquantile_of_halves": ("torch.nanquantile(a, 0.5)", "f16:3"), "positive_of_bools": ("torch.positive(a)", "bool:3"),
        "arange": ("torch.arange(3, 0, 1) + a", "f32:1"), "arange_no_step": ("torch.arange(0, 3, 0) + a", "f32:1"),
        "arange_down": ("torch.arange(0, 3.5, -0.5) + a", "f32:1"),
        "range_down": ("torch.range(3, 0, 1) + a", "f32:1"), "range_short": ("torch.range(0.5, 0, 1) + a", "f32:1"),
        "arange_whole_step": ("torch.arange(0, 3, 0.5, dtype=torch.int64) + a", "f32:1"),
        "arange_no_whole_step": ("torch.arange(0, 0, 0.5, dtype=torch.int64) + a", "f32:1"),
        "arange_too_large": ("torch.arange(0, 1e30, 1e29, dtype=torch.int64) + a", "f32:1"),
        "renorm_of_0": ("torch.renorm(a, 0, 0, 1.0)", "f32:2,3"), "max_of_nothing": ("torch.max(a, 0)[0]", "f32:0,3"),
        "amin_of_nothing": ("torch.amin(a, [1, 0])", "f32:n,0"), "argmax_of_nothing": ("torch.argmax(a)", "f32:0"),
        "aminmax_of_nothing": ("torch.aminmax(a)[0]", "f32:0,3"),
        "attention_keys": ("torch._C._nn.scaled_dot_product_attention(a, b, a)", "f32:2,3,4", "f32:2,3,5"),
        "attention_values": ("torch._C._nn.scaled_dot_product_attention(a, b, a)", "f32:2,3,4", "f32:2,5,4"),
        "cdist": ("torch.cdist(a, b)", "f32:2,3", "f32:2,4"), "multi_margin": ("torch._C._nn.multi_margin_loss(a, b)", "f32:2,3", "i64:3"),
        "cosine_embedding": ("torch.cosine_embedding_loss(a, a, b)", "f32:2,3", "f32:3"),
        "multi_margin_matrix": ("torch._C._nn.multi_margin_loss(a, b)", "f32:1,3", "i64:1,1"),
        "cross_entropy_of_one": ("torch.nn.functional.cross_entropy(a, b)", "f32:1", "i64:1"),
        "cross_entropy_smoothed": ("torch.nn.functional.cross_entropy(a, b, label_smoothing=0.1)", "f32:3", "i64:1"),
        "cross_entropy_floats": ("torch.nn.functional.cross_entropy(a, b)", "f32:3,3", "f32:3"),
        "cross_entropy_indices": ("torch.nn.functional.cross_entropy(a, b)", "f32:3,3", "i64:3,3"),
        "cross_entropy_i32": ("torch.nn.functional.cross_entropy(a, b)", "f32:3,3", "i32:3"),
        "nll_of_two": ("torch.nn.functional.nll_loss(a, b)", "f32:3", "i64:2"),
        "nll_u8": ("torch.nn.functional.nll_loss(a, b)", "f32:2,3,4", "u8:2,4"),
        "nll_one_number": ("torch.nn.functional.cross_entropy(a, b)", "f32:3", "f32:1"),
        "renorm": ("torch.renorm(a, 2.0, 0, -1.0)", "f32:2,3"), "celu": ("torch.celu(a, 0.0)", "f32:2"), "clamp": ("torch.clamp(a)", "f32:3"),
        "packed_lengths": ("torch._pack_padded_sequence(a, b, True)[0]", "f32:2,5,6", "i32:2"),
        "addmm_of_nothing": ("torch.addmm(a, b, c, beta=0.5)", "u8:2,2", "u8:2,0", "u8:0,2"),
        "baddbmm_of_nothing": ("torch.baddbmm(a, b, c, beta=2.0)", "i64:1,2,2", "i64:1,2,0", "i64:1,0,2"),
        "einsum_rank": ("torch.einsum('ij,jk->ik', [a, b])", "f32:2,3,4,5", "f32:3,4"),
        "einsum_short": ("torch.einsum('ij->i', [a])", "f32:n"), "einsum_ellipsis": ("torch.einsum('...ij->i', [a])", "f32:3"),
        "einsum_operands": ("torch.einsum('ij->i', [a, a])", "f32:2,3"),
        "addbmm_of_nothing": ("torch.addbmm(a, b, c, beta=0.5)", "i32:2,2", "i32:0,2,3", "i32:0,3,2"),
    }
    made = {}
    for name, (call, *specs) in calls.items():
        module = torch.jit.script(type(name, (torch.nn.Module,), {})())
        module.define(f"def forward(self, {', '.join('abc'[:len(specs)])}):\n    return {call}\n")
        made[f"refused_{name}"] = Case(module, [], specs, script=True, refused="PyTorch refuses this call")
    return made


def joined():
    """Vectors without elements beside tensors of another rank."""
    nothing, two = torch.zeros(0), torch.randn(2, 3)
    return {"hstack_nothing_first": Case(lambda a, b: torch.hstack([a, b]), [(nothing, two)]), "hstack_nothing_last": Case(lambda a, b: torch.hstack([b, a, b]), [(nothing, two)]),
            "vander_that_wraps": Case(lambda x: (torch.linalg.vander(x), torch.vander(x, 3, increasing=True)), [(torch.tensor([300, -7, 101, 0, 32000], dtype=torch.int16),)]),
            "ldexp_beyond_floats": Case(torch.ldexp, [(torch.tensor([0.0, -0.0, 1.0, 1e-40, -3.0]),
                                                       torch.tensor([200, 255, 130, 140, 3], dtype=torch.uint8))], opsets=range(7, 27)),
            "ldexp_of_integers": Case(torch.ldexp, [(torch.tensor([0.0, -0.0, 1.0, 1e-40, -3.0]),
                                                     torch.tensor([2000, -100000, 130, 140, 3]))], opsets=range(7, 27), runs=range(8, 27)),
            "attention_all_dropped": Case(lambda q, k, v: F.scaled_dot_product_attention(q, k, v, dropout_p=1.0), [tuple(torch.randn(1, 2, 3) for _ in range(3))]),
            "poisson_of_number": Case(lambda x, t: F.poisson_nll_loss(x, t, log_input=False),
                                      [(torch.tensor([1, 2, 3], dtype=torch.int8), torch.tensor(2.0, dtype=torch.float64))]),
            "diff_of_bools_and_floats": Case(lambda a, b: torch.diff(a, append=b), [(torch.tensor([True, False, True]), torch.tensor([2.5]))])}


def cropped_scatters():
    """Sources larger than the index, of numbers and of named sizes; the index fills the data in none, one or all other dimensions."""
    made = {}
    for dtype in (torch.float32, torch.int64, torch.uint8):
        word = "f32" if dtype == torch.float32 else "i64" if dtype == torch.int64 else "u8"
        for reduce in ("sum", "prod", "mean", "amax", "amin"):
            for include in (True, False):
                for rows, columns in ((1, 4), (2, 3), (3, 4)):
                    sets = [((torch.randn(3, 4) * 3).abs().to(dtype), torch.randint(0, 3, (rows, columns)), (torch.randn(4, 5) * 3).abs().to(dtype)) for _ in range(2)]
                    function = lambda x, i, s, reduce=reduce, include=include: x.scatter_reduce(0, i, s, reduce, include_self=include)
                    name = f"scatter_cropped_{word}_{reduce}_{include}_{rows}x{columns}"
                    made[name] = Case(function, sets, opsets=range(9, 27))
                    if rows == 2:
                        named = [(x[:, :n], i[:, :n], s) for (x, i, s), n in zip(sets * 2, (3, 2, 3))]
                        made[name + "_named"] = Case(function, named, (f"{word}:3,n", "i64:2,n", f"{word}:4,5"), opsets=range(10, 27))
        for operation in ("add", "multiply", None):
            sets = [((torch.randn(3, 4) * 3).abs().to(dtype), torch.stack([torch.randperm(3)[:2] for _ in range(3)], 1), (torch.randn(4, 5) * 3).abs().to(dtype)) for _ in range(2)]
            extra = {"reduce": operation} if operation else {}
            made[f"scatter_cropped_{word}_{operation}"] = Case(lambda x, i, s, extra=extra: x.scatter(0, i, s, **extra), sets, opsets=range(9, 27))
        made[f"scatter_cropped_{word}_add_"] = Case(lambda x, i, s: x.scatter_add(0, i, s), sets, opsets=range(9, 27))
    return made


def logits():
    sets = [(torch.tensor([-1.0, 0.0, 0.2, 0.5, 0.6, 0.75, 1.0, 2.0, NAN, INF, -INF]),), (torch.rand(11),)]
    return {f"logit_{eps}_{dtype}": Case(lambda x, eps=eps: torch.logit(x, eps), [(x.to(dtype),) for x, in sets],
                                         opsets=range(9 if eps > 0.5 else 7, 27), runs=range(8 if dtype == torch.float64 else 7, 27))
            for eps in (0.0, 0.25, 0.5, 0.7, 1.0) for dtype in (torch.float32, torch.float64)}


def found_at_random():
    """What random programs found: each case stands for its class."""
    infinite = [torch.tensor(rows) for rows in ([[4.0, INF], [1.0, 2.0]], [[INF, 4.0], [-INF, INF]], [[1.0, 2.0], [3.0, -INF]], [[NAN, INF], [0.0, 1.0]])]
    made = {f"{name}_infinite_{dims}": Case(lambda x, f=f, dims=dims: f(x, dims, keepdim=name == "var_mean")[1], [(x,) for x in infinite])
            for name, f in (("var_mean", torch.var_mean), ("std_mean", torch.std_mean)) for dims in (0, 1, (0, 1))}
    made["pixel_shuffle_empty"] = Case(lambda x: F.pixel_shuffle(x, 2), [(torch.randn(n, 4, m),) for n, m in ((4, 2), (4, 0), (0, 2), (8, 6))], ("f32:n,4,m",))
    made["pixel_shuffle_empty_batch"] = Case(lambda x: F.pixel_shuffle(x, 2),
                                             [(torch.randn(n, 4, 2, m),) for n, m in ((4, 2), (4, 0), (0, 2), (0, 0))], ("f32:n,4,2,m",),
                                             zeros=range(11, 27))
    made["pixel_unshuffle_empty"] = Case(lambda x: F.pixel_unshuffle(x[1:-1:3], 2), [(torch.randn(1, 2, 4, 4),)])
    made["slice_steps_to_number"] = Case(Stepped(), [(torch.randn(6, 2), torch.tensor(n)) for n in (3, 5, -1)], script=True, opsets=range(10, 27))
    for name in ("index_add", "index_reduce"):
        rows = [(torch.randn(3, 4), torch.tensor([0, 2]), torch.randn(2, 4), torch.tensor([True, False, True, more])) for more in (True, False)]
        f = (lambda x, i, s, m: x[:, m].index_add(0, i, s[:, m])) if name == "index_add" else (lambda x, i, s, m: x[:, m].index_reduce(0, i, s[:, m], "amax"))
        made[f"{name}_of_unknown_width"] = Case(f, rows, opsets=range(9, 27))
    for log_input in (True, False):
        for words in ("u8 f64:", "f16 f32", "f32 f64", "i8 f16", "f64: f16", "f16 i64"):   # computed in the input's dtype
            halves, shapes = ([{"u8": torch.uint8, "i8": torch.int8, "i64": torch.int64, "f16": torch.float16, "f32": torch.float32,
                                "f64": torch.float64}[word.strip(":")] for word in words.split()],
                              [() if ":" in word else (4,) for word in words.split()])
            sets = [tuple((torch.tensor(v[:1] * (not shape) or v).reshape(shape)).to(dtype)
                          for v, dtype, shape in zip(values, halves, shapes))
                    for values in (([1, 12, 95, 120], [2, 5, 3, 7]), ([100, 2, 0, 1], [40, 1, 0, 6]))]
            made[f"poisson_{words.replace(':', '').replace(' ', '_')}_{log_input}"] = Case(
                lambda a, b, log_input=log_input: F.poisson_nll_loss(a, b, log_input=log_input, full=True, reduction="none"), sets,
                opsets=range(9, 27))
    for dtype in (torch.float16, torch.bfloat16):
        weighed = lambda x, t, w, p, d=dtype: F.binary_cross_entropy_with_logits(x.to(d), t.to(d), w.to(d), pos_weight=p.to(d), reduction="sum").float()
        made[f"logits_weighed_{dtype}"] = Case(weighed, [tuple(torch.randn(5, 5) * 4 for _ in range(4)) for _ in range(4)],
                                               tolerance=(0, 0), opsets=range(13 if dtype == torch.bfloat16 else 7, 27))
    for dtype in (torch.float16, torch.bfloat16):   # rounded at each step: 107.3 is 107.5 on the way, and 2829 isn't a half
        quotients = [(torch.randint(-200, 200, (800,)).float(), torch.randn(800) * 3) for _ in range(2)]
        for mode in ("floor", "trunc"):
            made[f"divided_{mode}_{dtype}"] = Case(lambda a, b, d=dtype, mode=mode: torch.div(a.to(d), b.to(d), rounding_mode=mode).float(),
                                                   quotients, tolerance=(0, 0),
                                                   opsets=range(13 if dtype == torch.bfloat16 else 9 if mode == "floor" else 7, 27))
    near = torch.tensor([6231533.0, 5033165.5, -6291455.0, 4718592.5, 7340033.0]), torch.tensor([1.0000001, 0.99999994, 1.0000002, -1.0000001, 0.9999999])
    made["floor_divided_large"] = Case(lambda a, b: torch.floor_divide(a, b),
                                       [near, (near[0] * 0.7, near[1]),
                                        (torch.randint(-2**24, 2**24, (4000,)).float() / 2, 1 + torch.randn(4000) * 1e-6)],
                                       ("f32:n", "f32:n"), tolerance=(0, 0), opsets=range(9, 27))
    made["poisson_wraps"] = Case(lambda a, b: F.poisson_nll_loss(a, b, reduction="none"),
                                 [tuple(torch.randint(0, 80, (6,), dtype=torch.uint8) for _ in range(2)) for _ in range(2)])
    for n in (1, 2, 3, 5):
        made[f"determinant_{n}"] = Case(torch.linalg.det, [(torch.randn(n, n, dtype=torch.float64),) for _ in range(2)], opsets=range(11, 27))
    made["put_nothing"] = Case(
        lambda x: torch.select_scatter(x * 1, x[0], 0, 0)[-3:-2].transpose(0, 1).index_put(
            (torch.tensor([[-1, -2], [-1, -2]]),), torch.tensor(-2)),
        [(torch.randint(0, 9, (2, n, 4)),) for n in (2, 3)], ("i64:2,n,4",), opsets=range(9, 27))
    made["write_nothing"] = Case(written_nothing, [(torch.randint(0, 9, (n, 4, 2)),) for n in (3, 4, 7)], ("i64:n,4,2",), opsets=range(9, 27))
    for dtype in (torch.float16, torch.bfloat16):   # whole vectors, which PyTorch computes in f32
        halves = [tuple(torch.randn(64) * 3 for _ in range(3)) for _ in range(2)]
        for name, f in (("addcmul", torch.addcmul), ("addcdiv", torch.addcdiv), ("add", lambda a, b, c: torch.add(a, b, alpha=2.5)),
                        ("rsub", lambda a, b, c: torch.rsub(a, b, alpha=2.5)),
                        ("lerp", lambda a, b, c: torch.lerp(a, b, 0.25)), ("lerp_tensor", torch.lerp)):
            made[f"{name}_{dtype}"] = Case(lambda a, b, c, f=f, d=dtype: f(a.to(d), b.to(d), c.to(d)).float(), halves, tolerance=(0, 0),
                                           opsets=range(13 if dtype == torch.bfloat16 else 9 if name == "lerp_tensor" else 7, 27))
    for name, f, shape in (("1d", F.adaptive_max_pool1d, (1, 2, 4)), ("2d", F.adaptive_max_pool2d, (1, 2, 4, 6))):
        made[f"adaptive_max_doubles_{name}"] = Case(lambda x, f=f: f(x, 2), [(torch.randn(shape, dtype=torch.float64),)])
    for reduce in ("add", "multiply"):
        made[f"scatter_number_{reduce}_named"] = Case(lambda x, i, reduce=reduce: x.scatter(0, i, 2, reduce=reduce),
                                                      [(torch.arange(3 * n).reshape(3, n), torch.zeros(2, 1, dtype=torch.int64))
                                                       for n in (4, 2)], ("i64:3,n", "i64:2,1"), opsets=range(11, 27))
    large = lambda *shape: torch.randint(-2**31, 2**31, shape, dtype=torch.int32)
    made["bilinear_wraps"] = Case(lambda a, b, w: F.bilinear(a, b, w), [(large(2, 3), large(2, 4), large(5, 3, 4)) for _ in range(2)])
    made["sum_wraps"] = Case(lambda x: x.sum(1, dtype=torch.int32), [(large(3, 5),) for _ in range(2)])
    made["index_add_wraps"] = Case(lambda x, i, s: x.index_add(0, i, s), [(large(3, 5), torch.tensor([0, 0, 2]), large(3, 5)) for _ in range(2)], opsets=range(9, 27))
    made["isin_few"] = Case(lambda x: torch.isin(torch.tensor(300), x), [(torch.tensor([44, 2], dtype=torch.uint8),), (torch.tensor([45, 2], dtype=torch.uint8),)])
    made["shuffle_of_nothing"] = Case(lambda x: torch.nn.functional.channel_shuffle(x, 2),
                                      [(torch.randn(n, 4, m, 3),) for n, m in ((3, 2), (0, 2), (2, 0), (0, 0), (1, 5))], ("f32:n,4,m,3",),
                                      opsets=range(7, 27), zeros=range(14, 27))
    made["index_beside_nothing"] = Case(lambda x: x[torch.tensor([0, -2]), torch.tensor([-1, 0])],
                                        [(torch.randn(3, 2, n, 4),) for n in (3, 0, 1)], ("f32:3,2,n,4",), opsets=range(7, 27))
    made["isin_many"] = Case(lambda x: torch.isin(torch.tensor(300), x), [(torch.arange(30, 60, dtype=torch.uint8),)])
    made["nearest_doubles"] = Case(lambda x: F.interpolate(x, scale_factor=2, mode="nearest"), [(torch.randn(1, 2, 3, dtype=torch.float64),)])
    made["group_norm_doubles"] = Case(lambda x: F.group_norm(x, 2), [(torch.randn(2, 4, 3, dtype=torch.float64),)])
    for name, f in (("layer_norm", lambda x: F.layer_norm(x, (3,))), ("layer_norm_two", lambda x: F.layer_norm(x, (4, 3))), ("rms_norm", lambda x: F.rms_norm(x, (3,))),
                    ("instance_norm", lambda x: F.instance_norm(x)), ("batch_norm", lambda x: F.batch_norm(x, torch.arange(4.0).double(), torch.ones(4).double() / 3))):
        made[f"{name}_doubles"] = Case(f, [(torch.randn(2, 4, 3, dtype=torch.float64),) for _ in range(2)])
    near = [(torch.tensor([2.9999, 3.0001, 7.0, -2.0001, 3.1, 0.50001]), torch.tensor(v, dtype=torch.float64)) for v in (3.1, 3.0, -2.00001)]
    for name, f in {"eq": lambda x, y: x.half() == y, "ne": lambda x, y: y != x.half(), "lt": lambda x, y: torch.lt(x.half(), y),
                    "le": lambda x, y: torch.le(x.half(), y), "ge": lambda x, y: torch.ge(x.half(), y),
                    "floor": lambda x, y: x.half().floor(), "ceil": lambda x, y: (x.half().ceil(), y.half().trunc()),
                    "round": lambda x, y: torch.round(x.half()), "argmax": lambda x, y: x[:2].half().argmax(0)}.items():
        made[f"halves_jump_{name}"] = Case(f, near, opsets=range(11 if name == "round" else 7, 27))   # the last digit, which f16 lacks, decides
    for p in (300.0, -300.0, 2.0, 1.0, INF, -INF, 0.0, 0.5):   # of one element: no power overflows on the way
        one = lambda x, p=p: (torch.linalg.vector_norm(x, p), torch.linalg.vector_norm(x, p, dim=1), torch.norm(x, p, 1, True), torch.linalg.norm(x[0], p))
        made[f"norm_of_one_{p}"] = Case(one, [(torch.tensor([[v]]),) for v in (-8.5, 0.125, 1e30, 0.0, NAN, INF)])
        number = lambda x, p=p: (torch.linalg.vector_norm(x, p), torch.linalg.vector_norm(x, p, dim=0), torch.norm(x, p, -1, True),
                                 torch.linalg.norm(x, p, dim=0))   # overflows where a dimension is named
        made[f"norm_of_number_{p}"] = Case(number, [(torch.tensor(v),) for v in (-8.5, 0.125, 20.0, 0.0, NAN, INF)], opsets=range(7, 27))
    for factor in (0.0, 2):   # whole numbers, or nothing at all, of what a sum over nothing is added to
        made[f"addmm_nothing_times_{factor}"] = Case(lambda a, b, c, f=factor: torch.addmm(a, b, c, beta=f),
                                                     [(torch.tensor([[3, 1]]), torch.zeros(1, 0).long(), torch.zeros(0, 2).long())])
    made["split_of_nothing_by_0"] = Case(lambda x: torch.split(x, 0)[0] + 1, [(torch.zeros(0, 3),)])
    for count in (1, 2):     # all and any of numbers that are made u8 first, which one alone isn't
        for name, f in (("all", torch.all), ("any", torch.any)):
            numbers = [(torch.tensor(v[:count]).reshape(1, count),) for v in ([0.5, 0.5], [256.0, 1.0], [-0.5, 3.0], [0.0, 0.25], [-1.0, 7.0])]
            made[f"{name}_of_{count}_into_u8"] = Case(lambda x, f=f: f(x, dim=1, out=torch.empty(0, dtype=torch.uint8)), numbers)
    made["triplet_of_numbers"] = Case(lambda a, b, c: F.triplet_margin_loss(a, b, c), [tuple(torch.randn(3).unbind()) for _ in range(3)])
    return made


def written_nothing(x):
    y = x * 1
    y[-3:-3, 1:3, torch.tensor([[-1, 1], [-1, 1]])] = -1
    return y


class Stepped(torch.nn.Module):
    def forward(self, x: Tensor, n: Tensor) -> Tensor:
        return x[-7:int(n):2]


def unbatched_losses():
    """One vector of scores: a target without dimensions, or a vector of one."""
    r, reductions = torch.randn, ("none", "mean", "sum")
    made = {}
    for reduction in reductions:
        for name, shape in (("number", ()), ("vector", (1,))):
            def case(f, classes, opsets=range(9, 27), weights=True):
                sets = [(r(classes), torch.full(shape, t)) for t in (classes - 1, 0, classes // 2)]
                return Case(f, [(*s, torch.rand(classes)) for s in sets] if weights else sets, opsets=opsets)
            key, kind = f"{name}_{reduction}", {"reduction": reduction}
            for classes in (1, 4):
                label = f"{classes}_{key}"
                made[f"nll_{label}"] = case(lambda x, t, kind=kind: F.nll_loss(x, t, **kind), classes, weights=False)
                made[f"nll_weighed_{label}"] = case(lambda x, t, w, kind=kind: F.nll_loss(x, t, w, ignore_index=0, **kind), classes)
                made[f"multi_margin_{label}"] = case(lambda x, t, w, kind=kind: F.multi_margin_loss(x, t, weight=w, **kind), classes)
                if classes == 1 and shape:    # of one class: probabilities
                    for smoothing in (0.0, 0.1):
                        made[f"cross_entropy_{smoothing}_{label}"] = Case(
                            lambda x, t, w, kind=kind, s=smoothing: F.cross_entropy(x, t, w, label_smoothing=s, **kind),
                            [(r(1), torch.rand(1), torch.rand(1)) for _ in range(2)])
                    continue
                made[f"cross_entropy_{label}"] = case(lambda x, t, kind=kind: F.cross_entropy(x, t, **kind), classes, weights=False)
                made[f"cross_entropy_weighed_{label}"] = case(lambda x, t, w, kind=kind: F.cross_entropy(x, t, w, ignore_index=0, **kind), classes)
                if not shape:
                    made[f"cross_entropy_smoothed_{label}"] = case(lambda x, t, w, kind=kind: F.cross_entropy(x, t, w, ignore_index=0, label_smoothing=0.1, **kind), classes)
            made[f"multi_margin_row_{key}"] = Case(lambda x, t, kind=kind: F.multi_margin_loss(x, t, **kind),
                                                   [(r(1, 4), torch.full(shape, t)) for t in (3, 0)], opsets=range(9, 27))
            made[f"multi_margin_number_{key}"] = Case(lambda x, t, kind=kind: F.multi_margin_loss(x, t, **kind), [(r(()), torch.zeros(shape).long())], opsets=range(9, 27))
        for a, b, t in (((4,), (4,), ()), ((4,), (1,), ()), ((1, 4), (3, 4), (1,)), ((3, 4), (1, 4), (1,)), ((3, 4), (3, 4), (1,)), ((1, 4), (1, 4), (3,))):
            label = "_".join("x".join(map(str, shape)) or "number" for shape in (a, b, t))
            made[f"cosine_embedding_{label}_{reduction}"] = Case(
                lambda a, b, t, kind=kind: F.cosine_embedding_loss(a, b, t, margin=0.1, **kind),
                [(r(a), r(b), torch.full(t, v)) for v in (1, -1, 0)], opsets=range(9, 27))
        made[f"gaussian_nll_{reduction}"] = Case(lambda x, t, v, kind=kind: F.gaussian_nll_loss(x, t, v, full=True, **kind), [(r(4), r(4), torch.rand(4)) for _ in range(2)])
        made[f"multilabel_soft_margin_{reduction}"] = Case(lambda x, t, w, kind=kind: F.multilabel_soft_margin_loss(x, t, w, **kind),
                                                           [(r(4), torch.tensor([0., 1, 1, 0]), torch.rand(4)) for _ in range(2)])
        made[f"triplet_vectors_{reduction}"] = Case(lambda a, b, c, kind=kind: F.triplet_margin_loss(a, b, c, swap=True, **kind), [tuple(r(4) for _ in range(3)) for _ in range(2)])
    counts = (3, 0, 1, 5)   # of no rows, multi_margin_loss leaves its mean open
    made["cosine_embedding_named"] = Case(
        lambda a, b, t: (F.cosine_embedding_loss(a, b, t), F.cosine_embedding_loss(a, b, t, reduction="none")),
        [(r(n, 4), r(n, 4), torch.ones(1)) for n in counts], ("f32:n,4", "f32:n,4", "f32:1"), opsets=range(9, 27))
    made["multi_margin_named"] = Case(lambda x, t: F.multi_margin_loss(x, t, reduction="none"),
                                      [(r(n, 4), torch.randint(4, (n,))) for n in counts], ("f32:n,4", "i64:n"), opsets=range(9, 27))
    for reduction in reductions:
        made[f"cross_entropy_named_{reduction}"] = Case(lambda x, t, reduction=reduction: F.cross_entropy(x, t, reduction=reduction),
                                                        [(r(n, c, 4), torch.rand(n, c, 4))
                                                         for n, c in ((2, 3), (2, 0), (0, 3), (0, 0), (1, 1))], ("f32:n,c,4", "f32:n,c,4"))
    made["nll_of_none"] = Case(lambda x: F.nll_loss(x, torch.zeros(x.size(0), dtype=torch.int64), reduction="sum"), [(r(1),), (r(1),)], opsets=range(9, 27))
    return made


def circles():
    """Circular pads that crop: PyTorch's result is defined where what is left is as long as each margin."""
    made, r = {}, torch.randn
    for size in (3, 4, 5):
        for before in range(-size, size + 1):
            for after in range(-size, size + 1):
                left = size + min(before, 0) + min(after, 0)
                if min(before, after) >= 0 or max(before, after) <= 0:
                    continue
                pad = lambda x, pads=(before, after): F.pad(x, pads, mode="circular")
                if left >= max(before, after):
                    made[f"circle_{size}_{before}_{after}"] = Case(pad, [(r(1, 2, size),)])
                    made[f"circle_named_{size}_{before}_{after}"] = Case(pad, [(r(1, 2, size),), (r(2, 2, size + 3),)], ("f32:b,2,n",))
                elif size == 4:
                    # Traced with more, as PyTorch fails or gives what memory holds.
                    made[f"circle_refused_{before}_{after}"] = Case(pad, [(r(1, 2, 12),)], (f"f32:1,2,{size}",),
                                                                    refused="what a negative width leaves of a dimension must be at least")
    made["circle_2d"] = Case(lambda x: F.pad(x, (2, -1, -2, 3), mode="circular"), [(r(1, 2, 5, 4),), (r(1, 2, 6, 3),)], ("f32:1,2,n,m",))
    made["circle_2d_refused"] = Case(lambda x: F.pad(x, (2, -1, -2, 3), mode="circular"), [(r(1, 2, 9, 9),)], ("f32:1,2,4,4",),
                                     refused="what a negative width leaves of a dimension must be at least 3, but is 2")
    made["circle_computed"] = Case(lambda x: F.pad(x, (x.size(2) // 2, x.size(1) - 3), mode="circular"),
                                   [(r(1, 2, 6),), (r(1, 5, 4),), (r(1, 3, 1),)], ("f32:1,c,n",), opsets=range(9, 27))
    made["mean_of_padded"] = Case(lambda x: F.avg_pool2d(F.pad(x, (1, 1, 1, 1)), 2, 1, 1), [(r(1, 2, 4, 5),)])
    made["mean_of_padded_rounded_up"] = Case(lambda x: F.avg_pool2d(F.pad(x, (1, 2, 0, 1)), 3, 2, 0, ceil_mode=True), [(r(1, 2, 4, 5),)])
    made["circle_integers"] = Case(lambda x: F.pad(x, (2, -1), mode="circular"), [(torch.arange(8).reshape(1, 2, 4),)])
    made["circle_bools"] = Case(lambda x: F.pad(x, (-2, 2), mode="circular"), [(torch.arange(8).reshape(1, 2, 4) > 4,)])
    return made


def no_features():
    """Rows of no elements are normalized."""
    r = torch.rand
    sets = [(r(3, 4),), (r(3, 0),), (r(0, 4),), (r(0, 0),)]
    return {"no_features": Case(lambda x: F.layer_norm(x, [x.size(1)]), sets, ("f32:n,m",)),
            "no_features_native": Case(lambda x: torch.native_layer_norm(x, [x.size(1)], None, None, 1e-5)[0], sets, ("f32:n,m",))}


def empty_bags():
    """No index at all, or none that counts."""
    made = {}
    weight = torch.randn(6, 3)
    weight[4, 1] = NAN
    i, o = lambda *n: torch.tensor(n, dtype=torch.int64), lambda *n: torch.tensor(n, dtype=torch.int64)
    sets = [(i(1, 4, 2, 4), o(0, 2, 2)), (i(), o(0)), (i(), o(0, 0)), (i(4), o(0, 0, 1)), (i(2), o(0))]
    for mode in ("sum", "mean", "max"):
        for name, options in (("", {}), ("_padded", {"padding_idx": 4}), ("_last", {"include_last_offset": True})):
            given = [(index, torch.cat([offsets, torch.tensor([len(index)])]) if name == "_last" else offsets) for index, offsets in sets]
            made[f"empty_bags_{mode}{name}"] = Case(
                lambda index, offsets, mode=mode, options=options: F.embedding_bag(index, weight, offsets, mode=mode, **options),
                given, ("i64:n", "i64:k"), opsets=range(9, 27))
        made[f"empty_bags_{mode}_chosen"] = Case(lambda b, offsets, mode=mode: F.embedding_bag(b[b > 2], weight, offsets, mode=mode),
                                                 [(i(1, 5, 3), o(0, 1)), (i(1, 0, 2), o(0)), (i(4, 0), o(0))], ("i64:n", "i64:k"),
                                                 opsets=range(9, 27))
    return made


def cases():
    return (circles() | no_features() | empty_bags() | unbatched_losses() | found_at_random() | cropped_scatters() | logits()
            | slice_writes() | resizes() | circuits() | singles() | refusals() | never_run() | joined() | products_of_nothing())
