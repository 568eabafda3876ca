import numpy as np

from .attention import causal_mask, scaled_dot_product_attention, softmax, split_heads
from .rope import apply_rope


def mla_naive(q_nope, q_rope, latent, k_rope, w_uk, w_uv, mask=None):
    n_heads = q_nope.shape[1]
    c = latent.astype(np.float64)
    k_nope, v = split_heads(c @ w_uk, n_heads), split_heads(c @ w_uv, n_heads)
    k_r = np.repeat(k_rope[:, np.newaxis], n_heads, axis=1)
    q = np.concatenate([q_nope, q_rope], axis=-1)
    k = np.concatenate([k_nope, k_r], axis=-1)
    return scaled_dot_product_attention(q, k, v, mask).astype(q_nope.dtype)


def absorb(q_nope, w_uk):
    n_heads, width = q_nope.shape[1], q_nope.shape[-1]
    w = w_uk.astype(np.float64).T.reshape(n_heads, width, -1)  # (H, d_nope, d_c)
    return (q_nope @ w).astype(q_nope.dtype)


def mla_absorbed(q_nope, q_rope, latent, k_rope, w_uk, w_uv, mask=None):
    n_heads = q_nope.shape[1]
    c = latent.astype(np.float64)[:, np.newaxis]
    r = k_rope.astype(np.float64)[:, np.newaxis]
    scores = absorb(q_nope, w_uk) @ c.swapaxes(2, 3) + q_rope @ r.swapaxes(2, 3)
    scores /= np.sqrt(q_nope.shape[-1] + q_rope.shape[-1])
    if mask is not None:
        scores[~np.broadcast_to(mask, scores.shape)] = -np.inf
    mixed = softmax(scores) @ c  # (B, H, T, d_c)
    w = w_uv.reshape(w_uv.shape[0], n_heads, -1).transpose(1, 0, 2)
    return (mixed @ w).astype(q_nope.dtype)


class MLACache:
    def __init__(self, n_layers, batch_size, max_len, latent_dim, rope_dim, dtype):
        self.max_len = max_len
        self.latents = [np.zeros((batch_size, max_len, latent_dim), dtype) for _ in range(n_layers)]
        self.rope_keys = [np.zeros((batch_size, max_len, rope_dim), dtype) for _ in range(n_layers)]
        self.count = [0] * n_layers

    @property
    def length(self):
        return min(self.count)

    def append(self, layer, latent, k_rope):
        n = self.count[layer]
        m = n + latent.shape[1]
        if m > self.max_len:
            raise ValueError(f"cache overflow: {m} > {self.max_len}")
        self.latents[layer][:, n:m] = latent
        self.rope_keys[layer][:, n:m] = k_rope
        self.count[layer] = m
        return self.latents[layer][:, :m], self.rope_keys[layer][:, :m]

    def truncate(self, length):
        if length < 0 or length > self.length:
            raise ValueError(f"cannot truncate from {self.length} to {length}")
        self.count = [length for _ in self.count]


def mla_prefill(model, tokens, cache):
    theta = model.config.rope_theta
    n_new = tokens.shape[1]
    offset = cache.length
    positions = np.arange(n_new) + offset
    mask = causal_mask(n_new, offset + n_new)
    h = model.embed(tokens)
    for layer in range(model.config.n_layers):
        q_nope, q_rope, latent, k_rope = model.project_latent(layer, h)
        latent = model.norm_latent(layer, latent)
        k_rope = apply_rope(k_rope, positions, theta)
        latent_all, k_rope_all = cache.append(layer, latent, k_rope)
        q_rope = apply_rope(q_rope, positions, theta)
        w_uk, w_uv = model.up_projections(layer)
        y = mla_absorbed(q_nope, q_rope, latent_all, k_rope_all, w_uk, w_uv, mask)
        h = model.add_attention(layer, h, y)
        h = model.add_mlp(layer, h)
    return model.logits(h[:, -1])


def mla_decode_step(model, token, cache):
    return mla_prefill(model, token[:, np.newaxis], cache)
