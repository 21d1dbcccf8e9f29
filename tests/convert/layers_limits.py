"""Programs just below, at and above the sizes at which they were refused once, and far above."""
import torch
from torch import nn

from layer_cases import Case


class Table(nn.Module):
    """A constant table, written element by element. Short loops are unrolled."""

    def __init__(self, n: int):
        super().__init__()
        self.n = n

    def forward(self, x):
        table = torch.zeros(self.n, self.n)
        for i in range(self.n):
            for j in range(self.n):
                table[i, j] = float(i * j % 7)
        return x + table


class CostVolume(nn.Module):
    """As stereo matching compares two images at each disparity."""

    def __init__(self, disparities: int):
        super().__init__()
        self.disparities = disparities

    def forward(self, left, right):
        batch, channels, height, width = left.shape
        cost = torch.zeros(batch, 2 * channels, self.disparities, height, width)
        for i in range(self.disparities):
            if i > 0:
                cost[:, :channels, i, :, i:] = left[:, :, :, i:]
                cost[:, channels:, i, :, i:] = right[:, :, :, :-i]
            else:
                cost[:, :channels, i, :, :] = left
                cost[:, channels:, i, :, :] = right
        return cost


class Steps(nn.Module):
    """A recurrence whose states are written row by row."""

    def __init__(self, n: int):
        super().__init__()
        self.n = n

    def forward(self, x):
        states, state = torch.zeros(self.n, 2), torch.zeros(2)
        for i in range(self.n):
            state = torch.tanh(state + x[i])
            states[i] = state
        return states


def cases():
    made = {}
    for n in (17, 18, 32, 33, 60):
        made[f"limits_table_{n}"] = Case(Table(n), [(torch.randn(n, n),)], script=True, opsets=range(7 if n <= 32 else 10, 27))
    for disparities in (150, 192):
        pair = [(torch.randn(1, 2, 1, 200), torch.randn(1, 2, 1, 200))]
        made[f"limits_cost_volume_{disparities}"] = Case(CostVolume(disparities), pair)
    made["limits_cost_volume_scripted"] = Case(CostVolume(192), pair, ("f32:n,c,h,w", "f32:n,c,h,w"), script=True, opsets=range(10, 27))
    for n in (440, 1000):
        made[f"limits_steps_{n}"] = Case(Steps(n), [(torch.randn(n, 2),)])
    return made
