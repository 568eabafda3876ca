"""Lambdas, partial objects, instances that can be called, and a decorated function."""

import math
from functools import partial, reduce, wraps

import numpy as np


class Softmax:
    def __call__(self, x, axis=-1):
        e = np.exp(x - x.max(axis=axis, keepdims=True))
        return e / e.sum(axis=axis, keepdims=True)


softmax = Softmax()


def _attention(normalise, q, k, v, mask=None):
    scores = q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1])
    return normalise(scores if mask is None else np.where(mask, scores, -np.inf)) @ v


scaled_dot_product_attention = partial(_attention, softmax)

causal_mask, split_heads, merge_heads = (
    lambda query_len, key_len: np.tri(query_len, key_len, key_len - query_len, dtype=np.bool_),
    lambda x, n_heads: x.reshape(*x.shape[:2], n_heads, -1).swapaxes(1, 2),
    lambda x: reduce(lambda left, right: np.append(left, right, axis=-1), x.swapaxes(0, 1)),
)


def checked(function):
    """Assert that attention keeps the shape of what it is given."""

    @wraps(function)
    def wrapper(x, *args, **kwargs):
        result = function(x, *args, **kwargs)
        assert result.shape == x.shape
        return result

    return wrapper


@checked
def multi_head_attention(x, w_q, w_k, w_v, w_o, n_heads):
    q, k, v = (split_heads(x @ w, n_heads) for w in (w_q, w_k, w_v))
    mask = causal_mask(x.shape[1], x.shape[1])
    return merge_heads(scaled_dot_product_attention(q, k, v, mask=mask)) @ w_o
