"""Which known bug computes the same as the student's code?

A test's wrong array is compared with the arrays that known bugs give in the same test. Parts are
looked at in order, so that a bug found in an early part is taken into account in the later ones,
and two bugs in two parts are told apart. Nothing is guessed: what no known bug reproduces in every
test of a part gets no name, and neither does a part whose wrong values may come from elsewhere:
from a part that it uses and whose failures nothing explains.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

Print = tuple[float, ...]

PASSED = "passed"
NO_ARRAY = "no array"  # an exception, a wrong shape or dtype
FLOAT32 = "float32"  # wrong, but two wrong float32 arrays differ by too much to be compared
NOT_COMPARED = "not compared"  # wrong in a test that draws its own examples, or a hidden one
UNREACHED = "unreached"  # a stub stands in the way
UNKNOWN = "unknown"
Seen = Print | str

# Part 4's loop calls part 5's function: a bug there shows in part 4 first.
CALLED_BY = {4: (5,)}

N_NUMBERS = 4
# Two correct computations of one array differ by 1e-12 at most; two bugs by 1e-3 and more.
SAME = 1e-10
# What the search for a pair may ask for, in tests of pairs. A clock would cut it at another place
# on each machine, and a pair that was not tried is what makes a wrong one look certain.
MOST_TRIED = 500


@dataclass(frozen=True)
class Observation:
    """What one test saw: PASSED, the print of a wrong array, or why there is none."""

    test: str
    part: int
    seen: Seen

    @property
    def is_failure(self) -> bool:
        """Whether the code under test did something wrong."""
        return self.seen not in (PASSED, UNREACHED)


@dataclass(frozen=True)
class Diagnosis:
    """One finding: in this part the code equals one of these known bugs, or sets of them.

    Attributes:
        alternatives: the sets of bugs that fit equally well; one, if the finding is certain; none,
            where one of the last two says what to do before a name can be given.
        n_tests: in how many tests the arrays are the same.
        error: the largest difference, relative to the arrays' size.
        mend_first: parts that this one uses and whose failures no known bug explains.
        not_run: which of this part and those that it uses were not run whole.
    """

    part: int
    alternatives: tuple[tuple[str, ...], ...] = ()
    n_tests: int = 0
    error: float = 0.0
    mend_first: tuple[int, ...] = ()
    not_run: tuple[int, ...] = ()


class Seeing(Protocol):
    """What tests see of known bugs."""

    def seen(self, test: str, bugs: tuple[str, ...]) -> Seen:
        """What a test sees of a solution with these bugs; UNKNOWN where that was not computed."""


class Signatures(Seeing, Protocol):
    """What known bugs do in the tests, and what the tests are about."""

    def bugs_of(self, part: int) -> tuple[str, ...]:
        """Names of the known bugs of a part."""

    def reaches(self, test: str) -> frozenset[int]:
        """The parts whose functions run in a test of the solution; none where that is unknown."""

    def tests_of(self, part: int) -> frozenset[str]:
        """All tests of a part whose arrays are compared."""


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
    observations: Iterable[Observation],
    signatures: Signatures,
    right_alone: Collection[str] = frozenset(),
) -> list[Diagnosis]:
    """A finding for each part with wrong arrays of which something can be said, in their order.

    Args:
        observations: of all tests that were run.
        right_alone: tests that passed once the other parts were right: what was wrong in them is
            no bug of their part.
    """
    run = _Run(tuple(observations), signatures, frozenset(right_alone))
    barred: dict[int, tuple[int, ...]] = {}
    while True:
        findings = run.names(barred)
        # A name that is taken back explains nothing any more, and others may fall with it.
        more = run.parts_to_mend(findings)
        if not any(f.alternatives and f.part in more for f in findings):
            break
        barred |= more
    waiting = [Diagnosis(part, mend_first=first) for part, first in more.items()]
    rest = [finding for finding in findings if finding.part not in more]
    return sorted(rest + waiting, key=lambda finding: finding.part)


@dataclass(frozen=True)
class _Run:
    """All that is known of a run of the tests."""

    observations: tuple[Observation, ...]
    signatures: Signatures
    right_alone: frozenset[str]

    def names(self, barred: Collection[int]) -> list[Diagnosis]:
        """A finding for each part whose failures a known bug explains."""
        found: tuple[str, ...] = ()
        findings = []
        for part in self.parts:
            compared = self.compared(part)
            if part in barred or not any(isinstance(o.seen, tuple) for o in compared):
                continue
            if found and _explains(compared, found, self.signatures) is not None:
                continue  # follows from what was found before
            if not self.is_whole(part):
                findings.append(Diagnosis(part, not_run=(part,)))
                continue
            sets = _explanations(compared, found, self.candidates(part), self.signatures)
            if not sets:
                continue
            sets = _narrowed(sets, self.observations, part, found, self.signatures)
            n_tests = sum(isinstance(o.seen, tuple) for o in compared)
            errors = (_explains(compared, found + bugs, self.signatures) for bugs in sets)
            error = max(e for e in errors if e is not None)  # each of them explains it
            not_run = tuple(p for p in sorted(self.uses(part)) if not self.is_whole(p))
            findings.append(Diagnosis(part, tuple(sets), n_tests, error, not_run=not_run))
            found += sets[0]
        return findings

    def parts_to_mend(self, findings: list[Diagnosis]) -> dict[int, tuple[int, ...]]:
        """For each wrong part that uses parts with unexplained failures, the first of those."""
        found = tuple(name for f in findings if f.alternatives for name in f.alternatives[0])
        unexplained = {part: self.unexplained(part, found) for part in self.parts}
        named = {finding.part for finding in findings}
        first = {}
        for part in self.parts:
            used = {
                other
                for other in self.uses(part)
                if any(
                    part not in self.signatures.reaches(failure.test)
                    for failure in unexplained.get(other, ())
                )
            }
            wrong = any(isinstance(o.seen, tuple) for o in self.compared(part))
            if wrong and used and (part in named or unexplained[part]):
                first[part] = tuple(sorted(self.first_of(used)))
        return first

    def unexplained(self, part: int, found: tuple[str, ...]) -> list[Observation]:
        """The failures of a part; none where what is compared there follows from bugs found."""
        failures = [
            o for o in self.of_part(part) if o.is_failure and o.test not in self.right_alone
        ]
        compared = self.compared(part)
        if any(o in compared for o in failures):
            return [] if _explains(compared, found, self.signatures) is not None else failures
        return failures

    def first_of(self, parts: Collection[int]) -> list[int]:
        """Those that use none of the others, except where both use each other."""
        return [
            part
            for part in parts
            if all(part in self.uses(other) for other in self.uses(part) & set(parts))
        ]

    def uses(self, part: int) -> set[int]:
        """The other parts that a part's tests reach: what is wrong there shows here too."""
        tests = self.signatures.tests_of(part) | {o.test for o in self.of_part(part)}
        return {p for test in tests for p in self.signatures.reaches(test)} - {part}

    def candidates(self, part: int) -> list[str]:
        """Known bugs that the part may have: they do nothing in tests that are right alone."""
        names = [
            (name, owner)
            for owner in (part, *CALLED_BY.get(part, ()))
            for name in self.signatures.bugs_of(owner)
        ]
        return [
            name
            for name, owner in names
            if all(
                self.signatures.seen(o.test, (name,)) == PASSED
                for o in self.compared(owner)
                if o.test in self.right_alone
            )
        ]

    def is_whole(self, part: int) -> bool:
        """Whether all tests of a part that are compared were run."""
        return self.signatures.tests_of(part) <= {o.test for o in self.of_part(part)}

    @property
    def parts(self) -> list[int]:
        return sorted({o.part for o in self.observations})

    def of_part(self, part: int) -> list[Observation]:
        return [o for o in self.observations if o.part == part]

    def compared(self, part: int) -> list[Observation]:
        return _compared(self.of_part(part), self.signatures)


def with_exact_errors(
    findings: list[Diagnosis], observations: list[Observation], signatures: Signatures
) -> list[Diagnosis]:
    """The same findings, their errors measured against these signatures."""
    exact: list[Diagnosis] = []
    found: tuple[str, ...] = ()
    for finding in findings:
        if not finding.alternatives:
            exact.append(finding)
            continue
        of_part = [o for o in observations if o.part == finding.part]
        found += finding.alternatives[0]
        error = _explains(_compared(of_part, signatures), found, signatures)
        exact.append(finding if error is None else replace(finding, error=error))
    return exact


def _explanations(
    of_part: list[Observation], found: tuple[str, ...], names: list[str], signatures: Signatures
) -> list[tuple[str, ...]]:
    """Single bugs that explain all failures of the part; if none does, pairs.

    None at all where there are too many pairs to try: one that was not tried might fit as well.
    """
    single: list[tuple[str, ...]]
    single = [(n,) for n in names if _explains(of_part, (*found, n), signatures) is not None]
    if single:
        return single
    # Of a pair, each bug alone must already fail a test that fails, and no test that passes.
    able = [n for n in names if _could_take_part(of_part, (*found, n), signatures)]
    counted = _Counted(signatures)
    pairs: list[tuple[str, ...]] = []
    for pair in itertools.combinations(able, 2):
        if counted.asked > MOST_TRIED:
            return []
        if _explains(of_part, found + pair, counted) is not None:
            pairs.append(pair)
    return pairs


def _compared(observations: Iterable[Observation], signatures: Signatures) -> list[Observation]:
    """The observations of tests in which it is known what the known bugs do."""
    return [
        o
        for o in observations
        if o.seen not in (NOT_COMPARED, UNREACHED) and o.test in signatures.tests_of(o.part)
    ]


class _Counted:
    """Signatures, and how often they were asked."""

    def __init__(self, signatures: Signatures) -> None:
        self._signatures = signatures
        self.asked = 0

    def seen(self, test: str, bugs: tuple[str, ...]) -> Seen:
        self.asked += 1
        return self._signatures.seen(test, bugs)


def _explains(
    of_part: list[Observation], bugs: tuple[str, ...], signatures: Seeing
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
    observations: Iterable[Observation],
    part: int,
    found: tuple[str, ...],
    signatures: Signatures,
) -> list[tuple[str, ...]]:
    """Of several that fit, those that fit the later parts too, as far as any of them does."""
    for later in sorted({o.part for o in observations if o.part > part}):
        of_part = _compared([o for o in observations if o.part == later], signatures)
        fitting = [b for b in sets if _explains(of_part, found + b, signatures) is not None]
        sets = fitting or sets
    return sets
