"""Calls that PyTorch takes, one argument of which check_arguments.py changes at a time: name, with overload, and all arguments."""
import torch


def numbers(*sizes):
    return torch.rand(*sizes)


def planes(dims, size=8):
    return numbers(1, 4, *[size] * dims)


def convolutions():
    for dims in (1, 2, 3):
        kernel = numbers(4, 4, *[3] * dims)
        ones, zeros = [1] * dims, [0] * dims
        yield f"conv{dims}d", [planes(dims), kernel, None, ones, zeros, ones, 1]
        yield f"conv{dims}d.padding", [planes(dims), kernel, None, ones, "same", ones, 1]
        yield f"conv{dims}d.padding", [planes(dims), kernel, None, ones, "valid", ones, 1]
        yield f"conv_transpose{dims}d" + (".input" if dims > 1 else ""), [planes(dims), kernel, None, ones, zeros, zeros, 1, ones]
        yield f"conv_transpose{dims}d" + (".input" if dims > 1 else ""), [planes(dims), kernel, None, [2] * dims, ones, ones, 2, ones]
    kernel = numbers(4, 2, 3, 3)
    yield "conv2d", [planes(2)[0], kernel, numbers(4), [2, 1], [1, 1], [1, 2], 2]
    for transposed in (False, True):
        yield "convolution", [planes(2), kernel, None, [2, 2], [1, 1], [1, 1], transposed, [0, 0], 2]
        yield "_convolution", [planes(2), kernel, None, [2, 2], [1, 1], [1, 1], transposed, [0, 0], 2, False, False, True, True]
    yield "_convolution_mode", [planes(2), kernel, None, [1, 1], "same", [1, 1], 2]
    yield "conv_tbc", [numbers(8, 1, 4), numbers(3, 4, 4), numbers(4), 0]
    yield "im2col", [planes(2), [3, 3], [1, 1], [0, 0], [1, 1]]
    yield "im2col", [planes(2)[0], [2, 3], [2, 1], [1, 0], [2, 2]]
    yield "col2im", [numbers(1, 36, 36), [8, 8], [3, 3], [1, 1], [0, 0], [1, 1]]
    yield "col2im", [numbers(36, 9), [8, 8], [3, 3], [1, 1], [0, 0], [2, 2]]


def pools():
    for dims in (1, 2, 3):
        threes, ones, zeros, twos = [3] * dims, [1] * dims, [0] * dims, [2] * dims
        for x in (planes(dims), planes(dims)[0]):
            for stride, padding, ceil in ((ones, zeros, False), (twos, ones, True)):
                yield f"max_pool{dims}d", [x, threes, stride, padding, ones, ceil]
                yield f"max_pool{dims}d_with_indices", [x, threes, stride, padding, ones, ceil]
                yield f"avg_pool{dims}d", [x, threes, stride, padding, ceil, True] + ([None] if dims > 1 else [])
            yield f"adaptive_avg_pool{dims}d", [x, twos]
            yield f"adaptive_max_pool{dims}d", [x, twos]
    yield "max_pool2d", [planes(2), [3, 2], [], [1, 1], [1, 1], False]
    yield "avg_pool2d", [planes(2), [3, 2], [], [1, 1], False, True, 2]
    yield "avg_pool3d", [planes(3), [3, 3, 2], [], [1, 1, 1], False, True, 2]
    yield "max_unpool2d", [numbers(1, 4, 4, 4), torch.zeros(1, 4, 4, 4, dtype=torch.int64), [8, 8]]
    yield "max_unpool3d", [numbers(1, 4, 4, 4, 4), torch.zeros(1, 4, 4, 4, 4, dtype=torch.int64), [8, 8, 8], [2, 2, 2], [0, 0, 0]]


def resizes():
    for dims, linear in ((1, "linear1d"), (2, "bilinear2d"), (3, "trilinear3d")):
        size, scale, none = [16] * dims, [2.0] * dims, [None] * dims
        for nearest in (f"upsample_nearest{dims}d", f"_upsample_nearest_exact{dims}d"):
            yield nearest, [planes(dims), size, *none]
            yield nearest + ".vec", [planes(dims), size, None]
            yield nearest + ".vec", [planes(dims), None, scale]
        yield "upsample_" + linear, [planes(dims), size, False, *none]
        yield f"upsample_{linear}.vec", [planes(dims), size, True, None]
        yield f"upsample_{linear}.vec", [planes(dims), None, False, scale]
    for cubic in ("upsample_bicubic2d", "_upsample_bilinear2d_aa", "_upsample_bicubic2d_aa"):
        yield cubic, [planes(2), [16, 16], False, None, None]
        yield cubic + ".vec", [planes(2), None, False, [2.0, 2.0]]


def others():
    yield "group_norm", [planes(2), 2, None, None, 1e-5, True]
    yield "group_norm", [planes(1), 4, numbers(4), numbers(4), 1e-5, True]
    yield "native_group_norm", [planes(2), None, None, 1, 4, 64, 2, 1e-5]
    yield "layer_norm", [numbers(2, 4, 8), [4, 8], None, None, 1e-5, True]
    yield "unfold", [numbers(2, 8, 8), 1, 3, 1]
    yield "repeat", [numbers(2, 3), [2, 2]]
    yield "repeat", [numbers(3), [2, 1, 2]]
    yield "tile", [numbers(2, 3), [2, 2]]
    yield "repeat_interleave.self_int", [numbers(2, 3), 2, 1, None]
    for expand, rest in (("expand", [False]), ("broadcast_to", [])):
        yield expand, [numbers(2, 1, 3), [2, 4, 3], *rest]
        yield expand, [numbers(3, 1), [2, 3, 4], *rest]
        yield expand, [numbers(3, 1), [-1, -1], *rest]
    yield "pixel_shuffle", [planes(2), 2]
    yield "pixel_unshuffle", [planes(2), 2]
    yield "channel_shuffle", [planes(2), 2]


CALLS = [*convolutions(), *pools(), *resizes(), *others()]
