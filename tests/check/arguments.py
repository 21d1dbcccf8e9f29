"""Calls that PyTorch takes, one argument of which check_arguments.py changes at a time: name, with overload, and all arguments.
Numbers are changed in CALLS, numbers and sizes in OF_SIZES, dtypes in OF_DTYPES."""
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
    yield "multinomial", [numbers(2, 3) + 0.1, 2, False, None]
    yield "multinomial", [numbers(2, 3) + 0.1, 2, True, None]
    yield "pixel_shuffle", [planes(2), 2]
    yield "pixel_unshuffle", [planes(2), 2]
    yield "channel_shuffle", [planes(2), 2]


def indices(*sizes):
    return torch.zeros(*sizes, dtype=torch.int64)


def of_sizes():
    yield "linear", [numbers(2, 3), numbers(4, 3), None]
    yield "linear", [numbers(5, 2, 3), numbers(4, 3), numbers(4)]
    yield "bilinear", [numbers(2, 3), numbers(2, 4), numbers(5, 3, 4), numbers(5)]
    yield "narrow", [numbers(3, 4), 0, 1, 2]
    yield "narrow_copy", [numbers(3, 4), 1, -2, 2]
    yield "expand", [numbers(1, 3), [2, 3]]
    yield "expand_as", [numbers(1, 3), numbers(2, 3)]
    yield "split_with_sizes", [numbers(6, 2), [2, 4], 0]
    yield "cov", [numbers(2, 4)]
    yield "cov", [numbers(2, 4), 1, indices(4) + 1, numbers(4)]
    yield "diagflat", [numbers(0), -1]
    yield "unique_consecutive", [numbers(2, 3), True, True, 0]
    yield "unique_dim", [numbers(2, 3), 1]
    yield "repeat_interleave.Tensor", [indices(3)]
    yield "repeat_interleave.self_Tensor", [numbers(2, 3), indices(3), 1]
    yield "searchsorted.Tensor", [numbers(2, 3), numbers(2, 5)]
    yield "bucketize.Tensor", [numbers(2, 5), numbers(3)]
    yield "kthvalue", [numbers(2, 3), 2, 1]
    yield "topk", [numbers(2, 3), 2, 1]
    yield "index_put", [numbers(2, 3), [indices(4)], numbers(4, 3)]
    yield "nll_loss", [numbers(2, 3), indices(2), numbers(3), 1, -100]
    yield "nll_loss_nd", [numbers(2, 3, 4), indices(2, 4), None, 0, -100]
    yield "cross_entropy_loss", [numbers(2, 3, 4), indices(2, 4), numbers(3), 1, -100, 0.0]
    yield "linalg_det", [numbers(3, 3)]
    yield "block_diag", [[numbers(2, 3), numbers(2)]]
    yield "median.dim", [numbers(2, 3), 1]
    yield "select.int", [numbers(2, 3), 1, -3]
    yield "index_select", [numbers(2, 3), 1, indices(2)]
    yield "unbind.int", [numbers(2, 3), 1]
    yield "fill.Tensor", [numbers(2, 3), numbers(1)[0]]
    yield "slice_scatter", [numbers(4, 3), numbers(2, 3), 0, 1, 3, 1]
    yield "select_scatter", [numbers(4, 3), numbers(4), 1, -1]
    yield "diagonal_scatter", [numbers(4, 3), numbers(3), 0, 0, 1]
    yield "_pack_padded_sequence", [numbers(2, 3), indices(2) + 1, True]
    for write in ("index_copy", "index_add"):
        yield write, [numbers(2, 3), 1, indices(2), numbers(2, 2)]
    yield "stack", [[numbers(2, 3), numbers(2, 3)], 0]
    yield "instance_norm", [numbers(2, 4, 3), None, None, numbers(4), numbers(4), True, 0.1, 1e-5, False]
    yield "group_norm", [numbers(2, 4, 3), 2, numbers(4), numbers(4), 1e-5, True]


def of_dimensions():
    """Operators that count dimensions, and pads, which say how many they are."""
    x = numbers(2, 3, 4)
    for name in ("transpose.int", "swapaxes", "swapdims", "movedim.int"):
        yield name, [x, 0, 2]
    for name in ("unsqueeze", "squeeze.dim", "sort", "argsort", "cumsum", "cumprod",
                 "logcumsumexp", "max.dim", "any.dim"):
        yield name, [x, 2]
    for name in ("softmax.int", "log_softmax.int"):
        yield name, [x, 2]
    for name in ("sum.dim_IntList", "mean.dim", "std.dim", "var.dim"):
        yield name, [x, [0, 2]]
    yield "amax", [x, [0, 2]]
    yield "flip", [x, [0, 2]]
    yield "roll", [x, [1, 2], [0, 2]]
    yield "permute", [x, [2, 0, 1]]
    yield "flatten.using_ints", [x, 1, 2]
    yield "unflatten.int", [x, 2, [2, 2]]
    yield "unflatten.int", [x, 2, [-1, 2]]
    yield "stack", [[x, x], 3]
    yield "cat", [[x, x], 2]
    yield "diagonal", [x, 0, 1, 2]
    yield "diag_embed", [x, 0, 1, 3]
    yield "slice.Tensor", [x, 2, 1, 3, 1]
    yield "repeat_interleave.self_int", [x, 2, 2]
    yield "cosine_similarity", [x, numbers(3, 4), 2]
    yield "gather", [x, 2, indices(2, 3, 4)]
    yield "tile", [numbers(2, 3), [1, 1, 4]]
    yield "channel_shuffle", [numbers(1, 4, 2, 2), 2]
    for mode in ("constant", "reflect", "replicate", "circular"):
        for count in (1, 2, 3):
            for rank in range(1, 7):
                yield "pad", [numbers(*[3] * rank), [1] * (2 * count), mode]
    yield "constant_pad_nd", [numbers(2, 3), [1, 1, 1, 1], 0.5]


def of_dtypes():
    images, rows, weights = numbers(1, 4, 5, 5), numbers(2, 3), numbers(4)
    yield "linear", [rows, numbers(4, 3), numbers(4)]
    yield "linear", [rows, numbers(4, 3)]
    yield "conv1d", [images[0], numbers(3, 5, 3), numbers(3), [1], [0], [1], 1]
    yield "conv2d", [images, numbers(3, 4, 3, 3), numbers(3), [1, 1], [0, 0], [1, 1], 1]
    yield "convolution", [images, numbers(3, 4, 3, 3), None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1]
    yield "conv_transpose2d.input", [images, numbers(4, 3, 3, 3), None, [1, 1], [0, 0], [0, 0], 1, [1, 1]]
    yield "conv_tbc", [numbers(8, 1, 4), numbers(3, 4, 4), numbers(4), 0]
    yield "matmul", [numbers(5, 2, 3), numbers(3, 2)]
    yield "mm", [rows, numbers(3, 2)]
    yield "bmm", [numbers(5, 2, 3), numbers(5, 3, 2)]
    yield "mv", [rows, numbers(3)]
    yield "dot", [weights, weights]
    yield "vdot", [weights, weights]
    yield "inner", [rows, rows]
    yield "inner", [rows, numbers(1)[0]]
    yield "outer", [weights, weights]
    yield "addmm", [numbers(2, 2), rows, numbers(3, 2)]
    yield "addmv", [numbers(2), rows, numbers(3)]
    yield "addbmm", [numbers(2, 2), numbers(5, 2, 3), numbers(5, 3, 2)]
    yield "baddbmm", [numbers(5, 2, 2), numbers(5, 2, 3), numbers(5, 3, 2)]
    yield "tensordot", [rows, numbers(3, 2), [1], [0]]
    yield "chain_matmul", [[rows, numbers(3, 2), numbers(2, 2)]]
    yield "linalg_multi_dot", [[rows, numbers(3, 2), numbers(2, 2)]]
    yield "linalg_vecdot", [rows, rows]
    yield "bilinear", [rows, numbers(2, 4), numbers(5, 3, 4), numbers(5)]
    yield "cross", [rows, rows, 1]
    yield "batch_norm", [images, weights, weights, weights, weights, False, 0.1, 1e-5, False]
    yield "batch_norm", [images, None, None, weights, weights, False, 0.1, 1e-5, False]
    yield "instance_norm", [images, weights, weights, None, None, True, 0.1, 1e-5, False]
    yield "layer_norm", [numbers(2, 4), [4], weights, weights]
    yield "layer_norm", [numbers(2, 4), [4], weights, None]
    yield "group_norm", [images, 2, weights, weights]
    yield "prelu", [images, weights]
    yield "lerp.Tensor", [weights, weights, weights]
    yield "lerp.Scalar", [weights, weights, 0.5]
    yield "heaviside", [weights, weights]
    yield "isclose", [weights, weights]
    yield "cdist", [rows, rows]
    yield "grid_sampler", [images, numbers(1, 2, 2, 2), 0, 0, False]
    yield "scatter.src", [weights, 0, indices(4), weights]
    yield "scatter_add", [weights, 0, indices(4), weights]
    yield "scatter_reduce.two", [weights, 0, indices(4), weights, "sum"]
    yield "index_add", [weights, 0, indices(4), weights]
    yield "index_copy", [weights, 0, indices(4), weights]
    yield "index_put", [weights, [indices(4)], weights]
    yield "masked_scatter", [weights, indices(4) == 0, weights]
    yield "put", [weights, indices(4), weights]
    yield "nll_loss", [rows, indices(2), numbers(3)]
    yield "binary_cross_entropy", [weights, weights]
    yield "scaled_dot_product_attention", [numbers(1, 2, 3, 4), numbers(1, 2, 3, 4), numbers(1, 2, 3, 4)]
    yield "gru_cell", [numbers(1, 3), numbers(1, 2), numbers(6, 3), numbers(6, 2)]
    yield "gru.input", [numbers(5, 1, 3), numbers(1, 1, 2), [numbers(6, 3), numbers(6, 2)], False, 1, 0.0, False, False, False]
    yield "add.Tensor", [weights, weights]
    yield "where.self", [indices(4) == 0, weights, weights]
    yield "cat", [[weights, weights]]


CALLS = [*convolutions(), *pools(), *resizes(), *of_dimensions(), *others()]
OF_SIZES = list(of_sizes())
OF_DTYPES = list(of_dtypes())
