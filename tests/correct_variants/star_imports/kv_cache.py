"""A decode step of its own, without a mask and without an axis for time."""

from .attention import *  # noqa: F403
from .gqa import *  # noqa: F403
from .rope import *  # noqa: F403
from .transformer import *  # noqa: F403

# ruff: noqa: F405


class KVCache:
    def __init__(self, n_layers, batch_size, n_kv_heads, max_len, head_dim, dtype=float):
        self.k = np.empty((n_layers, batch_size, n_kv_heads, max_len, head_dim), dtype)
        self.v = np.empty((n_layers, batch_size, n_kv_heads, max_len, head_dim), dtype)
        self.n = np.zeros(n_layers, int)

    @property
    def length(self):
        return int(min(self.n))

    def append(self, layer, k, v):
        a, b = self.n[layer], self.n[layer] + k.shape[2]
        if b > self.k.shape[3]:
            raise ValueError("max_len")
        self.k[layer, :, :, a:b], self.v[layer, :, :, a:b] = k, v
        self.n[layer] = b
        return self.k[layer, :, :, :b], self.v[layer, :, :, :b]

    def truncate(self, length):
        if not 0 <= length <= self.length:
            raise ValueError("length")
        self.n.fill(length)


def prefill(model: Transformer, tokens, cache):
    old = cache.length
    new = tokens.shape[1]
    positions = np.arange(old, old + new)
    x = model.embed(tokens)
    for layer in range(model.config.n_layers):
        q, k, v = model.project_qkv(layer, x)
        q = apply_rope(q, positions, model.config.rope_theta)
        k = apply_rope(k, positions, model.config.rope_theta)
        k, v = cache.append(layer, k, v)
        heads = grouped_query_attention(q, k, v, causal_mask(new, old + new))
        x = model.add_attention(layer, x, heads)
        x = model.add_mlp(layer, x)
    return model.logits(x)[:, -1]


def decode_step(model: Transformer, token, cache):
    config, batch = model.config, len(token)
    position = np.full((batch, 1), cache.length)  # a row of positions for each row
    x = model.embed(token).reshape(batch, 1, -1)
    for layer in range(config.n_layers):
        q, k, v = model.project_qkv(layer, x)
        k, v = cache.append(layer, apply_rope(k, position, config.rope_theta), v)
        q = apply_rope(q, position, config.rope_theta).reshape(*k.shape[:2], -1, config.head_dim)
        weights = softmax(np.einsum("bgrd,bgsd->bgrs", q, k) / math.sqrt(config.head_dim))
        heads = np.einsum("bgrs,bgsd->bgrd", weights, v).reshape(batch, -1, 1, config.head_dim)
        x = model.add_mlp(layer, model.add_attention(layer, x, heads))
    return model.logits(x[:, 0])


def generate(model, prompt, max_new_tokens, eos=None):
    """Rows that have ended keep running; what they make afterwards is painted over."""
    batch, n = prompt.shape
    c = model.config
    cache = KVCache(c.n_layers, batch, c.n_kv_heads, n + max_new_tokens, c.head_dim, model.dtype)
    tokens = [prefill(model, prompt, cache).argmax(-1)]
    for _ in range(max_new_tokens - 1):
        tokens.append(decode_step(model, tokens[-1], cache).argmax(-1))
    tokens = np.stack(tokens, axis=1)
    if eos is None:
        return tokens
    seen = np.maximum.accumulate(tokens == eos, axis=1)
    tokens[seen] = eos
    n_steps = max_new_tokens if not seen.all(axis=0).any() else seen.all(axis=0).argmax() + 1
    return tokens[:, :n_steps]
