"""Llama's block with rotary embeddings as complex numbers: Meta's code, and others that rewrote it."""
import math
from typing import Optional, Tuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from registry import Example

WIDTH, HEADS, GROUPS, VOCABULARY, LENGTH = 32, 4, 2, 60, 64


def precompute_freqs_cis(dim: int, end: int, theta: float = 10000.0) -> Tensor:
    freqs = 1.0 / (theta ** (torch.arange(0, dim, 2)[: (dim // 2)].float() / dim))
    t = torch.arange(end, device=freqs.device, dtype=torch.float32)
    freqs = torch.outer(t, freqs)
    return torch.polar(torch.ones_like(freqs), freqs)  # complex64


def reshape_for_broadcast(freqs_cis: Tensor, x: Tensor) -> Tensor:
    ndim = x.ndim
    assert 0 <= 1 < ndim
    assert freqs_cis.shape == (x.shape[1], x.shape[-1])
    shape = [d if i == 1 or i == ndim - 1 else 1 for i, d in enumerate(x.shape)]
    return freqs_cis.view(*shape)


def apply_rotary_emb(xq: Tensor, xk: Tensor, freqs_cis: Tensor) -> Tuple[Tensor, Tensor]:
    xq_ = torch.view_as_complex(xq.float().reshape(*xq.shape[:-1], -1, 2))
    xk_ = torch.view_as_complex(xk.float().reshape(*xk.shape[:-1], -1, 2))
    freqs_cis = reshape_for_broadcast(freqs_cis, xq_)
    xq_out = torch.view_as_real(xq_ * freqs_cis).flatten(3)
    xk_out = torch.view_as_real(xk_ * freqs_cis).flatten(3)
    return xq_out.type_as(xq), xk_out.type_as(xk)


def rotated(x: Tensor, freqs_cis: Tensor) -> Tensor:
    """As it is written to be scripted."""
    turned = torch.view_as_complex(x.float().unflatten(-1, [-1, 2])) * freqs_cis[None, :, None, :]
    return torch.view_as_real(turned).flatten(-2).to(x.dtype)


def repeat_kv(x: Tensor, n_rep: int) -> Tensor:
    bs, slen, n_kv_heads, head_dim = x.shape
    if n_rep == 1:
        return x
    return x[:, :, :, None, :].expand(bs, slen, n_kv_heads, n_rep, head_dim).reshape(bs, slen, n_kv_heads * n_rep, head_dim)


class RMSNorm(nn.Module):
    def __init__(self, dim: int, eps: float = 1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.rand(dim) + 0.5)

    def _norm(self, x: Tensor) -> Tensor:
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x: Tensor) -> Tensor:
        return self._norm(x.float()).type_as(x) * self.weight


class FeedForward(nn.Module):
    def __init__(self, dim: int, hidden: int):
        super().__init__()
        self.w1 = nn.Linear(dim, hidden, bias=False)
        self.w2 = nn.Linear(hidden, dim, bias=False)
        self.w3 = nn.Linear(dim, hidden, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.w2(F.silu(self.w1(x)) * self.w3(x))


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.n_heads, self.n_kv_heads, self.head_dim = HEADS, GROUPS, WIDTH // HEADS
        self.wq = nn.Linear(WIDTH, HEADS * self.head_dim, bias=False)
        self.wk = nn.Linear(WIDTH, GROUPS * self.head_dim, bias=False)
        self.wv = nn.Linear(WIDTH, GROUPS * self.head_dim, bias=False)
        self.wo = nn.Linear(HEADS * self.head_dim, WIDTH, bias=False)


class MetaAttention(Attention):
    def forward(self, x: Tensor, freqs_cis: Tensor, mask: Optional[Tensor]) -> Tensor:
        bsz, seqlen, _ = x.shape
        xq, xk, xv = self.wq(x), self.wk(x), self.wv(x)
        xq = xq.view(bsz, seqlen, self.n_heads, self.head_dim)
        xk = xk.view(bsz, seqlen, self.n_kv_heads, self.head_dim)
        xv = xv.view(bsz, seqlen, self.n_kv_heads, self.head_dim)
        xq, xk = apply_rotary_emb(xq, xk, freqs_cis=freqs_cis)
        keys, values = repeat_kv(xk, self.n_heads // self.n_kv_heads), repeat_kv(xv, self.n_heads // self.n_kv_heads)
        xq, keys, values = xq.transpose(1, 2), keys.transpose(1, 2), values.transpose(1, 2)
        scores = torch.matmul(xq, keys.transpose(2, 3)) / math.sqrt(self.head_dim)
        if mask is not None:
            scores = scores + mask
        scores = F.softmax(scores.float(), dim=-1).type_as(xq)
        output = torch.matmul(scores, values).transpose(1, 2).contiguous().view(bsz, seqlen, -1)
        return self.wo(output)


class ScriptAttention(Attention):
    """With a cache: keys and values of earlier tokens come in, all of them go out."""

    def forward(self, x: Tensor, freqs_cis: Tensor, past: Tuple[Tensor, Tensor]) -> Tuple[Tensor, Tensor, Tensor]:
        batch, length, _ = x.shape
        q = rotated(self.wq(x).view(batch, length, self.n_heads, -1), freqs_cis)
        k = rotated(self.wk(x).view(batch, length, self.n_kv_heads, -1), freqs_cis)
        v = self.wv(x).view(batch, length, self.n_kv_heads, -1)
        k, v = torch.cat([past[0], k], 1), torch.cat([past[1], v], 1)
        repeats = self.n_heads // self.n_kv_heads
        keys, values = k.repeat_interleave(repeats, 2).transpose(1, 2), v.repeat_interleave(repeats, 2).transpose(1, 2)
        allowed = torch.ones(length, k.size(1), dtype=torch.bool, device=x.device).tril(k.size(1) - length)
        y = F.scaled_dot_product_attention(q.transpose(1, 2), keys, values, attn_mask=allowed)
        return self.wo(y.transpose(1, 2).flatten(2)), k, v


class TransformerBlock(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = MetaAttention()
        self.feed_forward = FeedForward(WIDTH, 48)
        self.attention_norm = RMSNorm(WIDTH)
        self.ffn_norm = RMSNorm(WIDTH)

    def forward(self, x: Tensor, freqs_cis: Tensor, mask: Optional[Tensor]) -> Tensor:
        h = x + self.attention(self.attention_norm(x), freqs_cis, mask)
        return h + self.feed_forward(self.ffn_norm(h))


class MetaLlama(nn.Module):
    """freqs_cis is a plain attribute there, no buffer; the mask is made for more than one token."""

    def __init__(self):
        super().__init__()
        self.tok_embeddings = nn.Embedding(VOCABULARY, WIDTH)
        self.layers = nn.ModuleList(TransformerBlock() for _ in range(2))
        self.norm = RMSNorm(WIDTH)
        self.output = nn.Linear(WIDTH, VOCABULARY, bias=False)
        self.freqs_cis = precompute_freqs_cis(WIDTH // HEADS, LENGTH)

    def forward(self, tokens: Tensor) -> Tensor:
        _bsz, seqlen = tokens.shape
        h = self.tok_embeddings(tokens)
        self.freqs_cis = self.freqs_cis.to(h.device)
        freqs_cis = self.freqs_cis[0:seqlen]
        mask = None
        if seqlen > 1:
            mask = torch.full((seqlen, seqlen), float("-inf"), device=tokens.device)
            mask = torch.triu(mask, diagonal=1)
            mask = torch.hstack([torch.zeros((seqlen, 0), device=tokens.device), mask]).type_as(h)
        for layer in self.layers:
            h = layer(h, freqs_cis, mask)
        return self.output(self.norm(h)).float()


class CachedBlock(nn.Module):
    """One block of decoding: the turns of the new positions are computed from the positions."""

    def __init__(self):
        super().__init__()
        self.attention = ScriptAttention()
        self.feed_forward = FeedForward(WIDTH, 48)
        self.attention_norm = RMSNorm(WIDTH)
        self.ffn_norm = RMSNorm(WIDTH)
        self.register_buffer("inverse", 1.0 / (10000.0 ** (torch.arange(0, WIDTH // HEADS, 2).float() / (WIDTH // HEADS))))

    def forward(self, x: Tensor, past_k: Tensor, past_v: Tensor) -> Tuple[Tensor, Tensor, Tensor]:
        positions = torch.arange(past_k.size(1), past_k.size(1) + x.size(1), device=x.device)
        angles = torch.outer(positions.to(self.inverse.dtype), self.inverse)
        turns = torch.polar(torch.ones_like(angles), angles)                   #: aten::polar
        y, k, v = self.attention(self.attention_norm(x), turns, (past_k, past_v))
        h = x + y
        return h + self.feed_forward(self.ffn_norm(h)), k, v


class TurnedHalves(nn.Module):
    """Rotary embeddings in the three real and the complex spellings, which give the same but for the order of features."""

    def __init__(self, size: int = 8):
        super().__init__()
        self.register_buffer("inverse", 1.0 / (10000.0 ** (torch.arange(0, size, 2).float() / size)), persistent=False)

    def forward(self, q: Tensor, positions: Tensor) -> Tuple[Tensor, Tensor, Tensor, Tensor]:
        angles = positions[:, :, None].float() * self.inverse[None, None, :]
        doubled = torch.cat((angles, angles), dim=-1)
        cos, sin = doubled.cos().unsqueeze(1), doubled.sin().unsqueeze(1)
        x1, x2 = q[..., : q.shape[-1] // 2], q[..., q.shape[-1] // 2:]
        halves = (q * cos) + (torch.cat((-x2, x1), dim=-1) * sin)
        even, odd = q[..., 0::2], q[..., 1::2]
        c, s = angles.cos().unsqueeze(1), angles.sin().unsqueeze(1)
        pairs = torch.stack([even * c - odd * s, even * s + odd * c], dim=-1).flatten(-2)
        turned = torch.view_as_real(torch.complex(even, odd) * torch.exp(1j * angles).unsqueeze(1)).flatten(-2)
        back = torch.view_as_complex(q.reshape(q.shape[0], q.shape[1], q.shape[2], -1, 2)) * torch.polar(torch.ones_like(angles), angles).conj().unsqueeze(1)
        return halves, pairs, turned, torch.cat([back.real, back.imag], -1)


def llama_meta() -> Example:
    """Meta's own code: complex frequencies in an attribute, a view of them for each length."""
    return Example(MetaLlama(), (torch.randint(0, VOCABULARY, (2, 7)),))


def llama_cached() -> Example:
    return Example(CachedBlock(), (torch.randn(2, 3, WIDTH), torch.randn(2, 5, GROUPS, WIDTH // HEADS), torch.randn(2, 5, GROUPS, WIDTH // HEADS)))


def rotary_forms() -> Example:
    return Example(TurnedHalves(), (torch.randn(2, 3, 5, 8), torch.arange(5).repeat(2, 1) + torch.tensor([[0], [4]])))
