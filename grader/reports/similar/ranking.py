"""Ranks pairs by what they share, counting rare code more than what everybody writes.

A homework has few ways to be right: `weights @ v` proves nothing. So each fingerprint weighs
log((N + 1) / n), with N students of whom n have it, as words do in text search (inverse document
frequency).
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from grader.reports.similar.fingerprints import Fingerprints

ENOUGH_TO_JUDGE = 12  # fingerprints: with fewer, everything or nothing is shared


@dataclass(frozen=True)
class Pair:
    """Two submissions, by their places in the list.

    Attributes:
        score: 0 … 1, the weight of what both have over the weight of what the smaller one has.
        shared: fingerprints in both.
        only_these: of these, how many no third submission has.
    """

    first: int
    second: int
    score: float
    shared: int
    only_these: int


def rank_pairs(prints: Sequence[Fingerprints], limit: int = 50) -> list[Pair]:
    """The `limit` most similar pairs, the most similar first. All pairs are compared."""
    n_students = len(prints)
    owners = Counter(value for one in prints for value in one.places)
    # What one student alone has is shared with nobody: it only adds to the weight of the text.
    column = {value: i for i, value in enumerate(v for v, n in owners.items() if n > 1)}
    if n_students < 2 or not column:
        return []
    n_owners = np.array([owners[value] for value in column], dtype=np.float32)
    # (student, fingerprint) 0 or 1
    has = np.zeros((n_students, len(column)), dtype=np.float32)
    for row, one in enumerate(prints):
        has[row, [column[value] for value in one.places if value in column]] = 1
    weighted = has * np.log((n_students + 1) / n_owners)
    n_alone = np.array([len(one.places) for one in prints]) - has.sum(axis=1)
    weight = weighted.sum(axis=1) + n_alone * np.log(n_students + 1)
    scores = (weighted @ has.T) / np.minimum.outer(weight, weight).clip(min=1e-9)
    too_short = np.array([len(one.places) < ENOUGH_TO_JUDGE for one in prints])
    scores[too_short, :] = scores[:, too_short] = 0
    return [_pair(i, j, scores, has, n_owners) for i, j in _best(scores, limit)]


def _best(scores: np.ndarray, limit: int) -> list[tuple[int, int]]:
    """The pairs (i, j), i < j, of the largest scores above 0; equal ones in order of i and j."""
    first, second = np.triu_indices(len(scores), k=1)
    values = scores[first, second]
    order = np.argsort(-values, kind="stable")[:limit]
    return [(int(first[i]), int(second[i])) for i in order if values[i] > 0]


def _pair(i: int, j: int, scores: np.ndarray, has: np.ndarray, n_owners: np.ndarray) -> Pair:
    both = (has[i] * has[j]) > 0
    only_these = int((both & (n_owners == 2)).sum())
    return Pair(i, j, float(min(scores[i, j], 1.0)), int(both.sum()), only_these)
