from math import sqrt

import numpy as np

from .attention import NEG, causal_mask, scaled_dot_product_attention, softmax, split_heads
from .rope import apply_rope


def mla_naive(q_nope, q_rope, latent, k_rope, w_uk, w_uv, mask=None):
    B, H, T, _ = q_nope.shape
    S, d_R = k_rope.shape[1:]
    k_nope = split_heads(latent @ w_uk, H)
    v = split_heads(latent @ w_uv, H)
    k_rope = np.broadcast_to(k_rope.reshape(B, 1, S, d_R), (B, H, S, d_R))
    q = np.concatenate([q_nope, q_rope], axis=-1)
    k = np.concatenate([k_nope, k_rope], axis=-1)
    return scaled_dot_product_attention(q, k, v, mask)


def absorb(q_nope, w_uk):
    H, d_nope = q_nope.shape[1], q_nope.shape[3]
    # q (W_uk)^T, head by head
    w = w_uk.reshape(-1, H, d_nope).transpose(1, 2, 0)
    return q_nope @ w


def mla_absorbed(q_nope, q_rope, latent, k_rope, w_uk, w_uv, mask=None):
    H = q_nope.shape[1]
    c = latent[:, None]
    logits = absorb(q_nope, w_uk) @ c.swapaxes(-1, -2)
    logits = logits + q_rope @ k_rope[:, None].swapaxes(-1, -2)
    logits = logits / sqrt(q_nope.shape[-1] + q_rope.shape[-1])
    if mask is not None:
        logits = np.where(mask, logits, NEG)
    per_head = w_uv.reshape(w_uv.shape[0], H, -1).swapaxes(0, 1)
    return (softmax(logits) @ c) @ per_head


class MLACache:
    def __init__(self, n_layers, batch_size, max_len, latent_dim, rope_dim, dtype):
        self.max_len = max_len
        self.latent = [np.zeros((batch_size, 0, latent_dim), dtype)] * n_layers
        self.k_rope = [np.zeros((batch_size, 0, rope_dim), dtype)] * n_layers

    @property
    def length(self):
        return min(c.shape[1] for c in self.latent)

    def append(self, layer, latent, k_rope):
        if self.latent[layer].shape[1] + latent.shape[1] > self.max_len:
            raise ValueError(f"more than max_len = {self.max_len} tokens")
        self.latent[layer] = np.concatenate([self.latent[layer], latent], axis=1)
        self.k_rope[layer] = np.concatenate([self.k_rope[layer], k_rope], axis=1)
        return self.latent[layer], self.k_rope[layer]

    def truncate(self, length):
        if length < 0 or length > self.length:
            raise ValueError(f"bad length {length}, cache has {self.length}")
        self.latent = [c[:, :length] for c in self.latent]
        self.k_rope = [r[:, :length] for r in self.k_rope]


def mla_prefill(model, tokens, cache):
    cfg = model.config
    T = tokens.shape[1]
    start = cache.length
    pos = np.arange(start, start + T)
    mask = causal_mask(T, start + T)
    x = model.embed(tokens)
    for i in range(cfg.n_layers):
        q_nope, q_rope, c, k_rope = model.project_latent(i, x)
        c = model.norm_latent(i, c)
        q_rope = apply_rope(q_rope, pos, cfg.rope_theta)
        k_rope = apply_rope(k_rope, pos, cfg.rope_theta)
        c, k_rope = cache.append(i, c, k_rope)
        w_uk, w_uv = model.up_projections(i)
        out = mla_absorbed(q_nope, q_rope, c, k_rope, w_uk, w_uv, mask)
        x = model.add_attention(i, x, out)
        x = model.add_mlp(i, x)
    return model.logits(x)[:, -1]


def mla_decode_step(model, token, cache):
    return mla_prefill(model, token[:, None], cache)
