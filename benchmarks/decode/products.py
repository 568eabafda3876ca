"""The ways to multiply a vector with a matrix on a CPU, and which is the fastest here.

It depends on the machine: for float32 rows MKL's `mm` leads on Intel's, OpenBLAS on AMD's.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import torch
from torch import Tensor

Product = Callable[[], object]
ROUNDS = 3


def ways(x: Tensor, w: Tensor, out: Tensor) -> dict[str, Product]:
    """What writes x (B, d_in) @ w (d_in, d_out) to `out`, by its name."""
    found: dict[str, Product] = {"mm": partial(torch.mm, x, w, out=out)}
    if len(x) == 1:
        found["mv"] = partial(torch.mv, w.t(), x[0], out=out[0])
        # With more threads, numpy's and torch's would wait on each other's cores.
        if x.dtype in (torch.float32, torch.float64) and torch.get_num_threads() == 1:
            vector, row = x.numpy()[0], out.numpy()[0]
            found["numpy"] = partial(np.dot, vector, w.numpy(), out=row)
    return found


def adding_ways(x: Tensor, w: Tensor, total: Tensor) -> dict[str, Product]:
    """What adds x (B, d_in) @ w (d_in, d_out) to `total`, by its name."""
    found: dict[str, Product] = {"mm": partial(total.addmm_, x, w)}
    if len(x) == 1:
        found["mv"] = partial(total[0].addmv_, w.t(), x[0])
    product = torch.empty_like(total)
    if multiply := ways(x, w, product).get("numpy"):

        def multiply_and_add() -> None:
            multiply()
            total.add_(product)

        found["numpy"] = multiply_and_add
    return found


def fastest(matrices: Sequence[Tensor], batch: int) -> str:
    """The way that takes the least time for all of these matrices, one after the other."""
    xs = [torch.ones(batch, w.shape[0], dtype=w.dtype) for w in matrices]
    outs = [torch.empty(batch, w.shape[1], dtype=w.dtype) for w in matrices]
    each = [ways(x, w, out) for x, w, out in zip(xs, matrices, outs, strict=True)]
    return min(each[0], key=lambda name: _least_seconds([found[name] for found in each]))


def _least_seconds(products: Sequence[Product]) -> float:
    """Of some passes; one way after the other, as behind numpy torch is slow for a while."""
    taken = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        for product in products:
            product()
        taken.append(time.perf_counter() - start)
    return min(taken)
