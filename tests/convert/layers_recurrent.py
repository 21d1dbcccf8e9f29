"""Recurrent layers: directions, layers, biases, states, packed sequences; and cells."""
import torch
from torch import nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from layer_cases import Case


def packed(layer, batch_first=False, total=None, value=0.0):
    def run(x, lengths):
        y, state = layer(pack_padded_sequence(x, lengths, batch_first))
        return (*pad_packed_sequence(y, batch_first, value, total), state)
    return run


def twice(layer):
    def run(x, lengths):   # what is done to the data alone
        p = pack_padded_sequence(x, lengths)
        y, state = layer(PackedSequence(p.data * 2 + 1, p.batch_sizes))
        return y.data.tanh(), y.batch_sizes, state
    return run


def cases():
    made = {}
    for kind in (nn.LSTM, nn.GRU, nn.RNN):
        for name, arguments in {"plain": {}, "both": dict(bidirectional=True),
                                "deep": dict(num_layers=3, bidirectional=True, batch_first=True),
                                "bare": dict(bias=False, num_layers=2)}.items():
            layer = kind(3, 5, **arguments).eval().requires_grad_(False)
            label = f"{kind.__name__.lower()}_{name}"
            made[label] = Case(layer, [(torch.randn(4, 2, 3),)])
            made[label + "_packed"] = Case(packed(layer, layer.batch_first),
                                           [(torch.randn(4, 4, 3), torch.tensor([4, 2, 2, 1])),
                                            (torch.randn(4, 4, 3), torch.tensor([4, 4, 3, 3]))], opsets=range(9, 27))
        states = kind(3, 5, num_layers=2).requires_grad_(False)
        if kind is nn.LSTM:
            made["lstm_states_named"] = Case(lambda x, h, c, m=states: m(x, (h, c)),
                                             [(torch.randn(t, b, 3), torch.randn(2, b, 5), torch.randn(2, b, 5))
                                              for t, b in ((4, 2), (6, 3))], ("f32:t,b,3", "f32:2,b,5", "f32:2,b,5"))
        else:
            made[f"{kind.__name__.lower()}_states_named"] = Case(lambda x, h, m=states: m(x, h),
                                                                 [(torch.randn(t, b, 3), torch.randn(2, b, 5))
                                                                  for t, b in ((4, 2), (6, 3))], ("f32:t,b,3", "f32:2,b,5"))
    made["rnn_relu"] = Case(nn.RNN(3, 5, nonlinearity="relu", bidirectional=True).requires_grad_(False), [(torch.randn(4, 2, 3),)])
    made["lstm_f64"] = Case(nn.LSTM(3, 5).double().requires_grad_(False), [(torch.randn(4, 2, 3).double(),)])
    made["lstm_projected"] = Case(nn.LSTM(3, 5, num_layers=2, proj_size=2).requires_grad_(False), [(torch.randn(4, 2, 3),)])
    made["lstm_projected_both"] = Case(nn.LSTM(3, 5, num_layers=2, proj_size=2, bidirectional=True, bias=False).requires_grad_(False),
                                       [(torch.randn(4, 2, 3),)], opsets=range(10, 27))
    lengths = torch.tensor([3, 2, 2])
    gru = nn.GRU(3, 5).requires_grad_(False)
    made["pack_only"] = Case(lambda x, n: pack_padded_sequence(x, n)[:2], [(torch.randn(5, 3, 3), lengths), (torch.randn(5, 3, 3), torch.tensor([3, 3, 1]))], opsets=range(9, 27))
    made["pack_unpack"] = Case(lambda x, n: pad_packed_sequence(pack_padded_sequence(x, n, True), True), [(torch.randn(3, 3, 2), lengths)], opsets=range(9, 27))
    made["packed_shorter"] = Case(packed(gru, value=-1.0), [(torch.randn(5, 3, 3), lengths)], opsets=range(9, 27))
    made["packed_total"] = Case(packed(gru, total=7, value=2.5), [(torch.randn(5, 3, 3), lengths)], opsets=range(9, 27))
    made["packed_data"] = Case(twice(gru), [(torch.randn(5, 3, 3), lengths)], opsets=range(9, 27))
    made["packed_named"] = Case(packed(nn.LSTM(3, 5, bidirectional=True).requires_grad_(False)),
                                [(torch.randn(4, 4, 3), torch.tensor([4, 2, 2, 1])), (torch.randn(6, 2, 3), torch.tensor([5, 3]))],
                                ("f32:t,b,3", "i64:b"), opsets=range(9, 27))
    made["lstm_cell"] = Case(lambda x, h, c, m=nn.LSTMCell(3, 5).requires_grad_(False): m(x, (h, c)), [(torch.randn(2, 3), torch.randn(2, 5), torch.randn(2, 5))])
    made["gru_cell"] = Case(lambda x, h, m=nn.GRUCell(3, 5, bias=False).requires_grad_(False): m(x, h), [(torch.randn(2, 3), torch.randn(2, 5))])
    for kind in ("tanh", "relu"):
        made[f"rnn_cell_{kind}"] = Case(lambda x, h, m=nn.RNNCell(3, 5, nonlinearity=kind).requires_grad_(False): m(x, h), [(torch.randn(2, 3), torch.randn(2, 5))])
    return made
