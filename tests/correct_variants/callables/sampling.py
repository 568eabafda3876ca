"""Two filters built by one factory that takes the rule."""

from functools import partial

import numpy as np

from .attention import softmax


class Temperature:
    """An instance serves as the function."""

    def __call__(self, logits, temperature):
        if temperature <= 0:
            raise ValueError("temperature > 0, please")
        return np.divide(logits, temperature, dtype=logits.dtype)


apply_temperature = Temperature()


def filter_with(rule):
    def keep(logits, setting):
        kept = np.apply_along_axis(lambda row: rule(row, setting), -1, logits)
        return np.where(kept.astype(bool), logits, -np.inf)

    return keep


def _best(row, k):
    if k < 1:
        raise ValueError("k >= 1, please")
    return row >= sorted(row, reverse=True)[: int(k)][-1]


def _nucleus(normalise, row, p):
    if not 0 < p <= 1:
        raise ValueError("0 < p <= 1, please")
    weights = normalise(row.astype(float))
    # A token stays when the tokens ahead of it do not reach p by themselves.
    return [weights[weights > weight].sum() < p for weight in weights]


top_k = filter_with(_best)
top_p = filter_with(partial(_nucleus, softmax))
