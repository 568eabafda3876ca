"""A loop over the pairs, and inside it one over the words of a pair."""

import math

import numpy as np


def embed(table, tokens):
    rows = np.empty((*tokens.shape, table.shape[1]), dtype=table.dtype)
    for place in np.ndindex(tokens.shape):
        rows[place] = table[tokens[place]]
    return rows


def noise_distribution(counts):
    weights = [math.pow(count, 3 / 4) for count in counts]
    return np.array([weight / sum(weights) for weight in weights])


def minus_log_sigmoid(x):
    return math.log1p(math.exp(-x)) if x > 0 else math.log1p(math.exp(x)) - x


def sigmoid(x):
    return 1 / (1 + math.exp(-x)) if x > 0 else math.exp(x) / (1 + math.exp(x))


def sgns_loss(center, context, negatives):
    losses = []
    for v, u, others in zip(center, context, negatives, strict=True):
        loss = minus_log_sigmoid(float(u @ v))
        for other in others:
            loss += minus_log_sigmoid(-float(other @ v))
        losses.append(loss)
    return np.array(losses, dtype=center.dtype)


def sgns_gradients(center, context, negatives):
    by_center = np.zeros_like(center)
    by_context = np.zeros_like(context)
    by_negatives = np.zeros_like(negatives)
    for b, v in enumerate(center):
        error = sigmoid(float(context[b] @ v)) - 1
        by_center[b] = error * context[b]
        by_context[b] = error * v
        for k, u in enumerate(negatives[b]):
            error = sigmoid(float(u @ v))
            by_center[b] += error * u
            by_negatives[b, k] = error * v
    return [by_center, by_context, by_negatives]


def train_step(inputs, outputs, centers, targets, learning_rate):
    new_inputs, new_outputs = np.array(inputs), np.array(outputs)
    for center, words in zip(centers, targets, strict=True):
        v = inputs[center]
        for place, word in enumerate(words):
            u = outputs[word]
            change = learning_rate * (sigmoid(float(u @ v)) - (place == 0))
            new_inputs[center] -= change * u
            new_outputs[word] -= change * v
    return new_inputs, new_outputs


def nearest(vectors, query, count, exclude=()):
    cosines = {}
    for word, vector in enumerate(vectors):
        if word not in exclude:
            cosines[word] = float(vector @ query) / math.sqrt(float(vector @ vector))
    return np.array(sorted(cosines, key=cosines.get, reverse=True)[:count])


def analogy(vectors, a, a_star, b):
    target = vectors[a_star] - vectors[a] + vectors[b]
    found = nearest(vectors, target, 4)
    return next(word for word in found if word not in (a, a_star, b))
