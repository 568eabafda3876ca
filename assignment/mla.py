# Generated from solution/mla.py by `make assignment`; a change belongs there.
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
    raise NotImplementedError("Part 6.1 mla_naive: see README.md §6.1")


def absorb(q_nope: np.ndarray, w_uk: np.ndarray) -> np.ndarray:
    """Move W_uk from the keys to the query: q . (c W_uk) = (q W_uk^T) . c for each head.

    Args:
        q_nope: (B, H, T, d_nope).
        w_uk: (d_c, H*d_nope).

    Returns:
        Queries in the latent space (B, H, T, d_c), unscaled.

    Source: DeepSeek-V2 §2.1.2; L2 §6.4.
    """
    raise NotImplementedError("Part 6.2 absorb: see README.md §6.2")


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
    raise NotImplementedError("Part 6.3 mla_absorbed: see README.md §6.3")


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
        raise NotImplementedError("Part 6.4 MLACache.__init__: see README.md §6.4")

    @property
    def length(self) -> int:
        """How many positions every layer holds."""
        raise NotImplementedError("Part 6.4 MLACache.length: see README.md §6.4")

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
        raise NotImplementedError("Part 6.4 MLACache.append: see README.md §6.4")

    def truncate(self, length: int) -> None:
        """Keep the first `length` positions of every layer and forget the rest.

        Raises:
            ValueError: length is negative, or more than the cache holds.
        """
        raise NotImplementedError("Part 6.4 MLACache.truncate: see README.md §6.4")


def mla_prefill(model: MLATransformer, tokens: np.ndarray, cache: MLACache) -> np.ndarray:
    """Part 4's prefill for a latent-attention model: tokens int (B, T) -> last logits (B, V).

    The latent is normed before it is cached; only the RoPE parts are rotated. A cache that
    already holds positions is continued.

    Source: DeepSeek-V3 §2.1.1; L2 §6.4.
    """
    raise NotImplementedError("Part 6.5 mla_prefill: see README.md §6.5")


def mla_decode_step(model: MLATransformer, token: np.ndarray, cache: MLACache) -> np.ndarray:
    """Part 4's decode_step for a latent-attention model: token int (B,) -> logits (B, V).

    Source: L2 §6.4.
    """
    raise NotImplementedError("Part 6.6 mla_decode_step: see README.md §6.6")
