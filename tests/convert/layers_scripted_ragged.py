"""Scripted programs: lists of lists of tensors and of tuples, whose lengths only the running model knows."""
from typing import Dict, List, Tuple

import torch
from torch import Tensor

from script_programs import Programs

programs = Programs()
program = programs.add
cases = programs.cases

ROWS = [(torch.randn(n, 3), torch.tensor(ids)) for n, ids in ((4, [1, 0, 1, 2]), (1, [5]), (6, [2, 2, 2, 0, 0, 9]), (3, [0, 1, 2]))]
SPEC = ("f32:n,3", "i64:n")
NUMBERS = [(torch.tensor(row, dtype=torch.int64),) for row in ([0, 1, 2, 3], [5, 5], [1, 1, 7, 1, 9, 2], [8, 9, 8], [3])]
COUNTS = [(torch.tensor(row, dtype=torch.int64),) for row in ([1, 2, 0, 3, 0], [0], [4, 4, 0, 0, 3, 1], [2, 2], [5])]
GIVEN = [(torch.arange(n * 3.0).view(n, 3) + 1, torch.tensor(f)) for n in (1, 2, 4) for f in (0, 1)]
FLAGGED = ("f32:n,3", "i64:scalar")


def grouped(x: Tensor, ids: Tensor) -> Dict[int, List[Tensor]]:
    groups: Dict[int, List[Tensor]] = {}
    for i in range(ids.size(0)):
        key = int(ids[i])
        if key not in groups:
            empty: List[Tensor] = []
            groups[key] = empty
        groups[key].append(x[i])
    return groups


@program(ROWS, *SPEC)
def ragged_groups_by_key(x: Tensor, ids: Tensor):
    out = torch.zeros(3)
    for key, rows in grouped(x, ids).items():
        out = out * 2 + torch.stack(rows).sum(0) * key + len(rows)
    return out


@program(ROWS, *SPEC)
def ragged_group_of_one_key(x: Tensor, ids: Tensor):
    groups = grouped(x, ids)
    if 2 not in groups:
        return torch.zeros(0, 3)
    return torch.stack(groups[2])


@program(ROWS, *SPEC)
def ragged_runs(x: Tensor, ids: Tensor):
    runs: List[List[Tensor]] = [[]]
    for i in range(x.size(0)):
        if i > 0 and int(ids[i]) != int(ids[i - 1]):
            runs.append([])
        runs[-1].append(x[i])
    means = [torch.stack(run).mean(0) for run in runs]
    return torch.stack(means), len(runs), len(runs[0])


@program(ROWS, *SPEC)
def ragged_items_replaced(x: Tensor, ids: Tensor):
    rows: List[List[Tensor]] = []
    for i in range(x.size(0)):
        rows.append([x[i]] * i)
    rows[0] = [x[0], x[-1]]
    rows[-1] = [x[0] * 2, x[0] * 3, x[0] * 4]
    total = x[0]
    for row in rows:
        for each in row:
            total = total * 0.5 + each
    return total, len(rows[-1])


@program(ROWS, *SPEC)
def ragged_rows_written_in_branches(x: Tensor, ids: Tensor):
    rows: List[List[Tensor]] = []
    for i in range(x.size(0)):
        rows.append([x[i]])
    for i in range(x.size(0)):
        row = rows[i]
        if int(ids[i]) > 1:
            row.append(x[i] * 2)
        elif len(row) > 0:
            row[0] = row[0] + 1
            row.append(x[0])
        row.append(x[i] * 3)
    total = x[0]
    for row in rows:
        total = total + torch.stack(row).prod(0)
        total = total * len(row)
    return total


@program(ROWS, *SPEC)
def ragged_row_in_two_places(x: Tensor, ids: Tensor):
    rows: List[List[Tensor]] = []
    shared: List[Tensor] = [x[0]]
    for i in range(x.size(0)):
        rows.append(shared)
    rows[0].append(x[-1])
    total = x[0]
    for row in rows:
        total = total + torch.stack(row).sum(0)
    return total


@program(ROWS, *SPEC)
def ragged_rows_joined(x: Tensor, ids: Tensor):
    one: List[List[Tensor]] = []
    other: List[List[Tensor]] = []
    for i in range(x.size(0)):
        if int(ids[i]) > 1:
            one.append([x[i], x[0]])
        else:
            other.append([x[i]])
    both = one + other
    both.extend(one)
    total = x[0]
    for row in both:
        for each in row:
            total = total * 0.5 + each
    return total, len(both)


@program(NUMBERS, "i64:n")
def ragged_edges(x: Tensor):
    edges: List[List[Tuple[int, float]]] = []
    for i in range(x.size(0)):
        made: List[Tuple[int, float]] = []
        for j in range(i):
            made.append((int(x[j]), j * 0.5))
        edges.append(made)
    for i in range(x.size(0)):
        edges[i].append((i, 0.25))
        edges[0].append((int(x[i]), 1.0))
    total = 0.0
    for row in edges:
        for to, weight in row:
            total = total * 0.9 + to * weight
    return total, len(edges[0])


@program(NUMBERS, "i64:n")
def ragged_shortest_paths(x: Tensor):
    n = x.size(0)
    near: Dict[int, List[Tuple[int, int]]] = {}
    for i in range(n):
        none: List[Tuple[int, int]] = []
        near[i] = none
    for i in range(n):
        near[i].append(((i + 1) % n, int(x[i])))
        near[(i + 1) % n].append((i, 1))
    best = [1000] * n
    best[0] = 0
    for step in range(n):
        for i in range(n):
            for to, cost in near[i]:
                best[to] = min(best[to], best[i] + cost)
    return torch.tensor(best)


@program(NUMBERS, "i64:n")
def ragged_rows_removed(x: Tensor):
    rows: List[List[Tuple[int, int]]] = []
    for i in range(x.size(0)):
        rows.append([(i, int(x[i]))])
    last = rows.pop()
    return len(rows), last[0][1]


@program(COUNTS, "i64:n")
def ragged_batches(x: Tensor):
    batches: List[List[int]] = []
    cur: List[int] = []
    total = 0
    for i in range(x.size(0)):
        n = int(x[i])
        if len(cur) > 0 and total + n > 4:
            batches.append(cur)
            cur = torch.jit.annotate(List[int], [])
            total = 0
        cur.append(i)
        total += n
    if len(cur) > 0:
        batches.append(cur)
    sums = [0 for _ in batches]
    for k, batch in enumerate(batches):
        for i in batch:
            sums[k] += i
    return torch.tensor(sums), len(batches)


@program(COUNTS, "i64:n")
def ragged_sentences(x: Tensor):
    sentences: List[List[int]] = []
    cur: List[int] = []
    for t in x:
        word = int(t)
        if word == 0:
            if len(cur) > 0:
                sentences.append(cur)
            cur = torch.jit.annotate(List[int], [])
            continue
        cur.append(word)
    if len(cur) > 0:
        sentences.append(cur)
    out = torch.zeros(len(sentences), 9, dtype=torch.long)
    for i, words in enumerate(sentences):
        out[i, :len(words)] = torch.tensor(words)
    return out


@program([(torch.randn(n, 2),) for n in (3, 1, 8)], "f32:n,2")
def ragged_chunks_of_tensors(x: Tensor):
    chunks: List[List[Tensor]] = []
    cur: List[Tensor] = []
    for i in range(x.size(0)):
        cur.append(x[i])
        if len(cur) == 2:
            chunks.append(cur)
            cur = [x[i]]
    total = x.sum() * 0
    for k, chunk in enumerate(chunks):
        total = total + torch.stack(chunk).max() * (k + 1)
    return total, len(chunks), len(cur)


@program(COUNTS, "i64:n")
def ragged_list_that_is_changed_after_it_was_stored(x: Tensor):
    out: List[List[int]] = []
    cur: List[int] = [1]
    for i in range(x.size(0)):
        if int(x[i]) > 1:
            out.append(cur)
        if int(x[i]) > 2:
            cur = [i]
        cur.append(i)
    total = 0
    for items in out:
        total += len(items)
    return total, len(cur)


@program(COUNTS, "i64:n")
def ragged_list_stored_under_its_other_name(x: Tensor):
    out: List[List[int]] = []
    cur: List[int] = [1]
    for i in range(x.size(0)):
        other = cur
        if int(x[i]) > 1:
            out.append(cur)
            cur = [i]
        other.append(i)
    total = 0
    for items in out:
        total += len(items)
    return total, len(cur)


# The object stands in a list and in another container: a write through that one is a write to the list's item.
@program(GIVEN, *FLAGGED)
def ragged_item_that_a_dictionary_of_the_branch_holds(x: Tensor, f: Tensor):
    rows: List[List[Tensor]] = []
    held: Dict[str, List[Tensor]] = {}
    if bool(f > 0):
        row = [x]
        held = {"k": row}
        rows.append(row)
    else:
        held = {"k": [x * 2]}
        rows.append([x * 3])
        rows.append([x])
    held["k"].append(x * 7)
    return len(rows[0]), rows[0][-1], len(rows)


@program(GIVEN, *FLAGGED)
def ragged_item_that_a_list_of_the_branch_holds(x: Tensor, f: Tensor):
    rows = [[1]]
    others = [[1]]
    if bool(f > 0):
        row = [4]
        others = [row]
        rows = [row, [3]]
    else:
        others = [[5]]
        rows = [[7]]
    others[0].append(9)
    return len(rows[0]), len(rows)


@program(GIVEN, *FLAGGED)
def ragged_list_with_another_name(x: Tensor, f: Tensor):
    rows: List[Dict[str, Tensor]] = []
    others = rows
    if bool(f > 0):
        rows.append({"a": x[0]})
        others = rows
    else:
        rows.append({"a": x[0] + 1})
        rows.append({"a": x[0]})
        others = [{"a": x[0]}]
    others[0]["a"] = x[0] * 9
    return rows[0]["a"], len(rows)


@program(GIVEN, *FLAGGED)
def ragged_list_that_another_one_holds(x: Tensor, f: Tensor):
    rows: List[Dict[str, Tensor]] = []
    holder = [[{"a": x[0]}]]
    if bool(f > 0):
        row = {"a": x[0]}
        rows.append(row)
        holder = [rows]
    else:
        rows.append({"a": x[0] + 1})
        rows.append({"a": x[0]})
        holder = [[{"a": x[0]}]]
    holder[0][0]["a"] = x[0] * 9
    return rows[0]["a"], len(rows)
