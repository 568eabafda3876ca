"""Long cases, of parts 1 to 6: code that is right up to some length only is wrong here.

Each reaches more than 250 positions, and how many is drawn. The models are small, so that explicit
loops have time for them, and of the logits only some are kept. Weights are of unit scale: over 300
keys each still has its part in what comes out.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import reference_model as reference

from .decode import is_clear
from .draw import Draw
from .functions import causal_mask, multi_head_attention, rotated
from .latent import attention as latent_attention

Fields = dict[str, Any]

FAR = (256, 290)  # positions in the end, both included


# --- parts 1, 2, 3 and 5: single functions ------------------------------------------------------


def many_keys(draw: Draw) -> Fields:
    """The scores of query 0 rise from key to key and those of query 1 fall.

    So the largest of them moves wherever the keys are cut into tiles, and neither the first keys
    nor the last can be left out.
    """
    query_len, key_len = draw.between(3, 5), draw.between(*FAR)
    head_dim, v_dim = draw.distinct(2, 3, 6)
    q, k = draw.normal(query_len, head_dim), draw.normal(key_len, head_dim)
    q[1] = -q[0]
    k = k[np.argsort(k @ q[0])]
    mask = draw.rng.random((query_len, key_len)) < 0.7
    mask[:, [0, -1]] = True
    fields = {"q": q, "k": k, "v": draw.normal(key_len, v_dim), "mask": mask}
    return fields | {"expected": reference.attention(**fields)}


def very_negative(draw: Draw) -> Fields:
    """Every score is near -20,000 or near -100,000, the hidden ones no less than the others.

    What is only very small, as -10,000, is then the largest of its row.
    """
    query_len, key_len, head_dim, v_dim = draw.distinct(4, 4, 9)
    levels = np.array([2e4, 1e5]) * draw.rng.uniform(1, 1.3, 2)
    direction = draw.normal(head_dim)
    direction /= np.linalg.norm(direction)
    aside = draw.normal(2, key_len, head_dim)
    aside -= (aside @ direction)[..., None] * direction
    lower = draw.rng.uniform(0, 2, (2, key_len)) / levels[:, None]
    k = (1 + lower)[..., None] * direction + aside / 2
    q = -levels[:, None, None] * np.sqrt(head_dim) * direction + draw.normal(2, query_len, head_dim)
    mask = draw.rng.random((query_len, key_len)) < 0.5
    visible = draw.rng.integers(key_len, size=query_len)
    mask[np.arange(query_len), visible] = True
    mask[np.arange(query_len), visible - 1] = False
    fields = {"q": q, "k": k, "v": draw.normal(2, key_len, v_dim), "mask": mask}
    return fields | {"expected": reference.attention(**fields)}


def zero_key(draw: Draw) -> Fields:
    """A key of zeros is a key: it has the score 0, and a value."""
    query_len, key_len, head_dim, v_dim = draw.distinct(4, 3, 9)
    q, k = draw.normal(2, query_len, head_dim), draw.normal(2, key_len + 1, head_dim)
    k[:, [draw.between(0, key_len - 1), -1]] = 0
    fields = {"q": q, "k": k, "v": draw.normal(2, key_len + 1, v_dim)}
    fields["mask"] = np.ones((query_len, key_len + 1), dtype=bool)
    return fields | {"expected": reference.attention(**fields)}


def many_positions(draw: Draw) -> Fields:
    """All positions of a long text at once, from anywhere on, by the usual thetas and others."""
    positions = draw.between(0, 50) + np.arange(draw.between(*FAR))
    x = draw.normal(1, 1, len(positions), 4)
    thetas = [100.0, 300.0, 700.0, 10_000.0, 500_000.0, draw.theta()]
    expected = np.stack([reference.rope(x, positions, theta) for theta in thetas])
    return {"x": x, "positions": positions, "thetas": thetas, "expected": expected}


def far_positions(draw: Draw, dtype: type) -> Fields:
    """Beyond 2,048, 4,096, 8,192 and 131,072, and near 100,000; sorted, no two neighbours.

    The head is so wide that its middle pairs still turn by many radians: there an angle in float32
    is wrong in the third decimal.
    """
    spans = ((2048, 4096), (4096, 8192), (8192, 99_000), (99_000, 101_000), (131_072, 160_000))
    # Of the farthest two several: how wrong a rounded angle is there depends on chance.
    counts = (1, 1, 1, 3, 3)
    positions = np.concatenate(
        [
            low + 1 + draw.increasing(count, below=high - low)
            for (low, high), count in zip(spans, counts, strict=True)
        ]
    )
    return rotated(draw, (2, 3), positions, 2 * draw.between(8, 12), dtype)


def one_position(draw: Draw, per_row: bool) -> Fields:
    """A single new token, as in a decode step; each row's own, or the same for all."""
    batch, n_heads = draw.distinct(2, 2, 4)
    positions = draw.rng.integers(1, 250, size=(batch, 1))
    if not per_row:
        positions = positions[0]
    return rotated(draw, (batch, n_heads), positions, 2 * draw.between(3, 5), np.float64)


def many_grouped_keys(draw: Draw) -> Fields:
    n_groups, group_size = draw.distinct(2, 2, 3)
    query_len, key_len, (head_dim, v_dim) = 2, draw.between(*FAR), draw.distinct(2, 3, 5)
    fields = {
        "q": draw.normal(1, n_groups * group_size, query_len, head_dim),
        "k": draw.normal(1, n_groups, key_len, head_dim),
        "v": draw.normal(1, n_groups, key_len, v_dim),
        "mask": reference.causal_mask(query_len, key_len),
    }
    return fields | {"expected": reference.grouped_query_attention(**fields)}


# --- parts 4, 5 and 6: whole models -------------------------------------------------------------


def llama_config(draw: Draw, group_size: int = 1) -> dict[str, Any]:
    """Two layers: what the mask does in the first shows in the keys of the second."""
    return {
        "name": "tiny",
        "n_layers": 2,
        "d_model": draw.between(7, 10),
        "n_heads": 2 * group_size,
        "n_kv_heads": 2,
        "head_dim": 4,
        "d_ff": draw.between(11, 14),
        "vocab_size": draw.between(15, 19),
        "rope_theta": draw.theta(),
        "norm_eps": 1e-5,
        "tied": False,
    }


def latent_config(draw: Draw) -> dict[str, Any]:
    return {
        "name": "tiny latent",
        "n_layers": 2,
        "d_model": draw.between(7, 10),
        "n_heads": 2,
        "latent_dim": draw.between(5, 6),
        "nope_dim": 3,
        "rope_dim": 4,
        "v_dim": 3,
        "query_latent_dim": None,
        "d_ff": draw.between(11, 14),
        "vocab_size": draw.between(15, 19),
        "rope_theta": draw.theta(),
        "norm_eps": 1e-5,
        "latent_norm_eps": 1e-6,
        "tied": False,
    }


def init(config: dict, seed: int) -> dict[str, np.ndarray]:
    return (reference.init_mla if "latent_dim" in config else reference.init_llama)(config, seed)


def whole_logits(config: dict, params: dict, tokens: np.ndarray) -> np.ndarray:
    """Logits (B, T, V): with a causal mask one pass gives those of every step (L2 §5.1)."""
    forward = reference.mla_logits if "latent_dim" in config else reference.llama_logits
    return forward(config, params, tokens)


def prefill(draw: Draw, config_of: Callable[[Draw], dict[str, Any]]) -> Fields:
    """A long prompt, to be read at once and in three chunks; logits at the end of each chunk."""
    config = config_of(draw)
    params = init(config, draw.seed())
    chunks = [draw.between(20, 150)]
    chunks.append(draw.between(20, 170 - chunks[0]))
    ends = np.cumsum([*chunks, draw.between(*FAR) - sum(chunks)])
    tokens = draw.rng.integers(config["vocab_size"], size=(1, ends[-1]))
    logits = whole_logits(config, params, tokens)[:, ends - 1]
    fields = {"config": config, "params": params, "tokens": tokens, "ends": ends}
    return fields | {"logits": logits.transpose(1, 0, 2)}


def decode(
    draw: Draw,
    config_of: Callable[[Draw], dict[str, Any]],
    batch: int = 1,
    prompt: tuple[int, int] = (5, 30),
    positions: tuple[int, int] = FAR,
) -> Fields:
    """A prompt, and steps up to so many positions; ranges include their ends."""
    config = config_of(draw)
    params = init(config, draw.seed())
    prompt_len, n_positions = draw.between(*prompt), draw.between(*positions)
    tokens = draw.rng.integers(config["vocab_size"], size=(batch, n_positions))
    logits = whole_logits(config, params, tokens)[:, prompt_len - 1 :]
    return {
        "config": config,
        "params": params,
        "prompt": tokens[:, :prompt_len],
        "continuation": tokens[:, prompt_len:],
        "decode_logits": logits.transpose(1, 0, 2),
    }


def generate(draw: Draw, config_of: Callable[[Draw], dict[str, Any]]) -> Fields:
    """About sixty greedy tokens of which each hangs on more than the one before it."""
    max_new_tokens = draw.between(56, 66)
    while True:
        config = config_of(draw)
        params = init(config, draw.seed())
        prompt = draw.rng.integers(config["vocab_size"], size=(2, draw.between(5, 20)))
        tokens = reference.greedy_continuation(config, params, prompt, max_new_tokens)
        if is_clear(config, params, prompt, tokens) and all(map(_attends, tokens)):
            break
    fields = {"config": config, "params": params, "prompt": prompt}
    return fields | {"max_new_tokens": max_new_tokens, "expected": tokens}


def _attends(row: np.ndarray) -> bool:
    """Whether it goes on in two ways from one pair of tokens: more than the last two count."""
    pairs = list(zip(row[-42:-2], row[-41:-1], row[-40:], strict=True))
    return len({pair[:2] for pair in pairs}) < len(set(pairs))


def two_models(draw: Draw) -> Fields:
    """Two models of one size, with another theta too, and one text."""
    config = llama_config(draw)
    other = config | {"rope_theta": draw.theta()}
    params, other_params = (init(config, draw.seed()) for _ in range(2))
    tokens = draw.rng.integers(config["vocab_size"], size=(2, draw.between(8, 12)))
    prompt, continuation = tokens[:, :4], tokens[:, 4:]
    fields = {"config": config, "params": params, "prompt": prompt, "continuation": continuation}
    fields |= {"other_config": other, "other_params": other_params}
    for name, of in (("logits", (config, params)), ("other_logits", (other, other_params))):
        fields[name] = whole_logits(*of, tokens)[:, 3:].transpose(1, 0, 2)
    return fields


BUILDERS: dict[str, Callable[[Draw], Fields]] = {
    "attention/many_keys": many_keys,
    "attention/very_negative": very_negative,
    "attention/zero_key": zero_key,
    "causal_mask/many": partial(causal_mask, queries=(252, 270), cached=(1, 30)),
    "multi_head_attention/many": partial(
        multi_head_attention, dtype=np.float64, batch=1, length=FAR
    ),
    "rope/many_positions": many_positions,
    "rope/far_float64": partial(far_positions, dtype=np.float64),
    "rope/far_float32": partial(far_positions, dtype=np.float32),
    "rope/one": partial(one_position, per_row=False),
    "rope/one_per_row": partial(one_position, per_row=True),
    "gqa/many_keys": many_grouped_keys,
    "mla/many_keys": partial(latent_attention, dtype=np.float64, batch=1, heads=(2, 3), keys=FAR),
    "far/prefill": partial(prefill, config_of=llama_config),
    "far/decode": partial(decode, config_of=llama_config),
    "far/generate": partial(generate, config_of=llama_config),
    "far/grouped_generate": partial(generate, config_of=partial(llama_config, group_size=2)),
    "far/mla_prefill": partial(prefill, config_of=latent_config),
    "far/mla_decode": partial(decode, config_of=latent_config),
    "decode/two_models": two_models,
}
