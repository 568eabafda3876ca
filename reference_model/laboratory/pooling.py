"""From MHA to GQA by averaging K/V heads, without training after it (L2 §6.3)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from reference_model.config import ModelConfig
from reference_model.init import init_llama
from reference_model.layers import mean_pool_kv_heads, softmax
from reference_model.llama import llama_logits

MHA = ModelConfig("mha", 2, 64, 8, 8, 8, 128, 64)


@dataclass(frozen=True)
class Pooled:
    """Against the MHA it was made from, over all positions of random texts.

    Attributes:
        kl: mean KL divergence of the output distributions, in nats.
        agreement: share of positions whose likeliest token is the same.
    """

    correlation: float
    n_kv_heads: int
    kl: float
    agreement: float


def pooled_model(correlation: float, n_kv_heads: int, seed: int = 0) -> Pooled:
    """An MHA whose K and V heads have `correlation` within each group, averaged to groups."""
    params = _correlated(correlation, n_kv_heads, seed)
    pooled = dict(params)
    for name in params:
        if name.endswith((".w_k", ".w_v")):
            pooled[name] = mean_pool_kv_heads(params[name], MHA.n_heads, n_kv_heads)
    tokens = np.random.default_rng(seed).integers(MHA.vocab_size, size=(8, 32))
    before = llama_logits(MHA, params, tokens)
    after = llama_logits(replace(MHA, n_kv_heads=n_kv_heads), pooled, tokens)
    p, q = softmax(before), softmax(after)
    kl = float((p * np.log(p / q)).sum(axis=-1).mean())
    return Pooled(correlation, n_kv_heads, kl, float((p.argmax(-1) == q.argmax(-1)).mean()))


def pooling_table(
    correlations=(1.0, 0.9, 0.7, 0.5, 0.0), groups=(4, 2, 1), seeds=range(3)
) -> list[Pooled]:
    """Means over a few models for each correlation and number of groups."""
    return [
        _mean([pooled_model(correlation, n_kv_heads, seed) for seed in seeds])
        for correlation in correlations
        for n_kv_heads in groups
    ]


def _mean(results: list[Pooled]) -> Pooled:
    kl = float(np.mean([result.kl for result in results]))
    agreement = float(np.mean([result.agreement for result in results]))
    return replace(results[0], kl=kl, agreement=agreement)


def _correlated(correlation: float, n_kv_heads: int, seed: int) -> dict[str, np.ndarray]:
    """Heads of a group are sqrt(rho) of a common matrix and sqrt(1 - rho) of their own."""
    params = dict(init_llama(MHA, seed))
    rng = np.random.default_rng([seed, 1])
    group_size = MHA.n_heads // n_kv_heads
    for name in params:
        if name.endswith((".w_k", ".w_v")):
            common, own = rng.standard_normal((2, MHA.d_model, MHA.n_heads, MHA.head_dim))
            shared = np.repeat(common[:, ::group_size], group_size, axis=1)
            heads = np.sqrt(correlation) * shared + np.sqrt(1 - correlation) * own
            params[name] = heads.reshape(MHA.d_model, -1) / np.sqrt(MHA.d_model)
    return params
