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


def llama_config(
    draw: Draw, grouped: bool, one_group: bool = False, tied: bool = False
) -> dict[str, Any]:
    """Sizes of a small model.

    Args:
        grouped: G < H. Parts 1 to 4 promise G = H, and then H is no other size of the case.
        one_group: G = 1 and H > 1.
    """
    n_kv_heads, group_size = draw.groups() if grouped else (draw.between(8, 10), 1)
    if one_group:
        n_kv_heads = 1
    return {
        "name": "tiny",
        "n_layers": 3,
        "d_model": draw.between(19, 26),
        "n_heads": n_kv_heads * group_size,
        "n_kv_heads": n_kv_heads,
        "head_dim": 6,
        "d_ff": draw.between(27, 31),
        "vocab_size": draw.between(32, 40),
        "rope_theta": draw.theta(),
        "norm_eps": 1e-5,
        "tied": tied,
    }


def decode(
    draw: Draw, dtype: type, grouped: bool, one_group: bool = False, tied: bool = False
) -> Fields:
    config = llama_config(draw, grouped, one_group, tied)
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


def generate(draw: Draw, batch: int, eos: str | None = None) -> Fields:
    """Greedy tokens whose choices have a margin.

    Args:
        eos: None, or which token ends the rows: "third", the one that row 0 makes third; "zero",
            the same as token 0; "in_prompt", one that every row makes at a step of its own and
            that the prompt holds too.
    """
    max_new_tokens = 8
    while True:
        config = llama_config(draw, grouped=False) | {"n_layers": 2}
        if eos == "in_prompt":
            config["vocab_size"] = draw.between(11, 14)  # of few tokens one comes soon again
        params = reference.init_llama(config, draw.seed())
        prompt = draw.rng.integers(config["vocab_size"], size=(batch, draw.between(4, 6)))
        tokens = reference.greedy_continuation(config, params, prompt, max_new_tokens)
        if not (is_clear(config, params, prompt, tokens) and _varied(tokens)):
            continue
        end = _ends_at_different_steps(prompt, tokens) if eos == "in_prompt" else int(tokens[0, 2])
        if end is not None:
            break
    if eos == "zero":
        params, prompt, tokens = _exchanged(params, prompt, tokens, end)
        end = 0
    fields = {
        "config": config,
        "params": params,
        "prompt": prompt,
        "max_new_tokens": max_new_tokens,
    }
    if eos is None:
        return fields | {"expected": tokens}
    return fields | {"eos": end, "expected": end_rows(tokens, end)}


def is_clear(config: dict, params: dict, prompt: np.ndarray, tokens: np.ndarray) -> bool:
    """Whether no choice of a token could hang on rounding."""
    whole = np.concatenate([prompt, tokens[:, :-1]], axis=1)
    # With a causal mask one pass gives the logits of every step (L2 §5.1).
    logits = reference.llama_logits(config, params, whole)[:, prompt.shape[1] - 1 :]
    logits = np.sort(logits, axis=-1)
    return float((logits[..., -1] - logits[..., -2]).min()) > MARGIN


def _varied(tokens: np.ndarray) -> bool:
    """A row that repeats itself from the start could not show where it should have stopped."""
    return all(row[2] not in row[:2] and len(set(row)) > 3 for row in tokens)


def _ends_at_different_steps(prompt: np.ndarray, tokens: np.ndarray) -> int | None:
    """A token of the prompt that each row makes, not as its first and each at another step."""
    for token in np.intersect1d(prompt, tokens[0]).tolist():
        made = tokens == token
        steps = made.argmax(axis=1)
        if made.any(axis=1).all() and steps.min() > 0 and len(set(steps)) == len(steps):
            return token
    return None


def _exchanged(
    params: dict, prompt: np.ndarray, tokens: np.ndarray, token: int
) -> tuple[dict, np.ndarray, np.ndarray]:
    """The same model and texts with the names of `token` and token 0 exchanged."""
    names = np.arange(len(params["embedding"]))
    names[[0, token]] = token, 0
    renamed = {"embedding": params["embedding"][names], "lm_head": params["lm_head"][:, names]}
    return params | renamed, names[prompt], names[tokens]


def end_rows(tokens: np.ndarray, eos: int) -> np.ndarray:
    """Fill each row with eos after its first eos; stop when every row has ended."""
    ended = np.cumsum(tokens == eos, axis=1) > 0
    filled = np.where(ended, eos, tokens)
    n_steps = int(ended.all(axis=0).argmax()) + 1 if ended.all(axis=0).any() else tokens.shape[1]
    return filled[:, :n_steps]


BUILDERS: dict[str, Callable[[Draw], Fields]] = {
    "decode/mha": partial(decode, dtype=np.float64, grouped=False),
    "decode/mha_float32": partial(decode, dtype=np.float32, grouped=False, tied=True),
    "decode/gqa": partial(decode, dtype=np.float64, grouped=True),
    "decode/gqa_float32": partial(decode, dtype=np.float32, grouped=True),
    "decode/mqa": partial(decode, dtype=np.float64, grouped=True, one_group=True, tied=True),
    "generate/plain": partial(generate, batch=2),
    "generate/eos": partial(generate, batch=2, eos="third"),
    "generate/eos_alone": partial(generate, batch=1, eos="third"),
    "generate/eos_zero": partial(generate, batch=2, eos="zero"),
    "generate/eos_in_prompt": partial(generate, batch=3, eos="in_prompt"),
}
