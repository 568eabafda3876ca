import math

import numpy as np

from .attention import causal_mask, scaled_dot_product_attention, softmax, split_heads
from .rope import apply_rope
from .storage import LayeredCache


def mla_naive(q_nope, q_rope, latent, k_rope, w_uk, w_uv, mask=None):
    H = q_nope.shape[1]
    k_nope = split_heads(latent @ w_uk, H)
    v = split_heads(latent @ w_uv, H)
    # the rope key is the same for all heads
    k_shared = np.stack([k_rope] * H, axis=1)
    q = np.concatenate((q_nope, q_rope), axis=-1)
    k = np.concatenate((k_nope, k_shared), axis=-1)
    return scaled_dot_product_attention(q, k, v, mask)


def by_head(w, H):
    return np.stack(np.split(w, H, axis=1))  # (H, d_c, width)


def absorb(q_nope, w_uk):
    return np.matmul(q_nope, by_head(w_uk, q_nope.shape[1]).transpose(0, 2, 1))


def mla_absorbed(q_nope, q_rope, latent, k_rope, w_uk, w_uv, mask=None):
    # glue latent and rope key together: then it's plain attention with ONE kv head
    q = np.concatenate((absorb(q_nope, w_uk), q_rope), axis=-1)
    k = np.concatenate((latent, k_rope), axis=-1)[:, None]
    scores = np.matmul(q, k.swapaxes(-1, -2)) / math.sqrt(q_nope.shape[-1] + q_rope.shape[-1])
    if mask is not None:
        scores = np.where(mask, scores, -np.inf)
    mixture = np.matmul(softmax(scores), latent[:, None])
    return np.matmul(mixture, by_head(w_uv, q_nope.shape[1]))


class MLACache(LayeredCache):
    time_axis = 1

    def __init__(self, n_layers, batch_size, max_len, latent_dim, rope_dim, dtype):
        latent_shape, rope_shape = (batch_size, 0, latent_dim), (batch_size, 0, rope_dim)
        super().__init__(n_layers, max_len, latent_shape, rope_shape, dtype)


def mla_prefill(model, tokens, cache):
    n_old = cache.length
    n_all = n_old + tokens.shape[1]
    positions = np.arange(n_old, n_all)
    theta = model.config.rope_theta
    x = model.embed(tokens)
    for layer in range(model.config.n_layers):
        q_nope, q_rope, latent, k_rope = model.project_latent(layer, x)
        q_rope = apply_rope(q_rope, positions, theta)
        k_rope = apply_rope(k_rope, positions, theta)
        latents, k_ropes = cache.append(layer, model.norm_latent(layer, latent), k_rope)
        w_uk, w_uv = model.up_projections(layer)
        mask = causal_mask(tokens.shape[1], n_all)
        heads = mla_absorbed(q_nope, q_rope, latents, k_ropes, w_uk, w_uv, mask)
        x = model.add_attention(layer, x, heads)
        x = model.add_mlp(layer, x)
    return model.logits(x[:, -1])


def mla_decode_step(model, token, cache):
    return mla_prefill(model, token[:, None], cache)
