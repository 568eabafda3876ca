"""Cases that only the grader has: longer, and with the turns that serving takes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import reference_model as reference

from .decode import end_rows, llama_config
from .draw import Draw

Fields = dict[str, Any]


def long_decode(draw: Draw, n_heads: int, n_kv_heads: int) -> Fields:
    """Forty steps after a prompt of three: a fault that needs a full or regrown cache shows."""
    config = llama_config(draw, n_heads, n_kv_heads)
    params = reference.init_llama(config, draw.seed())
    prompt = draw.rng.integers(config["vocab_size"], size=(3, 3))
    continuation = draw.rng.integers(config["vocab_size"], size=(3, 40))
    whole = np.concatenate([prompt, continuation], axis=1)
    # With a causal mask one pass gives the logits of every step (L2 §2.5).
    logits = reference.llama_logits(config, params, whole)[:, prompt.shape[1] - 1 :]
    return {
        "config": config,
        "params": params,
        "prompt": prompt,
        "continuation": continuation,
        "decode_logits": logits.transpose(1, 0, 2),
    }


def rollback(draw: Draw) -> Fields:
    """Decode a draft, take part of it back, go on otherwise: speculative decoding's use."""
    config = llama_config(draw, n_heads=9, n_kv_heads=9)  # graded in part 4, so without groups
    params = reference.init_llama(config, draw.seed())
    vocab_size = config["vocab_size"]
    prompt, draft, continuation = (
        draw.rng.integers(vocab_size, size=(2, length)) for length in (4, 5, 4)
    )
    kept = 2
    context = np.concatenate([prompt, draft[:, :kept]], axis=1)
    trace = reference.decode_trace(config, params, context, continuation)
    return {
        "config": config,
        "params": params,
        "prompt": prompt,
        "draft": draft,
        "kept": kept,
        "continuation": continuation,
        "decode_logits": trace[1:],
    }


def long_generation(draw: Draw) -> Fields:
    """Three hundred tokens of a model that counts: token i is followed by token i + 1.

    Nothing of attention shows here, only where a generation ends; the answer is known without a
    run, and the model is so small that even explicit loops make that many tokens in time.
    """
    vocab_size, n_tokens = 11, 300
    sizes = {"n_layers": 1, "d_model": vocab_size, "head_dim": 2, "d_ff": 3}
    config = llama_config(draw, n_heads=2, n_kv_heads=2) | sizes | {"vocab_size": vocab_size}
    params = reference.init_llama(config, draw.seed())
    params["embedding"] = np.eye(vocab_size)
    params["lm_head"] = np.roll(np.eye(vocab_size), 1, axis=1)
    params["layers.0.w_o"] = np.zeros_like(params["layers.0.w_o"])
    params["layers.0.w_down"] = np.zeros_like(params["layers.0.w_down"])
    prompt = draw.rng.integers(vocab_size, size=(1, 3))
    tokens = (prompt[:, -1:] + 1 + np.arange(n_tokens)) % vocab_size
    eos = int(tokens[0, 4])
    fields = {"config": config, "params": params, "prompt": prompt, "eos": eos}
    return fields | {"expected": tokens, "until_eos": end_rows(tokens, eos)}


def causal_masks(draw: Draw) -> Fields:
    """Sizes that no table holds: a square, one query, and several of more positions."""
    size, more = draw.choice(range(5, 12)), draw.choice(range(2, 9))
    sizes = np.array([(size, size), (1, size + more), (more, size + more)])
    masks = [reference.causal_mask(*of) for of in sizes]
    return {"sizes": sizes} | {f"expected_{i}": mask for i, mask in enumerate(masks)}


BUILDERS: dict[str, Callable[[Draw], Fields]] = {
    "long/mha": partial(long_decode, n_heads=9, n_kv_heads=9),
    "long/gqa": partial(long_decode, n_heads=8, n_kv_heads=4),
    "rollback": rollback,
    "long/generation": long_generation,
    "causal_mask/drawn": causal_masks,
}
