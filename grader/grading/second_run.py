"""Errors are not carried forward: a part is tried again with trusted versions of all other parts.

One mistake in part 1 fails tests of parts 2, 4, 5 and 6. Where a part lost points and another part
is wrong or unfinished too, its lost tests run once more in a worker in which every function of the
other parts is the solution's. The submission can read those functions there, so such a run tells
nothing but that a test is right or not: an exception's type and line, which the submission
chooses, could carry the source of what it reads, some bits a test.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from functools import cache

from assignment.harness.parts import GIVEN_FUNCTIONS, PART_BY_NUMBER, STUDENT_MODULES
from grader.base.places import SOLUTION
from grader.base.words import spoken
from grader.results.record import TestResult
from grader.sandbox.channel import TrustedParts

# Said in the run's language.
RIGHT = "right with trusted versions of the other parts"
WRONG = "fails also with trusted versions of the other parts"

# Calls that hang or die before a trusted run gives up: the first run has waited for them already.
MAX_STRIKES = 2

# Trusted modules that a part has no use for and that could answer for it: around the latent cache
# a KVCache is a few lines of reshaping.
NO_HELP: dict[int, tuple[str, ...]] = {4: ("mla",)}

# (part, ids of the tests to run, seconds it may take) -> results, seconds taken
RunAgain = Callable[[int, set[str], float], tuple[list[TestResult], float]]


def with_trusted_parts(
    results: list[TestResult], run_again: RunAgain, seconds: float
) -> list[TestResult]:
    """The better of two runs for each test: the student's own, and one with trusted other parts.

    Args:
        results: of the student's own run.
        run_again: runs tests of one part; the twin rule is already applied to its results.
        seconds: what all second runs together may take.
    """
    # Later parts first: once they are right by themselves, they are no reason to try earlier ones.
    for part in sorted(PART_BY_NUMBER, reverse=True):
        wanted = ids_to_repeat(results, part)
        if wanted and seconds > 0:
            again, spent = run_again(part, wanted, seconds)
            seconds -= spent
            results = _better_of(results, again)
    return results


def ids_to_repeat(results: Sequence[TestResult], part: int) -> set[str]:
    """Ids of the tests of a part that trusted other parts can help, and of their twins."""
    lost = [test for test in results if test.points < test.max_points]
    of_part = [test for test in lost if test.part == part]
    other_parts_are_right = len(of_part) == len(lost)
    if other_parts_are_right or all(_is_its_own_fault(test) for test in of_part):
        return set()
    twins = {test.twin_key for test in of_part}
    return {test.id for test in results if test.twin_key in twins}


def _is_its_own_fault(test: TestResult) -> bool:
    """Where a stub or a file that is not Python stands in the way, other parts do not matter."""
    failure = test.import_failure
    file = f"{PART_BY_NUMBER[test.part].module}.py"
    is_no_python = failure is not None and failure.kind == "not_python" and failure.file == file
    return test.state == "not_started" or is_no_python


def _better_of(results: list[TestResult], again: list[TestResult]) -> list[TestResult]:
    second = {test.id: test for test in again}
    return [
        _better(test, second[test.id])
        if test.id in second and test.points < test.max_points
        else test
        for test in results
    ]


def _better(own: TestResult, again: TestResult) -> TestResult:
    """The student's own result, or its points from the second run; of that only the verdict."""
    if again.state == "passed":
        return own.model_copy(
            update={
                "points": own.max_points,
                "state": "passed",
                "message": spoken(RIGHT),
                "where": "",
                "own_message": own.message,
                "with_trusted_parts": True,
            }
        )
    if again.state != "failed" or own.state != "failed":
        return own
    message = "\n".join(filter(None, [own.message, spoken(WRONG)]))
    return own.model_copy(update={"message": message})


@cache
def trusted_parts(part: int) -> TrustedParts:
    """The solution without the functions of one part.

    They are left out, not only unused: the part's own answer must not lie beside the question.
    """
    own = PART_BY_NUMBER[part].functions
    left_out = NO_HELP.get(part, ())
    sources = {m: _without(own, m) for m in STUDENT_MODULES if m not in left_out}
    sources["transformer"] = (SOLUTION / "transformer.py").read_text(encoding="utf-8")
    return TrustedParts(sources, (*own, *GIVEN_FUNCTIONS))


def _without(own: tuple[str, ...], module: str) -> str:
    """A module of the solution with None in place of each function that is `own`."""
    functions = {f for p in PART_BY_NUMBER.values() if p.module == module for f in p.functions}
    left_out = functions & set(own)
    placeholders = "".join(f"{name} = None\n" for name in sorted(left_out))
    if left_out == functions:
        return placeholders
    tree = ast.parse((SOLUTION / f"{module}.py").read_text(encoding="utf-8"))
    tree.body = [node for node in tree.body if getattr(node, "name", None) not in left_out]
    return f"{ast.unparse(tree)}\n{placeholders}"
