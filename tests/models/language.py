"""Language and speech models, and ViT, of Hugging Face transformers: configurations in code, nothing downloaded.

Their forward methods take options and caches that neither tracing nor scripting likes, so each stands in a wrapper
that passes tensors only, as its users write one.
"""
import os

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")

import torch
import transformers
from torch import Tensor, nn

from registry import Example

VOCABULARY = 120


def tokens(*shape: int) -> Tensor:
    return torch.randint(5, VOCABULARY, shape)


def padding(batch: int, length: int) -> Tensor:
    """An attention mask whose last row ends early."""
    mask = torch.ones(batch, length, dtype=torch.long)
    mask[-1, length - 2:] = 0
    return mask


class Encoder(nn.Module):
    def __init__(self, model: nn.Module):
        super().__init__()
        self.model = model

    def forward(self, input_ids: Tensor, attention_mask: Tensor):
        out = self.model(input_ids=input_ids, attention_mask=attention_mask)
        return out.last_hidden_state, out.pooler_output


def small_bert(attention: str) -> nn.Module:
    config = transformers.BertConfig(vocab_size=VOCABULARY, hidden_size=32, num_hidden_layers=2,
                                     num_attention_heads=4, intermediate_size=64, attn_implementation=attention)
    return transformers.BertModel(config)


def bert() -> Example:
    return Example(Encoder(small_bert("sdpa")), (tokens(2, 9), padding(2, 9)))


def bert_eager() -> Example:
    """Attention written out: matmul, softmax, matmul."""
    return Example(Encoder(small_bert("eager")), (tokens(2, 9), padding(2, 9)))


def bert_dict() -> Example:
    """The model as it is: the traced output is a dictionary."""
    return Example(small_bert("sdpa"), (tokens(2, 9), padding(2, 9)), strict=False)


def bert_base() -> Example:
    model = transformers.BertModel(transformers.BertConfig(attn_implementation="sdpa"))
    return Example(Encoder(model), (torch.randint(5, 30000, (1, 16)), padding(1, 16)))


class CausalLM(nn.Module):
    """Builds the causal mask itself: the model's own is made with vmap, which tracing cannot follow."""

    def __init__(self, model: nn.Module):
        super().__init__()
        self.model = model

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        length = input_ids.size(1)
        causal = torch.ones(length, length, dtype=torch.bool, device=input_ids.device).tril()   #: aten::tril
        keep = causal[None, None] & attention_mask[:, None, None].bool()
        mask = torch.where(keep, 0.0, torch.finfo(torch.float32).min)
        return self.model(input_ids=input_ids, attention_mask=mask, use_cache=False).logits


def gpt2_config(attention: str):
    return transformers.GPT2Config(vocab_size=VOCABULARY, n_embd=32, n_layer=2, n_head=4, n_positions=32,
                                   bos_token_id=1, eos_token_id=2, attn_implementation=attention)


def gpt2() -> Example:
    """The output layer shares its weight with the embedding."""
    model = transformers.GPT2LMHeadModel(gpt2_config("sdpa"))
    return Example(CausalLM(model), (tokens(2, 9), padding(2, 9)))


def gpt2_eager() -> Example:
    model = transformers.GPT2LMHeadModel(gpt2_config("eager"))
    return Example(CausalLM(model), (tokens(2, 9), padding(2, 9)))


def llama() -> Example:
    """Rotary positions, RMS norms, fewer heads for keys and values than for queries."""
    config = transformers.LlamaConfig(vocab_size=VOCABULARY, hidden_size=32, intermediate_size=64, num_hidden_layers=2,
                                      num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=64,
                                      bos_token_id=1, eos_token_id=2)
    return Example(CausalLM(transformers.LlamaForCausalLM(config)), (tokens(2, 9), padding(2, 9)))


class EncoderDecoder(nn.Module):
    def __init__(self, model: nn.Module):
        super().__init__()
        self.model = model

    def forward(self, input_ids: Tensor, attention_mask: Tensor, decoder_input_ids: Tensor) -> Tensor:
        return self.model(input_ids=input_ids, attention_mask=attention_mask, decoder_input_ids=decoder_input_ids,
                          use_cache=False).logits


def t5() -> Example:
    """Relative position buckets, gated feed-forward, an RMS norm written out."""
    config = transformers.T5Config(vocab_size=VOCABULARY, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4,
                                   feed_forward_proj="gated-gelu", decoder_start_token_id=0)
    model = transformers.T5ForConditionalGeneration(config)
    return Example(EncoderDecoder(model), (tokens(2, 9), padding(2, 9), tokens(2, 5)))


class SpeechEncoder(nn.Module):
    def __init__(self, model: nn.Module):
        super().__init__()
        self.model = model

    def forward(self, input_features: Tensor) -> Tensor:
        return self.model(input_features).last_hidden_state


def whisper_encoder() -> Example:
    config = transformers.WhisperConfig(vocab_size=VOCABULARY, d_model=32, encoder_layers=2, decoder_layers=1,
                                        encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=64,
                                        decoder_ffn_dim=64, num_mel_bins=20, max_source_positions=25,
                                        pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=3)
    return Example(SpeechEncoder(transformers.WhisperModel(config).get_encoder()), (torch.randn(1, 20, 50),))


class ImageClassifier(nn.Module):
    def __init__(self, model: nn.Module):
        super().__init__()
        self.model = model

    def forward(self, pixel_values: Tensor) -> Tensor:
        return self.model(pixel_values).logits


def vit_hf() -> Example:
    config = transformers.ViTConfig(image_size=32, patch_size=8, hidden_size=32, num_hidden_layers=2,
                                    num_attention_heads=4, intermediate_size=64, num_labels=10)
    return Example(ImageClassifier(transformers.ViTForImageClassification(config)), (torch.randn(2, 3, 32, 32),))


def swin_hf() -> Example:
    config = transformers.SwinConfig(image_size=32, patch_size=4, embed_dim=16, depths=[2, 2], num_heads=[2, 4],
                                     window_size=4, num_labels=10)
    return Example(ImageClassifier(transformers.SwinForImageClassification(config)), (torch.randn(1, 3, 32, 32),))
