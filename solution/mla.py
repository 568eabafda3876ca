"""Part 6: multi-head latent attention, naive and absorbed (DeepSeek-V3 §2.1.1; L2 §6.4)."""

from __future__ import annotations

import math

import numpy as np

from .attention import causal_mask, scaled_dot_product_attention, softmax
from .rope import apply_rope
from .transformer import MLATransformer


def mla_naive(
    q_nope: np.ndarray,
    q_rope: np.ndarray,
    latent: np.ndarray,
    k_rope: np.ndarray,
    w_uk: np.ndarray,
    w_uv: np.ndarray,
    mask: np.ndarray | None = None,
) -> np.ndarray:
    """Latent attention by the definition: expand every head's keys and values, then attend.

    Args:
        q_nope: query part without position (B, H, T, d_nope).
        q_rope: query part with RoPE already applied (B, H, T, d_R).
        latent: normed latent of every position (B, S, d_c).
        k_rope: the one RoPE key all heads share, already rotated (B, S, d_R).
        w_uk: latent to keys (d_c, H*d_nope), heads side by side.
        w_uv: latent to values (d_c, H*d_v), heads side by side.
        mask: bool, broadcastable to (T, S); True = may attend.

    Returns:
        (B, H, T, d_v). Head h's key is [latent W_uk_h ; k_rope], its query [q_nope ; q_rope]
        and the scale 1 / sqrt(d_nope + d_R).

    Source: DeepSeek-V3 technical report §2.1.1; L2 §6.4.
    """
    ### BEGIN SOLUTION
    k_nope = _expand(latent, w_uk, n_heads=q_nope.shape[1])
    v = _expand(latent, w_uv, n_heads=q_nope.shape[1])
    shared = np.broadcast_to(k_rope[:, None], (*k_nope.shape[:3], k_rope.shape[-1]))
    q = np.concatenate([q_nope, q_rope], axis=-1)
    k = np.concatenate([k_nope, shared], axis=-1)
    return scaled_dot_product_attention(q, k, v, mask)
    ### END SOLUTION


### BEGIN SOLUTION
def _expand(latent: np.ndarray, w: np.ndarray, n_heads: int) -> np.ndarray:
    """(B, S, d_c) through an up-projection to one vector a head, (B, H, S, width)."""
    return latent[:, None] @ _per_head(w, n_heads)


def _per_head(w: np.ndarray, n_heads: int) -> np.ndarray:
    """(d_c, H*width) -> (H, d_c, width)."""
    return w.reshape(w.shape[0], n_heads, -1).transpose(1, 0, 2)


### END SOLUTION


def absorb(q_nope: np.ndarray, w_uk: np.ndarray) -> np.ndarray:
    """Move W_uk from the keys to the query: q . (c W_uk) = (q W_uk^T) . c for each head.

    Args:
        q_nope: (B, H, T, d_nope).
        w_uk: (d_c, H*d_nope).

    Returns:
        Queries in the latent space (B, H, T, d_c), unscaled.

    Source: DeepSeek-V2 §2.1.2; L2 §6.4.
    """
    ### BEGIN SOLUTION
    return q_nope @ _per_head(w_uk, n_heads=q_nope.shape[1]).swapaxes(-1, -2)
    ### END SOLUTION


def mla_absorbed(
    q_nope: np.ndarray,
    q_rope: np.ndarray,
    latent: np.ndarray,
    k_rope: np.ndarray,
    w_uk: np.ndarray,
    w_uv: np.ndarray,
    mask: np.ndarray | None = None,
) -> np.ndarray:
    """What mla_naive computes, without ever forming a head's keys or values.

    Scores are taken against the latent itself, the latents are mixed by the weights, and W_uv
    is applied once to the mixture. Arguments and result as mla_naive.

    Source: DeepSeek-V2 §2.1.2; L2 §6.4.
    """
    ### BEGIN SOLUTION
    c, shared_key = latent[:, None], k_rope[:, None]
    scores = absorb(q_nope, w_uk) @ c.swapaxes(-1, -2) + q_rope @ shared_key.swapaxes(-1, -2)
    scores = scores / math.sqrt(q_nope.shape[-1] + q_rope.shape[-1])
    if mask is not None:
        scores = np.where(mask, scores, -np.inf)
    return softmax(scores) @ c @ _per_head(w_uv, n_heads=q_nope.shape[1])
    ### END SOLUTION


class MLACache:
    """The normed latent and the rotated shared RoPE key of every position, layer by layer.

    d_c + d_R numbers a token and layer, whatever the number of heads.

    Source: L2 §6.4.
    """

    def __init__(
        self,
        n_layers: int,
        batch_size: int,
        max_len: int,
        latent_dim: int,
        rope_dim: int,
        dtype: np.dtype,
    ) -> None:
        """An empty cache with room for max_len positions."""
        ### BEGIN SOLUTION
        self._latents = np.empty((n_layers, batch_size, max_len, latent_dim), dtype)
        self._rope_keys = np.empty((n_layers, batch_size, max_len, rope_dim), dtype)
        self._lengths = [0] * n_layers
        ### END SOLUTION

    @property
    def length(self) -> int:
        """How many positions every layer holds."""
        ### BEGIN SOLUTION
        return min(self._lengths)
        ### END SOLUTION

    def append(
        self, layer: int, latent: np.ndarray, k_rope: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Write T >= 1 new positions behind those this layer holds.

        Args:
            latent: (B, T, d_c), already normed.
            k_rope: (B, T, d_R), already rotated.

        Returns:
            All this layer now holds, oldest first: latents (B, S, d_c), RoPE keys (B, S, d_R).

        Raises:
            ValueError: they do not fit into max_len positions.
        """
        ### BEGIN SOLUTION
        start, end = self._lengths[layer], self._lengths[layer] + latent.shape[1]
        max_len = self._latents.shape[2]
        if end > max_len:
            raise ValueError(f"layer {layer} would hold {end} positions, the cache has {max_len}")
        self._latents[layer, :, start:end] = latent
        self._rope_keys[layer, :, start:end] = k_rope
        self._lengths[layer] = end
        return self._latents[layer, :, :end], self._rope_keys[layer, :, :end]
        ### END SOLUTION

    def truncate(self, length: int) -> None:
        """Keep the first `length` positions of every layer and forget the rest.

        Raises:
            ValueError: length is negative, or more than the cache holds.
        """
        ### BEGIN SOLUTION
        if not 0 <= length <= self.length:
            raise ValueError(f"cannot truncate to {length}: the cache holds {self.length}")
        self._lengths = [length] * len(self._lengths)
        ### END SOLUTION


def mla_prefill(model: MLATransformer, tokens: np.ndarray, cache: MLACache) -> np.ndarray:
    """Part 4's prefill for a latent-attention model: tokens int (B, T) -> last logits (B, V).

    The latent is normed before it is cached; only the RoPE parts are rotated. A cache that
    already holds positions is continued.

    Source: DeepSeek-V3 §2.1.1; L2 §6.4.
    """
    ### BEGIN SOLUTION
    start, length = cache.length, tokens.shape[1]
    positions = np.arange(start, start + length)
    mask = causal_mask(length, start + length)
    x = model.embed(tokens)
    for layer in range(model.config.n_layers):
        q_nope, q_rope, latent, k_rope = model.project_latent(layer, x)
        q_rope = apply_rope(q_rope, positions, model.config.rope_theta)
        k_rope = apply_rope(k_rope, positions, model.config.rope_theta)
        latents, rope_keys = cache.append(layer, model.norm_latent(layer, latent), k_rope)
        w_uk, w_uv = model.up_projections(layer)
        heads = mla_absorbed(q_nope, q_rope, latents, rope_keys, w_uk, w_uv, mask)
        x = model.add_attention(layer, x, heads)
        x = model.add_mlp(layer, x)
    return model.logits(x[:, -1])
    ### END SOLUTION


def mla_decode_step(model: MLATransformer, token: np.ndarray, cache: MLACache) -> np.ndarray:
    """Part 4's decode_step for a latent-attention model: token int (B,) -> logits (B, V).

    Source: L2 §6.4.
    """
    ### BEGIN SOLUTION
    return mla_prefill(model, token[:, None], cache)
    ### END SOLUTION
