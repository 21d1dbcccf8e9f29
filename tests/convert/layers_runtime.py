"""What only the running model knows: dimensions, lengths, widths and factors that are ints and floats among its inputs."""

import importlib.util
import itertools
import pathlib
import tempfile

import torch
import torch.nn.functional as F
from torch import nn

from layer_cases import Case

SOURCES = tempfile.TemporaryDirectory()   # torch.jit.script reads them
NUMBERS = itertools.count()


def scripted(expression, arguments):
    """A module whose forward returns the expression; arguments are "x, d: int"."""
    lines = f"class Scripted(nn.Module):\n    def forward(self, {arguments}):\n        return {expression}\n"
    file = pathlib.Path(SOURCES.name) / f"scripted_{next(NUMBERS)}.py"
    file.write_text(f"import torch\nfrom torch import nn\nimport torch.nn.functional as F\n{lines}")
    spec = importlib.util.spec_from_file_location("scripted", file)
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded.Scripted()


class UnknownRank(nn.Module):
    def forward(self, x, n: int):
        for _ in range(n):
            x = x.unsqueeze(0)
        return x


class SqueezedThenRead(nn.Module):
    def forward(self, x, d: int):
        y = x.squeeze(d) * 2
        return y.sum(), y.flatten(0) + 1


class Branching(nn.Module):
    def forward(self, x, n: int, scale: float, flag: bool):
        if flag:
            x = x * scale
        return x[:n], x.repeat(n, 1), torch.full([n], scale)


def into_first_rows(x):
    rows = x[:3] * 0
    first = rows[0]   # is left alone where out= resizes
    torch.mul(x, 2, out=rows)
    return rows * 1, first * 1


def along(x, count=None):
    """Runs for each dimension, counted from the front and from the end."""
    count = count or x.dim()
    return [(x, d) for d in range(-count, count)]


def cases():
    made = {}
    # One window over sizes that only the model knows. Maxima of NaN are open (tests/corpus/open_values.py).
    images = [(torch.randn(2, 3, 4, 5),), (torch.randn(1, 3, 7, 2),), (torch.tensor([[1.0, float("nan")], [2, 3]]).expand(1, 3, 2, 2).clone(),)]
    for name, expression, spec in (("avg", "F.avg_pool2d(x, x.size()[2:])", "f32:n,3,h,w"), ("max", "F.max_pool2d(x, x.size()[2:])", "f32:n,3,h,w"),
                                   ("avg_one_open", "F.avg_pool2d(x, [x.size(2), x.size(3)], ceil_mode=True)", "f32:n,c,h,w"),
                                   ("avg_square", "F.avg_pool2d(x, x.size(2))", "f32:n,3,h,h"), ("max_square", "F.max_pool2d(x, x.size(2), 1)", "f32:n,3,h,h")):
        given = [(torch.randn(2, 3, 4, 4),), (torch.randn(1, 3, 6, 6),)] if "square" in name else images[:2] if name == "max" else images
        made[f"whole_{name}"] = Case(scripted(expression, "x"), given, (spec,), script=True)
    made["whole_1d"] = Case(scripted("F.avg_pool1d(x, x.size(2)), F.max_pool1d(x, x.size(2)), F.max_pool1d(x.double(), x.size(2)), F.avg_pool1d(x.double(), x.size(2))", "x"),
                            [(torch.randn(2, 3, 4),), (torch.randn(1, 3, 1),)], ("f32:n,3,l",), script=True)
    made["whole_3d"] = Case(scripted("F.avg_pool3d(x, x.size()[2:]), F.max_pool3d(x, x.size()[2:]), F.avg_pool3d(x.double(), x.size()[2:])", "x"),
                            [(torch.randn(2, 3, 4, 2, 5),), (torch.randn(1, 3, 1, 2, 3),)], ("f32:n,3,d,h,w",), script=True)
    made["whole_unbatched"] = Case(scripted("F.avg_pool2d(x, x.size()[1:]), F.max_pool2d(x, x.size()[1:]), F.avg_pool2d(x.half(), x.size()[1:])", "x"),
                                   [(torch.randn(3, 4, 5),), (torch.randn(3, 2, 1),)], ("f32:3,h,w",), script=True)
    # 2 n + 3 is never 1, so the rank is known.
    longer = lambda x: torch.cat([x, x, x[:1].expand(3, -1)], 0)
    made["squeeze_never_one"] = Case(lambda x: (longer(x)[None, :, None].squeeze()[2:], longer(x).squeeze(0)[1:, 1], longer(x)[:, None].squeeze((0, 1)) @ torch.ones(4)),
                                     [(torch.randn(2, 4),), (torch.randn(1, 4),), (torch.randn(5, 4),)], ("f32:n,4",), opsets=range(8, 27))
    x = torch.randn(2, 3, 4)
    same = torch.randn(3, 3, 3)

    def dimension(name, expression, opsets=range(11, 27), inputs=None, arguments="x, d: int", specs=("f32:n,3,4", "i64"), **others):
        made[f"dimension_{name}"] = Case(scripted(expression, arguments), inputs or along(x), specs, script=True, opsets=opsets, **others)

    # Before opset 11 both branches of an If give the same sizes.
    for name, expression in (("sum", "x.sum(d)"), ("sum_kept", "x.sum(d, keepdim=True)"), ("mean", "x.mean([d])"),
                             ("amax", "x.amax(d)"), ("argmax", "x.argmax(d)"), ("all", "(x > 0).all(d)"), ("select", "x.select(d, 1)"),
                             ("cat", "torch.cat([x, x + 1], d)"), ("narrow", "x.narrow(d, 0, 2)"), ("transpose", "x.transpose(d, 0)"),
                             ("norm", "x.norm(2, d)"), ("var", "x.var(d)"), ("max", "x.max(d)")):
        dimension(name, expression)
    dimension("flip", "x.flip(d)", range(10, 27))
    dimension("cumsum", "x.cumsum(d)", range(9, 27))
    dimension("softmax", "x.softmax(d)", range(7, 27))
    dimension("log_softmax", "F.log_softmax(x, d)", range(7, 27))
    dimension("sum_of_cubes", "x.sum(d)", range(7, 27), along(same), specs=("f32:3,3,3", "i64"))
    dimension("softmax_of_cubes", "x.softmax(d)", range(7, 27), along(same), specs=("f32:3,3,3", "i64"))
    dimension("of_one", "x.cumsum(d)", range(9, 27), [(x[0, 0], 0), (x[0, 0], -1)], specs=("f32:n", "i64"))
    dimension("of_none", "x.sum(d)", range(7, 27), [(x[0, 0, 0], 0), (x[0, 0, 0], -1)], specs=("f32:scalar", "i64"))
    dimension("two", "x.transpose(a, b)", range(11, 27), [(x, a, b) for a in (-3, 0, 1, 2) for b in (-1, 0, 1, 2)], "x, a: int, b: int", ("f32:n,3,4", "i64", "i64"))
    dimension("diagonal", "x.diagonal(0, a, b)", range(7, 27), [(same, a, b) for a in (0, 1, 2) for b in (0, 1, 2) if a != b], "x, a: int, b: int", ("f32:3,3,3", "i64", "i64"))
    dimension("unsqueeze", "x.unsqueeze(d)", range(11, 27), along(x, 4))
    dimension("stack", "torch.stack([x, x + 1], d)", range(11, 27), along(x, 4))
    dimension("of_item", "x.sum(int(d.item()))", range(11, 27), [(x, torch.tensor([d])) for d in range(-3, 3)], "x, d", ("f32:n,3,4", "i64:1"))
    dimension("index_select", "x.index_select(d, i)", range(11, 27), [(x, torch.tensor([1, 0]), d) for d in range(-3, 3)], "x, i, d: int", ("f32:n,3,4", "i64:2", "i64"))
    dimension("gather", "x.gather(d, i)", range(9, 27), [(x, torch.randint(2, (2, 3, 4)), d) for d in range(-3, 3)], "x, i, d: int", ("f32:n,3,4", "i64:n,3,4", "i64"))
    # ONNX Runtime runs an If of unknown rank from opset 13 on.
    thin = torch.randn(2, 1, 3, 1)
    dimension("squeeze", "x.squeeze(d)", range(13, 27), along(thin), specs=("f32:2,1,3,1", "i64"))
    dimension("squeeze_nothing", "x.squeeze(d)", range(7, 27), along(x), specs=("f32:2,3,4", "i64"))
    dimension("squeeze_ones", "x.squeeze(d)", range(7, 27), along(torch.randn(1, 1)), specs=("f32:1,1", "i64"))
    dimension("squeeze_named", "x.squeeze(d)", range(13, 27), along(x) + along(x[:1]))
    # Operands of several ranks: the dimension is one of the result's. Those of tile are counts.
    row = torch.randn(3)
    dimension("cosine_similarity", "torch.cosine_similarity(y, x, d)", range(11, 27), [(row, x[:, :, 0], d) for d in (-2, -1, 0, 1)], "y, x, d: int", ("f32:3", "f32:n,3", "i64"))
    dimension("vecdot", "torch.linalg.vecdot(y, x, dim=d)", range(11, 27), [(row, x[:, :, 0], d) for d in (-2, -1, 0, 1)], "y, x, d: int", ("f32:3", "f32:n,3", "i64"))
    dimension("cat_after_nothing", "torch.cat([torch.zeros([0]), x, x], d)", range(11, 27))
    made["tile_named"] = Case(lambda x: x.tile([x.size(0), 2]), [(torch.randn(n, 3),) for n in (1, 2, 3, 5)], ("f32:n,3",), opsets=range(7, 27))
    made["tile_by_input"] = Case(scripted("x.tile([d, 2])", "x, d: int"), [(x[0], d) for d in (1, 2, 3, 0)], ("f32:n,4", "i64"), script=True, opsets=range(7, 27))
    for size in ("3", "n"):   # the trace's size, and any
        made[f"out_under_view_{size}"] = Case(into_first_rows, [(torch.randn(3, 4),)], (f"f32:{size},4",), refused="may change the sizes")
    made["squeezed_then_read"] = Case(SqueezedThenRead(), along(thin), ("f32:2,1,3,1", "i64"), script=True, opsets=range(11, 27))
    made["cosine_of_two_names"] = Case(lambda x, y: torch.cosine_similarity(x, y, 0), [(torch.randn(n, 4), torch.randn(m, 4)) for n, m in ((2, 2), (3, 1), (1, 5))],
                                       ("f32:n,4", "f32:m,4"), opsets=range(8, 27))
    classes = torch.tensor([[0, 2], [1, 1]])
    made["one_hot_by_number"] = Case(scripted("F.one_hot(x, n)", "x, n: int"), [(classes, n) for n in (3, 7, -1)] + [(classes[:0], 4)],
                                     ("i64:m,2", "i64"), script=True, opsets=range(9, 27))
    made["softplus_by_factors"] = Case(scripted("F.softplus(x, b, t)", "x, b: float, t: float"), [(x[0] * 4, b, t) for b, t in ((1.0, 20.0), (2.5, 3.0), (0.3, 0.5))],
                                       ("f32:n,4", "f64", "f64"), script=True, opsets=range(9, 27))
    # The deviation is too small to show.
    made["normal_in_place"] = Case(lambda x: (torch.zeros_like(x).normal_(1.5, 1e-30), x.clone().normal_(-2.0, 1e-30) + x),
                                   [(torch.randn(n, 3),) for n in (2, 5)], ("f32:n,3",), runs=range(7, 22))
    made["output_of_unknown_rank"] = Case(UnknownRank(), [(x, n) for n in (0, 1, 3)], ("f32:n,3,4", "i64"), script=True)

    # ---- Numbers among the inputs
    made["numbers_as_inputs"] = Case(Branching(), [(x[0], 2, 0.5, True), (x[0], 3, -1.25, False), (x[0], 0, 3.0, True)],
                                     ("f32:n,4", "i64", "f64", "bool"), script=True, opsets=range(10, 27))
    made["window_by_item"] = Case(scripted("torch.hann_window(int(n.item()), periodic=True)", "n"),
                                  [(torch.tensor(n),) for n in (0, 1, 2, 7)], ("i64:scalar",), script=True, opsets=range(9, 27))

    # ---- Lengths, widths and factors
    signal = [(torch.randn(n),) for n in (8, 1, 2, 5, 400)]
    for name in ("hann", "hamming", "blackman", "bartlett", "kaiser"):
        for periodic in (True, False):
            made[f"{name}_window_{periodic}"] = Case(
                lambda x, name=name, periodic=periodic: x * getattr(torch, f"{name}_window")(x.size(0), periodic=periodic), signal,
                ("f32:n",), opsets=range(9, 27))
    scalars = [(x, 2.0), (x, -0.5), (x, 0.0)]
    made["alpha"] = Case(scripted("torch.add(x, x * x, alpha=s), torch.sub(x, x * x, alpha=s), torch.rsub(x, x * x, alpha=s)",
                                  "x, s: float"), scalars, ("f32:n,3,4", "f64"), script=True)
    a = torch.randn(2, 3, 5)
    a[0, 0, 0] = float("nan")   # not read where beta is 0
    products = [(a, torch.randn(2, 3, 4), torch.randn(2, 4, 5), beta, alpha) for beta, alpha in ((2.0, 0.5), (0.0, 1.0), (1.0, -1.0))]
    of_products = "a, b, c, beta: float, alpha: float"
    for name, expression in (("baddbmm", "torch.baddbmm(a, b, c, beta=beta, alpha=alpha)"),
                             ("addmm", "torch.addmm(a[0], b[0], c[0], beta=beta, alpha=alpha)"),
                             ("addbmm", "torch.addbmm(a[0], b, c, beta=beta, alpha=alpha)"),
                             ("addmv", "torch.addmv(a[0, :, 0], b[0], c[0, :, 0], beta=beta, alpha=alpha)"),
                             ("addr", "torch.addr(a[0], b[0, :, 0], c[0, 0], beta=beta, alpha=alpha)")):
        made[f"{name}_of_factors"] = Case(scripted(expression, of_products), products, ("f32:2,3,5", "f32:2,3,4", "f32:2,4,5", "f64", "f64"), script=True, opsets=range(9, 27))
    for mode in ("constant", "reflect", "replicate", "circular"):
        widths = [(x, 0, 1), (x, 2, 2), (x, -1, 2), (x, 1, -2), (x, -1, -1)]
        made[f"pad_by_{mode}"] = Case(scripted(f"F.pad(x, [a, b], mode='{mode}')", "x, a: int, b: int"), widths, ("f32:n,3,4", "i64", "i64"), script=True, opsets=range(9, 27))
    made["pad_of_integers"] = Case(scripted("F.pad(x, [a, 1, 0, b], mode='replicate')", "x, a: int, b: int"),
                                   [(torch.arange(24).reshape(1, 2, 3, 4), 1, 2), (torch.arange(24).reshape(1, 2, 3, 4), -2, 0)],
                                   ("i64:1,2,3,w", "i64", "i64"), script=True, opsets=range(9, 27))

    # ---- Sizes that needn't divide
    special = torch.randn(2, 3, 7, 11)
    special[0, 0, 0, 0], special[0, 1, 3, 4], special[1, 0, 6, 10] = float("inf"), float("nan"), -float("inf")
    images = [(torch.randn(2, 3, 9, 10),), (special,), (torch.randn(1, 3, 1, 2),), (torch.randn(1, 3, 3, 5),), (torch.randn(1, 3, 20, 31),)]
    finite = [images[0], *images[2:]]
    made["adaptive_average_of_named"] = Case(lambda x: F.adaptive_avg_pool2d(x, (3, 5)), images, ("f32:n,3,h,w",), opsets=range(9, 27))
    made["adaptive_average_of_one_named"] = Case(lambda x: F.adaptive_avg_pool2d(x, (None, 4)), images, ("f32:n,3,h,w",), opsets=range(9, 27))
    made["adaptive_max_of_named"] = Case(lambda x: F.adaptive_max_pool2d(x, (3, 5)), finite, ("f32:n,3,h,w",), opsets=range(9, 27))
    made["adaptive_places_of_named"] = Case(lambda x: F.adaptive_max_pool2d(x, (3, 5), return_indices=True), finite, ("f32:n,3,h,w",), opsets=range(9, 27))
    made["adaptive_places_of_one_named"] = Case(lambda x: F.adaptive_max_pool2d(x, (None, 4), return_indices=True), finite, ("f32:n,3,h,w",), opsets=range(9, 27))
    made["adaptive_places_without_images"] = Case(lambda x: F.adaptive_max_pool2d(x, (3, 5), return_indices=True),
                                                  [(torch.randn(n, 3, 7, 9),) for n in (2, 0)], ("f32:n,3,h,w",), opsets=range(9, 27))
    made["adaptive_max_of_volumes"] = Case(lambda x: F.adaptive_max_pool3d(x, (2, 3, 2), return_indices=True),
                                           [(torch.randn(1, 2, 5, 4, 7),), (torch.randn(1, 2, 2, 3, 1),)], ("f32:1,2,d,h,w",),
                                           opsets=range(9, 27))
    made["blocks_of_named"] = Case(lambda x, y, z: torch.block_diag(x, y, z), [(torch.randn(2, 3), torch.randn(4), torch.randn(1, 2)),
                                                                               (torch.randn(1, 1), torch.randn(2), torch.randn(3, 5))],
                                   ("f32:n,m", "f32:k", "f32:i,j"), opsets=range(9, 27))
    for r, again in ((1, False), (2, False), (2, True), (3, False), (3, True)):
        made[f"combinations_{r}_{again}"] = Case(lambda x, r=r, again=again: torch.combinations(x, r, again),
                                                 [(torch.randn(n),) for n in (5, 3, 1, 2)], ("f32:n",), opsets=range(9, 27))
    made["sums_to_bool"] = Case(
        lambda x: (x.sum(-1, dtype=torch.bool), x.sum(dtype=torch.bool), x.prod(-1, dtype=torch.bool), x.prod(dtype=torch.bool)),
        [(torch.tensor([[0.0, 0.5], [2, float("nan")], [0, 0]]),), (torch.zeros(2, 0),), (torch.ones(1, 4),)], ("f32:n,m",))
    return made
