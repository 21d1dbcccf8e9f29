"""Layers of deformable convolution, with and without a mask, traced without torchvision: python model.py [FOLDER]

deform_conv2d below is the definition, written out: where each tap of the kernel is moved by its offset, the input is read
bilinearly, zero outside.
"""
import pathlib
import sys

import torch

torch.library.define(
    "torchvision::deform_conv2d",
    "(Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias, int stride_h, int stride_w, int pad_h, int pad_w, "
    "int dilation_h, int dilation_w, int groups, int offset_groups, bool use_mask) -> Tensor")


def read(image, rows, columns):
    """image: channels, height, width; rows, columns: any shape. Bilinear, zero outside."""
    height, width = image.shape[1:]
    top, left = rows.floor(), columns.floor()
    total = 0
    for row, column in ((top, left), (top, left + 1), (top + 1, left), (top + 1, left + 1)):
        weight = (1 - (rows - row).abs()) * (1 - (columns - column).abs())
        inside = (row >= 0) & (row < height) & (column >= 0) & (column < width)
        at = image[:, row.clamp(0, height - 1).long(), column.clamp(0, width - 1).long()]
        total = total + at * (weight * inside)
    return total


@torch.library.impl("torchvision::deform_conv2d", "CompositeImplicitAutograd")
def deform_conv2d(input, weight, offset, mask, bias, stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w, groups, offset_groups, use_mask):
    batch, channels = input.shape[:2]
    filters, _, taps_h, taps_w = weight.shape
    height, width = offset.shape[2:]
    own, taps = channels // offset_groups, taps_h * taps_w
    places_h, places_w = torch.arange(height)[:, None] * stride_h - pad_h, torch.arange(width)[None] * stride_w - pad_w
    columns = input.new_zeros(batch, channels, taps, height, width)
    for n in range(batch):
        for group in range(offset_groups):
            for tap in range(taps):
                moved = offset[n, 2 * (group * taps + tap):][:2]
                rows = places_h + tap // taps_w * dilation_h + moved[0]
                seen = read(input[n, group * own:(group + 1) * own], rows, places_w + tap % taps_w * dilation_w + moved[1])
                columns[n, group * own:(group + 1) * own, tap] = seen * mask[n, group * taps + tap] if use_mask else seen
    columns = columns.reshape(batch, groups, -1, height, width)
    weight = weight.reshape(groups, filters // groups, -1)
    return torch.einsum("gfk,ngkhw->ngfhw", weight, columns).reshape(batch, filters, height, width) + bias[None, :, None, None]


class Deformed(torch.nn.Module):
    def __init__(self, masked, biased):
        super().__init__()
        self.offset = torch.nn.Conv2d(4, 2 * 2 * 6, (3, 2), stride=(2, 1), padding=(1, 0))     # two offset groups
        self.mask = torch.nn.Conv2d(4, 2 * 6, (3, 2), stride=(2, 1), padding=(1, 0)) if masked else None
        self.weight = torch.nn.Parameter(torch.randn(6, 2, 3, 2))                                # two groups
        self.bias = torch.nn.Parameter(torch.randn(6)) if biased else None

    def forward(self, x):
        # As torchvision.ops.deform_conv2d calls it: no mask is an empty one, no bias is zeros.
        mask = x.new_zeros((x.shape[0], 1)) if self.mask is None else torch.sigmoid(self.mask(x))
        bias = x.new_zeros(6) if self.bias is None else self.bias
        return torch.ops.torchvision.deform_conv2d(x, self.weight, self.offset(x), mask, bias, 2, 1, 1, 0, 1, 1, 2, 2, self.mask is not None)


def layer(masked, biased):
    torch.manual_seed(0)
    return Deformed(masked, biased).eval()


FORMS = {"masked": (True, True), "plain": (False, True), "no-bias": (False, False)}

if __name__ == "__main__":
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    for name, form in FORMS.items():
        with torch.no_grad():
            traced = torch.jit.trace(layer(*form), torch.randn(1, 4, 8, 9))
        traced.save(folder / f"{name}.pt")
