"""Models with operators that the reader does not have: torchvision's, and a library of the user's own.

The schemas stand here only so that the models can be written; the one of `my_lib` the tool must do without.
"""
from typing import Dict, List, Tuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from registry import Example

TORCHVISION = torch.library.Library("torchvision", "FRAGMENT")
TORCHVISION.define("nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
TORCHVISION.define("roi_align(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, "
                   "SymInt pooled_width, int sampling_ratio, bool aligned) -> Tensor")
TORCHVISION.define("roi_pool(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, "
                   "SymInt pooled_width) -> (Tensor, Tensor)")
TORCHVISION.define("deform_conv2d(Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias, "
                   "SymInt stride_h, SymInt stride_w, SymInt pad_h, SymInt pad_w, SymInt dilation_h, "
                   "SymInt dilation_w, SymInt groups, SymInt offset_groups, bool use_mask) -> Tensor")

MY_LIB = torch.library.Library("my_lib", "DEF")
MY_LIB.define("my_add(Tensor a, Tensor b) -> Tensor")
MY_LIB.define("scale(Tensor x, *, float factor=1.0, int[] axes, str mode='a') -> Tensor")
MY_LIB.define("pair(Tensor x, int k) -> (Tensor, Tensor)")
MY_LIB.define("pieces(Tensor x, int[] sizes) -> Tensor[]")
MY_LIB.define("peak(Tensor x) -> float")
MY_LIB.define("inplace_(Tensor(a!) x, float? value=None) -> Tensor(a!)")
MY_LIB.define("lookup(Tensor ids, Tensor table, Tensor[] extra, bool flag=False) -> Tensor")
MY_LIB.impl("my_add", lambda a, b: 2 * a + b, "CompositeImplicitAutograd")


class MyAdd(nn.Module):
    """The custom operator of the tutorials: 2a + b."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, a: Tensor, b: Tensor) -> Tensor:
        return torch.ops.my_lib.my_add(self.linear(a), b).relu()              #: my_lib::my_add


class Keywords(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        y = torch.ops.my_lib.scale(x, factor=0.5, axes=[0, 1])                #: my_lib::scale
        return torch.ops.my_lib.scale(y, axes=[x.dim() - 1], mode="b") + torch.ops.my_lib.my_add(x, b=y)


class TupleResult(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        values, indices = torch.ops.my_lib.pair(x, 3)                         #: my_lib::pair
        return values.relu() + x.index_select(0, indices)


class ListResult(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        pieces = torch.ops.my_lib.pieces(x, [1, 2])                           #: my_lib::pieces
        first, second = torch.ops.my_lib.pieces(pieces[0], [1, 1])
        for piece in pieces:
            first = first + piece.sum()
        return first + second


class Everything(nn.Module):
    """Several unknown operators, in a branch and a loop; one yields a number, one writes in place."""

    def forward(self, x: Tensor, table: Tensor) -> Tensor:
        y = x.clone()
        if torch.ops.my_lib.peak(x) > 0.5:                                    #: my_lib::peak
            torch.ops.my_lib.inplace_(y, 2.0)                                 #: my_lib::inplace_
        for i in range(x.size(0)):
            ids = torch.tensor([i])
            y = y + torch.ops.my_lib.lookup(ids, table, [x, y], flag=True)    #: my_lib::lookup
        return y


class RegionProposals(nn.Module):
    def __init__(self, channels: int, anchors: int):
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, 3, padding=1)
        self.cls_logits = nn.Conv2d(channels, anchors, 1)
        self.bbox_pred = nn.Conv2d(channels, 4 * anchors, 1)
        self.anchors = anchors

    def grid(self, features: Tensor, stride: int) -> Tensor:
        rows = torch.arange(features.size(2), device=features.device) * stride
        columns = torch.arange(features.size(3), device=features.device) * stride
        y, x = torch.meshgrid(rows, columns, indexing="ij")
        centres = torch.stack([x, y, x, y], dim=-1).reshape(-1, 1, 4)
        sizes = torch.tensor([[-8, -8, 8, 8], [-16, -8, 16, 8], [-8, -16, 8, 16]], device=features.device)
        return (centres + sizes[:self.anchors]).reshape(-1, 4).to(features.dtype)

    def forward(self, features: Tensor, image: Tuple[int, int]) -> List[Tensor]:
        hidden = F.relu(self.conv(features))
        scores = self.cls_logits(hidden).permute(0, 2, 3, 1).flatten(1)
        deltas = self.bbox_pred(hidden).permute(0, 2, 3, 1).reshape(features.size(0), -1, 4)
        anchors = self.grid(features, 8)
        proposals: List[Tensor] = []
        for score, delta in zip(scores, deltas):
            best = score.topk(min(50, score.size(0)))[1]                      #: aten::topk
            boxes = decode(anchors[best], delta[best])
            boxes = clip(boxes, image)
            keep = torch.where((boxes[:, 2] - boxes[:, 0]) >= 1e-3)[0]
            boxes, score = boxes[keep], score[best][keep]
            proposals.append(boxes[torch.ops.torchvision.nms(boxes, score, 0.7)[:20]])   #: torchvision::nms
        return proposals


def decode(anchors: Tensor, deltas: Tensor) -> Tensor:
    size = anchors[:, 2:] - anchors[:, :2]
    centre = anchors[:, :2] + 0.5 * size + deltas[:, :2] * size
    half = 0.5 * torch.exp(deltas[:, 2:].clamp(max=4.135)) * size
    return torch.cat([centre - half, centre + half], dim=1)


def clip(boxes: Tensor, image: Tuple[int, int]) -> Tensor:
    x = boxes[..., 0::2].clamp(min=0, max=image[1])
    y = boxes[..., 1::2].clamp(min=0, max=image[0])
    return torch.stack((x, y), dim=boxes.dim()).reshape(boxes.shape)


class Detector(nn.Module):
    """Two stages, after Ren et al. 2015: proposals, pooled regions, suppression by class, lists and dictionaries."""

    def __init__(self, classes: int):
        super().__init__()
        self.backbone = nn.Sequential(nn.Conv2d(3, 16, 7, 4, 3), nn.ReLU(), nn.Conv2d(16, 16, 3, 2, 1), nn.ReLU())
        self.rpn = RegionProposals(16, 3)
        self.fc = nn.Sequential(nn.Flatten(), nn.Linear(16 * 9, 32), nn.ReLU())
        self.cls_score = nn.Linear(32, classes)
        self.bbox_pred = nn.Linear(32, 4)

    def forward(self, images: List[Tensor]) -> List[Dict[str, Tensor]]:
        batch = torch.stack([(image - 0.45) / 0.22 for image in images])
        size = (batch.size(2), batch.size(3))
        features = self.backbone(batch)
        proposals = self.rpn(features, size)
        rois = torch.cat([torch.cat([torch.full_like(p[:, :1], float(i)), p], 1) for i, p in enumerate(proposals)])
        pooled = torch.ops.torchvision.roi_align(features, rois, 0.125, 3, 3, 2, False)   #: torchvision::roi_align
        hidden = self.fc(pooled)
        scores, boxes = self.cls_score(hidden).softmax(-1), self.bbox_pred(hidden)
        counts = [p.size(0) for p in proposals]
        results: List[Dict[str, Tensor]] = []
        for proposal, score, delta in zip(proposals, scores.split(counts), boxes.split(counts)):
            box = clip(decode(proposal, delta), size)
            value, label = score[:, 1:].max(1)
            offset = label.to(box.dtype)[:, None] * (box.max() + 1)
            keep = torch.ops.torchvision.nms(box + offset, value, 0.5)        #: torchvision::nms
            results.append({"boxes": box[keep], "labels": label[keep] + 1, "scores": value[keep]})
        return results


class Deformable(nn.Module):
    """Deformable convolution with and without a mask, and pooled regions of the older kind."""

    def __init__(self):
        super().__init__()
        self.offset = nn.Conv2d(4, 18, 3, padding=1)
        self.mask = nn.Conv2d(4, 9, 3, padding=1)
        self.weight = nn.Parameter(torch.randn(6, 4, 3, 3))
        self.bias = nn.Parameter(torch.randn(6))

    def forward(self, x: Tensor, rois: Tensor) -> Tensor:
        y = torch.ops.torchvision.deform_conv2d(                  #: missing torchvision::deform_conv2d < 19
            x, self.weight, self.offset(x), self.mask(x).sigmoid(), self.bias, 1, 1, 1, 1, 1, 1, 1, 1, True)
        pooled, _ = torch.ops.torchvision.roi_pool(y, rois, 1.0, 2, 2)        #: torchvision::roi_pool
        return pooled.flatten(1)


def my_add() -> Example:
    return Example(MyAdd(), (torch.randn(3, 4), torch.randn(3, 4)))


def custom_keywords() -> Example:
    return Example(Keywords(), (torch.randn(3, 4),))


def custom_tuple() -> Example:
    return Example(TupleResult(), (torch.randn(3, 4),))


def custom_list() -> Example:
    return Example(ListResult(), (torch.randn(3, 4),))


def custom_several() -> Example:
    return Example(Everything(), (torch.randn(3, 4), torch.randn(3, 4)))


def detector() -> Example:
    return Example(Detector(4), ([torch.rand(3, 64, 96), torch.rand(3, 64, 96)],), sources=(decode, clip))


def deformable() -> Example:
    return Example(Deformable(), (torch.randn(1, 4, 6, 6), torch.tensor([[0.0, 0.0, 0.0, 4.0, 4.0]])))
