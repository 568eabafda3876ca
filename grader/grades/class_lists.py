"""Small CSV files about a class: who handed what in when, and who has an extension."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from grader.base.errors import GraderError
from grader.grades.lateness import Late
from grader.intake.ids import safe_id

MAX_BYTES = 4 * 1024 * 1024
DAY = timedelta(days=1)


def student_key(name: str) -> str:
    """What two spellings of one student's id have in common."""
    return safe_id(name).casefold()


def read_file(path: Path, what: str, most: int = MAX_BYTES) -> bytes:
    """A file of at most so many bytes; `what` names it in the GraderError about it."""
    try:
        with path.open("rb") as file:
            content = file.read(most + 1)
    except OSError as problem:
        raise GraderError(f"The {what} file {path} cannot be read: {problem.strerror}.") from None
    if len(content) > most:
        raise GraderError(
            f"The {what} file {path} is larger than {most >> 20} MiB, so it is something else."
        )
    return content


def read_text(path: Path, what: str, most: int = MAX_BYTES) -> str:
    """A small UTF-8 file; `what` names it in the GraderError about it."""
    try:
        return read_file(path, what, most).decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        raise GraderError(
            f"The {what} file {path} is not UTF-8 (byte {problem.start}). Save it as UTF-8."
        ) from None


def read_rows(
    path: Path, what: str, needed: str, known: Sequence[str], most: int = MAX_BYTES
) -> Iterator[tuple[int, dict]]:
    """(line, row) of a CSV file with a header; cells are stripped, empty lines skipped."""
    # Not a DictReader: it takes a second column of one name in silence.
    rows = csv.reader(io.StringIO(read_text(path, what, most), newline=""), strict=True)
    try:
        header = [name.strip().lower() for name in next(rows, [])]
        extra = [name for name in header if name not in known]
        if needed not in header or extra or len(set(header)) < len(header):
            raise GraderError(
                f"The first line of {path} is {','.join(header)!r}; expected the columns "
                f"{', '.join(known)}, of which `{needed}` must be there.{_separated(header)}"
            )
        for row in rows:
            cells = [cell.strip() for cell in row]
            if not any(cells):
                continue
            if len(cells) != len(header):
                raise GraderError(
                    f"{path}, line {rows.line_num}: {len(cells)} cells, expected {len(header)}."
                )
            yield rows.line_num, dict(zip(header, cells, strict=True))
    except csv.Error as problem:
        raise GraderError(f"{path}, line {rows.line_num}: not valid CSV ({problem}).") from None


def _separated(header: list[str]) -> str:
    """A hint where a spreadsheet has saved with another sign than the comma."""
    for sign, name in ((";", "semicolons"), ("\t", "tabs")):
        if len(header) == 1 and sign in header[0]:
            return (
                f" Its cells are separated by {name}: save it with commas (in a spreadsheet, CSV "
                f"with the comma as separator), or replace the {name}."
            )
    return ""


def _read_moment(path: Path, line: int, text: str, late: Late) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise GraderError(
            f"{path}, line {line}: {text!r} is no moment like 2026-10-05T23:59:00+02:00."
        ) from None
    try:
        return late.aware(moment)
    except ValueError as problem:
        raise GraderError(f"{path}, line {line}: {text!r}: {problem}.") from None


def read_extensions(path: Path, late: Late) -> dict[str, datetime]:
    """Due dates by `student_key` of a CSV file: student,due or student,days."""
    of_all = late.at("due")
    if of_all is None:
        raise GraderError(f"{path}: extensions need a due date of all; set `due` in the policy.")
    due_of: dict[str, datetime] = {}
    first_line: dict[str, int] = {}
    for line, row in read_rows(path, "extensions", "student", ("student", "due", "days")):
        student, due, days = row["student"], row.get("due", ""), row.get("days", "")
        key = student_key(student)
        if not student or bool(due) == bool(days):
            raise GraderError(
                f"{path}, line {line}: expected a student and either `due` or `days`, found "
                f"student {student!r}, due {due!r}, days {days!r}."
            )
        if key in due_of:
            raise GraderError(
                f"{path}: {student!r} has two extensions, in lines {first_line[key]} and {line}. "
                "Keep one."
            )
        first_line[key] = line
        moment = due_of[key] = (
            _read_moment(path, line, due, late) if due else _later(path, line, days, of_all)
        )
        if moment < of_all:
            raise GraderError(
                f"{path}, line {line}: the extension of {student!r} ends before the due date "
                f"{of_all.isoformat()}."
            )
    return due_of


def _later(path: Path, line: int, days: str, due: datetime) -> datetime:
    try:
        number = float(days)
        if not 0 <= number <= 3650:
            raise ValueError
    except ValueError:
        raise GraderError(
            f"{path}, line {line}: days is {days!r}, expected a number from 0 to 3650."
        ) from None
    return due + number * DAY


@dataclass(frozen=True)
class Submission:
    """Whose a submission is and when it came; `name` is the id its record has."""

    name: str
    student: str
    submitted_at: datetime | None = None


def read_submissions(path: Path, late: Late) -> dict[str, Submission]:
    """Submissions by the `student_key` of their name, of a CSV file.

    Columns: `student`; `submitted_at` (ISO 8601; without an offset in the policy's time zone);
    `submission`, the id of the result, for students who have several (default: the student).
    """
    found: dict[str, Submission] = {}
    lines: dict[str, int] = {}
    known = ("submission", "student", "submitted_at")
    for line, row in read_rows(path, "submissions", "student", known):
        student, moment = row["student"], row.get("submitted_at", "")
        name = row.get("submission", "") or student
        if not student:
            raise GraderError(f"{path}, line {line}: the student is missing.")
        key = student_key(name)
        if key in found:
            hint = "" if row.get("submission") else " Tell them apart by a column `submission`."
            raise GraderError(
                f"{path}: {name!r} stands in lines {lines[key]} and {line}, and a result is of one "
                f"submission.{hint}"
            )
        lines[key] = line
        at = _read_moment(path, line, moment, late) if moment else None
        found[key] = Submission(name, student, at)
    return found
