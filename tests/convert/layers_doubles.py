"""Double precision where ONNX Runtime has kernels in single precision alone: composed, right to the last digits, at every opset."""
import torch
import torch.nn.functional as F

from layer_cases import Case

PRECISE = (1e-12, 1e-15)


def cases():
    inf = float("inf")
    numbers = torch.tensor([-1e200, -30.0, -3.0, -1.5, -1.0, -0.999, -0.5, -1e-3, -1e-9, -0.0, 0.0, 1e-20, 1e-9, 0.3, 0.5, 0.84, 0.999, 1.0, 1.0000001, 1.5,
                            2.7, 6.0, 1e3, 1e10, 1e200, inf, -inf, float("nan")], dtype=torch.float64)
    slope = torch.tensor([0.3], dtype=torch.float64)
    from_opset = {
        7: {"log1p": torch.log1p, "tan": torch.tan, "asin": torch.asin, "acos": torch.acos, "atan": torch.atan, "elu": lambda x: F.elu(x, 1.3), "celu": lambda x: F.celu(x, 1.3),
            "selu": F.selu, "leaky_relu": lambda x: F.leaky_relu(x, 0.1), "rrelu": lambda x: F.rrelu(x, training=False), "prelu": lambda x: F.prelu(x, slope)},
        9: {"asinh": torch.asinh, "acosh": torch.acosh, "atanh": torch.atanh, "erf": torch.erf, "erfc": torch.erfc, "erfinv": torch.erfinv,
            "ndtr": torch.special.ndtr, "gelu": F.gelu}}
    made = {f"double_{name}": Case(function, [(numbers,)], opsets=range(opset, 27), tolerance=PRECISE)
            for opset, functions in from_opset.items() for name, function in functions.items()}
    torch.manual_seed(1)
    matrices = torch.randn(3, 5, 5, dtype=torch.float64)
    matrices[1, 2] = 0
    for name, function in {"det": torch.det, "logdet": torch.logdet, "slogdet": torch.linalg.slogdet}.items():
        made[f"double_{name}"] = Case(function, [(matrices,), (torch.randn(2, 5, 5, dtype=torch.float64),)], ("f64:n,5,5",), opsets=range(11, 27), tolerance=PRECISE)
    # Between 709.78 and 710.47 PyTorch gives infinity on some processors and the number on others.
    ends = torch.tensor([-709.7, -709.0, -20.0, -1.0, -1e-9, 0.0, 1e-3, 0.7, 300.0, 709.0, 709.7, 710.5, inf, -inf, float("nan")], dtype=torch.float64)
    made["double_sinh_cosh"] = Case(lambda x: (torch.sinh(x), torch.cosh(x)), [(ends,)], tolerance=PRECISE)
    made["double_atan2"] = Case(torch.atan2, [(numbers, numbers.flip(0))], opsets=range(9, 27), tolerance=PRECISE)
    scores = torch.tensor([[1.0, 2, 3, 4], [1, inf, 2, 3], [inf, 1, 2, 3], [1, -inf, 2, 3], [-inf] * 4, [1, 2, float("nan"), 3], [-800, 800, 0, 1]], dtype=torch.float64)
    classes, soft = torch.tensor([0, 0, 0, 1, 2, 0, 0]), torch.full((7, 4), 0.25, dtype=torch.float64)
    made["double_class_losses"] = Case(lambda x, t: (F.cross_entropy(x, t, reduction="none"),
                                                     F.cross_entropy(x.t().unsqueeze(0), t.unsqueeze(0), reduction="none",
                                                                     label_smoothing=0.1),
                                                     F.log_softmax(x, 0), F.log_softmax(x, -1)),
                                       [(scores, classes)], opsets=range(9, 27), tolerance=PRECISE)
    made["double_soft_losses"] = Case(lambda x, t: F.cross_entropy(x, t, reduction="none"), [(scores, soft)], opsets=range(7, 27), tolerance=PRECISE)
    return made
