"""The bound: plain matrix-vector products over the same bytes, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import torch
from torch import Tensor

from solution.torch_model import TorchTransformer

from . import now

COLUMNS = 512


class Bound:
    """One product with every weight matrix, and one over as many bytes as the cache holds.

    A whole pass is timed with each library's product; the fastest pass is the bound. (Not the
    fastest product for each matrix: two libraries' threads would wait on each other's cores.)

    Attributes:
        bytes: of all matrices.
        ways: what makes the passes, by the product's name.
    """

    def __init__(self, model: TorchTransformer, context: int) -> None:
        c = model.config
        names = ("w_o", "w_down")
        matrices = [m for name, m in model.params.items() if name.endswith(names)]
        matrices += [*model.fused.values(), model.output_matrix]
        numbers = 2 * c.n_kv_heads * c.head_dim * context
        for _ in range(c.n_layers):
            rows = torch.randn(max(1, numbers // COLUMNS), COLUMNS)
            matrices.append(rows.to(device=model.device, dtype=model.dtype).t())
        self.bytes = sum(m.nbytes for m in matrices)
        self.ways = {name: Passes(products) for name, products in _products(matrices).items()}


class Passes:
    """Passes of one library's products."""

    def __init__(self, products: list[Callable[[], object]]) -> None:
        self.products = products

    def run(self, n: int) -> list[float]:
        """The seconds that each of n passes took."""
        taken = []
        for _ in range(n):
            start = now()
            for product in self.products:
                product()
            taken.append(now() - start)
        return taken


def _products(matrices: list[Tensor]) -> dict[str, list[Callable[[], object]]]:
    """x @ w for every w (d_in, d_out): torch with rows contiguous and with columns, numpy."""
    rows = [w.contiguous() for w in matrices]
    columns = [w.t().contiguous() for w in matrices]
    xs = [torch.randn(1, w.shape[0]).to(w) for w in matrices]
    ys = [torch.empty(1, w.shape[1]).to(w) for w in matrices]
    products = {
        "mm": [partial(torch.mm, x, w, out=y) for x, w, y in zip(xs, rows, ys, strict=True)],
        "mv": [
            partial(torch.mv, w, x[0], out=y[0]) for x, w, y in zip(xs, columns, ys, strict=True)
        ],
    }
    if matrices[0].dtype == torch.float32 and matrices[0].device.type == "cpu":
        products["numpy"] = [
            partial(np.dot, x.numpy()[0], w.numpy(), out=y.numpy()[0])
            for x, w, y in zip(xs, rows, ys, strict=True)
        ]
    return products
