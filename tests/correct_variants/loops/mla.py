"""One head at a time, naive and absorbed; the rest of Part 6 is built on the naive form."""

import math

import numpy as np

from .attention import causal_mask, softmax
from .rope import apply_rope


def head_of(w, h, n_heads):
    width = w.shape[1] // n_heads
    return w[:, h * width : (h + 1) * width]


def mla_naive(q_nope, q_rope, latent, k_rope, w_uk, w_uv, mask=None):
    n_heads = q_nope.shape[1]
    scale = 1 / math.sqrt(q_nope.shape[-1] + q_rope.shape[-1])
    heads = []
    for h in range(n_heads):
        k = latent @ head_of(w_uk, h, n_heads)
        v = latent @ head_of(w_uv, h, n_heads)
        scores = q_nope[:, h] @ k.transpose(0, 2, 1) + q_rope[:, h] @ k_rope.transpose(0, 2, 1)
        scores *= scale
        if mask is not None:
            scores[:, ~mask] = -np.inf
        heads.append(softmax(scores) @ v)
    return np.stack(heads, axis=1)


def absorb(q_nope, w_uk):
    n_heads = q_nope.shape[1]
    return np.stack([q_nope[:, h] @ head_of(w_uk, h, n_heads).T for h in range(n_heads)], axis=1)


def mla_absorbed(q_nope, q_rope, latent, k_rope, w_uk, w_uv, mask=None):
    n_heads = q_nope.shape[1]
    scale = (q_nope.shape[-1] + q_rope.shape[-1]) ** -0.5
    absorbed = absorb(q_nope, w_uk)
    heads = []
    for h in range(n_heads):
        scores = np.matmul(absorbed[:, h], latent.transpose(0, 2, 1))
        scores += np.matmul(q_rope[:, h], k_rope.transpose(0, 2, 1))
        scores *= scale
        if mask is not None:
            scores[:, np.logical_not(mask)] = -np.inf
        heads.append(softmax(scores) @ latent @ head_of(w_uv, h, n_heads))
    return np.stack(heads, axis=1)


class MLACache:
    def __init__(self, n_layers, batch_size, max_len, latent_dim, rope_dim, dtype):
        self.max_len = max_len
        # layer -> row of the batch -> list of (latent, rope key), one pair a position
        self.rows = [[[] for _ in range(batch_size)] for _ in range(n_layers)]

    @property
    def length(self):
        return min(len(row) for layer in self.rows for row in layer)

    def append(self, layer, latent, k_rope):
        for b, row in enumerate(self.rows[layer]):
            if len(row) + latent.shape[1] > self.max_len:
                raise ValueError("the cache is full")
            for t in range(latent.shape[1]):
                row.append((latent[b, t].copy(), k_rope[b, t].copy()))
        latents = np.array([[c for c, _ in row] for row in self.rows[layer]])
        keys = np.array([[k for _, k in row] for row in self.rows[layer]])
        return latents, keys

    def truncate(self, length):
        if length < 0 or length > self.length:
            raise ValueError("cannot truncate to more than there is")
        for layer in self.rows:
            for row in layer:
                del row[length:]


def mla_prefill(model, tokens, cache):
    past = cache.length
    total = past + tokens.shape[1]
    positions = np.array(range(past, total))
    mask = causal_mask(tokens.shape[1], total)
    theta = model.config.rope_theta
    x = model.embed(tokens)
    for layer in range(model.config.n_layers):
        q_nope, q_rope, c, k_rope = model.project_latent(layer, x)
        c = model.norm_latent(layer, c)
        latents, keys = cache.append(layer, c, apply_rope(k_rope, positions, theta))
        q_rope = apply_rope(q_rope, positions, theta)
        heads = mla_naive(q_nope, q_rope, latents, keys, *model.up_projections(layer), mask)
        x = model.add_mlp(layer, model.add_attention(layer, x, heads))
    return model.logits(x[:, -1])


def mla_decode_step(model, token, cache):
    return mla_prefill(model, token.reshape(len(token), 1), cache)
