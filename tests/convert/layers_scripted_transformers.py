"""Scripted transformers: without gradients, they pack what isn't padding into nested tensors and call operators of whole layers."""
import torch
from torch import nn

from layer_cases import Case

WITH_MASK = ("f32:n,t,8", "bool:n,t")


def masks(n, t):
    """Padding behind, padding anywhere, none, and a whole row beside others."""
    row = torch.arange(n) == 1
    return [torch.arange(t)[None] >= torch.arange(1, n + 1)[:, None], torch.rand(n, t) > 0.7, torch.zeros(n, t, dtype=torch.bool), row[:, None].repeat(1, t)]


class Padded(nn.Module):
    def __init__(self, heads=2, layers=2, norm=False, **arguments):
        super().__init__()
        layer = nn.TransformerEncoderLayer(8, heads, 16, batch_first=True, **arguments)
        self.encoder = nn.TransformerEncoder(layer, layers, norm=nn.LayerNorm(8) if norm else None)

    def forward(self, x, padding):
        return self.encoder(x, src_key_padding_mask=padding)


class Unpadded(Padded):
    def forward(self, x):
        return self.encoder(x)


class Causal(Padded):
    """Two masks aren't packed."""

    def forward(self, x, padding):
        mask = torch.ones(x.size(1), x.size(1), dtype=torch.bool, device=x.device).triu(1)
        return self.encoder(x, mask=mask, src_key_padding_mask=padding)


class Plain(Padded):
    def __init__(self):
        super().__init__()
        self.encoder.enable_nested_tensor = self.encoder.use_nested_tensor = False


class Two(nn.Module):
    """One after the other, with the same mask and its opposite of another name."""

    def __init__(self):
        super().__init__()
        self.first, self.second = Padded(), Padded(layers=1, norm=True)

    def forward(self, x, padding):
        y = self.first(x, padding)
        return self.second(y + x, padding), y


class Scores(nn.Module):
    """A mask of floats."""

    def __init__(self):
        super().__init__()
        self.inner = Padded()

    def forward(self, x, padding):
        bias = torch.zeros(x.size(0), x.size(1), dtype=x.dtype).masked_fill(padding, float("-inf"))
        return self.inner(x, bias)


class Heads(nn.Module):
    def __init__(self):
        super().__init__()
        self.heads = nn.MultiheadAttention(8, 2, batch_first=True)

    def forward(self, x, padding):
        return self.heads(x, x, x, key_padding_mask=padding)


class Asks(nn.Module):
    """What a model does with gradients isn't what it does where it serves."""

    def forward(self, x):
        if torch.is_grad_enabled():
            return x * 2
        return x + 1


def cases():
    torch.manual_seed(5)
    given = [(torch.randn(n, t, 8), mask) for n, t in ((2, 3), (4, 5)) for mask in masks(n, t)]
    whole = [one for one in given if not bool(one[1].all(1).any())]
    made = {f"encoder_padded_{name}": Case(module.eval(), given, WITH_MASK, script=True, opsets=range(9, 27))
            for name, module in {"relu": Padded(), "gelu": Padded(activation="gelu"), "first": Padded(norm_first=True), "norm": Padded(norm=True),
                                 "two": Two(), "plain": Plain(), "floats": Scores()}.items()}
    made["encoder_padded_odd"] = Case(Padded(heads=1).eval(), given, WITH_MASK, script=True, opsets=range(11, 27))
    made["encoder_padded_causal"] = Case(Causal().eval(), whole, WITH_MASK, script=True, opsets=range(9, 27))
    made["encoder_unpadded"] = Case(Unpadded().eval(), [(torch.randn(2, 3, 8),), (torch.randn(1, 5, 8),)], WITH_MASK[:1], script=True)
    made["heads_padded"] = Case(Heads().eval(), whole, WITH_MASK, script=True, opsets=range(9, 27))
    made["asks_for_gradients"] = Case(Asks(), [(torch.randn(2, 3),)], script=True)
    return made
