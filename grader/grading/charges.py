"""What a test that trusted parts make right gives, and what it costs the parts it shows wrong.

Its points are given, and each part that had to be exchanged is charged once. Of all choices of
parts the one that leaves most points is taken, so that one more test right never lowers a total: a
part is exchanged only where that gives more than it costs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from grader.base.words import spoken
from grader.results.record import Charge, TestResult

from .exchange import Parts
from .rules import Gradings, held, with_needs, with_twin_rule
from .second_run import Helped

# Said in the run's language.
RIGHT = "right with trusted versions of the other parts"
WRONG = "fails also with trusted versions of the other parts"

# What a part is charged that others are right without: of its points, and at the least.
SHARE = 1 / 20
LEAST = 0.5
_DIGITS = 6  # sums of points are compared to these


def settled(results: Sequence[TestResult], gradings: Gradings, helped: Helped) -> list[TestResult]:
    """The tests of a submission with all rules applied.

    Args:
        results: of the student's own run, before any rule.
        gradings: the marks of these tests.
    """
    results = [_told_wrong(test) if test.id in helped.not_at_all else test for test in results]
    parts = sorted(frozenset[int]().union(*helped.by.values()))
    sets = [frozenset(s) for n in range(len(parts) + 1) for s in combinations(parts, n)]
    choices = (_Choice.of(results, gradings, helped.by, exchanged) for exchanged in sets)
    best = max(choices, key=lambda choice: choice.worth)
    return best.charged()


@dataclass(frozen=True)
class _Choice:
    """The tests if these parts may be exchanged, and what the parts are charged then.

    Attributes:
        worth: what choices are compared by: the points, then what is told.
    """

    tests: list[TestResult]
    charges: dict[int, float]
    worth: tuple[float, int, int]

    @classmethod
    def of(
        cls,
        results: Sequence[TestResult],
        gradings: Gradings,
        helped_by: Mapping[str, Parts],
        exchanged: Parts,
    ) -> _Choice:
        may = {test: parts for test, parts in helped_by.items() if parts <= exchanged}
        failing = {test.id for test in results if test.state != "passed"}
        trusted = {test: parts for test, parts in may.items() if test in failing}
        tests = with_twin_rule(_given(results, trusted))
        # What passed and hangs on a part that is exchanged is right with a trusted version of it.
        waiting = held(tests, gradings).items()
        trusted |= {t: may[t] for t, lacking in waiting if lacking.grading.part in may.get(t, ())}
        tests = with_needs(with_twin_rule(_given(results, trusted)), gradings)
        charges = _charges(tests, gradings)
        points = sum(test.points for test in tests) - sum(charges.values())
        idle = sum(_mends_nothing(part, results, gradings) for part in charges)
        n_given = sum(test.with_trusted_parts for test in tests)
        return cls(tests, charges, (round(points, _DIGITS), -idle, n_given))

    def charged(self) -> list[TestResult]:
        """The tests, those of the charged parts with less points."""
        tests = {test.id: test for test in self.tests}
        for part, left in self.charges.items():
            shown_by = min(_with(part, self.tests), key=_tells_best)
            for test in sorted(self.tests, key=_tells_best):
                taken = min(left, test.points) if test.part == part else 0.0
                if taken:
                    left = round(left - taken, _DIGITS)
                    tests[test.id] = _less(test, taken, shown_by)
        return list(tests.values())


def _charges(tests: Sequence[TestResult], gradings: Gradings) -> dict[int, float]:
    """What each part is charged that some test is right without."""
    exchanged = sorted({part for test in tests for part in test.trusted_parts})
    return {part: round(_charge(part, tests, gradings), _DIGITS) for part in exchanged}


def _charge(part: int, tests: Sequence[TestResult], gradings: Gradings) -> float:
    """A share of the part's points, and not less than what hangs on its own failing tests.

    A decode that does not use its cache earns nothing for the decodes of part 5, which hang on the
    tests that say so; a decode that is wrong altogether must not earn more.
    """
    own = [test for test in tests if test.part == part]
    failing = {test.function for test in own if test.state != "passed"}
    hanging = (t for t in _with(part, tests) if failing & {*gradings[t.id].needs})
    share = max(LEAST, SHARE * sum(test.max_points for test in own))
    stated = max(share, sum(test.points for test in hanging))
    return min(stated, sum(test.points for test in own))


def _mends_nothing(part: int, results: Sequence[TestResult], gradings: Gradings) -> bool:
    """Whether a part does without what its failing tests ask for, and is right otherwise.

    As a recompute does: its logits are right, and a trusted decode would mend nothing.
    """
    own = [test for test in results if test.part == part]
    failing = {test.function for test in own if test.state != "passed"}
    return any(test.state == "passed" and failing & {*gradings[test.id].needs} for test in own)


def _with(part: int, tests: Sequence[TestResult]) -> list[TestResult]:
    """The tests that are right with a trusted version of a part."""
    return [test for test in tests if part in test.trusted_parts]


def _tells_best(test: TestResult) -> tuple[bool, float, str]:
    """First what the student can see, and of that what weighs most."""
    return test.visibility == "hidden", -test.points, test.id


def _given(results: Sequence[TestResult], trusted: Mapping[str, Parts]) -> list[TestResult]:
    """The results, some of them right with trusted versions of these parts."""
    return [_right(test, trusted[test.id]) if test.id in trusted else test for test in results]


def _right(test: TestResult, parts: Parts) -> TestResult:
    """Of the run with trusted parts only the verdict."""
    return test.model_copy(
        update={
            "points": test.max_points,
            "state": "passed",
            "message": spoken(RIGHT),
            "where": "",
            "own_message": test.message,
            "with_trusted_parts": True,
            "trusted_parts": tuple(sorted(parts)),
        }
    )


def _told_wrong(test: TestResult) -> TestResult:
    message = "\n".join(filter(None, [test.message, spoken(WRONG)]))
    return test.model_copy(update={"message": message}) if test.state == "failed" else test


def _less(test: TestResult, points: float, shown_by: TestResult) -> TestResult:
    title = shown_by.model_dump(include={"title", "variant"})
    charge = Charge(
        points=points,
        test=shown_by.id,
        section=shown_by.section,
        **title if shown_by.visibility == "public" else {},
    )
    left = round(test.points - points, _DIGITS)
    return test.model_copy(update={"points": left, "charge": charge})
