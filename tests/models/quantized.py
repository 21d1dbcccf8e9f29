"""Quantized models: dynamic (weights only, packed parameters with __setstate__) and static (scales in the graph)."""
import torch
from torch import Tensor, nn
from torch.ao import quantization

from registry import Example


def engine() -> None:
    """The packed parameters' format follows the engine; x86 and fbgemm files are alike."""
    names = torch.backends.quantized.supported_engines
    torch.backends.quantized.engine = "fbgemm" if "fbgemm" in names else names[-1]


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(40, 16)
        self.lstm = nn.LSTM(16, 16, batch_first=True)
        self.gru = nn.GRU(16, 16, batch_first=True)
        self.hidden = nn.Linear(16, 16)
        self.head = nn.Linear(16, 5)

    def forward(self, ids: Tensor) -> Tensor:
        x, _ = self.lstm(self.embed(ids))
        x, _ = self.gru(x)
        return self.head(torch.relu(self.hidden(x)))


def quantized_dynamic() -> Example:
    engine()
    model = quantization.quantize_dynamic(Tagger().eval(), {nn.LSTM, nn.GRU, nn.Linear}, dtype=torch.qint8)
    return Example(model, (torch.randint(0, 40, (2, 6)),))


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))

    def forward(self, x: Tensor) -> Tensor:
        return self.layers(x)


def quantized_linear() -> Example:
    engine()
    return Example(quantization.quantize_dynamic(Mlp().eval(), {nn.Linear}, dtype=torch.qint8), (torch.randn(2, 8),))


class ConvNet(nn.Module):
    """Convolution, fused ReLU, residual addition, concatenation, pooling, linear, all on quantized tensors."""

    def __init__(self):
        super().__init__()
        self.quant = quantization.QuantStub()
        self.conv = nn.Conv2d(3, 8, 3, padding=1)
        self.bn = nn.BatchNorm2d(8)
        self.relu = nn.ReLU()
        self.second = nn.Conv2d(8, 8, 3, padding=1)
        self.plus = torch.ao.nn.quantized.FloatFunctional()
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(16, 4)
        self.dequant = quantization.DeQuantStub()

    def forward(self, x: Tensor) -> Tensor:
        x = self.relu(self.bn(self.conv(self.quant(x))))
        y = self.plus.add(x, self.second(x))
        y = self.pool(self.plus.cat([x, y], dim=1))
        return self.dequant(self.fc(torch.flatten(y, 1)))


def quantized_static() -> Example:
    engine()
    model = ConvNet().eval()
    model.qconfig = quantization.get_default_qconfig(torch.backends.quantized.engine)
    quantization.fuse_modules(model, [["conv", "bn", "relu"]], inplace=True)
    quantization.prepare(model, inplace=True)
    for _ in range(3):
        model(torch.randn(2, 3, 8, 8))
    return Example(quantization.convert(model), (torch.randn(2, 3, 8, 8),))


class FakeQuantized(nn.Module):
    """Quantization-aware training as it is exported: fake quantize stays in the graph, per tensor and per channel."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.register_buffer("scale", torch.rand(4) * 0.01 + 0.01)
        self.register_buffer("zero", torch.zeros(4, dtype=torch.int32))

    def forward(self, x: Tensor) -> Tensor:
        x = torch.fake_quantize_per_tensor_affine(x, 0.02, 10, 0, 255)
        weight = torch.fake_quantize_per_channel_affine(self.linear.weight, self.scale, self.zero, 0, -128, 127)
        return nn.functional.linear(x, weight, self.linear.bias)


def fake_quantized() -> Example:
    return Example(FakeQuantized(), (torch.randn(3, 4),))


def custom_class() -> Example:
    return quantized_linear()


def custom_class_method() -> Example:
    return quantized_linear()
