"""Prefill and decode are methods of one object; the module's functions are its bound methods."""

import math

import numpy as np

from .attention import causal_mask, scaled_dot_product_attention
from .rope import apply_rope
from .storage import PairCache


class MLACache(PairCache):
    axis = 1

    def __init__(self, n_layers, batch_size, max_len, latent_dim, rope_dim, dtype):
        shapes = ((batch_size, max_len, latent_dim), (batch_size, max_len, rope_dim))
        super().__init__(n_layers, max_len, shapes, dtype)

    def _part(self, array, start, end):
        return array[:, start:end]


class LatentAttention:
    def heads_of(self, w, n_heads):
        return np.stack(np.hsplit(w, n_heads))

    def naive(self, q_nope, q_rope, latent, k_rope, w_uk, w_uv, mask=None):
        n_heads = q_nope.shape[1]
        k = latent[:, None] @ self.heads_of(w_uk, n_heads)
        v = latent[:, None] @ self.heads_of(w_uv, n_heads)
        k_rope = np.stack([k_rope] * n_heads, axis=1)
        q = np.concatenate((q_nope, q_rope), axis=3)
        return scaled_dot_product_attention(q, np.concatenate((k, k_rope), axis=3), v, mask)

    def absorb(self, q_nope, w_uk):
        return q_nope @ self.heads_of(w_uk, q_nope.shape[1]).transpose(0, 2, 1)

    def absorbed(self, q_nope, q_rope, latent, k_rope, w_uk, w_uv, mask=None):
        # The keys [latent ; k_rope] are the same for all heads. Attention scales by the width it
        # sees, so the queries are scaled beforehand to make up for the difference.
        q = np.concatenate((self.absorb(q_nope, w_uk), q_rope), axis=3)
        k = np.concatenate((latent, k_rope), axis=2)[:, None]
        true_width = q_nope.shape[-1] + q_rope.shape[-1]
        q = q * math.sqrt(q.shape[-1] / true_width)
        mixed = scaled_dot_product_attention(q, k, latent[:, None], mask)
        return mixed @ self.heads_of(w_uv, q_nope.shape[1])

    def prefill(self, model, tokens, cache):
        return self.run(model, tokens, cache, causal_mask)

    def decode_step(self, model, token, cache):
        return self.run(model, token[:, None], cache, lambda *_: None)

    def run(self, model, tokens, cache, make_mask):
        start, n = cache.length, tokens.shape[1]
        positions = np.arange(start, start + n)
        x = model.embed(tokens)
        for layer in range(model.config.n_layers):
            *q, latent, k_rope = model.project_latent(layer, x)
            q[1] = apply_rope(q[1], positions, model.config.rope_theta)
            k_rope = apply_rope(k_rope, positions, theta=model.config.rope_theta)
            held = cache.append(layer, model.norm_latent(layer, latent), k_rope)
            mask = make_mask(n, start + n)
            heads = self.absorbed(*q, *held, *model.up_projections(layer), mask=mask)
            x = model.add_mlp(layer, model.add_attention(layer, x, heads))
        return model.logits(x[:, -1])


_latent_attention = LatentAttention()
mla_naive = _latent_attention.naive
absorb = _latent_attention.absorb
mla_absorbed = _latent_attention.absorbed
mla_prefill = _latent_attention.prefill
mla_decode_step = _latent_attention.decode_step
