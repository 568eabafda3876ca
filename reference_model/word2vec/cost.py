"""What one training example touches, by model (L2 §1.3; Mikolov et al. 2013, §2 and §3)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Sizes:
    """The paper's N, D, H, V and C, and the k of negative sampling, at their typical values."""

    n_previous: int = 10
    dim: int = 500
    hidden: int = 500
    vocabulary: int = 1_000_000
    window: int = 10
    n_negative: int = 5

    @property
    def tree_depth(self) -> int:
        """log2 V, the path through a balanced tree of hierarchical softmax."""
        return (self.vocabulary - 1).bit_length()


def _nnlm(s: Sizes, output: int) -> int:
    return s.n_previous * s.dim + s.n_previous * s.dim * s.hidden + s.hidden * output


COSTS: dict[str, Callable[[Sizes], int]] = {
    "NNLM, full softmax": lambda s: _nnlm(s, s.vocabulary),
    "NNLM, hierarchical softmax": lambda s: _nnlm(s, s.tree_depth),
    "RNNLM, hierarchical softmax": lambda s: s.hidden * s.hidden + s.hidden * s.tree_depth,
    "CBOW, hierarchical softmax": lambda s: s.n_previous * s.dim + s.dim * s.tree_depth,
    "skip-gram, hierarchical softmax": lambda s: s.window * (s.dim + s.dim * s.tree_depth),
    "skip-gram, negative sampling": lambda s: s.window * (s.dim + s.dim * (s.n_negative + 1)),
    "skip-gram, full softmax": lambda s: s.window * (s.dim + s.dim * s.vocabulary),
}


def training_cost(model: str, **sizes: int) -> int:
    """Q, the parameters that one training example touches.

    >>> training_cost("skip-gram, negative sampling", window=5, dim=300, n_negative=15)
    25500

    Args:
        model: a key of `COSTS`.
        sizes: fields of `Sizes` that differ from the paper's typical values.
    """
    return COSTS[model](Sizes(**sizes))
