"""Scripted programs with control flow, each with the options that state its inputs."""
from typing import Dict, List, Tuple

import torch
from torch import Tensor


class FirstAbove(torch.nn.Module):
    """The loop ends where a value of the input says so."""

    def forward(self, x: Tensor):
        steps, total = 0, torch.zeros(())
        for i in range(x.size(0)):
            steps += 1
            total = total + x[i]
            if bool(x[i] > 0.5):
                break
        return total, steps


class Collatz(torch.nn.Module):
    def forward(self, n: Tensor):
        value, steps = int(n), 0
        while value > 1 and steps < 50:
            value = value // 2 if value % 2 == 0 else 3 * value + 1
            steps += 1
        return value, steps


class Words(torch.nn.Module):
    """Counts words of a text: 14 stands for a space."""

    def forward(self, ids: Tensor):
        words, inside, longest, length = 0, False, 0, 0
        for i in range(ids.size(0)):
            if int(ids[i]) == 14:
                inside = False
                length = 0
            else:
                if not inside:
                    words += 1
                    inside = True
                length += 1
                if length > longest:
                    longest = length
        return words, longest


class Brackets(torch.nn.Module):
    """Depth of nesting; 40 opens and 41 closes."""

    def forward(self, ids: Tensor):
        depth, deepest, valid = 0, 0, True
        for i in range(ids.size(0)):
            letter = int(ids[i])
            if letter == 40:
                depth += 1
                if depth > deepest:
                    deepest = depth
            elif letter == 41:
                depth -= 1
                if depth < 0:
                    valid = False
        return depth, deepest, valid


class RunLengths(torch.nn.Module):
    """Lists that grow: each run of equal ids, and its length."""

    def forward(self, ids: Tensor):
        values: List[Tensor] = []
        lengths: List[int] = []
        count = 1
        for i in range(1, ids.size(0)):
            if bool(ids[i] == ids[i - 1]):
                count += 1
            else:
                values.append(ids[i - 1])
                lengths.append(count)
                count = 1
        values.append(ids[-1])
        lengths.append(count)
        return torch.stack(values), torch.tensor(lengths)


class Collapse(torch.nn.Module):
    """CTC: repeats and blanks are dropped."""

    def forward(self, logits: Tensor):
        best = logits.argmax(-1)
        kept: List[int] = [-1]
        last = 0
        for i in range(best.size(0)):
            token = int(best[i])
            if token != 0 and token != last:
                kept.append(token)
            last = token
        return torch.tensor(kept)


class Beam(torch.nn.Module):
    def forward(self, scores: Tensor):
        best = torch.zeros(1)
        paths = torch.zeros(1, 1, dtype=torch.long)
        for step in range(scores.size(0)):
            total = (best.unsqueeze(1) + scores[step].unsqueeze(0)).reshape(-1)
            best, index = torch.topk(total, 2)
            words = scores.size(1)
            paths = torch.cat([paths[torch.div(index, words, rounding_mode="floor")], (index % words).unsqueeze(1)], 1)
            if bool(best[0] < -2.0):
                break
        return best, paths


class Tracker(torch.nn.Module):
    """Boxes of one dimension: each goes on where a center is near, and starts anew otherwise."""

    def forward(self, centers: Tensor):
        position, age, lost = centers[0], 1, 0
        for i in range(1, centers.size(0)):
            gap = torch.abs(centers[i] - position)
            if bool(gap < 0.75):
                position = 0.5 * position + 0.5 * centers[i]
                age += 1
                lost = 0
            else:
                lost += 1
                if lost > 1:
                    position = centers[i]
                    age = 1
                    lost = 0
        return position, age, lost


class Hysteresis(torch.nn.Module):
    def forward(self, x: Tensor):
        on = False
        states: List[float] = [0.0]
        for i in range(x.size(0)):
            if on:
                if bool(x[i] < -0.25):
                    on = False
            else:
                if bool(x[i] > 0.75):
                    on = True
            states.append(1.0 if on else 0.0)
        return torch.tensor(states)


class Events(torch.nn.Module):
    """A dictionary that counts three kinds."""

    def forward(self, kinds: Tensor):
        counts: Dict[str, int] = {"start": 0, "stop": 0, "other": 0}
        for i in range(kinds.size(0)):
            kind = int(kinds[i])
            if kind == 21:
                counts["start"] += 1
            elif kind >= 30:
                counts["stop"] += 2
            else:
                counts["other"] += 1
        return counts["start"], counts["stop"], counts["other"]


class Bank(torch.nn.Module):
    def forward(self, amounts: Tensor):
        balance, refused = torch.full((), 10.0), 0
        for i in range(amounts.size(0)):
            after = balance + amounts[i]
            if bool(after < 0):
                refused += 1
            elif bool(after > 12):
                balance = torch.full((), 12.0)
            else:
                balance = after
        return balance, refused


class Bisection(torch.nn.Module):
    """Of a sorted row, where a key would stand."""

    def forward(self, x: Tensor, key: Tensor):
        low, high = 0, x.size(0)
        while low < high:
            middle = (low + high) // 2
            if bool(x[middle] < key):
                low = middle + 1
            else:
                high = middle
        return low


class Bubble(torch.nn.Module):
    def forward(self, x: Tensor):
        y = x.clone()
        swaps = 0
        for i in range(y.size(0)):
            for j in range(y.size(0) - 1 - i):
                if bool(y[j] > y[j + 1]):
                    held = y[j].clone()
                    y[j] = y[j + 1]
                    y[j + 1] = held
                    swaps += 1
        return y, swaps


class Decimal(torch.nn.Module):
    """Reads a number from letters: digits, one point, and a sign."""

    def forward(self, text: Tensor):
        value, scale, negative, point = 0.0, 1.0, False, False
        for i in range(text.size(0)):
            letter = int(text[i])
            if letter == 45 and i == 0:
                negative = True
            elif letter == 46:
                point = True
            elif letter >= 48 and letter <= 57:
                value = value * 10.0 + float(letter - 48)
                if point:
                    scale = scale * 10.0
            else:
                break
        if negative:
            value = -value
        return value / scale


class Budget(torch.nn.Module):
    """Adaptive computation: it halts when the sum of the shares is large enough."""

    def forward(self, x: Tensor, limit: float):
        spent, state, steps = 0.0, torch.zeros(3), 0
        while spent < limit and steps < x.size(0):
            spent += 0.25 + abs(float(x[steps, 0]))
            state = state + x[steps]
            steps += 1
        return state, steps


class Switch(torch.nn.Module):
    def forward(self, x: Tensor, mode: int):
        if mode == 7:
            y = x * 2
        elif mode > 20:
            y = x - 3
        elif mode < -4:
            y = -x
        else:
            y = x + 1
        return y


class Suppress(torch.nn.Module):
    """Boxes that overlap a better one are dropped."""

    def forward(self, spans: Tensor):
        kept: List[int] = []
        for i in range(spans.size(0)):
            keep = True
            for j in range(len(kept)):
                other = kept[j]
                overlap = torch.minimum(spans[i, 1], spans[other, 1]) - torch.maximum(spans[i, 0], spans[other, 0])
                if bool(overlap > 0.2):
                    keep = False
            if keep:
                kept.append(i)
        return torch.tensor(kept)


class Stack(torch.nn.Module):
    """A calculator with a stack: 10 adds, 11 multiplies, all else is pushed."""

    def forward(self, ids: Tensor):
        stack: List[int] = [0]
        for i in range(ids.size(0)):
            op = int(ids[i])
            if op == 10 and len(stack) > 2:
                a = stack.pop()
                b = stack.pop()
                stack.append(a + b)
            elif op == 11 and len(stack) > 2:
                a = stack.pop()
                b = stack.pop()
                stack.append(a * b)
            else:
                stack.append(op)
        return torch.tensor(stack)


class Longest(torch.nn.Module):
    """The longest rising run."""

    def forward(self, x: Tensor):
        best, current, end = 1, 1, 0
        for i in range(1, x.size(0)):
            if bool(x[i] > x[i - 1]):
                current += 1
            else:
                current = 1
            if current >= best:
                best = current
                end = i
        return best, end


class Clip(torch.nn.Module):
    def forward(self, x: Tensor):
        norm = float(x.abs().max())
        if norm > 3.0:
            y = x * (3.0 / norm)
        elif norm < 0.125:
            y = torch.zeros_like(x)
        else:
            y = x
        return y


class Until(torch.nn.Module):
    """Greedy decoding until the end token 2, of logits that a table holds."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.table = torch.nn.Embedding(6, 6)

    def forward(self, start: Tensor, most: int):
        token = start
        out: List[Tensor] = [start]
        for i in range(most):
            token = self.table(token).argmax(-1)
            out.append(token)
            if bool(token == 2):
                break
        return torch.stack(out)


class Kinds(torch.nn.Module):
    """The last item that two inputs share, and how often a third of them is negative."""

    def forward(self, a: Tensor, b: Tensor):
        last, negative = -1, 0
        for i in range(a.size(0)):
            if bool(a[i] == b[i]):
                last = i
            if bool(a[i] < 0):
                negative += 1
        return last, negative


PROGRAMS = {
    FirstAbove: ["x=f32:n"],
    Collatz: ["n=i64:1"],
    Words: ["ids=i64:n"],
    Brackets: ["ids=i64:n"],
    RunLengths: ["ids=i64:n"],
    Collapse: ["logits=f32:n,4"],
    Beam: ["scores=f32:n,5"],
    Tracker: ["centers=f32:n"],
    Hysteresis: ["x=f32:n"],
    Events: ["kinds=i64:n"],
    Bank: ["amounts=f32:n"],
    Bisection: ["x=f32:n", "key=f32:1"],
    Bubble: ["x=f32:n"],
    Decimal: ["text=i64:n"],
    Budget: ["x=f32:n,3"],
    Switch: ["x=f32:n"],
    Suppress: ["spans=f32:n,2"],
    Stack: ["ids=i64:n"],
    Longest: ["x=f32:n"],
    Clip: ["x=f32:n"],
    Until: ["start=i64:1"],
    Kinds: ["a=i64:n", "b=i64:n"],
}


# Models that not all values fit.


class Matching(torch.nn.Module):
    """Stable matching of preferences: each row is a permutation."""

    def forward(self, asks: Tensor, answers: Tensor):
        n = asks.size(0)
        partner = torch.full([n], -1, dtype=torch.long)
        turn = torch.zeros(n, dtype=torch.long)
        free: List[int] = []
        for i in range(n):
            free.append(n - 1 - i)
        while len(free) > 0:
            one = free.pop()
            other = int(asks[one, int(turn[one])])
            turn[one] += 1
            now = int(partner[other])
            if now < 0:
                partner[other] = one
            else:
                rank_one, rank_now = 0, 0
                for k in range(n):
                    if int(answers[other, k]) == one:
                        rank_one = k
                    if int(answers[other, k]) == now:
                        rank_now = k
                if rank_one < rank_now:
                    partner[other] = one
                    free.append(now)
                else:
                    free.append(one)
        return partner


class Cycles(torch.nn.Module):
    """Follows a permutation until it is back where it began."""

    def forward(self, next: Tensor):
        at, length = int(next[0]), 1
        while at != 0:
            at = int(next[at])
            length += 1
            assert length <= next.size(0), "not a permutation"
        return length


class Rows(torch.nn.Module):
    """Begins and ends of rows, which rise."""

    def forward(self, data: Tensor, begins: Tensor):
        sums: List[Tensor] = []
        for i in range(begins.size(0) - 1):
            begin, end = int(begins[i]), int(begins[i + 1])
            assert begin <= end and end <= data.size(0), "begins must rise"
            sums.append(data[begin:end].sum())
        return torch.stack(sums)


class CandidateTower(torch.nn.Module):
    """The best of integer scores, which may be equal, pick the rows."""

    def forward(self, scores: Tensor, items: Tensor):
        best = torch.topk(scores, 2)[1]
        picked = items[best]
        total = torch.zeros(items.size(1))
        for i in range(picked.size(0)):
            if bool(picked[i].sum() > 0):
                total = total + picked[i] * (i + 1)
            else:
                total = total - picked[i]
        return total


class Impossible(torch.nn.Module):
    """No made value is the password."""

    def forward(self, ids: Tensor):
        total = 0
        for i in range(ids.size(0)):
            total = total * 31 + int(ids[i])
        assert total % 1000003 == 4242, "wrong password"
        return total


class Falling(torch.nn.Module):
    """Accepts values that fall, as few other ones do."""

    def forward(self, x: Tensor):
        for i in range(1, x.size(0)):
            assert bool(x[i] < x[i - 1]), "x must fall"
        return x * 2


class TwoOfThree(torch.nn.Module):
    """At one size by chance, and at no other with values that anybody guesses."""

    def forward(self, ids: Tensor):
        total = 0
        for i in range(ids.size(0)):
            total = total * 31 + int(ids[i])
        assert total % 2 == 0 or (ids.size(0) == 2 and total % 3 == 0), "two or three"
        assert ids.size(0) == 2 or total % 1000003 == 4242, "wrong password"
        return total


class RunsOn(torch.nn.Module):
    """Values that aren't a permutation let it run for ever."""

    def forward(self, next: Tensor):
        at, length = int(next[0]), 1
        while at != 0:
            at = int(next[at])
            length += 1
        return length


class AlwaysTies(torch.nn.Module):
    """Chooses among equal values in all runs, and more of them than the other side takes in the same order."""

    def forward(self, x: Tensor):
        best = torch.topk(torch.zeros(64) + 0 * x[0], 5)[1]
        total = 0
        for i in range(best.size(0)):
            if int(best[i]) > 2:
                total += int(best[i])
        return total
