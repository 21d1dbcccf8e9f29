"""ViT, Swin and a DETR-like detector in plain torch; Hugging Face's ViT is in language.py with its relatives."""
import math
from typing import Dict, List, Optional

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from registry import Example


class EncoderBlock(nn.Module):
    """Pre-norm block on nn.MultiheadAttention, whose scripted form is full of branches."""

    def __init__(self, dim: int, heads: int):
        super().__init__()
        self.ln_1 = nn.LayerNorm(dim, eps=1e-6)
        self.attention = nn.MultiheadAttention(dim, heads, batch_first=True)
        self.ln_2 = nn.LayerNorm(dim, eps=1e-6)
        self.mlp = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Dropout(0.1), nn.Linear(4 * dim, dim))

    def forward(self, x: Tensor) -> Tensor:
        y = self.ln_1(x)
        y, _ = self.attention(y, y, y, need_weights=False)
        x = x + y
        return x + self.mlp(self.ln_2(x))


class VisionTransformer(nn.Module):
    """Dosovitskiy et al. 2020."""

    def __init__(self, image: int, patch: int, dim: int, depth: int, heads: int, classes: int):
        super().__init__()
        self.patch = patch
        self.conv_proj = nn.Conv2d(3, dim, patch, patch)
        self.class_token = nn.Parameter(torch.randn(1, 1, dim))
        self.positions = nn.Parameter(torch.randn(1, (image // patch) ** 2 + 1, dim) * 0.02)
        self.layers = nn.Sequential(*[EncoderBlock(dim, heads) for _ in range(depth)])
        self.ln = nn.LayerNorm(dim, eps=1e-6)
        self.head = nn.Linear(dim, classes)

    def forward(self, x: Tensor) -> Tensor:
        n, _, h, w = x.shape
        torch._assert(h % self.patch == 0, "the height is not a multiple of the patch")
        x = self.conv_proj(x).reshape(n, -1, (h // self.patch) * (w // self.patch)).permute(0, 2, 1)
        x = torch.cat([self.class_token.expand(n, -1, -1), x], dim=1)
        x = self.ln(self.layers(x + self.positions))
        return self.head(x[:, 0])


def vit() -> Example:
    return Example(VisionTransformer(32, 8, 32, 3, 4, 10), (torch.randn(2, 3, 32, 32),), grad=True)


def vit_fused() -> Example:
    """Traced without gradients attention takes its fused path, as in many deployed files."""
    return Example(VisionTransformer(32, 8, 32, 3, 4, 10), (torch.randn(2, 3, 32, 32),))


def transformer_encoder() -> Example:
    layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True)
    return Example(nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), (torch.randn(2, 7, 32),))


class WindowAttention(nn.Module):
    """Attention inside windows, shifted in every other block: Liu et al. 2021."""

    def __init__(self, dim: int, window: int, shift: int, heads: int):
        super().__init__()
        self.window, self.shift, self.heads = window, shift, heads
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)
        self.bias_table = nn.Parameter(torch.randn((2 * window - 1) ** 2, heads) * 0.02)
        steps = torch.arange(window)
        grid = torch.stack(torch.meshgrid(steps, steps, indexing="ij")).flatten(1)
        offset = (grid[:, :, None] - grid[:, None, :]).permute(1, 2, 0) + window - 1
        self.register_buffer("bias_index", (offset[..., 0] * (2 * window - 1) + offset[..., 1]).flatten())

    def bias(self) -> Tensor:
        area = self.window * self.window
        return self.bias_table[self.bias_index].view(area, area, -1).permute(2, 0, 1).unsqueeze(0)

    def mask(self, rows: int, columns: int, shift_rows: int, shift_columns: int, like: Tensor) -> Tensor:
        """-100 between the parts of a window that were not neighbours before the roll."""
        region = like.new_zeros((rows, columns))
        count = 0
        for top, bottom in [(0, -self.window), (-self.window, -shift_rows), (-shift_rows, rows)]:
            for left, right in [(0, -self.window), (-self.window, -shift_columns), (-shift_columns, columns)]:
                region[top:bottom, left:right] = count
                count += 1
        w = self.window
        region = region.view(rows // w, w, columns // w, w).permute(0, 2, 1, 3).reshape(-1, w * w)
        difference = region.unsqueeze(1) - region.unsqueeze(2)
        return difference.masked_fill(difference != 0, -100.0).masked_fill(difference == 0, 0.0)

    def forward(self, x: Tensor) -> Tensor:
        n, h, width, c = x.shape
        w = self.window
        x = F.pad(x, [0, 0, 0, (w - width % w) % w, 0, (w - h % w) % w])
        rows, columns = x.size(1), x.size(2)
        shift_rows = 0 if w >= rows else self.shift
        shift_columns = 0 if w >= columns else self.shift
        if shift_rows + shift_columns > 0:
            x = torch.roll(x, [-shift_rows, -shift_columns], [1, 2])   #: aten::roll
        windows = (rows // w) * (columns // w)
        x = x.view(n, rows // w, w, columns // w, w, c).permute(0, 1, 3, 2, 4, 5).reshape(n * windows, w * w, c)
        qkv = self.qkv(x).reshape(n * windows, w * w, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        scores = (qkv[0] * (c // self.heads) ** -0.5) @ qkv[1].transpose(-2, -1) + self.bias()
        if shift_rows + shift_columns > 0:
            mask = self.mask(rows, columns, shift_rows, shift_columns, x)
            scores = scores.view(n, windows, self.heads, w * w, w * w) + mask.unsqueeze(1).unsqueeze(0)
            scores = scores.view(-1, self.heads, w * w, w * w)
        x = (F.softmax(scores, dim=-1) @ qkv[2]).transpose(1, 2).reshape(n * windows, w * w, c)
        x = self.proj(x).view(n, rows // w, columns // w, w, w, c)
        x = x.permute(0, 1, 3, 2, 4, 5).reshape(n, rows, columns, c)
        if shift_rows + shift_columns > 0:
            x = torch.roll(x, [shift_rows, shift_columns], [1, 2])
        return x[:, :h, :width, :].contiguous()


class SwinBlock(nn.Module):
    def __init__(self, dim: int, window: int, shift: int, heads: int):
        super().__init__()
        self.norm1 = nn.LayerNorm(dim)
        self.attention = WindowAttention(dim, window, shift, heads)
        self.norm2 = nn.LayerNorm(dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim))

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class PatchMerging(nn.Module):
    def __init__(self, dim: int):
        super().__init__()
        self.norm = nn.LayerNorm(4 * dim)
        self.reduction = nn.Linear(4 * dim, 2 * dim, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        h, w = x.size(1), x.size(2)
        x = F.pad(x, [0, 0, 0, w % 2, 0, h % 2])
        x = torch.cat([x[:, 0::2, 0::2], x[:, 1::2, 0::2], x[:, 0::2, 1::2], x[:, 1::2, 1::2]], -1)
        return self.reduction(self.norm(x))


class Swin(nn.Module):
    def __init__(self, dim: int, depths: List[int], heads: List[int], window: int, classes: int):
        super().__init__()
        self.patches = nn.Conv2d(3, dim, 4, 4)
        self.norm_in = nn.LayerNorm(dim)
        stages: List[nn.Module] = []
        for i, (depth, head) in enumerate(zip(depths, heads)):
            stages += [PatchMerging(dim << (i - 1))] if i else []
            stages += [SwinBlock(dim << i, window, 0 if j % 2 == 0 else window // 2, head) for j in range(depth)]
        self.features = nn.Sequential(*stages)
        last = dim << (len(depths) - 1)
        self.norm = nn.LayerNorm(last)
        self.head = nn.Linear(last, classes)

    def forward(self, x: Tensor) -> Tensor:
        x = self.norm_in(self.patches(x).permute(0, 2, 3, 1))
        x = self.norm(self.features(x)).permute(0, 3, 1, 2)
        return self.head(F.adaptive_avg_pool2d(x, 1).flatten(1))


def swin() -> Example:
    return Example(Swin(16, [2, 2], [2, 4], 4, 10), (torch.randn(1, 3, 72, 56),))


class SinePositions(nn.Module):
    def __init__(self, features: int):
        super().__init__()
        self.features = features

    def forward(self, mask: Tensor) -> Tensor:
        keep = ~mask
        rows = keep.cumsum(1, dtype=torch.float32)                #: missing aten::cumsum < 11
        columns = keep.cumsum(2, dtype=torch.float32)
        rows = rows / (rows[:, -1:, :] + 1e-6) * 2 * math.pi
        columns = columns / (columns[:, :, -1:] + 1e-6) * 2 * math.pi
        step = torch.arange(self.features, dtype=torch.float32, device=mask.device)
        step = 10000 ** (2 * torch.div(step, 2, rounding_mode="floor") / self.features)
        x, y = columns[:, :, :, None] / step, rows[:, :, :, None] / step
        x = torch.stack((x[:, :, :, 0::2].sin(), x[:, :, :, 1::2].cos()), dim=4).flatten(3)
        y = torch.stack((y[:, :, :, 0::2].sin(), y[:, :, :, 1::2].cos()), dim=4).flatten(3)
        return torch.cat((y, x), dim=3).permute(0, 3, 1, 2)


class DETR(nn.Module):
    """Carion et al. 2020 on a small backbone: padding mask, sine positions, queries, dictionary of outputs."""

    def __init__(self, dim: int, queries: int, classes: int):
        super().__init__()
        self.backbone = nn.Sequential(nn.Conv2d(3, dim, 7, 4, 3), nn.BatchNorm2d(dim), nn.ReLU(),
                                      nn.Conv2d(dim, dim, 3, 2, 1), nn.BatchNorm2d(dim), nn.ReLU())
        self.input_proj = nn.Conv2d(dim, dim, 1)
        self.positions = SinePositions(dim // 2)
        self.transformer = nn.Transformer(dim, 4, 2, 2, 2 * dim, batch_first=True)
        self.query_embed = nn.Embedding(queries, dim)
        self.class_embed = nn.Linear(dim, classes + 1)
        self.bbox_embed = nn.Sequential(nn.Linear(dim, dim), nn.ReLU(), nn.Linear(dim, 4))

    def forward(self, images: Tensor, mask: Tensor) -> Dict[str, Tensor]:
        features = self.input_proj(self.backbone(images))
        small = F.interpolate(mask[None].float(), size=features.shape[-2:]).to(torch.bool)[0]
        tokens = (features + self.positions(small)).flatten(2).transpose(1, 2)
        queries = self.query_embed.weight.unsqueeze(0).repeat(images.size(0), 1, 1)
        padding = small.flatten(1)
        out = self.transformer(tokens, queries, src_key_padding_mask=padding, memory_key_padding_mask=padding)
        return {"pred_logits": self.class_embed(out), "pred_boxes": self.bbox_embed(out).sigmoid()}


def detr() -> Example:
    mask = torch.zeros(2, 64, 96, dtype=torch.bool)
    mask[1, :, 64:] = True
    return Example(DETR(32, 6, 5), (torch.randn(2, 3, 64, 96), mask), grad=True, strict=False)
