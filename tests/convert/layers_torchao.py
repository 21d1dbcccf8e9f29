"""torchao's operators of quantization in blocks, as the library computes them; exported programs of quantized layers call them."""
import torch
import torchao.quantization.quant_primitives  # registers the operators

from layer_cases import Case

ROUNDS = range(11, 27)


def chosen(mapping, block, dtype=torch.int8, bounds=(None, None), eps=None, scale_dtype=None, zero_dtype=torch.int8, keep=False):
    return lambda x: torch.ops.torchao.choose_qparams_affine(x, mapping, block, dtype, *bounds, eps, scale_dtype, zero_dtype, keep)


def quantized(block, dtype=torch.int8, bounds=(None, None)):
    return lambda x, scale, zero: torch.ops.torchao.quantize_affine(x, block, scale, zero, dtype, *bounds)


def floats(block, out=torch.float32, dtype=torch.int8):
    return lambda x, scale, zero: torch.ops.torchao.dequantize_affine(x, block, scale, zero, dtype, None, None, out)


def fixed(block, scale, zero, out=torch.float32, dtype=torch.int8):
    """With a scale and a zero point that the model holds."""
    return lambda x: torch.ops.torchao.dequantize_affine(x, block, scale, zero, dtype, None, None, out)


def rows(x):
    """There and back, by what each row holds."""
    scale, zero = torch.ops.torchao.choose_qparams_affine(x, "ASYMMETRIC", [1, 8], torch.int8, -128, 127, None, None, torch.int8)
    steps = torch.ops.torchao.quantize_affine(x, [1, 8], scale, zero, torch.int8, -128, 127)
    return steps, torch.ops.torchao.dequantize_affine(steps, [1, 8], scale, zero, torch.int8, -128, 127)


def cases():
    made, r = {}, torch.randn
    inputs = [(r(4, 12),), (torch.rand(4, 12) + 1,), (torch.zeros(4, 12),), (r(4, 12) * 1e-6,), (-torch.rand(4, 12),)]
    blocks = {"rows": [1, 12], "columns": [4, 1], "all": [4, 12], "groups": [1, 4], "tiles": [2, 3]}
    for name, block in blocks.items():
        for mapping in ("ASYMMETRIC", "SYMMETRIC", "SYMMETRIC_NO_CLIPPING_ERR"):
            for keep in (False, True):
                made[f"ao_{mapping}_{name}_{keep}"] = Case(chosen(mapping, block, keep=keep), inputs, opsets=ROUNDS)
    special = r(4, 12)
    special[0, 0], special[1, 1], special[2, 2] = float("nan"), float("inf"), float("-inf")
    made["ao_special"] = Case(chosen("SYMMETRIC", [1, 12], zero_dtype=torch.float32), [(special,)], opsets=ROUNDS)
    for mapping in ("ASYMMETRIC", "SYMMETRIC"):
        made[f"ao_{mapping}_dtypes"] = Case(chosen(mapping, [1, 6], torch.uint8, (0, 15), 1e-3, torch.float64, None), inputs, opsets=ROUNDS)
        made[f"ao_{mapping}_half"] = Case(chosen(mapping, [1, 12], eps=1e-5, zero_dtype=torch.int32), [(x.half(),) for x, in inputs[:3]], opsets=ROUNDS)
        made[f"ao_{mapping}_named"] = Case(chosen(mapping, [1, 12]), [(r(4, 12),), (r(7, 12),), (r(1, 12),)], ("f32:n,12",), opsets=ROUNDS)
        made[f"ao_{mapping}_words"] = Case(chosen(mapping, [1, 1, 12], keep=True), [(r(2, 4, 12),), (r(5, 1, 12),)], ("f32:n,m,12",), opsets=ROUNDS)
    made["ao_nothing_reduced"] = Case(chosen("SYMMETRIC", [1, 1]), [(r(4, 12),)], refused="no block has several elements | no rounding to even")
    made["ao_rows_and_back"] = Case(rows, [(r(3, 8),), (r(6, 8) * 9,)], ("f32:n,8",), opsets=ROUNDS)

    counts = {"rows": (4, 1), "columns": (1, 12), "all": (1, 1), "groups": (4, 3), "tiles": (2, 4)}
    for name, block in blocks.items():
        scale, zero = torch.rand(counts[name]) + 0.1, torch.randint(-9, 9, counts[name]).to(torch.int8)
        steps = torch.randint(-128, 128, (4, 12)).to(torch.int8)
        made[f"ao_to_{name}"] = Case(quantized(block), [(r(4, 12) * 20, scale, zero), (r(4, 12), scale, zero)], opsets=ROUNDS)
        for out in (torch.float32, torch.float16):
            dtype = str(out)[-2:]
            made[f"ao_from_{name}_{dtype}"] = Case(floats(block, out), [(steps, scale, zero)])
            made[f"ao_fixed_{name}_{dtype}"] = Case(fixed(block, scale, zero, out), [(steps,)])
        made[f"ao_symmetric_{name}"] = Case(fixed(block, scale, None), [(steps,)])
        made[f"ao_wide_zero_{name}"] = Case(fixed(block, scale, zero.int() * 100), [(steps,)])
        made[f"ao_int_zero_{name}"] = Case(fixed(block, scale, zero.int()), [(steps,)])
    zero = torch.tensor([3, 4], dtype=torch.uint8)
    unsigned = torch.randint(0, 256, (2, 6)).to(torch.uint8)
    made["ao_to_unsigned"] = Case(quantized([1, 6], torch.uint8, (0, 15)), [(r(2, 6) * 9, torch.tensor([0.5, 0.25]), zero)], opsets=ROUNDS)
    made["ao_from_unsigned"] = Case(fixed([1, 6], torch.tensor([0.5, 0.3]), zero, dtype=torch.uint8), [(unsigned,)])
    made["ao_to_wide"] = Case(quantized([1, 6], torch.int32, (-70000, 70000)), [(r(2, 6) * 1e5, torch.tensor([0.5, 0.25]), torch.tensor([3, 0]))], opsets=ROUNDS)
    made["ao_float_zero"] = Case(quantized([1, 6]), [(r(2, 6), torch.tensor([0.5, 0.25]), torch.tensor([0.5, 1.75]))], opsets=ROUNDS)
    halves = torch.arange(-6.0, 6).reshape(2, 6) / 4
    made["ao_to_half"] = Case(quantized([1, 6]), [(halves.half(), torch.tensor([0.5, 0.25]).half(), torch.tensor([3, 4]).to(torch.int8))], opsets=ROUNDS)
    made["ao_half_by_single"] = Case(quantized([1, 6]), [(halves.half(), torch.tensor([0.5, 0.25]), torch.tensor([3, 4]).to(torch.int8))], opsets=ROUNDS)
    made["ao_ties"] = Case(quantized([1, 6]), [(halves, torch.tensor([0.5, 0.25]), torch.tensor([3, 4]).to(torch.int8))], opsets=ROUNDS)
    made["ao_to_named"] = Case(quantized([1, 12]), [(r(4, 12), torch.rand(4) + 0.1, torch.zeros(4).to(torch.int8)),
                                                    (r(7, 12), torch.rand(7) + 0.1, torch.ones(7).to(torch.int8))],
                               ("f32:n,12", "f32:n", "i8:n"), opsets=ROUNDS)
    made["ao_from_named"] = Case(floats([1, 12]), [(torch.randint(-128, 128, (n, 12)).to(torch.int8), torch.rand(n) + 0.1, torch.ones(n).to(torch.int8))
                                                   for n in (4, 7)], ("i8:n,12", "f32:n", "i8:n"))
    return made
