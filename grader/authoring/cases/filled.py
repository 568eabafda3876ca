"""Cases of a cache that is filled through append with numbers that belong to no token.

Nothing but the cache tells what came before, so no recompute can answer them, whatever it keeps.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import reference_model as reference

from .decode import llama_config
from .draw import Draw
from .latent import latent_config

Fields = dict[str, Any]

BATCH, N_STEPS = 2, 3


def _n_held(draw: Draw) -> int:
    """No longer than in the other cases: what fails with length only is a fault of another kind."""
    return int(draw.rng.integers(5, 10))


def _tokens(draw: Draw, config: dict[str, Any]) -> np.ndarray:
    return draw.rng.integers(config["vocab_size"], size=(BATCH, N_STEPS))


def keys_and_values(draw: Draw, grouped: bool) -> Fields:
    """Keys as large as a model's own, so that attention is neither flat nor one key's."""
    config = llama_config(draw, grouped) | {"n_layers": 2}
    params = reference.init_llama(config, draw.seed())
    shape = (config["n_layers"], BATCH, config["n_kv_heads"], _n_held(draw), config["head_dim"])
    keys, values, tokens = draw.normal(*shape), draw.normal(*shape), _tokens(draw, config)
    logits = reference.decode_from_keys(config, params, keys, values, tokens)
    return {
        "config": config,
        "params": params,
        "keys": keys,
        "values": values,
        "tokens": tokens,
        "decode_logits": logits,
    }


def latents_and_rope_keys(draw: Draw) -> Fields:
    """The same for the latent cache; its two arrays differ in width."""
    config = latent_config(draw, query_latent_dim=None) | {"n_layers": 2}
    params = reference.init_mla(config, draw.seed())
    shape = (config["n_layers"], BATCH, _n_held(draw))
    latents = draw.normal(*shape, config["latent_dim"])
    rope_keys = draw.normal(*shape, config["rope_dim"])
    tokens = _tokens(draw, config)
    logits = reference.decode_from_latents(config, params, latents, rope_keys, tokens)
    return {
        "config": config,
        "params": params,
        "latents": latents,
        "rope_keys": rope_keys,
        "tokens": tokens,
        "decode_logits": logits,
    }


BUILDERS: dict[str, Callable[[Draw], Fields]] = {
    "filled/mha": partial(keys_and_values, grouped=False),
    "filled/gqa": partial(keys_and_values, grouped=True),
    "filled/latent": latents_and_rope_keys,
}
