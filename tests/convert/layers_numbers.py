"""Python numbers, which tracing makes tensors of and libtorch's executor takes for numbers in some operators only."""
import torch

from run_layers import DTYPES, Case


def cases():
    integers = torch.tensor([[7, -7, 2], [0, 5, -1]])
    functions = {
        "product": lambda x: x * 2.5, "sum": lambda x: 2.5 + x, "difference": lambda x: 2.5 - x, "quotient": lambda x: x / 2.5,
        "floor_divide": lambda x: x // 2.5, "floor_divided": lambda x: 25.5 // (x + 20), "div_floor": lambda x: torch.div(x, 2.5, rounding_mode="floor"),
        "div_trunc": lambda x: torch.div(x, -2.5, rounding_mode="trunc"), "floor_divide_integer": lambda x: x // 3,
        "both": lambda x: (x * 2.5, x // 2.5), "of_double_tensor": lambda x: x * torch.tensor(2.5, dtype=torch.float64)}
    divided = {"floor_divide", "floor_divided", "div_floor", "both"}   # integers by a fraction, which then is rounded down
    # floor_divided of floats begins at opset 9: before it, the divisor must be a constant, whose sign is known.
    made = {}
    for name, function in functions.items():
        for dtype in (torch.int64, torch.int32, torch.float16, torch.float32):
            made[f"number_{name}_{str(dtype).removeprefix('torch.')}"] = Case(function, [(integers.to(dtype),)], (DTYPES[dtype] + ":n,3",), opsets=range(11 if name in divided and not dtype.is_floating_point else 9 if name == "floor_divided" else 7, 27))
    counts = [(torch.randn(n, 2),) for n in (5, 1, 2, 4)]
    made["linspace_of_named_size"] = Case(lambda x: (torch.linspace(0.5, 3, x.size(0)), torch.logspace(0, 2, x.size(0))), counts, ("f32:n,2",), opsets=range(9, 27))
    return made
