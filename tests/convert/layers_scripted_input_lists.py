"""Scripted programs: input lists that get other names in loops and branches, and are changed under these."""
from typing import Dict, List, Optional

import torch
from torch import Tensor

from script_programs import Programs

programs = Programs()
program = programs.add
cases = programs.cases


def w(*values: int):
    return torch.tensor(values, dtype=torch.long)


LISTS = [(w(3, 1, 2), [4, 5]), (w(5, 5), [1, 2]), (w(0), [6, 1]), (w(1, 2, 0, 3), [9, 8]), (w(2), [3, 3])]
NUMBERS = "i64:n", "i64:m"


@program(LISTS, *NUMBERS)
def input_list_that_a_name_becomes(x: Tensor, l: List[int]):
    q = [0]
    for i in range(x.size(0)):
        q.append(i)
        if int(x[i]) > 1:
            q = l
    return torch.tensor(l), torch.tensor(q)


@program(LISTS, *NUMBERS)
def input_list_that_an_optional_becomes(x: Tensor, l: List[int]):
    q: Optional[List[int]] = None
    for i in range(x.size(0)):
        if q is not None:
            q.append(i)
        if int(x[i]) > 1:
            q = l
    return torch.tensor(l)


@program(LISTS, *NUMBERS)
def input_list_renamed_in_an_inner_loop(x: Tensor, l: List[int]):
    q = [0]
    for i in range(x.size(0)):
        q.append(i)
        for _ in range(int(x[i]) % 3):
            q = l
    return torch.tensor(l), torch.tensor(q)


@program(LISTS, *NUMBERS, needs="If gives the same sizes from both branches before opset 11")
def input_list_renamed_in_a_branch(x: Tensor, l: List[int]):
    a = l
    if x.size(0) > 2:
        a.append(5)
    a.append(6)
    if x.size(0) > 3:
        a = [3]
    a.append(7)
    return torch.tensor(l), torch.tensor(a)


@program(LISTS, *NUMBERS)
def input_list_put_into_a_dictionary(x: Tensor, l: List[int]):
    d: Dict[str, List[int]] = {"p": [0], "q": [1]}
    for i in range(x.size(0)):
        d["p"].append(i)
        if int(x[i]) > 1:
            d["p"] = l
    return torch.tensor(l), torch.tensor(d["p"])


ROWS = [[1.0, -2.0], [3.0, 1.0]], [[-1.0, 2.0]], [[2.0, 2.0], [-1.0, 0.0], [3.0, 1.0]]


@program([(torch.tensor(rows),) for rows in ROWS], "f32:n,2")
def list_of_an_operator_that_a_name_becomes(x: Tensor):
    rows = x.unbind(0)
    q = [x[0]]
    for i in range(x.size(0)):
        q.append(x[i])
        if float(x[i, 0]) > 0:
            q = rows
    return torch.stack(rows), torch.stack(q)
