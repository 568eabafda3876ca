"""Diagnoses in words."""

from __future__ import annotations

from .diagnosis import Diagnosis
from .known_bugs import known_bugs
from .words import tr, tr_n


def fact(diagnosis: Diagnosis) -> str:
    """The finding as a statement: what the code equals, in how many tests, and how closely."""
    texts = known_bugs()
    sets = [
        tr(" and, in the same code, ").join(texts[name].summary.spoken for name in bugs)
        for bugs in diagnosis.alternatives
    ]
    # Below this, equal is all that can be said of numbers in float64.
    error = max(diagnosis.error, 1e-16)
    sentence = tr(
        "Part {part} equals, in {tests} to {error:.0e}, {what}.",
        part=diagnosis.part,
        tests=tr_n(diagnosis.n_tests, "1 test", "{n} tests"),
        error=error,
        what=tr("; or ").join(sets),
    )
    return sentence + (tr(" (No test here tells these apart.)") if len(sets) > 1 else "")


def no_match(part: int) -> str:
    """That no known bug explains the failures of a part."""
    return tr("Part {part}: no known bug computes the same.", part=part)


def explanation(name: str) -> str:
    """The paragraph on a known bug."""
    return known_bugs()[name].explanation.spoken
