"""What exported programs hold and TorchScript files don't: the operators into which run_decompositions() takes others apart, and quantization
as torchao's PT2E writes it. The Python implementation of quantized_decomposed is the reference; integers leave as they are, so a step
apart is wrong."""
import torch
import torch.ao.quantization.fx._decomposed  # registers the operators
from torch import nn

from layer_cases import Case

OPS = torch.ops.quantized_decomposed
RANGES = [(torch.uint8, 0, 255), (torch.int8, -128, 127), (torch.uint8, 0, 127), (torch.int8, -127, 127), (torch.int8, -8, 7), (torch.int16, -32768, 32767),
          (torch.uint16, 0, 65535), (torch.int16, -1000, 1000), (torch.int32, -(1 << 20), 1 << 20)]
EIGHT_BITS = (torch.uint8, torch.int8)


class Numbers(nn.Module):
    """There and back by numbers."""

    def __init__(self, scale: float, zero: int, low: int, high: int, dtype):
        super().__init__()
        self.scale, self.zero, self.low, self.high, self.dtype = scale, zero, low, high, dtype

    def forward(self, x):
        steps = torch.ops.quantized_decomposed.quantize_per_tensor(x, self.scale, self.zero, self.low, self.high, self.dtype)
        return steps, torch.ops.quantized_decomposed.dequantize_per_tensor(steps, self.scale, self.zero, self.low, self.high, self.dtype)


class Given(Numbers):
    """The same by tensors that the model is given."""

    def forward(self, x, scale, zero):
        steps = torch.ops.quantized_decomposed.quantize_per_tensor(x, scale, zero, self.low, self.high, self.dtype)
        return steps, torch.ops.quantized_decomposed.dequantize_per_tensor(steps, scale, zero, self.low, self.high, self.dtype)


class Bounds(nn.Module):
    """The same where bounds are tensors, too."""

    def __init__(self, low: int, high: int, dtype):
        super().__init__()
        self.dtype = dtype
        self.register_buffer("scale", torch.tensor([0.031]))
        self.register_buffer("zero", torch.tensor([3]))
        self.register_buffer("low", torch.tensor(low))
        self.register_buffer("high", torch.tensor(high))

    def forward(self, x):
        steps = torch.ops.quantized_decomposed.quantize_per_tensor(x, self.scale, self.zero, self.low, self.high, self.dtype)
        return steps, torch.ops.quantized_decomposed.dequantize_per_tensor(steps, self.scale, self.zero, self.low, self.high, self.dtype)


class Back(nn.Module):
    """Integers to floats of a stated dtype."""

    def __init__(self, zero: int, dtype, out):
        super().__init__()
        self.zero, self.dtype, self.out = zero, dtype, out

    def forward(self, x):
        return torch.ops.quantized_decomposed.dequantize_per_tensor(x, 0.0371, self.zero, 0, 100, self.dtype, out_dtype=self.out)


class Channels(nn.Module):
    def __init__(self, scales, zeros, axis: int, low: int, high: int, dtype):
        super().__init__()
        self.axis, self.low, self.high, self.dtype = axis, low, high, dtype
        self.register_buffer("scales", scales)
        self.register_buffer("zeros", zeros)

    def forward(self, x):
        steps = torch.ops.quantized_decomposed.quantize_per_channel(x, self.scales, self.zeros, self.axis, self.low, self.high, self.dtype)
        return steps, torch.ops.quantized_decomposed.dequantize_per_channel(steps, self.scales, self.zeros, self.axis, self.low, self.high, self.dtype)


class ChannelsThere(Channels):
    def forward(self, x):
        return torch.ops.quantized_decomposed.quantize_per_channel(x, self.scales, self.zeros, self.axis, self.low, self.high, self.dtype)


class ChannelsBack(Channels):
    def forward(self, x):
        return torch.ops.quantized_decomposed.dequantize_per_channel(x, self.scales, self.zeros, self.axis, self.low, self.high, self.dtype)


class ChannelsWithoutZero(Channels):
    def forward(self, x):
        return torch.ops.quantized_decomposed.dequantize_per_channel(x, self.scales, None, self.axis, self.low, self.high, self.dtype, out_dtype=torch.float16)


class Tokens(nn.Module):
    """What dynamic quantization of rows does."""

    def __init__(self, asymmetric: bool):
        super().__init__()
        self.asymmetric = asymmetric

    def forward(self, x):
        if self.asymmetric:
            scales, zeros = torch.ops.quantized_decomposed.choose_qparams_per_token_asymmetric(x, torch.int8)
        else:
            scales, zeros = torch.ops.quantized_decomposed.choose_qparams_per_token(x, torch.int8)
        steps = torch.ops.quantized_decomposed.quantize_per_token(x, scales, zeros, -128, 127, torch.int8)
        return scales, zeros, steps, torch.ops.quantized_decomposed.dequantize_per_token(steps, scales, zeros, -128, 127, torch.int8, torch.float32)


class Groups(nn.Module):
    def __init__(self, zeros, size: int):
        super().__init__()
        self.size = size
        self.register_buffer("scales", torch.rand(3, 12 // min(size, 12)) + 0.1)
        self.register_buffer("zeros", zeros)

    def forward(self, x):
        steps = torch.ops.quantized_decomposed.quantize_per_channel_group(x, self.scales, self.zeros, -8, 7, torch.int8, self.size)
        return steps, torch.ops.quantized_decomposed.dequantize_per_channel_group(steps, self.scales, self.zeros, -8, 7, torch.int8, self.size, torch.float32)


class GroupsBack(Groups):
    def forward(self, x):
        return torch.ops.quantized_decomposed.dequantize_per_channel_group(x, self.scales, None, -8, 7, torch.int8, self.size, torch.float16)


class Dynamic(nn.Module):
    def __init__(self, low: int, high: int, dtype, symmetric: bool):
        super().__init__()
        self.low, self.high, self.dtype, self.symmetric = low, high, dtype, symmetric

    def forward(self, x):
        if self.symmetric:
            scale, zero = torch.ops.quantized_decomposed.choose_qparams_symmetric(x, self.low, self.high, 1e-5, self.dtype)
        else:
            scale, zero = torch.ops.quantized_decomposed.choose_qparams(x, self.low, self.high, 1e-5, self.dtype)
        steps = torch.ops.quantized_decomposed.quantize_per_tensor(x, scale, zero, self.low, self.high, self.dtype)
        return scale, zero, steps, torch.ops.quantized_decomposed.dequantize_per_tensor(steps, scale, zero, self.low, self.high, self.dtype)


class Fake(Channels):
    def forward(self, x):
        return torch.ops.quantized_decomposed.fake_quant_per_channel(x, self.scales, self.zeros, self.axis, self.low, self.high)


class Half(nn.Module):
    def __init__(self, inner, dtype):
        super().__init__()
        self.inner, self.dtype = inner, dtype

    def forward(self, x):
        return self.inner(torch.ops.quantized_decomposed.convert_element_type(x, self.dtype))


def off_ties(x, scale):
    """Halves whose quotient isn't half a step: there QuantizeLinear, which divides, and PyTorch, which multiplies with the reciprocal, may part."""
    steps = x.half().double() / scale
    return torch.where((steps - steps.floor() - 0.5).abs() < 1e-3, torch.zeros_like(x), x)


def cases():
    wide, rounded = range(10, 27), range(11, 27)
    spread = lambda *shape: torch.cat([torch.randn(shape), torch.randn(shape) * 40])
    made = {}
    for dtype, low, high in RANGES:
        name = f"{str(dtype).removeprefix('torch.')}_{low}_{high}"
        zero = (low + high) // 2 + 1 if low >= 0 else 2
        opsets = wide if dtype in EIGHT_BITS else rounded
        # A power of two as scale: halves stay halves however they are computed.
        halves = torch.arange(-20.0, 20) / 8
        made[f"pt2e_{name}"] = Case(Numbers(0.0371, zero, low, high, dtype),
                                    [(spread(4, 50),), (torch.tensor([1e9, -1e9]).repeat(4, 50).reshape(8, 50),)],
                                    script=True, opsets=opsets)
        made[f"pt2e_{name}_ties"] = Case(Numbers(0.25, zero, low, high, dtype), [(halves,)], script=True, opsets=opsets)
        made[f"pt2e_{name}_given"] = Case(Given(0.0, 0, low, high, dtype),
                                          [(spread(4, 50), torch.tensor([0.0371], dtype=torch.float64), torch.tensor([zero]))],
                                          script=True, opsets=rounded)
        made[f"pt2e_{name}_bounds"] = Case(Bounds(low, high, dtype), [(spread(4, 50),)], script=True, opsets=opsets)
        made[f"pt2e_{name}_dynamic"] = Case(Dynamic(low, high, dtype, False),
                                            [(spread(4, 50),), (torch.rand(8, 50) + 1,), (torch.zeros(8, 50),),
                                             (torch.randn(8, 50) * 1e-6,)], script=True, opsets=rounded)
        made[f"pt2e_{name}_symmetric"] = Case(Dynamic(low, high, dtype, True), [(spread(4, 50),), (-torch.rand(8, 50) - 1,)], script=True, opsets=rounded)
        channels = lambda: (torch.rand(3) * 0.1 + 0.01, torch.tensor([zero, zero + 1, zero]))
        for axis in (0, 1, -1):   # PyTorch subtracts no zero points from uint16
            kind = Channels if dtype != torch.uint16 else ChannelsThere
            made[f"pt2e_{name}_axis{axis}"] = Case(kind(*channels(), axis, low, high, dtype), [(torch.randn(3, 3, 3) * 3,)], script=True, opsets=rounded)
        made[f"pt2e_{name}_half"] = Case(Half(Numbers(0.0371, zero, low, high, dtype), torch.float16), [(off_ties(spread(4, 50), 0.0371),)], script=True, opsets=opsets)
        for out in (torch.float16, torch.float32, torch.float64):
            x = torch.randint(max(low, -3000), min(high, 3000), (4, 50)).to(dtype)
            made[f"pt2e_back_{name}_{str(out)[-2:]}"] = Case(Back(zero, dtype, out), [(x,)], script=True)
    for dtype, zeros in ((torch.int8, [0] * 80), (torch.int32, [0] * 80), (torch.int32, [0] * 79 + [5])):
        x = torch.randint(-128, 127, (2, 80)).to(dtype)
        name = f"{str(dtype)[6:]}_{zeros[-1]}"
        made[f"pt2e_many_{name}"] = Case(ChannelsBack(torch.rand(80), torch.tensor(zeros), 1, -128, 127, dtype), [(x,)], script=True)
        made[f"pt2e_many_{name}_half"] = Case(ChannelsWithoutZero(torch.rand(80), torch.tensor(zeros), 1, -128, 127, dtype), [(x,)], script=True)
    for dtype in (torch.float16, torch.float64):
        made[f"pt2e_scales_{str(dtype)[-2:]}"] = Case(
            Channels(torch.tensor([0.5, 0.3]).to(dtype), torch.tensor([3, 0]), 0, -128, 127, torch.int8),
            [(torch.randn(2, 9) * 9,)], script=True, opsets=rounded)
    made["pt2e_fraction"] = Case(Channels(torch.tensor([0.5, 0.3]), torch.tensor([3.5, 0.25]), 0, -128, 127, torch.int8), [(torch.randn(2, 9) * 9,)], script=True, opsets=rounded)
    for asymmetric in (True, False):
        kind = "asymmetric" if asymmetric else "symmetric"
        inputs = [(torch.randn(2, 3, 40),), (torch.rand(2, 3, 40) + 1,), (torch.zeros(2, 3, 40),), (-torch.rand(2, 3, 40) * 1e-7,)]
        made[f"pt2e_tokens_{kind}"] = Case(Tokens(asymmetric), inputs, script=True, opsets=rounded)
        made[f"pt2e_tokens_{kind}_half"] = Case(Half(Tokens(asymmetric), torch.float16), inputs[:3], script=True, opsets=rounded)
    for size in (4, 12, 128):
        groups = (3, 12 // min(size, 12))
        made[f"pt2e_groups_{size}"] = Case(Groups(torch.randint(-3, 3, groups, dtype=torch.int32), size), [(torch.randn(3, 12),)], script=True, opsets=rounded)
        made[f"pt2e_groups_{size}_back"] = Case(GroupsBack(torch.zeros(groups), size), [(torch.randint(-8, 7, (3, 12)).to(torch.int8),)], script=True)
    for low, high in ((-128, 127), (0, 255), (0, 15)):
        made[f"pt2e_fake_{low}_{high}"] = Case(Fake(torch.tensor([0.5, 0.3]), torch.tensor([3, 4]), 1, low, high, torch.int8),
                                               [(torch.randn(5, 2) * 50,)], script=True, opsets=rounded)
    made["pt2e_outside"] = Case(Numbers(0.1, 0, -129, 127, torch.int8), [(torch.randn(2, 3),)], script=True, refused="quant_min and quant_max must be within the range of i8")
    return made | core()


def core():
    ops, r, made = torch.ops.aten, torch.randn, {}
    kept = lambda function, *numbers: lambda *inputs: [made[i] for made in [function(*inputs)] for i in numbers]
    first = lambda function: kept(function, 0)
    weight, bias, mean, variance = r(3), r(3), r(3), torch.rand(3) + 0.5
    images = [(r(2, 3, 4, 5),), (r(4, 3, 4, 5),)]
    for name, affine in (("", (weight, bias)), ("_plain", (None, None))):
        batch_norm = lambda training, a=affine: lambda x: ops._native_batch_norm_legit_functional(x, *a, mean, variance, training, 0.3, 1e-3)
        made[f"core_batch_norm_training{name}"] = Case(kept(batch_norm(True), 0, 1, 2, 3, 4), images, ("f32:n,3,4,5",))
        made[f"core_batch_norm{name}"] = Case(kept(batch_norm(False), 0, 3, 4), images, ("f32:n,3,4,5",))
    update = lambda x: ops._batch_norm_with_update_functional(x, weight, bias, mean, variance, 0.1, 1e-5)
    made["core_batch_norm_update"] = Case(kept(update, 0, 1, 2, 4, 5), images, ("f32:n,3,4,5",))
    for p in (0.0, 1.0, 2.0, 3.0, float("inf")):
        made[f"core_cdist_{p}"] = Case(lambda x, y, p=p: ops._cdist_forward(x, y, p, None), [(r(2, 4, 3), r(2, 5, 3))])
        made[f"core_pdist_{p}"] = Case(lambda x, p=p: ops._pdist_forward(x, p), [(r(5, 3),)])
    made["core_trilinear"] = Case(lambda x, w, y: ops._trilinear(x, w, y, [1, 3], [0], [1, 2], [2, 3]), [(r(2, 3), r(5, 3, 4), r(2, 4))], ("f32:n,3", "f32:5,3,4", "f32:n,4"))
    made["core_trilinear_kept"] = Case(lambda x, w, y: ops._trilinear(x, w, y, [1], [], [0], []), [(r(2, 3), r(2, 4, 3), r(4, 3))])
    integers = lambda dtype, *sizes: torch.randint(0, 100, sizes).to(dtype)
    for dtype in (torch.int64, torch.int32, torch.int8, torch.uint8):
        made[f"core_trilinear_{str(dtype)[6:]}"] = Case(lambda x, w, y: ops._trilinear(x, w, y, [1, 3], [0], [1, 2], [2, 3]),
                                                        [(integers(dtype, 2, 3), integers(dtype, 5, 3, 4), integers(dtype, 2, 4))])
    steps = torch.tensor([0.25, 0.75, 1.25, -0.25, -0.75, 0.2501, 900, -900, 15, 15.5, -8.25, -8.5])
    for zero, low, high in ((0, 0, 255), (-2, -8, 7), (5, 0, 1023), (0, -(1 << 31), (1 << 31) - 1)):
        bounds = (low, high)
        eight = range(10 if high < 256 else 11, 27)
        scale, zeros = torch.tensor([0.5]), torch.tensor([zero], dtype=torch.int32)
        tensor = lambda x, a=(zero, *bounds): ops.fake_quantize_per_tensor_affine_cachemask(x, 0.5, *a)
        given = lambda x, s, z, on, a=bounds: ops._fake_quantize_per_tensor_affine_cachemask_tensor_qparams(x, s, z, on, *a)
        constant = lambda x, s, z, a=bounds: ops._fake_quantize_per_tensor_affine_cachemask_tensor_qparams(x, s, z, torch.ones(1, dtype=torch.int64), *a)
        channel = lambda x, s, z, a=bounds: ops.fake_quantize_per_channel_affine_cachemask(x, s, z, 1, *a)
        channels = [(steps.reshape(6, 2), torch.tensor([0.5, 0.3]), zeros.repeat(2))]
        floats = [(steps.reshape(6, 2), torch.tensor([0.5, 0.3]), zeros.repeat(2) + 0.5)]
        for mask in (True, False):
            name, of, opsets = (f"{low}_{high}", lambda f: f, range(11, 27)) if mask else (f"{low}_{high}_only", first, eight)
            special = torch.tensor([float("inf"), -float("inf"), float("nan"), 2.0 ** 30, -2.0 ** 30])
            made[f"core_fake_{name}"] = Case(of(tensor), [(steps,)], opsets=opsets)
            if mask:
                made[f"core_fake_mask_{name}"] = Case(kept(tensor, 1), [(special,)], opsets=opsets)
                made[f"core_fake_mask_channel_{name}"] = Case(
                    kept(lambda x, a=(zero, *bounds): ops.fake_quantize_per_channel_affine_cachemask(
                        x, torch.tensor([0.5] * 5), torch.tensor([a[0]] * 5, dtype=torch.int32), 0, *a[1:]), 1),
                    [(special,)], opsets=opsets)
            made[f"core_fake_tensors_{name}"] = Case(of(given), [(steps, scale, zeros, torch.tensor([on])) for on in (1, 0, 2)], opsets=opsets)
            made[f"core_fake_tensors_on_{name}"] = Case(of(constant), [(steps, scale, zeros)], opsets=opsets)
            made[f"core_fake_channel_{name}"] = Case(of(channel), channels, opsets=range(11, 27))
            made[f"core_fake_channel_floats_{name}"] = Case(of(channel), floats, opsets=range(11, 27))
    for on in (0.5, 1.5, -1.0):
        made[f"core_fake_half_{on}"] = Case(
            lambda x, s, z, on: ops._fake_quantize_per_tensor_affine_cachemask_tensor_qparams(x, s, z, on, 0, 255),
            [(steps, torch.tensor([0.5]), torch.tensor([3]).int(), torch.tensor([on]))], opsets=range(11, 27))
    made["core_rrelu"] = Case(first(lambda x: ops.rrelu_with_noise_functional(x, torch.empty_like(x), 0.1, 0.3, False)), [(r(3, 4),)])
    made["core_log_sigmoid"] = Case(first(ops.log_sigmoid_forward), [(r(3, 4) * 50,)])
    made["core_log_sigmoid_both"] = Case(ops.log_sigmoid_forward, [(r(3, 4),)], refused="only the first result has an ONNX form")
    for reduction in (0, 1, 2):
        target = torch.tensor([1, 0, 3])
        made[f"core_nll_{reduction}"] = Case(first(lambda x, y, k=reduction: ops.nll_loss_forward(x, y, torch.arange(1.0, 5), k, 0)), [(r(3, 4), target)], opsets=range(9, 27))
        made[f"core_nll2d_{reduction}"] = Case(first(lambda x, y, k=reduction: ops.nll_loss2d_forward(x, y, None, k, -100)),
                                               [(r(2, 4, 3, 2), torch.randint(0, 4, (2, 3, 2)))], opsets=range(9, 27))
    made["core_det"] = Case(first(ops._linalg_det), [(r(2, 4, 4),)], opsets=range(11, 27))
    made["core_slogdet"] = Case(lambda x: ops._linalg_slogdet(x)[:2], [(r(2, 4, 4),)], opsets=range(11, 27))
    for causal in (False, True):
        heads = lambda length: r(2, 3, length, 8)
        made[f"core_attention_{causal}".lower()] = Case(
            first(lambda q, k, v, c=causal: ops._scaled_dot_product_flash_attention_for_cpu(q, k, v, 0.0, c)),
            [(heads(4), heads(4), heads(4))])
    made["core_attention_mask"] = Case(
        first(lambda q, k, v, m: ops._scaled_dot_product_flash_attention_for_cpu(q, k, v, 0.0, False, attn_mask=m, scale=0.3)),
        [(heads(4), heads(6), heads(6), r(4, 6))], opsets=range(9, 27))
    return made
