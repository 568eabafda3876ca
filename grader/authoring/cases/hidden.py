"""Cases that only the grader has: longer, and with the turns that serving takes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import reference_model as reference

from . import lengths
from .decode import end_rows, llama_config
from .draw import Draw
from .functions import causal_mask

Fields = dict[str, Any]


def long_decode(draw: Draw, grouped: bool) -> Fields:
    """A batch, and steps up to some seventy positions: its cache is full in the end."""
    return lengths.decode(
        draw,
        partial(lengths.llama_config, group_size=2 if grouped else 1),
        batch=draw.between(4, 6),
        prompt=(3, 40),
        positions=(66, 78),
    )


def rollback(draw: Draw) -> Fields:
    """Decode a draft, take part of it back, go on otherwise: speculative decoding's use."""
    config = llama_config(draw, grouped=False)  # graded in part 4, so without groups
    params = reference.init_llama(config, draw.seed())
    vocab_size = config["vocab_size"]
    prompt, draft, continuation = (
        draw.rng.integers(vocab_size, size=(2, length)) for length in draw.distinct(3, 4, 9)
    )
    kept = draw.between(1, 3)
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
    """Some three hundred tokens of a model that counts: token i is followed by token i + 1.

    Nothing of attention shows here, only where a generation ends; the answer is known without a
    run, and the model is so small that even explicit loops make that many tokens in time.
    """
    vocab_size, n_tokens = draw.between(9, 13), draw.between(260, 300)
    sizes = {"n_layers": 1, "n_heads": 2, "n_kv_heads": 2, "head_dim": 2, "d_ff": 3}
    config = llama_config(draw, grouped=False) | sizes
    config |= {"d_model": vocab_size, "vocab_size": vocab_size}
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


def full_cache(draw: Draw) -> Fields:
    """Rows for a cache of this size, and one more; some are held when it is asked to refuse."""
    max_len = draw.between(5, 60)
    k, v = draw.normal(2, 1, 1, max_len + 1, 2)
    return {"max_len": max_len, "held": draw.between(2, max_len - 2), "k": k, "v": v}


def causal_masks(draw: Draw) -> Fields:
    """Sizes that no table holds: squares, one query, and several of more positions."""
    size, more, far = draw.between(5, 11), draw.between(2, 8), draw.between(*lengths.FAR)
    sizes = np.array([(size, size), (1, size + more), (more, size + more), (1, far), (far, far)])
    masks = [reference.causal_mask(*of) for of in sizes]
    return {"sizes": sizes} | {f"expected_{i}": mask for i, mask in enumerate(masks)}


BUILDERS: dict[str, Callable[[Draw], Fields]] = {
    # In place of the public sizes, which are few and small enough for a table, others.
    "causal_mask/square": partial(causal_mask, queries=(10, 40), cached=(0, 0)),
    "causal_mask/one_query": partial(causal_mask, queries=(1, 1), cached=(10, 60)),
    "causal_mask/chunk": partial(causal_mask, queries=(6, 15), cached=(8, 30)),
    "long/mha": partial(long_decode, grouped=False),
    "long/gqa": partial(long_decode, grouped=True),
    "far/grouped_decode": partial(
        lengths.decode,
        config_of=partial(lengths.llama_config, group_size=2),
        prompt=(150, 200),
    ),
    "rollback": rollback,
    "full_cache": full_cache,
    "long/generation": long_generation,
    "causal_mask/drawn": causal_masks,
}
