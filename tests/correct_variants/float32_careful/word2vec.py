"""Computed in float64 throughout, and rounded once to the dtype that came in."""

import numpy as np


def _doubles(*arrays):
    return [array.astype(np.float64) for array in arrays]


def embed(table, tokens):
    return np.take(table, tokens, axis=0)


def noise_distribution(counts):
    logs = 0.75 * np.log(counts)
    weights = np.exp(logs - logs.max())
    return weights / weights.sum()


def sgns_loss(center, context, negatives):
    v, u, n = _doubles(center, context, negatives)
    seen, drawn = np.sum(u * v, axis=1), np.sum(n * v[:, np.newaxis, :], axis=2)
    loss = np.logaddexp(-seen, 0) + np.sum(np.logaddexp(drawn, 0), axis=1)
    return loss.astype(center.dtype)


def sgns_gradients(center, context, negatives):
    v, u, n = _doubles(center, context, negatives)
    with np.errstate(over="ignore"):
        seen = 1 / (1 + np.exp(-np.sum(u * v, axis=1, keepdims=True)))
        drawn = 1 / (1 + np.exp(-np.sum(n * v[:, np.newaxis, :], axis=2, keepdims=True)))
    gradients = ((seen - 1) * u + np.sum(drawn * n, axis=1), (seen - 1) * v, drawn * v[:, None])
    return tuple(gradient.astype(center.dtype) for gradient in gradients)


def train_step(inputs, outputs, centers, targets, learning_rate):
    v, u = _doubles(inputs, outputs)
    by_v, by_seen, by_drawn = sgns_gradients(v[centers], u[targets[:, 0]], u[targets[:, 1:]])
    # All changes of one word, one after the other: sorted by word, then summed in runs.
    by_v = _sum_by_word(centers, by_v, len(v))
    words = np.concatenate([targets[:, 0], targets[:, 1:].ravel()])
    changes = np.concatenate([by_seen, by_drawn.reshape(-1, by_seen.shape[1])])
    by_u = _sum_by_word(words, changes, len(u))
    v -= learning_rate * by_v
    u -= learning_rate * by_u
    return v.astype(inputs.dtype), u.astype(outputs.dtype)


def _sum_by_word(words, changes, n_words):
    columns = [np.bincount(words, weights=column, minlength=n_words) for column in changes.T]
    return np.stack(columns, axis=1)


def nearest(vectors, query, count, exclude=()):
    unit = vectors.astype(np.float64)
    unit /= np.linalg.norm(unit, axis=1)[:, None]
    left = np.setdiff1d(np.arange(len(unit)), np.array(exclude, dtype=int))
    return left[np.argsort(unit[left] @ query)][::-1][:count].astype(np.int32)


def analogy(vectors, a, a_star, b):
    v = vectors.astype(np.float64)
    return int(nearest(v, v[a_star] + v[b] - v[a], 1, (a, a_star, b)).item())
