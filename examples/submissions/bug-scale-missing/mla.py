import math

import numpy as np

from .attention import scaled_dot_product_attention, softmax
from .rope import apply_rope


def head_weight(w, h, H):
    """Columns of head h, (d_c, width)."""
    width = w.shape[1] // H
    return w[:, h * width : (h + 1) * width]


def mla_naive(q_nope, q_rope, latent, k_rope, w_uk, w_uv, mask=None):
    H = q_nope.shape[1]
    outs = []
    for h in range(H):
        q = np.concatenate([q_nope[:, h], q_rope[:, h]], axis=-1)
        k = np.concatenate([latent @ head_weight(w_uk, h, H), k_rope], axis=-1)
        v = latent @ head_weight(w_uv, h, H)
        outs.append(scaled_dot_product_attention(q, k, v, mask))
    return np.stack(outs, axis=1)


def absorb(q_nope, w_uk):
    H = q_nope.shape[1]
    return np.stack([q_nope[:, h] @ head_weight(w_uk, h, H).T for h in range(H)], axis=1)


def mla_absorbed(q_nope, q_rope, latent, k_rope, w_uk, w_uv, mask=None):
    B, H = q_nope.shape[:2]
    q_latent = absorb(q_nope, w_uk)
    scale = 1 / math.sqrt(q_nope.shape[-1] + q_rope.shape[-1])
    outs = []
    for h in range(H):
        w_v = head_weight(w_uv, h, H)
        rows = []
        for b in range(B):
            scores = (q_latent[b, h] @ latent[b].T + q_rope[b, h] @ k_rope[b].T) * scale
            if mask is not None:
                scores = np.where(mask, scores, -math.inf)
            rows.append(softmax(scores) @ latent[b] @ w_v)
        outs.append(np.stack(rows))
    return np.stack(outs, axis=1)


class MLACache:
    def __init__(self, n_layers, batch_size, max_len, latent_dim, rope_dim, dtype):
        self.max_len = max_len
        self.dtype = dtype
        self.tokens = [[] for _ in range(n_layers)]  # (latent, k_rope) pairs

    @property
    def length(self):
        return min(len(one_layer) for one_layer in self.tokens)

    def append(self, layer, latent, k_rope):
        held = self.tokens[layer]
        if len(held) + latent.shape[1] > self.max_len:
            raise ValueError(f"cache is full (max_len={self.max_len})")
        for t in range(latent.shape[1]):
            held.append((latent[:, t].astype(self.dtype), k_rope[:, t].astype(self.dtype)))
        return np.stack([c for c, _ in held], axis=1), np.stack([r for _, r in held], axis=1)

    def truncate(self, length):
        if length < 0 or length > self.length:
            raise ValueError(f"can't truncate {self.length} tokens to {length}")
        self.tokens = [one_layer[:length] for one_layer in self.tokens]


def mla_decode_step(model, token, cache):
    position = np.array([cache.length])
    theta = model.config.rope_theta
    x = model.embed(token.reshape(-1, 1))
    for i in range(model.config.n_layers):
        q_nope, q_rope, latent, k_rope = model.project_latent(i, x)
        C, KR = cache.append(i, model.norm_latent(i, latent), apply_rope(k_rope, position, theta))
        q_rope = apply_rope(q_rope, position, theta)
        out = mla_absorbed(q_nope, q_rope, C, KR, *model.up_projections(i))
        x = model.add_mlp(i, model.add_attention(i, x, out))
    return model.logits(x[:, 0])


def mla_prefill(model, tokens, cache):
    for t in range(tokens.shape[1]):
        logits = mla_decode_step(model, tokens[:, t], cache)
    return logits
