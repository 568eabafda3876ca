"""What the terminal shows: progress, the class table at the end, one student's result.

Names and messages come from submissions: nothing of them may move the cursor, change colours,
reorder text or be taken for markup.
"""

import time
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

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

from grader.pool import Summary
from grader.record import PartPoints, SubmissionResult, TestResult

_STATE_STYLE = {"graded": "green", "partial": "yellow", "missing": "magenta", "error": "bold red"}
_TEST_MARK = {
    "passed": ("✓", "green"),
    "failed": ("✗", "red"),
    "not_started": ("·", "dim"),
    "waiting": ("…", "dim"),
    "out_of_time": ("⧖", "red"),
}
_PLAIN_INTERVAL_S = 10.0
_WIDE = 110  # columns from which on the first problems fit beside the points


def plain(text: str, lines: bool = False) -> str:
    """`text` without control characters, ANSI sequences' escape bytes and direction overrides.

    Each becomes "�"; line breaks and tabs become spaces, or stay when `lines` is set.
    """
    shown = []
    for char in text:
        if char in "\n\t":
            shown.append(char if lines else " ")
        elif unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp"):
            shown.append("�")
        else:
            shown.append(char)
    return "".join(shown)


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
        TextColumn("grading"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[last]}", markup=False),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("grading", total=count, last="")
        for summary in summaries:
            progress.update(task, advance=1, last=plain(summary.student)[:30])
            yield summary


def _with_lines(summaries: Iterable[Summary], count: int, console: Console) -> Iterator[Summary]:
    started = spoken = time.monotonic()
    for done, summary in enumerate(summaries, start=1):
        now = time.monotonic()
        if now - spoken >= _PLAIN_INTERVAL_S:
            spoken = now
            left = (now - started) / done * (count - done)
            say(console, f"{done} of {count} done, about {left:.0f} s left")
        yield summary


def console_for_people() -> Console:
    """Standard output; where that is a file or a pipe, wide enough to break no row."""
    console = Console()
    return console if console.is_terminal else Console(width=_WIDE + 50)


def say(console: Console, sentence: str, style: str = "") -> None:
    """Print one sentence, not wrapped: paths in it can then be copied."""
    console.print(Text(plain(sentence), style=style), soft_wrap=True)


def print_class(summaries: Sequence[Summary], console: Console) -> None:
    """The class table; on a narrow terminal the problems follow below it, one line each."""
    wide = console.width >= _WIDE
    console.print(class_table(summaries, with_problems=wide))
    if not wide:
        for summary in _sorted(summaries):
            if summary.problem:
                say(console, f"{summary.student}: {summary.problem}")


def class_table(summaries: Sequence[Summary], with_problems: bool = True) -> Table:
    """One row a student: state, points by part, public, hidden, total, first problem in words."""
    parts = sorted({part for summary in summaries for part, _, _ in summary.parts})
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("student", overflow="fold", min_width=18)
    table.add_column("state")
    most = max((summary.max_total for summary in summaries), default=0)
    for name in (*(f"P{part}" for part in parts), "public", "hidden", f"of {_points(most)}"):
        table.add_column(name, justify="right", no_wrap=True)
    if with_problems:
        # A ratio would let this column crush the others.
        table.add_column("first problem", no_wrap=True, overflow="ellipsis", max_width=60)
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
        Text(summary.state, style=_STATE_STYLE.get(summary.state, "")),
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
    words = ", ".join(
        f"{counts[state]} {state}"
        for state in ("graded", "partial", "missing", "error")
        if counts[state]
    )
    kept = sum(summary.kept for summary in summaries)
    earlier = f" ({kept} kept from an earlier run)" if kept else ""
    noun = "submission" if len(summaries) == 1 else "submissions"
    return f"{len(summaries)} {noun}: {words or 'none finished'}{earlier}."


def print_result(result: SubmissionResult, console: Console, every_test: bool = False) -> None:
    """One student's result: points by part, what did not pass and why, notes, output."""
    style = _STATE_STYLE.get(result.state, "")
    points = f"  {_points(result.total)}/{_points(result.max_total)} points"
    say(
        console,
        f"{result.student}  {result.state}{'' if result.state == 'error' else points}",
        style=f"bold {style}",
    )
    tier = result.sandbox_tier or "not used"
    when = f"{result.graded_at:%Y-%m-%d %H:%M} UTC"
    say(console, f"from {result.source}, graded {when}, sandbox: {tier}", style="dim")
    _print_lines(result.reason, console, style="red")
    if result.state not in ("missing", "error"):
        for part in result.parts:
            _print_part(part, console)
        for diagnosis in result.diagnoses:
            say(console, diagnosis.fact, style="bold")
        for test in result.tests:
            if every_test or test.state != "passed" or test.with_trusted_parts:
                _print_test(test, console)
    for note in result.notes:
        say(console, f"note: {note}", style="dim")
    if result.output_tail.strip():
        say(console, "output of the submission (end):", style="bold")
        _print_lines(result.output_tail, console, style="dim")


def _print_part(part: PartPoints, console: Console) -> None:
    points = f"public {_points(part.public)}/{_points(part.public_max)}"
    points += f", hidden {_points(part.hidden)}/{_points(part.hidden_max)}"
    full = (part.public, part.hidden) == (part.public_max, part.hidden_max)
    say(console, f"  Part {part.part}  {points}", style="green" if full else "")


def _print_test(test: TestResult, console: Console) -> None:
    mark, style = _TEST_MARK[test.state]
    line = Text(f"{mark} ", style=style)
    line.append(plain(f"{test.section} {test.title}"), style="default")
    points = f"{_points(test.points)}/{_points(test.max_points)}"
    line.append(f"  {points} {test.visibility}", style="dim")
    console.print(line, soft_wrap=True)
    if test.with_trusted_parts:
        _print_lines(test.message, console, style="yellow")
        first_line = test.own_message.strip().partition("\n")[0]
        _print_lines(f"with the student's own: {first_line}", console, style="dim")
    if test.state == "passed":
        return
    _print_lines(test.message, console)
    facts = []
    if test.first_bad_step is not None:
        facts.append(f"first bad step {test.first_bad_step}")
    if test.max_error is not None:
        facts.append(f"largest error {test.max_error:.3g}")
    if test.tolerance is not None:
        facts.append(f"tolerance {test.tolerance:.3g}")
    _print_lines(", ".join(facts), console, style="dim")


def _print_lines(text: str, console: Console, style: str = "") -> None:
    for line in plain(text.strip(), lines=True).splitlines():
        console.print(Text(f"    {line}", style=style), soft_wrap=True)
