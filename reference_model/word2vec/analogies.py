"""Questions to word vectors: the nearest words, and a is to a* as b is to what? (L2 §1.6)"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from ..shapes import Integer, Real
from .corpus import Corpus, Relation


def nearest(
    vectors: Real[np.ndarray, "V D"],
    query: Real[np.ndarray, "D"],
    count: int,
    exclude: Collection[int] = (),
) -> Integer[np.ndarray, "{min(count,len(vectors))}"]:
    """Numbers of the `count` words with the largest cosine to `query` (D,), the nearest first."""
    cosines = _unit(vectors) @ _unit(query)
    cosines[list(exclude)] = -np.inf
    return np.argsort(-cosines, kind="stable")[:count]


def analogy(vectors: Real[np.ndarray, "V D"], a: int, a_star: int, b: int) -> int:
    """The word nearest to v(a*) - v(a) + v(b), the three themselves excluded (Mikolov 2013, §4)."""
    query = vectors[a_star] - vectors[a] + vectors[b]
    return int(nearest(vectors, query, 1, exclude=(a, a_star, b))[0])


def accuracy(corpus: Corpus, vectors: np.ndarray, relation: Relation) -> float:
    """The share of right answers over all ordered pairs of pairs, asked first to second."""
    pairs = [tuple(map(corpus.number, pair)) for pair in relation.pairs]
    questions = [(a, a_star, b, d) for a, a_star in pairs for b, d in pairs if a != b]
    return float(np.mean([analogy(vectors, a, a_star, b) == d for a, a_star, b, d in questions]))


def parallelism(corpus: Corpus, vectors: np.ndarray, relation: Relation) -> float:
    """The mean cosine between the difference vectors of a relation's pairs, two and two."""
    pairs = np.array([tuple(map(corpus.number, pair)) for pair in relation.pairs])
    differences = _unit(vectors[pairs[:, 1]] - vectors[pairs[:, 0]])
    cosines = differences @ differences.T
    return float(cosines[np.triu_indices(len(pairs), k=1)].mean())


def _unit(x: np.ndarray) -> np.ndarray:
    return x / np.linalg.norm(x, axis=-1, keepdims=True)
