"""Convolutional networks in plain torch, written so that they can be traced and scripted."""
from typing import List, Optional

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from registry import Example


class Bottleneck(nn.Module):
    """1x1, 3x3 (carries the stride), 1x1 to four times the width: He et al. 2015, the v1.5 variant."""

    def __init__(self, channels: int, width: int, stride: int):
        super().__init__()
        out = 4 * width
        self.conv1 = nn.Conv2d(channels, width, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, stride, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3 = nn.Conv2d(width, out, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(out)
        self.relu = nn.ReLU(inplace=True)
        self.downsample: Optional[nn.Module] = None
        if stride != 1 or channels != out:
            self.downsample = nn.Sequential(nn.Conv2d(channels, out, 1, stride, bias=False), nn.BatchNorm2d(out))

    def forward(self, x: Tensor) -> Tensor:
        identity = x
        y = self.relu(self.bn1(self.conv1(x)))
        y = self.relu(self.bn2(self.conv2(y)))
        y = self.bn3(self.conv3(y))
        if self.downsample is not None:
            identity = self.downsample(x)
        y += identity                                     #: aten::add_
        return self.relu(y)


class ResNet(nn.Module):
    def __init__(self, depths: List[int], width: int, classes: int):
        super().__init__()
        self.conv1 = nn.Conv2d(3, width, 7, 2, 3, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(3, 2, 1)
        self.layer1 = self.stage(width, width, depths[0], 1)
        self.layer2 = self.stage(4 * width, 2 * width, depths[1], 2)
        self.layer3 = self.stage(8 * width, 4 * width, depths[2], 2)
        self.layer4 = self.stage(16 * width, 8 * width, depths[3], 2)
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(32 * width, classes)

    def stage(self, channels: int, width: int, depth: int, stride: int) -> nn.Sequential:
        blocks = [Bottleneck(channels, width, stride)]
        blocks += [Bottleneck(4 * width, width, 1) for _ in range(depth - 1)]
        return nn.Sequential(*blocks)

    def forward(self, x: Tensor) -> Tensor:
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        x = torch.flatten(self.avgpool(x), 1)             #: aten::flatten
        return self.fc(x)


def resnet50() -> Example:
    return Example(ResNet([3, 4, 6, 3], 64, 1000), (torch.randn(1, 3, 224, 224),))


def resnet_small() -> Example:
    return Example(ResNet([3, 4, 6, 3], 4, 10), (torch.randn(2, 3, 64, 64),))


def divisible(channels: float, step: int = 8) -> int:
    """The nearest multiple of `step` that loses at most a tenth."""
    rounded = max(step, int(channels + step / 2) // step * step)
    return rounded + step if rounded < 0.9 * channels else rounded


class SqueezeExcite(nn.Module):
    def __init__(self, channels: int):
        super().__init__()
        squeezed = divisible(channels // 4)
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc1 = nn.Conv2d(channels, squeezed, 1)
        self.relu = nn.ReLU()
        self.fc2 = nn.Conv2d(squeezed, channels, 1)
        self.gate = nn.Hardsigmoid()

    def forward(self, x: Tensor) -> Tensor:
        return self.gate(self.fc2(self.relu(self.fc1(self.avgpool(x))))) * x


def conv_bn(channels: int, out: int, kernel: int, stride: int, groups: int, act: Optional[type]) -> nn.Sequential:
    layers: List[nn.Module] = [nn.Conv2d(channels, out, kernel, stride, (kernel - 1) // 2, groups=groups, bias=False),
                               nn.BatchNorm2d(out, eps=0.001, momentum=0.01)]
    return nn.Sequential(*layers, *([act(inplace=True)] if act else []))


class InvertedResidual(nn.Module):
    def __init__(self, channels: int, kernel: int, expanded: int, out: int, excite: bool, act: type, stride: int):
        super().__init__()
        self.residual = stride == 1 and channels == out
        layers: List[nn.Module] = []
        if expanded != channels:
            layers.append(conv_bn(channels, expanded, 1, 1, 1, act))
        layers.append(conv_bn(expanded, expanded, kernel, stride, expanded, act))
        if excite:
            layers.append(SqueezeExcite(expanded))
        layers.append(conv_bn(expanded, out, 1, 1, 1, None))
        self.block = nn.Sequential(*layers)

    def forward(self, x: Tensor) -> Tensor:
        y = self.block(x)
        if self.residual:
            y += x
        return y


# Howard et al. 2019, table 1: kernel, expansion, out, squeeze-and-excite, activation, stride.
MOBILENET_V3_LARGE = [
    (3, 16, 16, False, nn.ReLU, 1), (3, 64, 24, False, nn.ReLU, 2), (3, 72, 24, False, nn.ReLU, 1),
    (5, 72, 40, True, nn.ReLU, 2), (5, 120, 40, True, nn.ReLU, 1), (5, 120, 40, True, nn.ReLU, 1),
    (3, 240, 80, False, nn.Hardswish, 2), (3, 200, 80, False, nn.Hardswish, 1), (3, 184, 80, False, nn.Hardswish, 1),
    (3, 184, 80, False, nn.Hardswish, 1), (3, 480, 112, True, nn.Hardswish, 1), (3, 672, 112, True, nn.Hardswish, 1),
    (5, 672, 160, True, nn.Hardswish, 2), (5, 960, 160, True, nn.Hardswish, 1), (5, 960, 160, True, nn.Hardswish, 1)]


class MobileNetV3(nn.Module):
    def __init__(self, multiplier: float, classes: int):
        super().__init__()
        channels = divisible(16 * multiplier)
        layers: List[nn.Module] = [conv_bn(3, channels, 3, 2, 1, nn.Hardswish)]
        for kernel, expanded, out, excite, act, stride in MOBILENET_V3_LARGE:
            wide, narrow = divisible(expanded * multiplier), divisible(out * multiplier)
            layers.append(InvertedResidual(channels, kernel, wide, narrow, excite, act, stride))
            channels = narrow
        layers.append(conv_bn(channels, 6 * channels, 1, 1, 1, nn.Hardswish))
        hidden = divisible(1280 * multiplier)
        self.features = nn.Sequential(*layers)
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.classifier = nn.Sequential(nn.Linear(6 * channels, hidden), nn.Hardswish(inplace=True),
                                        nn.Dropout(0.2, inplace=True), nn.Linear(hidden, classes))

    def forward(self, x: Tensor) -> Tensor:
        return self.classifier(torch.flatten(self.avgpool(self.features(x)), 1))


def mobilenet_v3() -> Example:
    return Example(MobileNetV3(0.25, 10), (torch.randn(1, 3, 96, 96),))


class DoubleConv(nn.Sequential):
    def __init__(self, channels: int, out: int):
        super().__init__(nn.Conv2d(channels, out, 3, 1, 1, bias=False), nn.BatchNorm2d(out), nn.ReLU(inplace=True),
                         nn.Conv2d(out, out, 3, 1, 1, bias=False), nn.BatchNorm2d(out), nn.ReLU(inplace=True))


class Up(nn.Module):
    """Upsamples, pads to the skip connection's size (odd inputs), concatenates."""

    def __init__(self, channels: int, out: int, bilinear: bool):
        super().__init__()
        self.up = (nn.Sequential(nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True),
                                 nn.Conv2d(channels, out, 1)) if bilinear
                   else nn.ConvTranspose2d(channels, out, 2, 2))
        self.conv = DoubleConv(2 * out, out)

    def forward(self, x: Tensor, skip: Tensor) -> Tensor:
        x = self.up(x)
        rows = skip.size(2) - x.size(2)
        columns = skip.size(3) - x.size(3)
        x = F.pad(x, [columns // 2, columns - columns // 2, rows // 2, rows - rows // 2])
        return self.conv(torch.cat([skip, x], dim=1))     #: aten::cat


class UNet(nn.Module):
    def __init__(self, width: int, bilinear: bool):
        super().__init__()
        self.inc = DoubleConv(3, width)
        self.down = nn.ModuleList(
            nn.Sequential(nn.MaxPool2d(2), DoubleConv(width << i, width << (i + 1))) for i in range(4))
        self.up = nn.ModuleList(Up(width << (i + 1), width << i, bilinear) for i in reversed(range(4)))
        self.outc = nn.Conv2d(width, 2, 1)

    def forward(self, x: Tensor) -> Tensor:
        skips = [self.inc(x)]
        for down in self.down:
            skips.append(down(skips[-1]))
        y = skips.pop()
        for up in self.up:
            y = up(y, skips.pop())
        return self.outc(y)


def unet() -> Example:
    return Example(UNet(4, bilinear=False), (torch.randn(1, 3, 50, 70),))


def unet_bilinear() -> Example:
    return Example(UNet(4, bilinear=True), (torch.randn(1, 3, 50, 70),))


class SRCNN(nn.Module):
    """Dong et al. 2014, with the scale factor as an input."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 64, 9, padding=4)
        self.conv2 = nn.Conv2d(64, 32, 1)
        self.conv3 = nn.Conv2d(32, 3, 5, padding=2)
        self.relu = nn.ReLU()

    def forward(self, x: Tensor, scales: Tensor) -> Tensor:
        factors: List[float] = scales.tolist()
        factors = factors[-2:]
        x = F.interpolate(x, None, factors, "bicubic", False)     #: aten::upsample_bicubic2d
        return self.conv3(self.relu(self.conv2(self.relu(self.conv1(x)))))


def srcnn() -> Example:
    return Example(SRCNN(), (torch.randn(1, 3, 16, 16), torch.tensor([1.0, 1.0, 3.0, 3.0])))


class Resizer(nn.Module):
    """Every mode of interpolation, by size and by factor, aligned and not, antialiased and exact."""

    def forward(self, x: Tensor):
        return (F.interpolate(x, scale_factor=2.0, mode="nearest"),
                F.interpolate(x, size=[9, 11], mode="bilinear", align_corners=False),
                F.interpolate(x, size=[9, 11], mode="bilinear", align_corners=True),
                F.interpolate(x, scale_factor=1.5, mode="bicubic", recompute_scale_factor=True),
                F.interpolate(x, size=[5, 4], mode="area"),
                F.interpolate(x, size=[5, 4], mode="bilinear", antialias=True),
                F.interpolate(x, size=[9, 11], mode="nearest-exact"))


def resizer() -> Example:
    return Example(Resizer(), (torch.randn(1, 2, 8, 10),))
