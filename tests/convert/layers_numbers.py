"""Python numbers, which tracing makes tensors of and libtorch's executor takes for numbers in some operators only."""
import torch

from layer_cases import DTYPES, Case


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
            made[f"number_{name}_{str(dtype).removeprefix('torch.')}"] = Case(
                function, [(integers.to(dtype),)], (DTYPES[dtype] + ":n,3",),
                opsets=range(11 if name in divided and not dtype.is_floating_point else 9 if name == "floor_divided" else 7, 27))
    counts = [(torch.randn(n, 2),) for n in (5, 1, 2, 4)]
    made["linspace_of_named_size"] = Case(lambda x: (torch.linspace(0.5, 3, x.size(0)), torch.logspace(0, 2, x.size(0))), counts, ("f32:n,2",), opsets=range(9, 27))
    made["arange_beyond_doubles"] = Case(lambda x: x + torch.arange(2**60 + 1, 2**60 + 8, 2), [(torch.arange(4),)])
    # Integers of more digits than a double has.
    large = 2**60 + 1
    exact = {
        "add": lambda x: x + large, "sub": lambda x: large - x, "mul": lambda x: x * large, "eq": lambda x: x + large == large, "less": lambda x: x + large < large,
        "clamp": lambda x: (x + large).clamp(large, large + 1), "clamp_min": lambda x: (x + large).clamp_min(large), "clamp_max": lambda x: (x + large).clamp(max=large),
        "full": lambda x: x + torch.full((4,), large), "full_like": lambda x: x + torch.full_like(x, large), "where": lambda x: torch.where(x > 2, large, x),
        "fill": lambda x: (x * 1).fill_(large), "new_full": lambda x: x + x.new_full((4,), large), "pad": lambda x: torch.nn.functional.pad(x, (1, 1), value=large),
        "scalar_tensor": lambda x: x + torch.scalar_tensor(large, dtype=torch.int64), "tensor": lambda x: x + torch.tensor([large, -large, 1, 0]),
        "remainder": lambda x: (x + large) % (large - 1), "floor_divide": lambda x: (x + large) // 3, "fmod": lambda x: torch.fmod(x + large, large),
        "threshold": lambda x: torch.nn.functional.threshold(x + large, large, large + 2), "addcmul": lambda x: torch.addcmul(x, x, x, value=large),
        "rsub": lambda x: torch.rsub(x, 1, alpha=large), "isin": lambda x: torch.isin(x + large, torch.tensor([large])), "write": lambda x: torch.cat([x[:1] * 0 + large, x]),
        "ones_times": lambda x: torch.ones(4, dtype=torch.int64) * large + x, "maximum": lambda x: torch.maximum(x + large, torch.tensor(large + 1)),
        "max": lambda x: (x + large).max(), "abs": lambda x: (-x - large).abs(), "sign": lambda x: (x - large).sign(), "floor": lambda x: (x + large).floor(),
        "nan_to_num": lambda x: (x + large).nan_to_num(), "square": lambda x: (x + 2**31 + 1).square(), "pow": lambda x: (x + 2**31 + 1) ** 2,
        "diff": lambda x: (x * x + large).diff(), "relu": lambda x: (x + large).relu(), "trunc_div": lambda x: torch.div(x - large, 3, rounding_mode="trunc"),
        "masked_fill": lambda x: x.masked_fill(x > 2, large), "index_fill": lambda x: x.index_fill(0, torch.tensor([1]), large),
        "scatter": lambda x: x.scatter(0, torch.tensor([1]), large), "fill_diagonal": lambda x: x.expand(4, 4).clone().fill_diagonal_(large),
        "put": lambda x: x.put(torch.tensor([1]), torch.tensor([large])),
        "cumsum": lambda x: (x + large).cumsum(0), "sort": lambda x: (large - x).sort()[0], "topk": lambda x: (x + large).topk(2)[0],
        "and": lambda x: (x + large) & (large + 2)}
    since = {"masked_fill": 9, "index_fill": 9, "scatter": 9, "fill_diagonal": 9, "put": 9, "cumsum": 9, "sort": 11, "topk": 11}
    for name, function in exact.items():
        made[f"beyond_doubles_{name}"] = Case(function, [(torch.arange(4),), (torch.tensor([7, 1, 0, 3]),)], opsets=range(since.get(name, 7), 27))
    made["arange_down"] = Case(lambda x: (x + torch.arange(5, -7, -3), x + torch.arange(1.0, -1.0, -0.5), x + torch.arange(-2, 2)), [(torch.arange(4),)])
    return made
