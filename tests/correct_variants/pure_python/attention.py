"""Lists and math.exp, one number at a time; numpy only at the door."""

import math
from itertools import product

import numpy as np


def softmax(x, axis=-1):
    rows = np.moveaxis(x, axis, -1)
    result = np.empty(rows.shape, x.dtype)
    for place in product(*(range(n) for n in rows.shape[:-1])):
        scores = rows[place].tolist()
        largest = max(scores)
        exps = [math.exp(score - largest) for score in scores]
        total = sum(exps)
        result[place] = [e / total for e in exps]
    return np.moveaxis(result, -1, axis)


def scaled_dot_product_attention(q, k, v, mask=None):
    batch = np.broadcast_shapes(q.shape[:-2], k.shape[:-2])
    n_queries, n_keys, width = q.shape[-2], k.shape[-2], v.shape[-1]
    q = np.broadcast_to(q, (*batch, *q.shape[-2:]))
    k = np.broadcast_to(k, (*batch, *k.shape[-2:]))
    v = np.broadcast_to(v, (*batch, *v.shape[-2:]))
    allowed = np.broadcast_to(True if mask is None else mask, (*batch, n_queries, n_keys))
    out = np.zeros((*batch, n_queries, width), v.dtype)
    for place in product(*(range(n) for n in batch)):
        for t in range(n_queries):
            seen = [s for s in range(n_keys) if allowed[place][t, s]]
            query = q[place][t]
            scores = np.array([query @ k[place][s] / math.sqrt(len(query)) for s in seen])
            for s, weight in zip(seen, softmax(scores), strict=True):
                out[place][t] += v.dtype.type(weight) * v[place][s]
    return out


def causal_mask(query_len, key_len):
    first = key_len - query_len
    return np.array([[s <= first + t for s in range(key_len)] for t in range(query_len)])


def split_heads(x, n_heads):
    width = x.shape[2] // n_heads
    cuts = [slice(h * width, (h + 1) * width) for h in range(n_heads)]
    return np.array([[one[:, cut].tolist() for cut in cuts] for one in x], dtype=x.dtype)


def merge_heads(x):
    return np.array([[np.concatenate(list(token)) for token in one.swapaxes(0, 1)] for one in x])


def multi_head_attention(x, w_q, w_k, w_v, w_o, n_heads):
    mask = causal_mask(x.shape[1], x.shape[1])
    out = []
    for one in x:
        q, k, v = (split_heads((one @ w)[None], n_heads)[0] for w in (w_q, w_k, w_v))
        heads = [scaled_dot_product_attention(q[h], k[h], v[h], mask) for h in range(n_heads)]
        out.append(np.concatenate(heads, axis=-1) @ w_o)
    return np.stack(out)
