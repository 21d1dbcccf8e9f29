"""Programs as they are written every day: values that may be missing, lists that grow and shrink, dictionaries filled on the way."""
from typing import Dict, List, NamedTuple, Optional, Tuple

import torch

from script_programs import FLAG, FLAGS, N3, ROWS, SOME, Programs, TWO_FLAGS, r

programs = Programs()
cases = programs.cases
FLAGGED = (N3, FLAG)


@programs.add(FLAGS, *FLAGGED)
def natural_mask_or_none(x, f):
    mask: Optional[torch.Tensor] = None
    if bool(f > 0):
        mask = x > 0
    y = x * 2
    if mask is not None:
        y = y * mask
    return y


@programs.add(FLAGS, *FLAGGED)
def natural_default_bias(x, f):
    bias: Optional[torch.Tensor] = None
    if bool(f > 0):
        bias = x.sum(0)
    if bias is None:
        bias = torch.zeros(3)
    return x + bias


def pick(x: torch.Tensor, wanted: int) -> Optional[torch.Tensor]:
    if wanted > 0:
        return x.cumsum(0)
    return None


@programs.add(FLAGS, *FLAGGED)
def natural_function_returns_none(x, f):
    found = pick(x, int(f))
    if found is None:
        return x
    return found + x


@programs.add(SOME, N3)
def natural_best_so_far(x):
    best: Optional[torch.Tensor] = None
    for i in range(x.size(0)):
        row = x[i]
        if best is None:
            best = row
        elif bool(row.sum() > best.sum()):
            best = row
    assert best is not None
    return best


@programs.add(ROWS, N3)
def natural_last_positive(x):
    last: Optional[torch.Tensor] = None
    for i in range(x.size(0)):
        if bool(x[i].sum() > 0):
            last = x[i]
    if last is not None:
        return last * 2
    return torch.zeros(3)


@programs.add(ROWS, N3)
def natural_previous(x):
    previous: Optional[torch.Tensor] = None
    total = torch.zeros(3)
    for i in range(x.size(0)):
        if previous is not None:
            total = total + x[i] * previous
        previous = x[i]
    return total


@programs.add(ROWS, N3)
def natural_state_pair(x):
    state: Optional[Tuple[torch.Tensor, torch.Tensor]] = None
    out: List[torch.Tensor] = []
    for i in range(x.size(0)):
        if state is None:
            h, c = torch.zeros(3), torch.ones(3)
        else:
            h, c = state
        h = torch.tanh(x[i] + h * c)
        c = c * 0.5
        state = (h, c)
        out.append(h)
    if len(out) == 0:
        return torch.zeros(0, 3)
    return torch.stack(out)


@programs.add(ROWS, N3)
def natural_index_of_best(x):
    best = -1
    score = -1e9
    for i in range(x.size(0)):
        s = float(x[i].sum())
        if s > score:
            score = s
            best = i
    if best < 0:
        return torch.zeros(3)
    return x[best]


@programs.add(ROWS, N3)
def natural_maybe_int(x):
    first: Optional[int] = None
    for i in range(x.size(0)):
        if bool(x[i, 0] > 0) and first is None:
            first = i
    if first is None:
        return torch.tensor(-1)
    return torch.tensor(first)


@programs.add(TWO_FLAGS, N3, FLAG, FLAG)
def natural_nested_optional(x, f, g):
    y: Optional[torch.Tensor] = None
    if bool(f > 0):
        if bool(g > 0):
            y = x * 3
        else:
            y = x - 1
    if y is not None and bool(g > 0):
        x = x + y
    return x


@programs.add(TWO_FLAGS, N3, FLAG, FLAG)
def natural_two_optionals(x, f, g):
    a: Optional[torch.Tensor] = None
    b: Optional[torch.Tensor] = None
    if bool(f > 0):
        a = x.exp()
    if bool(g > 0):
        b = x * x
    if a is not None and b is not None:
        return a + b
    if a is not None:
        return a
    if b is not None:
        return b
    return x


class Found(NamedTuple):
    value: torch.Tensor
    score: torch.Tensor


@programs.add(FLAGS, *FLAGGED)
def natural_optional_named_tuple(x, f):
    found: Optional[Found] = None
    if bool(f > 0):
        found = Found(x.sum(0), x.mean())
    if found is not None:
        return found.value + found.score
    return torch.zeros(3)


# ---- Lists


@programs.add(ROWS, N3)
def natural_pairs(x):
    pairs: List[Tuple[torch.Tensor, int]] = []
    for i in range(x.size(0)):
        pairs.append((x[i] * 2, i))
    total = torch.zeros(3)
    for row, i in pairs:
        total = total + row * float(i)
    return total


@programs.add(SOME, N3)
def natural_last_pair(x):
    pairs: List[Tuple[torch.Tensor, torch.Tensor]] = []
    for i in range(x.size(0)):
        if bool(x[i].sum() > 0) or i == 0:
            pairs.append((x[i], x[i].abs()))
    a, b = pairs[-1]
    return a + b, torch.tensor(len(pairs))


@programs.add(ROWS, N3)
def natural_kept_rows(x):
    kept: List[torch.Tensor] = []
    for i in range(x.size(0)):
        if bool(x[i].sum() > 0):
            kept.append(x[i])
    if len(kept) > 0:
        return torch.stack(kept)
    return torch.zeros(0, 3)


@programs.add(ROWS, N3)
def natural_window(x):
    window: List[torch.Tensor] = []
    out: List[torch.Tensor] = []
    for i in range(x.size(0)):
        window.append(x[i])
        if len(window) > 2:
            window.pop(0)
        total = torch.zeros(3)
        for w in window:
            total = total + w
        out.append(total)
    if len(out) == 0:
        return x
    return torch.stack(out)


@programs.add(ROWS, N3)
def natural_stack_machine(x):
    stack: List[torch.Tensor] = []
    for i in range(x.size(0)):
        if bool(x[i].sum() > 0) and len(stack) >= 2:
            a = stack.pop()
            b = stack.pop()
            stack.append(a * b)
        stack.append(x[i])
    total = torch.zeros(3)
    while len(stack) > 0:
        total = total * 0.5 + stack.pop()
    return total


@programs.add(ROWS, N3)
def natural_reversed_list(x):
    out: List[torch.Tensor] = []
    h = torch.zeros(3)
    for i in range(x.size(0)):
        h = torch.tanh(h + x[i])
        out.append(h)
    out.reverse()
    if len(out) == 0:
        return x
    return torch.stack(out)


@programs.add(ROWS, N3)
def natural_insert_front(x):
    out: List[torch.Tensor] = []
    for i in range(x.size(0)):
        out.insert(0, x[i])
    if len(out) == 0:
        return x
    return torch.stack(out)


@programs.add(ROWS, N3)
def natural_last_two(x):
    out: List[torch.Tensor] = []
    for i in range(x.size(0)):
        out.append(x[i] + i)
    total = torch.zeros(3)
    for row in out[-2:]:
        total = total + row
    return total


@programs.add(ROWS, N3)
def natural_lengths(x):
    lengths: List[int] = []
    for i in range(x.size(0)):
        lengths.append(int((x[i] > 0).sum()))
    lengths.sort()
    return torch.tensor(lengths)


@programs.add(ROWS, N3)
def natural_lengths_descending(x):
    lengths: List[int] = []
    for i in range(x.size(0)):
        lengths.append(int((x[i] > 0).sum()))
    lengths.sort(reverse=True)
    return torch.tensor(lengths)


@programs.add(ROWS, N3)
def natural_counters(x):
    counts = [0, 0, 0, 0]
    for i in range(x.size(0)):
        counts[int((x[i] > 0).sum())] += 1
    return torch.tensor(counts)


@programs.add(ROWS, N3)
def natural_buckets(x):
    buckets = [torch.zeros(3), torch.zeros(3)]
    for i in range(x.size(0)):
        k = int(bool(x[i].sum() > 0))
        buckets[k] = buckets[k] + x[i]
    return torch.stack(buckets)


@programs.add(ROWS, N3)
def natural_hidden_per_row(x):
    hidden = [torch.zeros(3)] * x.size(0)
    for t in range(2):
        for i in range(x.size(0)):
            hidden[i] = torch.tanh(hidden[i] + x[i])
    if len(hidden) == 0:
        return x
    return torch.stack(hidden)


@programs.add(ROWS, N3)
def natural_positives_and_negatives(x):
    positive: List[torch.Tensor] = []
    negative: List[torch.Tensor] = []
    for i in range(x.size(0)):
        if bool(x[i].sum() > 0):
            positive.append(x[i])
        else:
            negative.append(x[i])
    both = positive + negative
    if len(both) == 0:
        return x
    return torch.stack(both)


@programs.add(ROWS, N3)
def natural_all_any(x):
    flags: List[bool] = []
    for i in range(x.size(0)):
        flags.append(bool(x[i, 0] > 0))
    return torch.tensor(all(flags)), torch.tensor(any(flags))


# ---- Dictionaries


@programs.add(FLAGS, *FLAGGED)
def natural_optional_key(x, f):
    d: Dict[str, torch.Tensor] = {"x": x}
    if bool(f > 0):
        d["mask"] = x > 0
    y = d["x"]
    if "mask" in d:
        y = y * d["mask"]
    return y


@programs.add(FLAGS, *FLAGGED)
def natural_key_not_in(x, f):
    d: Dict[str, torch.Tensor] = {}
    if bool(f > 0):
        d["w"] = x.sum(0)
    if "w" not in d:
        d["w"] = torch.ones(3)
    return x * d["w"]


@programs.add(FLAGS, *FLAGGED)
def natural_get_none(x, f):
    d: Dict[str, torch.Tensor] = {}
    if bool(f > 0):
        d["w"] = x.sum(0)
    w = d.get("w")
    if w is not None:
        x = x * w
    return x


@programs.add(ROWS, N3)
def natural_running_statistics(x):
    stats = {"sum": torch.zeros(3), "max": torch.zeros(3)}
    for i in range(x.size(0)):
        stats["sum"] = stats["sum"] + x[i]
        stats["max"] = torch.maximum(stats["max"], x[i])
    out: List[torch.Tensor] = []
    for k in stats.keys():
        out.append(stats[k])
    return torch.stack(out)


@programs.add(ROWS, N3)
def natural_grouped(x):
    groups: Dict[str, List[torch.Tensor]] = {"a": [], "b": []}
    for i in range(x.size(0)):
        if i % 2 == 0:
            groups["a"].append(x[i])
        else:
            groups["b"].append(x[i])
    return torch.tensor(len(groups["a"]) * 10 + len(groups["b"]))


# ---- Objects


@torch.jit.script
class Tracker:
    def __init__(self, start: torch.Tensor):
        self.total = start
        self.best = torch.jit.annotate(Optional[torch.Tensor], None)
        self.count = 0

    def see(self, row: torch.Tensor):
        self.total = self.total + row
        self.count += 1
        best = self.best
        if best is None:
            self.best = row
        elif bool(row.sum() > best.sum()):
            self.best = row


@programs.add(ROWS, N3)
def natural_tracker(x):
    tracker = Tracker(torch.zeros(3))
    for i in range(x.size(0)):
        tracker.see(x[i])
    best = tracker.best
    if best is None:
        best = torch.zeros(3)
    return tracker.total + best, torch.tensor(tracker.count)


@programs.add(FLAGS, *FLAGGED)
def natural_tracker_once(x, f):
    tracker = Tracker(x.sum(0))
    if bool(f > 0):
        tracker.see(x.mean(0))
    best = tracker.best
    if best is not None:
        return best + tracker.total
    return tracker.total


@programs.add(ROWS, N3)
def natural_two_trackers(x):
    positive = Tracker(torch.zeros(3))
    negative = Tracker(torch.zeros(3))
    for i in range(x.size(0)):
        if bool(x[i].sum() > 0):
            positive.see(x[i])
        else:
            negative.see(x[i])
    return positive.total - negative.total, torch.tensor(positive.count)


# ---- Names of what an Optional or an unfollowed list holds


@programs.add(SOME, N3)
def optional_dict_of_outer_list(x):
    d: Optional[Dict[str, List[torch.Tensor]]] = None
    l = [x[0]]
    for i in range(x.size(0)):
        if d is not None:
            d["a"].append(x[i])
        d = {"a": l}
    return torch.stack(l)


@programs.add(SOME, N3)
def list_held_by_a_slice(x):
    inner = [x]
    part = [inner, [x, x]][:1]
    if x.dim() == 2:
        p = part
    else:
        p = [[x], [x], [x]]
    inner.append(x + 1)
    return torch.stack(p[0])


@programs.add(SOME, N3)
def list_held_by_a_sum(x):
    inner = [x]
    part = [[x], [x, x]][:1]
    if x.dim() == 2:
        p = part
    else:
        p = [[x], [x], [x]]
    b = p + [inner]
    inner.append(x)
    return torch.stack(b[-1])


@programs.add(FLAGS, *FLAGGED)
def optional_from_outside(x, f):
    m: Optional[torch.Tensor] = None
    if bool(f > 0):
        m = x[0]
    o: Optional[torch.Tensor] = None
    for i in range(x.size(0)):
        if o is None:
            o = x[i]
        else:
            o = m
    return torch.tensor(o is not None)


@programs.add(FLAGS, *FLAGGED)
def optional_argument_by_get(x, f):
    d: Dict[str, torch.Tensor] = {}
    l = [x]
    if bool(f > 0):
        d["b"] = x[0]
    l.append(x * 2)
    return torch.nn.functional.linear(x, x, d.get("b")) if x.size(0) == 3 else l[-1]


@programs.add(FLAGS, *FLAGGED)
def values_in_known_order(x, f):
    d = {"a": x}
    if bool(f > 0):
        d["k"] = x * 2
    n = len(d)
    return torch.stack(list(d.values())).sum(0), n


@programs.add(FLAGS, *FLAGGED)
def values_written_again(x, f):
    d = {"a": x}
    if bool(f > 0):
        d["k"] = x * 2
    d["k"] = x * 3
    d["l"] = x * 4
    total = x
    for i, v in enumerate(d.values()):
        total = total + v * i
    return total


@programs.add(FLAGS, *FLAGGED)
def default_set_where_missing(x, f):
    d = {"a": x}
    if bool(f > 0):
        d["k"] = x * 2
    y = d.setdefault("k", x * 5)
    z = d.pop("k", x)
    return y + z, len(d)


@programs.add(FLAGS, *FLAGGED)
def popped_where_there(x, f):
    d: Dict[str, List[torch.Tensor]] = {}
    l = [x]
    if bool(f > 0):
        d["k"] = l
    taken = d.pop("k", [x * 2])
    taken.append(x * 3)
    return torch.stack(taken), torch.stack(l)


@programs.add([(r(n, 3), r(n, 4).double()) for n in (3, 1, 5)], N3, "f64:n,4")
def lists_of_two_dtypes(x, y):
    a: List[torch.Tensor] = []
    b: List[torch.Tensor] = []
    for i in range(x.size(0)):
        a.append(x[i])
        b.append(y[i])
    both = a + b
    return both[0], both[-1]


@programs.add([(r(n, 3),) for n in (3, 5)], N3)
def repeated_numbers(x):
    return torch.tensor([1, 2] * (x.size(0) - 3) + [7])


def weighed(l: List[int]) -> int:
    s = 0
    for i, n in enumerate(l):
        s += n * (i + 1)
    return s


@programs.add([(torch.tensor(f),) for f in (0, 1)], FLAG)
def natural_list_longer_one_way(f):
    l: List[int] = list(range(0))
    m = l
    if bool(f > 0):
        m = torch.jit.annotate(List[int], [])
    m.append(5)
    return weighed(l) + 2 * weighed(m)


@programs.add(ROWS, N3)
def natural_list_grows_one_way(x):
    l: List[int] = [1, 0]
    if x.size(0) > 2:
        return 5
    for i in range(x.size(0)):
        l.append(i)
    return weighed(l)


@programs.add([(torch.tensor(f),) for f in (0, 1, -1)], FLAG)
def natural_dict_smaller_one_way(f):
    d: Dict[str, int] = {"a": 2, "b": 2}
    if bool(f > 0):
        d["b"] = 1
    elif bool(f == 0):
        n = d.pop("b", 3)
    return weighed(list(d.values()))


@programs.add([(r(n, 2),) for n in (3, 1, 0)], "f32:n,2")
def natural_list_made_in_a_loop_or_not(x):
    l: Optional[List[torch.Tensor]] = None
    for t in x:
        l = [x[0]]
    y = torch.full((2,), 7.0)
    if l is not None:
        for i, v in enumerate(l):
            y = y + v * (i + 1)
    return x.sum(0) + 31, y


@torch.jit.script
class Gauge:
    def __init__(self, v: torch.Tensor):
        self.total = v
        self.last = torch.jit.annotate(Optional[torch.Tensor], None)
        self.d = {"m": v}

    def update(self, v: torch.Tensor):
        last = self.last
        if last is not None:
            self.total = self.total + last
        self.last = v


@programs.add([(r(n, 2), torch.tensor(f), torch.tensor(g)) for n, f, g in ((3, 0, 0), (1, 1, 0), (5, 1, 1), (2, 0, 1))], "f32:n,2", FLAG, FLAG)
def natural_one_of_two_gauges(x, f, h):
    one = Gauge(x)
    if bool(h > 0):
        other = Gauge(x[0])
    else:
        one.d["b"] = x
        other = one
    if bool(f > 0):
        one.update(x)
    else:
        one.last = x
        other.update(x)
    return one.total
