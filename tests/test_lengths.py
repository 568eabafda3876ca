"""Code that is right up to some length only loses points, wherever that length lies.

The wrong solutions are small edits, in wrong_lengths.toml; they run in this process.
"""

from __future__ import annotations

import random
import shutil
import sys
import tomllib
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import numpy as np
import pytest

from assignment.harness import draws
from assignment.harness.compare import TOLERANCE, Mismatch
from assignment.harness.plugin import Oracle
from assignment.harness.points import Grading, grading_of
from assignment.harness.student import LocalBackend, Student
from grader.diagnosis.lookup import test_name as name_of
from grader.grading.suite import Suite, collect_all

ROOT = Path(__file__).parent.parent
WRONG = tomllib.loads((ROOT / "tests" / "wrong_lengths.toml").read_text(encoding="utf-8"))
SHORTEST, LONGEST = 32, 250
LAST_PART = 6
_numbers = count()


class Bench:
    """The graded tests of parts 1 to 6, public and hidden, and what a wrong solution loses."""

    def __init__(self, suite: Suite) -> None:
        self.suite = suite
        items, self.case_sets = collect_all(suite)
        # Properties draw small examples: they are no help here, and cost the most.
        self.items = [
            item
            for item in items
            if (of := grading_of(item)) and of.part <= LAST_PART and not is_property(item)
        ]

    def failures(
        self, backend: LocalBackend, part: int | None = None
    ) -> Iterator[tuple[pytest.Item, Grading, Exception]]:
        """The tests that fail, one after another."""
        for item in self.items:
            grading = grading_of(item)
            if part in (None, grading.part) and (error := self._error(item, backend)):
                yield item, grading, error

    def _error(self, item: pytest.Item, backend: LocalBackend) -> Exception | None:
        parameters = dict(item.callspec.params) if hasattr(item, "callspec") else {}
        if "oracle" in parameters:
            parameters["oracle"] = Oracle(self.case_sets[parameters["oracle"]])
        try:
            with (
                np.errstate(all="ignore"),
                draws.draws_of(item.obj, self.suite.seed_of(name_of(item))),
            ):
                item.obj(student=Student(backend), **parameters)
        except Exception as error:
            return error
        return None


def is_property(item: pytest.Item) -> bool:
    return hasattr(item.obj, "hypothesis") or "under_any_use" in item.name


@pytest.fixture(scope="module")
def bench(tmp_path_factory) -> Iterator[Bench]:
    suite = Suite.load(b"lengths", False, tmp_path_factory.mktemp("suite"))
    yield Bench(suite)
    suite.close()


@pytest.fixture
def wrong(tmp_path, monkeypatch):
    """Makes a wrong solution of an entry of the TOML file."""

    def make(entry: dict, n: int = 0) -> LocalBackend:
        package = f"wrong_lengths_{next(_numbers)}"
        shutil.copytree(ROOT / "solution", tmp_path / package, ignore=lambda *_: {"__pycache__"})
        path = tmp_path / package / f"{entry['module']}.py"
        text = path.read_text(encoding="utf-8")
        for which in ("", "2"):
            if f"find{which}" in entry:
                find, replace = entry[f"find{which}"], entry[f"replace{which}"]
                assert text.count(find) == 1, f"{find!r} stands {text.count(find)} times"
                text = text.replace(find, replace.replace("{n}", str(n)))
        text += entry.get("append", "").replace("{n}", str(n))
        path.write_text(text, encoding="utf-8")
        monkeypatch.syspath_prepend(str(tmp_path))
        return LocalBackend(package)

    yield make
    for name in [name for name in sys.modules if name.startswith("wrong_lengths_")]:
        del sys.modules[name]


def test_the_solution_fails_nothing(bench):
    assert [item.name for item, _, _ in bench.failures(LocalBackend("solution"))] == []


def test_each_place_has_faults_of_several_kinds():
    places = [entry["place"] for entry in WRONG["from"].values()]
    assert all(places.count(place) >= 3 for place in ("mask", "cache", "positions"))


def lengths(name: str) -> list[int]:
    """Both ends, and others that nobody chose."""
    drawn = random.Random(name).sample(range(SHORTEST + 1, LONGEST), 3)
    return [SHORTEST, LONGEST, *drawn]


@pytest.mark.parametrize("name", WRONG["from"])
def test_a_fault_from_a_length_on_loses_points_where_it_is(bench, wrong, name):
    entry = WRONG["from"][name]
    for n in lengths(name):
        lost = {"public": 0.0, "hidden": 0.0}
        clearly = False
        for item, grading, error in bench.failures(wrong(entry, n), entry["loses"]):
            visibility = "hidden" if "[hidden" in item.name else "public"
            lost[visibility] += grading.points
            clearly |= not isinstance(error, Mismatch) or is_clear(error)
        assert sum(lost.values()) >= 0.5, f"from {n} positions on"
        assert lost["public"], f"from {n} positions on nothing is seen at home"
        assert clearly, f"from {n} positions on the error is close to the tolerance"


def is_clear(error: Mismatch) -> bool:
    """A shape or an exact value, or an error that no rounding reaches."""
    return error.max_error is None or error.max_error > 1000 * TOLERANCE["float64"]


@pytest.mark.parametrize("name", WRONG["single"])
def test_a_wrong_solution_loses_points_where_it_is(bench, wrong, name):
    entry = WRONG["single"][name]
    failures = list(bench.failures(wrong(entry)))
    lost = sum(g.points for _, g, _ in failures if g.part == entry["loses"])
    assert lost >= 0.5
    # Parts behind it may need the part; those before it do not.
    assert min(g.part for _, g, _ in failures) == entry["loses"]
    if "only" in entry:
        assert {g.section for _, g, _ in failures} == {entry["only"]}


def test_a_fault_of_the_cache_is_told_with_the_length(bench, wrong):
    entry = WRONG["from"]["cache-trims-its-front"]
    told = {item.obj.__name__: str(error) for item, _, error in bench.failures(wrong(entry, 64), 4)}
    assert "keys from append, in layer 0 after " in told["test_cache_of_many_positions"]


@pytest.mark.parametrize("secret", [b"one", b"two", b"three"])
def test_angles_in_float32_are_far_from_the_tolerance(wrong, tmp_path, secret):
    """The error grows with the position: it must not hang on what is drawn."""
    from grader.authoring.cases import BUILDERS
    from grader.authoring.cases.draw import Draw

    case = BUILDERS["rope/far_float32"](Draw(int.from_bytes(secret, "big"), "rope/far_float32"))
    entry = WRONG["single"]["rope-angles-in-float32"]
    got, _ = wrong(entry).call("apply_rope", (case["x"], case["positions"], case["theta"]), {})
    scale = max(1, np.abs(case["expected"]).max())
    assert np.abs(got - case["expected"]).max() / scale > 8 * TOLERANCE["float32"]
