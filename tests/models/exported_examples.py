"""PyTorch's own export database: one small module for each feature of Python and torch that its documentation shows."""
from torch._export.db.examples import all_examples

from exported import PROGRAMS, Keywords, Program


def of_case(case):
    def make() -> Program:
        first = (*case.example_args, Keywords(case.example_kwargs)) if case.example_kwargs else case.example_args
        inputs = [first] + ([case.extra_args] if case.extra_args else [])
        return Program(case.model, inputs=inputs, dynamic=case.dynamic_shapes)
    return make


for name, case in all_examples().items():
    PROGRAMS[f"exportdb_{name}"] = of_case(case)
