"""Grids, and torchvision's operators."""
import itertools, pathlib, sys

import torch
import torch.nn.functional as F

sys.path.append(str(pathlib.Path(__file__).parents[1] / "models"))
from layer_cases import Case
from torchvision_on_cpu import load_torchvision


def cases():
    made = {}
    grid = torch.rand(2, 5, 6, 2) * 3 - 1.5
    grid[0, 0, 0] = torch.tensor([-1.0, 1.0])
    # Far away and nowhere; reflected ones less far, or single precision loses the place.
    far = torch.tensor(list(itertools.product((1e4, -1e10, 6.3, -0.3, float("nan"), float("inf"), -float("inf")), repeat=2))).reshape(1, 7, 7, 2)
    near = torch.where(far.isfinite() & (far.abs() > 100), far.sign() * 20.7, far)
    for mode, padding, corners in itertools.product(("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection"), (False, True)):
        made[f"grid_{mode}_{padding}_{corners}"] = Case(lambda x, g, a=(mode, padding, corners): F.grid_sample(x, g, *a),
                                                        [(torch.randn(2, 3, 4, 7), grid),
                                                         (torch.randn(1, 3, 4, 7), near if padding == "reflection" else far)],
                                                        ("f32:n,3,4,7", "f32:n,h,w,2"), opsets=range(9, 27))
    # ONNX Runtime has a kernel for doubles from opset 20 on; no dtype is wider.
    made["grid_of_doubles"] = Case(lambda x, g: F.grid_sample(x, g, align_corners=False),
                                   [(torch.randn(2, 3, 4, 7).double(), grid.double())], opsets=range(9, 27),
                                   runs=[*range(9, 16), *range(20, 27)])
    volume = torch.rand(2, 3, 4, 5, 3) * 3 - 1.5
    far_volume = torch.tensor(list(itertools.product((1e4, -7.5, 0.3, float("nan"), float("inf"), -float("inf")), repeat=3))).reshape(1, 6, 6, 6, 3)
    for mode, padding, corners in itertools.product(("bilinear", "nearest"), ("zeros", "border", "reflection"), (False, True)):
        made[f"volume_{mode}_{padding}_{corners}"] = Case(lambda x, g, a=(mode, padding, corners): F.grid_sample(x, g, *a),
                                                          [(torch.randn(2, 2, 4, 7, 3), volume), (torch.randn(1, 2, 4, 7, 3), far_volume)],
                                                          ("f32:n,2,4,7,3", "f32:n,d,h,w,3"), opsets=range(9, 27))
    # Axes of one cell, all of whose finite places are that cell when corners are aligned.
    for mode, padding in itertools.product(("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection")):
        sample = lambda x, g, a=(mode, padding, True): F.grid_sample(x, g, *a)
        made[f"thin_grid_{mode}_{padding}"] = Case(sample, [(torch.randn(1, 3, 1, 7), near if padding == "reflection" else far)], opsets=range(9, 27))
        made[f"perhaps_thin_grid_{mode}_{padding}"] = Case(sample, [(torch.randn(2, 3, 4, 7), grid),
                                                                    (torch.randn(1, 3, 4, 1), near if padding == "reflection" else far)],
                                                           ("f32:n,3,p,q", "f32:n,h,w,2"), opsets=range(9, 27))
        if mode != "bicubic":
            made[f"thin_volume_{mode}_{padding}"] = Case(sample, [(torch.randn(1, 2, 4, 1, 3), far_volume)], opsets=range(9, 27))
    halfway = torch.randint(-3, 4, (1, 6, 8, 2)).float()   # between cells, where the order of rounding and reflecting counts
    for aligned in (False, True):
        made[f"halfway_grid_{aligned}"] = Case(lambda x, g, a=aligned: F.grid_sample(x, g, "nearest", "reflection", a), [(torch.randn(1, 2, 4, 20), halfway)], opsets=range(9, 27))
    for dtype, aligned in itertools.product((torch.float16, torch.float32, torch.float64), (False, True)):
        made[f"affine_grid_named_{dtype}_{aligned}".replace("torch.", "")] = Case(
            lambda t, x, a=aligned: F.affine_grid(t, x.size(), a),
            [(torch.randn(2, 2, 3).to(dtype), torch.randn(2, 1, *size))
             for size in (((3, 4), (2, 7)) if dtype == torch.float16 else ((3, 4), (1, 7), (5, 1), (1, 1)))],
            specs=(f"{'f64' if dtype == torch.float64 else 'f16' if dtype == torch.float16 else 'f32'}:n,2,3", "f32:n,1,h,w"),
            opsets=range(9, 27))
        made[f"affine_grid_{dtype}_{aligned}".replace("torch.", "")] = Case(lambda t, a=aligned: F.affine_grid(t, [2, 1, 3, 4], a), [(torch.randn(2, 2, 3).to(dtype),)])
    products = torch.tensor([[float("inf"), 1.0], [float("-inf"), -2.0], [3.0, 4.0]])
    made["cdist_by_products"] = Case(lambda x, y: torch.cdist(x, y, compute_mode="use_mm_for_euclid_dist"), [(products, torch.randn(5, 2))])
    made["cdist_of_many"] = Case(lambda x, y: torch.cdist(x, y), [(products.repeat(10, 1), torch.randn(5, 2))])
    far = torch.randn(64, 8) * 1000   # where a² + b² - 2ab of equal rows may round to anything small
    made["cdist_of_far_equal_rows"] = Case(lambda x: torch.cdist(x, x).clamp(min=20), [(far,)])
    bags = torch.tensor([0, 3, 1]), torch.tensor([0, 2, 2])   # the second starts behind the third
    made["unordered_bags"] = Case(lambda w, o: F.embedding_bag(torch.tensor([1, 5, 4, 5, 9]), w, o, mode="max"), [(torch.randn(10, 3), o) for o in bags], opsets=range(9, 27))
    for mode in ("sum", "mean", "max"):   # the last offset isn't the number of indices
        made[f"last_offset_{mode}"] = Case(lambda w, o, mode=mode: F.embedding_bag(torch.tensor([1, 5, 4, 5, 9]), w, o, mode=mode, include_last_offset=True),
                                           [(torch.randn(10, 3), torch.tensor(o)) for o in ([0, 2, 5], [0, 2, 4], [0, 2, 2])], opsets=range(9, 27))
    made["last_offset_doubles"] = Case(lambda w, o: F.embedding_bag(torch.tensor([1, 5, 4, 5, 9]), w, o, include_last_offset=True),
                                       [(torch.randn(10, 3).double(), torch.tensor([0, 2, 4]))], opsets=range(9, 27))
    ops = load_torchvision().ops
    before_22 = range(7, 22)   # ONNX Runtime has no kernels of RoiAlign and MaxRoiPool as of opset 22
    boxes = torch.rand(12, 2) * 20
    boxes = torch.cat([boxes, boxes + torch.rand(12, 2) * 15 + 0.5], 1)
    made["nms"] = Case(lambda b, s: ops.nms(b, s, 0.4), [(boxes, torch.rand(12)), (boxes.flip(0), torch.rand(12))], ("f32:n,4", "f32:n"), opsets=range(10, 27))
    rois = torch.cat([torch.randint(0, 2, (12, 1)).float(), boxes], 1)
    small = torch.tensor([[0, 3.2, 3.1, 3.3, 3.9], [1, -4.0, -3.0, 5.0, 60.0]])
    for aligned, ratio in itertools.product((False, True), (2, 0, -1)):
        # Before opset 16 half a cell is taken from boxes, which is approximate.
        made[f"roi_align_{aligned}_{ratio}"] = Case(
            lambda x, r, a=(aligned, ratio): ops.roi_align(x, r, (3, 4), 0.5, a[1], a[0]),
            [(torch.randn(2, 3, 20, 20), rois), (torch.randn(2, 3, 20, 20), small)], ("f32:2,3,20,20", "f32:n,5"),
            opsets=range(10, 27), untried=range(10, 16) if aligned else (), runs=before_22)
    made["roi_pool"] = Case(lambda x, r: ops.roi_pool(x, r, (3, 4), 0.5),
                            [(torch.randn(2, 3, 20, 20), rois), (torch.randn(2, 3, 20, 20), small)],
                            ("f32:2,3,20,20", "f32:n,5"), runs=before_22)
    made["deform_conv2d"] = Case(lambda x, o, w, m: ops.deform_conv2d(x, o, w, None, (2, 1), (1, 0), (1, 2), m),
                                 [(torch.randn(2, 4, 9, 9), torch.randn(2, 18, 5, 5), torch.randn(6, 4, 3, 3), torch.rand(2, 9, 5, 5))],
                                 opsets=range(19, 27))
    made["deform_conv2d_groups"] = Case(lambda x, o, w: ops.deform_conv2d(x, o, w, torch.ones(6)),
                                        [(torch.randn(2, 4, 7, 7), torch.randn(2, 36, 5, 5), torch.randn(6, 2, 3, 3))],
                                        opsets=range(19, 27))
    return made
