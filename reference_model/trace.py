"""Decode as the lecture's slow reference does: the whole sequence at every step. (L2 §5.1)"""

from __future__ import annotations

import numpy as np

from .config import AnyConfig, MLAConfig, Params, as_config
from .llama import llama_logits
from .mla import mla_logits
from .shapes import Float64, Integer


def decode_trace(
    config: AnyConfig,
    params: Params,
    prompt: Integer[np.ndarray, "B T0"],
    continuation: Integer[np.ndarray, "B n"],
) -> Float64[np.ndarray, "n+1 B V"]:
    """The logits a decode loop must produce when it is fed `continuation` (teacher forcing).

    prompt int (B,T0), continuation int (B,n) -> float64 (n+1,B,V): entry 0 follows the prompt,
    entry t follows the prompt and t tokens of the continuation. Works for both kinds of config.
    """
    prompt, continuation = np.asarray(prompt), np.asarray(continuation)
    if prompt.ndim != 2 or continuation.ndim != 2 or len(prompt) != len(continuation):
        raise ValueError(
            "prompt must have shape (B,T0) and continuation (B,n) with the same B, but they have "
            f"shapes {prompt.shape} and {continuation.shape}"
        )
    steps = continuation.shape[1] + 1
    return np.stack(
        [
            next_logits(config, params, np.concatenate([prompt, continuation[:, :step]], axis=1))
            for step in range(steps)
        ]
    )


def greedy_continuation(
    config: AnyConfig, params: Params, prompt: Integer[np.ndarray, "B T0"], n_new: int
) -> Integer[np.ndarray, "B {n_new}"]:
    """The n likeliest tokens, one after another: prompt int (B,T0) -> int (B,n). (D3 greedy)"""
    tokens = np.asarray(prompt)
    for _ in range(n_new):
        chosen = np.argmax(next_logits(config, params, tokens), axis=-1)
        tokens = np.concatenate([tokens, chosen[:, None]], axis=1)
    return tokens[:, np.shape(prompt)[1] :]


def next_logits(
    config: AnyConfig, params: Params, tokens: Integer[np.ndarray, "B T"]
) -> Float64[np.ndarray, "B V"]:
    """Logits (B,V) of the token after whole sequences int (B,T)."""
    forward = mla_logits if isinstance(as_config(config), MLAConfig) else llama_logits
    return forward(config, params, tokens, last_only=True)[:, 0]
