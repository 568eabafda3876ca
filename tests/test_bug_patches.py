"""The catalogue as written: a patch that does not fit, or a slip in a file, is told by name."""

from __future__ import annotations

import random
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from assignment.harness import told
from assignment.harness.diagnosis import (
    NOT_COMPARED,
    PASSED,
    UNREACHED,
    Diagnosis,
    Observation,
    diagnose,
)
from assignment.harness.known_bugs import StoredSignatures
from benchmarks import told as benchmark
from benchmarks.names import EARLY_PARTS, WAYS, Desk, Trial, perturbed, trials
from grader.grading.suite import Suite
from grader.known_bugs import CatalogueProblem, Conflict, PatchProblem, all_bugs, bug_named
from grader.known_bugs.catalogue import read_part
from grader.known_bugs.patch import (
    WHOLE_MODULE,
    Change,
    apply_change,
    apply_changes,
    patched_modules,
)
from grader.known_bugs.variant import SOLUTION, make_variant

SOURCE = """\
# Kept as it is.
def double(x):
    y = x + x  # twice
    return y


class Pair:
    def first(self):
        return self.a
"""

PART = """
part = 4
[[base]]
name = "right"
change = [{ in = "decode_step", old = "prefill(", new = "(prefill)(" }]
[[bug]]
name = "some-bug"
base = "right"
change = [{ in = "prefill", old = "np.arange(start, start + length)", new = "np.arange(length)" }]
summary = { en = "a", zh = "b" }
explanation = { en = "a", zh = "b" }
hints = [{ en = "a", zh = "b" }, { en = "a", zh = "b" }, { en = "a", zh = "b" }]
"""


def change(where: str, old: str, new: str) -> Change:
    return Change(where=where, old=old, new=new)


def test_a_change_leaves_all_else_as_it_is():
    changed = apply_change(SOURCE, change("double", "x + x", "x * x"))
    assert changed == SOURCE.replace("x + x", "x * x")
    assert apply_change(SOURCE, change("Pair.first", "a", "b")) != SOURCE
    assert apply_change(SOURCE, change("Pair", "self.a", "self.b")).endswith("self.b\n")
    assert apply_change(SOURCE, change("module", "double", "twice")).startswith("# Kept")


def test_a_line_left_empty_goes():
    changed = apply_change(SOURCE, change("double", "y = x + x  # twice", ""))
    assert changed == SOURCE.replace("    y = x + x  # twice\n", "")
    changed = apply_change(SOURCE, change("double", "  # twice", ""))
    assert changed == SOURCE.replace("  # twice", "")


@pytest.mark.parametrize(
    "bad, told",
    [
        (change("double", "x - x", ""), r"once in double, is there nowhere: 'x - x'"),
        (change("Pair.first", "x + x", ""), "once in Pair.first, is there nowhere"),
        (change("double", "x", ""), "once in double, is there 3 times: 'x'"),
        (change("module", "elf", ""), "once in the module, is there 2 times: 'elf'"),
        (change("triple", "x", ""), "no function, class or method triple"),
        (change("Pair.second", "x", ""), "no function, class or method Pair.second"),
        (change("double", "x + x", "x +"), "after the change, the text is no Python"),
    ],
)
def test_a_change_that_does_not_fit_says_why(bad, told):
    with pytest.raises(PatchProblem, match=re.escape(told)):
        apply_changes(SOURCE, [bad])


def test_every_bug_fits_the_solution_and_changes_it():
    for bug in all_bugs():
        for module, text in patched_modules(bug, SOLUTION).items():
            assert text != (SOLUTION / f"{module}.py").read_text(encoding="utf-8"), bug.name


def test_a_bug_that_no_longer_fits_is_told_by_its_name_and_the_file(tmp_path):
    shutil.copytree(SOLUTION, tmp_path / "solution")
    path = tmp_path / "solution" / "kv_cache.py"
    path.write_text(path.read_text(encoding="utf-8").replace("start, start + length", "start, end"))
    with pytest.raises(PatchProblem, match=r"^position-zero does not fit solution/kv_cache\.py: "):
        patched_modules(bug_named("position-zero"), tmp_path / "solution")
    patched_modules(bug_named("oldest-dropped"), tmp_path / "solution")


def test_a_variant_names_the_bug_that_does_not_fit_even_beside_another():
    broken = bug_named("position-zero").model_copy(update={"change": (change("prefil", "x", ""),)})
    with pytest.raises(PatchProblem, match=r"^position-zero does not fit .* method prefil$"):
        make_variant([bug_named("scale-missing"), broken])


def test_two_bugs_of_one_place_are_a_conflict_and_of_one_base_are_not():
    with pytest.raises(Conflict, match="mask-inverted with mask-ignored"):
        make_variant([bug_named("mask-inverted"), bug_named("mask-ignored")])
    make_variant([bug_named("position-plus-one"), bug_named("oldest-dropped")])


def test_a_bug_is_a_change_and_seldom_code():
    """A reader sees the bug: what is put in is a line or a few; at most ten write more."""
    lines = {bug.name: sum(len(c.new.splitlines()) for c in bug.change) for bug in all_bugs()}
    assert len([name for name, n in lines.items() if n > 6]) <= 10, lines
    assert sum(n <= 2 for n in lines.values()) > len(lines) // 2


def test_a_part_as_it_should_be_is_read(tmp_path):
    (tmp_path / "part4.toml").write_text(PART, encoding="utf-8")
    (bug,) = read_part(tmp_path / "part4.toml")
    assert (bug.name, bug.part, bug.module) == ("some-bug", 4, "kv_cache")
    assert [c.where for c in bug.changes["kv_cache"]] == ["decode_step", "prefill"]


@pytest.mark.parametrize(
    "old, new, told",
    [
        ('base = "right"', 'base = "left"', "bug some-bug: there is no base 'left'.*but right"),
        ('base = "right"', 'bass = "right"', "bug some-bug: bass: Extra inputs"),
        ('base = "right"', "code = 'def f(): 1'", "bug some-bug: code: Extra inputs"),
        ('new = "np.arange(length)"', 'knew = ""', "bug some-bug: change.0.new: Field required"),
        ('in = "prefill", old = ', 'in = "prefill", odd = ', "change.0.old: Field required"),
        ('hints = [{ en = "a", zh = "b" }, ', "hints = [", "bug some-bug: hints.2: Field required"),
        ('summary = { en = "a", zh', 'summary = { en = "a", cn', "bug some-bug: summary.zh"),
        ('explanation = { en = "a"', 'explanation = { en = ""', "explanation.en: .* at least 1"),
        ("part = 4", "party = 4", "part: Field required"),
        ("[[bug]]", "[[bug]", "at line 6"),
        ('name = "some-bug"', "", "bug without a name: name: Field required"),
    ],
)
def test_a_slip_is_told_with_the_file_and_the_bug(tmp_path, old, new, told):
    assert PART.count(old) == 1
    path = tmp_path / "part4.toml"
    path.write_text(PART.replace(old, new), encoding="utf-8")
    with pytest.raises(CatalogueProblem, match=rf"^part4\.toml.*{told}"):
        read_part(path)


# ---- No false names: where wrong values may come from another part, no bug is named

ROOT = Path(__file__).parent.parent
TRIALS = trials()
# A fifth of them; `make names` tries all.
DRAWN = random.Random(15).sample(TRIALS, 20)
GRADED = DRAWN[:4]


@pytest.fixture(scope="module")
def desk(tmp_path_factory) -> Desk:
    return Desk(Suite.load(b"n" * 32, False, tmp_path_factory.mktemp("suite")))


def name_of(trial: Trial) -> str:
    return trial.unknown.name


def test_each_bug_of_an_early_part_is_tried_in_two_ways():
    early = [bug for bug in all_bugs() if bug.part in EARLY_PARTS]
    assert len(TRIALS) == len(early) * len(WAYS) == len(early) * 2
    assert {trial.unknown.part for trial in DRAWN} == set(EARLY_PARTS)


@pytest.mark.parametrize("trial", DRAWN, ids=name_of)
def test_an_unknown_bug_names_no_part_at_home(desk, trial):
    assert list(trial.problems(desk.at_home)) == []


@pytest.mark.parametrize("trial", GRADED, ids=name_of)
def test_an_unknown_bug_names_no_part_where_it_is_graded(desk, trial):
    assert list(trial.problems(desk.graded)) == []


def test_most_of_the_drawn_bugs_are_unknown(desk):
    """A bug that the change made right, or another known one, proves nothing."""
    unknown = [
        trial
        for trial in GRADED
        if trial.unknown.part in (told := desk.at_home((trial.unknown,))).failing_parts
        and not told.names
    ]
    assert len(unknown) >= 3


def observations(test_part: int, bugs: tuple[str, ...]) -> list[Observation]:
    """What all compared tests see of bugs, by the bundle's own numbers."""
    signatures = StoredSignatures()
    return [
        Observation(test, part, signatures.seen(test, bugs))
        for part in range(1, test_part + 1)
        for test in sorted(signatures.tests_of(part))
    ]


def test_a_failure_that_is_not_compared_holds_a_later_name_back():
    seen = observations(9, ("position-zero",))
    rope = "test_part3_rope.py::test_rope_keeps_lengths"
    assert named(diagnose([*seen, Observation(rope, 3, PASSED)], StoredSignatures()))
    findings = diagnose([*seen, Observation(rope, 3, NOT_COMPARED)], StoredSignatures())
    assert not named(findings)
    assert {f.mend_first for f in findings if f.part in (4, 5)} == {(3,)}
    # One that is right with trusted parts is none of part 3's.
    findings = diagnose(
        [*seen, Observation(rope, 3, NOT_COMPARED)], StoredSignatures(), right_alone={rope}
    )
    assert named(findings) == {"position-zero"}


def test_a_failure_in_a_part_that_is_not_used_holds_nothing_back():
    seen = observations(9, ("position-zero",))
    other = Observation("test_part9_word2vec.py::test_trained_vectors", 9, NOT_COMPARED)
    assert named(diagnose([*seen, other], StoredSignatures())) == {"position-zero"}


def test_a_bug_is_not_named_in_a_part_that_is_right_with_trusted_parts():
    seen = observations(9, ("position-zero",))
    failing = {o.test for o in seen if o.part == 4 and o.is_failure}
    assert not named(diagnose(seen, StoredSignatures(), right_alone=failing))


@pytest.mark.parametrize("left_out", ["test_decode", "test_prefill", "test_generate"])
def test_a_part_of_which_only_some_tests_ran_gets_no_name(left_out):
    seen = observations(9, ("position-zero",))
    whole = {o.test for o in seen}
    some = [o for o in seen if not o.test.startswith(f"test_part4_kv_cache.py::{left_out}")]
    assert len(some) < len(whole)
    findings = diagnose(some, StoredSignatures())
    assert not named(f for f in findings if f.part == 4)
    # A stub that was reached is a test that was run.
    stubs = [Observation(o.test, o.part, UNREACHED) for o in seen if o not in some]
    assert "position-zero" in named(diagnose(some + stubs, StoredSignatures()))


def test_a_part_that_runs_without_those_that_it_uses_is_named_on_condition():
    seen = [o for o in observations(4, ("position-zero",)) if o.part == 4]
    (finding,) = diagnose(seen, StoredSignatures())
    assert finding.alternatives == (("position-zero",),)
    assert finding.not_run == (1, 2, 3, 5)
    assert told.fact(finding).startswith(
        "If Part 1, Part 2, Part 3 and Part 5, which were not tested, are right: Part 4 equals, in"
    )


def test_what_is_said_where_no_name_can_be_given():
    assert told.fact(Diagnosis(4, mend_first=(3,))) == (
        "Mend Part 3 first: what is wrong in Part 4 may come from there."
    )
    assert "pytest assignment/ -k part4" in told.fact(Diagnosis(4, not_run=(4,)))


def test_the_parts_that_a_part_uses_are_those_that_its_tests_reach():
    signatures = StoredSignatures()
    assert signatures.reaches("test_part3_rope.py::test_rope_keeps_lengths") == {3}
    decode = "test_part5_gqa.py::test_decode_of_a_grouped_model[{}-gqa]"
    assert signatures.reaches(decode.format("public")) == {1, 2, 3, 4, 5}
    assert signatures.reaches(decode.format("hidden")) == {1, 2, 3, 4, 5}
    assert signatures.reaches("test_of_no_file.py::test_nothing") == frozenset()


def test_a_search_that_is_cut_says_nothing(desk, monkeypatch):
    """`truncate-keeps-old-rows` with `gqa-mask-forgotten` was told as another pair, in time."""
    bugs = tuple(map(bug_named, ("truncate-keeps-old-rows", "gqa-mask-forgotten")))
    monkeypatch.setattr("assignment.harness.diagnosis.MOST_TRIED", 40)
    assert desk.graded(bugs).names <= {bug.name for bug in bugs}
    monkeypatch.undo()
    assert desk.graded(bugs).names == {bug.name for bug in bugs}


def test_a_perturbed_bug_is_wrong_in_its_own_way(desk):
    bug = bug_named("rope-counts-from-one")
    tried = [desk.at_home((perturbed(bug, way),)) for way in WAYS]
    assert all(3 in outcome.failing_parts for outcome in tried)
    assert all(bug.name not in outcome.names for outcome in tried)


def test_angles_kept_by_length_alone_accuse_no_other_part(desk):
    """rotary-embedding-torch#11: what it computes depends on the calls before."""
    line = "    angles = positions[..., None] * rope_frequencies(x.shape[-1], theta)\n"
    key = "(positions.shape, x.shape[-1], theta)"
    kept = f"    angles = _kept.setdefault({key}, {line.strip().removeprefix('angles = ')})\n"
    changes = (
        Change(
            where=WHOLE_MODULE, old="import numpy as np\n", new="import numpy as np\n_kept = {}\n"
        ),
        Change(where="apply_rope", old=line, new=kept),
    )
    bug = bug_named("rope-positions-from-first").model_copy(
        update={"name": "angles kept by length", "change": changes}
    )
    outcome = desk.graded((bug,))
    assert {3, 4, 6} <= outcome.failing_parts
    assert outcome.names == set()


def named(findings) -> set[str]:
    return {name for finding in findings for bugs in finding.alternatives for name in bugs}


def test_what_is_told_of_a_bug_is_judged():
    """`python -m benchmarks.told`: more than sixty bugs of five kinds, here two of them."""
    every = benchmark.trials()
    assert len(every) >= 60 and len({trial.name for trial in every}) == len(every)
    assert len({trial.kind for trial in every}) == 5
    names = ["decode-with-a-token-axis-too-many", "temperature-returns-probabilities"]
    command = [sys.executable, "-m", "benchmarks.told", *names]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=True)
    rows = {line.split()[1]: line.split()[2:] for line in done.stdout.splitlines()[:2]}
    assert rows == {
        names[0]: ["yes", "yes", "none", "yes"],
        names[1]: ["yes", "yes", "right", "yes"],
    }


def test_a_name_of_another_bug_is_false():
    trial = next(
        trial for trial in benchmark.trials() if trial.parts == {4} and trial.kind == "invented"
    )
    finding = Diagnosis(7, (("temperature-returns-probabilities",),))
    row = benchmark._row(trial, SimpleNamespace(findings=[finding], outcomes=[]), "")
    assert (row.name, row.part, row.line) == ("false", False, False)
