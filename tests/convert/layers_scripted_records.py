"""Scripted programs: growing lists of lists, tuples, dictionaries, objects and texts, and dictionaries with numbers as keys, which only
the running model knows; what is read from them and written."""
from typing import Dict, List, NamedTuple, Tuple

import torch
from torch import Tensor

from script_programs import Programs, N3, ROWS, FLAG

programs = Programs()
program = programs.add
cases = programs.cases
NUMBER = "i64:scalar"
COUNTS = [(torch.tensor(n),) for n in (3, 1, 6, 0)]
COUNTS_AND_FLAGS = [(torch.tensor(n), torch.tensor(f)) for n, f in ((3, 0), (1, 1), (6, 1), (2, 0))]
ROWS_AND_COUNTS = [(rows, torch.tensor(n)) for (rows,), n in zip(ROWS, (3, 1, 6, 0))]


class Record(NamedTuple):
    number: int
    trail: List[int]
    row: Tensor


@torch.jit.script
class Point:
    def __init__(self, number: int, weight: float):
        self.number = number
        self.weight = weight

    def move(self, by: int):
        self.number = self.number * 2 + by
        self.weight += 0.5


@torch.jit.script
class Track:
    def __init__(self, last: Tensor, number: int):
        self.last = last
        self.trail = [number]

    def add(self, row: Tensor):
        self.last = self.last * 0.5 + row
        self.trail.append(len(self.trail))


def mark(lists: List[List[int]]) -> int:
    """Tells lists of lists from one another."""
    s = 0
    for i, l in enumerate(lists):
        s = s * 7 + len(l)
        for j, v in enumerate(l):
            s = (s + v * (j + 1) * (i + 2)) % 100003
    return s


def mark_table(d: Dict[int, int]) -> int:
    s = len(d)
    for k, v in d.items():
        s = (s * 31 + k * 7 + v) % 100003
    return s


def grown(n: int) -> List[List[int]]:
    lists: List[List[int]] = [[9]]
    for i in range(n):
        lists.append([i, i * 2])
    return lists


# ---- Reads and writes of one list

@program(COUNTS, NUMBER)
def records_each_is_written(n: Tensor):
    lists = grown(int(n))
    for l in lists:
        l.append(len(l))
    for i in range(len(lists)):
        lists[-1 - i][0] = i * 5
    return mark(lists)


@program(COUNTS, NUMBER)
def records_read_then_appended_then_written(n: Tensor):
    lists = grown(int(n))
    last = lists[-1]
    lists.append([77])
    last.append(1)
    return mark(lists), len(last)


@program(COUNTS, NUMBER)
def records_placed_deleted_inserted(n: Tensor):
    lists = grown(int(n))
    lists[int(n) // 2] = [4, 4]
    del lists[0]
    lists.insert(-1, [8])
    lists.reverse()
    if len(lists) > 1:
        lists[1].append(3)
    lists.extend([[5], [6]])
    return mark(lists), mark(lists[1:]), mark(lists[::-2])


@program(COUNTS, NUMBER)
def records_written_under_both_names_of_the_list(n: Tensor):
    lists = grown(int(n))
    same = lists
    same[0].append(5)
    same.append([6])
    return mark(lists)


@program(COUNTS, NUMBER)
def records_break_and_continue(n: Tensor):
    lists: List[List[int]] = []
    for i in range(int(n)):
        if i == 3:
            break
        if i == 1:
            continue
        lists.append([i])
    if len(lists) == 0:
        return -1
    lists[0].append(1)
    return mark(lists)


@program(COUNTS_AND_FLAGS, NUMBER, FLAG)
def records_grow_in_one_branch(n: Tensor, f: Tensor):
    pairs: List[Tuple[str, int]] = []
    if bool(f > 0):
        pairs.append(("a", 1))
    else:
        pairs.append(("b", int(n)))
        pairs.append(("c", 2))
    s = 0
    for text, number in pairs:
        s = s * 3 + number + (1 if text == "c" else 0)
    return s


# ---- One object in two places

@program(COUNTS, NUMBER)
def records_in_two_lists_from_one_loop(n: Tensor):
    first: List[List[int]] = []
    second: List[List[int]] = []
    for i in range(int(n)):
        l = [i]
        first.append(l)
        second.append(l)
    if int(n) > 0:
        first[0].append(7)
    return mark(first), mark(second)


@program(COUNTS, NUMBER)
def records_in_two_lists(n: Tensor):
    first, second = grown(int(n)), grown(int(n))
    l = [5]
    first.append(l)
    second.append(l)
    first[-1].append(7)
    return mark(first), mark(second)


@program(COUNTS, NUMBER)
def records_moved_to_another_list(n: Tensor):
    first, second = grown(int(n)), grown(int(n))
    second.append(first[0])
    first[0].append(7)
    return mark(first), mark(second)


@program(COUNTS, NUMBER)
def records_appended_twice(n: Tensor):
    lists = grown(int(n))
    l = [5]
    lists.append(l)
    lists.append(l)
    lists[-1].append(7)
    return mark(lists)


@program(COUNTS, NUMBER)
def records_appended_in_each_iteration(n: Tensor):
    lists = [[9]]
    l = [5]
    for i in range(int(n)):
        lists.append(l)
    lists[-1].append(7)
    return mark(lists)


@program(COUNTS, NUMBER)
def records_own_item_appended(n: Tensor):
    lists = grown(int(n))
    lists.append(lists[0])
    lists[0].append(7)
    return mark(lists)


@program(COUNTS, NUMBER)
def records_repeated(n: Tensor):
    lists = grown(int(n)) * 2
    lists[0].append(7)
    return mark(lists)


@program(COUNTS, NUMBER)
def records_added_to_itself(n: Tensor):
    lists = grown(int(n))
    lists = lists + lists
    lists[0].append(7)
    return mark(lists)


@program(COUNTS, NUMBER)
def records_extended_by_itself(n: Tensor):
    lists = grown(int(n))
    lists.extend(lists)
    lists[0].append(7)
    return mark(lists)


@program(COUNTS, NUMBER)
def records_twice_before_the_loop(n: Tensor):
    l = [1]
    lists = [l, l]
    for i in range(int(n)):
        lists.append([i])
    lists[0].append(5)
    return mark(lists)


@program(COUNTS, NUMBER)
def records_twice_in_a_tuple(n: Tensor):
    pairs: List[Tuple[List[int], List[int]]] = []
    for i in range(int(n)):
        pairs.append(([i], [i]))
    l = [int(n)]
    pairs.append((l, l))
    pairs[-1][0].append(9)
    return pairs[-1][1][-1], len(pairs[-1][1])


@program(COUNTS, NUMBER)
def records_one_place_gets_what_another_holds(n: Tensor):
    dicts: List[Dict[str, List[int]]] = []
    for i in range(int(n)):
        dicts.append({"a": [i], "b": [i]})
    for d in dicts:
        d["a"] = d["b"]
    for d in dicts:
        d["a"].append(3)
    s = 0
    for d in dicts:
        s = s * 3 + len(d["b"])
    return s


@program(COUNTS, NUMBER)
def records_of_a_tuple_written(n: Tensor):
    """[i] and [i] are two objects, though they are equal."""
    pairs: List[Tuple[List[int], List[int]]] = []
    for i in range(int(n)):
        pairs.append(([i], [i]))
    for first, second in pairs:
        first.append(len(second))
    s = 0
    for first, second in pairs:
        s = s * 5 + len(first) * 2 + len(second)
    return s


@program(COUNTS_AND_FLAGS, NUMBER, FLAG)
def records_appended_to_one_of_two_lists(n: Tensor, f: Tensor):
    first, second = grown(int(n)), grown(int(n) + 1)
    either = first if bool(f > 0) else second
    l = [4]
    either.append(l)
    l.append(3)
    return mark(first), mark(second)


@program(COUNTS, NUMBER)
def records_kept_in_beams(n: Tensor):
    """Lists that two beams share."""
    beams: List[Tuple[List[int], float]] = [([0], 0.0)]
    for step in range(int(n)):
        longer: List[Tuple[List[int], float]] = []
        for tokens, score in beams:
            for token in range(2):
                longer.append((tokens, score + token))
        beams = longer[:4]
        beams[0][0].append(step)
    s = 0
    for tokens, score in beams:
        s = s * 7 + len(tokens)
    return s


@program(COUNTS, NUMBER)
def records_slice_written(n: Tensor):
    lists = grown(int(n))
    some = lists[:2]
    some[0].append(7)
    return mark(some), mark(lists)


@program(COUNTS, NUMBER)
def records_read_then_popped_then_written(n: Tensor):
    lists = grown(int(n))
    first = lists[0]
    lists.pop()
    first.append(1)
    return mark(lists), len(first)


@program(COUNTS, NUMBER)
def records_carried_item(n: Tensor):
    lists = grown(int(n))
    l = lists[0]
    for i in range(len(lists)):
        l.append(i)
        l = lists[i]
    return mark(lists), len(l)


# ---- Tuples, dictionaries, objects, texts

@program(ROWS_AND_COUNTS, N3, NUMBER)
def records_beam_search(x: Tensor, n: Tensor):
    beams: List[Tuple[List[int], float]] = [([0], 0.0)]
    for step in range(int(n)):
        longer: List[Tuple[List[int], float]] = []
        for tokens, score in beams:
            for token in range(3):
                longer.append((tokens + [token], score + float(x.sum()) * token - step))
        beams = longer[:4]
    s, best = 0, 0.0
    for tokens, score in beams:
        for token in tokens:
            s = (s * 3 + token) % 100003
        best = best * 0.5 + score
    return s, best


@program(COUNTS, NUMBER)
def records_stack(n: Tensor):
    stack: List[Tuple[int, int]] = [(0, int(n))]
    s = 0
    while len(stack) > 0:
        a, b = stack.pop()
        s = (s * 3 + b - a) % 100003
        if b - a > 1:
            m = (a + b) // 2
            stack.append((a, m))
            stack.append((m, b))
    return s


@program(COUNTS, NUMBER)
def records_sorted(n: Tensor):
    """Ties, negative numbers and floats."""
    pairs: List[Tuple[int, float]] = []
    for i in range(int(n)):
        pairs.append(((i * 3) % 4 - 2, float(i % 3) - 1.5))
        pairs.append(((i * 3) % 4 - 2, float(i % 2) - 0.5))
    upwards = sorted(pairs)
    pairs.sort(reverse=True)
    s, w = 0, 0.0
    for number, weight in upwards + pairs:
        s = (s * 31 + number) % 100003
        w = w * 0.7 + weight
    return s, w


@program(ROWS, N3)
def records_named_tuples(x: Tensor):
    records: List[Record] = []
    for i in range(x.size(0)):
        records.append(Record(i, [i, 2], x[i]))
    for record in records:
        record.trail.append(record.number)
    s, total = 0, torch.zeros(3)
    for record in records:
        total = total * 0.5 + record.row * record.number
        for v in record.trail:
            s = (s * 5 + v) % 10007
    return s, total


@program(COUNTS, NUMBER)
def records_dictionaries(n: Tensor):
    dicts: List[Dict[str, int]] = []
    for i in range(int(n)):
        dicts.append({"a": i, "b": 2})
    for d in dicts:
        d["a"] += 3
    for i in range(len(dicts)):
        dicts[i]["b"] = dicts[i]["a"] * 2
    s = 0
    for d in dicts:
        s = s * 7 + d["a"] * 3 + d["b"]
    return s


@program(COUNTS, NUMBER)
def records_dictionaries_of_other_order(n: Tensor):
    dicts: List[Dict[str, int]] = []
    for i in range(int(n)):
        if i % 2 == 0:
            dicts.append({"a": i, "b": 2})
        else:
            dicts.append({"b": i, "a": 2})
    s = 0
    for d in dicts:
        for v in d.values():
            s = s * 7 + v
    return s


@program(COUNTS, NUMBER)
def records_objects(n: Tensor):
    points: List[Point] = []
    for i in range(int(n)):
        points.append(Point(i, 0.25))
    for point in points:
        point.move(3)
    if len(points) > 0:
        points[-1].move(100)
    s, w = 0, 0.0
    for point in points:
        s = s * 3 + point.number
        w = w * 2 + point.weight
    return s, w


@program(ROWS, N3)
def records_objects_with_lists(x: Tensor):
    tracks: List[Track] = []
    for i in range(x.size(0)):
        tracks.append(Track(x[i], i))
    for track in tracks:
        track.add(x.sum(0))
    for i in range(len(tracks)):
        tracks[i].trail.append(7)
        tracks[i].last = tracks[i].last * 2
    s, total = 0, torch.zeros(3)
    for track in tracks:
        total = total * 0.5 + track.last
        for v in track.trail:
            s = (s * 5 + v) % 10007
    return s, total


@program(COUNTS, NUMBER)
def records_one_object_appended_in_each_iteration(n: Tensor):
    points: List[Point] = []
    point = Point(4, 0.5)
    for i in range(int(n)):
        points.append(point)
    for each in points:
        each.move(1)
    s = 0
    for each in points:
        s = s * 3 + each.number
    return s


@program(COUNTS_AND_FLAGS, NUMBER, FLAG)
def records_texts(n: Tensor, f: Tensor):
    texts: List[str] = []
    for i in range(int(n)):
        texts.append("a" if i % 2 == 0 else "b")
        if i == 3:
            texts.append("c")
    texts[0] = "z"
    texts[-1] = "q" if bool(f > 0) else "b"
    s = 0
    for text in texts:
        s = s * 5 + (1 if text == "a" else 2 if text == "z" else 3 if text == "q" else 4 if text == "c" else 0)
    return s, len(texts)


@program(COUNTS_AND_FLAGS, NUMBER, FLAG)
def records_with_one_text(n: Tensor, f: Tensor):
    d: Dict[str, int] = {"a": int(n), "b": 2}
    d.pop("b")
    for key, number in d.items():
        if bool(f > 0):
            return d.get("a", 7)
        d.setdefault(key, number + 1)
    return 3


@program(COUNTS, NUMBER)
def records_objects_before_the_loop(n: Tensor):
    points = [Point(7, 0.5)]
    for i in range(int(n)):
        points.append(Point(i, 0.25))
    first = points[0]
    number = first.number
    first.move(3)
    points[0].move(4)
    s = 0
    for point in points:
        s = s * 3 + point.number
    return s, number


@program(COUNTS, NUMBER)
def records_part_kept_and_replaced(n: Tensor):
    """The list that stood in the object is written after it has got another one."""
    tracks: List[Track] = []
    for i in range(int(n) + 1):
        tracks.append(Track(torch.zeros(2), i))
    trail = tracks[0].trail
    tracks[0].trail = [5]
    trail.append(9)
    s = 0
    for track in tracks:
        for v in track.trail:
            s = s * 3 + v + 1
    return s, len(trail)


# ---- Dictionaries with numbers as keys

@program(COUNTS, NUMBER)
def records_table_keys_keep_their_order(n: Tensor):
    d: Dict[int, int] = {}
    for i in range(int(n)):
        d[(i * 5) % 4 - 1] = i
    if int(n) - 1 in d:
        d.pop(int(n) - 1)
    d[int(n) - 1] = 50
    if 0 in d:
        d[0] = d.pop(0) + 1
    for i in range(int(n)):
        if i in d and i % 2 == 0:
            del d[i]
    return mark_table(d)


@program(COUNTS, NUMBER)
def records_table_length(n: Tensor):
    d: Dict[int, int] = {}
    for i in range(int(n)):
        d[i // 2] = i
    return len(d), d.get(1, -5)


@program(COUNTS_AND_FLAGS, NUMBER, FLAG)
def records_table_under_two_names(n: Tensor, f: Tensor):
    d: Dict[int, int] = {}
    same = d
    for i in range(int(n)):
        d[i] = i
        same[i + 1] = 5
    copied = d.copy()
    if bool(f > 0):
        same.clear()
    same[77] = 1
    return mark_table(d), mark_table(copied)


@program(COUNTS, NUMBER)
def records_table_of_lists(n: Tensor):
    d: Dict[int, List[int]] = {}
    for i in range(int(n)):
        none: List[int] = []
        d.setdefault(i % 3, none).append(i)
    s = 0
    for k, l in d.items():
        s = (s * 31 + k * 7 + len(l) + sum(l)) % 100003
    return s, len(d)


@program(COUNTS, NUMBER)
def records_table_of_floats(n: Tensor):
    """0.0 and -0.0 are one key, each nan is another."""
    d: Dict[float, int] = {}
    zero = float(n) * 0.0
    d[zero] = 1
    d[-zero] = 2
    d[float(n) / 2] = 3
    nan = float("inf") * zero
    d[nan] = 4
    d[nan] = 5
    s = 0
    for k, v in d.items():
        s = s * 10 + v
    return s, len(d), 0.0 in d, nan in d


@program(COUNTS, NUMBER)
def records_table_and_list_share_items(n: Tensor):
    d: Dict[int, List[int]] = {}
    lists: List[List[int]] = []
    for i in range(int(n)):
        l = [i]
        d[i] = l
        lists.append(l)
    if int(n) > 0:
        lists[0].append(4)
    return mark(list(d.values())), mark(lists)


@program(COUNTS, NUMBER)
def records_table_holds_one_list_twice(n: Tensor):
    d: Dict[int, List[int]] = {}
    l = [1]
    d[int(n)] = l
    d[int(n) + 1] = l
    if int(n) in d:
        d[int(n)].append(4)
    return mark(list(d.values()))


@program(COUNTS_AND_FLAGS, NUMBER, FLAG)
def records_one_of_two_tables(n: Tensor, f: Tensor):
    first: Dict[int, int] = {}
    second: Dict[int, int] = {}
    for i in range(int(n)):
        first[i] = i
        second[i] = i * 2
    either = first if bool(f > 0) else second
    either[int(n)] = 100
    return mark_table(first), mark_table(second)
