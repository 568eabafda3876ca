"""Proof of strength: every known bug is caught, and told by its name; correct code is not."""

from __future__ import annotations

import itertools
import json
import random
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from assignment.harness import diagnosis as core
from assignment.harness.diagnosis import NO_ARRAY, PASSED, Observation, diagnose, difference
from assignment.harness.hints import LEVELS, hint, part_hints
from assignment.harness.known_bugs import KNOWN_BUGS_FILE, StoredSignatures, known_bugs
from assignment.harness.outcome import Outcome
from assignment.harness.parts import PARTS, SERVING_PART
from assignment.harness.points import grading_of
from assignment.harness.student import NotStarted
from grader.base.places import HIDDEN_TESTS
from grader.diagnosis import lookup
from grader.diagnosis.lookup import LiveSignatures, diagnose_outcomes, replay, variant_with
from grader.grading import signatures
from grader.grading.suite import Suite, collect_all
from grader.known_bugs import Conflict, all_bugs
from grader.results.record import TestResult

# One worker computes what the tests see of all bugs, once.

ROOT = Path(__file__).parent.parent
NAMES = [bug.name for bug in all_bugs()]
# Part 11's answers have a list of mistakes of their own, see test_exercises.py.
WITH_BUGS = [*(part for part in PARTS if part.module != "exercises"), SERVING_PART]


class Bench:
    """The collected tests on fixed cases, public and hidden, and what they see of a variant.

    What a test sees of a variant is computed once, for all tests of this file.
    """

    def __init__(self, suite: Suite) -> None:
        items, self.case_sets = collect_all(suite)
        items += collect_all(replace(suite, part12=True))[0]
        self.all_public = [i for i in items if "[hidden" not in i.name]
        self.all_public = [i for i in self.all_public if i.path.parent != HIDDEN_TESTS]
        self.items = [item for item in items if lookup.is_comparable(item)]
        self.public = [i for i in self.items if i.callspec.params["oracle"] == "public"]
        self.hidden = [i for i in self.items if i.callspec.params["oracle"] == "hidden"]
        self.live = LiveSignatures(self.items, self.case_sets)

    def seen(self, item: pytest.Item, bugs: tuple[str, ...]) -> core.Seen:
        return self.live.seen(lookup.test_name(item), bugs)

    def observations(self, bugs: tuple[str, ...]) -> list[Observation]:
        return [
            Observation(lookup.test_name(item), grading_of(item).part, self.seen(item, bugs))
            for item in self.public
        ]

    def fails_some(self, items: list[pytest.Item], bugs: tuple[str, ...]) -> bool:
        return any(self.seen(item, bugs) != PASSED for item in items)


@pytest.fixture(scope="session")
def bench(tmp_path_factory) -> Bench:
    return Bench(Suite.load(b"k" * 32, False, tmp_path_factory.mktemp("suite")))


def named(findings: list[core.Diagnosis]) -> set[str]:
    """The bugs of the first alternative of each finding."""
    certain = [finding.alternatives[0] for finding in findings if finding.alternatives]
    return {name for names in certain for name in names}


def test_the_catalogue_is_large_and_covers_every_part():
    assert len(NAMES) == len(set(NAMES)) >= 45
    assert {bug.part for bug in all_bugs()} == {part.number for part in WITH_BUGS}
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert set(re.findall(r"(\d+) (?:we know|known bugs)", readme)) == {str(len(NAMES))}


def test_the_solution_passes_every_comparable_test(bench):
    assert not bench.fails_some(bench.items, ())


@pytest.mark.parametrize("name", NAMES)
def test_each_bug_fails_a_public_and_a_hidden_test(bench, name):
    assert bench.fails_some(bench.public, (name,))
    assert bench.fails_some(bench.hidden, (name,))


@pytest.mark.parametrize("name", NAMES)
def test_each_bug_is_diagnosed_as_itself(bench, name):
    """From the signatures in the bundle, as a student's own run does it."""
    findings = diagnose(bench.observations((name,)), StoredSignatures())
    assert [finding.alternatives for finding in findings] == [((name,),)]
    assert findings[0].error < 1e-11


def test_a_bug_is_left_out_only_where_it_changes_nothing(bench, monkeypatch):
    """Against every bug put in, whatever a test calls: single ones and pairs."""
    # Some pairs read memory that nobody wrote, and what lies there is another thing each time.
    monkeypatch.setattr(np, "empty", np.zeros)
    live = LiveSignatures(bench.items, bench.case_sets)
    rng = random.Random(13)
    for pair in some_pairs(20, seed=13):
        for bugs in (pair[:1], pair):
            for item in rng.sample(bench.items, 5):
                whole = replay(item, variant_with(bugs), bench.case_sets)
                seen = live.seen(lookup.test_name(item), bugs)
                assert difference(seen, whole) == 0, (item.name, bugs)


def some_pairs(count: int, seed: int, extra: bool = False) -> list[tuple[str, str]]:
    """Pairs of bugs drawn from those that one code can have; with `extra`, one is of part 12."""
    of_extra = {bug.name for bug in all_bugs() if bug.part == SERVING_PART.number}
    pairs = itertools.combinations(NAMES, 2)
    pairs = [pair for pair in pairs if extra == bool(of_extra & {*pair})]
    random.Random(seed).shuffle(pairs)
    return list(itertools.islice(filter(fit_together, pairs), count))


def fit_together(pair: tuple[str, str]) -> bool:
    try:
        return variant_with(pair) is not None
    except Conflict:
        return False


def test_pairs_are_told_as_the_pair_or_a_member_and_never_as_a_third(bench):
    exact = 0
    for pair in some_pairs(20, seed=60) + some_pairs(10, seed=12, extra=True):
        found = named(diagnose(bench.observations(pair), bench.live))
        assert found <= set(pair), f"{pair} was told as {found}"
        exact += found == set(pair)
    assert exact >= 27


def test_an_unknown_bug_gets_no_name(bench):
    """The logits of a known bug with one number moved equal those of no known bug."""
    moved = [
        o
        if isinstance(o.seen, str)
        else Observation(o.test, o.part, (o.seen[0] + 1e-6, *o.seen[1:]))
        for o in bench.observations(("position-zero",))
    ]
    assert diagnose(moved, StoredSignatures()) == []


@pytest.mark.parametrize("seen", [NO_ARRAY, core.FLOAT32])
def test_exceptions_and_wrong_shapes_get_no_name(bench, seen):
    failing = [
        o if o.seen == PASSED else Observation(o.test, o.part, seen)
        for o in bench.observations(("position-zero",))
    ]
    assert diagnose(failing, StoredSignatures()) == []


def test_a_bug_from_a_later_step_on_gets_no_name(bench):
    """Arrays that are a known bug's in all tests but one are not that bug."""
    observations = bench.observations(("append-forgotten-stale",))
    first = next(o for o in observations if isinstance(o.seen, tuple))
    other = Observation(first.test, first.part, PASSED)
    assert diagnose([other if o is first else o for o in observations], StoredSignatures()) == []


def test_prints_tell_multiples_and_places_apart():
    x = np.random.default_rng(0).standard_normal((3, 4))
    prints = [core.fingerprint(a) for a in (x, 2 * x, x[::-1], x.T.reshape(3, 4), x + 1e-6)]
    for i, one in enumerate(prints):
        for j, other in enumerate(prints):
            assert (difference(one, other) <= core.SAME) == (i == j)
    assert difference(core.fingerprint(x), core.fingerprint(x + 1e-14)) < core.SAME


def test_stored_signatures_are_what_the_catalogue_gives(bench, tmp_path):
    fresh = signatures.signature_table(bench.all_public, bench.case_sets, bench.live)
    assert [b["name"] for b in fresh["bugs"]] == NAMES
    assert signatures.stale(fresh) == []
    # And every way to be stale is seen.
    path = tmp_path / "known_bugs.json"
    assert signatures.stale(fresh, path) == ["names and texts of the bugs"]
    for change, words in [
        (lambda c: c["bugs"][0]["summary"].update(en="?"), "names and texts of the bugs"),
        (lambda c: c["reached"].popitem(), "the tests, and the parts that they reach"),
        (lambda c: c["signatures"].pop("test_part3_rope.py::test_rope[public-float64]"), "rope"),
        (lambda c: first_print(c).__setitem__(1, 7.0), " in test_"),
        (lambda c: next(iter(c["signatures"].values())).clear(), " in test_"),
    ]:
        content = json.loads(KNOWN_BUGS_FILE.read_text(encoding="utf-8"))
        change(content)
        path.write_text(json.dumps(content), encoding="utf-8")
        found = signatures.stale(fresh, path)
        assert found and words in found[0], found


def first_print(content: dict) -> list[float]:
    seen = [s for of_test in content["signatures"].values() for s in of_test.values()]
    return next(s for s in seen if isinstance(s, list))


def test_the_bundle_holds_no_code_of_the_catalogue():
    content = KNOWN_BUGS_FILE.read_text(encoding="utf-8")
    changes = [change for bug in all_bugs() for of in bug.changes.values() for change in of]
    lines = {line.strip() for c in changes for line in f"{c.old}\n{c.new}".splitlines()}
    assert len(lines) > len(NAMES)
    assert [line for line in lines if len(line) > 25 and line in content] == []


@pytest.mark.parametrize("bug", all_bugs(), ids=lambda bug: bug.name)
def test_each_entry_is_told_in_both_languages(bug):
    texts = [bug.summary, bug.explanation, *bug.hints]
    assert len(bug.hints) == LEVELS
    assert all(text.en.strip() and text.zh.strip() for text in texts)
    assert all(any("\u4e00" <= c <= "\u9fff" for c in text.zh) for text in texts)
    assert not any("\u4e00" <= c <= "\u9fff" for text in texts for c in text.en)
    assert len(bug.explanation.en) > 80
    assert bug.module in {module for part in WITH_BUGS for module in part.modules}


def test_pitfalls_of_the_seeds_are_cited():
    cites = " ".join(cite for bug in all_bugs() for cite in bug.cites)
    assert "L2 §5.3" in cites and "L2 §9" in cites and "D3 常见误区" in cites
    assert sum("#" in cite for bug in all_bugs() for cite in bug.cites) >= 20


@pytest.mark.parametrize("topic", ["rope", "4", "decode_step", "4.3", "position-zero", "l2_1"])
def test_hints_have_three_levels(topic):
    texts = [hint(f"{topic}:{level}") for level in range(1, LEVELS + 1)]
    assert len(set(texts)) == LEVELS
    assert all("hint" in text for text in texts)


def test_each_part_has_hints_in_both_languages():
    assert set(part_hints()) == {part.number for part in PARTS}
    assert all(len(texts) == LEVELS for texts in part_hints().values())
    assert all(t.en and t.zh for texts in part_hints().values() for t in texts)


def test_hints_give_no_line_of_the_solution_away():
    hints = [*part_hints().values(), *(bug.hints for bug in known_bugs().values())]
    told = " ".join(f"{text.en} {text.zh}" for texts in hints for text in texts)
    for module in {module for part in (*PARTS, SERVING_PART) for module in part.modules}:
        solution = (ROOT / "solution" / f"{module}.py").read_text(encoding="utf-8")
        lines = [line.strip() for line in solution.splitlines()]
        assert [line for line in lines if len(line) > 25 and line in told] == []


def test_an_unknown_topic_says_what_there_is():
    assert "There are hints on part1" in hint("zzz")
    assert "position-zero" in hint("position")


def test_a_hint_runs_no_test():
    command = [sys.executable, "-m", "pytest", "assignment/", "--hint", "rope:2"]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert result.returncode == 0
    assert "hint 2 of 3" in result.stdout and "Total" not in result.stdout


def test_hidden_tests_are_in_the_bench(bench):
    assert any(item.path.parent == HIDDEN_TESTS for item in bench.hidden)


def test_nothing_is_diagnosed_where_all_passes(bench):
    assert diagnose_outcomes([], bench.case_sets, []) == []


def test_what_waited_for_a_stub_and_passed_with_trusted_parts_is_not_compared(bench, monkeypatch):
    """Part 1 has a known bug, part 5 an unknown one, and its decodes wait for a stub of part 4."""

    def seen(item: pytest.Function) -> core.Seen:
        pooling = item.name == "test_mean_pool[public-float64]"
        return (0.5, 0.5, 0.5, 0.5) if pooling else bench.seen(item, ("scale-missing",))

    monkeypatch.setattr(
        lookup,
        "observation_of",
        lambda item, outcome: Observation(outcome.test, outcome.grading.part, seen(item)),
    )
    outcomes, results = [], []
    for item in bench.public:
        test, grading = lookup.test_name(item), grading_of(item)
        waits = test.startswith("test_part5_gqa.py::test_decode")
        own = "waiting" if waits else "passed" if seen(item) == PASSED else "failed"
        outcomes.append((item, Outcome(test, grading, own)))
        results.append(
            TestResult(
                id=test,
                part=grading.part,
                section=grading.section,
                title=grading.title,
                visibility="public",
                points=0,
                max_points=grading.points,
                state="passed" if waits else own,
                with_trusted_parts=waits,
            )
        )
    assert named(diagnose_outcomes(outcomes, bench.case_sets, results)) == {"scale-missing"}


class Stubbed:
    """The solution with one function that is not implemented."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._solution = variant_with(())

    def call(self, name: str, args: tuple, kwargs: dict):
        if name == self._name:
            raise NotImplementedError(f"{name} is a stub")
        return self._solution.call(name, args, kwargs)


@pytest.mark.parametrize("name", [name for part in WITH_BUGS for name in part.functions])
def test_each_stub_alone_is_reached_by_a_public_test(bench, name):
    def reaches_the_stub(item) -> bool:
        try:
            replay(item, Stubbed(name), bench.case_sets)
        except NotStarted as reached:
            return reached.function == name
        return False

    assert any(reaches_the_stub(item) for item in bench.public)
