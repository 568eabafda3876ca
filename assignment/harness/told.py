"""Diagnoses in words."""

from __future__ import annotations

from collections.abc import Sequence

from .diagnosis import Diagnosis
from .known_bugs import known_bugs
from .outcome import Outcome
from .parts import SERVING_PART
from .words import tr, tr_n


def fact(diagnosis: Diagnosis) -> str:
    """The finding as a statement: what the code equals, in how many tests, and how closely.

    Or what is to be done before that can be said.
    """
    if diagnosis.mend_first:
        return mend_first((diagnosis.part,), diagnosis.mend_first)
    if diagnosis.part in diagnosis.not_run:
        return tr(
            "Part {part}: only all of its tests together tell whether a known bug computes the same"
            " (pytest assignment/ -k part{part}).",
            part=diagnosis.part,
        )
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
    if not_run := diagnosis.not_run:
        sentence = (
            tr_n(
                len(not_run),
                "If {parts}, which was not tested, is right: ",
                "If {parts}, which were not tested, are right: ",
                parts=_parts(not_run),
            )
            + sentence
        )
    return sentence + (tr(" (No test here tells these apart.)") if len(sets) > 1 else "")


def mend_first(parts: Sequence[int], first: Sequence[int]) -> str:
    """Why there is no name for these parts: others, that they use, come first."""
    return tr(
        "Mend {first} first: what is wrong in {parts} may come from there.",
        first=_parts(first),
        parts=_parts(parts),
    )


def no_match(part: int) -> str:
    """That no known bug explains the failures of a part."""
    return tr("Part {part}: no known bug computes the same.", part=part)


def held(waiting: Sequence[Outcome]) -> str:
    """What hangs on a failure."""
    return tr_n(
        len(waiting),
        "until this is right, 1 more test pays nothing ({points:g} points)",
        "until this is right, {n} more tests pay nothing ({points:g} points)",
        points=sum(o.grading.points for o in waiting),
    )


def next_step(needs: str) -> str:
    """The stub to write next, and where the handout speaks of it."""
    section = needs.split()[0]
    if section.startswith(f"{SERVING_PART.number}."):
        return tr("Next: {needs} (assignment/PART12.md §{section})", needs=needs, section=section)
    return tr("Next: {needs} (assignment/README.md §{section})", needs=needs, section=section)


def explanation(name: str) -> str:
    """The paragraph on a known bug."""
    return known_bugs()[name].explanation.spoken


def _parts(numbers: Sequence[int]) -> str:
    """`Part 3`, or `Part 1, Part 2 and Part 3`."""
    listed, *more = [tr("Part {part}", part=number) for number in numbers]
    for part in more[:-1]:
        listed = tr("{listed}, {part}", listed=listed, part=part)
    return tr("{listed} and {part}", listed=listed, part=more[-1]) if more else listed
