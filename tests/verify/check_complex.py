#!/usr/bin/env python3
"""Complex inputs and outputs as pairs of reals: rotary embeddings, spectra and complex layers, traced and scripted, at other sizes."""
import argparse, sys, tempfile
from typing import Tuple

import numpy, onnxruntime, torch
from torch import Tensor, nn

from running import Verify

OPSETS = (11, 17, 20, 23)


def pairs(*shape):
    return torch.randn(shape, dtype=torch.cfloat)


class Rotate(nn.Module):
    """Llama's rotation, with the turns of the positions given."""

    def forward(self, q: Tensor, freqs_cis: Tensor) -> Tuple[Tensor, Tensor]:
        z = torch.view_as_complex(q.float().unflatten(-1, [-1, 2])) * freqs_cis[None, :, None, :]
        return torch.view_as_real(z).flatten(-2), z


class Spectrum(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("window", torch.hann_window(32))

    def forward(self, x: Tensor) -> Tensor:
        return torch.stft(x, 32, 8, window=self.window, return_complex=True)


class Back(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("window", torch.hann_window(32))

    def forward(self, z: Tensor) -> Tensor:
        return torch.istft(z * z.abs(), 32, 8, window=self.window)


class Modes(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(pairs(3, 4, 5))

    def forward(self, z: Tensor) -> Tensor:
        return torch.einsum("bix,iox->box", z[..., :5], self.weight)


class ComplexLinear(nn.Module):
    """Two real layers, as libraries for complex networks write them."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(6, 4), nn.Linear(6, 4)

    def forward(self, z: Tensor) -> Tensor:
        return torch.complex(self.a(z.real) - self.b(z.imag), self.a(z.imag) + self.b(z.real))


MODELS = [
    (
        Rotate(),
        ["f32:batch,n,heads,8", "c64:n,4"],
        [(torch.randn(2, 5, 2, 8), pairs(5, 4)), (torch.randn(3, 7, 4, 8), pairs(7, 4)), (torch.randn(1, 2, 3, 8), pairs(2, 4))],
    ),
    (Spectrum(), ["f32:batch,samples"], [(torch.randn(2, 100),), (torch.randn(3, 150),), (torch.randn(1, 77),)]),
    (Back(), ["c64:batch,17,frames"], [(pairs(2, 17, 9),), (pairs(3, 17, 14),), (pairs(1, 17, 6),)]),
    (Modes(), ["c64:batch,3,n"], [(pairs(2, 3, 9),), (pairs(1, 3, 12),), (pairs(5, 3, 5),)]),
    (ComplexLinear(), ["c64:batch,6"], [(pairs(2, 6),), (pairs(5, 6),), (pairs(1, 6),)]),
]


def real(x):
    return (torch.view_as_real(x) if x.is_complex() else x).detach().numpy()


def compare(check, what, file, module, runs):
    session = onnxruntime.InferenceSession(str(file))
    for inputs in runs:
        want = module(*inputs)
        want = want if isinstance(want, tuple) else (want,)
        got = session.run(None, {i.name: real(x) for i, x in zip(session.get_inputs(), inputs)})
        for g, w in zip(got, map(real, want)):
            check.expect(
                f"{what}, inputs of {[list(x.shape) for x in inputs]}", g.shape == w.shape and numpy.allclose(g, w, 1e-3, 1e-4), (g, w)
            )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    program = parser.parse_args().program
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as folder:
        check = Verify(program, folder)
        for module, specs, runs in MODELS:
            for form in ("traced", "scripted"):
                name = f"{type(module).__name__}_{form}"
                model = check.save(module, *runs[0], script=form == "scripted", name=name)
                options = ["--complex-io", "pairs"] + [part for spec in specs for part in ("--input", spec)]
                for opset in OPSETS:
                    compare(
                        check, f"{name} at opset {opset}", check.convert(model, f"{name}.onnx", "--opset", opset, *options), module, runs
                    )
                check.run(f"{name}: verified", 0, model, *options)
        return check.end()


if __name__ == "__main__":
    sys.exit(main())
