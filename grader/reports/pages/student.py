"""What one student's page says. Nothing of hidden tests but title, points and state, nothing of
others, and of the grader's machine nothing."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from assignment.harness.known_bugs import KnownBug, known_bugs
from grader.base.notes import Note, in_words
from grader.base.words import language, spoken, spoken_title, tr
from grader.grades.policy import Score, student_view
from grader.grades.policy_file import Policy
from grader.reports.class_table import fact
from grader.reports.pages.pages import render
from grader.reports.pages.plots import ErrorPlot, error_plot
from grader.reports.pages.text import case_of, excerpt, without_paths
from grader.results.record import DiagnosisRecord, SubmissionResult, TestResult

N_IN_FULL = 3
N_UNFINISHED = 5


@dataclass(frozen=True)
class PartRow:
    """A part's points; bars are percent of the part's maximum."""

    number: int
    title: str
    points: float
    most: float
    own_bar: float
    trusted_bar: float
    is_below_minimum: bool


@dataclass(frozen=True)
class Failure:
    """A test that failed on public cases: one test function, its first failing case in full."""

    section: str
    title: str
    case: str
    also: tuple[str, ...]
    message: str
    command: str
    plot: ErrorPlot | None


@dataclass(frozen=True)
class Finding:
    """A diagnosis in words."""

    fact: str
    bugs: tuple[KnownBug, ...]


@dataclass(frozen=True)
class PartFeedback:
    """All that is said of a part in which points were lost."""

    row: PartRow
    findings: tuple[Finding, ...]
    failures: tuple[Failure, ...]
    more_failures: tuple[Failure, ...]
    only_hidden: tuple[str, ...]
    unfinished: str


@dataclass(frozen=True)
class TestRow:
    """Tests of one title: passed and all, on public and on hidden cases."""

    part: int
    section: str
    title: str
    public: tuple[int, int]
    hidden: tuple[int, int]
    points: float
    most: float
    trusted: bool


@dataclass(frozen=True)
class ModelText:
    """What the real model writes; `own` is split where it leaves the expected text."""

    shared: str
    own: str
    expected: str
    is_right: bool


def student_page(record: SubmissionResult, score: Score, policy: Policy) -> str:
    """The HTML of one student's page."""
    has_grade = score.final is not None and record.state != "error"
    seen = [view for test in record.tests if (view := student_view(test, policy)) is not None]
    rows = part_rows(record, score) if has_grade else ()
    return render(
        "student.html.j2",
        ("base.css", "student.css"),
        ("theme.js",),
        student=score.student,
        state=record.state,
        reason=excerpt(record.reason) if record.state in ("missing", "partial") else "",
        has_grade=has_grade,
        score=score,
        graded_at=record.graded_at,
        suite_version=record.suite_version,
        rows=rows,
        feedback=_feedback(record, seen, rows) if record.state != "missing" else (),
        kept=_kept(seen, score) if has_grade else (),
        remarks=_remarks(seen) if has_grade else (),
        tests=_test_rows(seen, score) if has_grade else (),
        shows_hidden=policy.visibility.hidden != "nothing",
        text=model_text(record) if has_grade else None,
        notes=[_told(note) for note in record.notes],
        language=language(),
    )


def _told(note: Note) -> str:
    if note.kind == "same_id":  # the other submission is not named
        return tr("another submission has the same id")
    return without_paths(in_words(note))


def part_rows(record: SubmissionResult, score: Score) -> tuple[PartRow, ...]:
    """The parts under the policy, with the share that trusted other parts earned."""
    rows = []
    for part in score.parts:
        given = sum(
            test.points
            for test in record.tests
            if test.part == part.part and test.with_trusted_parts
        )
        whole = 100 * min(part.points / part.max_points, 1) if part.max_points else 0.0
        trusted = min(100 * given / part.tests_max, whole) if part.tests_max else 0.0
        rows.append(
            PartRow(
                part.part,
                spoken(part.name),
                part.points,
                part.max_points,
                round(whole - trusted, 2),
                round(trusted, 2),
                part.part in score.below_minimum,
            )
        )
    return tuple(rows)


def _feedback(
    record: SubmissionResult, seen: Sequence[TestResult], rows: Iterable[PartRow]
) -> tuple[PartFeedback, ...]:
    told = []
    for row in rows:
        tests = [test for test in seen if test.part == row.number]
        findings = tuple(_finding(found) for found in record.diagnoses if found.part == row.number)
        failures = _failures(tests)
        told.append(
            PartFeedback(
                row,
                findings,
                *_in_full_first(failures),
                _only_hidden(tests),
                _unfinished(tests),
            )
        )
    return tuple(
        part
        for part in told
        if part.findings or part.failures or part.only_hidden or part.unfinished
    )


def _in_full_first(
    failures: Sequence[Failure],
) -> tuple[tuple[Failure, ...], tuple[Failure, ...]]:
    """The failures to read first, the plotted one among them, and the others."""
    first = sorted(failures, key=lambda failure: failure.plot is None)[:N_IN_FULL]
    return tuple(first), tuple(failure for failure in failures if failure not in first)


def _finding(found: DiagnosisRecord) -> Finding:
    """Only a certain finding is explained; of several that fit, the fact names all."""
    certain = found.bugs[0] if len(found.bugs) == 1 else ()
    catalogue = known_bugs()
    return Finding(fact(found), tuple(catalogue[name] for name in certain if name in catalogue))


def _failures(tests: Iterable[TestResult]) -> tuple[Failure, ...]:
    """One for each public test function, so that one fault is not told in every case."""
    by_function: dict[tuple[str, str], list[TestResult]] = {}
    for test in tests:
        if test.visibility == "public" and test.state in ("failed", "out_of_time"):
            by_function.setdefault((test.file, test.function), []).append(test)
    plotted = max((failed[0] for failed in by_function.values()), key=_tells, default=None)
    return tuple(_failure(failed, failed[0] is plotted) for failed in by_function.values())


def _tells(test: TestResult) -> tuple[bool, int]:
    """How much the plot of a test's errors says: most where early steps are right."""
    errors, limit = test.error_by_step, test.tolerance or 0.0
    return any(error <= limit for error in errors), len(errors)


def _failure(failed: Sequence[TestResult], is_plotted: bool) -> Failure:
    first = failed[0]
    others = [test.case for test in failed[1:]]
    return Failure(
        first.section,
        spoken_title(first.title, first.variant),
        case_of(first),
        tuple(filter(None, others)),
        excerpt(first.message),
        f"pytest assignment/{first.file}::{first.function}",
        _plot(first) if is_plotted else None,
    )


def _plot(test: TestResult) -> ErrorPlot | None:
    """One plot a part: the others would show the same."""
    if len(test.error_by_step) < 2 or not test.tolerance or test.tolerance <= 0:
        return None
    return error_plot(test.error_by_step, test.tolerance)


def _only_hidden(tests: Sequence[TestResult]) -> tuple[str, ...]:
    """Titles that fail on hidden cases and on no public one."""
    failed: dict[bool, list[str]] = {True: [], False: []}
    for test in tests:
        if test.state in ("failed", "out_of_time"):
            title = spoken_title(test.title, test.variant)
            failed[test.visibility == "public"].append(f"{test.section} {title}")
    return tuple(dict.fromkeys(title for title in failed[False] if title not in failed[True]))


def _unfinished(tests: Sequence[TestResult]) -> str:
    """`4.1 KVCache is not implemented yet; …` where stubs are left: the first few."""
    messages = (
        test.message.partition("\n")[0]
        for test in tests
        if test.state in ("not_started", "waiting") and test.visibility == "public"
    )
    waiting = list(dict.fromkeys(filter(None, messages)))
    shown = waiting[:N_UNFINISHED]
    if left := len(waiting) - len(shown):
        shown.append(tr("{n} more", n=left))
    return excerpt(tr("; ").join(shown))


def _remarks(seen: Sequence[TestResult]) -> tuple[str, ...]:
    """What is to be said of public tests that passed, each once, and of each that was charged."""
    charged = [
        f"{test.section} {spoken_title(test.title, test.variant)}: {test.charge.in_words()}"
        for test in seen
        if test.charge
    ]
    told = {
        excerpt(test.message): f"{test.section} {spoken_title(test.title)}"
        for test in seen
        if test.state == "passed"
        and test.message
        and test.visibility == "public"
        and not test.with_trusted_parts
    }
    return (*charged, *(f"{title}: {words}" for words, title in told.items()))


def _kept(seen: Iterable[TestResult], score: Score) -> tuple[TestRow, ...]:
    """Tests whose points were given with trusted versions of the other parts."""
    return _test_rows((test for test in seen if test.with_trusted_parts), score)


def _test_rows(seen: Iterable[TestResult], score: Score) -> tuple[TestRow, ...]:
    """Tests in order, those of one section and title in one row; points as the policy counts."""
    scale = {part.part: part.scale for part in score.parts}
    groups: dict[tuple[int, str, str], list[TestResult]] = {}
    for test in seen:
        title = spoken_title(test.title, test.variant)
        groups.setdefault((test.part, test.section, title), []).append(test)
    return tuple(
        TestRow(
            *key,
            _passed(tests, "public"),
            _passed(tests, "hidden"),
            round(sum(test.points for test in tests) * scale.get(key[0], 1.0), 6),
            round(sum(test.max_points for test in tests) * scale.get(key[0], 1.0), 6),
            any(test.with_trusted_parts for test in tests),
        )
        for key, tests in sorted(groups.items(), key=lambda group: group[0][0])
    )


def _passed(tests: Iterable[TestResult], visibility: str) -> tuple[int, int]:
    states = [test.state for test in tests if test.visibility == visibility]
    return states.count("passed"), len(states)


def model_text(record: SubmissionResult) -> ModelText | None:
    """The real model's text with the student's decode beside the right one."""
    if not record.expected_text:
        return None
    own, expected = record.generated_text, record.expected_text
    if not own:
        passed = any(
            test.is_of_real_model and test.state == "passed" and not test.with_trusted_parts
            for test in record.tests
        )
        return ModelText("", expected if passed else "", expected, is_right=passed)
    n_shared = _shared(own, expected)
    return ModelText(own[:n_shared], own[n_shared:], expected[n_shared:], own == expected)


def _shared(one: str, other: str) -> int:
    """How many characters agree, whole words only."""
    count = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        count += 1
    if one == other:
        return count
    return one.rfind(" ", 0, count + 1) + 1 if " " in one[: count + 1] else 0
