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

N_HEADS, NOPE_DIM, ROPE_DIM, V_DIM = 8, 6, 4, 9


def attention(draw: Draw, dtype: type) -> Fields:
    """The core: rotated queries and key in, heads out."""
    batch, query_len, key_len, latent_dim = 2, 3, 8, draw.choice((11, 13))
    fields = {
        "q_nope": draw.normal(batch, N_HEADS, query_len, NOPE_DIM, dtype=dtype),
        "q_rope": draw.normal(batch, N_HEADS, query_len, ROPE_DIM, dtype=dtype),
        "latent": draw.normal(batch, key_len, latent_dim, dtype=dtype),
        "k_rope": draw.normal(batch, key_len, ROPE_DIM, dtype=dtype),
        "w_uk": _up_projection(draw, latent_dim, NOPE_DIM, dtype),
        "w_uv": _up_projection(draw, latent_dim, V_DIM, dtype),
        "mask": reference.causal_mask(query_len, key_len),
    }
    return fields | {"expected": reference.mla_attention(**fields).astype(dtype)}


def _up_projection(draw: Draw, latent_dim: int, width: int, dtype: type) -> np.ndarray:
    return (draw.normal(latent_dim, N_HEADS * width) / np.sqrt(latent_dim)).astype(dtype)


def absorb(draw: Draw) -> Fields:
    """q W_uk^T head by head, as the formula says it."""
    latent_dim = draw.choice((11, 13))
    q_nope = draw.normal(2, N_HEADS, 3, NOPE_DIM)
    w_uk = _up_projection(draw, latent_dim, NOPE_DIM, np.float64)
    heads = [q_nope[:, h] @ w_uk[:, h * NOPE_DIM : (h + 1) * NOPE_DIM].T for h in range(N_HEADS)]
    return {"q_nope": q_nope, "w_uk": w_uk, "expected": np.stack(heads, axis=1)}


def latent_config(draw: Draw, query_latent_dim: int | None) -> dict[str, Any]:
    return {
        "name": "tiny latent",
        "n_layers": 3,
        "d_model": draw.choice((20, 22)),
        "n_heads": N_HEADS,
        "latent_dim": draw.choice((11, 13)),
        "nope_dim": NOPE_DIM,
        "rope_dim": ROPE_DIM,
        "v_dim": V_DIM,
        "query_latent_dim": query_latent_dim,
        "d_ff": draw.choice((28, 30)),
        "vocab_size": draw.choice((33, 37)),
        "rope_theta": draw.choice((100.0, 300.0)),
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
