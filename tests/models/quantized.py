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


class Block(nn.Module):
    """torchvision's quantizable BasicBlock."""

    def __init__(self, inner: int, outer: int, stride: int):
        super().__init__()
        self.conv1 = nn.Conv2d(inner, outer, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outer)
        self.relu = nn.ReLU()
        self.conv2 = nn.Conv2d(outer, outer, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outer)
        self.downsample = nn.Sequential(nn.Conv2d(inner, outer, 1, stride, bias=False), nn.BatchNorm2d(outer)) if stride > 1 else nn.Identity()
        self.add_relu = torch.ao.nn.quantized.FloatFunctional()

    def forward(self, x: Tensor) -> Tensor:
        y = self.relu(self.bn1(self.conv1(x)))
        return self.add_relu.add_relu(self.bn2(self.conv2(y)), self.downsample(x))

    def fuse(self) -> None:
        quantization.fuse_modules(self, [["conv1", "bn1", "relu"], ["conv2", "bn2"]], inplace=True)
        if isinstance(self.downsample, nn.Sequential):
            quantization.fuse_modules(self.downsample, ["0", "1"], inplace=True)


class QuantResNet(nn.Module):
    def __init__(self, width: int = 8, classes: int = 5):
        super().__init__()
        self.conv1 = nn.Conv2d(3, width, 7, 2, 3, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.relu = nn.ReLU()
        self.maxpool = nn.MaxPool2d(3, 2, 1)
        self.layers = nn.Sequential(Block(width, width, 1), Block(width, 2 * width, 2), Block(2 * width, 2 * width, 1))
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(2 * width, classes)
        self.quant, self.dequant = quantization.QuantStub(), quantization.DeQuantStub()

    def forward(self, x: Tensor) -> Tensor:
        x = self.maxpool(self.relu(self.bn1(self.conv1(self.quant(x)))))
        x = torch.flatten(self.avgpool(self.layers(x)), 1)
        return self.dequant(self.fc(x))


def calibrated(model: nn.Module, *shapes: tuple, backend: str = "", narrow: bool = False) -> nn.Module:
    """Statically quantized by what two random inputs show. `narrow`: with weights of 7 bits, for operators whose inputs have 8: without
    VNNI, ONNX Runtime adds two products in 16 bits, where larger ones saturate."""
    engine()
    config = quantization.get_default_qconfig(backend or torch.backends.quantized.engine)
    weight = config.weight.with_args(quant_min=-64, quant_max=63) if narrow else config.weight
    model.qconfig = quantization.QConfig(activation=config.activation, weight=weight)
    quantization.prepare(model, inplace=True)
    for _ in range(2):
        model(*[torch.randn(shape) for shape in shapes])
    return quantization.convert(model)


def quantized_resnet() -> Example:
    """torchvision's quantizable ResNet with few layers; weights have a scale for each channel."""
    model = QuantResNet().eval()
    quantization.fuse_modules(model, ["conv1", "bn1", "relu"], inplace=True)
    for block in model.layers:
        block.fuse()
    return Example(calibrated(model, (2, 3, 32, 32)), (torch.randn(2, 3, 32, 32),))


def quantized_resnet_tensor() -> Example:
    """The same with one scale for each weight, as the configuration for ARM has it."""
    model = QuantResNet().eval()
    quantization.fuse_modules(model, ["conv1", "bn1", "relu"], inplace=True)
    for block in model.layers:
        block.fuse()
    return Example(calibrated(model, (2, 3, 32, 32), backend="qnnpack"), (torch.randn(2, 3, 32, 32),))


class Forecaster(nn.Module):
    """A recurrent network that is quantized statically: torch.ao.nn.quantizable.LSTM takes nn.LSTM's place."""

    def __init__(self, **more):
        super().__init__()
        self.quant, self.dequant = quantization.QuantStub(), quantization.DeQuantStub()
        self.lstm = nn.LSTM(6, 8, **more)
        self.head = nn.Linear(16 if more.get("bidirectional") else 8, 3)

    def forward(self, x: Tensor) -> Tensor:
        y, _ = self.lstm(self.quant(x))
        return self.dequant(self.head(y))


def quantized_lstm() -> Example:
    return Example(calibrated(Forecaster(batch_first=True).eval(), (2, 5, 6), narrow=True), (torch.randn(2, 5, 6),))


def quantized_lstm_stacked() -> Example:
    return Example(calibrated(Forecaster(num_layers=2, bidirectional=True).eval(), (4, 2, 6), narrow=True), (torch.randn(4, 2, 6),))


class DynamicLstm(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(40, 12)
        self.lstm = nn.LSTM(12, 10, num_layers=2, bidirectional=True, batch_first=True)
        self.head = nn.Linear(20, 4)

    def forward(self, ids: Tensor, h: Tensor, c: Tensor):
        y, (h, c) = self.lstm(self.embed(ids), (h, c))
        return self.head(y[:, -1]), h, c


def quantized_lstm_dynamic() -> Example:
    """With states that come in and go out."""
    engine()
    model = quantization.quantize_dynamic(DynamicLstm().eval(), {nn.LSTM, nn.Linear}, dtype=torch.qint8)
    return Example(model, (torch.randint(0, 40, (2, 6)), torch.randn(4, 2, 10) * 0.3, torch.randn(4, 2, 10) * 0.3))


def quantized_half() -> Example:
    """Weights as f16, which is what dynamic quantization to float16 keeps."""
    engine()
    return Example(quantization.quantize_dynamic(Mlp().eval(), {nn.Linear}, dtype=torch.float16), (torch.randn(2, 8),))


class Mobile(nn.Module):
    """MobileNetV3's parts: depthwise, hardswish, squeeze and excite, upsampling, and channels shuffled."""

    def __init__(self):
        super().__init__()
        self.quant, self.dequant = quantization.QuantStub(), quantization.DeQuantStub()
        self.expand = nn.Conv2d(3, 8, 1)
        self.act = nn.Hardswish()
        self.depthwise = nn.Conv2d(8, 8, 5, 2, 2, groups=8)
        self.squeeze = nn.Conv2d(8, 4, 1)
        self.excite = nn.Conv2d(4, 8, 1)
        self.relu, self.gate = nn.ReLU(), nn.Hardsigmoid()
        self.mul = torch.ao.nn.quantized.FloatFunctional()
        self.up = nn.ConvTranspose2d(8, 4, 2, 2)
        self.leaky, self.sigmoid = nn.LeakyReLU(0.1), nn.Sigmoid()
        self.norm = nn.LayerNorm([4])
        self.groups, self.instance = nn.GroupNorm(2, 4), nn.InstanceNorm2d(4, affine=True)

    def forward(self, x: Tensor) -> Tensor:
        x = self.act(self.expand(self.quant(x)))
        x = self.act(self.depthwise(x))
        gate = self.gate(self.excite(self.relu(self.squeeze(nn.functional.adaptive_avg_pool2d(x, 1)))))
        x = nn.functional.channel_shuffle(self.mul.mul(x, gate), 2)
        x = self.leaky(self.up(nn.functional.interpolate(x, scale_factor=2.0, mode="nearest")))
        x = self.instance(self.groups(x))
        x = self.norm(x.permute(0, 2, 3, 1))
        return self.dequant(self.sigmoid(x))


def quantized_mobile() -> Example:
    model = Mobile().eval()
    model.up.qconfig = quantization.default_qconfig
    engine()
    default = quantization.get_default_qconfig(torch.backends.quantized.engine)
    for child in model.children():
        child.qconfig = getattr(child, "qconfig", None) or default
    quantization.prepare(model, inplace=True)
    for _ in range(2):
        model(torch.randn(2, 3, 8, 8))
    return Example(quantization.convert(model), (torch.randn(2, 3, 8, 8),))


class Signal(nn.Module):
    """Convolutions of one and three dimensions, turned ones too."""

    def __init__(self):
        super().__init__()
        self.quant, self.dequant = quantization.QuantStub(), quantization.DeQuantStub()
        self.one = nn.Sequential(nn.Conv1d(2, 4, 3, padding=1), nn.ReLU())
        self.up = nn.ConvTranspose1d(4, 4, 4, 2, 1)
        self.three = nn.Sequential(nn.Conv3d(1, 3, 3, padding=1), nn.ReLU())
        self.second = nn.Conv3d(3, 2, (1, 2, 2), stride=(1, 2, 2))
        self.cat = torch.ao.nn.quantized.FloatFunctional()

    def forward(self, x: Tensor) -> Tensor:
        x = self.up(self.one(self.quant(x)))
        y = self.second(self.three(x.reshape(x.size(0), 1, 2, 4, -1)[:, :, :, :, :6]))
        return self.dequant(self.cat.cat([x.flatten(1), y.flatten(1)], 1))


def quantized_signal() -> Example:
    model = Signal().eval()
    quantization.fuse_modules(model, [["one.0", "one.1"], ["three.0", "three.1"]], inplace=True)
    engine()
    default = quantization.get_default_qconfig(torch.backends.quantized.engine)
    for name, child in model.named_children():
        child.qconfig = quantization.default_qconfig if name == "up" else default
    quantization.prepare(model, inplace=True)
    for _ in range(2):
        model(torch.randn(2, 2, 8))
    return Example(quantization.convert(model), (torch.randn(2, 2, 8),))


def quantized_fx() -> Example:
    """FX graph mode: the functions of forward are found, and what has no quantized form stays between floats."""
    engine()
    from torch.ao.quantization import quantize_fx
    mapping = quantization.get_default_qconfig_mapping(torch.backends.quantized.engine)
    inputs = (torch.randn(2, 3, 8, 8),)
    model = quantize_fx.prepare_fx(FxNet().eval(), mapping, inputs)
    for _ in range(2):
        model(torch.randn(2, 3, 8, 8))
    return Example(quantize_fx.convert_fx(model), inputs)


class FxNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.bn = nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8)
        self.second = nn.Conv2d(8, 8, 3, padding=1)
        self.norm = nn.LayerNorm(16)
        self.fc = nn.Linear(16, 4)

    def forward(self, x: Tensor) -> Tensor:
        x = nn.functional.relu(self.bn(self.conv(x)))
        y = nn.functional.hardtanh(self.second(x), -1.0, 1.5)
        y = torch.cat([x + y, nn.functional.elu(y * 0.5)], 1)
        y = nn.functional.max_pool2d(y, 2)
        y = torch.mean(nn.functional.interpolate(y, scale_factor=2.0, mode="bilinear"), [2, 3])
        return torch.softmax(self.fc(self.norm(y)), -1)


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
