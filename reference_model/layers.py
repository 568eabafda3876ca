"""The pieces of a decoder, each written to be checked by eye against its formula.

Nothing here is fast. B batch, T query length, S key length, H query heads, G key/value heads,
d_h head width. Masks are boolean and True means "may attend". All arithmetic is float64.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .shapes import Bool, Float64, Integer, Real


def as_float64(x: ArrayLike) -> Float64[np.ndarray, "..."]:
    return np.asarray(x, dtype=np.float64)


def softmax(x: Real[np.ndarray, "*shape"], axis: int = -1) -> Float64[np.ndarray, "*shape"]:
    """softmax(x)_i = exp(x_i) / sum_j exp(x_j) along `axis`; shape (...) -> (...). (D3, logits)

    Entries of -inf get weight 0. A slice of nothing but -inf has no softmax: ValueError.
    """
    x = as_float64(x)
    largest = np.max(x, axis=axis, keepdims=True)
    if np.any(largest == -np.inf):
        raise ValueError("softmax of a slice that is -inf everywhere is undefined")
    powers = np.exp(x - largest)
    return powers / np.sum(powers, axis=axis, keepdims=True)


def attention_weights(
    q: Real[np.ndarray, "*batch T d_h"],
    k: Real[np.ndarray, "*batch S d_h"],
    mask: Bool[np.ndarray, "... #T #S"] | None = None,
) -> Float64[np.ndarray, "*batch T S"]:
    """softmax(q k^T / sqrt(d_h)), masked: q (...,T,d_h), k (...,S,d_h) -> (...,T,S). (L2 §2.3-2.5)

    A query that may attend to no key at all has no weights: ValueError.
    """
    q, k = as_float64(q), as_float64(k)
    head_dim = q.shape[-1]
    if k.shape[-1] != head_dim:
        raise ValueError(f"queries are {head_dim} wide but keys {k.shape[-1]}")
    scores = np.einsum("...td,...sd->...ts", q, k) / np.sqrt(head_dim)
    return softmax(masked(scores, mask), axis=-1)


def masked(
    scores: Float64[np.ndarray, "*batch T S"], mask: Bool[np.ndarray, "... #T #S"] | None
) -> Float64[np.ndarray, "*batch T S"]:
    """`scores` with -inf wherever the boolean `mask` says False."""
    if mask is None:
        return scores
    mask = np.asarray(mask)
    if mask.dtype != np.bool_:
        raise ValueError(f"a mask is boolean (True = may attend), not {mask.dtype}")
    return np.where(np.broadcast_to(mask, scores.shape), scores, -np.inf)


def attention(
    q: Real[np.ndarray, "*batch T d_h"],
    k: Real[np.ndarray, "*batch S d_h"],
    v: Real[np.ndarray, "*batch S d_v"],
    mask: Bool[np.ndarray, "... #T #S"] | None = None,
) -> Float64[np.ndarray, "*batch T d_v"]:
    """Scaled dot-product attention softmax(q k^T / sqrt(d_h)) v. (Vaswani et al. §3.2.1, L2 §2.3)

    q (...,T,d_h), k (...,S,d_h), v (...,S,d_v), mask broadcastable to (...,T,S) -> (...,T,d_v).
    """
    return np.einsum("...ts,...sv->...tv", attention_weights(q, k, mask), as_float64(v))


def causal_mask(query_len: int, key_len: int) -> Bool[np.ndarray, "{query_len} {key_len}"]:
    """Boolean (T,S): the T queries are the LAST T of S positions and see no later one. (L2 §2.5)"""
    if query_len > key_len:
        raise ValueError(f"{query_len} queries cannot be the last of only {key_len} positions")
    first_query = key_len - query_len
    mask = np.zeros((query_len, key_len), dtype=np.bool_)
    for query in range(query_len):
        for key in range(key_len):
            mask[query, key] = key <= first_query + query
    return mask


def split_heads(
    x: Real[np.ndarray, "B T width"], n_heads: int
) -> Float64[np.ndarray, "B {n_heads} T {x.shape[-1]//n_heads}"]:
    """(B,T,H*d_h) -> (B,H,T,d_h): head h owns columns h*d_h up to (h+1)*d_h. (L2 §2.6, D3)"""
    x = as_float64(x)
    width = x.shape[-1]
    if width % n_heads:
        raise ValueError(f"a width of {width} does not split into {n_heads} heads evenly")
    head_dim = width // n_heads
    heads = [x[:, :, h * head_dim : (h + 1) * head_dim] for h in range(n_heads)]
    return np.stack(heads, axis=1)


def merge_heads(x: Real[np.ndarray, "B H T d_h"]) -> Float64[np.ndarray, "B T H*d_h"]:
    """(B,H,T,d_h) -> (B,T,H*d_h): the heads side by side, in order."""
    x = as_float64(x)
    return np.concatenate([x[:, h] for h in range(x.shape[1])], axis=-1)


def multi_head_attention(
    x: Real[np.ndarray, "B T d"],
    w_q: Real[np.ndarray, "d q_width"],
    w_k: Real[np.ndarray, "d q_width"],
    w_v: Real[np.ndarray, "d v_width"],
    w_o: Real[np.ndarray, "v_width d"],
    n_heads: int,
) -> Float64[np.ndarray, "B T d"]:
    """Causal multi-head self-attention without positions: x (B,T,d) -> (B,T,d). (L2 §2.6, D3)"""
    x = as_float64(x)
    q, k, v = (split_heads(x @ as_float64(w), n_heads) for w in (w_q, w_k, w_v))
    length = x.shape[1]
    return merge_heads(attention(q, k, v, causal_mask(length, length))) @ as_float64(w_o)


def grouped_query_attention(
    q: Real[np.ndarray, "B H T d_h"],
    k: Real[np.ndarray, "B G S d_h"],
    v: Real[np.ndarray, "B G S d_v"],
    mask: Bool[np.ndarray, "... #T #S"] | None = None,
) -> Float64[np.ndarray, "B H T d_v"]:
    """Query head h reads key/value head h // R, R = H/G: q (B,H,T,d_h), k and v (B,G,S,.).

    mask broadcastable to (B,H,T,S). Returns (B,H,T,d_v). (Ainslie et al. §2.2, L2 §6.2)
    """
    q, k, v = as_float64(q), as_float64(k), as_float64(v)
    n_heads, n_kv_heads = q.shape[1], k.shape[1]
    if n_heads % n_kv_heads or v.shape[1] != n_kv_heads:
        raise ValueError(
            f"{n_heads} query heads cannot share {n_kv_heads} key and {v.shape[1]} value heads"
        )
    heads_per_group = n_heads // n_kv_heads
    head_masks = _mask_of_each_head(mask, (*q.shape[:3], k.shape[2]))
    heads = []
    for head in range(n_heads):
        group = head // heads_per_group
        heads.append(attention(q[:, head], k[:, group], v[:, group], head_masks[head]))
    return np.stack(heads, axis=1)


def _mask_of_each_head(
    mask: np.ndarray | None, scores_shape: tuple[int, ...]
) -> list[np.ndarray | None]:
    """A mask broadcastable to (B,H,T,S) -> for each head its mask (B,T,S)."""
    n_heads = scores_shape[1]
    if mask is None:
        return [None] * n_heads
    full = np.broadcast_to(np.asarray(mask), scores_shape)
    return [full[:, head] for head in range(n_heads)]


def mean_pool_kv_heads(
    w: Real[np.ndarray, "d q_width"], n_heads: int, n_kv_heads: int
) -> Float64[np.ndarray, "d {n_kv_heads*w.shape[1]//n_heads}"]:
    """(d, H*d_h) -> (d, G*d_h): group g is the mean of its R heads' columns. (L2 §6.3)"""
    w = as_float64(w)
    if n_heads % n_kv_heads or w.shape[1] % n_heads:
        raise ValueError(
            f"cannot pool {w.shape[1]} columns of {n_heads} heads into {n_kv_heads} groups"
        )
    head_dim, heads_per_group = w.shape[1] // n_heads, n_heads // n_kv_heads
    groups = []
    for group in range(n_kv_heads):
        first = group * heads_per_group
        members = [
            w[:, h * head_dim : (h + 1) * head_dim] for h in range(first, first + heads_per_group)
        ]
        groups.append(sum(members) / heads_per_group)
    return np.concatenate(groups, axis=1)


def rope_frequencies(
    head_dim: int, theta: float = 10000.0, scaling: Mapping[str, Any] | None = None
) -> Float64[np.ndarray, "{head_dim//2}"]:
    """theta_i = theta^(-2i/d_h) for each pair i, shape (d_h/2,). (RoFormer §3.2.2, L2 §2.7)

    `scaling` of type "llama3" divides the slow frequencies by a factor (Llama 3.1).
    """
    if head_dim % 2:
        raise ValueError(f"RoPE rotates pairs, so head_dim must be even, not {head_dim}")
    frequencies = [theta ** (-2 * pair / head_dim) for pair in range(head_dim // 2)]
    if scaling is not None:
        frequencies = [_llama3_scaled(frequency, scaling) for frequency in frequencies]
    return np.array(frequencies, dtype=np.float64)


def _llama3_scaled(frequency: float, scaling: Mapping[str, Any]) -> float:
    """Fast pairs stay, pairs too slow for the original context are stretched, a ramp between."""
    turns = scaling["original_max_position_embeddings"] * frequency / (2 * math.pi)
    low, high = scaling["low_freq_factor"], scaling["high_freq_factor"]
    if turns > high:
        return frequency
    if turns < low:
        return frequency / scaling["factor"]
    kept = (turns - low) / (high - low)
    return kept * frequency + (1 - kept) * frequency / scaling["factor"]


def rope(
    x: Real[np.ndarray, "*batch T d_h"],
    positions: Integer[np.ndarray, "T"] | Integer[np.ndarray, "B T"],
    theta: float = 10000.0,
    scaling: Mapping[str, Any] | None = None,
) -> Float64[np.ndarray, "*batch T d_h"]:
    """Rotate pair i, entries (2i, 2i+1), at position m by the angle m*theta_i. (RoFormer, L2 §2.7)

    x (...,T,d_h); positions int (T,), or (B,T) when x is (B,...,T,d_h). Returns the shape of x.
    """
    x = as_float64(x)
    positions = _checked_positions(x, positions)
    angles = positions[..., None] * rope_frequencies(x.shape[-1], theta, scaling)
    cos, sin = np.cos(angles), np.sin(angles)
    first, second = x[..., 0::2], x[..., 1::2]
    rotated = np.empty_like(x)
    rotated[..., 0::2] = first * cos - second * sin
    rotated[..., 1::2] = first * sin + second * cos
    return rotated


def _checked_positions(x: np.ndarray, positions: np.ndarray) -> np.ndarray:
    positions = np.asarray(positions)
    if not np.issubdtype(positions.dtype, np.integer):
        raise ValueError(f"positions are integers, not {positions.dtype}")
    if positions.shape == x.shape[-2:-1]:
        return positions
    if x.ndim >= 3 and positions.shape == (x.shape[0], x.shape[-2]):
        batch, length = positions.shape
        heads = (1,) * (x.ndim - 3)
        return positions.reshape(batch, *heads, length)
    raise ValueError(
        f"positions of shape {positions.shape} do not fit x of shape {x.shape}: "
        "expected (T,) or (B,T)"
    )


def mla_attention(
    q_nope: Real[np.ndarray, "B H T nope"],
    q_rope: Real[np.ndarray, "B H T d_R"],
    latent: Real[np.ndarray, "B S d_c"],
    k_rope: Real[np.ndarray, "B S d_R"],
    w_uk: Real[np.ndarray, "d_c H*nope"],
    w_uv: Real[np.ndarray, "d_c v_width"],
    mask: Bool[np.ndarray, "... #T #S"] | None = None,
) -> Float64[np.ndarray, "B H T {w_uv.shape[1]//q_nope.shape[1]}"]:
    """Multi-head latent attention the plain way: expand the latent per head, then attend.

    q_nope (B,H,T,nope), q_rope (B,H,T,d_R) already rotated, latent (B,S,d_c) already normed,
    k_rope (B,S,d_R) already rotated and shared by all heads, w_uk (d_c,H*nope), w_uv (d_c,H*v).
    mask broadcastable to (B,H,T,S). Returns (B,H,T,v). The scale is 1/sqrt(nope + d_R).
    (DeepSeek-V3 report §2.1.1, L2 §6.4)
    """
    q_nope, q_rope, k_rope = as_float64(q_nope), as_float64(q_rope), as_float64(k_rope)
    latent = as_float64(latent)
    n_heads = q_nope.shape[1]
    k_nope = split_heads(latent @ as_float64(w_uk), n_heads)
    values = split_heads(latent @ as_float64(w_uv), n_heads)
    head_masks = _mask_of_each_head(mask, (*q_nope.shape[:3], latent.shape[1]))
    heads = []
    for head in range(n_heads):
        query = np.concatenate([q_nope[:, head], q_rope[:, head]], axis=-1)
        key = np.concatenate([k_nope[:, head], k_rope], axis=-1)
        heads.append(attention(query, key, values[:, head], head_masks[head]))
    return np.stack(heads, axis=1)


def rmsnorm(
    x: Real[np.ndarray, "*batch d"], weight: Real[np.ndarray, "d"], eps: float
) -> Float64[np.ndarray, "*batch d"]:
    """x / sqrt(mean(x^2) + eps) * weight over the last axis; (...,d) -> (...,d). (L2 §3.2)"""
    x = as_float64(x)
    mean_square = np.mean(x * x, axis=-1, keepdims=True)
    return x / np.sqrt(mean_square + eps) * as_float64(weight)


def silu(x: Real[np.ndarray, "*shape"]) -> Float64[np.ndarray, "*shape"]:
    """x * sigmoid(x), elementwise; the sigmoid by tanh, which cannot overflow."""
    x = as_float64(x)
    return x * (1 + np.tanh(x / 2)) / 2


def swiglu(
    x: Real[np.ndarray, "*batch d"],
    w_gate: Real[np.ndarray, "d d_ff"],
    w_up: Real[np.ndarray, "d d_ff"],
    w_down: Real[np.ndarray, "d_ff d"],
) -> Float64[np.ndarray, "*batch d"]:
    """(silu(x w_gate) * (x w_up)) w_down; (...,d) -> (...,d). (L2 §3.2)"""
    x = as_float64(x)
    gate, up = x @ as_float64(w_gate), x @ as_float64(w_up)
    return (silu(gate) * up) @ as_float64(w_down)
