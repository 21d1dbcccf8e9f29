"""A random program: its inputs, its statements, its text, and the TorchScript made of it."""
import dataclasses, itertools, linecache, math
from typing import Dict, List, Optional, Tuple

import torch
import torch.nn.functional as F

DTYPES = {torch.float32: "f32", torch.float64: "f64", torch.float16: "f16", torch.int64: "i64", torch.int32: "i32", torch.uint8: "u8",
          torch.int8: "i8", torch.int16: "i16", torch.bool: "bool"}
GLOBALS = {"torch": torch, "F": F, "math": math, "List": List, "Dict": Dict, "Tuple": Tuple, "Optional": Optional, "Tensor": torch.Tensor}
HEADER = "import math\nimport torch\nimport torch.nn.functional as F\nfrom torch import Tensor\nfrom typing import Dict, List, Optional, Tuple\n\n\n"
files = itertools.count()


@dataclasses.dataclass
class Input:
    name: str
    dims: tuple          # sizes, or names of sizes that vary
    values: list         # a tensor for each set of inputs

    def spec(self):
        return f"{DTYPES[self.values[0].dtype]}:{','.join(map(str, self.dims)) or 'scalar'}"


@dataclasses.dataclass
class Block:
    """if and else, for or while: heads with the statements below each."""
    heads: list
    bodies: list         # a list of statements for each head


@dataclasses.dataclass
class Program:
    inputs: list
    statements: list     # lines of text and Blocks
    results: list        # names
    scripted: bool

    def source(self):
        arguments = ", ".join(f"{i.name}: Tensor" for i in self.inputs)
        return HEADER + "\n".join([f"def program({arguments}):", *lines_of(self.statements, "    "), f"    return {', '.join(self.results)}", ""])

    def exactness(self, exact):
        return [name in exact for name in self.results]

    def specs(self):
        return [i.spec() for i in self.inputs]

    def sets(self):
        return [[i.values[s] for i in self.inputs] for s in range(len(self.inputs[0].values))]

    def compiled(self):
        """TorchScript, scripted or traced on the first set of inputs."""
        function = function_of(self.source())
        if self.scripted:
            return torch.jit.script(function)
        return torch.jit.trace(function, tuple(x.clone() for x in self.sets()[0]), check_trace=False)

    def report(self):
        """Python source that shows the program with its inputs."""
        lines = [self.source(), "", f"# {'scripted' if self.scripted else 'traced'} with " + " ".join(f"--input {i.name}={i.spec()}" for i in self.inputs)]
        for inputs in self.sets():
            lines.append("# inputs: " + "; ".join(literal(x) for x in inputs))
        return "\n".join(lines)


def literal(x):
    return f"torch.tensor({x.tolist()}, dtype={x.dtype})" + (f".reshape({tuple(x.shape)})" if x.numel() == 0 else "")


def function_of(source):
    """Compiled with a file that `inspect` finds: scripting reads the source again."""
    file = f"<program {next(files)}>"
    linecache.cache.clear()
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    space = {"__name__": "programs"}
    exec(compile(source, file, "exec"), space)
    return space["program"]


def lines_of(statements, indent=""):
    lines = []
    for statement in statements:
        if isinstance(statement, str):
            lines.append(indent + statement)
            continue
        for head, body in zip(statement.heads, statement.bodies):
            lines.append(indent + head)
            lines += lines_of(body, indent + "    ") or [indent + "    pass"]
    return lines
