"""Scripted detectors of torchvision, made small: lists of images, dictionaries of results, objects and caches inside."""
import pathlib, sys
from typing import Dict, List

import torch
from torch import Tensor, nn

sys.path.append(str(pathlib.Path(__file__).parents[1] / "models"))
from layer_cases import Case
from torchvision_on_cpu import load_torchvision


class Backbone(nn.Module):
    def __init__(self, levels=1, channels=8):
        super().__init__()
        self.out_channels = channels
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, stride=4, padding=1), nn.ReLU())
        self.further = nn.ModuleList(nn.Sequential(nn.Conv2d(8 if i == 0 else channels, channels, 3, stride=2, padding=1), nn.ReLU()) for i in range(levels))

    def forward(self, x: Tensor) -> Dict[str, Tensor]:
        x = self.stem(x)
        levels: Dict[str, Tensor] = {}
        for i, layer in enumerate(self.further):
            x = layer(x)
            levels[str(i)] = x
        return levels


class OneImage(nn.Module):
    def __init__(self, detector):
        super().__init__()
        self.detector = detector

    def forward(self, image: Tensor) -> List[Dict[str, Tensor]]:
        return self.detector([image])[1]


class TwoImages(nn.Module):
    def __init__(self, detector):
        super().__init__()
        self.detector = detector

    def forward(self, image: Tensor, other: Tensor) -> List[Dict[str, Tensor]]:
        return self.detector([image, other])[1]


def spread(model, images):
    """Scales each layer so that its results differ as those of a trained model do: scores of random weights are nearly all the same."""
    seen = set()

    def scale(layer, _, result):
        if layer in seen or result.numel() < 2:
            return None
        seen.add(layer)
        factor = 1 / float(result.std() + 1e-6)
        layer.weight.mul_(factor)
        layer.bias.mul_(factor)
        return result * factor

    layers = [layer for layer in model.modules() if isinstance(layer, (nn.Conv2d, nn.Linear, nn.ConvTranspose2d)) and layer.bias is not None]
    hooks = [layer.register_forward_hook(scale) for layer in layers]
    model(images)
    for hook in hooks:
        hook.remove()
    for name, layer in model.named_modules():
        if name.endswith("cls_score"):
            layer.weight.mul_(3)
        if name.endswith("bbox_pred") and isinstance(layer, nn.Linear):
            layer.weight.mul_(0.3)
    return model


def detectors():
    detection = load_torchvision().models.detection
    from torchvision.models.detection.anchor_utils import AnchorGenerator, DefaultBoxGenerator
    from torchvision.ops import MultiScaleRoIAlign
    sizes = dict(min_size=96, max_size=160)
    kept = dict(box_detections_per_img=8, rpn_post_nms_top_n_test=40, rpn_pre_nms_top_n_test=60)
    anchors = lambda levels: AnchorGenerator(tuple((16 * 2 ** i, 40 * 2 ** i) for i in range(levels)), ((0.5, 1.0, 2.0),) * levels)
    pool = lambda size, levels=2: MultiScaleRoIAlign([str(i) for i in range(levels)], size, 2)
    yield "faster_rcnn", lambda: detection.FasterRCNN(Backbone(2), 4, rpn_anchor_generator=anchors(2), box_roi_pool=pool(3), **sizes, **kept), range(11, 27)
    yield "mask_rcnn", lambda: detection.MaskRCNN(Backbone(2), 4, rpn_anchor_generator=anchors(2), box_roi_pool=pool(3), mask_roi_pool=pool(6), **sizes, **kept), range(11, 27)
    yield "keypoint_rcnn", lambda: detection.KeypointRCNN(
        Backbone(1), 2, num_keypoints=3, rpn_anchor_generator=anchors(1), box_roi_pool=pool(3, 1), keypoint_roi_pool=pool(6, 1),
        **sizes, **kept), range(11, 27)
    yield "retinanet", lambda: detection.RetinaNet(Backbone(2), 4, anchor_generator=anchors(2), detections_per_img=8, topk_candidates=30, **sizes), range(11, 27)
    yield "fcos", lambda: detection.FCOS(Backbone(2, 32), 4, anchor_generator=AnchorGenerator(((16,), (32,)), ((1.0,),) * 2),
                                         detections_per_img=8, topk_candidates=30, **sizes), range(11, 27)
    yield "ssd", lambda: detection.ssd.SSD(
        Backbone(2), DefaultBoxGenerator([[2], [2, 3]]), (96, 96), 4, head=detection.ssd.SSDHead([8, 8], [4, 6], 4),
        detections_per_img=8, topk_candidates=30, score_thresh=0.1), range(11, 27)


def cases():
    made = {}
    generator = torch.Generator().manual_seed(3)
    image = lambda height, width: torch.rand(3, height, width, generator=generator)
    for name, make, opsets in detectors():
        torch.manual_seed(1)
        model = spread(make().eval(), [image(110, 130)])
        # Nothing is found in an image without anything in it, and both ways of sizes are resized.
        inputs = [(image(100, 130),), (image(150, 90),), (image(64, 64),)]
        runs = range(7, 22 if "rcnn" in name else 27)   # ONNX Runtime has no RoiAlign of opset 22
        made[f"{name}_of_one"] = Case(OneImage(model), inputs, ("f32:3,h,w",), script=True, opsets=opsets, runs=runs, tolerance=(1e-3, 1e-2))
        if name in ("mask_rcnn", "ssd"):
            pairs = [(image(100, 130), image(90, 140)), (image(150, 90), image(80, 80))]
            made[f"{name}_of_two"] = Case(TwoImages(model), pairs, ("f32:3,h,w", "f32:3,g,v"), script=True, opsets=opsets, runs=runs, tolerance=(1e-3, 1e-2))
    return made
