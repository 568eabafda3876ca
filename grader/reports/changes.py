"""Which scores changed, as a table in the terminal and as CSV."""

import csv
import io
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from assignment.harness.words import plain
from grader.base.terminal import say
from grader.base.words import spoken, tr, tr_n
from grader.results.changes import (
    Change,
    mixed_class,
    no_longer_handed_in,
    other_limits,
    read_changes,
    settled_scores,
)
from grader.results.history import HISTORY, Score

_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def tell_after_run(
    out: Path,
    students: Iterable[str],
    suite_hash: str,
    limits: dict[str, float],
    began_ns: int,
    console: Console,
    complain: Callable[[str], None],
    quiet: bool = False,
) -> None:
    """What a run changed, and loudly what keeps the results from being one class."""
    changes = read_changes(out, began_ns)
    if not quiet:
        if changes:
            print_changes(changes, console)
        if left := no_longer_handed_in(out, students):
            say(console, left)
    scores = settled_scores(out)
    for told in (mixed_class(out, suite_hash, scores), other_limits(out, limits, scores)):
        if told:
            complain(told)


def print_changes(changes: Sequence[Change], console: Console) -> None:
    """The table and the number; `grader changes` shows it again."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column(tr("student"), overflow="fold")
    table.add_column(tr("old"), justify="right", no_wrap=True)
    table.add_column(tr("new"), justify="right", no_wrap=True)
    table.add_column(tr("by part"), overflow="fold")
    table.add_column(tr("why"), overflow="fold")
    table.add_column(tr("when (UTC)"), no_wrap=True, style="dim")
    for change in changes:
        down = change.old is not None and change.new.total < change.old.total
        table.add_row(
            Text(plain(change.student)),
            Text(_score(change.old)),
            Text(_score(change.new), style="yellow" if down else "green"),
            Text(tr(", ").join(f"P{p} {_points(a)}→{_points(b)}" for p, a, b in change.parts)),
            Text(change.why),
            Text(_date(change.new)),
        )
    console.print(table)
    number = tr_n(len(changes), "1 score changed.", "{n} scores changed.")
    kept = tr("The old records are kept in {folder}/.", folder=HISTORY)
    say(console, f"{number}{tr(' ')}{kept}")


def _score(score: Score | None) -> str:
    if score is None:
        return "?"
    # An error is no grade: it must not look like a zero.
    return spoken(score.state) if score.state in ("error", "missing") else _points(score.total)


def _points(points: float | None) -> str:
    return "-" if points is None else f"{points:.2f}".rstrip("0").rstrip(".")


def _date(score: Score) -> str:
    return f"{score.graded_at.astimezone(UTC):%Y-%m-%d %H:%M}"


def changes_csv(changes: Sequence[Change]) -> str:
    """One row a change, points by part in columns of their own; opens in a spreadsheet as text."""
    parts = sorted({p for c in changes for s in (c.old, c.new) if s is not None for p in s.by_part})
    table = io.StringIO(newline="")
    writer = csv.writer(table)
    by_part = [f"part {part} {age}" for part in parts for age in ("old", "new")]
    head = ["student", "graded at", "old state", "new state", "old total", "new total", "maximum"]
    writer.writerow([*head, *by_part, "why"])
    for change in changes:
        old, new = change.old, change.new
        cells = [
            change.student,
            new.graded_at.astimezone(UTC).isoformat(),
            old.state if old else "unreadable",
            new.state,
            old.total if old else "",
            "" if new.state == "error" else new.total,
            new.max_total,
        ]
        for part in parts:
            cells += [old.by_part.get(part, "") if old else "", new.by_part.get(part, "")]
        writer.writerow([_no_formula(cell) for cell in (*cells, change.why)])
    return table.getvalue()


def _no_formula(cell: object) -> object:
    """A text that a spreadsheet would take for a formula gets an apostrophe before it."""
    if isinstance(cell, str) and cell.lstrip(" \n").startswith(_FORMULA_STARTS):
        return f"'{cell}"
    return cell
