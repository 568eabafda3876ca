import numpy as np

from .attention import causal_mask
from .gqa import grouped_query_attention
from .rope import apply_rope
from .storage import LayeredCache


class KVCache(LayeredCache):
    time_axis = 2

    def __init__(self, n_layers, batch_size, n_kv_heads, max_len, head_dim, dtype):
        shape = (batch_size, n_kv_heads, 0, head_dim)
        super().__init__(n_layers, max_len, shape, shape, dtype)


def run_layers(model, x, positions, cache, mask):
    theta = model.config.rope_theta
    for layer in range(model.config.n_layers):
        q, k, v = model.project_qkv(layer, x)
        q = apply_rope(q, positions, theta)
        k = apply_rope(k, positions, theta)
        keys, values = cache.append(layer, k, v)
        heads = grouped_query_attention(q, keys, values, mask)
        x = model.add_attention(layer, x, heads)
        x = model.add_mlp(layer, x)
    return x


def prefill(model, tokens, cache):
    n_old = cache.length
    n_all = n_old + tokens.shape[1]
    mask = causal_mask(tokens.shape[1], n_all)
    x = run_layers(model, model.embed(tokens), np.arange(n_old, n_all), cache, mask)
    return model.logits(x[:, -1])


def decode_step(model, token, cache):
    here = np.array([cache.length])
    x = run_layers(model, model.embed(token[:, None]), here, cache, mask=None)
    return model.logits(x[:, -1])


def generate(model, prompt, max_new_tokens, eos=None):
    batch, prompt_len = prompt.shape
    config = model.config
    max_len = prompt_len + max_new_tokens
    cache = KVCache(
        config.n_layers, batch, config.n_kv_heads, max_len, config.head_dim, model.dtype
    )
    sequence = prompt
    done = np.full(batch, False)
    next_logits = prefill(model, prompt, cache)
    while sequence.shape[1] < max_len and not done.all():
        token = np.argmax(next_logits, axis=1)
        if eos is not None:
            token[done] = eos
            done = done | (token == eos)
        sequence = np.concatenate([sequence, token[:, None]], axis=1)
        if sequence.shape[1] < max_len and not done.all():
            next_logits = decode_step(model, token, cache)
    return sequence[:, prompt_len:]
