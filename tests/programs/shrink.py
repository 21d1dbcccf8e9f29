"""Makes a failing program smaller while it fails in the same way."""
import copy, re

import torch

from program import GLOBALS, Block, Input, Program, lines_of


def names_in(text):
    return set(re.findall(r"\b[vxl]\d+\b", text))


def paths(statements, prefix=()):
    """Places of all statements, inner ones first: indices, with (index, body) for a block's."""
    for i in reversed(range(len(statements))):
        statement = statements[i]
        if isinstance(statement, Block):
            for b, body in enumerate(statement.bodies):
                yield from paths(body, (*prefix, (i, b)))
        yield (*prefix, i)


def home(statements, path):
    for i, b in path[:-1]:
        statements = statements[i].bodies[b]
    return statements, path[-1]


def without_statements(program):
    for path in list(paths(program.statements)):
        smaller = copy.deepcopy(program)
        statements, i = home(smaller.statements, path)
        if isinstance(statements[i], str) and re.fullmatch(r"\w+ (\+= 1|= \w+ // 2)", statements[i]):
            continue   # what ends a loop
        del statements[i]
        yield smaller


def unwrapped(program):
    """A block gives way to one of its bodies, or loses its last."""
    for path in list(paths(program.statements)):
        statements, i = home(program.statements, path)
        if not isinstance(statements[i], Block):
            continue
        for b in range(len(statements[i].bodies)):
            smaller = copy.deepcopy(program)
            inner, j = home(smaller.statements, path)
            loop = re.match(r"for (\w+) in", inner[j].heads[b])
            inner[j:j + 1] = ([f"{loop.group(1)} = 0"] if loop else []) + inner[j].bodies[b]
            yield smaller
        if len(statements[i].bodies) > 1:
            smaller = copy.deepcopy(program)
            inner, j = home(smaller.statements, path)
            del inner[j].heads[-1], inner[j].bodies[-1]
            yield smaller


def fewer_results(program):
    """One result alone, or what was computed before in its place."""
    assigned = list(dict.fromkeys(re.findall(r"^(v\d+) = ", "\n".join(lines_of(program.statements)), re.M)))
    alone = program.results[0] if len(program.results) == 1 else None
    earlier = assigned[:assigned.index(alone)] if alone in assigned else [] if alone else assigned + program.results
    for name in earlier:
        if [name] != program.results:
            smaller = copy.deepcopy(program)
            smaller.results = [name]
            yield smaller


def fewer_inputs(program):
    text = "\n".join(lines_of(program.statements)) + " " + " ".join(program.results)
    for i, given in enumerate(program.inputs):
        if given.name not in names_in(text) and len(program.inputs) > 1:
            smaller = copy.deepcopy(program)
            del smaller.inputs[i]
            yield smaller


def fewer_sets(program):
    """The traced set and one more, or that alone."""
    count = len(program.sets())
    for kept in [[0]] + [[0, s] for s in range(1, count)]:
        if len(kept) < count:
            smaller = copy.deepcopy(program)
            for given in smaller.inputs:
                given.values = [given.values[s] for s in kept]
            yield smaller


def as_inputs(program):
    """A value of a plain statement at the top becomes an input."""
    for i, statement in enumerate(program.statements):
        match = isinstance(statement, str) and re.match(r"(v\d+) = ", statement)
        if not match:
            continue
        values = []
        try:
            for inputs in program.sets():
                env = {given.name: x.clone() for given, x in zip(program.inputs, inputs)}
                exec("\n".join(lines_of(program.statements[:i + 1])), dict(GLOBALS), env)
                values.append(env[match.group(1)])
        except Exception:
            continue
        if not all(isinstance(v, torch.Tensor) for v in values) or len({v.dim() for v in values}) > 1:
            continue
        dims = tuple(str(f"s{i}_{d}") if len({v.shape[d] for v in values}) > 1 else values[0].shape[d] for d in range(values[0].dim()))
        smaller = copy.deepcopy(program)
        smaller.inputs.append(Input(match.group(1), dims, [v.clone().contiguous() for v in values]))
        del smaller.statements[i]
        yield smaller


def traced(program):
    if program.scripted:
        smaller = copy.deepcopy(program)
        smaller.scripted = False
        yield smaller


def static(program):
    if any(isinstance(d, str) for given in program.inputs for d in given.dims) and len(program.sets()) == 1:
        smaller = copy.deepcopy(program)
        for given in smaller.inputs:
            given.dims = tuple(given.values[0].shape)
        yield smaller


def shrunk(program, fails, most=250):
    steps = [fewer_results, without_statements, unwrapped, as_inputs, fewer_inputs, fewer_sets, static, traced]
    changed = True
    while changed and most > 0:
        changed = False
        for step in steps:
            again = True
            while again and most > 0:
                again = False
                for smaller in step(program):
                    most -= 1
                    if most <= 0:
                        break
                    if fails(smaller):
                        program, again, changed = smaller, True, True
                        break
    return program
