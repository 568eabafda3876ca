"""Decode on keys and values that are simply given: whose they are does not matter. (L2 §5.2)

The other functions of this package take tokens, so whoever remembers the tokens can equal them.
These take what a cache holds, and nothing else tells the past.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from .config import AnyConfig, MLAConfig, ModelConfig, Params, as_config, check_params
from .layers import (
    as_float64,
    grouped_query_attention,
    merge_heads,
    mla_attention,
    rmsnorm,
    rope,
    split_heads,
    swiglu,
)
from .llama import checked_tokens, layer_params, output_logits
from .mla import queries


def decode_from_keys(
    config: AnyConfig, params: Params, keys: ArrayLike, values: ArrayLike, tokens: np.ndarray
) -> np.ndarray:
    """Logits of tokens decoded one by one after positions of which keys and values are given.

    keys (rotated) and values (layers,B,G,S,d_h), tokens int (B,n) -> float64 (n,B,V). The tokens
    stand at positions S, S+1, ...; each attends to what is given, to those before it and itself.
    """
    config = as_config(config)
    if not isinstance(config, ModelConfig):
        raise ValueError("decode_from_keys needs a ModelConfig")
    check_params(config, params)
    keys, values = list(as_float64(keys)), list(as_float64(values))
    logits = []
    for token in checked_tokens(tokens, config.vocab_size).T:
        x = as_float64(params["embedding"][token[:, None]])
        position = np.array([keys[-1].shape[2]])
        for layer in range(config.n_layers):
            weights = layer_params(params, layer)
            h = rmsnorm(x, weights["attention_norm"], config.norm_eps)
            q = split_heads(h @ weights["w_q"], config.n_heads)
            k = split_heads(h @ weights["w_k"], config.n_kv_heads)
            v = split_heads(h @ weights["w_v"], config.n_kv_heads)
            q = rope(q, position, config.rope_theta, config.rope_scaling)
            k = rope(k, position, config.rope_theta, config.rope_scaling)
            keys[layer] = np.concatenate([keys[layer], k], axis=2)
            values[layer] = np.concatenate([values[layer], v], axis=2)
            heads = grouped_query_attention(q, keys[layer], values[layer])
            x = _rest_of_layer(weights, x, heads, config.norm_eps)
        logits.append(output_logits(config, params, x)[:, 0])
    return np.stack(logits)


def decode_from_latents(
    config: AnyConfig, params: Params, latents: ArrayLike, rope_keys: ArrayLike, tokens: np.ndarray
) -> np.ndarray:
    """As decode_from_keys for latent attention: latents (layers,B,S,d_c), normed, and RoPE keys
    (layers,B,S,d_R), rotated. (L2 §6.4)"""
    config = as_config(config)
    if not isinstance(config, MLAConfig):
        raise ValueError("decode_from_latents needs an MLAConfig")
    check_params(config, params)
    latents, rope_keys = list(as_float64(latents)), list(as_float64(rope_keys))
    logits = []
    for token in checked_tokens(tokens, config.vocab_size).T:
        x = as_float64(params["embedding"][token[:, None]])
        position = np.array([latents[-1].shape[1]])
        for layer in range(config.n_layers):
            weights = layer_params(params, layer)
            h = rmsnorm(x, weights["attention_norm"], config.norm_eps)
            q_nope, q_rope = queries(config, weights, h, position)
            latent = rmsnorm(h @ weights["w_dkv"], weights["kv_norm"], config.latent_norm_eps)
            k_rope = rope(h @ weights["w_kr"], position, config.rope_theta)
            latents[layer] = np.concatenate([latents[layer], latent], axis=1)
            rope_keys[layer] = np.concatenate([rope_keys[layer], k_rope], axis=1)
            heads = mla_attention(
                q_nope, q_rope, latents[layer], rope_keys[layer], weights["w_uk"], weights["w_uv"]
            )
            x = _rest_of_layer(weights, x, heads, config.norm_eps)
        logits.append(output_logits(config, params, x)[:, 0])
    return np.stack(logits)


def _rest_of_layer(
    weights: dict[str, np.ndarray], x: np.ndarray, heads: np.ndarray, norm_eps: float
) -> np.ndarray:
    x = x + merge_heads(heads) @ weights["w_o"]
    h = rmsnorm(x, weights["mlp_norm"], norm_eps)
    return x + swiglu(h, weights["w_gate"], weights["w_up"], weights["w_down"])
