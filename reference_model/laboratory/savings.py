"""FLOPs and time of a text with a cache and without (L2 §5.4, §5.6)."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from reference_model.accounting import CountedModel, generation_flops
from reference_model.config import ModelConfig
from reference_model.init import init_llama

MEDIUM = ModelConfig("medium", 4, 256, 8, 2, 32, 688, 1024)


@dataclass(frozen=True)
class Saving:
    """Ratios without a cache over with one, for the same text."""

    n_tokens: int
    flops_ratio: float
    time_ratio: float


def flops_saved(n_tokens: int, prompt_len: int = 64, config: ModelConfig = MEDIUM) -> float:
    """FLOPs without a cache over those with one, lm_head for the last token of each pass."""
    without, cached = (
        generation_flops(config, prompt_len, n_tokens, cached=cached, last_only=True)
        for cached in (False, True)
    )
    return without / cached


def saving(
    n_tokens: int, prompt_len: int = 64, config: ModelConfig = MEDIUM, clocked: int = 16
) -> Saving:
    """Generate `n_tokens` both ways in float32; ValueError if a token differs.

    Of the passes without a cache only about `clocked`, evenly spaced, are run and timed.
    """
    model = CountedModel(config, init_llama(config, 0, np.float32))
    prompt = np.random.default_rng(0).integers(config.vocab_size, size=(1, prompt_len))
    text, seconds = _with_cache(model, prompt, n_tokens)
    step = max(1, n_tokens // clocked)
    lengths = range(prompt_len + step // 2, text.shape[1], step)
    without = sum(_recomputed(model, text, length) for length in lengths)
    of_all = without * n_tokens / len(lengths)
    return Saving(n_tokens, flops_saved(n_tokens, prompt_len, config), of_all / seconds)


def _with_cache(model: CountedModel, prompt: np.ndarray, n_tokens: int):
    """The text (1, prompt + n_tokens), and the seconds that it took."""
    model.reset_cache()
    start, text = time.perf_counter(), prompt
    new = prompt
    for _ in range(n_tokens):
        new = model.forward(new, last_only=True)[:, 0].argmax(axis=-1)[:, None]
        text = np.concatenate([text, new], axis=1)
    return text, time.perf_counter() - start


def _recomputed(model: CountedModel, text: np.ndarray, length: int) -> float:
    """The seconds of making token `length` of the text from all that are before it."""
    model.reset_cache()
    start = time.perf_counter()
    token = model.forward(text[:, :length], last_only=True)[0, 0].argmax()
    seconds = time.perf_counter() - start
    if token != text[0, length]:
        raise ValueError("the texts with and without a cache differ")
    return seconds
