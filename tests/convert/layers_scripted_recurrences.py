"""Scripted programs: recurrences over lists, loops that end by numbers that are known, texts and enums that come back early."""
import enum
from typing import Dict, List, Tuple

import torch
from torch import Tensor, nn

from script_programs import Programs, FLAG, N3, r

programs = Programs()
program = programs.add
cases = programs.cases
ROWS = [(r(n, 3),) for n in (4, 1, 6)]


class Weather(enum.Enum):
    DRY = 1
    WET = 2
    SNOW = 3


@program(ROWS, N3)
class recurrence_over_list(nn.Module):
    """The list is empty when the loop begins: its items' dtype follows from what an iteration appends."""

    def forward(self, x: Tensor):
        states: List[Tensor] = []
        for i in range(x.size(0)):
            state = torch.zeros(3)
            if i > 0:
                state = states[i - 1]
            states.append(torch.tanh(x[i] + state))
        return torch.stack(states)


@program([(r(5, 3), torch.tensor([2, 2, 4, 4, -1])), (r(1, 3), torch.tensor([-1])), (r(3, 3), torch.tensor([1, 2, -1]))],
         N3, "i64:n")
class recurrence_over_tree(nn.Module):
    def __init__(self):
        super().__init__()
        self.down = nn.Linear(6, 3)

    def forward(self, x: Tensor, parent: Tensor):
        states: List[Tensor] = []
        for i in range(x.size(0)):
            below = torch.zeros(3)
            for j in range(i):
                if int(parent[j]) == i:
                    below = below + states[j]
            states.append(torch.sigmoid(self.down(torch.cat([x[i], below]))))
        return states[-1], torch.stack(states)


@program(ROWS, N3)
class recurrence_over_stack(nn.Module):
    """Each row looks at all before it."""

    def forward(self, x: Tensor):
        seen: List[Tensor] = []
        for row in x:
            if len(seen) > 0:
                row = row + torch.stack(seen).mean(0)
            seen.append(row)
        return seen[-1]


@program(ROWS, N3)
class known_gcd(nn.Module):
    def gcd(self, a: int, b: int) -> int:
        while b != 0:
            a, b = b, a % b
        return a

    def forward(self, x: Tensor):
        up, down = 8000 // self.gcd(8000, 12000), 12000 // self.gcd(8000, 12000)
        return x.repeat_interleave(up, 0)[::down], torch.ones(up, down)


@program(ROWS, N3)
class known_loop_with_branch(nn.Module):
    """Collatz: which way an iteration goes is known, too."""

    def forward(self, x: Tensor):
        n, steps = 27, 0
        while n > 1 and steps < 40:
            if n % 2 == 0:
                n = n // 2
            else:
                n = 3 * n + 1
            steps += 1
        return x * n, torch.zeros(steps)


@program([(torch.tensor([0.5, 0.2, 3.0]),), (torch.tensor([-2.0]),), (torch.tensor([0.1, 0.2]),), (torch.zeros(0),)], "f32:n")
class text_early_in_loop(nn.Module):
    def find(self, x: Tensor) -> Tuple[int, str]:
        if x.numel() == 0:
            return -1, "none"
        for i in range(x.size(0)):
            if float(x[i]) > 1:
                return i, "up"
            if float(x[i]) < -1:
                return i, "down"
        return -1, "flat"

    def forward(self, x: Tensor):
        at, kind = self.find(x)
        codes: Dict[str, int] = {"none": 0, "up": 1, "down": 2, "flat": 3}
        if kind == "up":
            return x * 2, at + codes[kind]
        return x, at - codes[kind]


@program([(torch.tensor([0.5, -0.2]),), (torch.tensor([-2.0, 1.0]),), (torch.tensor([0.1, -3.0]),)], "f32:2")
class enum_is(nn.Module):
    """In TorchScript no member is the one that another place names, even where they are equal."""

    def kind(self, x: float) -> Weather:
        if x < 0:
            return Weather.SNOW
        if x < 0.3:
            return Weather.WET
        return Weather.DRY

    def forward(self, x: Tensor):
        kind = self.kind(float(x[0]))
        if kind is Weather.SNOW:
            x = x + 100
        if kind is not Weather.WET:
            x = x + 10
        if kind == Weather.SNOW:
            x = x + 1
        return x


@program(ROWS, N3)
class text_of_float(nn.Module):
    def forward(self, x: Tensor):
        out: Dict[str, Tensor] = {}
        for scale in (0.5, 1.0, 0.1):
            out[f"x{scale}"] = x * scale
        return out["x0.5"] + out["x1."] * 2 - out["x" + str(0.1)]


@program([(torch.tensor([[0, 1], [2, 3], [1, 3]]), torch.tensor(5)), (torch.zeros(0, 2, dtype=torch.long), torch.tensor(3)),
          (torch.tensor([[0, 2]]), torch.tensor(3))], "i64:e,2", FLAG)
class rows_of_matrix(nn.Module):
    """Union-find over edges."""

    def find(self, parent: List[int], i: int) -> int:
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        return i

    def forward(self, edges: Tensor, count: Tensor):
        n = int(count)
        parent = [i for i in range(n)]
        pairs: List[List[int]] = edges.tolist()
        for pair in pairs:
            a, b = self.find(parent, pair[0]), self.find(parent, pair[1])
            if a != b:
                parent[max(a, b)] = min(a, b)
        return torch.tensor([self.find(parent, i) for i in range(n)])


@program([(r(4, 5),), (r(1, 1),), (r(2, 6),)], "f32:n,m")
class table_of_costs(nn.Module):
    """Dynamic time warping."""

    def forward(self, cost: Tensor):
        n, m = cost.size(0), cost.size(1)
        table: List[List[float]] = []
        for i in range(n + 1):
            table.append([1e9] * (m + 1))
        table[0][0] = 0.0
        for i in range(1, n + 1):
            for j in range(1, m + 1):
                best = min(table[i - 1][j], min(table[i][j - 1], table[i - 1][j - 1]))
                table[i][j] = float(cost[i - 1, j - 1]) + best
        return table[n][m], torch.tensor(table[n])
