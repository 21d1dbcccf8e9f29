"""Attention: masks of every kind, rows without a key, groups of heads, what PyTorch fuses."""
import torch
import torch.nn.functional as F
from torch import nn

from layer_cases import Case

NAMED = ("f32:n,2,l,4", "f32:n,2,s,4", "f32:n,2,s,6")


def qkv(queries=3, keys=5, heads=2, key_heads=2, batch=2):
    return torch.randn(batch, heads, queries, 4), torch.randn(batch, key_heads, keys, 4), torch.randn(batch, key_heads, keys, 6)


def cases():
    attention = F.scaled_dot_product_attention
    hidden = torch.rand(3, 5) < 0.5
    hidden[1] = False
    seen = torch.ones(3, 5, dtype=torch.bool).tril(1)
    minus = torch.zeros(2, 1, 3, 5).masked_fill(~hidden, float("-inf"))
    bias = torch.randn(3, 5)
    key_bias, single = bias[:1].clone(), minus[:1].clone()
    lowest = torch.zeros(3, 5).masked_fill(~hidden, torch.finfo(torch.float32).min)  # of the second row all keys: their mean
    made = {
        "sdpa_plain": Case(lambda q, k, v: attention(q, k, v), [qkv(), qkv(4, 6)], NAMED),
        "sdpa_rank2": Case(lambda q, k, v: attention(q, k, v), [tuple(x[0, 0] for x in qkv())]),
        "sdpa_rank3_scale": Case(lambda q, k, v: attention(q, k, v, scale=0.3), [tuple(x[0] for x in qkv())]),
        "sdpa_bool": Case(lambda q, k, v, m: attention(q, k, v, m), [(*qkv(), hidden), (*qkv(), seen)], opsets=range(9, 27)),
        "sdpa_float": Case(lambda q, k, v, m: attention(q, k, v, m), [(*qkv(), minus), (*qkv(), torch.randn(2, 1, 3, 5))], opsets=range(9, 27)),
        "sdpa_bool_constant": Case(lambda q, k, v: attention(q, k, v, seen), [qkv()], opsets=range(9, 27)),
        "sdpa_float_constant": Case(lambda q, k, v: attention(q, k, v, bias), [qkv()]),
        "sdpa_causal": Case(lambda q, k, v: attention(q, k, v, is_causal=True), [qkv(5, 3)]),
        "sdpa_causal_named": Case(lambda q, k, v: attention(q, k, v, is_causal=True), [qkv(), qkv(7, 4)], NAMED, opsets=range(11, 27)),
        "sdpa_causal_large": Case(lambda q, k, v: attention(q, k, v, is_causal=True), [qkv(150, 140)]),
        "sdpa_grouped": Case(lambda q, k, v: attention(q, k, v, enable_gqa=True), [qkv(heads=6, key_heads=2)]),
        "sdpa_grouped_causal": Case(lambda q, k, v, m: attention(q, k, v, m, enable_gqa=True), [(*qkv(heads=4, key_heads=1), hidden)], opsets=range(9, 27)),
        "sdpa_float_constant_keys": Case(lambda q, k, v: attention(q, k, v, key_bias), [qkv()]),
        "sdpa_float_constant_grouped": Case(lambda q, k, v: attention(q, k, v, single, enable_gqa=True), [qkv(heads=6)], opsets=range(9, 27)),
        "sdpa_float_constant_grouped_keys": Case(lambda q, k, v: attention(q, k, v, key_bias, enable_gqa=True), [qkv(heads=6)]),
        "sdpa_lowest": Case(lambda q, k, v, m: attention(q, k, v, m), [(*qkv(), lowest), (*qkv(), lowest / 2)], opsets=range(9, 27)),
        "sdpa_lowest_constant": Case(lambda q, k, v: attention(q, k, v, lowest), [qkv()]),
        "sdpa_padding": Case(lambda q, k, v, m: attention(q, k, v, m),
                             [(*qkv(), torch.tensor([True, False, True, True, False]).expand(2, 1, 1, 5).clone()),
                              (*qkv(), torch.zeros(2, 1, 1, 5).bool())], opsets=range(9, 27)),
        "sdpa_rank3_batch_mask": Case(lambda q, k, v, m: attention(q, k, v, m), [(*(x[:, 0] for x in qkv()), torch.rand(2, 3, 5) < 0.6)], opsets=range(9, 27)),
        "sdpa_f16": Case(lambda q, k, v: attention(q.half(), k.half(), v.half(), is_causal=True), [qkv()]),
        "sdpa_f64": Case(lambda q, k, v: attention(q, k, v), [tuple(x.double() for x in qkv())]),
    }
    for name, arguments in {"relu": {}, "gelu": dict(activation="gelu"), "first": dict(norm_first=True, activation="gelu")}.items():
        layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, **arguments).eval().requires_grad_(False)
        padding = torch.tensor([[False, False, True], [False, True, True]])
        low = 9 if "activation" in arguments else 7
        made[f"encoder_layer_{name}"] = Case(layer, [(torch.randn(2, 3, 8),), (torch.randn(1, 5, 8),)], ("f32:n,t,8",), opsets=range(low, 27))
        made[f"encoder_layer_{name}_padding"] = Case(lambda x, m, layer=layer: layer(x, src_key_padding_mask=m), [(torch.randn(2, 3, 8), padding)], opsets=range(9, 27))
    heads = nn.MultiheadAttention(8, 2, batch_first=True).eval().requires_grad_(False)
    x, y = torch.randn(2, 3, 8), torch.randn(2, 3, 8)
    made["mha_native"] = Case(lambda x: heads(x, x, x), [(x,)])
    made["mha_native_unaveraged"] = Case(lambda x: heads(x, x, x, average_attn_weights=False), [(x,)])
    made["mha_native_masked"] = Case(lambda x, m: heads(x, x, x, key_padding_mask=m)[0], [(x, torch.tensor([[False, False, True], [False, True, True]]))], opsets=range(9, 27))
    made["mha_native_without_weights"] = Case(lambda x: heads(x, x, x, need_weights=False)[0], [(x,)])
    made["encoder_layer_fixed"] = Case(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval().requires_grad_(False), [(x,)])
    weights = (torch.randn(24, 8), torch.randn(24), torch.randn(8, 8), torch.randn(8))
    made["mha_native_other"] = Case(lambda x, y: torch.ops.aten._native_multi_head_attention(x, y, y, 8, 2, *weights, None, True, True, None), [(x, y)])
    return made
