"""Scripted models of whose inputs nothing is said: dtypes, ranks and sizes follow from what reads them.

The first inputs have likely sizes, the others sizes that nobody spoke of.
"""
import math
from typing import Dict, List, Optional, Tuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from layer_cases import Case


class Residual(nn.Module):
    def __init__(self, inside: int, outside: int, stride: int):
        super().__init__()
        self.conv1, self.norm1 = nn.Conv2d(inside, outside, 3, stride, 1, bias=False), nn.BatchNorm2d(outside)
        self.conv2, self.norm2 = nn.Conv2d(outside, outside, 3, 1, 1, bias=False), nn.BatchNorm2d(outside)
        self.relu = nn.ReLU(inplace=True)
        self.down = nn.Conv2d(inside, outside, 1, stride) if stride != 1 else None

    def forward(self, x):
        same = x
        y = self.norm2(self.conv2(self.relu(self.norm1(self.conv1(x)))))
        if self.down is not None:
            same = self.down(x)
        y += same
        return self.relu(y)


class ResNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 7, 2, 3, bias=False), nn.BatchNorm2d(8), nn.ReLU(True), nn.MaxPool2d(3, 2, 1))
        self.layers = nn.Sequential(Residual(8, 8, 1), Residual(8, 16, 2))
        self.pool, self.head = nn.AdaptiveAvgPool2d((1, 1)), nn.Linear(16, 5)

    def forward(self, x):
        return self.head(torch.flatten(self.pool(self.layers(self.stem(x))), 1))


class MobileNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.BatchNorm2d(8), nn.ReLU6(True), nn.Conv2d(8, 16, 1), nn.Conv2d(16, 16, 3, 1, 1, groups=16),
                                  nn.BatchNorm2d(16), nn.Hardswish(), nn.Conv2d(16, 8, 1))
        self.head = nn.Linear(8, 4)

    def forward(self, x):
        return self.head(F.adaptive_avg_pool2d(self.body(x), 1).reshape(x.shape[0], -1))


class Packed(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Conv1d(6, 3, 1)

    def forward(self, x: Tensor, lengths: Tensor):
        data, batch_sizes = torch._pack_padded_sequence(self.layer(x).transpose(1, 2), lengths, True)
        return torch._pad_packed_sequence(data, batch_sizes, True, 0.0, 5)


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down1, self.down2 = nn.Conv2d(1, 4, 3, padding=1), nn.Conv2d(4, 8, 3, padding=1)
        self.up, self.merge, self.out = nn.ConvTranspose2d(8, 4, 2, 2), nn.Conv2d(8, 4, 3, padding=1), nn.Conv2d(4, 2, 1)

    def forward(self, x):
        fine = F.relu(self.down1(x))
        up = self.up(F.relu(self.down2(F.max_pool2d(fine, 2))))
        up = F.interpolate(up, size=fine.shape[2:], mode="nearest")
        return self.out(F.relu(self.merge(torch.cat([fine, up], 1))))


class LeNet(nn.Module):
    """Sides of 28: what the classifier asks for."""

    def __init__(self):
        super().__init__()
        self.conv1, self.conv2, self.head = nn.Conv2d(1, 6, 5), nn.Conv2d(6, 16, 5), nn.Linear(16 * 4 * 4, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        return F.log_softmax(self.head(torch.flatten(x, 1)), 1)


class Attention(nn.Module):
    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads, self.qkv, self.out = heads, nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.wide, self.narrow = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

    def split(self, t: Tensor) -> Tensor:
        batch, length, width = t.size()
        return t.view(batch, length, self.heads, width // self.heads).transpose(1, 2)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        q, k, v = self.qkv(x).chunk(3, -1)
        q, k, v = self.split(q), self.split(k), self.split(v)
        scores = q @ k.transpose(-1, -2) / math.sqrt(q.size(-1)) + mask
        y = (torch.softmax(scores, -1) @ v).transpose(1, 2).contiguous()
        x = self.norm1(x + self.out(y.view(y.size(0), y.size(1), -1)))
        return self.norm2(x + self.narrow(F.gelu(self.wide(x))))


class Bert(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.places, self.kinds, self.norm = nn.Embedding(50, 16), nn.Embedding(32, 16), nn.Embedding(2, 16), nn.LayerNorm(16)
        self.layers, self.pool = nn.ModuleList([Attention(16, 4) for _ in range(2)]), nn.Linear(16, 16)

    def forward(self, ids: Tensor, mask: Tensor, kinds: Optional[Tensor] = None) -> Tuple[Tensor, Tensor]:
        batch, length = ids.size()
        if kinds is None:
            kinds = torch.zeros_like(ids)
        x = self.norm(self.words(ids) + self.places(torch.arange(length).unsqueeze(0)) + self.kinds(kinds))
        added = (1.0 - mask[:, None, None, :].to(x.dtype)) * -10000.0
        for layer in self.layers:
            x = layer(x, added)
        return x, torch.tanh(self.pool(x[:, 0]))


class Gpt(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(50, 16), nn.Embedding(32, 16)
        self.layer, self.head = Attention(16, 4), nn.Linear(16, 50, bias=False)
        self.register_buffer("causal", torch.triu(torch.full((32, 32), -1e9), 1))

    def forward(self, ids):
        length = ids.size(1)
        x = self.words(ids) + self.places(torch.arange(0, length))
        return self.head(self.layer(x, self.causal[:length, :length]))


class Lstm(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.lstm, self.head = nn.Embedding(40, 8), nn.LSTM(8, 12, batch_first=True, bidirectional=True), nn.Linear(24, 5)

    def forward(self, x):
        y, state = self.lstm(self.words(x))
        return self.head(y[:, -1])


class KeptState(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm, self.head = nn.LSTM(8, 12), nn.Linear(12, 3)

    def forward(self, x: Tensor, h: Tensor, c: Tensor):
        y, state = self.lstm(x, (h, c))
        return self.head(y), state[0], state[1]


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(20, 32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 4))

    def forward(self, x):
        return self.net(x)


class Added(nn.Module):
    """The second input is what the first is."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3, padding=1)

    def forward(self, x, y):
        return self.conv(F.dropout(x + y, 0.5, False))


class ChannelsLast(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3)

    def forward(self, x):
        return self.conv((x / 255.0).permute(0, 3, 1, 2))


class Series(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm = nn.Conv1d(12, 8, 3), nn.BatchNorm1d(8)

    def forward(self, x):
        return self.norm(self.conv(x.transpose(1, 2))).mean(2)


class Masked(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(6, 6)

    def forward(self, x, mask):
        return self.linear(x).masked_fill(mask.unsqueeze(-1), 0.0).transpose(1, 2)


class Boxes(nn.Module):
    def forward(self, boxes):
        x, y, w, h = boxes.unbind(-1)
        return torch.stack([x - w / 2, y - h / 2, x + w / 2, y + h / 2], -1)


class Picked(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(6, 6)

    def forward(self, x, rows):
        return self.linear(x).index_select(0, rows)


class Members(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear, self.words = nn.Linear(6, 6), nn.Embedding(9, 6)

    def forward(self, batch: Dict[str, Tensor]):
        return self.linear(batch["x"] + self.words(batch["ids"]))


class Pair(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(6, 4)

    def forward(self, pair: Tuple[Tensor, Tensor]):
        return self.linear(torch.cat([pair[0], pair[1]], 0))


class Half(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(6, 4).half()

    def forward(self, x):
        return self.linear(F.dropout(x, 0.5, False))


class Defaults(nn.Module):
    """What stands in branches that the defaults don't take has no ONNX form."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(6, 6)

    def forward(self, x, flag: bool = False, dim: int = 1, mode: str = "soft", scale: float = 2.0, power: Optional[int] = None):
        y = self.linear(x)
        if flag:
            y = torch.linalg.pinv(y)
        if mode == "soft":
            y = y.softmax(dim)
        else:
            y = torch.linalg.svdvals(y)
        if power is not None:
            y = torch.linalg.matrix_power(y, power)
        return y * scale


def rand(*shape):
    return torch.randn(shape)


def case(module, *inputs, **more):
    return Case(module.eval(), list(inputs), inferred=True, **more)


def cases():
    torch.manual_seed(3)
    ids = lambda *shape: torch.randint(0, 40, shape)
    ones = lambda *shape: (torch.rand(shape) > 0.3).float()
    two = lambda *shape: (rand(*shape), rand(*shape))
    made = {
        "resnet": case(ResNet(), (rand(2, 3, 32, 32),), (rand(1, 3, 47, 65),)),
        "mobilenet": case(MobileNet(), (rand(2, 3, 32, 32),), (rand(3, 3, 21, 40),)),
        "unet": case(UNet(), (rand(2, 1, 16, 16),), (rand(1, 1, 21, 34),), opsets=range(9, 27), needs="the verdict depends on the sizes of input 'x'"),
        "lenet": case(LeNet(), (rand(2, 1, 28, 28),), (rand(5, 1, 28, 28),)),
        "mlp": case(Mlp(), (rand(2, 20),), (rand(7, 20),)),
        "bert": case(Bert(), (ids(2, 7), ones(2, 7)), (ids(3, 11), ones(3, 11)), (ids(1, 1), ones(1, 1)), opsets=range(9, 27)),
        "gpt": case(Gpt(), (ids(2, 7),), (ids(1, 13),), opsets=range(10, 27), needs="the verdict depends on the sizes of input 'ids'"),
        "lstm": case(Lstm(), (ids(2, 7),), (ids(5, 3),)),
        "kept_state": case(KeptState(), (rand(5, 2, 8), *two(1, 2, 12)), (rand(3, 4, 8), *two(1, 4, 12))),
        "added": case(Added(), two(2, 3, 8, 8), two(1, 3, 5, 9)),
        "channels_last": case(ChannelsLast(), (rand(2, 9, 9, 3),), (rand(1, 5, 8, 3),)),
        "series": case(Series(), (rand(2, 9, 12),), (rand(4, 5, 12),)),
        "masked": case(Masked(), (rand(2, 5, 6), torch.rand(2, 5) > 0.5), (rand(3, 4, 6), torch.rand(3, 4) > 0.5), opsets=range(9, 27)),
        "instance_norm": case(nn.InstanceNorm2d(3, affine=True), (rand(2, 3, 5, 6),), (rand(1, 3, 4, 9),)),
        "upsampled": case(nn.Upsample(scale_factor=2), (rand(2, 3, 5, 6),), (rand(1, 4, 4, 9),)),
        "shuffled": case(nn.PixelShuffle(2), (rand(2, 4, 5, 6),), (rand(1, 8, 4, 9),)),
        "reflected": case(nn.ReflectionPad2d(1), (rand(2, 3, 5, 6),), (rand(1, 4, 4, 9),)),
        "boxes": case(Boxes(), (rand(5, 4),), (rand(2, 4),)),
        "picked": case(Picked(), (rand(5, 6), torch.tensor([0, 3])), (rand(3, 6), torch.tensor([2, 1, 0, 0]))),
        "half": case(Half(), (rand(2, 6).half(),), (rand(9, 6).half(),)),
        "prelu": case(nn.PReLU(3), (rand(2, 3),), (rand(5, 3),)),
        "packed": case(Packed(), (rand(2, 6, 5), torch.tensor([5, 3])), (rand(3, 6, 4), torch.tensor([4, 2, 1])), opsets=range(9, 27)),
        "defaults": case(Defaults(), (rand(2, 6),), (rand(5, 6),)),
    }
    return {f"inferred_{name}": made_case for name, made_case in made.items()}
