"""A cached decode against recomputing everything: two bugs that raise nothing, and what is saved.

L2 §5.3, §5.4, §5.6.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from reference_model.accounting import SMALL, CountedModel, generation_flops
from reference_model.config import ModelConfig
from reference_model.init import init_llama
from reference_model.layers import rope
from reference_model.trace import decode_trace


class PositionZero(CountedModel):
    """Rotates every new token as if it stood at position 0."""

    def _rope(self, x: np.ndarray) -> np.ndarray:
        return rope(x, np.arange(x.shape[2]), self.config.rope_theta)


class ForgottenAppend(CountedModel):
    """Keeps the prompt's keys and values and never adds a new token's."""

    def _append(self, layer: int, k: np.ndarray, v: np.ndarray):
        if self.length:
            return self._keys[layer], self._values[layer]
        return super()._append(layer, k, v)


@dataclass(frozen=True)
class Decode:
    """One way of decoding, against the reference on the same tokens.

    Attributes:
        errors: largest difference of the logits at each step, (n,); step 0 is the prefill's.
        same_tokens: of how many steps the likeliest token of every sequence is right.
    """

    name: str
    errors: np.ndarray
    same_tokens: int


def decode_table(batch: int = 4, prompt_len: int = 16, n_tokens: int = 24, seed: int = 0):
    """The correct decode and both bugs, each fed the reference's greedy tokens."""
    params = init_llama(SMALL, seed)
    prompt = np.random.default_rng(seed).integers(SMALL.vocab_size, size=(batch, prompt_len))
    tokens = _greedy(params, prompt, n_tokens)
    reference = decode_trace(SMALL, params, prompt, tokens[:, :-1])
    kinds = {
        "correct": CountedModel,
        "append forgotten": ForgottenAppend,
        "position 0": PositionZero,
    }
    return [
        _compare(name, kind(SMALL, params), prompt, tokens, reference)
        for name, kind in kinds.items()
    ]


def _greedy(params, prompt: np.ndarray, n_tokens: int) -> np.ndarray:
    model, tokens = CountedModel(SMALL, params), []
    new = prompt
    for _ in range(n_tokens):
        new = model.forward(new, last_only=True)[:, 0].argmax(axis=-1)[:, None]
        tokens.append(new)
    return np.concatenate(tokens, axis=1)


def _compare(name, model, prompt, tokens, reference) -> Decode:
    logits = [model.forward(prompt, last_only=True)[:, 0]]
    logits += [model.forward(token[:, None], last_only=True)[:, 0] for token in tokens.T[:-1]]
    got = np.stack(logits)
    errors = np.abs(got - reference).max(axis=(1, 2))
    right = (got.argmax(-1) == reference.argmax(-1)).all(axis=1)
    return Decode(name, errors, int(right.sum()))


# --- What a cache saves: FLOPs and time with one and without (L2 §5.4, §5.6) ---------------------


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
