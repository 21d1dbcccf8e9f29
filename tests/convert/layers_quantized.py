"""Quantized tensors and layers, static and dynamic; the results leave as floats, a step apart at most where PyTorch's sum ends between two."""
import torch
import torch.nn.functional as F
from torch import nn

from layer_cases import Case, engine

SCALE, ZERO = 0.05, 7


def steps(low=-4.0, high=4.0, *shape):
    return torch.rand(shape) * (high - low) + low


def on_quantized(function, dtype=torch.quint8, zero=ZERO):
    """The function of the input's steps."""
    return lambda x: function(torch.quantize_per_tensor(x, 0.0731, zero, dtype)).dequantize()


class Layer(nn.Module):
    def __init__(self, op, prepack, *rest):
        super().__init__()
        self.op, self.packed, self.rest = op, prepack, rest

    def forward(self, x):
        return self.op(torch.quantize_per_tensor(x, 0.0731, ZERO, torch.quint8), self.packed, *self.rest).dequantize()


def cases():
    q, ops = on_quantized, torch.ops.quantized
    wide = range(10, 27)
    made = {}
    for name, function in {
        "add": lambda a: ops.add(a, a, 0.11, 3), "add_relu": lambda a: ops.add_relu(a, a, 0.11, 3), "mul": lambda a: ops.mul(a, a, 0.13, 4),
        "cat": lambda a: ops.cat([a, a], 1, 0.07, 9), "sigmoid": lambda a: ops.sigmoid(a, 0.0041, 0), "leaky_relu": lambda a: ops.leaky_relu(a, 0.1, False, 0.07, 9),
        "hardswish": lambda a: ops.hardswish(a, 0.07, 9), "relu6": lambda a: ops.relu6(a), "clamp": lambda a: ops.clamp(a, -1.0, 2.0),
        "max_pool2d": lambda a: F.max_pool2d(a, 3, 2, 1), "avg_pool2d": lambda a: F.avg_pool2d(a, 2), "adaptive_avg": lambda a: F.adaptive_avg_pool2d(a, 2),
        "adaptive_avg_one": lambda a: F.adaptive_avg_pool2d(a, 1), "upsample": lambda a: F.interpolate(a, scale_factor=2), "dequantize": lambda a: a,
        "int_repr": lambda a: torch.quantize_per_tensor(a.int_repr().float(), 1.0, 0, torch.quint8), "mean": lambda a: a.mean((2, 3)),
    }.items():
        made[f"q_{name}"] = Case(q(function), [(steps(-2, 6, 2, 3, 6, 8),), (torch.randn(2, 3, 6, 8),)], opsets=wide)
    made["q_per_tensor_int8"] = Case(q(lambda a: a, torch.qint8, -3), [(steps(-10, 10, 4, 5),)], opsets=wide)
    made["q_per_channel"] = Case(
        lambda x: torch.quantize_per_channel(x, torch.tensor([0.1, 0.2, 0.05]), torch.tensor([3, 0, 9]), 1, torch.quint8).dequantize(),
        [(steps(-4, 4, 2, 3, 4),)], opsets=range(13, 27))
    for zero, low, high in [(1, 0, 255), (0, -128, 127), (3, 0, 15), (-2, -8, 7), (5, 0, 1023)]:
        made[f"fake_{low}_{high}"] = Case(lambda x, a=(zero, low, high): torch.fake_quantize_per_tensor_affine(x, 0.5, *a),
                                          [(torch.tensor([0.25, 0.75, 1.25, -0.25, -0.75, 0.2501, 900, -900]),)],
                                          opsets=range(10 if high < 256 else 11, 27))
        made[f"fake_channel_{low}_{high}"] = Case(
            lambda x, a=(low, high), z=zero: torch.fake_quantize_per_channel_affine(x, torch.tensor([0.5, 0.3]),
                                                                                    torch.tensor([z, z], dtype=torch.int32), 1, *a),
            [(torch.tensor([[0.25, 0.75], [1.25, -0.25], [-0.75, 0.2501], [900, -900]]),)], opsets=range(11, 27))
    made["fake_channel_floats"] = Case(lambda x, s, z: torch.fake_quantize_per_channel_affine(x, s, z, 0, 0, 255),
                                       [(torch.randn(2, 9) * 50, torch.tensor([0.5, 0.2]), torch.tensor([3.5, 4.25])),
                                        (torch.arange(-9.0, 9).reshape(2, 9) / 4, torch.tensor([0.5, 0.5]), torch.tensor([3.0, 4.0]))],
                                       ("f32:2,n", "f32:2", "f32:2"), opsets=range(11, 27))
    made["fake_tensors"] = Case(lambda x, s, z: torch.fake_quantize_per_tensor_affine(x, s, z, 0, 255),
                                [(torch.randn(3, 4), torch.tensor([0.02]), torch.tensor([5], dtype=torch.int32))], opsets=wide)
    per_tensor = lambda *shape: torch.quantize_per_tensor(torch.randn(shape), 0.02, 0, torch.qint8)
    per_channel = lambda *shape: torch.quantize_per_channel(torch.randn(shape), torch.rand(shape[0]) * 0.02 + 0.01, torch.zeros(shape[0], dtype=torch.int64), 0, torch.qint8)
    # Weights of 7 bits: without VNNI, ONNX Runtime adds two products of 8 bits in 16 bits, where larger ones saturate.
    narrow = {"tensor": lambda *shape: torch.quantize_per_tensor(torch.randn(shape).clamp(-1.26, 1.26), 0.02, 0, torch.qint8),
              "channel": lambda *shape: torch.quantize_per_channel(
                  torch.randn(shape).clamp(-0.63, 0.63), torch.rand(shape[0]) * 0.02 + 0.01, torch.zeros(shape[0], dtype=torch.int64), 0,
                  torch.qint8)}
    step = (1e-3, 0.21)   # one step of the result: 0.2
    for label, weight in (("tensor", per_tensor), ("channel", per_channel)):
        made[f"q_linear_{label}"] = Case(Layer(ops.linear, ops.linear_prepack(weight(5, 6), torch.randn(5)), 0.2, 60), [(torch.randn(3, 6),)], opsets=wide, tolerance=step)
        made[f"q_linear_relu_{label}"] = Case(
            Layer(ops.linear_relu, ops.linear_prepack(weight(5, 6), torch.randn(5) if label == "channel" else None), 0.2, 0),
            [(torch.randn(3, 6),)], opsets=wide, tolerance=step)
        made[f"q_conv2d_{label}"] = Case(
            Layer(ops.conv2d, ops.conv2d_prepack(weight(4, 3, 3, 3), torch.randn(4), [2, 1], [1, 1], [1, 1], 1), 0.2, 60),
            [(torch.randn(2, 3, 7, 6),)], opsets=wide, tolerance=step)
        made[f"q_conv1d_{label}"] = Case(
            Layer(ops.conv1d_relu, ops.conv1d_prepack(weight(4, 3, 3), torch.randn(4), [2], [1], [1], 1), 0.2, 0),
            [(torch.randn(2, 3, 7),)], opsets=wide, tolerance=step)
        for reduce_range in (True, False):
            packed = ops.linear_prepack(narrow[label](5, 6), torch.randn(5))
            inputs = [(torch.randn(3, 6),), (torch.rand(3, 6) + 1,), (-torch.rand(3, 6),), (torch.zeros(3, 6),), (torch.randn(3, 6) * 1e-5,), (torch.randn(3, 6) * 1e4,)]
            made[f"dynamic_{label}_{reduce_range}"] = Case(Dynamic(packed, reduce_range), inputs, opsets=range(11, 27))
    made |= other_layers(per_tensor, step) | argument_forms(per_tensor, per_channel, step) | sizes()
    for kind in (nn.LSTM, nn.GRU):
        layer = torch.ao.quantization.quantize_dynamic(nn.Sequential(kind(4, 6, num_layers=2, bidirectional=True, batch_first=True)).eval(), {kind}, dtype=torch.qint8)
        made[f"dynamic_{kind.__name__.lower()}"] = Case(layer, [(torch.randn(2, 5, 4),)], opsets=range(11, 27))
    return made


def other_layers(weight, step):
    """Operators that PyTorch's own quantized modules call, or that its fusions make."""
    ops, r, made = torch.ops.quantized, torch.randn, {}
    two = lambda x: (torch.quantize_per_tensor(x, 0.0731, ZERO, torch.quint8), torch.quantize_per_tensor(x * 0.5 - 0.3, 0.05, 11, torch.quint8))
    for name, function, shape in [
            ("mul_relu", lambda x: ops.mul_relu(*two(x), 0.1, 3), (2, 3, 6)), ("cat_relu", lambda x: ops.cat_relu([*two(x)], 1, 0.1, 3), (2, 3, 6)),
            ("matmul", lambda x: ops.matmul(*two(x), 0.2, 60), (2, 4, 4)), ("elu", lambda x: ops.elu(two(x)[0], 0.1, 30, 0.7, 1.3, 1.1), (2, 3, 6)),
            ("celu", lambda x: ops.celu(two(x)[0], 0.1, 30, 1.5), (2, 3, 6)), ("prelu", lambda x: ops.prelu(two(x)[0], two(torch.tensor([0.1, 0.5, -0.2]))[1], 0.1, 60), (2, 3, 6)),
            ("softmax", lambda x: ops.softmax(two(x)[0], 1, 0.01, 3), (2, 3, 6)), ("max_pool1d", lambda x: ops.max_pool1d(two(x)[0], [3], [2], [1], [1], False), (2, 3, 7)),
            ("dropout", lambda x: ops.dropout(two(x)[0], 0.1, 3, 0.5, False), (2, 3, 6)),
            ("layer_norm", lambda x: ops.layer_norm(two(x)[0], [6], torch.linspace(-1, 1, 6), torch.linspace(0, 1, 6), 1e-5, 0.1, 60),
             (2, 3, 6)),
            ("layer_norm_plain", lambda x: ops.layer_norm(two(x)[0], [6], None, None, 1e-5, 0.1, 60), (2, 3, 6)),
            ("group_norm", lambda x: ops.group_norm(two(x)[0], 2, torch.linspace(-1, 1, 4), torch.linspace(0, 1, 4), 1e-5, 0.1, 60), (2, 4, 6)),
            ("instance_norm", lambda x: ops.instance_norm(two(x)[0], torch.linspace(-1, 1, 3), torch.linspace(0, 1, 3), 1e-5, 0.1, 60), (2, 3, 6, 5))]:
        made[f"q_{name}"] = Case(lambda x, function=function: function(x).dequantize(), [(steps(-2, 6, *shape),), (r(shape),)], opsets=range(10, 27), tolerance=(1e-3, 0.21))
    conv = {n: lambda *more, n=n: getattr(ops, f"conv{n}d_prepack")(weight(4, 3, *[3] * n), r(4), [1] * n, [1] * n, [1] * n, 1, *more) for n in (1, 2, 3)}
    turned = ops.conv_transpose1d_prepack(weight(3, 4, 3), r(4), [2], [1], [0], [1], 1)   # right by fbgemm alone
    for name, op, packed, shape in [("conv1d", ops.conv1d, conv[1](), (2, 3, 7)), ("conv2d_relu", ops.conv2d_relu, conv[2](), (2, 3, 7, 6)),
                                    ("conv3d", ops.conv3d, conv[3](), (1, 3, 4, 5, 4)),
                                    ("conv3d_relu", ops.conv3d_relu, conv[3](), (1, 3, 4, 5, 4))]:
        made[f"q_{name}_plain"] = Case(Layer(op, packed, 0.2, 60), [(r(shape),)], opsets=range(10, 27), tolerance=step)
    made["dynamic_linear_relu"] = Case(Plain(ops.linear_relu_dynamic, ops.linear_prepack(weight(5, 6), r(5)), True),
                                       [(r(2, 3, 6),), (torch.rand(2, 3, 6) + 1,)], opsets=range(11, 27))
    with engine("fbgemm"):
        made["q_conv_transpose1d"] = Case(Layer(ops.conv_transpose1d, turned, 0.2, 60), [(r(2, 3, 7),)], opsets=range(10, 27), tolerance=step, engine="fbgemm")
        for n, op in ((2, ops.conv_transpose2d), (3, ops.conv_transpose3d)):
            ones = [1] * n
            turned = getattr(ops, f"conv_transpose{n}d_prepack")(weight(3, 4, *[3] * n), r(4), [2] * n, ones, [0] * n, ones, 1)
            made[f"q_conv_transpose{n}d"] = Case(Layer(op, turned, 0.2, 60), [(r(1, 3, *range(4, 4 + n)),)], opsets=range(10, 27), tolerance=step, engine="fbgemm")
    for name, op in [("linear", ops.linear_dynamic_fp16), ("linear_relu", ops.linear_relu_dynamic_fp16)]:
        made[f"dynamic_{name}_fp16"] = Case(Plain(op, ops.linear_prepack_fp16(r(5, 6), r(5))), [(r(3, 6),)], tolerance=(1e-2, 1e-2))
    with engine("onednn"):
        linear = ops.linear_prepack(weight(5, 6), r(5))
        same = ops.conv2d_prepack(weight(3, 3, 3, 3), r(3), [1, 1], [1, 1], [1, 1], 1)
        for name, op, packed, rest, shape in [("linear_tanh", ops.linear_tanh, linear, (0.01, 128), (3, 6)),
                                              ("linear_leaky_relu", ops.linear_leaky_relu, linear, (0.1, 60, 0.1), (3, 6)),
                                              ("conv2d_add", Added(ops.conv2d_add), same, (0.2, 60), (2, 3, 7, 6)),
                                              ("conv2d_add_relu", Added(ops.conv2d_add_relu), same, (0.2, 60), (2, 3, 7, 6))]:
            made[f"q_{name}"] = Case(Layer(op, packed, *rest), [(r(shape),)], opsets=range(10, 27), tolerance=step, engine="onednn")
    return made


def argument_forms(per_tensor, per_channel, step):
    """The argument forms of what PyTorch's exporter has: weights per tensor and per channel, no bias, groups, ranks, signed inputs, sizes that vary."""
    ops, r, made = torch.ops.quantized, torch.randn, {}
    wide = range(10, 27)
    for label, weight in (("tensor", per_tensor), ("channel", per_channel)):
        for n in (1, 2, 3):
            ones, size = [1] * n, [5, 6, 4][:n]
            for name, groups, bias, more in [("plain", 1, True, ([1] * n, [0] * n, ones)), ("no_bias", 1, False, (ones, ones, ones)),
                                             ("groups", 2, True, ([2] * n, ones, ones)), ("dilated", 4, False, (ones, [2] * n, [2] * n))]:
                for op in (f"conv{n}d", f"conv{n}d_relu"):
                    packed = getattr(ops, f"conv{n}d_prepack")(weight(8, 4 // groups, *[3] * n), r(8) if bias else None, *more, groups)
                    names = f"f32:n,4,{','.join('hwd'[:n])}"
                    made[f"q_{op}_{label}_{name}"] = Case(Layer(getattr(ops, op), packed, 0.2, 60),
                                                          [(r(2, 4, *size),), (r(1, 4, *[s + 1 for s in size]),)], (names,), opsets=wide,
                                                          tolerance=step)
        for op in ("linear", "linear_relu"):
            for shape, names in (((3, 6), "f32:n,6"), ((2, 3, 6), "f32:n,m,6"), ((2, 2, 3, 6), "f32:n,2,m,6")):
                other = [4 if size == 3 else size for size in shape]
                made[f"q_{op}_{label}_rank{len(shape)}"] = Case(
                    Layer(getattr(ops, op), ops.linear_prepack(weight(5, 6), None if len(shape) == 4 else r(5)), 0.2, 60),
                    [(r(shape),), (r(other),)], (names,), opsets=wide, tolerance=step)
    with engine("onednn"):
        same = ops.conv2d_prepack(per_channel(3, 3, 3, 3), r(3), [1, 1], [1, 1], [1, 1], 1)
        for op in (ops.conv2d_add, ops.conv2d_add_relu):
            made[f"q_{op._qualified_op_name.split('::')[1]}_channel"] = Case(Layer(Added(op), same, 0.2, 60), [(r(2, 3, 7, 6),)], opsets=wide, tolerance=step, engine="onednn")
    with engine("fbgemm"):
        for n in (1, 2, 3):
            ones, size = [1] * n, [5, 6, 4][:n]
            for name, groups, bias, more in [("plain", 1, True, (ones, [0] * n, [0] * n)), ("no_bias", 1, False, ([2] * n, ones, ones)),
                                             ("groups", 2, True, ([2] * n, ones, [0] * n))]:
                packed = getattr(ops, f"conv_transpose{n}d_prepack")(per_tensor(4, 6 // groups, *[3] * n), r(6) if bias else None, *more, ones, groups)
                made[f"q_conv_transpose{n}d_{name}"] = Case(
                    Layer(getattr(ops, f"conv_transpose{n}d"), packed, 0.2, 60), [(r(2, 4, *size),), (r(1, 4, *[s + 1 for s in size]),)],
                    (f"f32:n,4,{','.join('hwd'[:n])}",), opsets=wide, tolerance=step, engine="fbgemm")
    vectors = lambda *shape: [(steps(-2, 6, *shape), r(shape)), (r(shape) * 3, steps(-3, 3, *shape))]
    for label, dtype, zero in (("unsigned", torch.quint8, ZERO), ("signed", torch.qint8, -5)):
        quantize = lambda x, dtype=dtype, zero=zero: torch.quantize_per_tensor(x, 0.0731, zero, dtype)
        other = lambda x, dtype=dtype: torch.quantize_per_tensor(x * 0.5 - 0.3, 0.05, 11, dtype)
        for name, function in {"add": lambda a, b: ops.add(a, b, 0.11, 3), "add_relu": lambda a, b: ops.add_relu(a, b, 0.11, 3),
                               "mul": lambda a, b: ops.mul(a, b, 0.13, 4), "cat": lambda a, b: ops.cat([a, b, a], -1, 0.09, 5)}.items():
            made[f"q_{name}_{label}"] = Case(lambda x, y, f=function, q=quantize, o=other: f(q(x), o(y)).dequantize(), vectors(2, 3, 4), opsets=wide, tolerance=(1e-3, 0.14))
            if name != "cat":
                made[f"q_{name}_{label}_broadcast"] = Case(lambda x, y, f=function, q=quantize, o=other: f(q(x), o(y[:, :1])).dequantize(),
                                                           vectors(2, 3, 4), opsets=wide, tolerance=(1e-3, 0.14))
        for name, function in {"hardswish": lambda a: ops.hardswish(a, 0.07, 9), "sigmoid": lambda a: ops.sigmoid(a, 0.0041, 2),
                               "leaky_relu": lambda a: ops.leaky_relu(a, 0.2, False, 0.07, 9),
                               "leaky_relu_in_place": lambda a: ops.leaky_relu(a, 0.2, True, 0.07, 9),
                               "layer_norm_two": lambda a: ops.layer_norm(a, [3, 4], torch.linspace(-1, 1, 12).reshape(3, 4), None,
                                                                          1e-5, 0.1, 60),
                               "group_norm_plain": lambda a: ops.group_norm(a, 3, None, None, 1e-5, 0.1, 60),
                               "instance_norm_plain": lambda a: ops.instance_norm(a, None, None, 1e-3, 0.1, 60)}.items():
            made[f"q_{name}_{label}"] = Case(lambda x, f=function, q=quantize: f(q(x)).dequantize(),
                                             [(steps(-2, 6, 2, 3, 4),), (r(2, 3, 4) * 3,)], opsets=wide, tolerance=(1e-3, 0.11))
    return made


@torch.jit.script
def stacked_steps(x):
    """A recurrence whose states are quantized; the first has another scale."""
    q = torch.quantize_per_tensor(x, 0.05, 7, torch.quint8)
    state = torch.quantize_per_tensor(torch.zeros(q.size(1), q.size(2)), 1.0, 0, torch.quint8)
    made = []
    for i in range(q.size(0)):
        state = torch.ops.quantized.add(q[i], state, 0.1, 30)
        made.append(state)
    return torch.stack(made).dequantize(), state.dequantize()


@torch.jit.script
def stacked_of_two_scales(x):
    q = torch.quantize_per_tensor(x, 0.05, 7, torch.quint8)
    made = []
    for i in range(q.size(0)):
        made.append(torch.ops.quantized.add(q[i], q[i], 0.1 * (i + 1), 30))
    return torch.stack(made).dequantize()


def sizes():
    """Sizes of quantized tensors, known when the model runs."""
    wide = range(10, 27)
    return {
        "q_sizes": Case(
            lambda x: (lambda a: (a.reshape(a.size(0) * a.size(1), -1).dequantize(), torch.tensor(a.shape),
                                  a.flatten(0, 1).dequantize() + a.numel()))(torch.quantize_per_tensor(x, 0.0731, ZERO, torch.quint8)),
            [(steps(-2, 6, 2, 3, 4),), (steps(-2, 6, 3, 5, 4),)], ("f32:n,m,4",), opsets=wide),
        "q_stacked_in_loop": Case(stacked_steps, [(steps(-2, 2, 4, 2, 3),), (steps(-2, 2, 7, 3, 3),), (steps(-2, 2, 1, 2, 3),)],
                                  ("f32:t,n,3",), script=True, opsets=wide, tolerance=(1e-5, 1e-5)),
        "q_stacked_of_two_scales": Case(stacked_of_two_scales, [(steps(-2, 2, 4, 2),)], ("f32:t,2",), script=True, needs="whose scales differ", opsets=range(0)),
    }


def uncompared():
    """What PyTorch's own kernels compute wrongly: check_rows_reached.py tries it."""
    ops, made = torch.ops.quantized, {}
    for n in (1, 2, 3):
        ones, size = [1] * n, [1, 3, *range(6, 6 + n)]
        weight = torch.quantize_per_tensor(torch.randn([3, 3] + [3] * n), 0.02, 0, torch.qint8)
        plain = getattr(ops, f"conv{n}d_prepack")(weight, torch.randn(3), ones, ones, ones, 1)
        turned = getattr(ops, f"conv_transpose{n}d_prepack")(weight, torch.randn(3), [2] * n, ones, [0] * n, ones, 1)
        made[f"dynamic_conv{n}d"] = Case(Plain(getattr(ops, f"conv{n}d_dynamic"), plain, True), [(torch.randn(size),)], opsets=range(11, 27))
        made[f"dynamic_conv_transpose{n}d"] = Case(Plain(getattr(ops, f"conv_transpose{n}d_dynamic"), turned, True), [(torch.randn(size),)], opsets=range(11, 27))
    return made


class Plain(nn.Module):
    def __init__(self, op, packed, *rest):
        super().__init__()
        self.op, self.packed, self.rest = op, packed, rest

    def forward(self, x):
        return self.op(x, self.packed, *self.rest)


class Added:
    """What adds to its convolution another quantized tensor: its own argument."""
    def __init__(self, op):
        self.op = op

    def __call__(self, x, packed, *rest):
        return self.op(x, x, packed, *rest)


class Dynamic(nn.Module):
    def __init__(self, packed, reduce_range):
        super().__init__()
        self.packed, self.reduce_range = packed, reduce_range

    def forward(self, x):
        return torch.ops.quantized.linear_dynamic(x, self.packed, self.reduce_range)
