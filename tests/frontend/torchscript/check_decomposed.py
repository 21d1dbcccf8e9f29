#!/usr/bin/env python3
"""Compares quantized_decomposed operators as the interpreter runs them with PyTorch's Python implementation, bit by bit.

    check_decomposed.py --program BUILD/tests/decomposed_calls
"""
import argparse, pathlib, subprocess, sys, tempfile

import torch
import torch.ao.quantization.fx._decomposed  # registers the operators

OPS = torch.ops.quantized_decomposed
CODES = {torch.uint8: 0, torch.int8: 1, torch.int16: 2, torch.int32: 3, torch.float16: 5, torch.float32: 6, torch.float64: 7, torch.bfloat16: 15}
# Without uint16, which libtorch and torch.load write to files in different ways.
RANGES = [(torch.uint8, 0, 255), (torch.int8, -127, 127), (torch.int16, -32768, 32767), (torch.int32, -(1 << 20), 1 << 20)]


def calls():
    r, t = torch.randn, torch.tensor
    for dtype, low, high in RANGES:
        steps = torch.randint(low, high, (3, 4, 6)).to(dtype)
        bounds, zero = (low, high, dtype), (low + high) // 2
        for x in (r(3, 4, 6) * 9, (r(3, 4, 6) * 9).half(), (r(3, 4, 6) * 9).bfloat16(), torch.arange(-36.0, 36).reshape(3, 4, 6) / 8):
            yield OPS.quantize_per_tensor.default, (x, 0.0371, zero, *bounds)
            yield OPS.quantize_per_tensor.default, (x, 0.25, zero, *bounds)
            yield OPS.quantize_per_tensor.tensor, (x, t([0.0371], dtype=torch.float64), t([zero]), *bounds)
            yield OPS.quantize_per_tensor.tensor2, (x, t([0.5]), t([zero]), t(low), t(high), dtype)
            for axis in (0, 1, -1):
                size = x.shape[axis]
                yield OPS.quantize_per_channel.default, (x, torch.rand(size) + 0.01, torch.full((size,), zero), axis, *bounds)
            if dtype == torch.int8:
                yield OPS.choose_qparams_per_token.default, (x, dtype)
                yield OPS.choose_qparams_per_token_asymmetric.default, (x, dtype)
            for op in (OPS.choose_qparams.tensor, OPS.choose_qparams_symmetric.tensor):
                yield op, (x, low, high, 1e-5, dtype)
                yield op, (x * 0, low, high, 1e-5, dtype)
            yield OPS.quantize_per_token.default, (x, torch.rand(3, 4, 1, dtype=torch.float64) + 0.1, torch.full((3, 4, 1), zero), *bounds)
            yield OPS.quantize_per_channel_group.default, (x.reshape(12, 6), torch.rand(12, 2) + 0.1, torch.full((12, 2), zero), *bounds, 3)
        for out in (None, torch.float16, torch.float64):
            yield OPS.dequantize_per_tensor.default, (steps, 0.0371, zero, *bounds, out)
            yield OPS.dequantize_per_tensor.tensor, (steps, t([0.0371]), t([zero]), *bounds, out)
            yield OPS.dequantize_per_channel.default, (steps, torch.rand(4), None, 1, *bounds, out)
            yield OPS.dequantize_per_channel.default, (steps, torch.rand(4), torch.full((4,), zero), 1, *bounds, out)
        yield OPS.dequantize_per_token.default, (steps, torch.rand(3, 4, 1, dtype=torch.float64), torch.full((3, 4, 1), zero), *bounds, torch.float32)
        for zeros, size in ((None, 3), (torch.full((12, 2), zero), 3), (torch.full((12, 1), zero), 128)):
            yield OPS.dequantize_per_channel_group.default, (steps.reshape(12, 6), torch.rand(12, 1 if size > 6 else 2), zeros, *bounds, size, torch.float16)
    yield OPS.fake_quant_per_channel.default, (r(3, 4) * 9, torch.rand(4) + 0.01, torch.arange(4), 1, -8, 7)
    yield OPS.convert_element_type.no_fuse, (r(3, 4), torch.float16)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    arguments = parser.parse_args()
    torch.manual_seed(0)
    wrong = 0
    with tempfile.TemporaryDirectory() as temporary:
        folder, lines, expected = pathlib.Path(temporary), [], []
        for number, (op, given) in enumerate(calls()):
            names = [argument.name for argument in op._schema.arguments if argument.kwarg_only]
            positional = given[: len(given) - len(names)] if names else given
            made = op(*positional, **dict(zip(names, given[len(positional):])))
            expected.append((op, made if isinstance(made, tuple) else (made,)))
            torch.save(tuple(CODES.get(value, value) if isinstance(value, torch.dtype) else value for value in given), folder / f"{number}.pt")
            lines.append(f"{op._schema.name}\t{folder / f'{number}.pt'}\t{folder / f'{number}.results'}\n")
        subprocess.run([arguments.program], input="".join(lines), text=True, check=True)
        for number, (op, want) in enumerate(expected):
            got = torch.load(folder / f"{number}.results")
            if len(got) != len(want) or any(g.dtype != w.dtype or g.shape != w.shape or not torch.equal(g, w) for g, w in zip(got, want)):
                wrong += 1
                print(f"{op} of call {number}: {got} for {want}")
    print(f"{len(expected)} calls, {wrong} differ")
    return 1 if wrong or len(expected) < 200 else 0


if __name__ == "__main__":
    sys.exit(main())
