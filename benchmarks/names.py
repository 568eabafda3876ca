"""No false names: unknown bugs in one part, and whether another part is named for them.

    python -m benchmarks.names [COUNT]

Every known bug of parts 1, 2, 3 and 5 is made unknown in two ways: what its function returns is
moved a little, or only every other entry of it is wrong. Each of these is put into the solution
alone, with a known bug of a part that uses this one, and then mended. The tests run in this
process, as at home (with the bundle's signatures) and as graded (with a second run on trusted
versions of the other parts). COUNT draws so many; without it all are tried.
"""

from __future__ import annotations

import itertools
import random
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from assignment.harness.diagnosis import (
    NOT_COMPARED,
    PASSED,
    Diagnosis,
    Observation,
    Seen,
    Signatures,
    diagnose,
)
from assignment.harness.known_bugs import StoredSignatures
from assignment.harness.parts import PART_BY_NUMBER, PARTS
from assignment.harness.points import grading_of
from grader.diagnosis.lookup import LiveSignatures, is_comparable, replay, test_name
from grader.grading.suite import Suite, collect_all
from grader.known_bugs import Bug, all_bugs, bug_named, make_variant
from grader.known_bugs.patch import WHOLE_MODULE, Change

EARLY_PARTS = (1, 2, 3, 5)
REQUIRED = tuple(part.number for part in PARTS)  # the extra part is graded in runs of its own

# What is put around a function of a bug, in its module.
_WAYS = {
    "moved": """
def _perturbed(function):
    def moved(*args, **kwargs):
        result = function(*args, **kwargs)
        if result.dtype == bool:
            return np.roll(result, 1, axis=-1)
        waves = np.cos(np.arange(result.size)).reshape(result.shape)
        return (result * (1 + 1e-3 * waves)).astype(result.dtype)

    return moved
""",
    "every other": """
def _perturbed(function):
    import importlib

    right = getattr(importlib.import_module("solution.MODULE"), function.__name__)

    def every_other(*args, **kwargs):
        result, expected = function(*args, **kwargs), right(*args, **kwargs)
        if result.shape != expected.shape:
            return result
        return np.where(np.arange(result.shape[-1]) % 2, result, expected).astype(result.dtype)

    return every_other
""",
}
WAYS = tuple(_WAYS)


def required_bugs() -> list[Bug]:
    """The known bugs of the parts that are graded together."""
    return [bug for bug in all_bugs() if bug.part in REQUIRED]


def perturbed(bug: Bug, way: str) -> Bug:
    """A bug that equals no known one: a known bug, changed in one of WAYS."""
    own = PART_BY_NUMBER[bug.part].functions
    wheres = {change.where for change in bug.change}
    functions = own if WHOLE_MODULE in wheres else sorted(wheres)
    wrapper = _WAYS[way].replace("MODULE", bug.module)
    imported = "import numpy as np\n"
    around = [Change(where=WHOLE_MODULE, old=imported, new=f"{imported}\n{wrapper}\n")]
    around += [
        Change(where=WHOLE_MODULE, old=f"def {name}(", new=f"@_perturbed\ndef {name}(")
        for name in functions
    ]
    name = f"{bug.name}, {way}"
    return bug.model_copy(update={"name": name, "change": (*bug.change, *around)})


@dataclass(frozen=True)
class Told:
    """What a run was told, and whether anything in it failed."""

    findings: tuple[Diagnosis, ...]
    failing_parts: frozenset[int]

    @property
    def names(self) -> set[str]:
        """The known bugs that it was said to equal, in any part."""
        return {name for found in self.findings for bugs in found.alternatives for name in bugs}


class Desk:
    """The tests on fixed cases, public and hidden, and what is told of a variant."""

    def __init__(self, suite: Suite) -> None:
        items, self.case_sets = collect_all(suite)
        self._items = {test_name(i): i for i in items if is_comparable(i)}
        self._compared = frozenset().union(*map(StoredSignatures().tests_of, REQUIRED))
        self._public = [self._items[test] for test in sorted(self._compared)]
        self._known = {(bug,) for bug in required_bugs()}
        # What known bugs do is the same for all that is asked here, and computed once.
        self._live = LiveSignatures(self._public, self.case_sets, StoredSignatures())

    def at_home(self, bugs: tuple[Bug, ...]) -> Told:
        """What `pytest assignment/` tells of the solution with these bugs."""
        seen = self._stored(*bugs) if bugs in self._known else self._seen(bugs, self._compared)
        return self._told(seen, StoredSignatures(), frozenset())

    def graded(self, bugs: tuple[Bug, ...]) -> Told:
        """What the grader tells of it."""
        seen = self._seen(bugs, self._items)
        lost = {test for test, result in seen.items() if result != PASSED}
        right_alone: set[str] = set()
        for part in {self._part_of(test) for test in lost}:
            of_part = {test for test in lost if self._part_of(test) == part}
            with_twins = of_part | {_twin(test) for test in of_part} & self._items.keys()
            own = tuple(bug for bug in bugs if bug.part == part)
            again = self._seen(own, with_twins)
            wrong = {test for test, result in again.items() if result != PASSED}
            right_alone |= {test for test in of_part if not {test, _twin(test)} & wrong}
        return self._told(seen, self._live, frozenset(right_alone))

    def _stored(self, bug: Bug) -> dict[str, Seen]:
        """What the tests see of a known bug: the bundle says so already."""
        return {test: StoredSignatures().seen(test, (bug.name,)) for test in self._compared}

    def _seen(self, bugs: tuple[Bug, ...], tests: Iterable[str]) -> dict[str, Seen]:
        variant, parts = make_variant(bugs), {bug.part for bug in bugs}
        return {
            test: replay(self._items[test], variant, self.case_sets)
            if self._may_show(test, parts)
            else PASSED
            for test in sorted(tests)
        }

    def _may_show(self, test: str, parts: set[int]) -> bool:
        reached = self._live.reaches(test)
        return bool(reached & parts) or not reached

    def _told(
        self, seen: dict[str, Seen], signatures: Signatures, right_alone: frozenset[str]
    ) -> Told:
        observations = [
            Observation(
                test,
                self._part_of(test),
                result if test in self._compared or result == PASSED else NOT_COMPARED,
            )
            for test, result in seen.items()
        ]
        failing = frozenset(o.part for o in observations if o.is_failure)
        return Told(tuple(diagnose(observations, signatures, right_alone)), failing)

    def _part_of(self, test: str) -> int:
        return grading_of(self._items[test]).part


def _twin(test: str) -> str:
    """The same test on the hidden case, or on the public one."""
    swapped = test.replace("[public", "[hidden")
    return swapped if swapped != test else test.replace("[hidden", "[public")


@dataclass(frozen=True)
class Trial:
    """An unknown bug, and a known one of a part that uses its part."""

    unknown: Bug
    later: Bug

    def problems(self, tell: Callable[[tuple[Bug, ...]], Told]) -> Iterator[str]:
        """What was told and should not have been, or was not and should; `tell` as Desk.at_home."""
        alone = tell((self.unknown,))
        if self.unknown.part not in alone.failing_parts:
            return  # the change made it right
        if any(bug_named(name).part == self.unknown.part for name in alone.names):
            return  # what is left of it is a known bug, or an exact pair of them
        yield from self._names_in("alone", alone)
        yield from self._names_in(f"with {self.later.name}", tell((self.unknown, self.later)))
        mended = tell((self.later,)).names
        if mended != {self.later.name}:
            yield f"{self.later.name}, the rest mended, was told as {mended or 'nothing'}"

    def _names_in(self, when: str, told: Told) -> Iterator[str]:
        if told.names:
            yield f"{self.unknown.name}, {when}, was told as {', '.join(sorted(told.names))}"


def trials() -> list[Trial]:
    """Every unknown bug, each with a later one that is drawn by its name."""
    found = []
    for bug in required_bugs():
        if bug.part not in EARLY_PARTS:
            continue
        users = [later for later in required_bugs() if bug.part in _uses(later.part) - {later.part}]
        users = [later for later in users if later.part > bug.part] or users
        for way in WAYS:
            later = random.Random(f"{bug.name} {way}").choice(users)
            found.append(Trial(perturbed(bug, way), later))
    return found


def _uses(part: int) -> set[int]:
    signatures = StoredSignatures()
    return {p for test in signatures.tests_of(part) for p in signatures.reaches(test)}


def main(arguments: list[str]) -> int:
    """Try all, or as many as are asked for; exit code 1 if any name is false."""
    tried = trials()
    if arguments:
        tried = random.Random(0).sample(tried, int(arguments[0]))
    n_problems = 0
    with TemporaryDirectory() as folder:
        suite = Suite.load(b"names" * 7, False, Path(folder))
        try:
            desk = Desk(suite)
            for where, tell in (("at home", desk.at_home), ("graded", desk.graded)):
                for problem in itertools.chain.from_iterable(t.problems(tell) for t in tried):
                    n_problems += 1
                    print(f"{where}: {problem}")
        finally:
            suite.close()
    print(f"{len(tried)} unknown bugs, at home and graded: {n_problems} false or missing names")
    return 1 if n_problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
