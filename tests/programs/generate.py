"""Random programs by seed: statements that PyTorch takes, one after the other."""
import copy, random, re

import torch

from program import GLOBALS, Block, Input, Program, lines_of
from state import ALL, FLOATS, State, Unfit
from templates import TABLE, WRITE_TABLE, fill

SIZES = [{"n": 3, "m": 2}, {"n": 5, "m": 1}, {"n": 1, "m": 3}, {"n": 2, "m": 2}, {"n": 4, "m": 5}]
EMPTY = [{"n": 0, "m": 2}, {"n": 3, "m": 0}]
SHAPES = [("n", 4), ("n", 4), ("n", 4), ("n",), ("n", "m"), (4,), (2, "n", 4), ("n", 3, 4), (1, 4), ("n", 1), (), (3, 4), (2, 3, 4),
          (1, 2, 4, 4), (3, 3), (), ("n", 4, "m"), (1, "n", 4)]
INPUT_DTYPES = [torch.float32] * 8 + [torch.float64] * 2 + [torch.float16] + [torch.int64] * 4 + [torch.int32, torch.uint8, torch.int8, torch.int16] + [torch.bool] * 2
ATTEMPTS = 40
# What PyTorch leaves open, or ONNX Runtime, for infinities and NaN: tests/corpus/open_values.py has the reasons. PyTorch's hardswish
# multiplies by 6 before it divides, which overflows near the largest number; ONNX's doesn't.
OPEN_AT_SPECIALS = re.compile("det|fft|pool|gelu|prelu|interpolate|upsample|attention|unique|conv|cummax|cummin|sort|topk|median|kthvalue|hardswish")
SIGN_OF_ZERO = re.compile("atan2|copysign|signbit")
MOST_DEPTH = 2

INTEGERS_OF = ["{xa}.size({d})", "{xa}.shape[{d}]", "len({xa})", "{xa}.numel()", "{xa}.dim()", "{n} + 1", "{n} // 2", "{n} * 2", "{n} - 1", "min({n}, 2)", "max({n}, 1)", "{n} % 2"]
SCALARS = INTEGERS_OF + ["int({xe}.sum())", "int({xe}.max())", "float({xe}.sum())", "float({n}) * 0.5", "bool(({xe} > 1).any())",
                         "bool({xae}.any())", "-{n}", "{n} if {n} > 2 else 1", "int({n} / 2)", "{xa}.size(0) == {n}", "abs({n} - 3)",
                         "len({xa}.shape)", "{xa}.stride(0)", "int({xae}.any())", "{xa}.is_floating_point()"]
CONDITIONS = ["{n} > 2", "{n} == 3", "bool({xe}.sum() > 0)", "bool(({xe} > 1).any())", "{xa}.size(0) > 2",
              "{xa}.size(0) > 0 and bool({xe}.flatten()[0] > 0)", "{xe}.numel() > 0 and bool({xe}.max() > 1)",
              "{xe}.numel() == 0 or bool({xe}.min() < 0)", "not bool({xae}.any())", "{xa}.dim() == 2", "{xa}.size(-1) != {n}",
              "{n} > 1 and bool({xe}.flatten()[{n} - 1] > 0)", "bool({xae}.all())"]


def value_of(rng, dtype, shape, special):
    count = 1
    for size in shape:
        count *= size
    if dtype == torch.bool:
        values = [rng.random() < 0.5 for _ in range(count)]
    elif dtype in FLOATS:
        values = [rng.randrange(-16, 17) / 4 for _ in range(count)]
        if special:
            values = [rng.choice([float("inf"), float("-inf"), float("nan")]) if rng.random() < 0.2 else v for v in values]
    else:
        values = [rng.randrange(0 if dtype == torch.uint8 else -4, 9) for _ in range(count)]
        if rng.random() < 0.1:
            values = [v if v < 5 else 118 + v for v in values]   # up to the end of int8
    return torch.tensor(values, dtype=dtype).reshape(shape)


def inputs_of(rng, special):
    named = rng.random() < 0.75
    sizes = [SIZES[0], *rng.sample(SIZES[1:], 2)] + ([rng.choice(EMPTY)] if rng.random() < 0.35 else [])
    inputs = []
    for i in range(rng.choice([1, 2, 2, 3])):
        dims, dtype = rng.choice(SHAPES), rng.choice(INPUT_DTYPES)
        if not named:
            dims = tuple(SIZES[0].get(d, d) for d in dims)
        inputs.append(Input(f"x{i}", dims, [value_of(rng, dtype, [s.get(d, d) for d in dims], special) for s in sizes]))
    return inputs


def left_open(state, text):
    """Calls of which PyTorch says one thing here and another thing there."""
    if state.scripted and (by_flag := re.fullmatch(r"(\w+)\[(\w+)\.to\(torch\.bool\)\]", text)):
        # TorchScript returns a tensor without elements as it is; all others get a dimension from a flag.
        return any(env[by_flag[2]].dim() == 0 and env[by_flag[1]].numel() == 0 for env in state.envs)
    if loss := re.match(r"F\.cosine_embedding_loss\((\w+), (\w+),", text):
        # PyTorch multiplies the sums of squares in halves, where they may be infinite.
        pairs = [(env[loss[1]], env[loss[2]]) for env in state.envs]
        return any(a.dtype == torch.float16 and not ((a * a).sum(-1) * (b * b).sum(-1)).isfinite().all() for a, b in pairs)
    return False


def expression(state):
    if state.rng.random() < 0.12:
        return fill(state, "{xa}[{ix}]"), True
    template, exact = state.rng.choice(TABLE)
    if state.special and OPEN_AT_SPECIALS.search(template):
        raise Unfit
    text = fill(state, template)
    if left_open(state, text):
        raise Unfit
    values = [env[name] for env in state.envs for name in state.used if isinstance(env[name], torch.Tensor)]
    if "pixel_unshuffle" in text and any(value.numel() == 0 for value in values):
        raise Unfit   # PyTorch returns a tensor without elements in its old shape
    if "_norm(" in text and any(value.numel() == 0 for value in values):
        raise Unfit   # InstanceNormalization of nothing ends ONNX Runtime: docs/onnxruntime.md
    if (root := re.match(r"torch\.sqrt\(abs\((\w+)\)\)", text)) and not state.is_exact(root[1]) and any((env[root[1]].abs() < 1e-3).any() for env in state.envs):
        raise Unfit   # near 0 the root of a rounding error is many times as large
    if SIGN_OF_ZERO.search(text) and any((value == 0).any() for value in values):
        raise Unfit   # ONNX Runtime drops additions of 0: -0 + 0 is -0
    if state.rng.random() < 0.1:
        text = f"({text})" + state.rng.choice([".sum(0)", " * 2", ".unsqueeze(0)", "[0]", ".flatten()", ".clone()", "[..., -1]", "[:2]", "[1:]"])
    return text, exact


def assignment(state):
    text, exact = expression(state)
    state.accept(f"{state.fresh()} = {text}", exact)
    return f"v{state.counter} = {text}"


def write(state):
    text = fill(state, state.rng.choice(WRITE_TABLE))
    target = state.used[0]
    if any(state.overlaps(target, name) for name in state.used[1:] if isinstance(state.value(name), torch.Tensor)):
        raise Unfit
    if not state.scripted and target in [i.name for i in state.inputs] and state.rng.random() < 0.7:
        raise Unfit   # a copy is likelier to be written
    state.accept(text, True, [target])
    return text


def scalar(state):
    text = fill(state, state.rng.choice(SCALARS if state.scripted else INTEGERS_OF[:6]))
    name = state.fresh()
    state.accept(f"{name} = {text}", True)
    return f"{name} = {text}"


def same_kind(state, target, text):
    """The expression, if it may take the target's place."""
    trial = copy.deepcopy(state.envs[0])
    try:
        value = eval(text, dict(GLOBALS), trial)
    except Exception:
        raise Unfit
    now = state.value(target)
    if not isinstance(value, torch.Tensor) or value.dtype != now.dtype or value.dim() != now.dim() or (value.shape != now.shape and state.rng.random() < 0.7):
        raise Unfit


def reassignment(state):
    target = state.tensor(ALL)
    for _ in range(ATTEMPTS):
        try:
            text, exact = expression(state)
            same_kind(state, target, text)
            break
        except Unfit:
            continue
    else:
        raise Unfit
    state.accept(f"{target} = {text}", exact, [target])
    return f"{target} = {text}"


def body(state, loop=""):
    """Statements below a head, made on a copy of the state, which is returned too."""
    inner = copy.copy(state)
    inner.names, inner.inexact, inner.envs = list(state.names), set(state.inexact), copy.deepcopy(state.envs)
    inner.depth += 1
    statements = []
    if loop:
        for env in inner.envs:
            env[loop] = 0
        inner.names.append(loop)
    for _ in range(state.rng.choice([0, 1, 1, 2])):
        statements += statement(inner)
    for maker in [state.rng.choice([reassignment, reassignment, write])]:
        statements += attempt(inner, maker)
    state.counter = inner.counter
    if not statements:
        raise Unfit
    return statements, inner


def accept_block(state, block, inners):
    before = state.envs[0]
    olds = {name: copy.deepcopy(before[name]) for name in state.names}
    state.envs, state.sets = state.run(block)
    doubtful = set().union(*(inner.inexact for inner in inners))
    for name, old in olds.items():
        new = state.value(name)
        same = lambda: old.shape == new.shape and torch.equal(old, new) if isinstance(old, torch.Tensor) else old == new
        changed = type(new) is not type(old) or not same()
        if name in doubtful or (changed and (doubtful - state.inexact or not state.has_exact_values(name))):
            state.inexact.add(name)
    # Names of a body go out of scope behind it.
    for env in state.envs:
        for name in [n for n in env if n not in state.names]:
            del env[name]


def branch(state):
    head = f"if {fill(state, state.rng.choice(CONDITIONS))}:"
    first, inner = body(state)
    heads, bodies, inners = [head], [first], [inner]
    if state.rng.random() < 0.5:
        second, inner = body(state)
        heads.append("else:")
        bodies.append(second)
        inners.append(inner)
    block = Block(heads, bodies)
    accept_block(state, block, inners)
    return block


def loop(state):
    i = f"i{state.counter}"
    state.counter += 1
    count = fill(state, state.rng.choice(["{sp}", "{sp}", "{xa}.size(0)", "min({n}, 4)", "{xa}.size({d})", "len({xa})", "1, 4", "{sp}, 0, -1"]))
    statements, inner = body(state, i)
    if state.rng.random() < 0.2:
        statements = [Block([f"if {fill(inner, state.rng.choice(CONDITIONS[2:]))}:"], [[state.rng.choice(["break", "continue"])]])] + statements
    block = Block([f"for {i} in range({count}):"], [statements])
    accept_block(state, block, [inner])
    return block


def while_loop(state):
    counter = state.fresh()
    state.accept(f"{counter} = 0", True)
    condition = fill(state, state.rng.choice(CONDITIONS[2:]))
    statements, inner = body(state)
    block = Block([f"while {counter} < {state.rng.choice([2, 3])}" + (f" and ({condition})" if state.rng.random() < 0.7 else "") + ":"], [statements + [f"{counter} += 1"]])
    try:
        accept_block(state, block, [inner])
    except Unfit:
        state.names.remove(counter)
        raise
    return [f"{counter} = 0", block]


def collected(state):
    """A list of tensors, appended to in a loop."""
    name, i = f"l{state.counter}", f"i{state.counter}"
    state.counter += 1
    count = fill(state, state.rng.choice(["{sp}", "{xa}.size(0)", "len({xa})"]))
    inner = copy.copy(state)
    inner.names, inner.inexact, inner.envs = list(state.names) + [i], set(state.inexact), copy.deepcopy(state.envs)
    for env in inner.envs:
        env[i] = 0
    text, exact = expression(inner)
    result = state.fresh()
    lines = [f"{name}: List[Tensor] = []", Block([f"for {i} in range({count}):"], [[f"{name}.append({text})"]]), f"{result} = torch.{state.rng.choice(['stack', 'cat'])}({name})"]
    state.used += inner.used
    state.accept(Block(["if True:"], [lines]), exact)
    for env in state.envs:
        env.pop(name), env.pop(i, None)
    state.names = [n for n in state.names if n not in (name, i)]
    return lines


# Statements of several lines: {l} a new name, {v} the result's, {C} a condition. Each line is one statement, indented by what is above.
CONTAINERS = """
{l} = [{xa}, {same}, {xa}]; {l}.append({same}); {v} = torch.stack({l})
{l} = [{x}, {same}]; {l}[0] = {l}[1] * 2; {l}[-1] = {same}; {v} = torch.cat({l})
{l} = [{x}, {same}, {same}]; {l}.pop(0); {l}.insert(1, {x}); {l}.reverse(); {v} = {l}[0] - {l}[2]
{l} = [{xa}, {same}]; {l}.extend([{same}]); {v} = torch.stack({l}[1:])
{l} = [t * 2 for t in [{x}, {same}]]; {v} = {l}[0] + {l}[1]
{l} = {xa}.unbind({d}); {v} = torch.stack([t.clone() for t in {l}])
{l} = {xa}.split({sp}, {d}); {v} = torch.cat([{l}[-1], {l}[0]], {d})
{l} = {x}.chunk(2, {d}); {v} = {l}[0].sum() + len({l})
{l} = {"a": {xa}, "b": {same}}; {l}["c"] = {same}; {v} = torch.stack([{l}["a"], {l}["c"]])
{l} = {"a": {x}, "b": {same}}; {l}["a"] = {l}["b"] * 2; {v} = {l}["a"] + {l}["b"] + len({l})
{l} = {"a": {xa}}; {v} = {l}["b"] if "b" in {l} else {l}["a"]
{l} = ({xa}, ({same}, {y})); {v} = {l}[1][0]
{l} = ({x}, {y}); {v} = {l}[0] + {l}[-1]
{v}, {l} = {xa}, {same}
{v}, {l} = {xe}.max({d})
{v}, {l} = torch.sort({xe}, stable=True, dim={d}); {v} = {v} * 2
{l}, {v} = torch.topk({xe}, 1, {d}); {v} = {l} * 2
{l} = {xa}.shape; {v} = {xa}.reshape({l}[0], -1)
{l} = list({xa}.size()); {l}.append(1); {v} = {xa}.reshape({l})
{l} = [1] * {xa}.dim(); {l}[{d}] = {sp}; {v} = {xa}.repeat({l})
{l} = [i for i in range({xa}.dim())]; {v} = {xa}.permute({l}[1:] + {l}[:1])
{l} = {xa}; {l} = {l}[{ix}]; {v} = {l}.clone()
"""
SCRIPTED_CONTAINERS = """
{l}: List[Tensor] = []; for {i} in {xa}.unbind({d}):;     {l}.append({i}.clone()); {v} = torch.stack({l})
{l}: List[Tensor] = [{xa}]; while len({l}) < {sp}:;     {l}.append({l}[-1]); {v} = torch.stack({l})
{l}: List[Tensor] = [{x}, {same}]; if {C}:;     {l}.append({same}); {v} = torch.cat({l})
{v} = {x} * 1; for {i} in [{same}, {y}]:;     {v} = {v} * 1 + {i}.sum().to({v}.dtype)
{v} = {x} * 1; for {i}, {l} in enumerate([{same}, {same}]):;     {v} = {v} + {l} * {i}
{v} = {x} * 1; for {i}, {l} in zip([{same}], [{same}]):;     {v} = {v} + {i} - {l}
{l}: List[int] = []; for {i} in range({sp}):;     {l}.append({i} * 2); {v} = torch.tensor({l}) + {x}
{l}: Dict[str, Tensor] = {}; {l}["k"] = {xa}; if {C}:;     {l}["k"] = {same}; {v} = {l}["k"].clone()
{l}: Dict[int, Tensor] = {0: {x}, 1: {same}}; {v} = {x} * 1; for {i} in {l}.keys():;     {v} = {v} + {l}[{i}]
{l}: Optional[Tensor] = None; if {C}:;     {l} = {xa}; {v} = {l} if {l} is not None else {same}
{l}: Optional[Tensor] = {xa}; {v} = {same}; if {l} is not None:;     {v} = {l}.clone()
{v} = {xa}.clone(); for {i} in range({v}.size(0)):;     if {C}:;         break;     {v}[{i}] = {si}
{v} = {x}.clone(); for {i} in range(1, {v}.size(0)):;     {v}[{i}] += {v}[{i} - 1]
{v} = {x}.clone(); for {i} in range({v}.size(0) - 1, -1, -1):;     if {i} % 2 == 0:;         continue;     {v}[{i}] = {v}[{i} - 1]
{v} = {xa}.clone(); {l} = {v}.size(0); while {l} > 1:;     {l} = {l} // 2;     {v} = {v}[:{l}]
{v} = {xa}; {l} = {v}.select(0, 0); if {C}:;     {l}.zero_(); {v} = {v} * 1 if {v}.dim() > 1 else {v}
{l} = [{xa}.size(0), 2]; {l}.sort(); {v} = torch.zeros({l}) + {sf}
{l} = 0; {v} = {x} * 1; while {l} < 3 and bool({xe}.sum() > {l}):;     {v} = {v} + {l};     {l} += 1
"""


def lines_in(text):
    return [line.split(";") for line in text.strip().splitlines()]


def blocks_of(lines):
    """Lines with their indents as statements."""
    statements, i = [], 0
    while i < len(lines):
        depth = lambda line: len(line) - len(line.lstrip())
        j = i + 1
        while j < len(lines) and depth(lines[j]) > depth(lines[i]):
            j += 1
        statements.append(Block([lines[i].strip()], [blocks_of(lines[i + 1:j])]) if j > i + 1 else lines[i].strip())
        i = j
    return statements


def container(state):
    chosen = state.rng.choice(lines_in(CONTAINERS) + (lines_in(SCRIPTED_CONTAINERS) if state.scripted else []))
    result, local, counter = state.fresh(), f"l{state.counter}", f"i{state.counter}"
    condition = fill(state, state.rng.choice(CONDITIONS)) if any("{C}" in line for line in chosen) else ""
    text = "\n".join(line[1:] if line.startswith(" ") else line for line in chosen)
    for hole, name in (("{l}", local), ("{i}", counter), ("{v}", result), ("{C}", condition)):
        text = text.replace(hole, name)
    text = text.replace("{}", "dict()")
    statements = blocks_of(fill(state, text).split("\n"))
    state.accept(Block(["if True:"], [statements]), True)
    for env in state.envs:
        env.pop(local, None), env.pop(counter, None)
    state.names = [n for n in state.names if n not in (local, counter)]
    if not isinstance(state.value(result), torch.Tensor):
        raise Unfit
    return statements


def early_return(state, place):
    """Where, on what condition and with what the program may end before its end: results are chosen at the end."""
    names = {n: (state.value(n).dtype, state.value(n).dim(), state.is_exact(n)) for n in state.candidates()}
    return place, fill(state, state.rng.choice(CONDITIONS)), names


def returned(state, place, condition, names, results, statements):
    """Results of the same dtypes and ranks; exact no longer where one isn't. None where nothing fits."""
    chosen = []
    for name in results:
        value = state.value(name)
        fits = [n for n, (dtype, rank, _) in names.items() if (dtype, rank) == (value.dtype, value.dim())]
        if not fits:
            return None
        chosen.append(state.rng.choice(fits))
    doubtful = {name for name, other in zip(results, chosen) if not names[other][2]}
    return statements[:place] + [Block([f"if {condition}:"], [["return " + ", ".join(chosen)]])] + statements[place:], doubtful


def attempt(state, maker):
    for _ in range(ATTEMPTS):
        state.used = []
        kept = list(state.names), set(state.inexact), state.envs, state.sets
        try:
            made = maker(state)
            return made if isinstance(made, list) else [made]
        except (Unfit, IndexError):   # a rank that another set of inputs lacks
            state.names, state.inexact, state.envs, state.sets = kept
    return []


def statement(state):
    makers = [(assignment, 60), (write, 18), (scalar, 6 if state.scripted else 3), (container, 8)]
    if state.scripted and state.depth < MOST_DEPTH:
        makers += [(branch, 9), (loop, 7), (while_loop, 3), (collected, 3)]
    if state.scripted:
        makers += [(reassignment, 4)]
    return attempt(state, state.rng.choices([m for m, _ in makers], [w for _, w in makers])[0])


def generate(seed):
    """The program and which of its results are exact; None where nothing came of the seed."""
    rng = random.Random(seed)
    special = rng.random() < 0.06
    scripted = rng.random() < 0.5
    state = State(rng, inputs_of(rng, special), scripted)
    state.special = special
    statements = []
    count = rng.choice([2, 3, 4, 5, 6, 7])
    early, at = None, rng.randrange(count) if scripted and rng.random() < 0.2 else -1
    for i in range(count):
        if i == at:
            try:
                early = early_return(state, len(statements))
            except Unfit:
                pass
        statements += statement(state)
    text = "\n".join(lines_of(statements))
    names = [n for n in state.names if isinstance(state.value(n), torch.Tensor) and (n.startswith("v") or re.search(rf"^ *{n} = ", text, re.M))]
    if not names:
        return None
    unread = [n for n in names[:-1] if len(re.findall(rf"\b{n}\b", text)) == 1]
    others = unread + [n for n in names[:-1] if n not in unread and rng.random() < 0.4]
    results = [names[-1]] + others[:4]
    inputs = [Input(i.name, i.dims, [i.values[s] for s in state.sets]) for i in state.inputs]
    exact = {name for name in results if state.is_exact(name)}
    if early and (ended := returned(state, *early, results, statements)):
        statements, doubtful = ended
        exact -= doubtful
    return Program(inputs, statements, results, scripted), exact
