import numpy as np


def embed(table, tokens):
    return table.take(tokens, axis=0)


def noise_distribution(counts):
    weight = np.exp(0.75 * np.log(counts))
    return weight / weight.sum()


def _signed(center, context, negatives):
    """Dot products with the sign that they have inside the logistic function."""
    words = np.hstack([context[:, None], -negatives])
    return words, (words * center[:, None]).sum(-1)


def sgns_loss(center, context, negatives):
    _, x = _signed(center, context, negatives)
    return np.logaddexp(0, -x).sum(-1)


def sgns_gradients(center, context, negatives):
    # d/dx -log s(x) = -s(-x)
    words, x = _signed(center, context, negatives)
    slope = -0.5 * (1 - np.tanh(0.5 * x))[..., None]
    by_word = slope * center[:, None]
    return (slope * words).sum(1), by_word[:, 0], -by_word[:, 1:]


def train_step(inputs, outputs, centers, targets, learning_rate):
    grads = sgns_gradients(inputs[centers], outputs[targets[:, 0]], outputs[targets[:, 1:]])
    picks = (np.arange(len(inputs))[:, None] == centers).astype(inputs.dtype)   # (V, B)
    new_inputs = inputs - learning_rate * (picks @ grads[0])
    new_outputs = outputs.copy()
    changes = learning_rate * np.hstack([grads[1][:, None], grads[2]])
    for words, change in zip(targets, changes):
        for w, c in zip(words, change):
            new_outputs[w] -= c
    return new_inputs, new_outputs


def nearest(vectors, query, count, exclude=()):
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    order = (-(unit @ query)).argsort()
    return order[~np.isin(order, list(exclude))][:count]


def analogy(vectors, a, a_star, b):
    order = nearest(vectors, vectors[a_star] + vectors[b] - vectors[a], 4)
    return next(int(w) for w in order if w not in (a, a_star, b))
