"""Which trusted parts make a failing test right: it is repeated, one part exchanged at a time.

One mistake in part 1 fails tests of parts 2, 4, 5 and 6, and a mistake that part 3's own tests miss
fails part 4's. So a failing test runs again in a worker in which functions of other parts are the
solution's. The submission can read those functions there, so such a run tells nothing but that a
test is right or not: an exception's type and line, which the submission chooses, could carry the
source of what it reads, some bits a test. What follows from a right one is in charges.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from assignment.harness.parts import PARTS
from grader.results.record import TestResult

from .exchange import Exchange, Parts, exchangeable_parts, files_of

# Calls that hang or die before a trusted run gives up: the first run has waited for them already.
MAX_STRIKES = 2

# (what is exchanged, ids of the tests to run, seconds it may take)
# -> ids of those that are right, seconds taken
RunAgain = Callable[[Exchange, set[str], float], tuple[set[str], float]]


@dataclass
class Helped:
    """What came of the repeats.

    Attributes:
        by: tests that are right with trusted versions of these parts, none of which can be left
            out.
        not_at_all: tests that fail also with all other parts trusted.
    """

    by: dict[str, Parts] = field(default_factory=dict)
    not_at_all: set[str] = field(default_factory=set)


def repeated(
    results: Sequence[TestResult],
    waits_for: Mapping[str, int],
    run_again: RunAgain,
    seconds: float,
) -> Helped:
    """The failing tests with other parts exchanged, as few times as tell what helps.

    First come, one at a time, the parts that are wrong for sure, then these together, then all at
    once. A test that this does not help is its own part's. Only then come all parts one at a time,
    first those that such tests show wrong, and where no single one suffices, all are left out one
    by one that can be.

    Args:
        results: of the student's own run, before any rule.
        waits_for: by test that passed and hangs on another part's: that part.
        run_again: runs tests of one part with functions exchanged.
        seconds: what all repeats together may take.
    """
    search = _Search([t for t in results if _is_lost(t) or t.id in waits_for], run_again, seconds)
    search.try_parts({test: frozenset({part}) for test, part in waits_for.items()})
    search.give_up(waits_for)
    guilty = _wrong_for_sure(results)
    for part in sorted(guilty):
        search.try_parts(search.open_with({part}))
    search.try_parts({test: guilty & parts for test, parts in search.open.items()})
    search.all_at_once()
    guilty |= {test.part for test in results if test.id in search.helped.not_at_all}
    for part in sorted(
        (part.number for part in PARTS), key=lambda part: (part not in guilty, part)
    ):
        search.try_parts(search.open_with({part}))
    search.leave_out()
    return search.helped


def _is_lost(test: TestResult) -> bool:
    """Whether a test fails and other parts might be the reason."""
    if test.state == "passed" or test.state == "not_started":
        return False
    failure = test.import_failure
    return (
        failure is None or failure.kind != "not_python" or failure.file not in files_of(test.part)
    )


def _wrong_for_sure(results: Sequence[TestResult]) -> Parts:
    """Parts of which a test fails that reaches no other part."""
    failing = (test for test in results if test.state != "passed")
    return frozenset(test.part for test in failing if not exchangeable_parts(test))


class _Search:
    """Tests that are open, each with the parts that may be exchanged for it, and what was found."""

    def __init__(self, tests: Sequence[TestResult], run_again: RunAgain, seconds: float) -> None:
        self._tests = {test.id: test for test in tests}
        self._run_again = run_again
        self._seconds = seconds
        self._tried: set[tuple[str, Parts]] = set()
        self.helped = Helped()
        self.open = {test.id: parts for test in tests if (parts := exchangeable_parts(test))}

    def open_with(self, parts: set[int]) -> dict[str, Parts]:
        """These parts, for each open test that may exchange them."""
        return {test: frozenset(parts) for test, may in self.open.items() if parts <= may}

    def try_parts(self, wanted: Mapping[str, Parts]) -> set[str]:
        """Repeat tests with their parts exchanged; those that are right are closed."""
        right = self._repeat(wanted)
        for test in right:
            self.helped.by[test] = wanted[test]
            self.open.pop(test, None)
        return right

    def give_up(self, tests: Mapping[str, object]) -> None:
        for test in tests:
            self.open.pop(test, None)

    def all_at_once(self) -> None:
        """Close what fails with all parts exchanged, and what one part alone is exchanged for."""
        before = dict(self.open)
        right = self._repeat(before)
        for test, parts in before.items():
            if test in right and len(parts) == 1:
                self.helped.by[test] = parts
            elif test not in right and (test, parts) in self._tried:
                self.helped.not_at_all.add(test)
            if test not in right or len(parts) == 1:
                del self.open[test]

    def leave_out(self) -> None:
        """Open tests are right with all parts: find those that are needed."""
        needed = dict(self.open)
        for part in sorted(part.number for part in PARTS):
            fewer = {t: parts - {part} for t, parts in needed.items() if part in parts}
            for test in self._repeat(fewer):
                needed[test] = fewer[test]
        self.helped.by |= needed

    def _repeat(self, wanted: Mapping[str, Parts]) -> set[str]:
        groups: dict[Exchange, set[str]] = {}
        for test, parts in wanted.items():
            if parts and (test, parts) not in self._tried:
                groups.setdefault(Exchange.of(self._tests[test], parts), set()).add(test)
        right: set[str] = set()
        for exchange, tests in groups.items():
            if self._seconds <= 0:
                break
            passed, spent = self._run_again(exchange, tests, self._seconds)
            self._seconds -= spent
            self._tried |= {(test, wanted[test]) for test in tests}
            right |= passed
        return right
