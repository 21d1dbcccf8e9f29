"""Random scripted programs of Python's containers by seed: several names for one list, dictionary or object, written through each and read at the end."""
import copy, itertools, random, re

import torch

from container_templates import BASE, EXPRESSIONS, GROWTH, GUARDED, IN_PLACE, KINDS, LOOPS, MORE_READS, PIECES, READS, REFINED, STATEMENTS, TYPES, WHILES, definitions, table
from program import Block, Input, lines_of
from source_program import GLOBALS, Endless, Every, Left, SourceProgram, instrumented, ticks
from state import Unfit

MAKE, WRITE, WRITE_IN_PLACE = table(EXPRESSIONS), table(STATEMENTS), table(IN_PLACE)
PREFIX = {"T": "t", "I": "n", "F": "r", "S": "s", "LT": "l", "LI": "il", "LF": "fl", "LP": "pl", "LL": "ll", "LD": "ld", "DT": "d",
          "DN": "dn", "DL": "dl", "DI": "di", "OT": "o", "OI": "oi", "OP": "op", "OL": "ol", "OD": "od", "P": "p", "TL": "tl", "R": "row",
          "B": "b", "M": "m", "H": "h", "LB": "lb", "DB": "db", "X": "i", "LN": "nl", "Q": "q", "LQ": "ql",
          "LE": "el", "J": "c", "LJ": "cl", "DK": "dk", "DM": "dm"}
CONTAINERS = [("LT", 12), ("LI", 5), ("LF", 2), ("LP", 4), ("LL", 4), ("LD", 2), ("DT", 8), ("DN", 3), ("DL", 5), ("DI", 3), ("OT", 5),
              ("OI", 3), ("OP", 2), ("OL", 3), ("OD", 2), ("P", 2), ("TL", 3), ("R", 3), ("B", 6), ("M", 3), ("H", 2), ("LB", 2), ("DB", 2)]
RECORDS = [("LN", 6), ("LQ", 5), ("LE", 4), ("LJ", 5), ("DK", 5), ("DM", 4)]     # of lengths that only the running model knows
RESULTS = ["T", "T", "I", "LT", "LI", "DT", "B", "OT", "P", "DL"]     # of functions
MOST_DEPTH, ATTEMPTS, MOST_LENGTH = 3, 25, 24
LARGEST = 2**12

SPACE = dict(GLOBALS)
exec("\n\n\n".join(definitions(" ".join(PIECES))).replace("@torch.jit.script\n", ""), SPACE)
OBJECTS = tuple(SPACE[name] for name in ("Box", "Count", "Meter", "Holder"))


def cloned(value, memo, tensors):
    """A copy in which what was one object still is; tensors are kept where nothing writes to them."""
    if id(value) in memo:
        return memo[id(value)]
    if isinstance(value, list):
        new = memo[id(value)] = []
        new.extend(cloned(v, memo, tensors) for v in value)
    elif isinstance(value, dict):
        new = memo[id(value)] = {}
        new.update((k, cloned(v, memo, tensors)) for k, v in value.items())
    elif isinstance(value, tuple):
        parts = [cloned(v, memo, tensors) for v in value]
        new = type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    elif isinstance(value, OBJECTS):
        new = memo[id(value)] = object.__new__(type(value))
        new.__dict__.update((k, cloned(v, memo, tensors)) for k, v in value.__dict__.items())
    elif isinstance(value, torch.Tensor) and tensors:
        new = memo[id(value)] = value.clone()
    else:
        return value
    return new


def bounded(value, depth=0):
    if depth > 5:
        return False   # a list that holds itself
    if isinstance(value, torch.Tensor):
        return value.numel() == 0 or bool(value.abs().max() < LARGEST)
    if isinstance(value, (list, tuple)):
        return len(value) <= MOST_LENGTH and all(bounded(v, depth + 1) for v in value)
    if isinstance(value, dict):
        return all(bounded(v, depth + 1) for v in value.values())
    if isinstance(value, OBJECTS):
        return all(bounded(v, depth + 1) for v in value.__dict__.values())
    return not isinstance(value, (int, float)) or abs(value) < LARGEST


class Maker:
    """Statements, one after the other, with what the names hold on each set of inputs that reaches them."""

    def __init__(self, rng, inputs):
        self.rng, self.inputs = rng, inputs
        self.flags = [i.name for i in inputs[1:]]
        self.envs = [{i.name: i.values[s] for i in inputs} for s in range(len(inputs[0].values))]
        self.types = {}                        # of the names in scope
        self.fixed = set()                     # names that may not be assigned: variables of loops
        self.counter = itertools.count(1)
        self.defined, self.functions, self.signatures = {}, [], []
        self.leaves = []                       # early returns: the types that are in scope there
        self.theme = [t for t in dict.fromkeys(rng.choices([t for t, _ in CONTAINERS], [w for _, w in CONTAINERS], k=rng.choice([1, 2, 2, 3, 3, 4])))]
        self.grows = rng.random() < 0.4
        if self.grows:
            self.theme[1:] = [t for t in dict.fromkeys(rng.choices([t for t, _ in RECORDS], [w for _, w in RECORDS], k=rng.choice([1, 1, 2])))]
            self.theme += [item for kind, item in (("LN", "LI"), ("LQ", "Q"), ("LJ", "J"), ("DM", "LI")) if kind in self.theme and item not in self.theme]
        if "H" in self.theme or "LB" in self.theme or "DB" in self.theme:
            self.theme.append("B")
        self.in_place = rng.random() < 0.06
        self.depth, self.loop, self.result = 0, False, None
        self.pending = []

    def inner(self, envs, loop=False):
        new = copy.copy(self)
        new.types, new.fixed, new.envs = dict(self.types), set(self.fixed), [self.clone(env) for env in envs]
        new.depth, new.loop, new.pending = self.depth + 1, self.loop or loop, []
        return new

    def clone(self, env):
        memo = {}
        return {name: cloned(value, memo, self.in_place) for name, value in env.items()}

    # ---- Filling templates
    def chosen(self, entries):
        return self.rng.choices([t for _, t in entries], [w for w, _ in entries])[0]

    def names(self, kind, assigned=False):
        return [name for name, t in self.types.items() if t == kind and not (assigned and name in self.fixed)]

    def name(self, kind, assigned=False, used=()):
        found = self.names(kind, assigned)
        if not found:
            raise Unfit
        others = [name for name in found if name not in used]
        found = others if others and self.rng.random() < 0.85 else found
        return found[max(self.rng.randrange(len(found)), self.rng.randrange(len(found)))]

    def base(self, kind):
        """Numbers tell instances from one another."""
        return re.sub(r"\.sum\(0\)", lambda m: f".sum(0) + {self.rng.randrange(1, 40)}" if self.rng.random() < 0.8 else m[0], BASE[kind])

    def fresh(self, kind):
        return f"{PREFIX[kind]}{next(self.counter)}"

    def fill(self, template, depth, fixed=False):
        fills = []

        def hole(match):
            kind, how = match[1], match[2]
            if kind.isdigit():
                return fills[int(kind) - 1]
            if how == "!":
                text = self.name(kind, assigned=kind in ("I", "F", "T") and re.match(r"<\w+!> \+?= ", template[match.start():]) is not None, used=fills)
            elif how == "=":
                found = [n for n in self.names(kind, assigned=True) if n not in [n for n, _ in self.pending]] if not fixed else []
                text = self.rng.choice(found) if found and self.rng.random() < 0.5 else self.fresh(kind)
                self.pending.append((text, kind))
            elif kind == "K":
                text = self.rng.choice(['"a"', '"a"', '"b"', '"b"', '"c"'] + self.names("S") * 3)
            elif kind == "c":
                text = self.rng.choice("0112233")
            elif kind == "flag":
                text = self.rng.choice(self.flags)
            elif kind == "X":
                text = self.name("X")
            else:
                text = self.expression(kind, depth - 1)
                before, after = template[:match.start()], template[match.end():][:1]
                alone = (not before or before.endswith(("(", "[", ", ", ": ", " = "))) and after in ("", ")", "]", ",", "}", "\n")
                if " " in text and not alone and not text.startswith("torch.jit.annotate"):
                    text = f"({text})"
            fills.append(text)
            return text

        return re.sub(r"<(\w+)([!=]?)>", hole, template)

    def expression(self, kind, depth):
        if kind in ("I", "X") and self.rng.random() < 0.25 and (found := self.names("X")):
            return self.rng.choice(found)
        for _ in range(8 if depth > 0 else 4):
            template = self.chosen(MAKE[kind])
            if depth <= 0 and re.search(r"<[A-Z]+>", template):
                continue
            try:
                return self.fill(template, depth).replace("EMPTY", f"torch.jit.annotate({TYPES.get(kind)}, {'{}' if kind[0] == 'D' else '[]'})")
            except Unfit:
                continue
        if kind == "C":
            return f"bool({self.rng.choice(self.flags)} > 0)"
        return self.base(kind)

    # ---- Trying
    def space(self, env):
        return {**SPACE, **ticks(), **self.defined, **env}

    def run(self, statements):
        """The sets that get past the statements; Unfit where Python doesn't take them."""
        code, after = instrumented("\n".join(lines_of(statements)), partial=True), []
        for env in self.envs:
            space = self.space(self.clone(env))
            try:
                exec(code, space)
            except Left:
                continue
            except (Endless, Exception):
                raise Unfit
            names = [*env, *(name for name, _ in self.pending)]
            env = {name: space[name] for name in dict.fromkeys(names)}
            if not all(bounded(value) for name, value in env.items() if name != "x"):
                raise Unfit
            after.append(env)
        if self.envs and not after:
            raise Unfit
        return after

    def accept(self, *statements):
        try:
            self.envs = self.run(statements)
        finally:
            pending, self.pending = self.pending, []
        self.types.update(pending)
        return list(statements)

    def holding(self, condition, value):
        """The sets for which a condition is true, or false."""
        code = compile(condition, "<condition>", "eval")
        try:
            return [env for env in self.envs if bool(eval(code, self.space(self.clone(env)))) == value]
        except Exception:
            raise Unfit

    # ---- Statements
    def kind(self):
        return self.rng.choice(self.theme * 4 + ["T", "I"])

    def assignment(self):
        kind = self.kind()
        old = self.names(kind, assigned=True)
        text = self.expression(kind, 2)
        if old and self.rng.random() < 0.45:
            name = self.rng.choice(old)
            if name == text:
                raise Unfit
            return self.accept(f"{name} = {text}")
        name = self.fresh(kind)
        self.pending.append((name, kind))
        return self.accept(f"{name}: {TYPES[kind]} = {text}" if kind[0] == "O" else f"{name} = {text}")

    def write(self):
        tables = WRITE_IN_PLACE if self.in_place and self.rng.random() < 0.3 else WRITE
        kinds = [k for k in tables if self.names(k)]
        if not kinds:
            raise Unfit
        weights = [8 if k in self.theme else 2 if k in ("LT", "DT") else 1 for k in kinds]
        return self.accept(self.fill(self.chosen(tables[self.rng.choices(kinds, weights)[0]]), 2))

    def guarded(self):
        condition, statement = self.rng.choice(GUARDED)
        text = self.fill(f"{condition}\n{statement}", 2).split("\n")
        return self.accept(Block([f"if {text[0]}:"], [[text[1]]]))

    def swap(self):
        kind = self.rng.choice(self.theme)
        names = self.names(kind, assigned=True)
        if len(names) < 2:
            raise Unfit
        a, b = self.rng.sample(names, 2)
        if self.rng.random() < 0.4:
            return self.accept(f"{a} = {b}")
        return self.accept(f"{a}, {b} = {b}, {a}")

    def body(self, child, least=1):
        statements = []
        for _ in range(self.rng.choice([1, 1, 2, 2, 3])):
            statements += child.statement()
        if len(statements) < least:
            raise Unfit
        return statements

    def leave(self, child):
        """What may end a body: break, continue, return."""
        if child.loop and self.rng.random() < 0.5:
            return [self.rng.choice(["break", "continue"])]
        if child.result:
            return ["return" if child.result == "None" else f"return {child.expression(child.result, 1)}"]
        self.leaves.append(dict(child.types))
        return [f"return early_{len(self.leaves) - 1}"]

    def branch(self):
        condition = self.expression("C", 2)
        yes, no = self.inner(self.holding(condition, True)), self.inner(self.holding(condition, False))
        bodies = [self.body(yes)]
        if leaving := self.rng.random() < 0.13:
            bodies[0] += self.leave(yes)
        made = self.rng.random() < 0.4 and not leaving
        if made or self.rng.random() < 0.6:
            bodies.append(self.body(no))
        if made:
            kind = self.rng.choice(self.theme)
            name = self.fresh(kind)
            bodies[0].append(f"{name} = {self.typed(yes, kind)}")
            bodies[1].append(f"{name} = {self.typed(no, kind)}")
            self.pending.append((name, kind))
        return self.accept(Block([f"if {condition}:", "else:"][:len(bodies)], bodies))

    def typed(self, child, kind):
        """With its type: None and a tensor are an Optional only where they are said to be."""
        text = child.expression(kind, 1)
        return f"torch.jit.annotate({TYPES[kind]}, {text})" if kind[0] == "O" else text

    def choice(self):
        """A name for one of two."""
        kind = self.rng.choice(self.theme)
        names = self.names(kind)
        if len(names) < 2 or kind[0] == "O":
            raise Unfit
        a, b = self.rng.sample(names, 2)
        name, condition = self.fresh(kind), self.expression("C", 1)
        self.pending.append((name, kind))
        if self.rng.random() < 0.5:
            return self.accept(f"{name} = {a} if {condition} else {b}")
        return self.accept(f"{name} = {a}", Block([f"if {condition}:"], [[f"{name} = {b}"]]))

    def refined(self):
        """What a check for None says of an Optional."""
        kind = self.rng.choice([k for k in REFINED if self.names(k)] or [""])
        if not kind:
            raise Unfit
        name, how = self.name(kind), self.rng.random()
        if how < 0.3 and name not in self.fixed:
            block = Block([f"if {name} is None:"], [[f"{name} = {self.expression(REFINED[kind], 1)}"]])
            made = self.accept(block)
            self.types[name] = REFINED[kind]
            return made
        yes, no = self.inner(self.holding(f"{name} is not None", True)), self.inner(self.holding(f"{name} is None", True))
        yes.types[name] = REFINED[kind]
        bodies = [self.body(yes)]
        if self.rng.random() < 0.25:
            bodies[0].append(f"{name} = None")
        if self.rng.random() < 0.5:
            bodies.append(self.body(no))
        return self.accept(Block([f"if {name} is not None:", "else:"][:len(bodies)], bodies))

    def growth(self):
        """A loop that fills one of them, or writes all its items."""
        if not self.grows:
            raise Unfit
        head, statement = self.rng.choice(GROWTH)
        text = self.fill(f"{head}\n{statement}", 1, fixed=True).split("\n")
        variables, self.pending = self.pending, []
        made = self.accept(Block([text[0]], [[text[1]]]))
        return made

    def for_loop(self):
        head = self.fill(self.chosen(LOOPS), 1, fixed=True)
        variables, self.pending = self.pending, []
        bound = []
        code = instrumented(f"{head}\n    break\nelse:\n    raise Left()", partial=True)
        for env in self.envs:
            space = self.space(self.clone(env))
            try:
                exec(code, space)
                bound.append({**{name: space[name] for name in env}, **{name: space[name] for name, _ in variables}})
            except Left:
                continue
            except Exception:
                raise Unfit
        child = self.inner(bound, loop=True)
        child.types.update(variables)
        child.fixed |= {name for name, _ in variables}
        return self.accept(Block([head], [self.loop_body(child)]))

    def loop_body(self, child):
        statements = self.body(child)
        if self.rng.random() < 0.15:
            condition = child.expression("C", 1)
            leaver = child.inner(child.holding(condition, True))
            statements.insert(self.rng.randrange(len(statements) + 1), Block([f"if {condition}:"], [self.leave(leaver)]))
        elif self.rng.random() < 0.25:
            statements += child.attempt(child.swap)
        return statements

    def while_loop(self):
        condition, ending = self.fill("\n".join(self.rng.choice(WHILES)), 1).split("\n")
        child = self.inner(self.holding(condition, True), loop=True)
        statements = self.body(child)
        if self.rng.random() < 0.5:
            statements = [ending] + statements
        else:
            statements.append(ending)
        return self.accept(Block([f"while {condition}:"], [statements]))

    def call(self):
        fitting = [s for s in self.signatures if all(self.names(k) for k in s[1])]
        if not fitting or self.rng.random() < 0.6:
            if self.result or self.depth > 1:
                raise Unfit
            fitting = [self.function()]
        name, kinds, result, given = self.rng.choice(fitting)
        text = f"{name}({', '.join([*given, *(self.name(k) for k in kinds)])})"
        if result != "None" and self.rng.random() < 0.8:
            text = self.fill(f"<{result}=> = ", 0) + text
        return self.accept(text)

    def function(self):
        kinds = [self.types[n] for n in self.rng.sample(list(self.types), min(len(self.types), self.rng.choice([1, 2, 2, 3])))]
        kinds = [k for k in kinds if k not in ("S", "X")]
        if not kinds:
            raise Unfit
        arguments, parameters = [self.name(k) for k in kinds], [self.fresh(k) for k in kinds]
        child = self.inner(self.envs)
        outer = [i.name for i in self.inputs]
        child.envs = [{**{n: env[n] for n in outer}, **{p: env[a] for p, a in zip(parameters, arguments)}} for env in child.envs]
        child.types, child.fixed, child.loop = dict(zip(parameters, kinds)), set(), False
        child.result = self.rng.choice(RESULTS + ["None"] * 3 + kinds)
        statements = self.body(child)
        if child.result != "None":
            statements.append(f"return {child.expression(child.result, 2)}")
        text = "\n".join(lines_of(statements, "    "))
        given = [n for n in outer if re.search(rf"\b{n}\b", text)]
        name = f"f{next(self.counter)}"
        stated = [f"{n}: Tensor" for n in given] + [f"{p}: {TYPES[k]}" for p, k in zip(parameters, kinds)]
        head = f"def {name}({', '.join(stated)})" + (f" -> {TYPES[child.result]}" if child.result != "None" else "")
        space = dict(self.space({}))
        exec(instrumented(f"{head}:\n{text}"), space)
        self.functions.append(f"{head}:\n{text}")
        self.defined[name] = space[name]
        self.signatures.append((name, kinds, child.result, given))
        return self.signatures[-1]

    def attempt(self, maker):
        for _ in range(ATTEMPTS):
            kept = dict(self.types), self.envs, len(self.functions), len(self.signatures)
            try:
                return maker()
            except Unfit:
                self.types, self.envs = kept[0], kept[1]
                del self.functions[kept[2]:], self.signatures[kept[3]:]
                self.pending = []
        return []

    def statement(self):
        makers = [(self.assignment, 22), (self.write, 40), (self.guarded, 4), (self.swap, 4), (self.choice, 7), (self.call, 5), (self.growth, 20 if self.grows else 0)]
        if self.depth < MOST_DEPTH:
            makers += [(self.branch, 14), (self.for_loop, 10), (self.while_loop, 2), (self.refined, 6)]
        return self.attempt(self.rng.choices([m for m, _ in makers], [w for _, w in makers])[0])

    # ---- The end
    def results(self):
        """What is seen of every name, and of what kind it is."""
        found = []
        for name, kind in self.types.items():
            texts = list(READS.get(kind, []))
            if kind in MORE_READS and self.rng.random() < 0.6:
                texts.append(self.rng.choice(MORE_READS[kind]))
            for text in texts:
                text = text.replace("@", name)
                try:
                    self.run([f"seen = {text}"])
                except Unfit:
                    continue
                value = eval(text, self.space(self.clone(self.envs[0])))
                found.append((text, "I" if isinstance(value, int) else "F" if isinstance(value, float) else "T" if value.dim() == 1 else "St"))
        return found

    def early(self, types, kinds):
        """Results of the same kinds at another place: what can be read there in any case."""
        chosen = []
        for kind in kinds:
            result_kind = {"T": "T", "I": "I", "F": "F"}.get(kind)
            safe = [text.replace("@", n) for n, t in types.items() for text in READS.get(t, []) if kind_read(text, t) == result_kind]
            base = {"T": "x.sum(0)", "I": "5", "F": "2.5", "St": "torch.zeros(1, 2)"}[kind]
            chosen.append(self.rng.choice(safe + [base]))
        return ", ".join(chosen)


def kind_read(text, kind):
    """The type of what an expression of READS gives."""
    if re.match(r"len|mark(_\w+)?\(|number", text) or kind in ("I", "DI", "Q", "J"):
        return "I"
    if text.endswith((".n", ".count", "@[1]")) and kind in ("P", "R", "B", "M", "H"):
        return "I"
    return "F" if kind in ("F", "LF") else "T"


def inputs_of(rng):
    """Rows of two numbers and flags: all of these with each number of rows."""
    named = rng.random() < 0.75
    flags = rng.choice([1, 2, 2, 3])
    sets = [(n, fs) for n in ([3, 0, 1, 2, 5] if named else [3]) for fs in itertools.product([0, 1], repeat=flags)]
    rows = lambda n: torch.tensor([[float(rng.randrange(-4, 9)) for _ in range(2)] for _ in range(n)]).reshape(n, 2)
    return [Input("x", ("n" if named else 3, 2), [rows(n) for n, _ in sets])] + [Input("fgh"[k], (), [torch.tensor(fs[k]) for _, fs in sets]) for k in range(flags)]


def generate(seed):
    """The program and which of its results are exact; None where nothing came of the seed."""
    rng = random.Random(f"containers {seed}")
    inputs = inputs_of(rng)
    maker = Maker(rng, inputs)
    statements = []
    for kind in maker.theme:
        for _ in range(rng.choice([1, 1, 2])):
            name = maker.fresh(kind)
            text = maker.expression(kind, 2)
            maker.pending.append((name, kind))
            try:
                statements += maker.accept(f"{name}: {TYPES[kind]} = {text}")
            except Unfit:
                pass
    if not statements:
        return None
    for _ in range(rng.choice([3, 4, 5, 6, 7, 8])):
        statements += maker.statement()
    results = maker.results()
    if not results:
        return None
    text = "\n".join(lines_of(statements, "    "))
    text = re.sub(r"early_(\d+)", lambda m: maker.early(maker.leaves[int(m[1])], [kind for _, kind in results]), text)
    text = f"def program({', '.join(f'{i.name}: Tensor' for i in inputs)}):\n{text}\n    return {', '.join(text for text, _ in results)}\n"
    functions = [f for f in maker.functions]
    text = "\n\n\n".join([*definitions("\n".join([*functions, text])), *functions, text])
    program = SourceProgram(inputs, [], [], True, text)
    return (program, Every()) if program.runs() else None
