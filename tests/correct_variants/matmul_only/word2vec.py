"""Everything as a product with one-hot matrices: they pick rows, and sum what repeats."""

import numpy as np


def _one_hot(tokens, size, dtype):
    return (tokens[..., None] == np.arange(size)).astype(dtype)


def embed(table, tokens):
    return _one_hot(tokens, len(table), table.dtype) @ table


def noise_distribution(counts):
    weights = np.sqrt(counts * np.sqrt(counts))  # (c^1.5)^0.5
    return weights / (weights @ np.ones(len(weights)))


def _scores(center, context, negatives):
    words = np.concatenate([context[:, None], negatives], axis=1)
    return words, (words @ center[..., None])[..., 0]


def sgns_loss(center, context, negatives):
    _, scores = _scores(center, context, negatives)
    scores[:, 0] *= -1
    # log(1 + e^x) = max(x, 0) + log(1 + e^-|x|)
    terms = np.maximum(scores, 0) + np.log1p(np.exp(-np.abs(scores)))
    return terms @ np.ones(terms.shape[1], terms.dtype)


def sgns_gradients(center, context, negatives):
    words, scores = _scores(center, context, negatives)
    small = np.exp(-np.abs(scores))
    errors = np.where(scores > 0, 1, small) / (1 + small)
    errors[:, 0] -= 1
    by_words = errors[..., None] @ center[:, None]
    return (errors[:, None] @ words)[:, 0], by_words[:, 0], by_words[:, 1:]


def train_step(inputs, outputs, centers, targets, learning_rate):
    n_words, dtype = len(inputs), inputs.dtype
    is_center, is_target = _one_hot(centers, n_words, dtype), _one_hot(targets, n_words, dtype)
    words = is_target @ outputs
    by_center, by_context, by_negatives = sgns_gradients(
        is_center @ inputs, words[:, 0], words[:, 1:]
    )
    by_words = np.concatenate([by_context[:, None], by_negatives], axis=1)
    flat = is_target.reshape(-1, n_words).T @ by_words.reshape(-1, by_words.shape[-1])
    return inputs - learning_rate * (is_center.T @ by_center), outputs - learning_rate * flat


def nearest(vectors, query, count, exclude=()):
    lengths = np.sqrt((vectors[:, None] @ vectors[..., None])[:, 0, 0])
    order = np.argsort((vectors @ query) / lengths)[::-1]
    return order[~np.isin(order, list(exclude))][:count]


def analogy(vectors, a, a_star, b):
    picks = np.zeros(len(vectors), vectors.dtype)
    picks[[a_star, a, b]] = 1, -1, 1
    return nearest(vectors, picks @ vectors, 1, {a, a_star, b})[0]
