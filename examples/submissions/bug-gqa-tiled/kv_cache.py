import numpy as np

from .attention import causal_mask
from .gqa import grouped_query_attention
from .rope import apply_rope


class KVCache:
    """One big array. Time comes right after the layer, so a token is one contiguous block."""

    def __init__(self, n_layers, batch_size, n_kv_heads, max_len, head_dim, dtype):
        self.data = np.zeros((n_layers, max_len, 2, batch_size, n_kv_heads, head_dim), dtype)
        self.filled = np.zeros(n_layers, dtype=int)

    @property
    def length(self):
        return int(self.filled.min())

    def append(self, layer, k, v):
        lo = self.filled[layer]
        hi = lo + k.shape[2]
        if hi > self.data.shape[1]:
            raise ValueError(f"{hi} tokens do not fit into a cache of {self.data.shape[1]}")
        self.data[layer, lo:hi, 0] = np.einsum("bgtd->tbgd", k)
        self.data[layer, lo:hi, 1] = np.einsum("bgtd->tbgd", v)
        self.filled[layer] = hi
        return tuple(np.einsum("tnbgd->nbgtd", self.data[layer, :hi]))

    def truncate(self, length):
        if not 0 <= length <= self.length:
            raise ValueError(f"length {length} not in 0..{self.length}")
        self.filled[:] = length


def forward(model, tokens, cache):
    """Shared by prefill and decode. Returns logits of the last token."""
    cfg = model.config
    past, new = cache.length, tokens.shape[1]
    pos = past + np.arange(new)
    x = model.embed(tokens)
    for layer in range(cfg.n_layers):
        q, k, v = model.project_qkv(layer, x)
        q, k = apply_rope(q, pos, cfg.rope_theta), apply_rope(k, pos, cfg.rope_theta)
        k, v = cache.append(layer, k, v)
        attn = grouped_query_attention(q, k, v, causal_mask(new, past + new))
        x = model.add_attention(layer, x, attn)
        x = model.add_mlp(layer, x)
    return model.logits(x[:, -1, :])


def prefill(model, tokens, cache):
    return forward(model, tokens, cache)


def decode_step(model, token, cache):
    return forward(model, token[:, np.newaxis], cache)


def generate(model, prompt, max_new_tokens, eos=None):
    cfg = model.config
    b, t = prompt.shape
    cache = KVCache(
        cfg.n_layers, b, cfg.n_kv_heads, t + max_new_tokens, cfg.head_dim, model.dtype
    )
    out = np.zeros((b, max_new_tokens), dtype=np.int64)
    alive = np.ones(b, dtype=bool)
    logits = prefill(model, prompt, cache)
    for n in range(max_new_tokens):
        out[:, n] = np.where(alive, logits.argmax(-1), -1 if eos is None else eos)
        if eos is not None:
            alive &= out[:, n] != eos
            if not alive.any():
                return out[:, : n + 1]
        if n + 1 < max_new_tokens:
            logits = decode_step(model, out[:, n], cache)
    return out
