"""Cases for multi-head latent attention: part 6. The value width differs from the nope width."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import reference_model as reference

from .decode import teacher_forced
from .draw import Draw

Fields = dict[str, Any]

BATCH, QUERY_LEN, ROPE_DIM = 2, 3, 4


def attention(
    draw: Draw,
    dtype: type,
    batch: int = BATCH,
    heads: tuple[int, int] = (7, 9),
    keys: tuple[int, int] = (10, 12),
) -> Fields:
    """The core: rotated queries and key in, heads out. Ranges include their ends."""
    n_heads, key_len = draw.between(*heads), draw.between(*keys)
    nope_dim, v_dim, latent_dim = draw.between(5, 6), 9, draw.between(11, 14)
    fields = {
        "q_nope": draw.normal(batch, n_heads, QUERY_LEN, nope_dim, dtype=dtype),
        "q_rope": draw.normal(batch, n_heads, QUERY_LEN, ROPE_DIM, dtype=dtype),
        "latent": draw.normal(batch, key_len, latent_dim, dtype=dtype),
        "k_rope": draw.normal(batch, key_len, ROPE_DIM, dtype=dtype),
        "w_uk": _up_projection(draw, latent_dim, n_heads * nope_dim, dtype),
        "w_uv": _up_projection(draw, latent_dim, n_heads * v_dim, dtype),
        "mask": reference.causal_mask(QUERY_LEN, key_len),
    }
    return fields | {"expected": reference.mla_attention(**fields).astype(dtype)}


def _up_projection(draw: Draw, latent_dim: int, width: int, dtype: type) -> np.ndarray:
    return (draw.normal(latent_dim, width) / np.sqrt(latent_dim)).astype(dtype)


def absorb(draw: Draw) -> Fields:
    """q W_uk^T head by head, as the formula says it."""
    n_heads, nope_dim, latent_dim = draw.between(7, 9), draw.between(5, 6), draw.between(11, 14)
    q_nope = draw.normal(BATCH, n_heads, QUERY_LEN, nope_dim)
    w_uk = _up_projection(draw, latent_dim, n_heads * nope_dim, np.float64)
    columns = [slice(h * nope_dim, (h + 1) * nope_dim) for h in range(n_heads)]
    heads = [q_nope[:, h] @ w_uk[:, of_head].T for h, of_head in enumerate(columns)]
    return {"q_nope": q_nope, "w_uk": w_uk, "expected": np.stack(heads, axis=1)}


def latent_config(draw: Draw, query_latent_dim: int | None) -> dict[str, Any]:
    return {
        "name": "tiny latent",
        "n_layers": 3,
        "d_model": draw.between(19, 23),
        "n_heads": draw.between(7, 9),
        "latent_dim": draw.between(11, 14),
        "nope_dim": 6,
        "rope_dim": ROPE_DIM,
        "v_dim": 10,
        "query_latent_dim": query_latent_dim,
        "d_ff": draw.between(27, 31),
        "vocab_size": draw.between(32, 40),
        "rope_theta": draw.theta(),
        "norm_eps": 1e-5,
        "latent_norm_eps": 1e-6,
        "tied": False,
    }


def decode(draw: Draw, dtype: type, query_latent_dim: int | None) -> Fields:
    config = latent_config(draw, query_latent_dim)
    params = reference.init_mla(config, draw.seed(), dtype)
    return {"config": config, "params": params} | teacher_forced(draw, config, params, dtype)


BUILDERS: dict[str, Callable[[Draw], Fields]] = {
    "mla/float64": partial(attention, dtype=np.float64),
    "mla/float32": partial(attention, dtype=np.float32),
    "mla/absorb": absorb,
    "mla/decode": partial(decode, dtype=np.float64, query_latent_dim=None),
    "mla/decode_compressed": partial(decode, dtype=np.float64, query_latent_dim=15),
    "mla/decode_float32": partial(decode, dtype=np.float32, query_latent_dim=None),
}
