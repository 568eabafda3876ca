"""A cached decode against recomputing everything, and two bugs that raise nothing (L2 §5.3)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reference_model.accounting import SMALL, CountedModel
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
