"""Random subscripts."""
import torch

from state import INTEGERS, Unfit

BOUNDS = ["", "", "0", "1", "2", "-1", "-2", "-3", "3", "5", "-7"]


def integers(state, size):
    """Positions along an axis: as a literal, or a tensor that the program has."""
    if state.rng.random() < 0.3:
        try:
            name = state.tensor((torch.int64,), test=lambda v: v.dim() in (1, 2) and v.numel() > 0)
            if all(((env[name] < size) & (env[name] >= -size)).all() for env in state.envs):
                return name
        except Unfit:
            pass
    if not size:
        raise Unfit
    smallest = min(size, 2)
    values = [state.rng.randrange(-smallest, smallest) for _ in range(state.rng.choice([1, 2, 2, 3]))]
    return f"torch.tensor({[values, values] if state.rng.random() < 0.15 else values})"


def mask(state, shape):
    try:
        return state.tensor((torch.bool,), test=lambda v: 0 < v.dim() <= len(shape) and v.shape == shape[:v.dim()])
    except Unfit:
        name = state.tensor(INTEGERS + (torch.float32, torch.float64), exact=True, test=lambda v: 0 < v.dim() <= len(shape) and v.shape == shape[:v.dim()])
        return f"{name} > {state.rng.choice(['0', '1', '5', '-1'])}"


def bounds(state):
    start, stop = state.rng.choice(BOUNDS), state.rng.choice(BOUNDS)
    if state.rng.random() < 0.1:
        try:
            stop = state.number(int)
        except Unfit:
            pass
    return f"{start}:{stop}" + state.rng.choice(["", "", "", "", ":2", ":3"])


def index(state, name):
    """What stands in the brackets behind a tensor."""
    shape = state.value(name).shape
    rank, rng = len(shape), state.rng
    kind = rng.random()
    if kind < 0.15:
        return mask(state, shape)
    items, axis = [], 0
    for _ in range(rng.choice([1, 1, 2, 2, 3])):
        choice = rng.random()
        if choice < 0.08:
            items.append("None")
            continue
        if choice < 0.16 and "..." not in items:
            items.append("...")
            axis = max(axis, rank - rng.choice([0, 1]))
            continue
        if axis >= rank:
            break
        if choice < 0.35:
            items.append(rng.choice(["0", "-1", "1", "-2"]))
        elif choice < 0.75:
            items.append(bounds(state))
        elif choice < 0.93:
            # Where nothing is read or written PyTorch looks at no position; ONNX Runtime does.
            items.append(integers(state, min(env[name].shape[axis] for env in state.envs)))
        else:
            items.append(mask(state, shape[axis:axis + 1]))
        axis += 1
    if not items:
        raise Unfit
    return ", ".join(items)
