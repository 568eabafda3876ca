"""Three ways to learn word vectors, their gradients derived by hand (L2 §1.4, §1.5).

Skip-gram with negative sampling comes first; CBOW and the full softmax of a small vocabulary differ
from it by one thing each.

For a pair (center c, context o) and k negative samples n, with s the logistic function,

    loss = -log s(u_o . v_c) - sum_n log s(-u_n . v_c)

and since d/dx log s(x) = 1 - s(x) = s(-x), with y = 1 for o and 0 for each n, and g = s(u.v) - y:

    d loss / d u = g v_c          d loss / d v_c = sum g u
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..layers import softmax
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
    inputs, outputs = _tables(len(corpus.words), dim, rng)
    cumulative = noise_distribution(corpus.counts).cumsum()
    for epoch in range(epochs):
        centers, contexts = _pairs(corpus.sentences, window, rng)
        for batch, done in _batches(len(centers), batch_size):
            noise = np.searchsorted(cumulative, rng.random((len(centers[batch]), n_negative)))
            targets = np.concatenate([contexts[batch, None], noise], axis=1)
            rate = learning_rate * (1 - (epoch + done) / epochs)
            _step(inputs, outputs, centers[batch], targets, rate)
    return inputs


def train_cbow(
    corpus: Corpus,
    dim: int = 30,
    n_negative: int = 5,
    window: int = 4,
    epochs: int = 3,
    learning_rate: float = 0.2,
    batch_size: int = 64,
    seed: int = 0,
) -> np.ndarray:
    """Word vectors (V, dim), float32: the mean of the words around it predicts a word (L2 §1.4).

    As `train`, the other way round: one example a word and not one a pair, so the rate is larger
    and batches are smaller.
    """
    rng = np.random.default_rng(seed)
    inputs, outputs = _tables(len(corpus.words), dim, rng)
    cumulative = noise_distribution(corpus.counts).cumsum()
    words, around = _with_context(corpus.sentences, window)
    for epoch in range(epochs):
        order = rng.permutation(len(words))
        for batch, done in _batches(len(words), batch_size):
            chosen = order[batch]
            noise = np.searchsorted(cumulative, rng.random((len(chosen), n_negative)))
            targets = np.concatenate([words[chosen, None], noise], axis=1)
            rate = learning_rate * (1 - (epoch + done) / epochs)
            _step_cbow(inputs, outputs, around[chosen], targets, rate)
    return inputs


def train_full_softmax(
    corpus: Corpus,
    dim: int = 30,
    window: int = 5,
    epochs: int = 3,
    learning_rate: float = 0.1,
    batch_size: int = 256,
    seed: int = 0,
) -> np.ndarray:
    """Word vectors (V, dim), float32: skip-gram by its definition, every word scored at each pair.

    exp(u_o . v_c) / sum_w exp(u_w . v_c) (L2 §1.4); possible here because V is small.
    """
    rng = np.random.default_rng(seed)
    inputs, outputs = _tables(len(corpus.words), dim, rng)
    for epoch in range(epochs):
        centers, contexts = _pairs(corpus.sentences, window, rng)
        for batch, done in _batches(len(centers), batch_size):
            rate = learning_rate * (1 - (epoch + done) / epochs)
            _step_softmax(inputs, outputs, centers[batch], contexts[batch], rate)
    return inputs


def _tables(n_words: int, dim: int, rng) -> tuple[np.ndarray, np.ndarray]:
    inputs = ((rng.random((n_words, dim)) - 0.5) / dim).astype(np.float32)
    return inputs, np.zeros((n_words, dim), dtype=np.float32)


def _batches(length: int, size: int) -> Iterator[tuple[slice, float]]:
    """Slices over `length` examples, with the share that is done before each."""
    for start in range(0, length, size):
        yield slice(start, start + size), start / length


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


def _step_cbow(inputs, outputs, around, targets, learning_rate) -> None:
    """One batch, in place: around (B, 2 window), -1 for no word; targets as in `_step`."""
    is_word = around >= 0
    share = (is_word / is_word.sum(axis=1, keepdims=True)).astype(inputs.dtype)
    # (B, V): how much each word is of each example's mean
    shares = np.zeros((len(around), len(inputs)), dtype=inputs.dtype)
    np.add.at(shares, (np.arange(len(around))[:, None], around), share)
    mean, u = shares @ inputs, outputs[targets]
    errors = _logistic(np.einsum("bd,bkd->bk", mean, u))
    errors[:, 0] -= 1
    errors *= learning_rate
    error_of_target = np.zeros_like(shares)
    np.add.at(error_of_target, (np.arange(len(around))[:, None], targets), errors)
    inputs -= shares.T @ np.einsum("bk,bkd->bd", errors, u)
    outputs -= error_of_target.T @ mean


def _step_softmax(inputs, outputs, centers, contexts, learning_rate) -> None:
    """One batch, in place: centers and contexts (B,); the errors are p - y over all V words."""
    rows = np.arange(len(centers))
    v = inputs[centers]
    errors = softmax(v @ outputs.T).astype(inputs.dtype)
    errors[rows, contexts] -= 1
    errors *= learning_rate
    is_center = np.zeros((len(inputs), len(centers)), dtype=inputs.dtype)
    is_center[centers, rows] = 1
    by_center = errors @ outputs
    outputs -= errors.T @ v
    inputs -= is_center @ by_center


def _with_context(sentences: np.ndarray, window: int) -> tuple[np.ndarray, np.ndarray]:
    """Every word (N,) and the `window` words to either side of it (N, 2 window), -1 for none."""
    padded = np.pad(sentences, ((0, 0), (window, window)), constant_values=-1)
    views = np.lib.stride_tricks.sliding_window_view(padded, 2 * window + 1, axis=1)
    around = np.delete(views, window, axis=2)
    return sentences.ravel(), around.reshape(-1, 2 * window)


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
