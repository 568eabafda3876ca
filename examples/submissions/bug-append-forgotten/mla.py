"""c = latent, n = nope, r = rope, e = value width in the einsum strings."""
import numpy as np

from .attention import causal_mask, softmax
from .rope import apply_rope


def weights(scores, mask, width):
    scores = scores * width**-0.5
    return softmax(scores if mask is None else np.where(mask, scores, -np.inf))


def mla_naive(q_nope, q_rope, latent, k_rope, w_uk, w_uv, mask=None):
    h = q_nope.shape[1]
    k_nope = np.einsum("bsc,chn->bhsn", latent, w_uk.reshape(len(w_uk), h, -1))
    v = np.einsum("bsc,che->bhse", latent, w_uv.reshape(len(w_uv), h, -1))
    scores = np.einsum("bhtn,bhsn->bhts", q_nope, k_nope)
    scores = scores + np.einsum("bhtr,bsr->bhts", q_rope, k_rope)
    a = weights(scores, mask, q_nope.shape[-1] + q_rope.shape[-1])
    return np.einsum("bhts,bhse->bhte", a, v)


def absorb(q_nope, w_uk):
    return np.einsum("bhtn,chn->bhtc", q_nope, w_uk.reshape(len(w_uk), q_nope.shape[1], -1))


def mla_absorbed(q_nope, q_rope, latent, k_rope, w_uk, w_uv, mask=None):
    scores = np.einsum("bhtc,bsc->bhts", absorb(q_nope, w_uk), latent)
    scores = scores + np.einsum("bhtr,bsr->bhts", q_rope, k_rope)
    a = weights(scores, mask, q_nope.shape[-1] + q_rope.shape[-1])
    mixed = np.einsum("bhts,bsc->bhtc", a, latent)
    return np.einsum("bhtc,che->bhte", mixed, w_uv.reshape(len(w_uv), q_nope.shape[1], -1))


class MLACache:
    """Latent and rope key side by side in one array (n_layers, B, max_len, d_c + d_R)."""

    def __init__(self, n_layers, batch_size, max_len, latent_dim, rope_dim, dtype):
        self.data = np.zeros((n_layers, batch_size, max_len, latent_dim + rope_dim), dtype)
        self.d_c = latent_dim
        self.filled = np.zeros(n_layers, dtype=int)

    @property
    def length(self):
        return int(self.filled.min())

    def append(self, layer, latent, k_rope):
        lo = self.filled[layer]
        hi = lo + latent.shape[1]
        if hi > self.data.shape[2]:
            raise ValueError(f"{hi} tokens do not fit into a cache of {self.data.shape[2]}")
        self.data[layer, :, lo:hi, : self.d_c] = latent
        self.data[layer, :, lo:hi, self.d_c :] = k_rope
        self.filled[layer] = hi
        held = self.data[layer, :, :hi]
        return held[..., : self.d_c], held[..., self.d_c :]

    def truncate(self, length):
        if not 0 <= length <= self.length:
            raise ValueError(f"length {length} not in 0..{self.length}")
        self.filled[:] = length


def mla_prefill(model, tokens, cache):
    theta = model.config.rope_theta
    past, new = cache.length, tokens.shape[1]
    pos = past + np.arange(new)
    x = model.embed(tokens)
    for layer in range(model.config.n_layers):
        q_nope, q_rope, c, k_rope = model.project_latent(layer, x)
        c = model.norm_latent(layer, c)
        c, k_rope = cache.append(layer, c, apply_rope(k_rope, pos, theta))
        w_uk, w_uv = model.up_projections(layer)
        q_rope = apply_rope(q_rope, pos, theta)
        attn = mla_absorbed(q_nope, q_rope, c, k_rope, w_uk, w_uv, causal_mask(new, past + new))
        x = model.add_mlp(layer, model.add_attention(layer, x, attn))
    return model.logits(x[:, -1, :])


def mla_decode_step(model, token, cache):
    return mla_prefill(model, token[:, np.newaxis], cache)
