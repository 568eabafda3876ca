"""Named axes everywhere; np.add.at into an array of changes."""

import numpy as np

embed = np.ndarray.__getitem__


def noise_distribution(counts):
    return np.power(counts, 0.75) / np.power(counts, 0.75).sum()


def _dots(v, u, n):
    seen = np.einsum("bd,bd->b", v, u, optimize=True)
    return np.concatenate([seen[:, None], np.einsum("bd,bkd->bk", v, n, optimize=True)], axis=1)


def _signs(dots):
    signs = np.ones_like(dots)
    signs[:, 0] = -1
    return signs


def sgns_loss(center, context, negatives):
    dots = _dots(center, context, negatives)
    return np.logaddexp(0, _signs(dots) * dots, dtype=dots.dtype).sum(-1)


def sgns_gradients(center, context, negatives):
    dots = _dots(center, context, negatives)
    signs = _signs(dots)
    errors = signs / (1 + np.exp(-np.clip(signs * dots, -80, 80)))
    words = np.concatenate([context[:, None], negatives], axis=1)
    by_words = np.einsum("bk,bd->bkd", errors, center, optimize=True)
    by_center = np.einsum("bk,bkd->bd", errors, words, optimize=True)
    return [by_center, by_words[:, 0], by_words[:, 1:]]


def train_step(inputs, outputs, centers, targets, learning_rate):
    by_center, by_context, by_negatives = sgns_gradients(
        inputs[centers], outputs[targets[:, 0]], outputs[targets[:, 1:]]
    )
    input_change, output_change = np.zeros_like(inputs), np.zeros_like(outputs)
    np.add.at(input_change, centers, by_center)
    np.add.at(output_change, targets[:, 0], by_context)
    np.add.at(output_change, targets[:, 1:], by_negatives)
    return inputs - learning_rate * input_change, outputs - learning_rate * output_change


def nearest(vectors, query, count, exclude=()):
    squares = np.einsum("vd,vd->v", vectors, vectors, optimize=True)
    cosines = np.einsum("vd,d->v", vectors, query, optimize=True) / np.sqrt(squares)
    allowed = np.isin(np.arange(len(vectors)), list(exclude), invert=True)
    return np.argsort(np.where(allowed, -cosines, np.inf))[:count]


def analogy(vectors, a, a_star, b):
    target = np.einsum("id,i->d", vectors[[a_star, a, b]], np.array([1, -1, 1]))
    return nearest(vectors, target, 1, [a, a_star, b]).item()
