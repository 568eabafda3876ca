"""FLOPs and time of a text with a cache and without, counted and clocked (L2 §5.4, §5.6)."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from reference_model.accounting import CountedModel, total
from reference_model.config import ModelConfig
from reference_model.init import init_llama

MEDIUM = ModelConfig("medium", 4, 256, 8, 2, 32, 688, 1024)


@dataclass(frozen=True)
class Saving:
    """Ratios without a cache over with one, for the same text."""

    n_tokens: int
    flops_ratio: float
    time_ratio: float


def saving(n_tokens: int, prompt_len: int = 64, config: ModelConfig = MEDIUM) -> Saving:
    """Generate `n_tokens` both ways in float32; ValueError if the texts differ."""
    model = CountedModel(config, init_llama(config, 0, np.float32))
    prompt = np.random.default_rng(0).integers(config.vocab_size, size=(1, prompt_len))
    results = [_generate(model, prompt, n_tokens, cached) for cached in (True, False)]
    (text, flops, seconds), (other_text, other_flops, other_seconds) = results
    if not np.array_equal(text, other_text):
        raise ValueError("the texts with and without a cache differ")
    return Saving(n_tokens, other_flops / flops, other_seconds / seconds)


def _generate(model: CountedModel, prompt: np.ndarray, n_tokens: int, cached: bool):
    model.reset_cache()
    model.counter.reset()
    start, text = time.perf_counter(), prompt
    new = prompt
    for _ in range(n_tokens):
        if not cached:
            model.reset_cache()
            new = text
        new = model.forward(new, last_only=True)[:, 0].argmax(axis=-1)[:, None]
        text = np.concatenate([text, new], axis=1)
    seconds = time.perf_counter() - start
    return text, total(model.counter.works.values()).useful_flops, seconds
