"""Skip-gram with negative sampling, its gradients derived by hand (L2 §1.4, §1.5).

For a pair (center c, context o) and k negative samples n, with s the logistic function,

    loss = -log s(u_o . v_c) - sum_n log s(-u_n . v_c)

and since d/dx log s(x) = 1 - s(x) = s(-x), with y = 1 for o and 0 for each n, and g = s(u.v) - y:

    d loss / d u = g v_c          d loss / d v_c = sum g u
"""

from __future__ import annotations

import numpy as np

from ..shapes import Float64, Real
from .corpus import Corpus


def noise_distribution(counts: Real[np.ndarray, "V"]) -> Float64[np.ndarray, "V"]:
    """Probabilities (V,) of negatives: frequency to the power 0.75 (Mikolov et al. 2013b)."""
    weights = np.asarray(counts, dtype=np.float64) ** 0.75
    return weights / weights.sum()


def loss(
    center: Real[np.ndarray, "D"],
    context: Real[np.ndarray, "D"],
    negatives: Real[np.ndarray, "k D"],
) -> float:
    """The loss of one pair: v_c (D,), u_o (D,), u_n (k, D)."""
    # log s(x) = -log(1 + exp(-x)), which logaddexp does without overflow
    return float(np.logaddexp(0, -(context @ center)) + np.logaddexp(0, negatives @ center).sum())


def gradients(
    center: Real[np.ndarray, "D"],
    context: Real[np.ndarray, "D"],
    negatives: Real[np.ndarray, "k D"],
) -> tuple[Real[np.ndarray, "D"], Real[np.ndarray, "D"], Real[np.ndarray, "k D"]]:
    """d loss / d (v_c, u_o, u_n), in the shapes of the arguments."""
    outputs = np.concatenate([context[None], negatives])
    errors = _logistic(outputs @ center)
    errors[0] -= 1
    by_output = errors[:, None] * center
    return errors @ outputs, by_output[0], by_output[1:]


def train(
    corpus: Corpus,
    dim: int = 30,
    n_negative: int = 5,
    window: int = 5,
    epochs: int = 3,
    learning_rate: float = 0.1,
    batch_size: int = 256,
    seed: int = 0,
) -> np.ndarray:
    """Word vectors (V, dim), float32: the input side of a skip-gram model.

    Each word draws its own window of 1 … `window` words to either side, so that near words count
    more (L2 §1.4). Pairs are shuffled and taken in batches; the learning rate falls to zero.
    """
    rng = np.random.default_rng(seed)
    n_words = len(corpus.words)
    inputs = ((rng.random((n_words, dim)) - 0.5) / dim).astype(np.float32)
    outputs = np.zeros((n_words, dim), dtype=np.float32)
    cumulative = noise_distribution(corpus.counts).cumsum()
    for epoch in range(epochs):
        centers, contexts = _pairs(corpus.sentences, window, rng)
        for start in range(0, len(centers), batch_size):
            batch = slice(start, start + batch_size)
            done = (epoch + start / len(centers)) / epochs
            size = len(centers[batch])
            noise = np.searchsorted(cumulative, rng.random((size, n_negative)))
            targets = np.concatenate([contexts[batch, None], noise], axis=1)
            _step(inputs, outputs, centers[batch], targets, learning_rate * (1 - done))
    return inputs


def _step(inputs, outputs, centers, targets, learning_rate) -> None:
    """One batch, in place: centers (B,), targets (B, 1 + k) with the true context first."""
    v, u = inputs[centers], outputs[targets]
    errors = _logistic(np.einsum("bd,bkd->bk", v, u))
    errors[:, 0] -= 1
    errors *= learning_rate
    # A word can occur many times in a batch, and all its changes count. As products with these
    # (V, B) matrices the sums take half the time of ufunc.at over rows.
    rows = np.arange(len(centers))
    is_center = np.zeros((len(inputs), len(centers)), dtype=inputs.dtype)
    is_center[centers, rows] = 1
    error_of_target = np.zeros_like(is_center)
    np.add.at(error_of_target, (targets, rows[:, None]), errors)
    inputs -= is_center @ np.einsum("bk,bkd->bd", errors, u)
    outputs -= error_of_target @ v


def _pairs(sentences: np.ndarray, window: int, rng) -> tuple[np.ndarray, np.ndarray]:
    """(centers, contexts) of one pass over the corpus, in random order."""
    length = sentences.shape[1]
    reach = rng.integers(1, window + 1, size=sentences.shape)
    centers, contexts = [], []
    for offset in range(1, min(window, length - 1) + 1):
        left, right = sentences[:, :-offset], sentences[:, offset:]
        forward, backward = reach[:, :-offset] >= offset, reach[:, offset:] >= offset
        centers += [left[forward], right[backward]]
        contexts += [right[forward], left[backward]]
    order = rng.permutation(sum(map(len, centers)))
    return np.concatenate(centers)[order], np.concatenate(contexts)[order]


def _logistic(x: np.ndarray) -> np.ndarray:
    return 0.5 * (1 + np.tanh(0.5 * x))
