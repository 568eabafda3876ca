"""What there is to say of a run: points, states, named bugs, and which failures to read first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from .diagnosis import NOT_COMPARED, UNREACHED, Diagnosis, Observation, Seen, diagnose, print_of
from .known_bugs import StoredSignatures
from .outcome import FAILED, NOT_STARTED, PASSED, WAITING, Outcome
from .points import Ran, hanging
from .words import tr


@dataclass(frozen=True)
class Summary:
    """The outcomes of a run, in the order of the tests; `whole`: none was left out."""

    outcomes: Sequence[Outcome]
    whole: bool = True

    @property
    def parts(self) -> list[int]:
        """The numbers of the parts of which a test ran."""
        return list(dict.fromkeys(o.grading.part for o in self.outcomes))

    def of_part(self, number: int) -> list[Outcome]:
        """A part's outcomes."""
        return [o for o in self.outcomes if o.grading.part == number]

    @cached_property
    def held(self) -> dict[str, Outcome]:
        """Tests that pay nothing until another is right, by id, and that other one."""
        by_id = {o.test: o for o in self.outcomes}
        ended = [o for o in self.outcomes if o.state in (PASSED, FAILED)]
        ran = [Ran(o.test, o.grading, o.state == PASSED) for o in ended]
        return {test: by_id[needed.test] for test, needed in hanging(ran).items()}

    def earned(self, outcomes: Sequence[Outcome] | None = None) -> float:
        """Points of these outcomes, or of all."""
        counted = self.outcomes if outcomes is None else outcomes
        return sum(o.points for o in counted if o.test not in self.held)

    @property
    def most(self) -> float:
        """Points of all tests that ran."""
        return sum(o.grading.points for o in self.outcomes)

    def state_of(self, number: int) -> str:
        """Where a part stands: "2 failed", "next: 4.2 prefill", "done"."""
        outcomes = self.of_part(number)
        done = all(o.state == PASSED for o in outcomes)
        state = tr("right so far") if done and not self.whole else _state_of_part(outcomes)
        waiting = [o for o in outcomes if o.state == PASSED and o.test in self.held]
        if not waiting:
            return state
        return state + tr(
            "; {points:g} points: 0 until {section} is right",
            points=sum(o.points for o in waiting),
            section=self.held[waiting[0].test].grading.section,
        )

    @cached_property
    def findings(self) -> list[Diagnosis]:
        """Which known bug computes the same, for each part of which that can be said."""
        signatures = StoredSignatures()
        return diagnose([_observation(o, signatures) for o in self.outcomes], signatures)

    @property
    def unexplained_part(self) -> int | None:
        """The first part with wrong arrays, where no known bug computes any of them."""
        signatures = StoredSignatures()
        named = [finding for finding in self.findings if not finding.mend_first]
        waiting = {finding.part for finding in self.findings if finding.mend_first}
        seen = [_observation(o, signatures) for o in self.outcomes]
        wrong = {o.part for o in seen if isinstance(o.seen, tuple)} - waiting
        return min(wrong) if wrong and not named else None

    @cached_property
    def failures(self) -> list[Outcome]:
        """Each fault once: one failure for each test and each message."""
        by_test = {o.test.partition("[")[0]: o for o in reversed(self.all_failures)}
        by_message = {o.message: o for o in by_test.values()}
        return [o for o in self.all_failures if by_message.get(o.message) is o]

    @cached_property
    def all_failures(self) -> list[Outcome]:
        """Those that do not hang on another one."""
        return [o for o in self.outcomes if o.state == FAILED and o.test not in self.held]

    @property
    def first_of_each_section(self) -> list[Outcome]:
        """A function's first failure tells the most; the next to read is another function's."""
        by_section = {o.grading.section: o for o in reversed(self.failures)}
        return [o for o in self.failures if by_section[o.grading.section] is o]

    def held_by(self, failure: Outcome) -> list[Outcome]:
        """Tests that pay nothing until this one is right."""
        return [o for o in self.outcomes if self.held.get(o.test) is failure]

    @property
    def remarks(self) -> dict[str, Outcome]:
        """What is to be said of right code, each once, and of which test."""
        found: dict[str, Outcome] = {}
        for outcome in self.outcomes:
            if outcome.state == PASSED and outcome.message:
                found.setdefault(outcome.message, outcome)
        return found

    @property
    def next_stub(self) -> str:
        """Section and name of the stub to write next; "" where a failure comes first."""
        todo = next((o for o in self.outcomes if o.state == NOT_STARTED), None)
        failed = any(o.state == FAILED for o in self.outcomes)
        return todo.needs if todo is not None and not failed else ""


def _observation(outcome: Outcome, signatures: StoredSignatures) -> Observation:
    test, part = outcome.test.rpartition("/")[2], outcome.grading.part
    return Observation(test, part, _seen(outcome, test in signatures.tests_of(part)))


def _seen(outcome: Outcome, is_compared: bool) -> Seen:
    if outcome.state == FAILED:
        return print_of(outcome.got) if is_compared else NOT_COMPARED
    return PASSED if outcome.state == PASSED else UNREACHED


def _state_of_part(outcomes: list[Outcome]) -> str:
    n_failed = sum(o.state == FAILED for o in outcomes)
    if n_failed:
        return tr("{n} failed", n=n_failed)
    for state in (NOT_STARTED, WAITING):
        first = next((o for o in outcomes if o.state == state), None)
        if first is None:
            continue
        if state == NOT_STARTED and not any(o.state == PASSED for o in outcomes):
            return tr("not started")
        if state == NOT_STARTED:
            return tr("next: {needs}", needs=first.needs)
        return tr("waiting for {needs}", needs=first.needs)
    return tr("done")
