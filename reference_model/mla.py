"""A decoder with multi-head latent attention over whole sequences: no cache, nothing absorbed.

(DeepSeek-V3 report §2.1.1 with dense MLPs; L2 §6.4)
"""

from __future__ import annotations

import numpy as np

from .config import AnyConfig, MLAConfig, Params, as_config, check_params
from .layers import (
    as_float64,
    causal_mask,
    merge_heads,
    mla_attention,
    rmsnorm,
    rope,
    split_heads,
    swiglu,
)
from .llama import checked_tokens, layer_params, output_logits
from .shapes import Float64, Integer


def mla_logits(
    config: AnyConfig,
    params: Params,
    tokens: Integer[np.ndarray, "B T"],
    positions: Integer[np.ndarray, "T"] | Integer[np.ndarray, "B T"] | None = None,
    last_only: bool = False,
) -> Float64[np.ndarray, "B #T V"]:
    """Logits of every position of whole sequences: tokens int (B,T) -> float64 (B,T,V).

    `positions` and `last_only` are those of `llama_logits`, and so are the errors.
    """
    config = as_config(config)
    if not isinstance(config, MLAConfig):
        raise ValueError("mla_logits needs an MLAConfig; for a ModelConfig use llama_logits")
    check_params(config, params)
    tokens = checked_tokens(tokens, config.vocab_size)
    length = tokens.shape[1]
    positions = np.arange(length) if positions is None else positions
    mask = causal_mask(length, length)

    x = as_float64(params["embedding"][tokens])
    for layer in range(config.n_layers):
        weights = layer_params(params, layer)
        h = rmsnorm(x, weights["attention_norm"], config.norm_eps)
        q_nope, q_rope = queries(config, weights, h, positions)
        latent = rmsnorm(h @ weights["w_dkv"], weights["kv_norm"], config.latent_norm_eps)
        k_rope = rope(h @ weights["w_kr"], positions, config.rope_theta)
        heads = mla_attention(
            q_nope, q_rope, latent, k_rope, weights["w_uk"], weights["w_uv"], mask
        )
        x = x + merge_heads(heads) @ weights["w_o"]
        h = rmsnorm(x, weights["mlp_norm"], config.norm_eps)
        x = x + swiglu(h, weights["w_gate"], weights["w_up"], weights["w_down"])
    return output_logits(config, params, x[:, -1:] if last_only else x)


def queries(
    config: MLAConfig, weights: Params, h: Float64[np.ndarray, "B T d"], positions: np.ndarray
) -> tuple[Float64[np.ndarray, "B H T nope"], Float64[np.ndarray, "B H T d_R"]]:
    """h (B,T,d) -> q_nope (B,H,T,nope) and the rotated q_rope (B,H,T,d_R)."""
    if config.query_latent_dim is None:
        q = h @ weights["w_q"]
    else:
        compressed = rmsnorm(h @ weights["w_dq"], weights["q_norm"], config.latent_norm_eps)
        q = compressed @ weights["w_uq"]
    q = split_heads(q, config.n_heads)
    q_nope, q_rope = q[..., : config.nope_dim], q[..., config.nope_dim :]
    return q_nope, rope(q_rope, positions, config.rope_theta)
