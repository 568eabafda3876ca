import math

import numpy as np


def embed(table, tokens):
    flat = [table[token] for token in tokens.ravel()]
    return np.array(flat, dtype=table.dtype).reshape(*tokens.shape, -1)


def noise_distribution(counts):
    out = np.zeros(len(counts))
    for i, n in enumerate(counts):
        out[i] = float(n) ** 0.75
    return out / sum(out)


def softplus(x):
    """log(1 + e^x), large x too"""
    return x + math.log1p(math.exp(-x)) if x > 0 else math.log1p(math.exp(x))


def sigma(x):
    if x < 0:
        return 1 - sigma(-x)
    return 1 / (1 + math.exp(-x))


def dot(a, b):
    return float(a @ b)


def sgns_loss(center, context, negatives):
    out = np.zeros(len(center), center.dtype)
    for b in range(len(center)):
        out[b] = softplus(-dot(context[b], center[b]))
        for k in range(negatives.shape[1]):
            out[b] += softplus(dot(negatives[b, k], center[b]))
    return out


def sgns_gradients(center, context, negatives):
    d_v, d_o, d_n = np.zeros_like(center), np.zeros_like(context), np.zeros_like(negatives)
    for b in range(len(center)):
        # s(x) - 1 = -s(-x)
        g = -sigma(-dot(context[b], center[b]))
        d_o[b] = g * center[b]
        d_v[b] += g * context[b]
        for k in range(negatives.shape[1]):
            g = sigma(dot(negatives[b, k], center[b]))
            d_n[b, k] = g * center[b]
            d_v[b] += g * negatives[b, k]
    return d_v, d_o, d_n


def train_step(inputs, outputs, centers, targets, learning_rate):
    v, u = inputs[centers], outputs[targets]
    d_v, d_o, d_n = sgns_gradients(v, u[:, 0], u[:, 1:])
    inputs, outputs = inputs.copy(), outputs.copy()
    for b in range(len(centers)):
        inputs[centers[b]] -= learning_rate * d_v[b]
        outputs[targets[b, 0]] -= learning_rate * d_o[b]
        for k in range(1, targets.shape[1]):
            outputs[targets[b, k]] -= learning_rate * d_n[b, k - 1]
    return inputs, outputs


def nearest(vectors, query, count, exclude=()):
    scored = []
    for i in range(len(vectors)):
        if i in exclude:
            continue
        cosine = dot(vectors[i], query) / math.sqrt(dot(vectors[i], vectors[i]))
        scored.append((cosine, i))
    scored.sort(reverse=True)
    return np.array([i for _, i in scored[:count]])


def analogy(vectors, a, a_star, b):
    return int(nearest(vectors, vectors[a_star] - vectors[a] + vectors[b], 1, [a, a_star, b])[0])
