"""A helper module that goes with every variant that only has a cache of its own."""

import numpy as np

from .attention import causal_mask
from .gqa import grouped_query_attention
from .rope import apply_rope


def prefill(model, tokens, cache):
    start, n = cache.length, tokens.shape[1]
    positions, mask = np.arange(start, start + n), causal_mask(n, start + n)
    theta = model.config.rope_theta
    x = model.embed(tokens)
    for layer in range(model.config.n_layers):
        q, k, v = model.project_qkv(layer, x)
        q, k = apply_rope(q, positions, theta), apply_rope(k, positions, theta)
        keys, values = cache.append(layer, k, v)
        x = model.add_attention(layer, x, grouped_query_attention(q, keys, values, mask))
        x = model.add_mlp(layer, x)
    return model.logits(x[:, -1])


def decode_step(model, token, cache):
    return prefill(model, token[:, None], cache)


def generate_with(new_cache, model, prompt, max_new_tokens, eos=None):
    c, (batch, n) = model.config, prompt.shape
    cache = new_cache(c.n_layers, batch, c.n_kv_heads, n + max_new_tokens, c.head_dim, model.dtype)
    out, ended = np.empty((batch, 0), dtype=int), np.zeros(batch, dtype=bool)
    logits = prefill(model, prompt, cache)
    while True:
        token = logits.argmax(axis=-1)
        if eos is not None:
            token = np.where(ended, eos, token)
            ended = ended | (token == eos)
        out = np.column_stack([out, token])
        if out.shape[1] == max_new_tokens or ended.all():
            return out
        logits = decode_step(model, token, cache)
