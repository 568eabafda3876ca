import numpy as np


def embed(table, tokens):
    return np.take(table, tokens, axis=0)


def noise_distribution(counts):
    p = np.asarray(counts, dtype=np.float64)
    p = np.sqrt(p) * np.sqrt(np.sqrt(p))   # p^(1/2 + 1/4)
    return p / p.sum()


def _sigmoid(x):
    e = np.exp(-np.abs(x))
    return np.where(x >= 0, 1, e) / (1 + e)


def _log_sigmoid(x):
    return np.minimum(x, 0) - np.log1p(np.exp(-np.abs(x)))


def _dots(center, context, negatives):
    c, o, n = (a.astype(np.float64) for a in (center, context, negatives))
    return c, o, n, np.sum(o * c, axis=-1), np.sum(n * c[:, None], axis=-1)


def sgns_loss(center, context, negatives):
    *_, pos, neg = _dots(center, context, negatives)
    loss = -_log_sigmoid(pos) - _log_sigmoid(-neg).sum(axis=-1)
    return loss.astype(center.dtype)


def sgns_gradients(center, context, negatives):
    c, o, n, pos, neg = _dots(center, context, negatives)
    e_pos, e_neg = (_sigmoid(pos) - 1)[:, None], _sigmoid(neg)[:, :, None]
    d_c = e_pos * o + np.sum(e_neg * n, axis=1)
    return tuple(g.astype(center.dtype) for g in (d_c, e_pos * c, e_neg * c[:, None]))


def train_step(inputs, outputs, centers, targets, learning_rate):
    v, u = inputs.astype(np.float64), outputs.astype(np.float64)
    d_c, d_o, d_n = sgns_gradients(v[centers], u[targets[:, 0]], u[targets[:, 1:]])
    dv, du = np.zeros_like(v), np.zeros_like(u)
    np.add.at(dv, centers, d_c)
    np.add.at(du, targets, np.concatenate([d_o[:, None], d_n], axis=1))
    return ((v - learning_rate * dv).astype(inputs.dtype),
            (u - learning_rate * du).astype(outputs.dtype))


def nearest(vectors, query, count, exclude=()):
    v, q = vectors.astype(np.float64), query.astype(np.float64)
    cosine = v @ q / (np.linalg.norm(v, axis=1) * np.linalg.norm(q))
    for word in exclude:
        cosine[word] = -2
    return np.argsort(cosine)[::-1][:count]


def analogy(vectors, a, a_star, b):
    v = vectors.astype(np.float64)
    found = nearest(v, v[a_star] - v[a] + v[b], 1, (a, a_star, b))
    return found.item()
