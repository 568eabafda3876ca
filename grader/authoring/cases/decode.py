"""Cases that decode a small Llama: parts 4 and 5.

So that a bug shows: weights of unit scale, random norm weights, distinct dimensions, short
contexts, several steps, prefill logits at every position.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import reference_model as reference

from .draw import Draw

Fields = dict[str, Any]

BATCH, PROMPT_LEN, N_STEPS = 2, 7, 5
MARGIN = 1e-3  # between the two largest logits, so that greedy choices do not hang on rounding


def llama_config(draw: Draw, n_heads: int, n_kv_heads: int, tied: bool = False) -> dict[str, Any]:
    return {
        "name": "tiny",
        "n_layers": 3,
        "d_model": draw.choice((20, 22, 26)),
        "n_heads": n_heads,
        "n_kv_heads": n_kv_heads,
        "head_dim": 6,
        "d_ff": draw.choice((28, 30)),
        "vocab_size": draw.choice((33, 37)),
        "rope_theta": draw.choice((100.0, 300.0, 700.0)),
        "norm_eps": 1e-5,
        "tied": tied,
    }


def decode(draw: Draw, dtype: type, n_heads: int, n_kv_heads: int, tied: bool = False) -> Fields:
    config = llama_config(draw, n_heads, n_kv_heads, tied)
    params = reference.init_llama(config, draw.seed(), dtype)
    return {"config": config, "params": params} | teacher_forced(draw, config, params, dtype)


def teacher_forced(draw: Draw, config: dict, params: dict, dtype: type) -> Fields:
    """Prompt and continuation share no token, so a test can tell who reads the prompt again."""
    shuffled = draw.rng.permutation(config["vocab_size"])
    n_forced = BATCH * N_STEPS
    continuation = shuffled[:n_forced].reshape(BATCH, N_STEPS)
    prompt = draw.rng.choice(shuffled[n_forced:], size=(BATCH, PROMPT_LEN))
    prefixes = [prompt[:, : end + 1] for end in range(PROMPT_LEN)]
    every_position = [reference.next_logits(config, params, prefix) for prefix in prefixes]
    trace = reference.decode_trace(config, params, prompt, continuation)
    return {
        "prompt": prompt,
        "continuation": continuation,
        "prefill_logits": np.stack(every_position).astype(dtype),
        "decode_logits": trace.astype(dtype),
    }


def generate(draw: Draw, n_heads: int, n_kv_heads: int, batch: int, eos: bool) -> Fields:
    """Greedy tokens whose choices have a margin; with eos, the token that row 0 makes third."""
    max_new_tokens = 8
    while True:
        config = llama_config(draw, n_heads, n_kv_heads)
        params = reference.init_llama(config, draw.seed())
        prompt = draw.rng.integers(config["vocab_size"], size=(batch, 4))
        tokens = reference.greedy_continuation(config, params, prompt, max_new_tokens)
        if _smallest_margin(config, params, prompt, tokens) > MARGIN and _varied(tokens):
            break
    fields = {
        "config": config,
        "params": params,
        "prompt": prompt,
        "max_new_tokens": max_new_tokens,
    }
    if not eos:
        return fields | {"expected": tokens}
    end = int(tokens[0, 2])
    return fields | {"eos": end, "expected": end_rows(tokens, end)}


def _smallest_margin(config: dict, params: dict, prompt: np.ndarray, tokens: np.ndarray) -> float:
    logits = np.sort(reference.decode_trace(config, params, prompt, tokens[:, :-1]), axis=-1)
    return float((logits[..., -1] - logits[..., -2]).min())


def _varied(tokens: np.ndarray) -> bool:
    """A row that repeats itself from the start could not show where it should have stopped."""
    return all(row[2] not in row[:2] and len(set(row)) > 3 for row in tokens)


def end_rows(tokens: np.ndarray, eos: int) -> np.ndarray:
    """Fill each row with eos after its first eos; stop when every row has ended."""
    ended = np.cumsum(tokens == eos, axis=1) > 0
    filled = np.where(ended, eos, tokens)
    n_steps = int(ended.all(axis=0).argmax()) + 1 if ended.all(axis=0).any() else tokens.shape[1]
    return filled[:, :n_steps]


BUILDERS: dict[str, Callable[[Draw], Fields]] = {
    "decode/mha": partial(decode, dtype=np.float64, n_heads=9, n_kv_heads=9),
    "decode/mha_float32": partial(decode, dtype=np.float32, n_heads=9, n_kv_heads=9, tied=True),
    "decode/gqa": partial(decode, dtype=np.float64, n_heads=8, n_kv_heads=4),
    "decode/gqa_float32": partial(decode, dtype=np.float32, n_heads=12, n_kv_heads=4),
    "decode/mqa": partial(decode, dtype=np.float64, n_heads=4, n_kv_heads=1, tied=True),
    "generate/plain": partial(generate, n_heads=9, n_kv_heads=9, batch=2, eos=False),
    "generate/eos": partial(generate, n_heads=9, n_kv_heads=9, batch=2, eos=True),
    "generate/eos_alone": partial(generate, n_heads=9, n_kv_heads=9, batch=1, eos=True),
}
