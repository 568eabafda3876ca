"""Masks."""

import numpy as np


def look_back(query_len, key_len):
    now = np.arange(key_len)[-query_len:, None]
    return np.greater_equal(now, np.arange(key_len)[None, :])


def hide(scores, mask):
    if mask is None:
        return scores
    hidden = scores.copy()
    np.copyto(hidden, -np.inf, where=~mask)
    return hidden
