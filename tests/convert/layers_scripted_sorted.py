"""Scripted programs that sort objects by their method __lt__."""
from typing import List, Optional

import torch
from torch import Tensor

from script_programs import Programs

programs = Programs()
program = programs.add
cases = programs.cases


def rows(*counts: int):
    made = torch.Generator().manual_seed(5)
    return [(torch.randint(-3, 4, (count, 3), generator=made).float(),) for count in counts]  # many are equal


ROWS, THREE_ROWS = rows(5, 9, 1, 0, 16), rows(3, 3, 3, 3)


@torch.jit.script
class Scored(object):
    def __init__(self, score: float, number: int):
        self.score = score
        self.number = number

    def __lt__(self, other: "Scored") -> bool:
        return self.score < other.score


@torch.jit.script
class Beam(object):
    def __init__(self, score: Tensor, tokens: List[int]):
        self.score = score
        self.tokens = tokens
        self.parent = torch.jit.annotate(Optional[int], None)

    def __lt__(self, other: "Beam") -> bool:
        return bool(self.score > other.score)


@torch.jit.script
class Ranked(object):
    def __init__(self, rank: int, score: float, place: Tensor):
        self.rank = rank
        self.score = score
        self.place = place

    def __lt__(self, other: "Ranked") -> bool:
        if self.rank != other.rank:
            return self.rank < other.rank
        return self.score < other.score


@torch.jit.script
class Worse(object):  # not a strict order: equal ones come in the opposite order
    def __init__(self, score: float, number: int):
        self.score = score
        self.number = number

    def __lt__(self, other: "Worse") -> bool:
        return self.score <= other.score


@program(ROWS, "f32:n,3")
def sorted_objects(x: Tensor):
    items = [Scored(float(x[i].sum()), i) for i in range(x.size(0))]
    ordered = sorted(items)
    numbers = [item.number for item in ordered]
    return torch.tensor(numbers), torch.tensor([item.number for item in items]), torch.tensor([i.score for i in ordered])


@program(ROWS, "f32:n,3")
def sorted_objects_in_place(x: Tensor):
    items: List[Scored] = []
    for i in range(x.size(0)):
        items.append(Scored(float(x[i].sum()), i))
    items.sort()
    return torch.tensor([item.number for item in items])


@program(ROWS, "f32:n,3")
def sorted_objects_backwards(x: Tensor):
    items: List[Scored] = []
    for i in range(x.size(0)):
        items.append(Scored(float(x[i, 0]), i))
    items.sort(reverse=True)
    return torch.tensor([item.number for item in items])


@program(THREE_ROWS, "f32:3,3")
def sorted_objects_of_known_number(x: Tensor):
    items = [Scored(float(x[0].sum()), 0), Scored(float(x[1].sum()), 1), Scored(float(x[2].sum()), 2)]
    items.sort()
    best = items[0]
    return best.number, best.score, items[1].number, items[2].number


@program([(torch.tensor([3.0, 1.0, 2.0]),), (torch.tensor([0.0, 4.0, 2.0]),)], "f32:3")
def sorted_constant_objects(x: Tensor):
    items = [Scored(3.0, 0), Scored(1.0, 1), Scored(2.0, 2), Scored(1.0, 3)]
    return x * sorted(items)[1].number, x[sorted(items)[0].number]


@program(ROWS, "f32:n,3")
def sorted_objects_by_two_keys(x: Tensor):
    items = [Ranked(int(x[i, 0]), float(x[i, 1]), x[i]) for i in range(x.size(0))]
    items.sort()
    places = [item.place for item in items]
    return torch.stack(places) if len(places) > 0 else x


@program(ROWS, "f32:n,3")
def sorted_objects_that_change(x: Tensor):
    items = [Scored(float(x[i].sum()), i) for i in range(x.size(0))]
    ordered = sorted(items)
    for i, item in enumerate(ordered):
        item.score = float(i)
    items.sort(reverse=True)
    return torch.tensor([item.number for item in items]), torch.tensor([item.score for item in ordered])


@program(ROWS, "f32:n,3")
def sorted_objects_not_strictly(x: Tensor):
    items = [Worse(float(x[i, 0]), i) for i in range(x.size(0))]
    items.sort()
    other = [Worse(float(x[i, 1]), i) for i in range(x.size(0))]
    other.sort(reverse=True)
    return torch.tensor([item.number for item in items]), torch.tensor([item.number for item in other])


@program([(torch.tensor(t),) for t in ([1.0, float("nan"), 0.0, 2.0, 1.0], [float("nan"), 3.0, float("nan"), 1.0, 2.0, float("nan"), -1.0], [1.0])], "f32:n")
def sorted_objects_with_nan(x: Tensor):
    items = [Scored(float(x[i]), i) for i in range(x.size(0))]
    items.sort()
    return torch.tensor([item.number for item in items])


@program(ROWS, "f32:n,3")
def sorted_objects_twice_in_a_list(x: Tensor):
    items: List[Scored] = []
    for i in range(x.size(0)):
        item = Scored(float(x[i].sum()), i)
        items.append(item)
        if i % 2 == 0:
            items.append(item)
        items[0].score += 1.0
    items = items[:16]
    items.sort()
    return torch.tensor([item.number for item in items]), torch.tensor([item.score for item in items])


@program(ROWS, "f32:n,3")
def sorted_objects_that_keep_the_best(x: Tensor):
    heap: List[Scored] = []
    for i in range(x.size(0)):
        heap.append(Scored(float(x[i].sum()), i))
        heap.sort()
        if len(heap) > 3:
            heap.pop(0)
    return torch.tensor([item.number for item in heap])


@program(ROWS, "f32:n,3")
def sorted_queue(x: Tensor):
    queue: List[Scored] = []
    taken: List[int] = []
    for i in range(x.size(0)):
        queue.append(Scored(float(x[i].sum()), i))
        queue.sort()
        while len(queue) > 0:
            first = queue[0]
            if first.score > float(i):
                break
            queue.pop(0)
            taken.append(first.number)
    return torch.tensor(taken), torch.tensor([item.number for item in queue])


@program([(x, torch.randn(3, generator=torch.Generator().manual_seed(i))) for i, (x,) in enumerate(rows(4, 1, 6, 2))], "f32:n,3", "f32:3")
def sorted_beams(x: Tensor, bias: Tensor):
    beams = [Beam(torch.zeros(()), [0])]
    for step in range(x.size(0)):
        grown: List[Beam] = []
        for beam in beams:
            for token in range(3):
                made = Beam(beam.score + x[step, token] * 0.3 + bias[token], beam.tokens + [token])
                made.parent = beam.tokens[-1]
                grown.append(made)
        beams = sorted(grown)[:2]
    best = beams[0]
    parent = best.parent
    return torch.tensor(best.tokens), best.score, parent if parent is not None else -1


@program([(x, torch.tensor(f)) for x, f in zip([r for (r,) in ROWS], (True, False, True, False, False))], "f32:n,3", "bool:scalar")
def sorted_objects_in_branches(x: Tensor, flag: Tensor):
    items = [Scored(float(x[i].sum()), i) for i in range(x.size(0))]
    if bool(flag):
        items.sort()
    else:
        items = sorted(items)[::-1]
    return torch.tensor([item.number for item in items])


@program([(x, torch.tensor(f)) for x, f in zip([r for (r,) in ROWS], (True, False, True, False, False))], "f32:n,3", "bool:scalar")
def sorted_objects_in_a_chosen_order(x: Tensor, flag: Tensor):
    items = [Scored(float(x[i].sum()), i) for i in range(x.size(0))]
    items.sort(bool(flag))
    return torch.tensor([item.number for item in items])


def order(items: List[Scored], backwards: bool = False) -> List[int]:
    items.sort(reverse=backwards)
    return [item.number for item in items]


@program(ROWS, "f32:n,3")
def sorted_objects_of_a_caller(x: Tensor):
    items = [Scored(float(x[i].sum()), i) for i in range(x.size(0))]
    forwards = order(items)
    return torch.tensor(order(items, True)), torch.tensor(forwards)


@program(rows(4, 1, 7), "f32:n,3")
def sorted_tensors(x: Tensor):
    items = [x[i].sum() for i in range(x.size(0))]
    return torch.stack(sorted(items)), torch.stack(items)


@program(rows(4, 1, 7), "f32:n,3")
def sorted_tensors_backwards(x: Tensor):
    items = [x[i, :1] for i in range(x.size(0))]
    items.sort(reverse=True)
    return torch.cat(items)


@program([(torch.tensor([[1.0, 5.0], [3.0, 2.0], [2.0, 7.0]]),), (torch.tensor([[4.0, 5.0]]),), (torch.zeros(0, 2),),
          (torch.tensor([[4.0, 5.0], [-3.0, 2.0], [1.0, 2.0], [2.0, 2.0]]),)], "f32:n,2")
def sorted_pairs_with_tensors(x: Tensor):
    pairs = [(float(x[i, 0]), x[i]) for i in range(x.size(0))]
    pairs.sort(reverse=True)
    out = torch.zeros(1)
    for score, row in pairs:
        out = out * 2.0 + row.sum() * score
    return out


@program(ROWS, "f32:n,3")
def sorted_tuples_with_tensors(x: Tensor):
    items = [(int(x[i, 0]), x[i].sum(), i) for i in range(x.size(0))]
    return torch.tensor([item[2] for item in sorted(items)])


@program(ROWS, "f32:n,3")
def sorted_pairs_with_objects(x: Tensor):
    items: List[Scored] = []
    for i in range(x.size(0)):
        items.append(Scored(float(x[i].sum()), i))
    pairs = [(int(x[i, 0]), items[i]) for i in range(x.size(0))]
    pairs.sort()
    return torch.tensor([pair[1].number for pair in pairs])


@program([(torch.randperm(n, generator=torch.Generator().manual_seed(n)).float(),) for n in (40, 17, 100, 0)], "f32:n")
def sorted_many_objects(x: Tensor):
    items = [Scored(float(x[i]), i) for i in range(x.size(0))]
    items.sort(reverse=True)
    return torch.tensor([item.number for item in items])


# More than 16 items, many of them equal: in the order that std::sort gives.
@program([(torch.randint(0, high, (count,)).float(),) for count in (0, 1, 16, 17, 40, 100) for high in (1, 3, 1000)], "f32:n")
def sorted_equal_objects(x: Tensor):
    items: List[Scored] = []
    for i in range(x.size(0)):
        items.append(Scored(float(x[i]), i))
    items.sort()
    rising = torch.tensor([item.number for item in items])
    items.sort(reverse=True)
    return rising, torch.tensor([item.number for item in items])
