"""Histograms and modes: elements on edges and outside, ties, weights."""
import torch

from layer_cases import DTYPES, Case

wide = range(9, 27)


def histograms():
    made = {}
    x = torch.tensor([-1., 0, 0.25, 0.3, 0.5, 0.75, 0.999, 1, 1.1, float("nan"), float("inf"), 2, 2])
    finite = x[torch.isfinite(x)]
    for name, bins, low, high in (("four", 4, 0, 1), ("ten", 10, -1, 2), ("one", 1, 0, 2), ("thirds", 3, 0.1, 0.7)):
        made[f"histc_{name}"] = Case(lambda x, b=bins, l=low, h=high: torch.histc(x, b, l, h),
                                     [(x,), (x.reshape(1, -1)[0],), (x[:0],), (torch.rand(200) * 3 - 1,)], ("f32:n",), opsets=wide)
        made[f"histogram_{name}"] = Case(lambda x, b=bins, l=low, h=high: tuple(torch.histogram(x, b, range=(float(l), float(h)))),
                                         [(x,), (x[:0],), (torch.rand(200) * 3 - 1,)], ("f32:n",), opsets=wide)
        made[f"histogram_density_{name}"] = Case(
            lambda x, w, b=bins, l=low, h=high: tuple(torch.histogram(x, b, range=(float(l), float(h)), weight=w, density=True)),
            [(x, torch.rand(13)), (x[:6], torch.rand(6))], ("f32:n", "f32:n"), opsets=wide)
    made["histc_f64"] = Case(lambda x: torch.histc(x, 7, -1, 2), [(x.double(),)], opsets=wide)
    made["histc_f16"] = Case(lambda x: torch.histc(x, 7, -1, 2), [(x.half(),), (torch.rand(300).half(),)], ("f16:n",), opsets=wide)
    made["histc_of_range"] = Case(lambda x: (torch.histc(x, 4), torch.histc(x, 3, 5, 5)), [(finite,), (torch.ones(3),), (x[:0],), (torch.rand(100),)], ("f32:n",), opsets=wide)
    made["histogram_of_range"] = Case(lambda x: tuple(torch.histogram(x, 4)), [(finite,), (torch.ones(3),), (x[:0],), (torch.rand(100),)], ("f32:n",), opsets=wide)
    made["histogram_of_matrix"] = Case(lambda x: tuple(torch.histogram(x, 4)), [(torch.rand(4, 5),)], opsets=wide)
    made["histogram_edges"] = Case(lambda x, b, w: (*torch.histogram(x, b), *torch.histogram(x, b, weight=w),
                                                    *torch.histogram(x, b, density=True)),
                                   [(x, torch.tensor([0., 0.25, 0.3, 1, 2]), torch.rand(13))], opsets=wide)
    points = torch.rand(30, 2)
    made["histogramdd"] = Case(lambda x: (lambda h, e: (h, *e))(*torch.histogramdd(x, [3, 4], range=[0., 1, 0.2, 0.7])),
                               [(points,), (points[:5],), (points[:0],)], ("f32:n,2",), opsets=wide)
    made["histogramdd_of_range"] = Case(lambda x, w: (lambda h, e: (h, *e))(*torch.histogramdd(x, [3, 4], weight=w, density=True)), [(points, torch.rand(30))], opsets=wide)
    made["histogramdd_one_count"] = Case(lambda x: (lambda h, e: (h, *e))(*torch.histogramdd(x, 3)), [(points.reshape(5, 3, 4),)], opsets=wide)
    made["histogramdd_edges"] = Case(lambda x, a, b: (lambda h, e: (h, *e))(*torch.histogramdd(x, (a, b))),
                                     [(points, torch.tensor([0., 0.5, 1]), torch.tensor([0.1, 0.2, 0.4, 0.6]))], opsets=wide)
    made["histogramdd_core"] = Case(lambda x: (torch._histogramdd_from_bin_cts(x, [3, 4]), *torch._histogramdd_bin_edges(x, [3, 4])),
                                    [(points,), (points[:5],)], ("f32:n,2",), opsets=wide)
    made["histogramdd_core_edges"] = Case(lambda x, w, a, b: torch._histogramdd_from_bin_tensors(x, (a, b), weight=w, density=True),
                                          [(points, torch.rand(30), torch.tensor([0., 0.5, 1]), torch.tensor([0.1, 0.2, 0.4, 0.6]))],
                                          opsets=wide)
    return made


def modes():
    made = {}
    for dtype in (torch.float32, torch.float64, torch.float16, torch.int64, torch.int32, torch.int8, torch.uint8, torch.bool):
        rows = torch.randint(0, 3, (4, 7, 5)).to(dtype)
        word = DTYPES[dtype]
        name = str(dtype).removeprefix("torch.")
        for dim in (0, 1, -1):
            made[f"mode_{dim}_{name}"] = Case(lambda x, d=dim: tuple(torch.mode(x, d)), [(rows,), (rows[:2],)], (f"{word}:n,7,5",), opsets=wide)
        made[f"mode_kept_{name}"] = Case(lambda x: tuple(torch.mode(x, 1, True)), [(rows,), (rows[:, :2],), (rows[:0],)], (f"{word}:n,m,5",), opsets=wide)
    made["mode_of_scalar"] = Case(lambda x: tuple(torch.mode(x)), [(torch.tensor(2.5),)], opsets=wide)
    made["mode_of_infinities"] = Case(lambda x: tuple(torch.mode(x)),
                                      [(torch.tensor([float("inf"), 1, float("inf"), -float("inf")]),),
                                       (torch.tensor([float("inf"), float("-inf")]),)], ("f32:n",), opsets=wide)
    large = 2**62 + 1
    made["mode_of_large_integers"] = Case(lambda x: tuple(torch.mode(x)), [(torch.tensor([large, large + 1, large + 1, large]),)], opsets=wide)
    return made


def cases():
    return {**histograms(), **modes()}
