"""What the terminal shows: progress, the class table at the end, one student's result."""

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from rich import box
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text

from assignment.harness import told
from assignment.harness.diagnosis import Diagnosis
from assignment.harness.known_bugs import known_bugs
from assignment.harness.words import plain
from grader.base.notes import in_words
from grader.base.terminal import WIDE, say
from grader.base.words import spoken, spoken_title, tr, tr_n
from grader.grades.roster import labels
from grader.results.record import DiagnosisRecord, PartPoints, SubmissionResult, TestResult
from grader.results.summary import Summary

_STATE_STYLE = {"graded": "green", "partial": "yellow", "missing": "magenta", "error": "bold red"}
_TEST_MARK = {
    "passed": ("✓", "green"),
    "failed": ("✗", "red"),
    "not_started": ("·", "dim"),
    "waiting": ("…", "dim"),
    "out_of_time": ("⧖", "red"),
}
_PLAIN_INTERVAL_S = 10.0
_SHOWN_NAMES = 10


def with_progress(
    summaries: Iterable[Summary], count: int, console: Console, quiet: bool = False
) -> Iterator[Summary]:
    """Pass the summaries on while showing how far the run is; plain lines where no terminal is."""
    if quiet:
        yield from summaries
    elif console.is_terminal:
        yield from _with_bar(summaries, count, console)
    else:
        yield from _with_lines(summaries, count, console)


def _with_bar(summaries: Iterable[Summary], count: int, console: Console) -> Iterator[Summary]:
    columns = (
        TextColumn(tr("grading")),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn(tr("left")),
        TimeRemainingColumn(),
        TextColumn("{task.fields[last]}", markup=False),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("grading", total=count, last="")
        for summary in summaries:
            progress.update(task, advance=1, last=plain(summary.student)[:30])
            yield summary


def _with_lines(summaries: Iterable[Summary], count: int, console: Console) -> Iterator[Summary]:
    started = last_line = time.monotonic()
    for done, summary in enumerate(summaries, start=1):
        now = time.monotonic()
        if now - last_line >= _PLAIN_INTERVAL_S:
            last_line = now
            left = (now - started) / done * (count - done)
            words = tr("{n} of {all} done, about {s:.0f} s left", n=done, all=count, s=left)
            say(console, words)
        yield summary


def with_names(summaries: Sequence[Summary], results: Path) -> list[Summary]:
    """The same with people's names, as far as a roster beside the results knows them."""
    known = labels(results, [summary.student for summary in summaries])
    return [replace(one, student=known.get(one.student, one.student)) for one in summaries]


def print_class(summaries: Sequence[Summary], console: Console) -> None:
    """The class table; on a narrow terminal the problems follow below it, one line each."""
    wide = console.width >= WIDE
    console.print(class_table(summaries, with_problems=wide))
    if not wide:
        for summary in _sorted(summaries):
            if summary.problem:
                say(console, f"{summary.student}: {summary.problem}")


def class_table(summaries: Sequence[Summary], with_problems: bool = True) -> Table:
    """One row a student: state, points by part, public, hidden, total, first problem in words."""
    parts = sorted({part for summary in summaries for part, _, _ in summary.parts})
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    # A whole id, or it could not be typed; what is left is for the first problem.
    longest = max((len(plain(summary.student)) for summary in summaries), default=0)
    table.add_column(tr("student"), overflow="fold", min_width=min(max(longest, 12), 32))
    table.add_column(tr("state"))
    most = max((summary.max_total for summary in summaries), default=0)
    numbers = (f"P{part}" for part in parts)
    for name in (*numbers, tr("public"), tr("hidden"), tr("of {most}", most=_points(most))):
        table.add_column(name, justify="right", no_wrap=True)
    if with_problems:
        # A ratio would let this column crush the others.
        table.add_column(tr("first problem"), no_wrap=True, overflow="ellipsis", max_width=60)
    for summary in _sorted(summaries):
        row = _row(summary, parts)
        table.add_row(*(row if with_problems else row[:-1]))
    return table


def _sorted(summaries: Sequence[Summary]) -> list[Summary]:
    return sorted(summaries, key=lambda summary: summary.student.casefold())


def _row(summary: Summary, parts: Sequence[int]) -> list[Text]:
    by_part = {part: (points, most) for part, points, most in summary.parts}
    cells = [
        Text(plain(summary.student)),
        Text(spoken(summary.state), style=_STATE_STYLE.get(summary.state, "")),
    ]
    for part in parts:
        points, most = by_part.get(part, (None, None))
        full = points is not None and points == most
        cells.append(Text(_points(points), style="green" if full else ""))
    # An error is no grade: it must not look like a zero.
    graded = summary.state != "error"
    for points in (summary.public, summary.hidden):
        cells.append(Text(_points(points if graded else None)))
    cells.append(Text(_points(summary.total if graded else None), style="bold"))
    cells.append(Text(plain(summary.problem)))
    return cells


def _points(points: float | None) -> str:
    return "-" if points is None else f"{points:.2f}".rstrip("0").rstrip(".")


def counts_sentence(summaries: Sequence[Summary]) -> str:
    """`40 submissions: 37 graded, 2 missing, 1 error (12 kept from an earlier run).`"""
    counts = Counter(summary.state for summary in summaries)
    words = tr(", ").join(
        tr("{n} {state}", n=counts[state], state=spoken(state))
        for state in ("graded", "partial", "missing", "error")
        if counts[state]
    )
    n, kept = len(summaries), sum(summary.kept for summary in summaries)
    noun = tr_n(n, "1 submission: ", "{n} submissions: ")
    earlier = tr(" ({n} kept from an earlier run)", n=kept) if kept else ""
    return noun + (words or tr("none finished")) + earlier + tr(".")


def misnamed_sentence(summaries: Sequence[Summary]) -> str:
    """Whose files have names that are almost a module's, which costs most of the points; or ""."""
    names = [summary.student for summary in _sorted(summaries) if summary.misnamed]
    if not names:
        return ""
    shown = tr(", ").join([*names[:_SHOWN_NAMES], *(["…"] if len(names) > _SHOWN_NAMES else [])])
    return tr(
        "Files left out that may be meant for a module under another name: {names}. --accept-names "
        "takes each that is the only one for its module.",
        names=shown,
    )


def print_result(result: SubmissionResult, console: Console, every_test: bool = False) -> None:
    """One student's result: points by part, what did not pass and why, notes, output."""
    style = _STATE_STYLE.get(result.state, "")
    total = tr(
        "  {points}/{most} points", points=_points(result.total), most=_points(result.max_total)
    )
    points = "" if result.state == "error" else total
    say(console, f"{result.student}  {spoken(result.state)}{points}", style=f"bold {style}")
    made = tr(
        "from {source}, graded {when}, sandbox: {tier}",
        source=result.source,
        when=f"{result.graded_at:%Y-%m-%d %H:%M} UTC",
        tier=result.sandbox_tier or tr("not used"),
    )
    say(console, made, style="dim")
    _print_lines(result.reason, console, style="red")
    for note in result.notes:
        say(console, tr("note: {note}", note=in_words(note)), style="dim")
    if result.state not in ("missing", "error"):
        not_begun = set() if every_test else _not_begun(result.tests)
        for part in result.parts:
            _print_part(part, console, part.part in not_begun)
        for diagnosis in result.diagnoses:
            say(console, fact(diagnosis), style="bold")
        for test in result.tests:
            told = test.part not in not_begun and (
                test.state != "passed" or test.message or test.charge
            )
            if every_test or told:
                _print_test(test, console)
    if result.output_tail.strip():
        say(console, tr("output of the submission (end):"), style="bold")
        _print_lines(result.output_tail, console, style="dim")


def fact(found: DiagnosisRecord) -> str:
    """A finding in the language spoken, whatever the run spoke.

    A bug that the catalogue lacks, as one found by another version, keeps the record's words.
    """
    if not all(name in known_bugs() for names in found.bugs for name in names):
        return found.fact
    return told.fact(
        Diagnosis(found.part, found.bugs, found.n_tests, found.error, found.mend_first)
    )


def _not_begun(tests: Sequence[TestResult]) -> set[int]:
    """The parts of which no test found anything to run."""
    begun = {test.part for test in tests if test.state not in ("not_started", "waiting")}
    return {test.part for test in tests} - begun


def _print_part(part: PartPoints, console: Console, not_begun: bool) -> None:
    points = tr(
        "public {public}, hidden {hidden}",
        public=f"{_points(part.public)}/{_points(part.public_max)}",
        hidden=f"{_points(part.hidden)}/{_points(part.hidden_max)}",
    )
    full = (part.public, part.hidden) == (part.public_max, part.hidden_max)
    name = tr("Part {part}", part=part.part)
    begun = tr(", not started (--all shows its tests)") if not_begun else ""
    say(console, f"  {name}  {points}{begun}", style="green" if full else "")


def _print_test(test: TestResult, console: Console) -> None:
    mark, style = _TEST_MARK[test.state]
    line = Text(f"{mark} ", style=style)
    line.append(plain(f"{test.section} {spoken_title(test.title, test.variant)}"), style="default")
    points = f"{_points(test.points)}/{_points(test.max_points)}"
    line.append(f"  {points} {spoken(test.visibility)}", style="dim")
    console.print(line, soft_wrap=True)
    if test.with_trusted_parts:
        _print_lines(test.message, console, style="yellow")
        first_line = test.own_message.strip().partition("\n")[0]
        own = tr("with the student's own: {message}", message=first_line)
        _print_lines(own, console, style="dim")
    elif test.message:
        _print_lines(test.message, console)
    if test.charge:
        _print_lines(test.charge.in_words(), console, style="yellow")
    if test.state == "passed":
        return
    facts = []
    if test.first_bad_step is not None:
        facts.append(tr("first bad step {n}", n=test.first_bad_step))
    if test.max_error is not None:
        facts.append(tr("largest error {value:.3g}", value=test.max_error))
    if test.tolerance is not None:
        facts.append(tr("tolerance {value}", value=f"{test.tolerance:.3g}"))
    _print_lines(tr(", ").join(facts), console, style="dim")


def _print_lines(text: str, console: Console, style: str = "") -> None:
    for line in plain(text.strip(), lines=True).splitlines():
        console.print(Text(f"    {line}", style=style), soft_wrap=True)
