"""`--to csv`: one row a student.

Columns
  student         id under which the attempts were joined; else as `submission`
  name, email, section    by the roster; only where there is one
  submission      id of the result that counts
  state           graded, partial, missing, error
  submitted_at    ISO 8601 in UTC, empty where it is not known
  days_late       days of 24 hours since the student's due date
  raw             sum of the points of the parts and of the written answers
  minimum_loss    taken off because a part is below its minimum
  penalty         taken off for lateness
  adjusted        added by people (`grader adjust`), below zero where they took off
  final           the grade; empty where there is none (never a zero)
  max_points      what could be earned
  part_1, part_1_max, ...
  written         points of the written answers; empty where they do not count
  written_max     what these could earn
  below_minimum   these parts, joined by a space
  judged          who decided what and when: points, part, name, day, reason; joined by "; "
  notes           in words, joined by "; "

UTF-8 with a byte order mark (Excel needs it), commas, CRLF. A text that a spreadsheet would compute
has an apostrophe before it.
"""

import csv
import io
from collections.abc import Sequence
from datetime import UTC
from pathlib import Path

from assignment.harness.words import plain
from grader.base.words import tr
from grader.grades.class_scores import ClassScores
from grader.grades.policy import Judged, Score
from grader.results.record import write_atomically

# What makes Excel, LibreOffice or Google Sheets read a cell as a formula; the wide forms are taken
# for the narrow ones by some of them.
_FORMULA = ("=", "+", "-", "@", "＝", "＋", "－", "＠")


def write_csv(scores: ClassScores, path: Path) -> None:
    """Write the table atomically."""
    write_atomically(path, to_csv(scores).encode("utf-8-sig"))


def to_csv(scores: Sequence[Score]) -> str:
    """The table as text, without the byte order mark."""
    parts = sorted({part.part for score in scores for part in score.parts})
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\r\n")
    named = any(score.name or score.email for score in scores)
    writer.writerow(_header(parts, named))
    for score in scores:
        writer.writerow(_row(score, parts, named))
    return text.getvalue()


def _header(parts: Sequence[int], named: bool) -> list[str]:
    by_part = [name for part in parts for name in (f"part_{part}", f"part_{part}_max")]
    return [
        "student",
        *(("name", "email", "section") if named else ()),
        *("submission", "state", "submitted_at", "days_late"),
        *("raw", "minimum_loss", "penalty", "adjusted", "final", "max_points"),
        *by_part,
        *("written", "written_max", "below_minimum", "judged", "notes"),
    ]


def _row(score: Score, parts: Sequence[int], named: bool) -> list[str]:
    when = score.submitted_at.astimezone(UTC).isoformat() if score.submitted_at else ""
    by_number = {part.part: part for part in score.parts}
    of_parts: list[str] = []
    for number in parts:
        part = by_number.get(number)
        points = (part.points, part.max_points) if part else (None, None)
        of_parts += map(number_cell, points)
    graded = score.final is not None
    numbers = (score.days_late, score.raw, score.minimum_loss, score.penalty, score.adjusted)
    days, *taken = (number_cell(n if graded else None) for n in numbers)
    written = (score.written.points, score.written.max_points) if score.written else (None, None)
    return [
        _text(score.student),
        *(map(_text, (score.name, score.email, score.section)) if named else ()),
        *(_text(score.submission), score.state, when, days),
        *(*taken, number_cell(score.final), number_cell(score.max_points)),
        *of_parts,
        *map(number_cell, written),
        " ".join(map(str, score.below_minimum)),
        _text("; ".join(map(_decision, score.judged))),
        _text(tr("; ").join(score.notes)),
    ]


def _decision(judged: Judged) -> str:
    """`+3 points, part 4, by kim, 2026-11-30: the mask is right`."""
    points = "" if judged.points is None else f"{judged.points:+g} "
    if judged.kind == "override":
        points = f"{judged.points:g} "
    part = f", part {judged.part}" if judged.part is not None else ""
    return f"{points}{judged.kind}{part}, by {judged.by}, {judged.at:%Y-%m-%d}: {judged.text}"


def _text(text: str) -> str:
    return text_cell(plain(text, lines=True))


def text_cell(text: str) -> str:
    """`text` that no spreadsheet computes: an apostrophe stands before what would be a formula."""
    if text.startswith(("\t", "\r", "\n")) or text.lstrip().startswith(_FORMULA):
        return f"'{text}"
    return text


def number_cell(number: float | None) -> str:
    """`12`, `12.5`, or nothing: at most 6 digits after the point, never an exponent."""
    return "" if number is None else f"{number:.6f}".rstrip("0").rstrip(".")
