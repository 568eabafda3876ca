"""A Llama-style decoder over whole sequences: no cache, nothing reused. (L2 §3.2)"""

from __future__ import annotations

import numpy as np

from .config import AnyConfig, MLAConfig, ModelConfig, Params, as_config, check_params
from .layers import (
    as_float64,
    causal_mask,
    grouped_query_attention,
    merge_heads,
    rmsnorm,
    rope,
    split_heads,
    swiglu,
)
from .shapes import Float64, Integer


def llama_logits(
    config: AnyConfig,
    params: Params,
    tokens: Integer[np.ndarray, "B T"],
    positions: Integer[np.ndarray, "T"] | Integer[np.ndarray, "B T"] | None = None,
    last_only: bool = False,
) -> Float64[np.ndarray, "B #T V"]:
    """Logits of every position of whole sequences: tokens int (B,T) -> float64 (B,T,V).

    `positions` int (T,) or (B,T) feeds RoPE only (default 0..T-1); who may attend to whom follows
    the order in `tokens`. `last_only` gives (B,1,V), sparing a large vocabulary's other rows.
    Raises ValueError for a wrong config, parameter, token id or shape.
    """
    config = as_config(config)
    if not isinstance(config, ModelConfig):
        raise ValueError("llama_logits needs a ModelConfig; for an MLAConfig use mla_logits")
    check_params(config, params)
    tokens = checked_tokens(tokens, config.vocab_size)
    length = tokens.shape[1]
    positions = np.arange(length) if positions is None else positions
    mask = causal_mask(length, length)

    x = as_float64(params["embedding"][tokens])
    for layer in range(config.n_layers):
        weights = layer_params(params, layer)
        h = rmsnorm(x, weights["attention_norm"], config.norm_eps)
        q = split_heads(h @ weights["w_q"], config.n_heads)
        k = split_heads(h @ weights["w_k"], config.n_kv_heads)
        v = split_heads(h @ weights["w_v"], config.n_kv_heads)
        q = rope(q, positions, config.rope_theta, config.rope_scaling)
        k = rope(k, positions, config.rope_theta, config.rope_scaling)
        x = x + merge_heads(grouped_query_attention(q, k, v, mask)) @ weights["w_o"]
        h = rmsnorm(x, weights["mlp_norm"], config.norm_eps)
        x = x + swiglu(h, weights["w_gate"], weights["w_up"], weights["w_down"])
    return output_logits(config, params, x[:, -1:] if last_only else x)


def layer_params(params: Params, layer: int) -> dict[str, np.ndarray]:
    """One layer's parameters in float64, by their short names.

    Layer by layer, so that a float32 checkpoint is never held twice.
    """
    prefix = f"layers.{layer}."
    return {
        name.removeprefix(prefix): as_float64(value)
        for name, value in params.items()
        if name.startswith(prefix)
    }


def output_logits(
    config: ModelConfig | MLAConfig, params: Params, x: Float64[np.ndarray, "B T d"]
) -> Float64[np.ndarray, "B T {config.vocab_size}"]:
    """Final norm, then lm_head, or the embedding's transpose when they are tied. (L2 §3.3)"""
    h = rmsnorm(x, params["final_norm"], config.norm_eps)
    lm_head = params["embedding"].T if config.tied else params["lm_head"]
    return h @ as_float64(lm_head)


def checked_tokens(tokens: np.ndarray, vocab_size: int) -> Integer[np.ndarray, "B T"]:
    """`tokens` as an integer array (B,T), or a ValueError that says what is wrong with them."""
    tokens = np.asarray(tokens)
    if not np.issubdtype(tokens.dtype, np.integer):
        raise ValueError(f"token ids are integers, not {tokens.dtype}")
    if tokens.ndim != 2 or 0 in tokens.shape:
        raise ValueError(
            f"tokens must have shape (B,T) with B, T >= 1, but have shape {tokens.shape}"
        )
    wrong = tokens[(tokens < 0) | (tokens >= vocab_size)]
    if wrong.size:
        raise ValueError(f"token id {wrong[0]} is outside the vocabulary 0..{vocab_size - 1}")
    return tokens
