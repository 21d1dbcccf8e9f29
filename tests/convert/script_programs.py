"""Scripted programs as cases: layers_scripted_*.py hold them, script_outcomes.tsv says from which opset on each converts."""
import torch

from layer_cases import Case

r = torch.randn
torch.manual_seed(3)
ROWS = [(r(n, 3),) for n in (3, 1, 5, 0)]
SOME = [(r(n, 3),) for n in (3, 1, 5)]
N3 = "f32:n,3"
# A tensor of rows, and a flag that is 0 or 1
FLAGS = [(r(n, 3), torch.tensor(f)) for n, f in ((3, 0), (1, 1), (5, 1), (2, 0))]
TWO_FLAGS = [(r(n, 3), torch.tensor(f), torch.tensor(g)) for n, f, g in ((3, 0, 0), (1, 1, 0), (5, 1, 1), (2, 0, 1))]
FLAG = "i64:scalar"
PAIRS = [(r(3), r(3)), (r(3), r(3))]
FIXED = [(r(3), torch.tensor(f)) for f in (0, 1)]

class Programs:
    def __init__(self):
        self.made = {}

    def add(self, inputs, *specs, **more):
        def register(made):
            self.made[made.__name__] = (made, inputs, specs, more)
            return made
        return register

    def cases(self):
        cases = {}
        for name, (made, inputs, specs, more) in self.made.items():
            cases[name] = Case(made() if isinstance(made, type) else made, inputs, specs, script=True, tabled="opsets" not in more, **more)
        return cases
