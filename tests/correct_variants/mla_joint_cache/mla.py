"""Latent and RoPE key lie side by side in one array, and a score is one product with it."""

import numpy as np

from .attention import causal_mask, softmax
from .rope import apply_rope


def split_columns(w, n_heads):
    return w.reshape(len(w), n_heads, -1)


def mla_naive(q_nope, q_rope, latent, k_rope, w_uk, w_uv, mask=None):
    n_heads = q_nope.shape[1]
    k = np.einsum("bsc,chd->bhsd", latent, split_columns(w_uk, n_heads))
    v = np.einsum("bsc,chd->bhsd", latent, split_columns(w_uv, n_heads))
    scores = np.einsum("bhtd,bhsd->bhts", q_nope, k) + np.einsum("bhtr,bsr->bhts", q_rope, k_rope)
    return np.einsum("bhts,bhsd->bhtd", weights(scores, q_nope, q_rope, mask), v)


def weights(scores, q_nope, q_rope, mask):
    scores = scores * (q_nope.shape[-1] + q_rope.shape[-1]) ** -0.5
    if mask is not None:
        scores = np.where(mask, scores, np.finfo(scores.dtype).min)
    return softmax(scores)


def absorb(q_nope, w_uk):
    return np.einsum("bhtd,chd->bhtc", q_nope, split_columns(w_uk, q_nope.shape[1]))


def mla_absorbed(q_nope, q_rope, latent, k_rope, w_uk, w_uv, mask=None):
    return attend(q_nope, q_rope, np.concatenate([latent, k_rope], axis=-1), w_uk, w_uv, mask)


def attend(q_nope, q_rope, joint, w_uk, w_uv, mask=None):
    n_heads, latent_dim = q_nope.shape[1], len(w_uk)
    queries = np.concatenate([absorb(q_nope, w_uk), q_rope], axis=-1)
    scores = queries @ joint[:, None].swapaxes(2, 3)
    mixture = weights(scores, q_nope, q_rope, mask) @ joint[:, None, :, :latent_dim]
    return np.einsum("bhtc,chv->bhtv", mixture, split_columns(w_uv, n_heads))


class MLACache:
    def __init__(self, n_layers, batch_size, max_len, latent_dim, rope_dim, dtype):
        self.cut = latent_dim
        self.joint = np.zeros((n_layers, batch_size, max_len, latent_dim + rope_dim), dtype)
        self.ends = [0] * n_layers

    @property
    def length(self):
        return min(self.ends)

    def append_joint(self, layer, latent, k_rope):
        start, end = self.ends[layer], self.ends[layer] + latent.shape[1]
        if end > self.joint.shape[2]:
            raise ValueError("no more room in the latent cache")
        np.concatenate([latent, k_rope], axis=-1, out=self.joint[layer, :, start:end])
        self.ends[layer] = end
        return self.joint[layer, :, :end]

    def append(self, layer, latent, k_rope):
        return np.split(self.append_joint(layer, latent, k_rope), [self.cut], axis=-1)

    def truncate(self, length):
        if not 0 <= length <= self.length:
            raise ValueError("length is not in the cache")
        self.ends = [length] * len(self.ends)


def mla_prefill(model, tokens, cache):
    start, n = cache.length, tokens.shape[1]
    positions = start + np.arange(n)
    mask = causal_mask(n, start + n) if n > 1 else None
    x = model.embed(tokens)
    for layer in range(model.config.n_layers):
        q_nope, q_rope, latent, k_rope = model.project_latent(layer, x)
        q_rope = apply_rope(q_rope, positions, model.config.rope_theta)
        # With an axis for heads and without: both must come out the same.
        k_rope = apply_rope(k_rope[:, None], positions, model.config.rope_theta)[:, 0]
        joint = cache.append_joint(layer, model.norm_latent(layer, latent), k_rope)
        heads = attend(q_nope, q_rope, joint, *model.up_projections(layer), mask)
        x = model.add_attention(layer, x, heads)
        x = model.add_mlp(layer, x)
    return model.logits(x[:, -1])


def mla_decode_step(model, token, cache):
    return mla_prefill(model, token[:, None], cache)
