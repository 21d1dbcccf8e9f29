"""Scripted programs: containers that are returned early, from branches and loops."""
from typing import Dict, List, NamedTuple, Optional, Tuple

import torch
from torch import Tensor

from script_programs import Programs, FLAG, FLAGS, N3

programs = Programs()
program = programs.add
cases = programs.cases


def ids(*rows):
    return [(torch.tensor(row, dtype=torch.int64),) for row in rows]


NUMBERS = ids([0, 1, 2, 3], [5], [1, 1, 7, 1, 9, 2], [8, 9], [0, 0, 0])
N = "i64:n"


@program(FLAGS, N3, FLAG)
def returned_dict_of_a_branch(x: Tensor, f: Tensor) -> Dict[str, Tensor]:
    if bool(f > 0):
        return {"a": x, "b": x + 1}
    return {"a": x * 2, "b": x}


@program(FLAGS, N3, FLAG)
def returned_lists_of_a_branch(x: Tensor, f: Tensor) -> List[List[Tensor]]:
    if bool(f > 0):
        return [[x], [x + 1, x * 2]]
    return [[x * 2], [x, x - 1]]


@program(FLAGS, N3, FLAG)
def returned_dict_with_lists_of_a_branch(x: Tensor, f: Tensor) -> Dict[str, List[Tensor]]:
    if bool(f > 0):
        return {"a": [x, x + 1]}
    return {"a": [x * 2, x]}


@program(NUMBERS, N)
def returned_dict_of_a_loop(x: Tensor) -> Dict[str, Tensor]:
    for i in range(x.size(0)):
        if bool(x[i] > 1):
            return {"a": x, "b": x + i}
    return {"a": x * 2, "b": x}


@program(NUMBERS, N)
def returned_dict_with_a_number(x: Tensor) -> Dict[str, int]:
    for i in range(x.size(0)):
        if int(x[i]) == 7:
            return {"place": i, "value": 7}
        if int(x[i]) == 9:
            return {"place": -i, "value": 9}
    return {"place": -1, "value": 0}


def made_returned_empty_list_of_a_loop(x: Tensor) -> List[int]:
    out: List[int] = []
    for i in range(x.size(0)):
        if bool(x[i] > 7):
            return []
        out.append(i + int(x[i]))
    return out


@program(NUMBERS, N)
def returned_empty_list_of_a_loop(x: Tensor):
    numbers = made_returned_empty_list_of_a_loop(x)
    return torch.tensor(numbers), len(numbers)


@program(NUMBERS, N)
def returned_list_of_two_in_a_loop(x: Tensor) -> List[Tensor]:
    for i in range(x.size(0)):
        if bool(x[i] > 1):
            return [x[i:], x[:i]]
    return [x, x * 2]


def made_returned_lists_of_two_lengths(x: Tensor) -> List[int]:
    for i in range(x.size(0)):
        if int(x[i]) == 7:
            return [i]
        if int(x[i]) == 2:
            return [i, 2, 3]
    return [0, 0]


@program(NUMBERS, N)
def returned_lists_of_two_lengths(x: Tensor):
    numbers = made_returned_lists_of_two_lengths(x)
    return torch.tensor(numbers), len(numbers)


def made_returned_growing_list_of_a_loop(x: Tensor) -> List[int]:
    out: List[int] = []
    for i in range(x.size(0)):
        out.append(int(x[i]) * 2)
        if int(x[i]) == 7:
            return out
    out.append(-1)
    return out


@program(NUMBERS, N)
def returned_growing_list_of_a_loop(x: Tensor):
    numbers = made_returned_growing_list_of_a_loop(x)
    return torch.tensor(numbers), len(numbers)


def made_returned_growing_pairs_of_a_loop(x: Tensor) -> List[Tuple[int, float]]:
    out: List[Tuple[int, float]] = []
    for i in range(x.size(0)):
        if int(x[i]) == 8:
            return [(i, 0.5)]
        out.append((i, float(x[i]) / 2))
        if int(x[i]) == 7:
            return out
    return out


@program(NUMBERS, N)
def returned_growing_pairs_of_a_loop(x: Tensor):
    pairs = made_returned_growing_pairs_of_a_loop(x)
    total = 0.0
    for place, half in pairs:
        total += place * half
    return total, len(pairs)


def made_returned_list_that_a_later_iteration_would_change(x: Tensor) -> Tuple[List[int], int]:
    seen: List[int] = []
    steps = 0
    while steps < x.size(0):
        seen.append(int(x[steps]))
        steps += 1
        if len(seen) > 2:
            seen[0] = -5
            return seen, steps
    return seen, 0


@program(NUMBERS, N)
def returned_list_that_a_later_iteration_would_change(x: Tensor):
    seen, steps = made_returned_list_that_a_later_iteration_would_change(x)
    return torch.tensor(seen), steps


def made_returned_from_a_loop_in_a_loop(x: Tensor) -> List[int]:
    for i in range(x.size(0)):
        found: List[int] = []
        for j in range(i):
            if int(x[j]) == int(x[i]):
                return [j, i]
            found.append(j)
        if len(found) > 3:
            return found
    return []


@program(NUMBERS, N)
def returned_from_a_loop_in_a_loop(x: Tensor):
    numbers = made_returned_from_a_loop_in_a_loop(x)
    return torch.tensor(numbers), len(numbers)


def made_returned_path_through_a_table(x: Tensor) -> List[int]:
    came: Dict[int, int] = {}
    for i in range(x.numel()):
        c = int(x[i])
        if c == 0 and i > 0:
            path: List[int] = [c]
            while c in came and len(path) < 9:
                c = came[c]
                path.append(c)
            return path
        came[c] = i
    return [-1]


@program(NUMBERS, N)
def returned_path_through_a_table(x: Tensor):
    numbers = made_returned_path_through_a_table(x)
    return torch.tensor(numbers), len(numbers)


@program(NUMBERS, N)
def returned_table_of_a_loop(x: Tensor) -> int:
    best = table_until_seven(x)
    total = 0
    for k, v in best.items():
        total += k * 10 + v
    return total


def table_until_seven(x: Tensor) -> Dict[int, int]:
    counts: Dict[int, int] = {}
    for i in range(x.numel()):
        c = int(x[i])
        if c == 7:
            return counts
        counts[c] = counts.get(c, 0) + 1
    return counts


@program(NUMBERS, N)
def returned_new_table_of_a_loop(x: Tensor) -> int:
    best = table_or_other(x)
    return len(best) * 100 + best.get(1, 50)


def table_or_other(x: Tensor) -> Dict[int, int]:
    counts: Dict[int, int] = {}
    for i in range(x.numel()):
        c = int(x[i])
        if c == 9:
            return {1: i}
        counts[c] = i
    return counts


class Hit(NamedTuple):
    where: List[int]
    value: Tensor


@program(NUMBERS, N)
def returned_named_tuple_with_a_list(x: Tensor):
    hit = first_hit(x)
    return torch.tensor(hit.where), hit.value, len(hit.where)


def first_hit(x: Tensor) -> Hit:
    where: List[int] = []
    for i in range(x.numel()):
        if int(x[i]) == 7:
            return Hit(where, x[i:] * 2)
        where.append(i)
    return Hit([], x)


@program(NUMBERS, N)
def returned_optional_list_of_a_loop(x: Tensor) -> Tuple[bool, int]:
    found = maybe_list(x)
    if found is None:
        return False, 0
    return True, len(found) + found[0]


def maybe_list(x: Tensor) -> Optional[List[int]]:
    for i in range(x.numel()):
        if int(x[i]) == 7:
            return [i, 3]
        if int(x[i]) == 5:
            return [4]
    return None


@program(NUMBERS, N)
def returned_dict_changed_afterwards(x: Tensor) -> Dict[str, Tensor]:
    out = dict_of_first(x)
    out["b"] = out["a"] + 1
    return out


def dict_of_first(x: Tensor) -> Dict[str, Tensor]:
    for i in range(x.numel()):
        if int(x[i]) == 7:
            return {"a": x[:i]}
    return {"a": x}


@program(NUMBERS, N)
def returned_list_of_texts(x: Tensor) -> int:
    names = names_until(x)
    total = 0
    for name in names:
        if name == "seven":
            total += 7
        else:
            total += len(name)
    return total


def names_until(x: Tensor) -> List[str]:
    names: List[str] = []
    for i in range(x.numel()):
        if int(x[i]) == 7:
            names.append("seven")
            return names
        if int(x[i]) == 8:
            return ["other", "seven"]
        names.append("other")
    return names


def table_with_a_stop(x: Tensor, most: int) -> Dict[int, int]:
    d: Dict[int, int] = {}
    for i in range(x.numel()):
        v = int(x[i])
        d[v] = v + 1
        if v > most:
            return d
    return d


@program(NUMBERS, N)
def returned_table_after_its_write(x: Tensor):
    d = table_with_a_stop(x, 3)
    total = len(d) * 1000
    for k, v in d.items():
        total += k * 10 + v
    return total


def pairs_with_a_stop(x: Tensor) -> Dict[int, Tuple[int, float]]:
    d: Dict[int, Tuple[int, float]] = {}
    i = 0
    while i < x.numel():
        v = int(x[i])
        d[v] = (i, v * 0.5)
        i += 1
        if len(d) >= 2:
            d[v] = (i, -1.0)
            return d
    return d


@program(NUMBERS, N)
def returned_table_of_pairs(x: Tensor):
    total = 0.0
    for k, v in pairs_with_a_stop(x).items():
        total += k * 10 + v[0] + v[1]
    return total


@program(NUMBERS, N)
def returned_table_of_an_inner_loop(x: Tensor):
    total = 0
    for j in range(x.numel()):
        found = table_with_a_stop(x[j:], j)
        total = total * 3 + len(found) + found.get(int(x[j]), 50)
    return total
