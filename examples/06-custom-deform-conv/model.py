"""A layer of deformable convolution, traced without torchvision: python model.py [FOLDER]"""
import pathlib
import sys

import torch

torch.library.define(
    "torchvision::deform_conv2d",
    "(Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias, int stride_h, int stride_w, int pad_h, int pad_w, "
    "int dilation_h, int dilation_w, int groups, int offset_groups, bool use_mask) -> Tensor")


@torch.library.impl("torchvision::deform_conv2d", "CompositeImplicitAutograd")
def deform_conv2d(input, weight, offset, mask, bias, *numbers):
    """Stands in for torchvision's kernel: a trace records the call, and needs no more of it than a result of the right shape."""
    return input.new_zeros(input.shape[0], weight.shape[0], *offset.shape[2:])


class Deformed(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.offset = torch.nn.Conv2d(3, 18, 3, padding=1)
        self.mask = torch.nn.Conv2d(3, 9, 3, padding=1)
        self.weight = torch.nn.Parameter(torch.randn(4, 3, 3, 3))
        self.bias = torch.nn.Parameter(torch.randn(4))

    def forward(self, x):
        mask = torch.sigmoid(self.mask(x))
        return torch.ops.torchvision.deform_conv2d(x, self.weight, self.offset(x), mask, self.bias, 1, 1, 1, 1, 1, 1, 1, 1, True)


if __name__ == "__main__":
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    torch.manual_seed(0)
    with torch.no_grad():
        traced = torch.jit.trace(Deformed().eval(), torch.randn(1, 3, 8, 8))
    traced.save(folder / "deformed.pt")
