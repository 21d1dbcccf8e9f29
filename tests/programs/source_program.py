"""A program given as Python source: scripted with its functions and classes, run by Python with bounded loops, and made smaller."""
import ast, dataclasses, itertools, linecache, re, sys, time, types
from typing import Dict, List, NamedTuple, Optional, Tuple

import torch

from program import Program

HEADER = "import torch\nfrom torch import Tensor\nfrom typing import Dict, List, NamedTuple, Optional, Tuple\n\n\n"
GLOBALS = {"torch": torch, "Tensor": torch.Tensor, "Dict": Dict, "List": List, "NamedTuple": NamedTuple, "Optional": Optional, "Tuple": Tuple}
MOST_ITERATIONS = 300
counts = itertools.count()


class Endless(Exception):
    pass


class Left(Exception):
    """A return, or a break or continue of a loop that isn't there yet."""


class Instrumented(ast.NodeTransformer):
    """Loops count their iterations; with `partial`, what leaves the statements raises Left."""

    def __init__(self, partial):
        self.partial, self.loops = partial, 0

    def visit_loop(self, node):
        self.loops += 1
        self.generic_visit(node)
        self.loops -= 1
        node.body.insert(0, ast.parse("tick()").body[0])
        return node

    def visit_leave(self, node):
        inside = self.loops and not isinstance(node, ast.Return)
        return node if inside or not self.partial else ast.parse("raise Left()").body[0]

    visit_For = visit_While = visit_loop
    visit_Return = visit_Break = visit_Continue = visit_leave


def instrumented(text, partial=False):
    text = text.replace("@torch.jit.script\n", "")
    return compile(ast.fix_missing_locations(Instrumented(partial).visit(ast.parse(text))), "<program>", "exec")


def ticks():
    left = [MOST_ITERATIONS]

    def tick():
        left[0] -= 1
        if left[0] < 0:
            raise Endless
    return {"tick": tick, "Left": Left}


class Every:
    """All results are exact."""

    def __getitem__(self, i):
        return True


@dataclasses.dataclass
class SourceProgram(Program):
    text: str = ""

    def source(self):
        return HEADER + self.text

    def __post_init__(self):
        try:
            last = ast.parse(self.text).body[-1].body[-1].value
            self.results = [ast.unparse(x) for x in (last.elts if isinstance(last, ast.Tuple) else [last])]
        except (SyntaxError, AttributeError, IndexError):
            self.results = []

    def exactness(self, exact):
        return exact

    def compiled(self):
        """Classes are found by the file of their module."""
        name = f"programs{next(counts)}"
        module = types.ModuleType(name)
        module.__file__ = f"<{name}>"
        linecache.cache.clear()
        linecache.cache[module.__file__] = (len(self.source()), None, self.source().splitlines(True), module.__file__)
        sys.modules[name] = module
        try:
            exec(compile(self.source(), module.__file__, "exec"), module.__dict__)
            return torch.jit.script(module.program)
        finally:
            del sys.modules[name]

    def runs(self):
        """Whether Python runs it on every set, and soon ends with tensors and numbers."""
        for inputs in self.sets():
            space = {**GLOBALS, **ticks(), "__name__": "programs"}
            try:
                exec(instrumented(self.text), space)
                results = space["program"](*[x.clone() for x in inputs])
            except Exception:
                return False
            if not all(isinstance(r, (torch.Tensor, int, float)) for r in (results if isinstance(results, tuple) else [results])):
                return False
        return True


# ---- Smaller programs
def with_text(program, text):
    return dataclasses.replace(program, text=text)


def changed(tree, change, undo):
    change()
    try:
        return ast.unparse(tree)
    except Exception:
        return ""
    finally:
        undo()


def own(tree, everything):
    """The program and its own functions; with `everything` what all programs use, too."""
    return [node for part in tree.body if everything or re.fullmatch(r"program|f\d+", part.name) for node in ast.walk(part)]


def pruned(text):
    """Without functions and classes that nothing uses."""
    tree = ast.parse(text)
    while unused := [d for d in tree.body[:-1] if not any(re.search(rf"\b{d.name}\b", ast.unparse(other)) for other in tree.body if other is not d)]:
        tree.body = [d for d in tree.body if d not in unused]
    return ast.unparse(tree)


def bodies(tree, everything):
    """Lists of statements, inner ones first."""
    for node in reversed(own(tree, everything)):
        for field in ("orelse", "body"):
            if isinstance(statements := getattr(node, field, None), list) and statements and isinstance(statements[0], ast.stmt):
                yield node, statements


def fewer_results(text):
    """The same ones wherever the program returns."""
    tree = ast.parse(text)
    returns = [n for n in ast.walk(tree.body[-1]) if isinstance(n, ast.Return) and isinstance(n.value, ast.Tuple)]
    kept = [list(r.value.elts) for r in returns]
    count = min(map(len, kept), default=0)
    if count < 2:
        return
    halves = [list(range(count // 2)), list(range(count // 2, count))]
    for chosen in [[i] for i in range(count)] + halves + [[i for i in range(count) if i != j] for j in reversed(range(count))]:
        yield changed(tree, lambda: [r.value.elts.__setitem__(slice(None), [k[i] for i in chosen]) for r, k in zip(returns, kept)],
                      lambda: [r.value.elts.__setitem__(slice(None), k) for r, k in zip(returns, kept)])


def without_statements(text, everything=False):
    tree = ast.parse(text)
    for node, statements in bodies(tree, everything):
        kept = list(statements)
        runs = [(i, i + n) for n in (4, 2, 1) for i in reversed(range(len(kept) - n + 1))]
        for begin, end in runs:
            last = isinstance(node, ast.FunctionDef) and end == len(kept) and isinstance(kept[-1], ast.Return)
            if last or not kept[:begin] + kept[end:] and not (isinstance(node, ast.If) and statements is node.orelse):
                continue
            yield changed(tree, lambda: statements.__setitem__(slice(None), kept[:begin] + kept[end:]), lambda: statements.__setitem__(slice(None), kept))


def unwrapped(text):
    tree = ast.parse(text)
    for _, statements in bodies(tree, False):
        for i, statement in enumerate(list(statements)):
            kept, loop = list(statements), isinstance(statement, ast.For)
            if not isinstance(statement, (ast.For, ast.If, ast.While)):
                continue
            for body in [b for b in (statement.body, statement.orelse) if b]:
                first = [ast.Assign([statement.target], ast.Constant(0), lineno=0)] if loop and isinstance(statement.target, ast.Name) else []
                yield changed(tree, lambda: statements.__setitem__(slice(i, i + 1), first + body), lambda: statements.__setitem__(slice(None), kept))


def places(tree):
    """Expressions, with what puts another in their place."""
    for node in own(tree, False):
        if isinstance(node, (ast.AnnAssign, ast.arg)) or isinstance(node, ast.Call) and "annotate" in ast.unparse(node.func):
            continue   # types stay
        for field, value in ast.iter_fields(node):
            if field in ("annotation", "returns", "bases", "decorator_list", "targets", "func", "target"):
                continue
            if isinstance(value, ast.expr):
                yield value, lambda new, node=node, field=field: setattr(node, field, new)
            elif isinstance(value, list):
                for i, item in enumerate(value):
                    if isinstance(item, ast.expr):
                        yield item, lambda new, value=value, i=i: value.__setitem__(i, new)


def simpler(text):
    tree = ast.parse(text)
    for node, put in list(places(tree)):
        inner = [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)]
        if isinstance(node, ast.Call):
            inner = node.args + ([node.func.value] if isinstance(node.func, ast.Attribute) and ast.unparse(node.func.value) != "torch" else [])
        for child in inner:
            yield changed(tree, lambda: put(child), lambda: put(node))
        if isinstance(node, (ast.Call, ast.BinOp, ast.Subscript, ast.IfExp)):
            for new in ("x", "x[0]", "0", "1", "bool(f > 0)"):
                yield changed(tree, lambda: put(ast.parse(new, mode="eval").body), lambda: put(node))
        if isinstance(node, (ast.List, ast.Tuple)) and len(node.elts) > 1 or isinstance(node, ast.Dict) and len(node.keys) > 1:
            lists = [node.keys, node.values] if isinstance(node, ast.Dict) else [node.elts]
            kept = [list(l) for l in lists]
            for i in range(len(kept[0])):
                yield changed(tree, lambda: [l.pop(i) for l in lists], lambda: [l.__setitem__(slice(None), k) for l, k in zip(lists, kept)])


def fewer_sets(program):
    count = len(program.sets())
    for kept in [[s] for s in range(count)] + [[0, s] for s in range(1, count)]:
        if len(kept) < count:
            yield dataclasses.replace(program, inputs=[dataclasses.replace(i, values=[i.values[s] for s in kept]) for i in program.inputs])


def fewer_arguments(program):
    tree = ast.parse(program.text)
    used = {n.id for n in ast.walk(tree.body[-1]) if isinstance(n, ast.Name)}
    for i, given in enumerate(program.inputs):
        if given.name not in used and len(program.inputs) > 1:
            del tree.body[-1].args.args[i]
            yield dataclasses.replace(program, inputs=program.inputs[:i] + program.inputs[i + 1:], text=ast.unparse(tree))
            return


def shrunk(program, fails, most=2000, seconds=100):
    end = time.time() + seconds
    texts = lambda step, *more: lambda p: (with_text(p, pruned(t)) for t in step(p.text, *more) if t and t != p.text)
    steps = [fewer_sets, texts(fewer_results), texts(without_statements), texts(unwrapped), texts(simpler), fewer_arguments, texts(without_statements, True)]
    again = True
    while again:
        again = False
        for step in steps:
            found = True
            while found:
                found = False
                for candidate in step(program):
                    most -= 1
                    if most <= 0 or time.time() > end:
                        return program
                    if candidate.results and candidate.runs() and fails(candidate):
                        program, found, again = candidate, True, True
                        break
    return program
