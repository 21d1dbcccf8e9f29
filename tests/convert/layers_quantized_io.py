"""Operators of quantized tensors whose inputs and outputs are quantized: the ONNX model has the floats that they stand for."""
import torch
import torch.nn.functional as F
import torch.ao.nn.quantized as nnq
from torch import nn

from layer_cases import Case

SCALE, ZERO = 0.0731, 7
OPSETS = range(10, 27)
STEP = (1e-5, SCALE * 1.001)   # one step of a result that keeps the scale


def quantized(*shape, dtype=torch.quint8, scale=SCALE, low=-4.0, high=6.0):
    zero = ZERO if dtype == torch.quint8 else -3
    return torch.quantize_per_tensor(torch.rand(shape) * (high - low) + low, scale, zero, dtype)


def pictures(dtype=torch.quint8):
    return [(quantized(2, 3, 6, 8, dtype=dtype),), (quantized(2, 3, 6, 8, dtype=dtype, low=-30.0, high=30.0),)]


def cases():
    made = {}
    for name, function in {
            "hardtanh": F.hardtanh, "hardtanh_range": lambda x: F.hardtanh(x, -0.5, 1.3), "relu": torch.relu, "relu6": F.relu6, "leaky_relu": lambda x: F.leaky_relu(x, 0.1),
            "sigmoid": torch.sigmoid, "tanh": torch.tanh, "hardsigmoid": F.hardsigmoid, "gelu": F.gelu, "clamp": lambda x: torch.clamp(x, -1.0, 2.0),
            "clamp_min": lambda x: torch.clamp(x, min=-0.3), "clamp_max": lambda x: torch.clamp(x, max=0.9), "threshold": lambda x: F.threshold(x, 0.3, 1.0),
            "mean": lambda x: x.mean((2, 3)), "mean_all": lambda x: x.mean(), "std": lambda x: x.std([2, 3]), "max": lambda x: x.max(), "max_dim": lambda x: x.max(1)[0],
            "min_dim": lambda x: x.min(1)[0], "topk": lambda x: x.topk(2, 3)[0], "sort": lambda x: x.sort(3)[0],
            "cat": lambda x: torch.cat([x, x], 1), "stack": lambda x: torch.stack([x, x], 1),
            "avg_pool2d": lambda x: F.avg_pool2d(x, 3, 2, 1), "adaptive_avg_pool2d": lambda x: F.adaptive_avg_pool2d(x, [4, 5]), "max_pool2d": lambda x: F.max_pool2d(x, 3, 2, 1),
            "nearest": lambda x: F.interpolate(x, [9, 12]), "nearest_exact": lambda x: F.interpolate(x, [9, 12], mode="nearest-exact"),
            "bilinear": lambda x: F.interpolate(x, [9, 12], mode="bilinear"),
            "reshapes": lambda x: x.flatten(1).reshape(2, 3, 48).view(2, 144).unflatten(1, [12, 12]).unsqueeze(1).squeeze(1),
            "permute": lambda x: x.permute(0, 2, 3, 1).contiguous().transpose(1, 2),
            "slices": lambda x: x[:, 1:, 1:5:2].narrow(3, 1, 3).select(1, 0), "expand": lambda x: x[:, :1].expand_as(x),
            "broadcast_to": lambda x: x[:, :1].broadcast_to([2, 3, 6, 8]), "reshape_as": lambda x: x.reshape_as(x.permute(0, 2, 3, 1)),
            "chunk": lambda x: x.chunk(2, 2), "split": lambda x: x.split([2, 6], 3), "unbind": lambda x: x.unbind(1)[2],
            "index": lambda x: x[:, torch.tensor([2, 0])], "index_select": lambda x: x.index_select(1, torch.tensor([2, 0])),
            "movedim": lambda x: x.movedim(1, 2), "repeat": lambda x: x.repeat(1, 2, 1, 1),
            "masked_fill": lambda x: x.masked_fill(torch.ones(6, 8, dtype=torch.bool).triu(), 0.5), "pixel_shuffle": lambda x: F.pixel_shuffle(x.reshape(2, 12, 3, 4), 2),
            "channel_shuffle": lambda x: F.channel_shuffle(x, 3), "clone": lambda x: x.clone(), "identity": lambda x: x,
            "compared": lambda x: (x == x, x != 0.0731, x > 0.5, x < 0.5, x >= x, x <= 0.1), "int_repr": lambda x: x.int_repr(),
            "parameters": lambda x: x.dequantize() * x.q_scale() + x.q_zero_point(), "twice": lambda x: torch.relu(torch.sigmoid(x))}.items():
        made[f"io_{name}"] = Case(function, pictures(), opsets=OPSETS, tolerance=STEP)
    for name, function in {"hardtanh": F.hardtanh, "sigmoid": torch.sigmoid, "tanh": torch.tanh, "mean": lambda x: x.mean((2, 3)),
                           "flatten": lambda x: x.flatten(1), "cat": lambda x: torch.cat([x, x], 1)}.items():
        made[f"io_signed_{name}"] = Case(function, pictures(torch.qint8), opsets=OPSETS, tolerance=STEP)
    for name, function in {"reflect": lambda x: F.pad(x, [1, 2, 1, 1], mode="reflect"), "constant": lambda x: F.pad(x, [1, 2], value=0.5)}.items():
        made[f"io_pad_{name}"] = Case(function, pictures(), opsets=OPSETS, tolerance=STEP)
    made["io_flip"] = Case(lambda x: x.flip([1]), pictures(), opsets=OPSETS, tolerance=STEP)
    made["io_numpy_T"] = Case(lambda x: x.T, [(quantized(3, 5),)], opsets=OPSETS, tolerance=STEP)
    made["io_avg_pool1d"] = Case(lambda x: F.avg_pool1d(x, 2), [(quantized(2, 3, 8),)], opsets=OPSETS, tolerance=STEP)
    made["io_adaptive_avg_pool1d"] = Case(lambda x: F.adaptive_avg_pool1d(x, 4), [(quantized(2, 3, 8),)], opsets=OPSETS, tolerance=STEP)
    two = [(quantized(2, 3, 4), quantized(2, 3, 4, scale=0.05))]
    made["io_two_cat"] = Case(lambda x, y: torch.cat([x, y], 1), two, opsets=OPSETS, tolerance=STEP)
    made["io_two_gt"] = Case(lambda x, y: x > y, two, opsets=OPSETS)
    made["io_named"] = Case(lambda x: torch.sigmoid(x).flatten(1), [(quantized(2, 3, 4),), (quantized(5, 3, 4),)], ("qu8(0.0731,7):n,3,4",),
                            opsets=OPSETS, tolerance=(1e-5, 0.0041))
    channels = torch.quantize_per_channel(torch.randn(2, 3, 4), torch.tensor([0.1, 0.2, 0.05], dtype=torch.float64), torch.tensor([3, 0, 9]), 1, torch.quint8)
    made["io_channels"] = Case(lambda x: x.dequantize(), [(channels,)], opsets=range(13, 27))
    made["io_channels_out"] = Case(lambda x: x, [(channels,)], opsets=range(13, 27))
    for name, bounds in {"clamp": (-1.0, 2.0), "clamp_min": (-0.3, None), "clamp_max": (None, 0.9)}.items():   # what stands on no step is rounded to one
        made[f"io_{name}_steps"] = Case(lambda x, b=bounds: torch.clamp(x, *b).int_repr(), pictures(), opsets=OPSETS)
    made |= with_numbers()
    made |= layers()
    return made


def with_numbers():
    """A quantized tensor and a number: the result's scale hangs on both."""
    ops, made = torch.ops.quantized, {}
    for op in (ops.add, ops.mul, ops.add_relu, ops.mul_relu):
        name = op._qualified_op_name.split("::")[1]
        for label, number in (("half", 0.5), ("negative", -0.7), ("two", 2), ("zero", 0.0), ("large", 30.0), ("large_negative", -30.0)):
            for dtype in (torch.quint8, torch.qint8):
                made[f"io_{name}_{label}_{'i8' if dtype == torch.qint8 else 'u8'}"] = Case(
                    lambda x, op=op, number=number: op(x, number), pictures(dtype), opsets=OPSETS, tolerance=(1e-5, 0.2))
    f = nnq.QFunctional()
    made["io_functional_add_scalar"] = Case(lambda x: f.add_scalar(x, 0.5), pictures(), opsets=OPSETS, tolerance=STEP)
    made["io_functional_mul_scalar"] = Case(lambda x: f.mul_scalar(x, 0.5), pictures(), opsets=OPSETS, tolerance=STEP)
    return made


def layers():
    r, made = torch.randn, {}
    reflect = nnq.Conv2d(3, 4, 3, padding=1, padding_mode="reflect")
    reflect.set_weight_bias(torch.quantize_per_tensor(r(4, 3, 3, 3), 0.02, 0, torch.qint8), r(4))
    reflect.scale, reflect.zero_point = 0.2, 60
    made["io_conv_reflect"] = Case(reflect, pictures(), opsets=OPSETS, tolerance=(1e-4, 0.201))
    linear = nnq.Linear(8, 5)
    # Weights of 7 bits: without VNNI, ONNX Runtime adds two products of 8 bits in 16 bits, where larger ones saturate.
    linear.set_weight_bias(torch.quantize_per_channel(r(5, 8).clamp(-0.63, 0.63), torch.rand(5) * 0.01 + 0.01, torch.zeros(5, dtype=torch.long), 0, torch.qint8), r(5))
    linear.scale, linear.zero_point = 0.2, 60
    made["io_linear"] = Case(linear, pictures(), opsets=OPSETS, tolerance=(1e-4, 0.201))
    quantize = torch.ao.quantization.quantize_dynamic
    # They call quantized_lstm_cell_dynamic, quantized_gru_cell_dynamic, quantized_rnn_tanh_cell_dynamic and quantized_rnn_relu_cell_dynamic.
    for kind in (nn.LSTMCell, nn.GRUCell, nn.RNNCell):
        cell = quantize(nn.Sequential(kind(6, 5)).eval(), {kind}, dtype=torch.qint8)
        made[f"dynamic_{kind.__name__.lower()}"] = Case(cell, [(r(3, 6),), (r(3, 6) * 5,)], opsets=range(11, 27))
    relu = quantize(nn.Sequential(nn.RNNCell(6, 5, nonlinearity="relu")).eval(), {nn.RNNCell}, dtype=torch.qint8)
    made["dynamic_rnncell_relu"] = Case(relu, [(r(3, 6),)], opsets=range(11, 27))
    table = nn.Embedding(10, 8)
    table.qconfig = torch.ao.quantization.float_qparams_weight_only_qconfig
    table = torch.ao.quantization.convert(torch.ao.quantization.prepare(nn.Sequential(table)))
    made["embedding_byte"] = Case(table, [(torch.randint(0, 10, (3, 4)),), (torch.randint(0, 10, (5, 4)),)], ("i64:n,4",))
    bags = nn.EmbeddingBag(10, 8, mode="sum", include_last_offset=True)
    bags.qconfig = torch.ao.quantization.float_qparams_weight_only_qconfig
    bags = Bags(bags)
    bags = torch.ao.quantization.convert(torch.ao.quantization.prepare(bags))
    packed = torch.ops.quantized.embedding_bag_prepack(torch.quantize_per_channel(r(10, 8), torch.rand(10) * 0.1 + 0.01, torch.rand(10) * 9, 0, torch.quint8))
    for mode, last in ((0, False), (1, False), (1, True), (2, True)):   # which the kernel doesn't read
        made[f"embedding_bag_byte_{mode}_{last}"] = Case(ModeOfBags(packed, mode, last),
                                                         [(torch.randint(0, 10, (6,)), torch.tensor([0, 2, 2, 6])),
                                                          (torch.randint(0, 10, (9,)), torch.tensor([0, 1, 5, 9]))], ("i64:n", "i64:4"),
                                                         opsets=range(9, 27))
    made["embedding_bag_byte"] = Case(bags,
                                      [(torch.randint(0, 10, (6,)), torch.tensor([0, 2, 2, 6])),
                                       (torch.randint(0, 10, (9,)), torch.tensor([0, 1, 5, 9]))], ("i64:n", "i64:4"), opsets=range(9, 27))
    return made


class ModeOfBags(nn.Module):
    def __init__(self, packed, mode, last):
        super().__init__()
        self.packed, self.mode, self.last = packed, mode, last

    def forward(self, indices, offsets):
        return torch.ops.quantized.embedding_bag_byte(self.packed, indices, offsets, False, self.mode, False, None, None, self.last)


class Bags(nn.Module):
    def __init__(self, bags):
        super().__init__()
        self.bags = bags

    def forward(self, indices, offsets):
        return self.bags(indices, offsets)
