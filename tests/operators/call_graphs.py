"""Graphs of single calls, from lines of text.

    aten::softplus({f32|f64}(2, n), 2, 20)
    aten::max(f32(2, 3), 1, False) -> Tensor, unused Tensor
    quantized::mul_relu(aten::quantize_per_tensor(f32(2), 0.1, 3, 13), aten::quantize_per_tensor(f32(2), 0.1, 3, 13), 0.2, 0)

A line is a call with all its arguments in order, and its results if they are others than one Tensor: nothing reads those that are
`unused`. The text behind " @ " is what run_operators.py expects of the call. {a|b} stands for a and b in turn; equal braces change
together. An argument is

    f32(2, n)              an input of the model: its sizes are numbers or names, () is a tensor without dimensions
    f32(*)                 an input whose rank nobody states
    f32(3)=1,2,3           a constant with its elements
    int, float[], Tensor[] an input of that type; Dict(str, Tensor), Device, Generator, too
    1, 0.5, True, None, "floor", inf
    [1, 2], [f32(2), f32(3)], []:Tensor    a list, the last an empty one of a type
    (f32(2), f32(3))       a tuple
    aten::f(…), aten::f(…):int[]           the result of another call
"""
import itertools, math, pathlib, re

WORDS = {"f32": "Float", "f64": "Double", "f16": "Half", "bf16": "BFloat16", "i64": "Long", "i32": "Int", "i16": "Short", "i8": "Char", "u8": "Byte",
         "bool": "Bool", "c64": "ComplexFloat", "c128": "ComplexDouble", "u16": "UInt16", "u32": "UInt32", "u64": "UInt64"}
TOKEN = re.compile(r'\s*(->|:(?!:)|"[^"]*"|(?:Dict|Future)\([\w, ]+\)|\(\*\)|\[\]|[A-Za-z_][\w.]*(?:::[\w.]+)?|-?(?:inf|nan|[\d.]+(?:e-?\d+)?)|[()\[\],=])')


class Writer:
    def __init__(self, text):
        self.text, self.tokens, self.at = text, [], 0
        while text[self.at:].strip():
            match = TOKEN.match(text, self.at)
            if not match:
                raise ValueError(f"{text}: what is '{text[self.at:]}'?")
            self.tokens.append(match[1])
            self.at = match.end()
        self.at = 0
        self.inputs, self.specs, self.lines, self.count = [], [], [], 0
        self.constants = {}   # name → word, sizes, numbers: of tensors

    def peek(self):
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def take(self, expected=None):
        token = self.peek()
        if expected and token != expected:
            raise ValueError(f"{self.text}: '{expected}' expected for '{token}'")
        self.at += 1
        return token

    def accept(self, token):
        if self.peek() != token:
            return False
        self.at += 1
        return True

    def fresh(self):
        self.count += 1
        return f"%v{self.count}"

    def added(self, type, text):
        name = self.fresh()
        self.lines.append(f"  {name} : {type} = {text}")
        return name, type

    def given(self, type):
        name = self.fresh()
        self.inputs.append(f"{name} : {type}")
        return name, type

    def items(self, end):
        made = []
        while not self.accept(end):
            made.append(self.value())
            if self.peek() != end:
                self.take(",")
        return made

    def tensor(self, word):
        if self.accept("(*)"):
            return self.given(f"{WORDS[word]}")
        self.take("(")
        sizes = []
        while not self.accept(")"):
            sizes.append(self.take())
            self.accept(",")
        if not self.accept("="):
            name, _ = self.given("Tensor")
            self.specs.append(f"{name[1:]}={word}:{','.join(sizes) or 'scalar'}")
            return name, "Tensor"
        type = f"{WORDS[word]}({', '.join(sizes)})"
        numbers = [self.take()]
        while sizes and len(numbers) < math.prod(map(int, sizes)):
            self.take(",")
            numbers.append(self.take())
        text = f" {'  '.join(numbers)} [ CPU{WORDS[word]}Type{{{','.join(sizes)}}} ]" if sizes else f"{{{numbers[0]}}}"
        name, _ = made = self.added(type, f"prim::Constant[value={text}]()")
        self.constants[name[1:]] = word, [int(size) for size in sizes], numbers
        return made

    def type(self):
        type = self.take()
        while self.accept("[]"):
            type += "[]"
        return type

    def value(self):
        token = self.take()
        if token == "[]":
            return self.added(f"{self.type()}[]" if self.accept(":") else "int[]", "prim::ListConstruct()")
        if token == "[":
            made = self.items("]")
            type = next((t for _, t in made if t not in ("int", "NoneType")), made[0][1])
            return self.added(("Tensor?" if "NoneType" in [t for _, t in made] else type) + "[]", f"prim::ListConstruct({', '.join(n for n, _ in made)})")
        if token == "(":
            made = self.items(")")
            return self.added(f"({', '.join(t for _, t in made)})", f"prim::TupleConstruct({', '.join(n for n, _ in made)})")
        if "::" in token:
            self.take("(")
            text = f"{token}({', '.join(name for name, _ in self.items(')'))})"
            return self.added(self.type() if self.accept(":") else "Tensor", text)
        if token in WORDS and self.peek() in ("(", "(*)"):
            return self.tensor(token)
        if token == "None":
            return self.added("NoneType", "prim::Constant()")
        if token.startswith('"'):
            return self.added("str", f"prim::Constant[value={token}]()")
        if token in ("True", "False"):
            return self.added("bool", f"prim::Constant[value={int(token == 'True')}]()")
        if re.fullmatch(r"-?\d+", token):
            return self.added("int", f"prim::Constant[value={token}]()")
        if re.fullmatch(r"-?(inf|nan|[\d.]+(e-?\d+)?)", token):
            return self.added("float", f"prim::Constant[value={token}]()")
        while self.accept("[]"):
            token += "[]"
        return self.given(token)

    def graph(self):
        op = self.take()
        self.take("(")
        call = f"{op}({', '.join(name for name, _ in self.items(')'))})"
        results, read = [], []
        for _ in itertools.count():
            if not results and not self.accept("->"):
                results, read = ["%r0 : Tensor"], ["%r0"]
            else:
                unused = self.accept("unused")
                if self.peek():
                    results.append(f"%r{len(results)} : {self.type()}")
                    read += [] if unused else [f"%r{len(results) - 1}"]
            if not self.accept(","):
                break
        if self.peek():
            raise ValueError(f"{self.text}: '{self.peek()}' is left")
        self.lines.append(f"  {', '.join(results)} = {call}" if results else f"  {call}")
        return f"graph({', '.join(self.inputs)}):\n" + "\n".join(self.lines) + f"\n  return ({', '.join(read)})\n"


def expanded(line):
    """The lines that braces stand for."""
    group = re.search(r"\{[^{}]*\}", line)   # an innermost one
    if not group:
        yield line
        return
    for choice in group[0][1:-1].split("|"):
        yield from expanded(line.replace(group[0], choice))


def files():
    """Those of the families."""
    return [file for file in sorted(pathlib.Path(__file__).parent.glob("*.txt")) if file.name != "CMakeLists.txt"]


def calls(lines):
    """The lines without what is expected of them."""
    for line in lines:
        call = line.partition(" @ ")[0].strip()
        if call and not call.startswith("#"):
            yield call


def graphs(lines):
    """Texts for trial_cases --graphs, each with its line as id."""
    for line in calls(lines):
        for call in expanded(line):
            writer = Writer(call)
            text = writer.graph()
            yield "\t".join([f"# {line}", *writer.specs]) + "\n" + text
