#!/usr/bin/env python3
"""Writes tests/ir/graphs/*.txt, graphs as torch prints them, and tests/schema/overloads/*.txt, the overload that libtorch
resolved for each node of them. Run by hand when torch or the models change; the results are committed."""
import enum
import pathlib
import re
import sys
import warnings
from typing import Dict, List, NamedTuple, Optional, Tuple, Union

import torch
from torch import nn

TESTS = pathlib.Path(__file__).resolve().parent.parent
SITE_PACKAGES = str(pathlib.Path(torch.__file__).parent.parent) + "/"


def without_machine_paths(text):
    text = text.replace(SITE_PACKAGES, "")
    return re.sub(r"# /\S*/(\w+\.py)", r"# \1", text)


def overloads(block, lines):
    for node in block.nodes():
        schema = node.schema()
        lines.append("-" if schema == "(no schema)" else schema.split("(")[0])
        for inner in node.blocks():
            overloads(inner, lines)
    return lines


def write(name, graph):
    (TESTS / "ir/graphs" / f"{name}.txt").write_text(without_machine_paths(str(graph)))
    (TESTS / "schema/overloads" / f"{name}.txt").write_text("\n".join(overloads(graph, [])) + "\n")


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(inplace=True), nn.MaxPool2d(2))
        self.head = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(), nn.Linear(4, 2), nn.Softmax(1))

    def forward(self, x):
        return self.head(self.features(x))


class Clamp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, low, words):
        return x.clamp(min=low)


class WithPythonOp(nn.Module):
    def forward(self, x):
        return Clamp.apply(x, -1.5, ("a)", [1, 2])) + 1


class Constants(nn.Module):
    def forward(self, x, d: Dict[str, torch.Tensor]):
        x = x + torch.tensor([1.5, 2, 3000])[:1] + torch.tensor([[1.5, 2, 1e-7], [1, 2, 3]]).sum()
        x = x + torch.tensor([[[1, 2], [3, 4]]]).sum() + torch.tensor([[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]]).sum()
        x = x + torch.tensor([True, False]) .sum() + torch.tensor(float("inf")) + torch.tensor([-1, 300], dtype=torch.int16).sum()
        x = x + torch.tensor([0.1], dtype=torch.float64) + torch.tensor([1 + 2j]) + torch.tensor([]).sum()
        x = x + torch.tensor([[1e-4, 2e-4]]).sum() + torch.ones(2, 11).half().sum() + torch.tensor([1.5], dtype=torch.bfloat16)
        return x, d["a"], torch.tensor([[[1.0], [2.0]], [[3.0], [4.0]]]), torch.zeros(2, 2, 3)


class Point(NamedTuple):
    x: torch.Tensor
    y: int


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


@torch.jit.script
def language(x: Optional[torch.Tensor], l: List[int], d: Dict[str, int], c: Colour, u: Union[int, str],
             s: str = "é\n\"'") -> Tuple[torch.Tensor, Point, Dict[str, int], str]:
    if x is None:
        y = torch.zeros([2, 3], dtype=torch.float16, device="cpu")
    else:
        y = x * 1e-5 + float("inf")
    for i in range(10):
        if i > 5:
            y = y + i
        elif c == Colour.RED:
            y += 0.1
        elif i in l and len(l) > 2:
            l.append(i // 2)
            continue
        print(y, "a\té", s)
    while float(y.sum()) < 3.0:
        y = y.abs() ** 2
    if isinstance(u, int):
        y += u
    future = torch.jit._fork(torch.relu, y)
    y = torch.jit._wait(future)
    w = (1 + 2j) * abs(-2j)
    assert y.size(0) > 1, "boo"
    d["n"] = int(y.size(0)) % 3
    rows = [row.sum() for row in y]
    name = "{} {}".format(s, l[-1]) + str(w)
    return torch.stack(rows), Point(y, max(d["n"], 2)), d, name


class Calls(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(2, 2), nn.ReLU()])
        self.sizes = [1, 2]
        self.pair = (1, 2.5)
        self.names = {"a": 1}
        self.register_buffer("table", torch.ones(3, 2))

    @torch.jit.export
    def scale(self, x):
        return x * self.pair[1] + self.sizes[0]

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return self.scale(x) + self.names["a"] + self.table[x.argmax(dim=1)].sum()


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(3, 4, num_layers=2, bidirectional=True, batch_first=True)

    def forward(self, x, lengths):
        packed = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        out, (h, c) = self.lstm(packed)
        return nn.utils.rnn.pad_packed_sequence(out, batch_first=True)[0], h


class Writes(nn.Module):
    def forward(self, x):
        y = x.clone()
        y[:, 0] = 1
        y[1:, ::2].add_(2)
        y[y > 3] = 0
        y[torch.tensor([0, 1])] += x[0]
        y[0] &= 3
        a, b = torch.split(y, [1, y.shape[1] - 1], dim=1)
        return torch.cat([a, b.view(-1, y.size(1) - 1)], 1), y.to(torch.float32).mean((0, 1)), y.sort(descending=True)[0]


class Quantized(nn.Module):
    def __init__(self):
        super().__init__()
        self.quant, self.dequant = torch.ao.quantization.QuantStub(), torch.ao.quantization.DeQuantStub()
        self.conv = nn.Conv2d(3, 4, 3)

    def forward(self, x):
        return self.dequant(torch.relu(self.conv(self.quant(x))))


def statically_quantized():
    model = Quantized().eval()
    model.qconfig = torch.ao.quantization.get_default_qconfig("fbgemm")
    prepared = torch.ao.quantization.prepare(model)
    prepared(torch.rand(1, 3, 8, 8))
    return torch.ao.quantization.convert(prepared)


def exporter_graph(model, example):
    from torch.onnx._internal.torchscript_exporter import utils
    from torch.onnx._internal.torchscript_exporter._globals import GLOBALS

    GLOBALS.export_onnx_opset_version = 13
    return utils._model_to_graph(model, example)[0]


def main():
    torch.manual_seed(0)
    warnings.simplefilter("ignore")
    image = torch.rand(1, 3, 8, 8)
    net = Net().eval()
    trace = lambda model, *inputs: torch.jit.trace(model.eval(), inputs, check_trace=False)

    write("traced", trace(net, image).graph)
    write("traced_inlined", trace(net, image).inlined_graph)
    write("scripted_inlined", torch.jit.script(net).inlined_graph)
    write("frozen", torch.jit.freeze(torch.jit.script(net)).graph)
    write("attention", trace(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), torch.rand(1, 4, 8)).inlined_graph)
    write("python_op", trace(WithPythonOp(), torch.rand(2)).graph)
    write("constants", trace(Constants(), torch.ones(1), {"a": torch.ones(2)}).graph)
    write("language", language.graph)
    write("calls", torch.jit.script(Calls().eval()).graph)
    write("recurrent", torch.jit.script(Recurrent().eval()).graph)
    write("recurrent_traced", trace(Recurrent(), torch.rand(2, 5, 3), torch.tensor([5, 3])).inlined_graph)
    write("writes", trace(Writes(), torch.arange(12).view(3, 4)).graph)
    write("quantized_dynamic", torch.jit.script(torch.ao.quantization.quantize_dynamic(
        nn.Sequential(nn.Linear(3, 3), nn.LSTM(3, 3)), {nn.Linear, nn.LSTM})).inlined_graph)
    write("quantized_static", trace(statically_quantized(), image).inlined_graph)
    write("exporter", exporter_graph(net, image))


if __name__ == "__main__":
    sys.exit(main())
