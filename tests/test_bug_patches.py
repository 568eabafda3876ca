"""The catalogue as written: a patch that does not fit, or a slip in a file, is told by name."""

from __future__ import annotations

import re
import shutil

import pytest

from grader.known_bugs import CatalogueProblem, Conflict, PatchProblem, all_bugs, bug_named
from grader.known_bugs.catalogue import read_part
from grader.known_bugs.patch import Change, apply_change, apply_changes, patched_modules
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
