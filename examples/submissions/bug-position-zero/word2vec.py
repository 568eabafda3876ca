from collections.abc import Iterable

import numpy as np


def embed(table: np.ndarray, tokens: np.ndarray) -> np.ndarray:
    out = np.empty(tokens.shape + table.shape[1:], table.dtype)
    out[...] = table[tokens]
    return out


def noise_distribution(counts: np.ndarray) -> np.ndarray:
    out = np.power(counts, 0.75, dtype=np.float64)
    out /= out.sum()
    return out


def logistic(x: np.ndarray) -> np.ndarray:
    return 0.5 + 0.5 * np.tanh(x / 2)


def dots(center: np.ndarray, words: np.ndarray) -> np.ndarray:
    return np.matmul(words, center[:, :, None])[:, :, 0]


def sgns_loss(center: np.ndarray, context: np.ndarray, negatives: np.ndarray) -> np.ndarray:
    terms = np.empty((len(center), 1 + negatives.shape[1]), center.dtype)
    terms[:, :1] = -dots(center, context[:, None])
    terms[:, 1:] = dots(center, negatives)
    return np.logaddexp(terms, 0).sum(axis=1)


def sgns_gradients(center, context, negatives):
    words = np.empty((len(center), 1 + negatives.shape[1], center.shape[1]), center.dtype)
    words[:, 0], words[:, 1:] = context, negatives
    errors = logistic(dots(center, words))
    errors[:, 0] -= 1
    by_words = errors[:, :, None] * center[:, None, :]
    return np.matmul(errors[:, None, :], words)[:, 0], by_words[:, 0], by_words[:, 1:]


def scatter(size: int, rows: np.ndarray, changes: np.ndarray) -> np.ndarray:
    """Row i is the sum of all changes of word i."""
    total = np.zeros((size, changes.shape[-1]), changes.dtype)
    np.add.at(total, rows, changes)
    return total


def train_step(inputs, outputs, centers, targets, learning_rate):
    seen, drawn = targets[:, 0], targets[:, 1:]
    v, o, n = sgns_gradients(inputs[centers], outputs[seen], outputs[drawn])
    n_words = len(inputs)
    by_output = scatter(n_words, seen, o) + scatter(n_words, drawn, n)
    return (
        inputs - learning_rate * scatter(n_words, centers, v),
        outputs - learning_rate * by_output,
    )


def nearest(
    vectors: np.ndarray, query: np.ndarray, count: int, exclude: Iterable[int] = ()
) -> np.ndarray:
    allowed = np.ones(len(vectors), bool)
    allowed[list(exclude)] = False
    words = np.flatnonzero(allowed)
    cosines = vectors[words] @ query / np.linalg.norm(vectors[words], axis=1)
    return words[np.argsort(-cosines)][:count]


def analogy(vectors: np.ndarray, a: int, a_star: int, b: int) -> int:
    (word,) = nearest(vectors, vectors[a_star] - vectors[a] + vectors[b], 1, {a, a_star, b})
    return int(word)
