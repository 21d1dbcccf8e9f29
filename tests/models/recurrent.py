"""Recurrent networks: packed sequences, stacked and bidirectional layers, cells in a loop."""
from typing import List, Optional, Tuple

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from registry import Example


class PackedLSTM(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(50, 8, padding_idx=0)
        self.lstm = nn.LSTM(8, 12, num_layers=2, bidirectional=True, batch_first=True)
        self.head = nn.Linear(48, 5)

    def forward(self, ids: Tensor, lengths: Tensor) -> Tensor:
        packed = pack_padded_sequence(self.embed(ids), lengths, batch_first=True)   #: aten::_pack_padded_sequence
        output, (h, c) = self.lstm(packed)                                          #: aten::lstm
        padded, _ = pad_packed_sequence(output, batch_first=True)                   #: aten::_pad_packed_sequence
        return self.head(torch.cat([padded.mean(1), h[-1], c[-1]], 1))


class PackedGRU(nn.Module):
    """Lengths in any order: the sequences are sorted before packing and put back after."""

    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(6, 10, num_layers=1, bidirectional=False)

    def forward(self, x: Tensor, lengths: Tensor) -> Tuple[Tensor, Tensor]:
        packed = pack_padded_sequence(x, lengths, enforce_sorted=False)
        output, h = self.gru(packed)                                                #: aten::gru
        padded, _ = pad_packed_sequence(output, padding_value=-1.0)
        return padded, h


class Stacked(nn.Module):
    """Every kind of recurrent layer on one sequence, one with an initial state."""

    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(6, 8, num_layers=2, dropout=0.1, bidirectional=True)
        self.projected = nn.LSTM(16, 8, proj_size=4)
        self.gru = nn.GRU(4, 8, num_layers=2, bias=False)
        self.tanh = nn.RNN(8, 8, nonlinearity="tanh")
        self.relu = nn.RNN(8, 8, nonlinearity="relu", bidirectional=True)

    def forward(self, x: Tensor, h: Tensor) -> Tuple[Tensor, Tensor]:
        x, _ = self.lstm(x)
        x, _ = self.projected(x)
        x, state = self.gru(x, h)
        x, _ = self.tanh(x)
        x, _ = self.relu(x)
        return x, state


class PlainLSTM(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(6, 8, batch_first=True)
        self.head = nn.Linear(8, 3)

    def forward(self, x: Tensor, h: Tensor, c: Tensor) -> Tuple[Tensor, Tensor, Tensor]:
        y, (h, c) = self.lstm(x, (h, c))
        return self.head(y[:, -1]), h, c


class CellLoop(nn.Module):
    """A cell unrolled by hand: scripted, a loop over a list of states; traced, as many cells as steps."""

    def __init__(self):
        super().__init__()
        self.cell = nn.LSTMCell(6, 8)
        self.gru = nn.GRUCell(8, 8)

    def forward(self, x: Tensor, state: Optional[Tuple[Tensor, Tensor]] = None) -> Tensor:
        if state is None:
            zeros = torch.zeros(x.size(1), 8, dtype=x.dtype, device=x.device)
            state = (zeros, zeros)
        h, c = state
        g = torch.zeros_like(h)
        outputs: List[Tensor] = []
        for i in range(x.size(0)):
            h, c = self.cell(x[i], (h, c))
            g = self.gru(h, g)
            outputs.append(g)
        return torch.stack(outputs)


def lstm_packed() -> Example:
    return Example(PackedLSTM(), (torch.randint(1, 50, (3, 7)), torch.tensor([7, 5, 2])))


def gru_packed() -> Example:
    return Example(PackedGRU(), (torch.randn(7, 3, 6), torch.tensor([3, 7, 5])))


def recurrent() -> Example:
    return Example(Stacked(), (torch.randn(5, 2, 6), torch.randn(2, 2, 8)))


def lstm() -> Example:
    return Example(PlainLSTM(), (torch.randn(2, 5, 6), torch.zeros(1, 2, 8), torch.zeros(1, 2, 8)))


def lstm_cell() -> Example:
    return Example(CellLoop(), (torch.randn(4, 2, 6),))
