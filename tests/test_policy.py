"""The policy: its file and its sentences, points by part, lateness, minimum parts, attempts."""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from grader.base.errors import GraderError
from grader.cli import main
from grader.grades.class_scores import score_class
from grader.grades.lateness import Late
from grader.grades.policy import score, student_view
from grader.grades.policy_file import DEFAULT, Minimum, Policy
from grader.intake.course import Course
from grader.intake.submissions import find_submissions
from grader.results.record import SubmissionResult, TestResult, make_result, write_record

DUE = datetime(2026, 10, 5, 22, 0, tzinfo=UTC)
FEW = settings(max_examples=80, deadline=None, derandomize=True)


def a_test(part: int, points: float, most: float, visibility: str = "public") -> TestResult:
    return TestResult(
        id=f"test_{part}_{points}_{visibility}",
        part=part,
        section=f"{part}.1",
        title=f"a test of part {part}",
        visibility=visibility,
        points=points,
        max_points=most,
        state="passed" if points == most else "failed",
        message="inputs",
        own_message="more inputs",
        max_error=0.5,
    )


def a_record(student: str = "ana", tests=(), state: str = "graded", **changes) -> SubmissionResult:
    tests = tests or [a_test(1, 8, 10), a_test(1, 5, 10, "hidden"), a_test(4, 10, 30)]
    fields = {
        "student": student,
        "source": f"{student}.zip",
        "submission_hash": "h",
        "suite_hash": "s",
        "suite_version": "1",
        "state": state,
        "tests": tests,
    }
    return make_result(**(fields | changes))


def late_policy(**late) -> Policy:
    return Policy(late=Late(**({"due": DUE, "percent_per_day": 10.0} | late)))


@pytest.fixture
def load(tmp_path):
    """Reads a policy from its text; other files (name, content) lie beside it."""

    def read(text: str, **files: str) -> Policy:
        for name, content in files.items():
            (tmp_path / f"{name}.csv").write_text(content, encoding="utf-8")
        path = tmp_path / "my.toml"
        path.write_text(text, encoding="utf-8")
        return Policy.load(path)

    return read


# ----------------------------------------------------------------------------------------- file


def test_the_default_file_says_what_the_code_does_without_one():
    assert Policy.load().model_copy(update={"source": ""}) == Policy()


def test_every_key_of_the_code_is_explained_in_the_default_file():
    text = DEFAULT.read_text(encoding="utf-8")
    tables = {"visibility": Policy().visibility, "late": Late(), "minimum": Minimum()}
    keys = {key for table in tables.values() for key in type(table).model_fields} - {"parts"}
    assert all(f"\n{key} = " in text or f"\n# {key} = " in text for key in keys)
    assert all(f"[{name}]" in text for name in (*tables, "points", "minimum.parts"))


def test_a_total_scales_all_parts_together():
    tests = [a_test(1, 8, 10), a_test(1, 5, 10, "hidden"), a_test(4, 10, 30), a_test(6, 0, 7)]
    record = a_record(tests=tests)
    scored = score(record, Policy(total=100.0))
    assert scored.max_points == 100 and scored.final == 40.35  # 23 of 57
    assert [round(part.max_points, 4) for part in scored.parts] == [35.0877, 52.6316, 12.2807]
    scored = score(record, Policy(total=100.0, points={4: 60.0, 6: 20.0}))
    assert [part.max_points for part in scored.parts] == [20, 60, 20]
    assert scored.final == 33  # 13 of 20, and 20 of 60
    everything = a_record(tests=[a_test(1, 3, 3), a_test(2, 7, 7), a_test(4, 1.1, 1.1)])
    assert score(everything, Policy(total=100.0)).final == 100


def test_missing_work_is_not_told_part_by_part():
    record = a_record(tests=[a_test(4, 0, 30)], state="missing")
    scored = score(record, Policy(minimum=Minimum(otherwise="cap", parts={4: 50.0})))
    assert scored.final == 0 and scored.below_minimum == (4,)
    assert scored.notes == ("nothing gradable was handed in",)


def test_moments_are_told_by_the_clocks_of_the_course():
    late = {"time_zone": "Europe/Berlin", "drop_dead": DUE + timedelta(days=7)}
    scored = score(a_record(), late_policy(**late), DUE + timedelta(days=8))
    assert "after the last date 2026-10-13 00:00 Europe/Berlin: 0 points" in scored.notes[0]
    del late["time_zone"]
    scored = score(a_record(), late_policy(**late), DUE + timedelta(days=8))
    assert "after the last date 2026-10-12 22:00 UTC: 0 points" in scored.notes[0]


def test_the_examples_in_the_default_file_work(load):
    text = DEFAULT.read_text(encoding="utf-8")
    text = text.replace("# due = 2026-10-05T23:59:00\n", "")  # there are two of them
    policy = load(re.sub(r"(?m)^# (?=\w+ = )", "", text), extensions="student,days\nana,3\n")
    assert policy.points[4] == 60 and policy.total == 100 and policy.minimum.parts == {4: 50}
    assert policy.late.time_zone == "Europe/Berlin" and policy.late.drop_dead
    assert set(policy.due_of) == {"ana"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "[late]\npercent_per_days = 3",
            ("line 2", "[late] percent_per_days", "`percent_per_day`"),
        ),
        ("decimal = 1", ("line 1", "`decimal`", "no such key", "`decimals`")),
        ("due_of = {}", ("no such key",)),
        ("[late]\n\npercent_per_day = 120", ("line 3", "found 120", "less than or equal to 100")),
        ("[late]\npercent_per_day = 10", ("[late]", "no due date", "add `due = ")),
        ("[late]\ndue = 2026-10-05", ("line 2", "no time of day")),
        ("[late]\ndue = '2026-10-05T10:00Z'", ("line 2", "without quotes")),
        ("[late]\ndue = 2026-10-05T10:00:00", ("no offset from UTC", "time_zone")),
        ("[late]\ndue = 206-10-05T10:00:00Z", ("no valid TOML", "line 2")),
        ("[late]\ndue = 0206-10-05T10:00:00Z", ("the year is 206",)),
        ("[late]\ntime_zone = 'Mars/Base'", ("line 2", "'Mars/Base' is no time zone")),
        (
            "[late]\ndue = 2026-10-05T10:00:00Z\ndrop_dead = 2026-10-04T10:00:00Z",
            ("`drop_dead` is not after `due`",),
        ),
        ("[points]\n12 = 3", ("[points]", "no part '12'", "1, 2, 3, 4, 5, 6, 7, 8, 9")),
        ("[points]\n1 = -1", ("line 2", "[points] 1", "found -1", "greater than or equal to 0")),
        ("[points]\n1 = nan", ("found nan", "finite number")),
        ("[points]\n1 = '3'", ("found '3'", "a number")),
        ("[minimum.parts]\n4 = true", ("line 2", "[minimum.parts] 4", "found True")),
        ("attempts = 'first'", ("found 'first'", "'best' or 'last'")),
        ("[visibility]\nhidden = 'all'", ("line 2", "found 'all'", "'scores' or 'nothing'")),
        ("points = 3", ("found 3", "expected a table")),
        ("[late]\ndue = 2026-10-05T10:00:00Z\nextensions = 'no.csv'", ("no.csv", "cannot be read")),
        ("a = [[[", ("no valid TOML",)),
    ],
)
def test_a_mistake_in_the_file_is_a_sentence_that_names_file_key_found_and_expected(
    load, text, words
):
    with pytest.raises(GraderError) as problem:
        load(text)
    sentence = str(problem.value)
    assert "my.toml" in sentence or "no.csv" in sentence
    assert [word for word in words if word not in sentence] == []
    assert sentence.endswith((".", ")"))


def test_a_file_that_is_not_there_or_not_text(tmp_path):
    with pytest.raises(GraderError, match=r"nothing\.toml cannot be read: No such file"):
        Policy.load(tmp_path / "nothing.toml")
    (tmp_path / "latin.toml").write_bytes(b"# caf\xe9")
    with pytest.raises(GraderError, match=r"latin\.toml is not UTF-8 \(byte 5\)"):
        Policy.load(tmp_path / "latin.toml")


# --------------------------------------------------------------------------------------- points


def test_points_of_a_part_are_scaled_to_the_policys():
    found = score(a_record(), Policy(points={1: 30.0}))
    part_1, part_4 = found.parts
    assert (part_1.points, part_1.max_points) == (19.5, 30)  # 13 of 20
    assert (part_1.tests_points, part_1.tests_max, part_1.scale) == (13, 20, 1.5)
    assert (part_4.points, part_4.max_points) == (10, 30)  # not named: as the tests
    assert (found.raw, found.max_points, found.final) == (29.5, 60, 29.5)


def test_a_part_without_points_is_dropped():
    found = score(a_record(), Policy(points={4: 0.0}))
    assert (found.raw, found.max_points) == (13, 20)


def test_the_harness_failure_is_no_grade_and_never_a_zero():
    for record in (
        a_record(state="error", tests=[a_test(1, 0, 10)]),
        make_result(
            **dict.fromkeys(("source", "submission_hash", "suite_hash"), ""),
            student="a",
            suite_version="1",
            state="error",
        ),
    ):
        found = score(record, late_policy(), DUE + timedelta(days=30))
        assert found.final is None
        assert "the grader failed" in found.notes[0]


def test_a_record_without_tests_of_a_part_that_counts_is_no_grade():
    found = score(a_record(), Policy(points={5: 10.0}))
    assert found.final is None
    assert "no test of part 5" in found.notes[0] and "--regrade" in found.notes[0]


def test_missing_is_zero_points_and_says_so():
    found = score(a_record(tests=[a_test(1, 0, 10)], state="missing"), late_policy())
    assert (found.final, found.notes) == (0, ("nothing gradable was handed in",))


@pytest.mark.parametrize(
    ("earned", "decimals", "final"),
    [(2.5, 0, 3), (2.675, 2, 2.68), (9.99, 1, 10.0), (1.234, 2, 1.23)],
)
def test_halves_are_rounded_up(earned, decimals, final):
    assert score(a_record(tests=[a_test(1, earned, 10)]), Policy(decimals=decimals)).final == final


def test_rounding_never_gives_more_than_the_maximum():
    found = score(a_record(tests=[a_test(1, 9.999, 9.999)]), Policy(decimals=1))
    assert found.final == 9.999


# ------------------------------------------------------------------------------------- lateness


@pytest.mark.parametrize(
    ("late_by", "final", "days"),
    [
        (timedelta(days=-3), 23, 0),
        (timedelta(0), 23, 0),
        (timedelta(minutes=15), 23, 0),  # the grace period's end belongs to it
        (timedelta(minutes=15, seconds=1), 20.7, 0.0104),  # a day has started
        (timedelta(days=1), 20.7, 1),
        (timedelta(days=1, seconds=1), 18.4, 1),
        (timedelta(days=4), 13.8, 4),
        (timedelta(days=6), 11.5, 6),  # the cap
        (timedelta(days=10), 11.5, 10),
        (timedelta(days=10, seconds=1), 0, 10),  # the drop-dead date
    ],
)
def test_lateness(late_by, final, days):
    policy = late_policy(grace_minutes=15.0, cap_percent=50.0, drop_dead=DUE + timedelta(days=10))
    found = score(a_record(), policy, DUE + late_by)
    assert found.final == pytest.approx(final, abs=1e-9)
    assert found.days_late == pytest.approx(days, abs=1e-4)
    assert found.final == pytest.approx(found.raw - found.penalty, abs=1e-9)
    assert bool(found.notes) == (days > 0)


def test_percent_of_the_maximum():
    policy = late_policy(percent_of="maximum")
    assert score(a_record(), policy, DUE + timedelta(hours=1)).final == 23 - 5
    assert score(a_record(), policy, DUE + timedelta(days=9)).final == 0


def test_a_due_date_in_a_time_zone_and_a_submission_in_another(load):
    policy = load(
        "[late]\ndue = 2026-10-05T23:59:00\ntime_zone = 'Europe/Berlin'\npercent_per_day = 10"
    )
    assert policy.due_date("ana") == datetime(2026, 10, 5, 21, 59, tzinfo=UTC)
    new_york = datetime.fromisoformat("2026-10-05T17:58:00-04:00")
    assert score(a_record(), policy, new_york).penalty == 0
    assert score(a_record(), policy, new_york + timedelta(minutes=2)).penalty > 0


def test_a_day_has_24_hours_where_the_clock_is_changed(load):
    policy = load(
        "[late]\ndue = 2026-10-24T12:00:00\ntime_zone = 'Europe/Berlin'\npercent_per_day = 10"
    )
    # The clock goes back on the 25th: noon to noon is 25 hours, so a second day has started.
    noon = datetime.fromisoformat("2026-10-25T12:00:00+01:00")
    assert score(a_record(), policy, noon).penalty == pytest.approx(0.2 * 23)


def test_without_a_submission_time_nothing_is_taken_off_and_that_is_said():
    found = score(a_record(source="doejane_LATE_1_2_hw.zip"), late_policy())
    assert (found.final, found.penalty) == (23, 0)
    assert found.notes == ("no submission time known: no late penalty applied; its name says LATE",)
    assert score(a_record(), Policy()).notes == ()


def test_an_extension_moves_the_due_date_and_the_drop_dead_date(load):
    policy = load(
        "[late]\ndue = 2026-10-05T22:00:00Z\npercent_per_day = 10\n"
        "drop_dead = 2026-10-08T22:00:00Z\nextensions = 'more.csv'",
        more="student,due,days\nAna,,2\nbob,2026-10-06T22:00:00Z,\n",
    )
    after = DUE + timedelta(days=4)
    assert score(a_record("ana"), policy, after).final == pytest.approx(23 * 0.8)
    assert score(a_record("bob"), policy, after).final == pytest.approx(23 * 0.7)
    assert score(a_record("cem"), policy, after).final == 0
    assert any("extension until" in note for note in score(a_record("ana"), policy, after).notes)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", ("student, due, days",)),
        ("name,days\nana,3", ("name,days", "student, due, days")),
        ("student,days\nana,3\nAna,4", ("two extensions", "lines 2 and 3")),
        ("student,days\nana,-1", ("line 2", "'-1'", "from 0 to 3650")),
        ("student,days\nana,soon", ("line 2", "'soon'")),
        ("student,days\nana,", ("line 2", "either `due` or `days`")),
        ("student,due\nana,tomorrow", ("line 2", "'tomorrow' is no moment")),
        ("student,due\nana,2026-10-09", ("line 2", "no offset from UTC")),
        ("student,due\nana,2026-10-01T00:00Z", ("line 2", "before the due date")),
        ("student;days\nana;3", ("student;days", "separated by semicolons: save it with commas")),
        ("student\tdays\nana\t3", ("separated by tabs",)),
        ("student,days\nana", ("line 2", "1 cells, expected 2")),
        ('student,days\n"ana,3', ("not valid CSV",)),
    ],
)
def test_a_mistake_in_the_extensions_is_a_sentence(load, content, words):
    text = "[late]\ndue = 2026-10-05T22:00:00Z\nextensions = 'more.csv'"
    with pytest.raises(GraderError) as problem:
        load(text, more=content)
    assert [word for word in ("more.csv", *words) if word not in str(problem.value)] == []


# ------------------------------------------------------------------------------------- minimum


def test_a_part_below_its_minimum_is_noted_or_caps_the_total():
    noted = score(a_record(), Policy(minimum=Minimum(parts={1: 65.0, 4: 50.0})))
    assert (noted.below_minimum, noted.minimum_loss, noted.final) == ((4,), 0, 23)
    assert noted.notes == ("part 4 reached 33 % of its points, 50 % needed",)
    rule = Minimum(parts={4: 50.0}, otherwise="cap", cap_percent=20.0)
    capped = score(a_record(), Policy(minimum=rule))
    assert (capped.below_minimum, capped.minimum_loss, capped.final) == ((4,), 13, 10)


def test_lateness_is_taken_off_what_the_minimum_rule_leaves():
    policy = Policy(
        late=Late(due=DUE, percent_per_day=10.0),
        minimum=Minimum(parts={4: 50.0}, otherwise="cap", cap_percent=20.0),
    )
    found = score(a_record(), policy, DUE + timedelta(hours=1))
    assert (found.minimum_loss, found.penalty, found.final) == (13, 1, 9)


# ----------------------------------------------------------------------------------- invariants

points = st.floats(0, 50, allow_nan=False)
percents = st.floats(0, 100, allow_nan=False)


@st.composite
def records(draw) -> SubmissionResult:
    tests = []
    for part in draw(st.lists(st.integers(1, 7), min_size=1, max_size=5)):
        most = draw(points)
        earned = draw(st.sampled_from([0.0, most, most * draw(st.floats(0, 1))]))
        tests.append(
            a_test(part, min(earned, most), most, draw(st.sampled_from(["public", "hidden"])))
        )
    return a_record(tests=tests)


@st.composite
def policies(draw) -> Policy:
    rule = draw(st.sampled_from(["note", "cap"]))
    return Policy(
        decimals=draw(st.integers(0, 4)),
        points=draw(st.dictionaries(st.integers(1, 7), points, max_size=4)),
        late=Late(
            due=DUE,
            percent_per_day=draw(percents),
            percent_of=draw(st.sampled_from(["score", "maximum"])),
            cap_percent=draw(percents),
            grace_minutes=draw(st.floats(0, 3000)),
            drop_dead=draw(st.sampled_from([None, DUE + timedelta(days=3)])),
        ),
        minimum=Minimum(
            parts=draw(st.dictionaries(st.integers(1, 7), percents, max_size=3)),
            otherwise=rule,
            cap_percent=draw(percents),
        ),
    )


lateness = st.timedeltas(timedelta(days=-2), timedelta(days=20))


@FEW
@given(records(), policies(), lateness)
def test_a_grade_is_between_0_and_the_maximum(record, policy, late_by):
    found = score(record, policy, DUE + late_by)
    if found.final is None:
        assert "no test of part" in found.notes[0]
        return
    assert 0 <= found.final <= found.max_points
    assert 0 <= found.penalty <= found.raw and 0 <= found.minimum_loss <= found.raw
    exact = found.raw - found.penalty - found.minimum_loss
    assert abs(found.final - exact) <= 0.5 * 10**-policy.decimals + 1e-5
    assert all(0 <= part.points <= part.max_points for part in found.parts)


@FEW
@given(records(), st.none() | lateness.map(lambda late_by: DUE + late_by))
def test_the_default_policy_gives_the_tests_own_points(record, submitted_at):
    found = score(record, Policy(), submitted_at)
    assert (found.raw, found.max_points) == (record.total, record.max_total)
    assert found.final == pytest.approx(record.total, abs=0.005 + 1e-9)
    assert found.notes == ()


@FEW
@given(records(), policies(), lateness, lateness)
def test_later_is_never_better(record, policy, one, other):
    early, late = sorted((one, other))
    before, after = (score(record, policy, DUE + late_by) for late_by in (early, late))
    if before.final is not None:
        assert after.final <= before.final


# ---------------------------------------------------------------------------------------- class


@pytest.fixture
def results(tmp_path):
    folder = tmp_path / "results"
    folder.mkdir()

    def put(*records: SubmissionResult) -> Path:
        for record in records:
            write_record(folder, record)
        return folder

    return put


def points_of(number: float) -> list[TestResult]:
    return [a_test(1, number, 10)]


def test_an_empty_class_and_a_missing_folder_are_sentences(results, tmp_path):
    with pytest.raises(GraderError, match=r"There are no results in .*grader run"):
        score_class(results(), Policy())
    with pytest.raises(GraderError, match=r"There is no folder .*nowhere"):
        score_class(tmp_path / "nowhere", Policy())


def test_a_damaged_result_is_named_and_the_others_are_scored(results):
    folder = results(a_record("ana"), a_record("Bob"))
    (folder / "cem.json").write_text('{"student": "cem"')
    (folder / ".hidden.json").write_text("not looked at")
    found = score_class(folder, Policy())
    assert [scored.student for scored in found] == ["ana", "Bob"]
    (problem,) = found.problems
    assert problem.startswith("cem.json is damaged") and "graded anew" not in problem


def attempts(results, tmp_path, rule: str, times: str = "2026-10-05T10:00Z 2026-10-06T23:00Z"):
    folder = results(
        a_record("ana_1", points_of(8)), a_record("ana_2", points_of(9)), a_record("bob")
    )
    first, second = times.split() if times else ("", "")
    path = tmp_path / "submitted.csv"
    path.write_text(
        "submission,student,submitted_at\n"
        f"ana_1,Ana Lee,{first}\nana_2,Ana Lee,{second}\nzoe,zoe,2026-10-05T10:00Z\n"
    )
    late = Late(due=DUE, percent_per_day=10.0)
    return score_class(folder, Policy(attempts=rule, late=late), path)


def test_best_and_last_of_several_attempts(results, tmp_path):
    best, bob = attempts(results, tmp_path, "best")
    assert (best.student, best.submission, best.final) == ("Ana Lee", "ana_1", 8)  # 9 - 20 %
    assert best.attempts == ("ana_1", "ana_2") and best.notes[0] == "best of 2 attempts: ana_1"
    assert (bob.student, bob.attempts) == ("bob", ())
    last, _ = attempts(results, tmp_path, "last")
    assert (last.submission, last.final) == ("ana_2", pytest.approx(7.2))


def test_a_submission_without_a_result_is_named(results, tmp_path):
    assert any(
        problem.startswith("zoe:") for problem in attempts(results, tmp_path, "best").problems
    )


def test_the_last_attempt_is_not_guessed_where_times_are_missing(results, tmp_path):
    found = attempts(results, tmp_path, "last", "2026-10-05T10:00Z ''".replace("''", '""'))
    assert found[0].final is None
    assert "which attempt is the last is not known" in found[0].notes[0]
    assert any("no submission time" in problem for problem in found.problems)


def test_an_attempt_on_which_the_grader_failed_is_not_taken_for_a_zero(results, tmp_path):
    folder = results(a_record("a1", points_of(0), state="error"), a_record("a2", points_of(3)))
    path = tmp_path / "s.csv"
    path.write_text("submission,student\na1,ana\na2,ana\n")
    (found,) = score_class(folder, Policy(), path)
    assert found.final == 3
    assert any("no grade: a1" in note for note in found.notes)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("student,submitted_at\nana,\nana,", ("'ana' stands in lines 2 and 3", "`submission`")),
        ("submission,student\nx,ana\nx,bob", ("'x' stands in lines 2 and 3",)),
        ("submission,student\nx,", ("line 2: the student is missing",)),
        ("submission\nx", ("`student` must be there",)),
        ("student,submitted_at\nana,2026-10-05 10:00", ("line 2", "no offset from UTC")),
    ],
)
def test_a_mistake_in_the_submissions_is_a_sentence(results, tmp_path, content, words):
    path = tmp_path / "s.csv"
    path.write_text(content)
    with pytest.raises(GraderError) as problem:
        score_class(results(a_record()), Policy(), path)
    assert [word for word in words if word not in str(problem.value)] == []


def test_two_submissions_of_one_id_are_listed_and_not_merged(results, tmp_path):
    """With the notes that intake really writes."""
    course = Course(tmp_path / "package", ("attention",), ())
    for section in ("one", "two"):
        (tmp_path / section / "ana").mkdir(parents=True)
        (tmp_path / section / "ana" / "attention.py").touch()
    found = find_submissions([tmp_path / "one" / "ana", tmp_path / "two" / "ana"], course)
    folder = results(*(a_record(f.student, notes=f.notes) for f in found), a_record("bob"))
    scores = score_class(folder, Policy())
    first, second, bob = scores
    assert {first.student, second.student} == {"ana-1", "ana-2"}
    assert first.repeated == (second.student,) and second.repeated == (first.student,)
    assert bob.repeated == ()
    assert any(
        "ana-1, ana-2" in problem and "--submitted" in problem for problem in scores.problems
    )
    path = tmp_path / "s.csv"
    path.write_text("submission,student\nana-1,Ana Lee\nana-2,Ana Chen\n")
    told_apart = score_class(folder, Policy(), path)
    assert told_apart.problems == () and all(not scored.repeated for scored in told_apart)
    path.write_text("submission,student\nana-1,ana\nana-2,ana\n")
    joined = score_class(folder, Policy(), path)
    assert len(joined) == 2 and joined.problems == () and joined[0].repeated == ()


def test_ids_that_look_like_a_platforms_names_are_two_students(results):
    """`2026_01_bob` and `2026_02_eve` in section B are not two uploads of Canvas's user 2026."""
    folder = results(a_record("B_2026_01_bob"), a_record("B_2026_02_eve"))
    assert [one.student for one in score_class(folder, Policy())] == [
        "B_2026_01_bob",
        "B_2026_02_eve",
    ]


def test_an_extension_of_somebody_without_a_result_is_named(results, load):
    policy = load(
        "[late]\ndue = 2026-10-05T22:00:00Z\nextensions = 'more.csv'",
        more="student,days\nana,1\nzoe,2\n",
    )
    assert score_class(results(a_record()), policy).problems == (
        "zoe: has an extension, but no result.",
    )


# ------------------------------------------------------------------------------------- students


def test_of_a_hidden_test_a_student_sees_title_points_and_state():
    hidden = a_test(4, 1, 2, "hidden")
    seen = student_view(hidden, Policy())
    assert (seen.title, seen.points, seen.max_points, seen.state) == (hidden.title, 1, 2, "failed")
    assert "inputs" not in seen.model_dump_json() and hidden.id not in seen.model_dump_json()
    assert seen.max_error is None
    public = a_test(4, 1, 2)
    assert student_view(public, Policy()) == public
    nothing = Policy.model_validate({"visibility": {"hidden": "nothing"}})
    assert student_view(hidden, nothing) is None


# -------------------------------------------------------------------------------------- command


def test_grader_scores_shows_the_grades_and_no_escape_of_a_name(results, tmp_path):
    folder = results(a_record("ana"), a_record("bob", state="error"))
    path = tmp_path / "s.csv"
    path.write_text("submission,student\nana,A[red]na\x1b[31m\n")
    shown = CliRunner().invoke(
        main.app, ["scores", "--results", str(folder), "--submitted", str(path)]
    )
    assert shown.exit_code == 0
    assert "A[red]na\ufffd[31m" in shown.output and "\x1b" not in shown.output
    assert "2 students, 1 without a grade, 50 points." in shown.output
    ana, bob = (
        line.split() for line in shown.output.splitlines() if "graded" in line or "error" in line
    )
    assert ana[-1] == "23"
    assert "grade:" in bob  # no number, and why


def test_grader_scores_with_a_bad_policy_ends_in_a_sentence(results, tmp_path):
    (tmp_path / "p.toml").write_text("[late]\npercent_per_day = 10\n")
    arguments = [
        "scores",
        "--results",
        str(results(a_record())),
        "--policy",
        str(tmp_path / "p.toml"),
    ]
    shown = CliRunner().invoke(main.app, arguments)
    assert shown.exit_code == main.EXIT_USAGE
    assert "there is no due date" in shown.output and "Traceback" not in shown.output


def test_a_decode_without_a_cache_gets_a_share_back_where_the_policy_says_so():
    from report_support import make_record, make_test

    by = "test_part4_kv_cache.py::test_decode_uses_the_cache[public]"
    tests = [
        make_test(4, "4.3", "uses_the_cache", "decode_uses_the_cache", "public", state="failed"),
        make_test(4, "4.3", "decode", "decode", "public", state="waiting", held_by=by),
        make_test(4, "4.4", "generate", "generate", "public"),
        make_test(5, "5.1", "grouped", "grouped", "public", state="waiting", held_by=by),
        make_test(5, "5.1", "other", "other", "public", state="waiting", held_by="x.py::test_y"),
    ]
    record = make_record("ana", tests)
    assert score(record, Policy.load()).final == 1.0
    generous = Policy.load().model_copy(update={"without_cache_percent": 50.0})
    given = score(record, generous)
    assert given.final == 2.0  # half of the two tests that it holds
    assert given.notes == ("1 points given back for decodes without a cache",)
    assert [(part.part, part.points) for part in given.parts] == [(4, 1.5), (5, 0.5)]
    scaled = generous.model_copy(update={"total": 100.0})
    assert score(record, scaled).final == 40.0


def test_scores_by_the_index_are_those_by_the_records(tmp_path, monkeypatch):
    """With notes, tests that hold others back and a submission without a grade."""
    from report_support import make_record, make_test

    by = "test_part4_kv_cache.py::test_decode_uses_the_cache[public]"
    held = make_test(4, "4.3", "decode", "decode", "public", state="waiting", held_by=by)
    right = make_test(4, "4.4", "generate", "generate", "public")
    for name, tests in (("ana", [held, right]), ("bob", [right])):
        write_record(tmp_path, make_record(name, tests))
    write_record(tmp_path, make_record("cyd", [], state="error"))
    rules = Policy.load().model_copy(update={"without_cache_percent": 50.0})
    by_records = score_class(tmp_path, rules)
    with monkeypatch.context() as patched:
        patched.setattr("grader.grades.class_scores.read_record", None)
        assert score_class(tmp_path, rules) == by_records
    assert [one.final for one in by_records] == [1.5, 1.0, None]
    write_record(tmp_path, make_record("bob", [held]))
    assert [one.final for one in score_class(tmp_path, rules)] == [1.5, 0.5, None]
