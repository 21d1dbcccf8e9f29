"""Scripted programs: dictionaries with computed keys within lists and dictionaries, and items that branches write."""
from typing import Dict, List, Tuple

import torch
from torch import Tensor

from script_programs import Programs

programs = Programs()
program = programs.add
cases = programs.cases

NUMBERS = [(torch.tensor(row, dtype=torch.int64),) for row in ([0, 1, 2, 3], [5, 5], [1, 1, 7, 1, 9, 2], [8, 9, 8], [0, 0, 0], [3])]
N = "i64:n"


def tables(x: Tensor) -> List[Dict[int, int]]:
    rows: List[Dict[int, int]] = []
    for i in range(x.size(0)):
        d: Dict[int, int] = {}
        d[int(x[i])] = i
        d[i] = d.get(i, 4) + 1
        rows.append(d)
    return rows


def sum_of(rows: List[Dict[int, int]]) -> int:
    total = 0
    for place, row in enumerate(rows):
        for k, v in row.items():
            total = total * 3 + k * 5 + v + place
    return total % 10007


@program(NUMBERS, N)
def tables_in_a_list(x: Tensor):
    rows = tables(x)
    return sum_of(rows), len(rows), len(rows[-1])


@program(NUMBERS, N)
def tables_in_a_list_written(x: Tensor):
    rows = tables(x)
    for i in range(x.size(0)):
        rows[i][3] = 5
        rows[0][i] = rows[0].get(i, 1) * 2
    return sum_of(rows)


@program(NUMBERS, N)
def table_read_twice_and_written(x: Tensor):
    rows = tables(x)
    first = rows[0]
    other = rows[int(x[0]) % x.size(0)]
    first[50] = 1
    return len(other), sum_of(rows)


@program(NUMBERS, N)
def table_appended_and_written_on(x: Tensor):
    rows: List[Dict[int, int]] = []
    for i in range(x.size(0)):
        d: Dict[int, int] = {}
        d[i] = 1
        rows.append(d)
        d[int(x[i])] = 2
    return sum_of(rows)


@program(NUMBERS, N)
def table_appended_twice(x: Tensor):
    rows: List[Dict[int, int]] = []
    for i in range(x.size(0)):
        d: Dict[int, int] = {}
        d[int(x[i])] = i
        rows.append(d)
        rows.append(d)
    rows[0][7] = 9
    return sum_of(rows)


@program(NUMBERS, N)
def table_items_removed(x: Tensor):
    rows = tables(x)
    for i in range(x.size(0)):
        row = rows[i]
        if int(x[i]) in row:
            row.pop(int(x[i]))
        row.setdefault(77, i)
    rows[-1].clear()
    return sum_of(rows), len(rows[-1])


@program(NUMBERS, N)
def table_written_in_a_branch(x: Tensor):
    rows = tables(x)
    for i in range(x.size(0)):
        row = rows[i]
        if int(x[i]) > 2:
            row[100] = 1
        else:
            row[101] = 2
            row[100] = 3
        row[102] = 4
    return sum_of(rows)


@program(NUMBERS, N)
def table_of_tables(x: Tensor):
    follows: Dict[int, Dict[int, int]] = {}
    for i in range(x.size(0) - 1):
        k, n = int(x[i]), int(x[i + 1])
        if k not in follows:
            made: Dict[int, int] = {}
            follows[k] = made
        row = follows[k]
        row[n] = row.get(n, 0) + 1
    best = -1
    for k, row in follows.items():
        for n, v in row.items():
            best = max(best, v * 100 + k * 10 + n)
    return best, len(follows)


@program(NUMBERS, N)
def table_replaced_in_a_table(x: Tensor):
    held: Dict[int, Dict[int, int]] = {}
    held[0] = {1: 1}
    held[int(x[0])] = {2: 2}
    row = held[0]
    held[0] = {int(x[-1]): 3, 9: 4}
    row[5] = 5
    return len(held[0]), len(row), len(held)


@program(NUMBERS, N)
def tables_moved_and_written(x: Tensor):
    rows = tables(x)
    row = rows[-1]
    if int(x[0]) > 4:
        rows.insert(0, {40: 4})
    row[60] = 6
    return sum_of(rows)


@program(NUMBERS, N)
def table_returned_in_a_tuple(x: Tensor) -> Tuple[Tensor, int]:
    counts: Dict[int, int] = {}
    for i in range(x.size(0)):
        counts[int(x[i])] = counts.get(int(x[i]), 0) + 1
    keys = [k for k in counts.keys()]
    return torch.tensor(keys), counts[int(x[0])]


def lists(x: Tensor) -> List[List[int]]:
    rows: List[List[int]] = []
    for i in range(x.size(0)):
        rows.append([int(x[i])])
    return rows


def sum_of_lists(rows: List[List[int]]) -> int:
    total = 0
    for row in rows:
        for v in row:
            total = total * 3 + v
        total += 1
    return total % 10007


@program(NUMBERS, N)
def list_item_written_in_both_branches(x: Tensor):
    rows = lists(x)
    for i in range(x.size(0)):
        row = rows[i]
        if int(x[i]) > 2:
            row.append(1)
        else:
            row.append(2)
            row.append(3)
        row.append(4)
    return sum_of_lists(rows)


@program(NUMBERS, N)
def list_item_written_in_one_branch(x: Tensor):
    rows = lists(x)
    row = rows[0]
    if int(x[0]) > 2:
        row.append(7)
    before = len(rows[0])
    row.append(8)
    return before, sum_of_lists(rows)


@program(NUMBERS, N)
def list_item_replaced_in_a_branch(x: Tensor):
    rows = lists(x)
    row = rows[0]
    if int(x[0]) > 2:
        rows[0] = [30, 31]
    row.append(8)
    return sum_of_lists(rows), len(row)


@program(NUMBERS, N)
def list_items_moved_in_a_branch(x: Tensor):
    rows = lists(x)
    row = rows[-1]
    if int(x[0]) > 2:
        rows.insert(0, [1, 2])
        row.append(5)
    else:
        row.append(6)
    row.append(8)
    return sum_of_lists(rows)


@program(NUMBERS, N)
def list_item_written_in_a_branch_that_may_raise(x: Tensor):
    rows = lists(x)
    row = rows[0]
    if int(x[0]) > 100:
        row.append(5)
        raise ValueError("too large")
    else:
        row.append(6)
    row.append(8)
    return sum_of_lists(rows)


@program(NUMBERS, N)
def list_items_of_two_reads_in_branches(x: Tensor):
    rows = lists(x)
    one, other = rows[0], rows[int(x[0]) % x.size(0)]
    if int(x[-1]) > 2:
        one.append(5)
    else:
        other.append(6)
    one.append(7)
    return sum_of_lists(rows), len(other)


@program(NUMBERS, N)
def tested_before_and_after_it_grows(x: Tensor):
    seen: List[int] = []
    before = int(x[0]) in seen
    for i in range(x.size(0)):
        seen.append(int(x[i]))
    return before, int(x[0]) in seen


@program([(torch.rand(2, 3) - 0.5,), (torch.rand(2, 3),)], "f32:2,3")
def groups_of_a_known_number(x: Tensor):
    groups: Dict[int, List[int]] = {}
    for i in range(x.size(0)):
        key = int(x[i].sum() > 0)
        if key not in groups:
            groups[key] = [i]
        else:
            groups[key].append(i)
    return len(groups), groups[int(x[1].sum() > 0)][-1]


@program(NUMBERS, N)
def table_literal_with_a_computed_key(x: Tensor):
    n = x.size(0)
    d = {n: n + 1, 7: 2}
    for i in range(n):
        d[int(x[i])] = i
    total = 0
    for k, v in d.items():
        total += k * 10 + v
    return total, len(d), d[n]


@program(NUMBERS, N)
def table_literal_in_a_branch(x: Tensor):
    n = x.size(0)
    d = {1: 2}
    if n > 2:
        d = {int(x[0]): 5, n: 6}
    total = 0
    for k, v in d.items():
        total += k * 10 + v
    return total
