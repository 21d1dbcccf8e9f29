"""Models: those of make_models.py with a dynamic batch (text: and length), and those that exported files are made for."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.export import Dim

import build
from exported import AUTO, BATCH, PROGRAMS, Program, program
from make_models import MODELS

TEXT = {0: AUTO, 1: AUTO}
# Everything free, where that is another graph than with a free batch, and torch.export finds its guards within seconds.
FREE = ("vit", "resizer", "shifted_windows", "masked_mean", "view_writes", "lstm", "convolutions", "indexing")
CORE = ("resnet_small", "unet", "vit", "swin", "bert", "gpt2", "llama", "t5", "lstm", "view_writes", "attention", "detr", "norms", "indexing", "spectral")


def in_batches(inputs: tuple) -> tuple:
    """A batch of two for that of one, at which torch.export would take the size for a constant."""
    tensors = torch.utils._pytree.tree_leaves(inputs)
    if not all(isinstance(x, torch.Tensor) and x.dim() and x.size(0) == 1 for x in tensors):
        return inputs
    return torch.utils._pytree.tree_map(lambda x: torch.cat([x, x * 2 if x.is_floating_point() else x]), inputs)


def dims(value, free: dict):
    """dynamic_shapes of the same structure."""
    if isinstance(value, torch.Tensor):
        return {axis: AUTO for axis in free if axis < value.dim()} or None
    return None


def of_model(model, everything: bool = False, core: bool = False):
    def make() -> Program:
        example = build.example_of(model)
        inputs = in_batches(example.inputs)
        free = range(8) if everything else (0, 1) if model.family == "language" else (0,)
        dynamic = torch.utils._pytree.tree_map(lambda x: dims(x, free), inputs)
        return Program(example.module, inputs=[inputs], dynamic=dynamic, core=core, train=example.train)
    return make


for model in MODELS:
    # The count of attribute_writes is a Python number: the file has the one that exporting left.
    if model.size == "small" and model.edit is None and model.name != "attribute_writes":
        PROGRAMS[f"model_{model.name}"] = of_model(model)
        if model.name in FREE:
            PROGRAMS[f"model_{model.name}_free"] = of_model(model, everything=True)
        if model.name in CORE:
            PROGRAMS[f"model_{model.name}_core"] = of_model(model, core=True)


# ------------------------------------------------------------------------------------------------ text, with caches

class Rotary(nn.Module):
    """Positions as rotations, without complex numbers."""

    def __init__(self, size: int):
        super().__init__()
        self.register_buffer("rates", 10000.0 ** -(torch.arange(0, size, 2) / size), persistent=False)

    def forward(self, positions: Tensor):
        with torch.no_grad():
            angles = positions[:, None].float() * self.rates[None]
            return torch.cat([angles, angles], -1).cos(), torch.cat([angles, angles], -1).sin()


def rotated(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    first, second = x.chunk(2, -1)
    return x * cos + torch.cat([-second, first], -1) * sin


class RMSNorm(nn.Module):
    def __init__(self, size: int):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(size) + 0.5)

    def forward(self, x: Tensor):
        return self.weight * x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)


class LlamaBlock(nn.Module):
    """Four heads of queries on two of keys and values; `attend` says where keys and values are kept."""

    def __init__(self, size: int = 16, heads: int = 4, kept: int = 2):
        super().__init__()
        self.heads, self.kept, self.width = heads, kept, size // heads
        self.q, self.k = nn.Linear(size, size, bias=False), nn.Linear(size, kept * self.width, bias=False)
        self.v, self.o = nn.Linear(size, kept * self.width, bias=False), nn.Linear(size, size, bias=False)
        self.norm_1, self.norm_2 = RMSNorm(size), RMSNorm(size)
        self.gate, self.up, self.down = nn.Linear(size, 32, bias=False), nn.Linear(size, 32, bias=False), nn.Linear(32, size, bias=False)
        self.rotary = Rotary(self.width)

    def parts(self, x: Tensor, positions: Tensor):
        b, n, _ = x.shape
        y = self.norm_1(x)
        cos, sin = self.rotary(positions)
        q, k = self.q(y).view(b, n, self.heads, -1).transpose(1, 2), self.k(y).view(b, n, self.kept, -1).transpose(1, 2)
        return rotated(q, cos, sin), rotated(k, cos, sin), self.v(y).view(b, n, self.kept, -1).transpose(1, 2)

    def rest(self, x: Tensor, y: Tensor):
        x = x + self.o(y.transpose(1, 2).flatten(2))
        z = self.norm_2(x)
        return x + self.down(F.silu(self.gate(z)) * self.up(z))

    def forward(self, x: Tensor):
        q, k, v = self.parts(x, torch.arange(x.size(1)))
        return self.rest(x, F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True))


class CacheInputs(LlamaBlock):
    def forward(self, x: Tensor, past_k: Tensor, past_v: Tensor):
        past = past_k.size(2)
        q, k, v = self.parts(x, torch.arange(past, past + x.size(1)))
        k, v = torch.cat([past_k, k], 2), torch.cat([past_v, v], 2)
        repeat = self.heads // self.kept
        y = F.scaled_dot_product_attention(q, k.repeat_interleave(repeat, 1), v.repeat_interleave(repeat, 1))
        return self.rest(x, y), k, v


class CacheBuffers(LlamaBlock):
    """One token a call, written into buffers at its position."""

    def __init__(self, length: int = 8):
        super().__init__()
        self.register_buffer("keys", torch.zeros(1, self.kept, length, self.width))
        self.register_buffer("values", torch.zeros(1, self.kept, length, self.width))

    def forward(self, x: Tensor, position: Tensor):
        q, k, v = self.parts(x, position)
        self.keys.index_copy_(2, position, k)
        self.values.index_copy_(2, position, v)
        seen = torch.arange(self.keys.size(2)) <= position
        return self.rest(x, F.scaled_dot_product_attention(q, self.keys, self.values, attn_mask=seen[None, None], enable_gqa=True))


@program
def llama_block() -> Program:
    return Program(LlamaBlock(), inputs=[(torch.randn(2, 5, 16),), (torch.randn(3, 9, 16),)], dynamic=({0: Dim("batch"), 1: Dim("length")},))


@program
def llama_block_core() -> Program:
    made = llama_block()
    made.core = True
    return made


@program
def cache_as_inputs() -> Program:
    past = {0: AUTO, 2: AUTO}
    return Program(CacheInputs(), inputs=[(torch.randn(b, n, 16), torch.randn(b, 2, p, 4), torch.randn(b, 2, p, 4)) for b, n, p in ((2, 3, 4), (3, 1, 7))][:1]
                   + [(torch.randn(3, 2, 16), torch.randn(3, 2, 7, 4), torch.randn(3, 2, 7, 4))], dynamic=(TEXT, past, past))


@program
def cache_in_buffers() -> Program:
    return Program(CacheBuffers(), inputs=[(torch.randn(1, 1, 16), torch.tensor([i])) for i in (0, 3)])


@program
def cache_in_buffers_core() -> Program:
    made = cache_in_buffers()
    made.core = True
    return made


@program
def llama_as_it_is() -> Program:
    """transformers' own mask and rotary embedding, not a wrapper's."""
    import transformers

    class Logits(nn.Module):
        def __init__(self):
            super().__init__()
            config = transformers.LlamaConfig(vocab_size=50, hidden_size=16, intermediate_size=32, num_hidden_layers=2, num_attention_heads=4,
                                              num_key_value_heads=2, max_position_embeddings=64, bos_token_id=1, eos_token_id=2)
            self.model = transformers.LlamaForCausalLM(config)

        def forward(self, input_ids: Tensor):
            return self.model(input_ids=input_ids, use_cache=False).logits

    return Program(Logits(), inputs=[(torch.randint(3, 50, size),) for size in ((2, 7), (3, 11))], dynamic=({0: Dim("batch"), 1: Dim("length", max=64)},))


@program
def mask_filled() -> Program:
    """A greedy step: argmax, gather, masked fill."""
    def forward(logits: Tensor, banned: Tensor):
        logits = logits.masked_fill(banned, float("-inf"))
        return logits.argmax(-1), torch.topk(logits, 2, -1).values, logits.softmax(-1)

    class Step(nn.Module):
        def forward(self, logits: Tensor, banned: Tensor):
            return forward(logits, banned)

    return Program(Step(), inputs=[(torch.randn(b, 6), torch.rand(b, 6) > 0.7) for b in (2, 4)], dynamic=(BATCH, BATCH))


# ------------------------------------------------------------------------------------------------ quantized by PT2E

def quantized(module: nn.Module, inputs: tuple, quantizer, dynamic) -> Program:
    from torchao.quantization.pt2e import quantize_pt2e
    captured = torch.export.export(module.eval(), inputs, dynamic_shapes=dynamic).module()
    prepared = quantize_pt2e.prepare_pt2e(captured, quantizer)
    for _ in range(2):
        prepared(*(torch.randn_like(x) for x in inputs))
    return Program(quantize_pt2e.convert_pt2e(prepared), inputs=[inputs], dynamic=dynamic)


def small_resnet() -> tuple:
    from convnets import ResNet
    return ResNet([1, 1, 1, 1], 4, 10), (torch.randn(2, 3, 64, 64),)


class Residual(nn.Module):
    """A module for each call, as X86InductorQuantizer requires."""

    def __init__(self):
        super().__init__()
        self.first = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU())
        self.second = nn.Sequential(nn.Conv2d(8, 8, 3, padding=1), nn.BatchNorm2d(8))
        self.relu, self.pool, self.head = nn.ReLU(), nn.MaxPool2d(2), nn.Linear(8, 5)

    def forward(self, x: Tensor):
        x = self.first(x)
        x = self.pool(self.relu(self.second(x) + x))
        return self.head(F.adaptive_avg_pool2d(x, 1).flatten(1))


@program
def pt2e_residual() -> Program:
    """int8 weights by channel, uint8 activations."""
    import torchao.quantization.pt2e.quantizer.x86_inductor_quantizer as x86
    quantizer = x86.X86InductorQuantizer().set_global(x86.get_default_x86_inductor_quantization_config())
    # The mean of 9 whole numbers is never a half, which the last bit would round.
    return quantized(Residual(), (torch.randn(2, 3, 6, 6),), quantizer, (BATCH,))


@program
def pt2e_resnet() -> Program:
    """int8 both: XNNPACKQuantizer, as ExecuTorch's files have it."""
    from torchao.testing.pt2e._xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config
    return quantized(*small_resnet(), XNNPACKQuantizer().set_global(get_symmetric_quantization_config(is_per_channel=True)), (BATCH,))


@program
def pt2e_dynamic_linear() -> Program:
    from torchao.testing.pt2e._xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config
    module = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
    quantizer = XNNPACKQuantizer().set_global(get_symmetric_quantization_config(is_per_channel=True, is_dynamic=True))
    return quantized(module, (torch.randn(3, 8),), quantizer, (BATCH,))
