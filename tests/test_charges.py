"""What is exchanged while tests are repeated, what that gives, and what it costs."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from itertools import combinations

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from assignment.harness.parts import PART_BY_NUMBER, STUDENT_MODULES
from assignment.harness.points import Grading, grading_of
from grader.grading import exchange, reach
from grader.grading.charges import settled
from grader.grading.exchange import (
    PART_OF,
    Exchange,
    exchangeable,
    exchangeable_parts,
    trusted_parts,
)
from grader.grading.result import result_of
from grader.grading.second_run import Helped, repeated
from grader.grading.submission import waiting
from grader.grading.suite import Suite
from grader.known_bugs import Conflict, all_bugs, bug_named, make_variant
from grader.results.record import ImportFailure, TestResult


@pytest.fixture(scope="module")
def bench(tmp_path_factory) -> Iterator[reach.Bench]:
    suite = Suite.load(b"charges", False, tmp_path_factory.mktemp("suite"))
    yield reach.Bench(suite)
    suite.close()


# --- what may be exchanged -----------------------------------------------------------------------


def test_what_may_be_exchanged_is_what_the_solution_reaches(bench):
    """With other cases than those it was traced with."""
    groups = {test: group["functions"] for group in reach.traced(bench) for test in group["tests"]}
    assert groups == {test: sorted_names(names) for test, names in exchange._stored().items()}


def sorted_names(names: frozenset[str]) -> list[str]:
    return [name for name in PART_OF if name in names]


def test_a_test_that_passes_without_its_part_exchanges_nothing(bench):
    item = next(i for i in bench.items if i.originalname == "test_multi_head_attention")
    alone = type("Bench", (), {"items": [item], "passes": staticmethod(lambda *_: True)})
    with pytest.raises(KeyError):  # of the real model's like: nothing was found
        reach.traced(alone)


@pytest.mark.parametrize("name", ["mla_absorbed", "KVCache"])
def test_what_could_answer_a_part_is_not_in_its_worker(name):
    """Nor is anything else that the solution does without."""
    blank = [t for t in blank_tests() if t.part in (1, 6)]
    assert not any(name in exchangeable(test) for test in blank)
    for test in blank:
        sources = trusted_parts(Exchange.of(test, exchangeable_parts(test))).sources
        assert not any(f"def {name}" in s or f"class {name}" in s for s in sources.values())


def test_a_worker_holds_the_functions_that_are_exchanged_and_no_others():
    for test in blank_tests():
        asked = Exchange.of(test, exchangeable_parts(test))
        given_ = trusted_parts(asked)
        bodies = [ast.parse(given_.sources[module]).body for module in STUDENT_MODULES]
        defined = {getattr(node, "name", None) for body in bodies for node in body}
        assert defined & PART_OF.keys() == asked.functions == set(given_.functions)
        assert not defined & set(PART_BY_NUMBER[test.part].functions)


@cache
def blank_tests() -> list[TestResult]:
    from grader.grading.suite import collect

    return collect(Suite(hidden_cases=None, real_model=None, hash=""))


# --- which parts help ----------------------------------------------------------------------------


def a_test(part: int, state: str = "failed", function: str = "test_it", **more) -> TestResult:
    return TestResult(
        id=more.pop("id", f"p{part}.py::{function}"),
        file=f"p{part}.py",
        function=function,
        part=part,
        section=f"{part}.1",
        title="it",
        visibility="public",
        points=2.0 if state == "passed" else 0.0,
        max_points=2.0,
        state=state,
        **more,
    )


REACHED = {"p4.py::test_it": frozenset({"softmax", "causal_mask", "apply_rope"})}


@pytest.fixture
def asked(monkeypatch):
    """Repeats of part 4's test, which passes where these parts are exchanged."""
    monkeypatch.setattr(exchange, "_stored", lambda: REACHED)

    def ask(needed: set[int], *tests: TestResult, seconds: float = 9.0):
        calls = []

        def run_again(what: Exchange, wanted: set[str], left: float):
            calls.append(what.parts)
            assert what.functions == {
                f for f in REACHED["p4.py::test_it"] if PART_OF[f] in what.parts
            }
            return (wanted if needed <= what.parts else set()), 4.0

        helped = repeated(tests, {}, run_again, seconds)
        return helped, calls

    return ask


def sets(*several: tuple[int, ...]) -> list[frozenset[int]]:
    return [frozenset(parts) for parts in several]


def test_a_part_that_is_wrong_for_sure_comes_first(asked):
    helped, calls = asked({3}, a_test(4), a_test(3))
    assert helped.by == {"p4.py::test_it": {3}}
    assert calls == sets((3,))


def test_a_part_whose_own_tests_miss_it_is_found(asked):
    helped, calls = asked({3}, a_test(4), seconds=99)
    assert helped.by == {"p4.py::test_it": {3}}
    assert calls == sets((1, 2, 3), (1,), (2,), (3,))


def test_two_that_are_needed_together_are_found_and_no_third(asked):
    helped, _ = asked({1, 3}, a_test(4), seconds=99)
    assert helped.by == {"p4.py::test_it": {1, 3}}
    helped, calls = asked({1, 3}, a_test(4), a_test(3), a_test(1), seconds=99)
    assert helped.by == {"p4.py::test_it": {1, 3}}
    assert calls == sets((1,), (3,), (1, 3))


def test_what_no_part_helps_is_repeated_once(asked):
    helped, calls = asked({9}, a_test(4))
    assert (helped.by, helped.not_at_all) == ({}, {"p4.py::test_it"})
    assert calls == sets((1, 2, 3))


def test_the_time_is_shared(asked):
    helped, calls = asked({3}, a_test(4), seconds=7.0)
    assert calls == sets((1, 2, 3), (1,))
    assert helped.by == {"p4.py::test_it": {1, 2, 3}}


NO_PYTHON = ImportFailure(kind="not_python", module="gqa", file="gqa.py", line=3, problem="it is")


@pytest.mark.parametrize(
    ("test", "tried"),
    [
        (a_test(4, "passed"), []),
        (a_test(4, "not_started"), []),
        (a_test(5, import_failure=NO_PYTHON), []),
        (a_test(8, import_failure=NO_PYTHON), sets((5,))),
        (a_test(8), []),
    ],
)
def test_what_another_part_cannot_help_is_not_repeated(asked, monkeypatch, test, tried):
    monkeypatch.setitem(REACHED, "p4.py::test_it", frozenset())
    assert asked({5}, test)[1] == tried


# --- what that gives and costs -------------------------------------------------------------------

FUNCTIONS = {4: ("uses", "decode"), 5: ("grouped", "pool"), 1: ("softmax", "attend")}
NEEDS = {"decode": ("uses",), "grouped": ("uses",)}


def gradings_of(tests: list[TestResult]) -> dict[str, Grading]:
    return {t.id: Grading(t.section, 2.0, "it", needs=NEEDS.get(t.function, ())) for t in tests}


def total(passed: set[str], by: dict[str, frozenset[int]]) -> float:
    tests = [
        a_test(part, "passed" if name in passed else "failed", name, id=f"f::{name}")
        for part, names in FUNCTIONS.items()
        for name in names
    ]
    helped = Helped({f"f::{name}": parts for name, parts in by.items()})
    return sum(test.points for test in settled(tests, gradings_of(tests), helped))


names = st.sampled_from([name for of_part in FUNCTIONS.values() for name in of_part])
helping = st.sets(st.sampled_from([1, 4, 5]), min_size=1, max_size=2).map(frozenset)


@given(st.sets(names), st.dictionaries(names, helping), names)
def test_one_more_test_right_never_lowers_the_total(passed, by, name):
    assert total(passed | {name}, by) >= total(passed, by)


@given(st.sets(names), st.dictionaries(names, helping), names, helping)
def test_one_more_test_that_a_part_helps_never_lowers_the_total(passed, by, name, parts):
    if name not in by:
        assert total(passed, by | {name: parts}) >= total(passed, by)


def test_a_part_is_exchanged_only_where_that_gives_more_than_it_costs():
    all_right = {name for of_part in FUNCTIONS.values() for name in of_part}
    assert total(all_right, {}) == 12
    assert total(all_right - {"pool"}, {"pool": frozenset({1})}) == 11.5
    assert total(set(), {"pool": frozenset({1})}) == 2  # a part without points is charged none


# --- drawn bugs ----------------------------------------------------------------------------------


class Graded:
    """Grades solutions with known bugs in this process: exchanged parts are those without them."""

    def __init__(self, bench: reach.Bench) -> None:
        self.bench = bench
        self.items = {t.id: i for i in bench.items if (t := result_of(i, None)).part <= 6}
        self.gradings = {test: grading_of(item) for test, item in self.items.items()}
        self._passes: dict[tuple, bool] = {}

    def passes(self, test: str, bugs: frozenset[str]) -> bool:
        if (test, bugs) not in self._passes:
            variant = variant_of(bugs)
            self._passes[test, bugs] = self.bench.passes(self.items[test], variant)
        return self._passes[test, bugs]

    def right(self, bugs: frozenset[str]) -> set[str]:
        return {test for test in self.items if self.passes(test, bugs)}

    def __call__(self, bugs: frozenset[str], reverse: bool = False) -> list[TestResult]:
        blank = [result_of(item, None) for item in self.items.values()]
        tests = [
            test.model_copy(update={"state": "passed", "points": test.max_points})
            if self.passes(test.id, bugs)
            else test.model_copy(update={"state": "failed"})
            for test in blank
        ]

        def run_again(what: Exchange, wanted: set[str], seconds: float):
            left = frozenset(b for b in bugs if bug_named(b).part not in what.parts)
            return {test for test in wanted if self.passes(test, left)}, 0.0

        tests = tests[::-1] if reverse else tests
        helped = repeated(tests, waiting(tests, self.gradings), run_again, 1.0)
        return settled(tests, self.gradings, helped)


@cache
def variant_of(bugs: frozenset[str]):
    return make_variant(bug_named(name) for name in sorted(bugs))


@pytest.fixture(scope="module")
def graded(bench) -> Graded:
    return Graded(bench)


some_bugs = st.sets(
    st.sampled_from([bug.name for bug in all_bugs() if bug.part <= 6]), min_size=1, max_size=3
)


@given(bugs=some_bugs)
@settings(max_examples=4, deadline=None, database=None, phases=[Phase.generate])
def test_mending_a_bug_never_lowers_the_total(graded, bugs):
    try:
        variant_of(frozenset(bugs))
    except Conflict:
        return
    worst = graded(frozenset(bugs))
    again = graded(frozenset(bugs), reverse=True)[::-1]
    assert [(t.points, t.charge) for t in again] == [(t.points, t.charge) for t in worst]
    check_charges(worst)
    for fewer in map(frozenset, combinations(sorted(bugs), len(bugs) - 1)):
        # Two mistakes can make a test right by luck that fails with one of them.
        if graded.right(frozenset(bugs)) <= graded.right(fewer):
            assert sum_of(graded(fewer)) >= sum_of(worst)


def sum_of(tests: list[TestResult]) -> float:
    return round(sum(test.points for test in tests), 6)


def check_charges(tests: list[TestResult]) -> None:
    for part in {part for test in tests for part in test.trusted_parts}:
        own = [test for test in tests if test.part == part]
        charged = sum(test.charge.points for test in own if test.charge)
        assert charged >= 0.5 or not sum_of(own)
