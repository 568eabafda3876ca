"""One step after another against one product for all (L2 §2.1)."""

from __future__ import annotations

import time

import numpy as np


def recurrence_ratio(length: int = 256, dim: int = 256, repeats: int = 20) -> float:
    """Time of `length` vector products, each waiting for the last, over that of one matrix product.

    Both do the same FLOPs in float32. The best of `repeats` each, measured in turns.
    """
    rng = np.random.default_rng(0)
    w = (rng.standard_normal((dim, dim)) / np.sqrt(dim)).astype(np.float32)
    x = rng.standard_normal((length, dim)).astype(np.float32)

    def one_by_one() -> None:
        h = np.zeros(dim, dtype=np.float32)
        for row in x:
            h = np.tanh(row + h @ w)

    def at_once() -> None:
        np.tanh(x @ w)

    slow, fast = [], []
    for _ in range(repeats):
        slow.append(_seconds(one_by_one))
        fast.append(_seconds(at_once))
    return min(slow) / min(fast)


def _seconds(work) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start
