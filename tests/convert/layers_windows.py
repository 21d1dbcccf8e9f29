"""Convolutions, pools and resizing: arguments that OpInfo's samples lack, sizes that are named."""
import itertools
from typing import Optional

import torch
import torch.nn.functional as F
from torch import nn

from layer_cases import DTYPES, Case

IMAGE = "f32:n,3,h,w"


def images(*sizes, channels=3):
    return [(torch.randn(n, channels, h, w),) for n, h, w in sizes]


def cases():
    made = {}
    for arguments in [dict(padding=1), dict(stride=2, padding=(1, 2)), dict(dilation=2), dict(padding="same"), dict(padding="same", dilation=3), dict(padding="valid", stride=2)]:
        made[f"conv2d_{len(made)}"] = Case(nn.Conv2d(3, 6, (3, 4), **arguments), images((2, 9, 11), (1, 12, 10)), (IMAGE,))
    made["conv2d_groups_unbatched"] = Case(nn.Conv2d(4, 8, 3, groups=2, bias=False), [(torch.randn(4, 7, 8),)])
    made["conv3d"] = Case(nn.Conv3d(2, 3, 3, padding=1, stride=2), [(torch.randn(2, 2, 6, 7, 8),)], ("f32:n,2,d,h,w",))
    made["conv_f64"] = Case(nn.Conv2d(3, 4, 3, padding=1, stride=2).double(), [(torch.randn(2, 3, 6, 7).double(),)])
    for arguments in [dict(stride=2, padding=1, output_padding=1), dict(stride=3, groups=2), dict(dilation=3, output_padding=2),
                      dict(stride=2, dilation=3, padding=1, output_padding=2)]:
        made[f"conv_transpose2d_{len(made)}"] = Case(nn.ConvTranspose2d(4, 6, 3, **arguments), images((2, 5, 6), (1, 6, 4), channels=4), ("f32:n,4,h,w",))
    made["conv_transpose_i64"] = Case(lambda x, w: F.conv_transpose2d(x, w, stride=2, padding=1, output_padding=1, groups=2),
                                      [(torch.randint(-9, 9, (2, 4, 5, 4)), torch.randint(-9, 9, (4, 3, 3, 2)))], opsets=range(9, 27))
    made["conv_transpose_f64"] = Case(nn.ConvTranspose1d(4, 6, 3, stride=2, padding=1, dilation=2).double(), [(torch.randn(2, 4, 5).double(),)])
    made["fold_dilated"] = Case(lambda x: F.fold(x, (7, 8), (2, 3), dilation=(2, 1), padding=(1, 0), stride=(2, 1)), [(torch.randn(2, 12, 24),)])
    made["fold_unbatched"] = Case(lambda x: F.fold(x, (4, 5), (2, 2)), [(torch.randn(12, 12),)])
    places = lambda h, w: ((h + 2 - 3) // 2 + 1) * ((w - 3) + 1)   # of a fold to h by w
    made["fold_named"] = Case(lambda x, y: F.fold(x, (y.size(0), y.size(1)), (2, 3), dilation=(2, 1), padding=(1, 0), stride=(2, 1)),
                              [(torch.randn(2, 12, places(7, 8)), torch.randn(7, 8)), (torch.randn(1, 12, places(4, 9)), torch.randn(4, 9)),
                               (torch.full((1, 12, places(5, 3)), torch.inf), torch.randn(5, 3))],
                              ("f32:n,12,p", "f32:h,w"), opsets=range(9, 27))
    made["fold_named_double"] = Case(lambda x, y: F.fold(x, (y.size(0), 4), 2, stride=2),
                                     [(torch.randn(12, 6, dtype=torch.float64), torch.randn(6)),
                                      (torch.randn(12, 4, dtype=torch.float64), torch.randn(5))],
                                     ("f64:12,p", "f32:h"), opsets=range(9, 27))
    made["fold_overlap_add"] = Case(lambda x: F.fold(x, (1, 16 + 4 * (x.size(-1) - 1)), (1, 16), stride=(1, 4)).squeeze(1).squeeze(1),
                                    [(torch.randn(2, 16, 5),), (torch.randn(1, 16, 9),), (torch.randn(3, 16, 1),)],
                                    ("f32:n,16,frames",), opsets=range(9, 27))
    made["unfold_named"] = Case(lambda x: F.unfold(x, (2, 3), dilation=(2, 1), padding=(1, 0), stride=(2, 1)), images((2, 9, 11), (1, 6, 7)), (IMAGE,), opsets=range(10, 27))
    for name, spec in (("channels", "f32:n,c,9,11"), ("all", "f32:n,c,h,w")):
        made[f"unfold_named_{name}"] = Case(lambda x: F.unfold(x, (2, 3), padding=(1, 0), stride=(2, 1)),
                                            [(torch.randn(2, 3, 9, 11),), (torch.randn(1, 5, 9, 11),)], (spec,),
                                            opsets=range(7 if name == "channels" else 10, 27))
    made["unfold_named_unbatched"] = Case(lambda x: F.unfold(x, (2, 3)), [(torch.randn(3, 9, 11),), (torch.randn(5, 9, 11),)], ("f32:c,9,11",))
    for kernel, stride, padding, ceil in [(3, 2, 1, True), (3, 2, 1, False), (2, 2, 0, True), (2, None, 1, True), (3, 1, 0, True)]:
        for kind in ("max", "avg", "avg_uncounted"):
            if kind == "max":
                layer = nn.MaxPool2d(kernel, stride, padding, ceil_mode=ceil)
            else:
                layer = nn.AvgPool2d(kernel, stride, padding, ceil_mode=ceil, count_include_pad=kind == "avg")
            named = not ceil or padding + (stride or kernel) <= kernel
            made[f"{kind}_pool2d_{kernel}_{stride}_{padding}_{ceil}"] = Case(layer, images((2, 8, 9), (1, 11, 7)) if named else images((2, 8, 9)), (IMAGE,) if named else ())
    made["max_pool_indices_named"] = Case(lambda x: F.max_pool2d(x, 2, return_indices=True), images((2, 8, 9), (1, 5, 7)), (IMAGE,), opsets=range(8, 27))
    made["max_pool_dilated_indices"] = Case(lambda x: F.max_pool2d(x, 2, 1, 1, 2, return_indices=True), images((2, 8, 9)))
    made["as_strided_of_nothing"] = Case(lambda x: (x.as_strided((0,), (1,)), x.as_strided((2, 0), (0, 0)), x[:0].as_strided((0, 3), (3, 1))), [(torch.randn(2, 3),)])
    made["number_put_by_mask"] = Case(lambda x, m: x.index_put((m,), torch.tensor(1)), [(torch.randn(2, 3), torch.rand(2, 3) > 0.5)], opsets=range(9, 27))
    negative = [(-torch.rand(2, 3, 8, 9),)]   # zeros around count
    made["max_pool_behind_zeros"] = Case(lambda x: F.max_pool2d(F.pad(x, (1, 1, 1, 1)), 3, 2), negative)
    made["max_pool_padded_behind_zeros"] = Case(lambda x: F.max_pool2d(F.pad(x, (1, 1, 1, 1)), 3, 2, 1), negative)
    made["max_pool_behind_zeros_of_f64"] = Case(lambda x: F.max_pool2d(F.pad(x, (1, 1, 1, 1)).double(), 3, 2, 1), negative)
    made["max_pool_start_in_padding"] = Case(nn.MaxPool1d(2, 3, 1, ceil_mode=True), [(torch.randn(1, 2, n),) for n in (7,)])
    made["max_pool_i64"] = Case(lambda x: F.max_pool2d(x, 3, 2, 1, return_indices=True), [(torch.randint(-2**60, 2**60, (2, 3, 7, 8)),)])
    made["max_pool_u8"] = Case(lambda x: F.max_pool2d(x, 3, 2, 1), [(torch.randint(0, 255, (2, 3, 7, 8), dtype=torch.uint8),)])
    made["max_pool_i32"] = Case(lambda x: F.max_pool2d(x, 3, 2, 1), [(torch.randint(-2**31, 2**31 - 1, (2, 3, 7, 8), dtype=torch.int32),)])
    made["avg_pool_divisor"] = Case(nn.AvgPool2d(3, 2, 1, ceil_mode=True, divisor_override=2), images((2, 8, 9)))
    made["avg_pool_i64"] = Case(lambda x: F.avg_pool2d(x, 3, 2, 1, ceil_mode=True), [(torch.randint(-99, 99, (2, 3, 8, 9)),)])
    made["avg_pool_f64"] = Case(lambda x: F.avg_pool2d(x, 3, 2, 1, ceil_mode=True), [(torch.randn(2, 3, 8, 9).double(),)])
    made["adaptive_avg_all_named"] = Case(nn.AdaptiveAvgPool2d(1), images((2, 8, 9), (1, 5, 7)), (IMAGE,))
    made["adaptive_avg_one_side"] = Case(nn.AdaptiveAvgPool2d((1, None)), images((2, 8, 9), (1, 5, 9)), ("f32:n,3,h,9",))
    made["adaptive_avg_uneven"] = Case(nn.AdaptiveAvgPool2d((3, 4)), images((2, 8, 9)))
    made["adaptive_avg_even"] = Case(nn.AdaptiveAvgPool2d((4, 3)), images((2, 8, 9)))
    made["adaptive_max_uneven"] = Case(lambda x: F.adaptive_max_pool2d(x, (3, 4), return_indices=True), images((2, 8, 9)))
    made["adaptive_max_all_named"] = Case(lambda x: F.adaptive_max_pool2d(x, 1, return_indices=True), images((2, 8, 9), (1, 5, 7)), (IMAGE,))
    made["max_unpool"] = Case(lambda x: torch.ops.aten.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), (8, 7)), images((2, 8, 6)), opsets=range(9, 27))
    strides(made)
    resizes(made)
    return made


def written_as_a_whole(x):
    y = x + 1
    y.mul_(2)
    return y.as_strided((2, 3), (1, 2), 1)


def written_in_part(x):
    y = x + 1
    part = y[1:]
    part.mul_(2)
    return part.as_strided((2,), (1,), 0)


def copied_over(x):
    y = torch.zeros(3, 4)
    y.copy_(x.t())
    return y.as_strided((5,), (2,), 1)


# What as_strided reads lies where PyTorch puts it.
def strides(made):
    x = [(torch.randn(4, 3),)]
    for name, layer in {
            "transposed": lambda x: x.t().as_strided((2, 3), (1, 2), 1), "sum_of_transposed": lambda x: (x.t() + 1).as_strided((2, 3), (1, 2), 1),
            "sliced": lambda x: x[1:].as_strided((2, 3), (1, 2)), "sliced_from_0": lambda x: x[1:].as_strided((2, 3), (1, 2), 0),
            "selected": lambda x: x[:, 1].as_strided((4,), (2,)),
            "contiguous_slice": lambda x: x[2:].contiguous().as_strided((2, 2), (2, 1), 1), "contiguous_of_transposed": lambda x: x.t().contiguous().as_strided((2, 3), (1, 2), 1),
            "clone_of_transposed": lambda x: x.t().clone().as_strided((2, 3), (1, 2), 1), "reshape_of_transposed": lambda x: x.t().reshape(2, 6).as_strided((3, 4), (3, 1)),
            "expanded": lambda x: x[:, :1].expand(4, 5).as_strided((3, 2), (2, 4)), "cast_of_transposed": lambda x: x.t().double().as_strided((2, 3), (1, 2), 1),
            "twice": lambda x: x.as_strided((3, 2), (1, 4), 1).as_strided((2, 2), (3, 2)), "linear": lambda x: F.linear(x, torch.ones(6, 3)).t().as_strided((3, 2, 4), (6, 3, 1)),
            "overlapping_blocks": lambda x: x.as_strided((3, 6), (3, 1)),
            "part_of_split": lambda x: x.split(1, 1)[2].as_strided((3,), (3,)), "diagonal": lambda x: x.diagonal().as_strided((3,), (2,)),
            "written_as_a_whole": written_as_a_whole}.items():
        made[f"as_strided_{name}"] = Case(layer, x)
    made["as_strided_named"] = Case(lambda x: (x + 1).as_strided((2, 3), (1, 2), 1), [(torch.randn(4, 3),), (torch.randn(5, 3),)], ("f32:n,3",))
    made["as_strided_transposed_named"] = Case(lambda x: (x.t() + 1).as_strided((2, 3), (1, 2), 1), [(torch.randn(4, 3),), (torch.randn(5, 3),)], ("f32:n,3",))
    unknown = "it isn't known how what {} lies"
    made["as_strided_of_sorted"] = Case(lambda x: x.t().sort()[0].as_strided((2, 3), (1, 2)), x, refused=unknown.format("aten::sort gives"))
    made["as_strided_written_in_part"] = Case(written_in_part, x, refused=unknown.format("was written in place"))
    made["as_strided_copied_over"] = Case(copied_over, x)
    made["as_strided_scatter"] = Case(lambda x: torch.as_strided_scatter(x[1:], torch.zeros(2, 2), (2, 2), (3, 2), 4), x, opsets=range(9, 27))
    made["as_strided_scatter_transposed"] = Case(lambda x: torch.as_strided_scatter(x.t(), torch.zeros(2, 2), (2, 2), (3, 2), 4), x,
                                                 refused="doesn't lie there in order | needs Scatter")


class ByFactor(nn.Module):
    """By a factor that is an input."""

    def __init__(self, mode: str, corners: Optional[bool], antialias: bool = False, recomputes: bool = False):
        super().__init__()
        self.mode, self.corners, self.antialias, self.recomputes = mode, corners, antialias, recomputes

    def forward(self, x, factor: float):
        return F.interpolate(x, scale_factor=factor, mode=self.mode, align_corners=self.corners, antialias=self.antialias,
                             recompute_scale_factor=self.recomputes)


def resizes_at_run_time():
    """By sizes and factors that only the running model knows, with an infinite pixel in one of the images. To a width of 1, PyTorch's
    antialiasing gives the first row in each row: a defect of its kernel."""
    made, since9 = {}, range(9, 27)
    infinite = torch.randn(1, 3, 30, 5)
    infinite[0, 0, 20, 2] = torch.inf
    sizes = images((2, 9, 11), (1, 4, 3), (1, 17, 12), (2, 1, 2)) + [(infinite,)]
    to_sizes = [(x, torch.empty(h, w)) for x, in sizes for h, w in ((9, 11), (1, 1), (5, 23), (30, 2))]
    by_factors = [(x, factor) for x, in sizes for factor in (1.0, 0.53, 1.2, 2.7, 3.0) if factor > 0.6 or x.shape[3] > 3]
    near = lambda inputs, also_infinite: [each for each in inputs if also_infinite or each[0] is not infinite]
    for mode, corners in itertools.product(("bilinear", "bicubic"), (False, True)):
        for antialias in (True, False):
            label = f"resize_{'aa_' if antialias else ''}{mode}_{corners}"
            made[label + "_to_named"] = Case(
                lambda x, y, m=mode, c=corners, a=antialias: F.interpolate(x, size=y.shape, mode=m, align_corners=c, antialias=a),
                near(to_sizes, antialias and mode == "bilinear"), (IMAGE, "f32:height,width"), opsets=since9)
            for recomputes in (False, True):
                made[label + ("_recomputed" if recomputes else "_factor") + "_named"] = Case(
                    ByFactor(mode, corners, antialias, recomputes),
                    near(by_factors, antialias and mode == "bilinear"), (IMAGE, "f64"), script=True, opsets=since9)
        made[f"resize_{mode}_{corners}_f64_named"] = Case(ByFactor(mode, corners), [(x.double(), f) for x, f in near(by_factors, False)],
                                                          ("f64:n,3,h,w", "f64"), script=True, opsets=since9)
    for exact, dtype in itertools.product((False, True), (torch.float64, torch.float32)):
        mode, word = "nearest-exact" if exact else "nearest", DTYPES[dtype]
        large = torch.randn(1, 3, 70, 61)   # another kernel's
        made[f"resize_{mode}_{word}_to_named".replace("-", "_")] = Case(
            lambda x, y, m=mode: F.interpolate(x, size=y.shape, mode=m),
            [(x.to(dtype), y) for x, y in [*to_sizes, (large[:, :, :14, :4], torch.empty(2, 82)),
                                           *((large, torch.empty(*size)) for size in ((97, 83), (140, 61), (31, 122)))]],
            (f"{word}:n,3,h,w", "f32:height,width"), opsets=since9)
        for factor in (1.0, 1.37, 2.0, 0.7):
            made[f"resize_{mode}_{word}_{factor}_named".replace("-", "_")] = Case(
                lambda x, m=mode, f=factor: F.interpolate(x, mode=m, scale_factor=f),
                [(x.to(dtype),) for x in (torch.randn(2, 3, 9, 11), torch.randn(1, 3, 2, 2), large)], (f"{word}:n,3,h,w",),
                opsets=range(7 if factor in (1, 2) and word == "f32" else 9, 27))
        made[f"resize_{mode}_{word}_twice_named".replace("-", "_")] = Case(
            lambda x, m=mode: F.interpolate(x, size=(2 * x.shape[2], x.shape[3]), mode=m),
            [(x.to(dtype),) for x in (torch.randn(2, 3, 9, 11), large)], (f"{word}:n,3,h,w",), opsets=since9)
    made["resize_trilinear_named"] = Case(lambda x, y: F.interpolate(x, size=y.shape, mode="trilinear", align_corners=True),
                                          [(torch.randn(1, 2, 3, 4, 5), torch.empty(5, 2, 6)), (torch.randn(1, 2, 6, 3, 2), torch.empty(2, 3, 9))],
                                          ("f32:1,2,d,h,w", "f32:x,y,z"), opsets=since9)
    return made


def resizes(made):
    for mode, corners in [("nearest", None), ("nearest-exact", None), ("bilinear", False), ("bilinear", True), ("bicubic", False), ("bicubic", True)]:
        for name, arguments in {"size": dict(size=(7, 5)), "down": dict(size=(3, 2)), "factor": dict(scale_factor=2.0), "factors": dict(scale_factor=(1.7, 0.6)),
                                "recomputed": dict(scale_factor=(1.7, 0.6), recompute_scale_factor=True), "one": dict(size=(1, 1)), "third": dict(scale_factor=1 / 3)}.items():
            layer = lambda x, m=mode, c=corners, a=arguments: F.interpolate(x, mode=m, align_corners=c, **a)
            label = f"resize_{mode}_{corners}_{name}".replace("-", "_")
            made[label] = Case(layer, images((2, 5, 6)))
            if name in ("factor", "factors"):
                made[label + "_named"] = Case(layer, images((2, 5, 6), (1, 9, 7)), (IMAGE,),
                                              opsets=range(7 if "nearest" in mode and name == "factor" else 9, 27))
            if name == "size":
                made[label + "_named"] = Case(layer, images((2, 5, 6), (1, 9, 7)), (IMAGE,), opsets=range(9, 27))
    for mode, corners, size in itertools.product(("bilinear", "bicubic"), (False, True), ((3, 2), (11, 13), (4, 12))):
        made[f"resize_aa_{mode}_{corners}_{size[0]}"] = Case(
            lambda x, m=mode, c=corners, s=size: F.interpolate(x, mode=m, size=s, align_corners=c, antialias=True), images((2, 7, 6)))
    made["resize_aa_factor"] = Case(lambda x: F.interpolate(x, mode="bilinear", scale_factor=(0.4, 0.7), antialias=True), images((2, 9, 11)))
    for mode, factor in itertools.product(("bilinear", "bicubic"), ((1.05, 2.0), (0.6, 1.1), (1.05, 1.05))):
        made[f"resize_aa_{mode}_stays_{factor[0]}_{factor[1]}"] = Case(
            lambda x, m=mode, f=factor: F.interpolate(x, mode=m, scale_factor=f, antialias=True), images((2, 9, 5)))
    made["resize_aa_cubic_named"] = Case(lambda x: F.interpolate(x, mode="bicubic", scale_factor=0.5, antialias=True),
                                         images((2, 9, 11), (1, 16, 20)), (IMAGE,), opsets=range(9, 27))
    made.update(resizes_at_run_time())
    for mode, rank, factor in (("linear", 3, 0.7), ("linear", 3, 2.3), ("bilinear", 4, 0.7), ("bicubic", 4, 5.7), ("trilinear", 5, 1.3)):
        made[f"resize_{mode}_corners_{factor}_named"] = Case(
            lambda x, mode=mode, factor=factor: F.interpolate(x, scale_factor=factor, mode=mode, align_corners=True),
            [(torch.randn(2, 2, *(n + i for i in range(rank - 2))),) for n in (7, 4, 11)], ("f32:2,2," + "hwd"[:rank - 2].replace("", ",").strip(","),),
            opsets=range(9, 27))
    made["resize_linear_f64"] = Case(lambda x: F.interpolate(x, mode="linear", size=7, align_corners=True), [(torch.randn(2, 3, 5).double(),)])
    made["resize_trilinear"] = Case(lambda x: F.interpolate(x, mode="trilinear", scale_factor=(2, 1.5, 0.5)), [(torch.randn(2, 3, 5, 4, 6),)])
    made["resize_nearest_u8"] = Case(lambda x: F.interpolate(x, size=(7, 9)), [(torch.randint(0, 255, (2, 3, 5, 4), dtype=torch.uint8),)])
    made["resize_to_other"] = Case(lambda x, y: F.interpolate(x, size=y.shape[-2:], mode="bilinear"),
                                   [(torch.randn(1, 2, 4, 5), torch.randn(1, 2, 7, 8)), (torch.randn(1, 2, 6, 5), torch.randn(1, 2, 3, 9))],
                                   ("f32:1,2,h,w", "f32:1,2,height,width"), opsets=range(9, 27))
