"""The grader on the sample class: verdicts, hidden cases, repeatability."""

from __future__ import annotations

import re
import shutil
import tomllib
from pathlib import Path

import numpy as np
import pytest

import grader.grading.rules
import grader.grading.submission
import grader.grading.suite
from assignment.harness.parts import MODULE_OF, PARTS, STUDENT_MODULES
from grader.authoring.in_words import questions
from grader.authoring.sample_class import EXAMPLES, KEPT
from grader.base.errors import GraderError
from grader.base.seeds import load_secret
from grader.cli.demo import agrees_with
from grader.grade_class import grade_class
from grader.grading.suite import Suite, collect
from grader.results.record import TestResult, read_record
from grader.sandbox import SandboxUnavailable

EXPECTED = tomllib.loads((EXAMPLES / "expected.toml").read_text(encoding="utf-8"))


TELLTALE = """
import numpy as np

SEEN = []

def apply_rope(x, positions, theta=10000.0):
    SEEN.append(f"<{np.asarray(x, float).ravel()[-1]:.15g}>")
    raise ValueError(" ".join(SEEN))
"""


@pytest.fixture
def secret(graded_class) -> Path:
    return graded_class.secret


@pytest.fixture(scope="module")
def results(graded_class, tmp_path_factory) -> Path:
    """The sample class, and two submissions of this file graded to it."""
    made = tmp_path_factory.mktemp("made")
    out = shutil.copytree(graded_class.results, made / "out")
    work = [echo(made / "echo"), telltale(made / "telltale")]
    grade_class(work, out, secret_file=graded_class.secret, real_model=False, quiet=True)
    return out


def echo(folder: Path) -> Path:
    """Functions that give back their first argument."""
    folder.mkdir()
    for module in STUDENT_MODULES:
        names = [name for name, home in MODULE_OF.items() if home == module]
        code = "def echo(x=None, *rest, **more):\n    return x\n\n" + " = ".join(names)
        (folder / f"{module}.py").write_text(f"{code} = echo\n")
    return folder


def telltale(folder: Path) -> Path:
    """Says in every error all that it was given so far."""
    folder.mkdir()
    (folder / "rope.py").write_text(TELLTALE)
    return folder


def result_of(results: Path, name: str):
    result, note = read_record(results, name)
    assert result is not None, note
    return result


@pytest.mark.parametrize("name", EXPECTED)
def test_verdict(results, name):
    result = result_of(results, name)
    trusted = {test.part for test in result.tests if test.with_trusted_parts}
    assert trusted == set(EXPECTED[name].get("trusted_parts", []))
    messages = [f"{t.id}: {t.message}" for t in result.tests if t.state != "passed"]
    assert agrees_with(result, EXPECTED[name]), "\n".join(messages[:10])
    assert (result.total == result.max_total) == EXPECTED[name]["full_marks"]


def test_public_points_are_what_a_student_sees(results):
    result = result_of(results, "correct-einsum")
    assert sum(part.public_max for part in result.parts) == 130


def test_the_instructors_guide_says_how_many_points_there_are():
    tests = collect(Suite(hidden_cases=Path(), real_model=None, hash=""))
    public = sum(test.max_points for test in tests if test.visibility == "public")
    numpy_only = sum(test.max_points for test in tests)
    written = sum(question.points for question in questions())
    guide = (EXAMPLES.parent / "docs" / "instructors.md").read_text(encoding="utf-8")
    assert f"| public tests, as students see them | {public:g} |" in guide
    assert f"| with the hidden tests | {numpy_only:g} |" in guide
    assert f"| in nbgrader, with the written answers | {numpy_only + written:g} |" in guide


def test_every_public_case_has_a_hidden_twin(results):
    tests = {test.id for test in result_of(results, "correct-einsum").tests}
    public = {test for test in tests if "[public" in test}
    assert public and {test.replace("[public", "[hidden") for test in public} <= tests


def test_recompute_fails_on_the_cache_alone(results):
    failed = [t for t in result_of(results, "bug-recompute").tests if t.state == "failed"]
    assert {t.id.partition("[")[0].partition("::")[2] for t in failed} == {
        "test_decode_uses_the_cache"
    }
    assert all("recomputes the prefix in place of using the cache" in t.message for t in failed)


def test_the_first_bad_step_is_recorded(results):
    tests = {t.id: t for t in result_of(results, "bug-position-zero").tests}
    decode = tests["test_part4_kv_cache.py::test_decode[hidden-mha]"]
    assert decode.first_bad_step == 1
    assert decode.max_error > 1e-2 > decode.tolerance


def test_unfinished_work_is_not_started_or_waiting(results):
    states = {t.part: t.state for t in result_of(results, "half-finished").tests}
    done = dict.fromkeys((1, 2, 3), "passed")
    assert states == dict.fromkeys((part.number for part in PARTS), "not_started") | done | {
        5: states[5]
    }
    assert states[5] in ("not_started", "waiting")


def test_no_hidden_case_is_left_behind(results):
    assert [p.name for p in results.iterdir() if p.name.startswith(".scratch")] == []


def test_a_regrade_gives_the_same_result(sample_class, results, secret, tmp_path):
    source = sample_class / "bug-scale-missing"
    grade_class([source], tmp_path, secret_file=secret, real_model=False, quiet=True)
    again, before = (result_of(folder, source.name) for folder in (tmp_path, results))
    times = {"seconds", "graded_at", "tests"}
    assert again.model_dump(exclude=times) == before.model_dump(exclude=times)
    for one, other in zip(again.tests, before.tests, strict=True):
        assert one.model_copy(update={"seconds": 0}) == other.model_copy(update={"seconds": 0})


def test_another_secret_gives_other_hidden_cases(tmp_path):
    suites = [Suite.load(secret, False, tmp_path) for secret in (b"a" * 32, b"b" * 32)]
    one, other = (suite.case_sets["hidden"]["rope/float64"] for suite in suites)
    assert suites[0].hash != suites[1].hash
    assert one.x.shape != other.x.shape or (one.x != other.x).all()
    for suite in suites:
        suite.close()


def test_the_hidden_cases_are_readable_by_the_grader_only(tmp_path):
    suite = Suite.load(b"a" * 32, False, tmp_path)
    assert suite.hidden_cases.parent.stat().st_mode & 0o077 == 0
    suite.close()
    assert not suite.hidden_cases.exists()


def test_a_changed_test_changes_the_suites_hash(tmp_path, monkeypatch):
    before = grader.grading.suite.suite_hash(b"s" * 32)
    extra = tmp_path / "test_more.py"
    extra.write_text("# another test\n")
    sources = [*grader.grading.suite._sources(), extra]
    monkeypatch.setattr(grader.grading.suite, "_sources", lambda: sources)
    assert grader.grading.suite.suite_hash(b"s" * 32) != before


def test_a_real_model_that_is_not_there_is_said(tmp_path, monkeypatch):
    monkeypatch.setenv("KV_HOMEWORK_CACHE", str(tmp_path))
    with pytest.raises(GraderError, match=r"python -m reference_model\.smollm2"):
        Suite.load(b"a" * 32, True, tmp_path)


def test_a_sandbox_that_stops_working_is_an_error_and_no_zero(tmp_path, monkeypatch, secret):
    def refuse(self):
        raise SandboxUnavailable("no namespaces today")

    from grader.sandbox import Limits
    from grader.sandbox.remote import RemoteStudent

    monkeypatch.setattr(RemoteStudent, "_start", refuse)
    suite = Suite.load(b"a" * 32, False, tmp_path)
    with pytest.raises(SandboxUnavailable, match="no namespaces today"):
        grader.grading.submission.run_suite(suite, KEPT / "correct-einsum", "auto", Limits(), 0)


def a_test(name: str, state: str) -> TestResult:
    return TestResult(
        id=f"test_part3_rope.py::test_rope[{name}]",
        file="test_part3_rope.py",
        function="test_rope",
        case_set=name.partition("-")[0],
        case=name.partition("-")[2],
        part=3,
        section="3.2",
        title="rope",
        visibility=name.partition("-")[0],
        points=1.5 if state == "passed" else 0,
        max_points=1.5,
        state=state,
    )


@pytest.mark.parametrize(
    ("hidden", "points"), [("passed", 1.5), ("failed", 0), ("out_of_time", 0), ("waiting", 0)]
)
def test_a_public_case_earns_only_what_its_hidden_twin_confirms(hidden, points):
    """The public answers are in the student's hands: a table of them is no homework."""
    public, twin = grader.grading.rules.with_twin_rule(
        [a_test("public-float64", "passed"), a_test("hidden-float64", hidden)]
    )
    assert public.points == points
    assert public.state == ("passed" if points else "failed")
    assert twin.state == hidden


def test_empty_code_earns_next_to_nothing(results):
    """Functions that give back their first argument satisfy many a property."""
    assert result_of(results, "echo").total <= 5


def test_words_of_public_tests_hold_no_hidden_input(results, secret, tmp_path):
    """What a submission says of all it was given, told to its author where the test is public."""
    suite = Suite.load(load_secret(secret).key, False, tmp_path)
    cases, public = suite.case_sets["hidden"], suite.case_sets["public"]
    suite.close()
    names = [name for name in cases if name.startswith("rope/")]
    hidden, known = (
        {f"<{np.asarray(of[name].x, float).ravel()[-1]:.15g}>" for name in names}
        for of in (cases, public)
    )
    told: dict[str, set[str]] = {"public": set(), "hidden": set(), "own": set()}
    for test in result_of(results, "telltale").tests:
        if test.part == 3:
            kind = test.visibility if "[" in test.id else "own"
            told[kind].update(re.findall(r"<[^>]+>", test.message))
    assert told["hidden"] & hidden, "the submission tells nothing"
    assert told["public"] & known
    assert not (told["public"] | told["own"]) & hidden
    assert told["own"] - known, "nothing was drawn anew"
    assert told["public"] <= known, "drawn for others, and told where only golden data are known"
