"""Scripted programs in which None stands beside lists and objects with several names, which are followed as numbers."""
from typing import Dict, List, Optional, Tuple

import torch
from torch import Tensor

from script_programs import Programs

programs = Programs()
program = programs.add
cases = programs.cases

NUMBERS = [(torch.tensor(numbers),) for numbers in ([3, 1, 3, 3, 1], [2, 2], [0], [1, 2, 3, 1, 2, 3, 1], [5, 4, 0, 1, 1, 2, 3])]


@torch.jit.script
class Track(object):
    def __init__(self, number: int):
        self.number = number
        self.age = 0


@torch.jit.script
class LateHolder(object):
    def __init__(self):
        self.track = torch.jit.annotate(Optional[Track], None)


@torch.jit.script
class Holder(object):
    def __init__(self, number: int, track: Optional[Track] = None):
        self.track = track
        self.number = number


@torch.jit.script
class Row(object):
    def __init__(self, number: int, items: Optional[List[int]]):
        self.items = items
        self.number = number


@torch.jit.script
class Pair(object):
    def __init__(self, number: int, pair: Tuple[Optional[Track], int]):
        self.pair = pair
        self.number = number


@program(NUMBERS, "i64:n")
def numbered_optional_that_is_none_at_first(x: Tensor):
    holders: List[LateHolder] = []
    tracks: List[Track] = []
    for i in range(x.size(0)):
        holder, track = LateHolder(), Track(i)
        tracks.append(track)
        if int(x[i]) > 2:
            holder.track = track
        holders.append(holder)
    for holder in holders:
        held = holder.track
        if held is not None:
            held.age += 1
    return torch.tensor([track.age for track in tracks])


@program(NUMBERS, "i64:n")
def numbered_optional_with_a_default(x: Tensor):
    holders: List[Holder] = []
    track = Track(0)
    tracks = [track]
    for i in range(x.size(0)):
        if int(x[i]) % 2 == 1:
            track = Track(i)
            tracks.append(track)
        holders.append(Holder(i) if int(x[i]) > 2 else Holder(i, track))
    for holder in holders:
        held = holder.track
        if held is not None:
            held.age += holder.number + 1
    return torch.tensor([track.age for track in tracks])


@program(NUMBERS, "i64:n")
def numbered_optional_in_a_tuple(x: Tensor):
    pairs: List[Pair] = []
    track = Track(0)
    tracks = [track]
    for i in range(x.size(0)):
        pair = Pair(i, (None, 3))
        if int(x[i]) % 2 == 1:
            track = Track(i)
            tracks.append(track)
        if int(x[i]) > 1:
            pair.pair = (track, i)
        pairs.append(pair)
    for pair in pairs:
        held = pair.pair[0]
        if held is not None:
            held.age += pair.number + 1
    return torch.tensor([track.age for track in tracks])


@program(NUMBERS, "i64:n")
def numbered_default_of_get_in_a_tuple(x: Tensor):
    found: Dict[int, Tuple[Optional[List[int]], int]] = {}
    rows: List[List[int]] = []
    for i in range(x.size(0)):
        row, count = found.get(int(x[i]), (None, 0))
        if row is None:
            row = [i]
            rows.append(row)
        row.append(count)
        found[int(x[i])] = (row, count + 1)
    return torch.tensor([len(row) for row in rows]), torch.tensor([row[-1] for row in rows])


@program(NUMBERS, "i64:n")
def numbered_optional_list_that_is_none_at_first(x: Tensor):
    rows: List[Row] = []
    items = [0]
    for i in range(x.size(0)):
        row = Row(i, None)
        if int(x[i]) % 2 == 1:
            items = [i]
        if int(x[i]) > 1:
            row.items = items
        rows.append(row)
    for row in rows:
        there = row.items
        if there is not None:
            there.append(row.number)
    out: List[int] = []
    for row in rows:
        there = row.items
        out.append(-5 if there is None else len(there) * 10 + there[-1])
    return torch.tensor(out)


# An operator takes the list, if there is one.
@program(NUMBERS, "i64:n")
def numbered_optional_dims_of_rows(x: Tensor):
    rows: List[Row] = []
    dims: Optional[List[int]] = None
    for i in range(x.size(0)):
        if int(x[i]) % 2 == 1:
            dims = [0]
        rows.append(Row(i, dims))
        if int(x[i]) > 1:
            rows.append(rows[0])
    total = torch.zeros(1)
    for row in rows:
        row.number += 1
        total = total + torch.sum(torch.ones(3, 4) * row.number, dim=row.items).sum()
    return total


@program(NUMBERS, "i64:n")
def numbered_optional_dims_by_key(x: Tensor):
    rows: List[List[int]] = []
    by_key: Dict[int, List[int]] = {}
    for i in range(x.size(0)):
        dims = [0]
        rows.append(dims)
        if int(x[i]) % 2 == 1:
            by_key[i] = dims
    for row in rows:
        row[0] = 1
    total = torch.zeros(1)
    for i in range(x.size(0)):
        total = total + torch.sum(torch.ones(3, 4) * i, dim=by_key.get(i)).sum()
    return total


@program(NUMBERS, "i64:n")
def numbered_lists_of_which_one_is_returned(x: Tensor):
    rows: List[List[int]] = []
    by_key: Dict[int, List[int]] = {}
    for i in range(x.size(0)):
        row = [i]
        rows.append(row)
        if int(x[i]) % 2 == 1:
            by_key[i] = row
    for row in rows:
        row.append(1)
    return by_key.get(0)


# The dims of the sum and an item of `seeds` are one constant of the graph.
@program(NUMBERS, "i64:n")
def numbered_list_with_the_contents_of_an_argument(x: Tensor):
    rows = [[0]]
    first: List[List[int]] = []
    both: List[List[int]] = []
    for i in range(x.size(0)):
        row = rows[0] if int(x[i]) > 1 else [i, 2]
        first.append(row)
        both.append(row)
        fresh = [i]
        both.append(fresh)
        if int(x[i]) > 1:
            both.append(fresh)
        fresh.append(6)
    total = 0
    for row in first:
        total += len(row)
    return x.unsqueeze(0).expand(3, -1).sum(0), total, torch.tensor([len(row) for row in both])
