#!/usr/bin/env python3
"""Forms that ONNX Runtime's optimiser makes wrong at its default settings (docs/onnxruntime.md). Each is a row here: the form itself, to
show that the pinned runtime still falls for it, and a module whose conversion would hold it, which must agree with PyTorch with and
without optimisation."""
import argparse, json, subprocess, sys, tempfile

import numpy
import onnx
import onnxruntime
import torch
import torch.nn.functional as F


class Reversed(torch.nn.Module):
    def forward(self, x):
        n = x.size(1)
        return x[:, torch.arange(n - 1, -1, -1)], x[torch.arange(-x.size(0), 0)]


class MeanMinus(torch.nn.Module):
    """A normalization by hand that has the difference the other way round."""

    def __init__(self, n=4):
        super().__init__()
        self.g, self.b = torch.nn.Parameter(torch.rand(n)), torch.nn.Parameter(torch.rand(n))

    def forward(self, x):
        d = x.mean(-1, keepdim=True) - x
        return d / torch.sqrt(d.pow(2).mean(-1, keepdim=True) + 1e-5) * self.g + self.b


class MeanOfSquare(MeanMinus):
    """The mean lost its dimension, and is broadcast along another one."""

    def forward(self, x):
        d = x - x.mean(-1)
        return d / torch.sqrt(d.pow(2).mean(-1, keepdim=True) + 1e-5) * self.g + self.b


class ScaleOfOne(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.g, self.b = torch.nn.Parameter(torch.rand(1)), torch.nn.Parameter(torch.rand(1))

    def forward(self, x, y):
        z = x + y
        d = z - z.mean(-1, keepdim=True)
        return d / torch.sqrt(d.pow(2).mean(-1, keepdim=True) + 1e-5) * self.g + self.b


class DoubleNorm(torch.nn.Module):
    """In double precision, with an epsilon that isn't the usual one."""

    def __init__(self):
        super().__init__()
        self.g = torch.nn.Parameter(torch.rand(4, dtype=torch.float64))

    def forward(self, x):
        return x / torch.sqrt(x.pow(2).mean(-1, keepdim=True) + 1e-3) * self.g


class PaddedAverage(torch.nn.Module):
    def forward(self, x):
        return F.avg_pool2d(F.pad(x, (3, 3, 3, 3)), 2)


class PaddedMax(torch.nn.Module):
    def forward(self, x):
        return F.max_pool2d(F.pad(x, (1, 1, 1, 1)), 3, 2)


class ClippedRelu(torch.nn.Module):
    def forward(self, x):
        return torch.clamp(torch.relu(x), -1, 2)


class DividedFactor(torch.nn.Module):
    """By 0: infinite, and NaN in its product."""

    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.rand(4, 3))

    def forward(self, x):
        return (torch.relu(x) / 0) @ self.w


class ScaledTwice(torch.nn.Module):
    """What is scaled once is a factor beside what is scaled twice."""

    def forward(self, x):
        y = x * 0.5
        return (y * 2.5) @ x @ y


class QuotientOfOne(torch.nn.Module):
    """Of integers."""

    def forward(self, x):
        i = x.long()
        return (torch.div(torch.tensor(1), i * i + 2, rounding_mode="trunc") * 7).float() + torch.tensor(1).fmod(2)


class TurnedByVector(torch.nn.Module):
    def forward(self, x, v):
        return x.t() @ v, x[None].transpose(1, 2) @ v, torch.relu(x.t()) @ v, torch.mv(x.t(), v), torch.addmv(x[0], x.t(), v)


class ScaledDoubles(torch.nn.Module):
    """By numbers that single precision rounds, before and behind the product, beside a Transpose too."""

    def forward(self, x):
        return (
            (x * 0.1) @ x,
            (x @ x) / 3,
            (x * 0.1).t() @ x,
            (x @ x).t() * 0.7,
            (x / x.size(0) ** 0.5) @ x,
            torch.addmm(x, x, x, alpha=0.1, beta=0.3),
        )


NORM = "mu = ReduceMean<axes=[-1], keepdims={keep}>(x) d = Sub({difference}) p = Pow(d, two) v = ReduceMean<axes=[-1], keepdims=1>(p) " \
       "a = Add(v, e) s = Sqrt(a) q = Div(d, s) w = Mul(q, {scale}) y = Add(w, {bias})"
CONSTANTS = (
    "two = Constant<value=float {2.0}>() e = Constant<value=float {0.001}>() four = Constant<value=float[4] {1.0, 2.0, 3.0, 4.0}>() "
    "one = Constant<value=float[1] {3.0}>() "
)
SIZE = (
    "shape = Shape(x) zero = Constant<value=int64 {0}>() one = Constant<value=int64 {1}>() minus = Constant<value=int64 {-1}>() n = "
    "Gather<axis=0>(shape, zero) "
)
# What it is, the form itself as ONNX text between inputs and "y", and the module.
TRAPS = [
    (
        "reversal by index",
        "(float[N,M] x)",
        SIZE + "last = Sub(n, one) r = Range(last, minus, minus) y = Gather<axis=0>(x, r)",
        (Reversed(), {"x": ("N", 4)}),
    ),
    (
        "mean minus value",
        "(float[N,M] x)",
        CONSTANTS + NORM.format(keep=1, difference="mu, x", scale="four", bias="four"),
        (MeanMinus(), {"x": ("N", 4)}),
    ),
    (
        "a mean without its dimension",
        "(float[4,4] x)",
        CONSTANTS + NORM.format(keep=0, difference="x, mu", scale="four", bias="four"),
        (MeanOfSquare(), {"x": (4, 4)}),
    ),
    (
        "a scale of one element",
        "(float[2,3,4] x0, float[2,3,4] x1)",
        "x = Add(x0, x1) " + CONSTANTS + NORM.format(keep=1, difference="x, mu", scale="one", bias="one"),
        (ScaleOfOne(), {"x": (2, 3, 4), "y": (2, 3, 4)}),
    ),
    (
        "epsilon in double precision",
        "(double[N,M] x)",
        "two = Constant<value=double {2.0}>() e = Constant<value=double {0.001}>() g = Constant<value=double[4] {1.0, 2.0, 3.0, "
        "4.0}>() p = Pow(x, two) "
        "v = ReduceMean<axes=[-1], keepdims=1>(p) a = Add(v, e) s = Sqrt(a) q = Div(x, s) y = Mul(q, g)",
        (DoubleNorm(), {"x": ("N", 4)}),
    ),
    (
        "zeros as wide as the window of a mean",
        "(float[1,2,6,6] x)",
        "p = Constant<value_ints=[0, 0, 3, 3, 0, 0, 3, 3]>() q = Pad(x, p) y = AveragePool<kernel_shape=[2, 2], strides=[2, 2]>(q)",
        (PaddedAverage(), {"x": (1, 2, 6, 6)}),
    ),
    (
        "zeros before a maximum",
        "(float[1,2,6,6] x)",
        "p = Constant<value_ints=[0, 0, 1, 1, 0, 0, 1, 1]>() q = Pad(x, p) y = MaxPool<kernel_shape=[3, 3], strides=[2, 2], pads=[0, "
        "0, 0, 0]>(q)",
        (PaddedMax(), {"x": (1, 2, 6, 6)}),
    ),
    (
        "a Relu before a Clip in double precision",
        "(double[N,M] x)",
        "low = Constant<value=double {-1.0}>() high = Constant<value=double {2.0}>() r = Relu(x) y = Clip(r, low, high)",
        (ClippedRelu(), {"x": ("N", 4)}),
    ),
    (
        "a factor divided by zero",
        "(float[N,M] x)",
        "w = Constant<value=float[4,1] {1.0, 2.0, 3.0, 4.0}>() zero = Constant<value=float {0.0}>() r = Relu(x) d = Div(r, zero) y = "
        "MatMul(d, w)",
        (DividedFactor(), {"x": ("N", 4)}),
    ),
    (
        "factors scaled once and twice",
        "(float[4,4] x)",
        "half = Constant<value=float {0.5}>() two = Constant<value=float {2.5}>() u = Mul(x, half) z = Mul(u, two) m = MatMul(z, x) y "
        "= MatMul(m, u)",
        (ScaledTwice(), {"x": (4, 4)}),
    ),
    (
        "a quotient of one times an integer",
        "(float[N,M] x)",
        "one = Constant<value=int64 {1}>() two = Constant<value=int64 {2}>() seven = Constant<value=int64 {7}>() i = Cast<to=7>(x) "
        "s = Mul(i, i) d = Add(s, two) q = Div(one, d) m = Mul(q, seven) y = Cast<to=1>(m)",
        (QuotientOfOne(), {"x": ("N", 4)}),
    ),
    (
        "a transposed matrix times a vector",
        "(float[4,4] x, float[4] v)",
        "t = Transpose<perm=[1, 0]>(x) y = MatMul(t, v)",
        (TurnedByVector(), {"x": (4, 4), "v": (4,)}),
    ),
    (
        "doubles scaled by what single precision rounds",
        "(double[4,4] x)",
        "c = Constant<value=double {0.1}>() s = Mul(x, c) y = MatMul(s, x)",
        (ScaledDoubles(), {"x": (4, 4)}),
    ),
    (
        "doubles scaled before a Transpose",
        "(double[4,4] x)",
        "c = Constant<value=double {0.1}>() s = Mul(x, c) t = Transpose<perm=[1, 0]>(s) y = MatMul(t, x)",
        (ScaledDoubles(), {"x": (4, 4)}),
    ),
]
SIZES = (4, 1, 7)
# Wrong without optimisations, too: what it is, the opset, the model, its x, and what is right. Cases in tests/convert have the modules.
KERNELS = [
    (
        "a Cast to f16 that is passed over (halves_jump)",
        17,
        "(float[N] x) => (float16[N] y) { h = Cast<to=10>(x) y = Floor(h) }",
        numpy.array([2.9999], numpy.float32),
        [3],
    ),
    (
        "LogSoftmax of infinity in double precision (double_class_losses)",
        17,
        "(double[N,3] x) => (double[N,3] y) { y = LogSoftmax<axis=1>(x) }",
        numpy.array([[1, numpy.inf, 2]]),
        [[numpy.nan] * 3],
    ),
    (
        "ReduceLogSumExp of infinity and NaN (logsumexp_of_infinity_and_nan)",
        17,
        "(float[N] x) => (float[M] y) { y = ReduceLogSumExp<axes=[0]>(x) }",
        numpy.array([1, numpy.nan, numpy.inf], numpy.float32),
        [numpy.nan],
    ),
    (
        "Attention with a row of the mask that is the lowest number (sdpa_lowest)",
        23,
        "(float[1,N,2] x) => (float[1,N,2] y) { m = Constant<value=float[2,2] {-3.4028235e38, -3.4028235e38, 0.0, -3.4028235e38}>() "
        "y = Attention<q_num_heads=1, kv_num_heads=1>(x, x, x, m) }",
        numpy.array([[[1, 2], [3, 4]]], numpy.float32),
        [[[2, 3], [1, 2]]],
    ),
]
# These forms end the process, so they run in one of their own: what it is, the form, the sizes of its inputs, the module and its
# inputs' sizes as options.
FATAL = '''
import json, numpy, onnxruntime, sys
session = onnxruntime.InferenceSession(sys.argv[1])
session.run(None, {one.name: numpy.ones(sizes, numpy.float32) for one, sizes in zip(session.get_inputs(), json.loads(sys.argv[2]))})
'''


class MovedBatch(torch.nn.Module):
    def forward(self, x, w):
        return x.transpose(0, 1) @ w


class ChosenBatch(torch.nn.Module):
    """All sizes of the inputs are known, but not how many rows remain."""

    def forward(self, x, w):
        return x[x[:, 0, 0] > 9].transpose(0, 1) * 0.5 @ w


class SumOfThree(torch.nn.Module):
    def forward(self, x):
        return torch.einsum("ij,kj,kl->il", [x, x, x])


class Diagonal(torch.nn.Module):
    def forward(self, x):
        return torch.einsum("iji->j", [x])


FATAL_FORMS = [
    (
        "a moved batch",
        "(float[N,B,K] x, float[B,K,M] w) => (float[A,C,D] y) { t = Transpose<perm=[1, 0, 2]>(x) y = MatMul(t, w) }",
        [[0, 2, 4], [2, 4, 5]],
        MovedBatch(),
        ["x=f32:n,2,4", "w=f32:2,4,5"],
    ),
    (
        "a moved batch of chosen rows",
        """(float[3,B,K] x, float[B,K,M] w) => (float[A,C,D] y) {
            nine = Constant <value_float = 9.0> () i = Constant <value_ints = [0]> () m = ReduceMin<axes=[1, 2], keepdims=0>(x)
            c = Greater(m, nine) chosen = Compress<axis=0>(x, c) t = Transpose<perm=[1, 0, 2]>(chosen) y = MatMul(t, w) }""",
        [[3, 2, 4], [2, 4, 5]],
        ChosenBatch(),
        ["x=f32:3,2,4", "w=f32:2,4,5"],
    ),
    (
        "a sum of three operands",
        '(float[N,M] x) => (float[A,B] y) { y = Einsum<equation="ij,kj,kl->il">(x, x, x) }',
        [[3, 0]],
        SumOfThree(),
        ["x=f32:n,m"],
    ),
    (
        "a diagonal of dimensions that aren't neighbours",
        '(float[N,M,K] x) => (float[A] y) { y = Einsum<equation="iji->j">(x) }',
        [[0, 3, 0]],
        Diagonal(),
        ["x=f32:n,m,n"],
    ),
]


def check_fatal(program, folder, opsets):
    """Each form ends the process at a size of 0, the conversion of its module doesn't."""
    wrong = []
    file, form = f"{folder}/fatal.pt", f"{folder}/form.onnx"
    for what, text, sizes, module, inputs in FATAL_FORMS:
        runs = lambda model: subprocess.run([sys.executable, "-c", FATAL, model, json.dumps(sizes)], capture_output=True, text=True)
        onnx.save(onnx.parser.parse_model('<ir_version: 8, opset_import: ["": 17]> g ' + text), form)
        if runs(form).returncode >= 0:   # not ended by a signal
            wrong.append(f"{what}: ONNX Runtime {onnxruntime.__version__} no longer falls for it")
        torch.jit.save(torch.jit.script(module), file)
        for opset in opsets:
            if "Einsum" in text and int(opset) < 12:
                continue
            target = f"{folder}/fatal.onnx"
            made = subprocess.run(
                [program, "convert", file, "-o", target, "-q", "--opset", opset, *(part for one in inputs for part in ("--input", one))],
                capture_output=True,
                text=True,
            )
            ran = runs(target)
            if made.returncode or ran.returncode:
                wrong.append(f"{what} at {opset}: {made.stderr[-300:]}{ran.stderr[-300:]}")
    return wrong


def run(model, feed, optimize):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = (
        onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL if optimize else onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    )
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    try:
        return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"]).run(None, feed)
    except Exception as error:
        return str(error)[:200]


def same(one, other):
    if isinstance(one, str) or isinstance(other, str):
        return False
    near = lambda a, b: numpy.allclose(a, b, *((1e-11, 1e-12) if a.dtype == numpy.float64 else (1e-3, 1e-5)), equal_nan=True)
    return all(a.dtype == b.dtype and a.shape == b.shape and near(a, b) for a, b in zip(one, other)) and len(one) == len(other)


REQUANTIZED = (
    "(float[1,1,6,6] x) => (float[A,B,C,D] y) { s = Constant<value=float {0.05}>() z = Constant<value=uint8 {128}>() q = "
    "QuantizeLinear(x, s, z) d = DequantizeLinear(q, s, z) "
    "w = Constant<value=float[2,1,1,1] {1.0, 0.004}>() c = Conv(d, w) t = Constant<value=float {0.0005}>() r = QuantizeLinear(c, t, z) "
    "y = DequantizeLinear(r, t, z) }"
)


def check_requantized(program, folder):
    """A weight of floats between quantized tensors gets one scale; so a weight with a scale for each channel stays integers at every
    opset."""
    form = onnx.parser.parse_model('<ir_version: 8, opset_import: ["": 11]> g ' + REQUANTIZED).SerializeToString()
    feed = {"x": torch.randn(1, 1, 6, 6).numpy()}
    wrong = (
        ["a weight of floats between quantized tensors: ONNX Runtime no longer falls for it"]
        if same(run(form, feed, False), run(form, feed, True))
        else []
    )
    scales = torch.tensor([1.0, 0.01, 0.0004], dtype=torch.float64) / 100
    conv = torch.ao.nn.quantized.Conv2d(2, 3, 3)
    conv.set_weight_bias(
        torch.quantize_per_channel(
            torch.randn(3, 2, 3, 3) * scales.reshape(3, 1, 1, 1).float() * 30, scales, torch.zeros(3, dtype=torch.long), 0, torch.qint8
        ),
        torch.zeros(3),
    )
    conv.scale, conv.zero_point = 0.0001, 128
    module = torch.nn.Sequential(torch.ao.nn.quantized.Quantize(0.05, 128, torch.quint8), conv, torch.ao.nn.quantized.DeQuantize()).eval()
    file, target = f"{folder}/requantized.pt", f"{folder}/requantized.onnx"
    torch.jit.save(torch.jit.script(module), file)
    x = torch.randn(2, 2, 6, 6)
    for opset in ("10", "11", "12", "13", "21"):
        made = subprocess.run(
            [program, "convert", file, "-o", target, "-q", "--opset", opset, "--input", "f32:2,2,6,6"], capture_output=True, text=True
        )
        for optimize in (False, True):
            got = run(target, {onnx.load(target).graph.input[0].name: x.numpy()}, optimize) if not made.returncode else made.stderr
            if isinstance(got, str) or numpy.abs(got[0] - module(x).numpy()).max() > conv.scale * 1.01:
                wrong.append(
                    f"a quantized convolution at {opset}, {'with' if optimize else 'without'} optimisations: "
                    f"{got if isinstance(got, str) else 'other values'}"
                )
    return wrong


SIGNED = (
    "(float[2,3,4] x) => (float[A,B] y) { s = Constant<value=float {0.1}>() z = Constant<value=int8 {-3}>() q = QuantizeLinear(x, s, "
    "z) d = DequantizeLinear(q, s, z) "
    "n = Constant<value=int64[2] {6, 4}>() r = Reshape(d, n) y = Sigmoid(r) }"
)


class SignedMoves(torch.nn.Module):
    def forward(self, x):
        y = torch.quantize_per_tensor(x, 0.1, -3, torch.qint8).dequantize()
        moved = y.transpose(1, 2).reshape(2, -1)[:, 1:].unsqueeze(1)
        return torch.sigmoid(moved), y + 1, torch.nn.functional.max_pool1d(moved, 2)


def check_signed(program, folder):
    """int8 tensors that move after they were dequantized don't load from opset 21 on; so the integers move."""
    form = onnx.parser.parse_model('<ir_version: 10, opset_import: ["": 21]> g ' + SIGNED).SerializeToString()
    x = torch.randn(2, 3, 4)
    wrong = [] if isinstance(run(form, {"x": x.numpy()}, True), str) else ["a moved int8 tensor: ONNX Runtime no longer falls for it"]
    file, target = f"{folder}/signed.pt", f"{folder}/signed.onnx"
    torch.jit.script(SignedMoves()).save(file)
    for opset in ("13", "20", "21", "24"):
        made = subprocess.run(
            [program, "convert", file, "-o", target, "-q", "--opset", opset, "--input", "f32:n,3,4"], capture_output=True, text=True
        )
        for optimize in (False, True):
            got = run(target, {"x": x.numpy()}, optimize) if not made.returncode else made.stderr
            if isinstance(got, str) or not same(got, [one.numpy() for one in SignedMoves()(x)]):
                wrong.append(f"moved int8 tensors at {opset}, {'with' if optimize else 'without'} optimisations: {got}")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    parser.add_argument("--opsets", default="9,13,17,21")
    arguments = parser.parse_args()
    torch.manual_seed(1)
    wrong, count = [], 0
    for what, opset, text, values, right in KERNELS:
        got = run(
            onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": {opset}]> g ' + text).SerializeToString(), {"x": values}, False
        )
        if isinstance(got, str) or same(got, [numpy.array(right, got[0].dtype)]):
            wrong.append(f"{what}: {got if isinstance(got, str) else 'it is right now'}")
    with tempfile.TemporaryDirectory() as folder:
        wrong += check_requantized(arguments.program, folder)
        wrong += check_signed(arguments.program, folder)
        wrong += check_fatal(arguments.program, folder, arguments.opsets.split(","))
        for what, inputs, body, (module, shapes) in TRAPS:
            sign = (lambda one: -one.abs()) if "maximum" in what else (lambda one: one)
            made = lambda sizes: sign(
                torch.randn(
                    [size if isinstance(size, int) else n for size in sizes], dtype=torch.float64 if "double" in inputs else torch.float32
                )
            )
            n = 4
            rank = 4 if "1,2,6,6" in inputs else 3 if "2,3,4" in inputs else 1 if "float[4] v" in inputs else 2
            kind = "double" if "double" in inputs else "float"
            form = onnx.parser.parse_model(
                f'<ir_version: 8, opset_import: ["": 17]> g {inputs} => ({kind}[{",".join("ABCD"[:rank])}] y) {{ {body} }}'
            ).SerializeToString()
            feed = {
                name: made(sizes).numpy()
                for name, sizes in zip([one.split()[-1] for one in inputs.strip("()").replace("] ", "]  ").split(", ")], shapes.values())
            }
            plain, optimized = run(form, feed, False), run(form, feed, True)
            if isinstance(plain, str):
                wrong.append(f"{what}: the form itself doesn't run: {plain}")
            elif same(plain, optimized):
                wrong.append(f"{what}: ONNX Runtime {onnxruntime.__version__} no longer falls for it")
            module.eval()
            file = f"{folder}/model.pt"
            n = 3
            torch.jit.save(torch.jit.script(module), file)
            for opset in arguments.opsets.split(","):
                target = f"{folder}/model.onnx"
                given = [
                    part
                    for name, sizes in shapes.items()
                    for part in ("--input", f"{name}={'f64' if kind == 'double' else 'f32'}:" + ",".join(map(str, sizes)))
                ]
                convert = subprocess.run(
                    [arguments.program, "convert", file, "-o", target, "-q", "--opset", opset, *given], capture_output=True, text=True
                )
                if convert.returncode:
                    wrong.append(f"{what} at {opset}: {convert.stdout[-300:]}{convert.stderr[-300:]}")
                    continue
                for n in SIZES:
                    values = {name: made(sizes) for name, sizes in shapes.items()}
                    expected = module(*values.values())
                    expected = [one.detach().numpy() for one in (expected if isinstance(expected, tuple) else (expected,))]
                    for optimize in (False, True):
                        count += 1
                        got = run(target, {name: value.numpy() for name, value in values.items()}, optimize)
                        if not same(expected, got):
                            wrong.append(
                                f"{what} at {opset} with n={n}, {'with' if optimize else 'without'} optimisations: "
                                f"{got if isinstance(got, str) else 'other values'}"
                            )
    print(*wrong, sep="\n")
    print(f"{len(wrong)} failed of {count} runs")
    return 1 if wrong or count < 100 else 0


if __name__ == "__main__":
    sys.exit(main())
