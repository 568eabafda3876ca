import numpy as np


def embed(table, tokens):
    return table[tokens]


def noise_distribution(counts):
    w = counts.astype(float) ** 0.75
    return w / np.einsum("v->", w)


def scores(v, words):
    return np.einsum("bd,bkd->bk", v, words)


def with_context(context, negatives):
    """the real word first, then the negatives; and their labels"""
    words = np.concatenate([context[:, None, :], negatives], axis=1)
    labels = np.zeros(words.shape[:2], words.dtype)
    labels[:, 0] = 1
    return words, labels


def sgns_loss(center, context, negatives):
    words, labels = with_context(context, negatives)
    x = scores(center, words)
    # -log s(x) for label 1 and -log s(-x) for label 0
    return np.einsum("bk->b", np.logaddexp(0, x) - labels * x)


def sgns_gradients(center, context, negatives):
    words, labels = with_context(context, negatives)
    x = scores(center, words)
    g = np.exp(-np.logaddexp(0, -x)) - labels
    grad_words = np.einsum("bk,bd->bkd", g, center)
    return np.einsum("bk,bkd->bd", g, words), grad_words[:, 0], grad_words[:, 1:]


def train_step(inputs, outputs, centers, targets, learning_rate):
    words = outputs[targets]
    g_v, g_o, g_n = sgns_gradients(inputs[centers], words[:, 0], words[:, 1:])
    new_in, new_out = inputs.copy(), outputs.copy()
    np.add.at(new_in, centers, -learning_rate * g_v)
    np.add.at(new_out, targets[:, 0], -learning_rate * g_o)
    np.add.at(new_out, targets[:, 1:], -learning_rate * g_n)
    return new_in, new_out


def nearest(vectors, query, count, exclude=()):
    cos = np.einsum("vd,d->v", vectors, query) / np.sqrt(np.einsum("vd,vd->v", vectors, vectors))
    order = np.argsort(-cos)
    keep = [i for i in order if i not in set(exclude)]
    return np.array(keep[:count])


def analogy(vectors, a, a_star, b):
    q = np.einsum("id,i->d", vectors[[a_star, a, b]], np.array([1, -1, 1], vectors.dtype))
    return nearest(vectors, q, 1, exclude=(a, a_star, b))[0]
