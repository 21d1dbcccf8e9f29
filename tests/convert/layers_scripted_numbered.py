"""Scripted programs whose objects and lists have several names, so that they are followed as numbers."""
from typing import Dict, List, Optional

import torch
from torch import Tensor

from script_programs import Programs

programs = Programs()
program = programs.add
cases = programs.cases


def rows(*counts: int):
    made = torch.Generator().manual_seed(3)
    return [(torch.randn(count, 3, generator=made),) for count in counts]


ROWS, SOME_ROWS = rows(5, 9, 1, 0, 14), rows(5, 9, 1, 14)


@torch.jit.script
class Track(object):
    def __init__(self, place: Tensor, number: int):
        self.place = place
        self.age = 0
        self.number = number
        self.seen = [number]
        self.best = torch.jit.annotate(Optional[Tensor], None)
        self.parent = torch.jit.annotate(Optional[int], None)


@torch.jit.script
class Node(object):
    def __init__(self, value: int):
        self.value = value
        self.count = 0


@program(ROWS, "f32:n,3")
def numbered_kept_and_dropped(x: Tensor):
    tracks: List[Track] = []
    dropped: List[Track] = []
    for i in range(x.size(0)):
        kept = tracks[:0]
        for track in tracks:
            track.age += 1
            if track.age < 3:
                kept.append(track)
            else:
                dropped.append(track)
        tracks = kept
        tracks.append(Track(x[i], i))
        for track in tracks:
            if float(track.place.sum()) > 0:
                track.age = 0
    ages, numbers = [track.age for track in dropped], [track.number for track in dropped]
    return torch.tensor([track.number for track in tracks]), torch.tensor(ages), torch.tensor(numbers)


@program(ROWS, "f32:n,3")
def numbered_filter_with_continue_and_break(x: Tensor):
    tracks = [Track(x[i], i) for i in range(x.size(0))]
    ended = 0
    for i in range(x.size(0)):
        kept = tracks[:0]
        for track in tracks:
            if float(track.place.max()) < 0.0:
                continue
            track.age += i
            kept.append(track)
            if track.age > 4:
                ended += 1
                break
        tracks = kept
    return torch.tensor([track.number for track in tracks]), torch.tensor([track.age for track in tracks]), ended


@program(ROWS, "f32:n,3")
def numbered_optional_attributes(x: Tensor):
    tracks: List[Track] = []
    for i in range(x.size(0)):
        track = Track(x[i], i)
        if i % 2 == 1:
            track.best = x[i] * 2
        if i > 2:
            track.parent = i - 2
        tracks.append(track)
    total, parents = torch.zeros(3), 0
    for track in tracks:
        best = track.best
        if best is not None:
            total = total + best
        parent = track.parent
        if parent is not None:
            parents += parent * tracks[parent].number
            tracks[parent].age += 1
    return total, parents, torch.tensor([track.age for track in tracks])


@program(SOME_ROWS, "f32:n,3")
def numbered_frames_of_tracks(x: Tensor):
    tracks: List[Track] = []
    frames: List[Tensor] = []
    for i in range(x.size(0)):
        kept = tracks[:0]
        for track in tracks:
            track.age += 1
            track.place = track.place + x[i]
            if track.age < 3:
                kept.append(track)
        kept.append(Track(x[i], i))
        tracks = kept
        frames.append(torch.stack([track.place for track in tracks]).sum(0))
    return torch.stack(frames)


@program(ROWS, "f32:n,3")
def numbered_best_while_its_list_is_read(x: Tensor):
    tracks = [Track(x[i], i) for i in range(x.size(0))]
    best: Optional[Track] = None
    for track in tracks:
        if best is None or float(track.place.sum()) > float(best.place.sum()):
            best = track
    if best is not None:
        best.age = 7
        best.seen.append(9)
    return torch.tensor([track.age for track in tracks]), torch.tensor([len(track.seen) for track in tracks])


@program(ROWS, "f32:n,3")
def numbered_stack_of_objects(x: Tensor):
    stack: List[Track] = []
    out: List[int] = []
    for i in range(x.size(0)):
        while len(stack) > 0 and float(stack[-1].place.sum()) < float(x[i].sum()):
            track = stack.pop()
            track.age = i
            out.append(track.number * 100 + track.age)
        stack.append(Track(x[i], i))
    return torch.tensor(out), torch.tensor([track.number for track in stack])


@program(SOME_ROWS, "f32:n,3")
def numbered_objects_that_swap_names(x: Tensor):
    a, b = Track(x[0], 0), Track(x[0] * 2, 1)
    tracks = [a, b]
    for i in range(x.size(0)):
        if float(x[i].sum()) > 0:
            a, b = b, a
        a.age += 1
        tracks.append(a)
    return torch.tensor([track.number for track in tracks]), a.age, b.age, a is b, tracks[-1] is a


@program([(torch.tensor(ids),) for ids in ([3, 1, 3, 3, 1], [2, 2], [0], [1, 2, 3, 1, 2, 3, 1])], "i64:n")
def numbered_lists_by_key_with_two_names(x: Tensor):
    groups: Dict[int, List[int]] = {}
    order: List[List[int]] = []
    for i in range(x.size(0)):
        key = int(x[i])
        found = groups.get(key)
        if found is None:
            made = [i]
            groups[key] = made
            order.append(made)
        else:
            found.append(i)
    mark = 0
    for group in order:
        for i in group:
            mark = mark * 3 + i
    return mark, len(order)


@program([(torch.tensor(ids),) for ids in ([3, 1, 3, 3, 1], [2, 2], [0], [1, 2, 3, 1, 2, 3, 1])], "i64:n")
def numbered_objects_by_key_and_in_order(x: Tensor):
    nodes: Dict[int, Node] = {}
    order: List[Node] = []
    for i in range(x.size(0)):
        key = int(x[i])
        if key not in nodes:
            node = Node(key)
            nodes[key] = node
            order.append(node)
        nodes[key].count += 1
    last = order[len(order) - 1]
    last.count += 100
    return torch.tensor([node.count for node in order]), nodes[int(x[0])].count


# Lists with equal contents: passes make one value of them, so nothing says any more that they are two.
@program([(torch.arange(n),) for n in (0, 1, 3)], "i64:n")
def numbered_equal_lists_that_are_two(x: Tensor):
    a, b = [x.size(0)], [x.size(0)]
    a.append(2)
    b.append(2)
    return int(a is b)


@program([(torch.arange(n),) for n in (0, 1, 3)], "i64:n")
def numbered_equal_items_that_are_two(x: Tensor):
    rows: List[List[int]] = []
    for i in range(x.size(0)):
        rows.append([0])
    same = 0
    for i in range(x.size(0) - 1):
        if rows[i] is rows[i + 1]:
            same += 1
    return same


# Nothing is ever in `old`, so that no object is made whose count could be read.
@program([(torch.arange(n),) for n in (0, 1, 4)], "i64:n")
def numbered_object_that_is_never_made(x: Tensor):
    old: List[Node] = []
    fresh: List[Node] = []
    best: Optional[Node] = None
    counts = [1]
    for i in range(x.size(0)):
        fresh = [Node(1)]
        if len(counts) > 20:
            break
        for node in old:
            best = node
            if i > 1:
                continue
        counts.append(i)
    total = len(fresh)
    found = best
    if found is not None:
        total += found.count
    return total


@program(ROWS, "f32:n,3")
def numbered_objects_compared_with_none_or_one(x: Tensor):
    tracks: List[Track] = []
    best: Optional[Track] = None
    worst: Optional[Track] = None
    for i in range(x.size(0)):
        track = Track(x[i], i)
        tracks.append(track)
        if float(x[i].sum()) > 0:
            best = track
        elif float(x[i][0]) < 0:
            worst = track
    count = 0
    for i in range(len(tracks)):
        if tracks[i] is best:
            count += 1 + i
        if tracks[i] is not worst:
            count += 100
    return count + int(best is worst) * 10000


@program(ROWS, "f32:n,3")
def numbered_rows_repeated(x: Tensor):
    rows: List[List[int]] = []
    for i in range(x.size(0)):
        rows.append([i])
    rows *= 2
    for row in rows:
        row.append(len(row))
    return torch.tensor([len(row) for row in rows]), torch.tensor([row[-1] for row in rows])


@program(SOME_ROWS, "f32:n,3")
def numbered_row_in_a_returned_tuple(x: Tensor):
    rows: List[List[Tensor]] = []
    longest = [x[0]]
    for i in range(x.size(0)):
        row = [x[i] * 2]
        rows.append(row)
        if float(x[i].sum()) > 0:
            longest = row
        longest.append(x[i])
    return torch.stack(rows[0]), rows[len(rows) - 1], len(longest), len(rows)


@program(ROWS, "f32:n,3")
def numbered_segments_that_are_merged(x: Tensor):
    segments: List[List[int]] = []
    for i in range(x.size(0)):
        if float(x[i, 0]) > 0:
            segments.append([i, i + 2])
    for i in range(len(segments)):
        segments[i][0] = max(0, segments[i][0] - 1)
    merged: List[List[int]] = []
    for segment in segments:
        if len(merged) > 0 and segment[0] <= merged[-1][1]:
            merged[-1][1] = segment[1]
        else:
            merged.append(segment)
    if len(merged) == 0:
        return torch.zeros(0, 2, dtype=torch.long)
    return torch.tensor(merged)


# An operator reads the rows, which are changed before and after it.
@program(SOME_ROWS, "f32:n,3")
def numbered_rows_that_an_operator_reads(x: Tensor):
    rows: List[List[int]] = []
    kept: List[List[int]] = []
    total = torch.zeros(1)
    for i in range(x.size(0)):
        row = [i, 1]
        rows.append(row)
        if float(x[i].sum()) > 0:
            kept.append(row)
        row[1] += i
        total = total + torch.tensor(rows).sum() * 2
        row[0] += 5
    for row in kept:
        row[1] = 7
    return total, torch.tensor(rows)


# Of five rows, the first loop comes apart at once, the second one once the length of `nodes` is known.
@program([(torch.tensor(numbers),) for numbers in ([3, 1, 5, 0, 2], [4, 4, 4, 4, 4], [0, 1, 2, 3, 4])], "i64:5")
def numbered_objects_of_five_rows(x: Tensor):
    nodes: List[Node] = []
    for i in range(x.size(0)):
        nodes.append(Node(int(x[i])))
    kept: List[Node] = []
    for node in nodes:
        if len(kept) > 0 and node.value < 4:
            kept[-1].value += node.value
        else:
            kept.append(node)
    return torch.tensor([node.value for node in kept])


# A hundred: no loop is unrolled.
@program([(torch.randint(0, 9, (100,)),) for _ in range(3)], "i64:100")
def numbered_objects_of_a_hundred_rows(x: Tensor):
    nodes: List[Node] = []
    kept: List[Node] = []
    for i in range(x.size(0)):
        node = Node(int(x[i]))
        nodes.append(node)
        if node.value % 2 == 0:
            kept.append(node)
        if len(kept) > 3:
            kept = kept[1:]
        for other in kept:
            other.count += 1
    return torch.tensor([node.count for node in nodes])
