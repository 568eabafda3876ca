"""What one student's page says. Nothing of hidden tests but title, points and state, nothing of
others, and of the grader's machine nothing.

The sections that a run at home has too are assignment.harness.page.sections'.
"""

from collections.abc import Iterable, Sequence

from assignment.harness.known_bugs import known_bugs
from assignment.harness.page.document import document, heading, listed, section
from assignment.harness.page.markup import Child, Element, element, marked
from assignment.harness.page.sections import (
    Failure,
    Finding,
    PartFeedback,
    PartRow,
    TestRow,
    all_tests,
    percent,
    points,
    points_by_part,
    right_with_a_remark,
    what_the_model_writes,
    where_points_were_lost,
)
from assignment.harness.real_text import ModelText
from grader.base.notes import Note, in_words
from grader.base.words import spoken, spoken_title, tr
from grader.grades.policy import Score, student_view
from grader.grades.policy_file import Policy
from grader.reports.class_table import fact
from grader.reports.pages.judged import decided_by_people
from grader.reports.pages.text import case_of, excerpt, moment, without_paths
from grader.results.record import DiagnosisRecord, SubmissionResult, TestResult

N_UNFINISHED = 5


def student_page(record: SubmissionResult, score: Score, policy: Policy) -> str:
    """The HTML of one student's page."""
    has_grade = score.final is not None
    seen = [view for test in record.tests if (view := student_view(test, policy)) is not None]
    rows = part_rows(record, score) if has_grade else ()
    feedback = _feedback(record, seen, rows) if record.state != "missing" else ()
    kept = _kept(seen, score) if has_grade else ()
    remarks = _remarks(seen) if has_grade else ()
    tests = _test_rows(seen, score) if has_grade else ()
    text = model_text(record) if has_grade else None
    notes = [_told(note) for note in record.notes]
    all_passed = has_grade and record.state == "graded" and not feedback
    shows_hidden = policy.visibility.hidden != "nothing"
    return document(
        tr("{student}: attention and KV-cache decode", student=score.label),
        heading(
            tr("Attention and KV-cache decode · homework feedback"), element("bdi", score.label)
        ),
        _verdict(record, score) if has_grade else _no_grade(record),
        points_by_part(rows, with_legend=bool(kept)) if rows else None,
        decided_by_people(score) if has_grade else None,
        element("p", tr("Every test passed."), class_="after") if all_passed else None,
        where_points_were_lost(feedback) if feedback else None,
        right_with_a_remark(remarks) if remarks else None,
        what_the_model_writes(text) if text else None,
        _with_trusted_parts(kept) if kept else None,
        section("notes", tr("About your files"), listed(notes)) if notes else None,
        all_tests(tests, _caption(shows_hidden), shows_hidden) if tests else None,
        element("footer", _footer(record)),
    )


# ------------------------------------------------------------------- what only a graded page has


def tr_marked(english: str, /, **values: object) -> list[str | Element]:
    return marked(spoken(english), **values)


def _callout(*words: Child) -> Element:
    return element("div", element("p", *words), class_="callout", role="note")


def _no_grade(record: SubmissionResult) -> Element:
    if record.state == "error":
        return _callout(
            tr_marked(
                "<strong>This submission has no grade yet.</strong> The grader failed on it. That "
                "is not your fault and not a zero: it will be graded again."
            )
        )
    return _callout(
        tr_marked(
            "<strong>This submission has no grade yet.</strong> Your instructor knows, and a new "
            "page will follow."
        )
    )


def _verdict(record: SubmissionResult, score: Score) -> list[Child]:
    """The score, how it came about, and what went wrong on the way to it."""
    figure = element("span", points(score.final), class_="figure")
    most = element("span", tr("of {most} points", most=points(score.max_points)), class_="of")
    notes = [tr("{sentence}.", sentence=note[:1].upper() + note[1:]) for note in score.notes]
    found: list[Child] = [
        element("p", figure, " ", most, class_="score"),
        _steps(score) if _has_steps(score) else None,
        listed(notes, class_="remarks") if notes else None,
    ]
    if record.state == "missing":
        nothing = element("strong", tr("Nothing was found that could be graded."))
        reason = excerpt(record.reason)
        found.append(_callout(nothing, [tr(" "), reason] if reason else None))
    elif record.state == "partial":
        found.append(
            _callout(
                tr_marked(
                    "<strong>Some tests ran out of time.</strong> They count as not passed; the "
                    "others were graded."
                )
            )
        )
    return found


def _has_steps(score: Score) -> bool:
    by_people = score.written or score.adjusted or score.override is not None
    return bool(score.penalty or score.minimum_loss or by_people)


def _steps(score: Score) -> Element:
    """From the points of the tests to the score."""
    written = score.written.points if score.written else 0.0
    steps: list[tuple[str, Child]] = [(tr("Points of the tests"), points(score.raw - written))]
    if score.written:
        steps.append((tr("Written answers"), f"+{points(written)}"))
    if score.minimum_loss:
        steps.append((tr("Below the minimum of a part"), f"−{points(score.minimum_loss)}"))
    if score.penalty:
        steps.append((tr("Late"), f"−{points(score.penalty)}"))
    if score.adjusted:
        sign = "+" if score.adjusted > 0 else "−"
        steps.append((tr("By your instructor"), f"{sign}{points(abs(score.adjusted))}"))
    if score.override is not None:
        steps.append((tr("Set by your instructor"), points(score.override)))
    steps.append((tr("Score"), element("strong", points(score.final))))
    pairs = [[element("dt", name), element("dd", value)] for name, value in steps]
    return element("dl", pairs, class_="steps")


def _with_trusted_parts(kept: Sequence[TestRow]) -> Element:
    words = tr(
        "These tests failed with your own code and pass when all parts but the one under test are "
        "replaced by trusted versions. An early mistake should not cost the points of later work, "
        "so they count in full."
    )
    items: list[Child] = [
        [f"{test.section} {test.title} ", element("span", _in_points(test.points), class_="muted")]
        for test in kept
    ]
    title = tr("Points given with trusted parts")
    return section("kept", title, element("p", words), listed(items))


def _in_points(value: float) -> str:
    return tr("(1 point)") if value == 1 else tr("({n} points)", n=points(value))


def _caption(shows_hidden: bool) -> str:
    if shows_hidden:
        return tr(
            "Tests passed on public cases and on hidden ones, which are of the same kind with other"
            " numbers."
        )
    return tr(
        "Tests passed on public cases. Points of hidden cases are in the sums above and not in this"
        " list."
    )


def _footer(record: SubmissionResult) -> str:
    if not record.suite_version:
        return tr("This page is complete in itself and loads nothing.")
    return tr(
        "Graded {moment}, test suite {version}. This page is complete in itself and loads nothing.",
        moment=moment(record.graded_at),
        version=record.suite_version,
    )


def _told(note: Note) -> str:
    if note.kind == "same_id":  # the other submission is not named
        return tr("another submission has the same id")
    return without_paths(in_words(note))


# ------------------------------------------------------------------------------- from the record


def part_rows(record: SubmissionResult, score: Score) -> tuple[PartRow, ...]:
    """The parts under the policy, with the share that trusted other parts earned."""
    rows = []
    for part in score.parts:
        given = sum(
            test.points
            for test in record.tests
            if test.part == part.part and test.with_trusted_parts
        )
        whole = percent(part.points, part.max_points)
        trusted = min(percent(given, part.tests_max), whole)
        rows.append(
            PartRow(
                part.part,
                spoken(part.name),
                part.points,
                part.max_points,
                round(whole - trusted, 2),
                trusted,
                part.part in score.below_minimum,
            )
        )
    return tuple(rows)


def _feedback(
    record: SubmissionResult, seen: Sequence[TestResult], rows: Iterable[PartRow]
) -> list[PartFeedback]:
    told = []
    for row in rows:
        tests = [test for test in seen if test.part == row.number]
        told.append(
            PartFeedback(
                row,
                tuple(_finding(found) for found in record.diagnoses if found.part == row.number),
                _failures(tests),
                _only_hidden(tests),
                _unfinished(tests),
            )
        )
    return [part for part in told if part]


def _finding(found: DiagnosisRecord) -> Finding:
    """Only a certain finding is explained; of several that fit, the fact names all."""
    certain = found.bugs[0] if len(found.bugs) == 1 else ()
    catalogue = known_bugs()
    return Finding(fact(found), tuple(catalogue[name] for name in certain if name in catalogue))


def _failures(tests: Iterable[TestResult]) -> tuple[Failure, ...]:
    """One for each public test function, so that one fault is not told in every case; the one with
    a plot comes first."""
    by_function: dict[tuple[str, str], list[TestResult]] = {}
    for test in tests:
        if test.visibility == "public" and test.state in ("failed", "out_of_time"):
            by_function.setdefault((test.file, test.function), []).append(test)
    plotted = max((failed[0] for failed in by_function.values()), key=_tells, default=None)
    found = [_failure(failed, failed[0] is plotted) for failed in by_function.values()]
    return tuple(sorted(found, key=lambda failure: not failure.has_plot))


def _tells(test: TestResult) -> tuple[bool, int]:
    """How much the plot of a test's errors says: most where early steps are right."""
    errors, limit = test.error_by_step, test.tolerance or 0.0
    return any(error <= limit for error in errors), len(errors)


def _failure(failed: Sequence[TestResult], is_plotted: bool) -> Failure:
    """One plot a part: the others would show the same."""
    first = failed[0]
    others = [test.case for test in failed[1:]]
    return Failure(
        first.section,
        spoken_title(first.title, first.variant),
        excerpt(first.message),
        f"pytest assignment/{first.file}::{first.function}",
        case=case_of(first),
        also=tuple(filter(None, others)),
        errors=tuple(first.error_by_step) if is_plotted else (),
        tolerance=first.tolerance or 0.0,
        difference=first.difference,
    )


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
            part,
            section,
            title,
            _passed(tests, "public"),
            _passed(tests, "hidden"),
            round(sum(test.points for test in tests) * scale.get(part, 1.0), 6),
            round(sum(test.max_points for test in tests) * scale.get(part, 1.0), 6),
            any(test.state not in ("not_started", "waiting") for test in tests),
        )
        for (part, section, title), tests in sorted(groups.items(), key=lambda group: group[0][0])
    )


def _passed(tests: Iterable[TestResult], visibility: str) -> tuple[int, int]:
    states = [test.state for test in tests if test.visibility == visibility]
    return states.count("passed"), len(states)


def model_text(record: SubmissionResult) -> ModelText | None:
    """The real model's text with the student's decode beside the right one."""
    if not record.expected_text:
        return None
    if record.generated_text:
        return ModelText.of(record.generated_text, record.expected_text)
    passed = any(
        test.is_of_real_model and test.state == "passed" and not test.with_trusted_parts
        for test in record.tests
    )
    return ModelText("", "", record.expected_text, is_right=passed)
