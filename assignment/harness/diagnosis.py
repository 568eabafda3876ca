"""Which known bug computes the same as the student's code?

A test's wrong array is compared with the arrays that known bugs give in the same test. Parts are
looked at in order, so that a bug found in an early part is taken into account in the later ones,
and two bugs in two parts are told apart. Nothing is guessed: what no known bug reproduces in every
test of a part gets no name.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

Print = tuple[float, ...]

PASSED = "passed"
NO_ARRAY = "no array"  # an exception, a wrong shape or dtype
FLOAT32 = "float32"  # wrong, but two wrong float32 arrays differ by too much to be compared
UNKNOWN = "unknown"
Seen = Print | str

# Part 4's loop calls part 5's function: a bug there shows in part 4 first.
CALLED_BY = {4: (5,)}

N_NUMBERS = 4
# Two correct computations of one array differ by 1e-12 at most; two bugs by 1e-3 and more.
SAME = 1e-10


@dataclass(frozen=True)
class Observation:
    """What one test saw: PASSED, NO_ARRAY or the print of a wrong array."""

    test: str
    part: int
    seen: Seen


@dataclass(frozen=True)
class Diagnosis:
    """One finding: in this part the code equals one of these known bugs, or sets of them.

    Attributes:
        alternatives: the sets of bugs that fit equally well; one, if the finding is certain.
        n_tests: in how many tests the arrays are the same.
        error: the largest difference, relative to the arrays' size.
    """

    part: int
    alternatives: tuple[tuple[str, ...], ...]
    n_tests: int
    error: float


class Signatures(Protocol):
    """What known bugs do in the tests."""

    def bugs_of(self, part: int) -> tuple[str, ...]:
        """Names of the known bugs of a part."""

    def seen(self, test: str, bugs: tuple[str, ...]) -> Seen:
        """What a test sees of a solution with these bugs; UNKNOWN where that was not computed."""


def fingerprint(array: np.ndarray) -> Print:
    """A few numbers that tell arrays apart, and say nothing of how they were computed."""
    values = np.asarray(array, dtype=np.float64).ravel()
    values = np.nan_to_num(values, nan=2.7, posinf=5.1, neginf=-3.3)
    scale = max(1.0, values.size) ** 0.5
    places = np.arange(values.size)
    waves = (np.cos(np.sqrt(2 + k) * places + k) for k in range(N_NUMBERS))
    return tuple(float(values @ wave) / scale for wave in waves)


def print_of(got: np.ndarray | None) -> Seen:
    """The print of a failed test's array."""
    if got is None:
        return NO_ARRAY
    return FLOAT32 if got.dtype == np.float32 else fingerprint(got)


def difference(one: Seen, other: Seen) -> float:
    """0 for the same outcome, the largest difference of two prints, else infinity."""
    if isinstance(one, str) or isinstance(other, str):
        return 0.0 if one == other else float("inf")
    size = max(1.0, *map(abs, one), *map(abs, other))
    return max(abs(a - b) for a, b in zip(one, other, strict=True)) / size


def diagnose(
    observations: Iterable[Observation], signatures: Signatures, seconds: float = 1.0
) -> list[Diagnosis]:
    """A finding for each part whose failures a known bug explains, in the order of the parts."""
    observations = list(observations)
    deadline = time.monotonic() + seconds
    found: tuple[str, ...] = ()
    findings: list[Diagnosis] = []
    for part in sorted({o.part for o in observations}):
        of_part = [o for o in observations if o.part == part]
        if not any(isinstance(o.seen, tuple) for o in of_part):
            continue
        if found and _explains(of_part, found, signatures) is not None:
            continue  # follows from what was found before
        sets = _explanations(of_part, found, signatures, deadline)
        if not sets:
            continue
        sets = _narrowed(sets, observations, part, found, signatures)
        n_tests = sum(isinstance(o.seen, tuple) for o in of_part)
        errors = (_explains(of_part, found + bugs, signatures) for bugs in sets)
        error = max(error for error in errors if error is not None)  # each of them explains it
        findings.append(Diagnosis(part, tuple(sets), n_tests, error))
        found += sets[0]
    return findings


def with_exact_errors(
    findings: list[Diagnosis], observations: list[Observation], signatures: Signatures
) -> list[Diagnosis]:
    """The same findings, their errors measured against these signatures."""
    exact: list[Diagnosis] = []
    found: tuple[str, ...] = ()
    for finding in findings:
        of_part = [o for o in observations if o.part == finding.part]
        found += finding.alternatives[0]
        error = _explains(of_part, found, signatures)
        exact.append(finding if error is None else replace(finding, error=error))
    return exact


def _explanations(
    of_part: list[Observation], found: tuple[str, ...], signatures: Signatures, deadline: float
) -> list[tuple[str, ...]]:
    """Single bugs that explain all failures of the part; if none does, pairs."""
    part = of_part[0].part
    names = [n for p in (part, *CALLED_BY.get(part, ())) for n in signatures.bugs_of(p)]
    single: list[tuple[str, ...]] = [
        (n,) for n in names if _explains(of_part, (*found, n), signatures) is not None
    ]
    if single:
        return single
    # Of a pair, each bug alone must already fail a test that fails, and no test that passes.
    able = [n for n in names if _could_take_part(of_part, (*found, n), signatures)]
    pairs: list[tuple[str, ...]] = []
    for pair in itertools.combinations(able, 2):
        if time.monotonic() > deadline:
            break
        if _explains(of_part, found + pair, signatures) is not None:
            pairs.append(pair)
    return pairs


def _explains(
    of_part: list[Observation], bugs: tuple[str, ...], signatures: Signatures
) -> float | None:
    """The largest difference, or None where a test tells the bugs from the student's code."""
    largest = 0.0
    # Failures first: they tell most bugs apart at once.
    for o in sorted(of_part, key=lambda o: o.seen == PASSED):
        expected = signatures.seen(o.test, bugs)
        if expected == UNKNOWN:
            return None
        error = difference(o.seen, expected)
        if error > SAME:
            return None
        largest = max(largest, error)
    return largest


def _could_take_part(
    of_part: list[Observation], bugs: tuple[str, ...], signatures: Signatures
) -> bool:
    alone = {o.test: signatures.seen(o.test, bugs) for o in of_part}
    harmless = all(alone[o.test] == PASSED for o in of_part if o.seen == PASSED)
    return harmless and any(alone[o.test] != PASSED for o in of_part)


def _narrowed(
    sets: list[tuple[str, ...]],
    observations: list[Observation],
    part: int,
    found: tuple[str, ...],
    signatures: Signatures,
) -> list[tuple[str, ...]]:
    """Of several that fit, those that fit the later parts too, as far as any of them does."""
    for later in sorted({o.part for o in observations if o.part > part}):
        of_part = [o for o in observations if o.part == later]
        fitting = [b for b in sets if _explains(of_part, found + b, signatures) is not None]
        sets = fitting or sets
    return sets
