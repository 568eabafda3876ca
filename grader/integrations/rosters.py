"""A roster from what platforms export, and when each work came in where they say so.

* Canvas: Grades, Export. `ID` is the number in its file names.
* Moodle: the grading worksheet (`Participant 123` is the number in its folder names, and it has
  times), or the list of participants.
* Gradescope: the roster, or `submission_metadata.yml` from an export of submissions, with times.

Any other table with a column for an id and one for a name or an address is taken too.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from grader.base.errors import GraderError
from grader.grades.class_lists import read_text, student_key
from grader.grades.roster import Roster, Student, checked
from grader.intake.ids import student_id

# What platforms call a column, the best for the purpose first.
IDS = ("sis user id", "id number", "sid", "student id", "id", "username", "sis login id", "login")
NAMES = ("full name", "student", "name")
FIRST, LAST = ("first name", "firstname"), ("last name", "lastname", "surname")
EMAILS = ("email address", "email", "e-mail", "sis login id")
SECTIONS = ("section", "sections", "group", "groups")
TIMES = ("last modified (submission)",)
_NO_STUDENT = re.compile(r"\s*(points possible|student, test|test student)?\s*", re.IGNORECASE)
_PARTICIPANT = re.compile(r"\D*(\d+)")
# As Moodle writes it in English: Monday, 5 October 2026, 11:59 PM
_MOODLE_TIMES = ("%A, %d %B %Y, %I:%M %p", "%A, %d %B %Y, %H:%M")


@dataclass(frozen=True)
class Handed:
    """When a work came in; `at` is naive where the platform names no offset."""

    submission: str
    student: str
    at: datetime


@dataclass(frozen=True)
class Export:
    """What an exported file says of a course."""

    roster: Roster
    handed: tuple[Handed, ...] = ()


def read_export(path: Path) -> Export:
    """A platform's file.

    Raises:
        GraderError: it cannot be read, it is nothing of the kind, or two people share an id.
    """
    text = read_text(path, "roster")
    if path.suffix.lower() in (".yml", ".yaml"):
        found = _of_metadata(path, text)
    else:
        found = _of_table(path, text)
    return replace(found, roster=checked(found.roster, path))


def with_decisions(roster: Roster, earlier: Roster | None) -> Roster:
    """The roster with the aliases that somebody decided on before."""
    known = {student_key(student.id): student.aliases for student in earlier or ()}

    def joined(student: Student) -> Student:
        aliases = {student_key(alias): alias for alias in known.get(student_key(student.id), ())}
        aliases |= {student_key(alias): alias for alias in student.aliases}
        return replace(student, aliases=tuple(aliases.values()))

    return Roster(tuple(map(joined, roster)))


def times_csv(export: Export) -> str:
    """The file that `--submitted` takes."""
    table = io.StringIO(newline="")
    writer = csv.writer(table, lineterminator="\n")
    writer.writerow(("submission", "student", "submitted_at"))
    for handed in export.handed:
        writer.writerow((handed.submission, handed.student, handed.at.isoformat()))
    return table.getvalue()


# ------------------------------------------------------------------------------------- a table


def _of_table(path: Path, text: str) -> Export:
    rows = list(_table(path, text))
    columns = rows[0].keys() if rows else ()
    if not (set(IDS) & set(columns) or "identifier" in columns) or not (
        {*NAMES, *FIRST, *EMAILS} & set(columns)
    ):
        raise GraderError(
            f"{path} is no roster: its first line names {', '.join(columns) or 'no column'}. "
            "Expected Canvas' exported gradebook, Moodle's grading worksheet or participants, "
            "Gradescope's roster or submission_metadata.yml, or a table with an id and a name."
        )
    students: list[Student] = []
    handed: list[Handed] = []
    for row in rows:
        if _is_student(row):
            student = _student(row)
            students.append(student)
            handed += _handed(row, student)
    return Export(Roster(tuple(students)), tuple(handed))


def _table(path: Path, text: str) -> Iterator[dict[str, str]]:
    """The rows by the names of columns, which are in lower case."""
    first = text.partition("\n")[0]
    delimiter = max(",;\t", key=first.count)
    try:
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True))
    except csv.Error as problem:
        raise GraderError(f"{path} is not valid CSV ({problem}).") from None
    header = [name.strip().lower() for name in rows[0]] if rows else []
    for cells in rows[1:]:
        if any(cell.strip() for cell in cells):
            yield dict(zip(header, (cell.strip() for cell in cells), strict=False))


def _is_student(row: dict[str, str]) -> bool:
    """Not the teacher, not the row of maxima, not Canvas' test student."""
    if row.get("role", "student").lower() not in ("", "student"):
        return False
    name = _first(row, NAMES) or _first(row, LAST) or _first(row, EMAILS)
    return _NO_STUDENT.fullmatch(name) is None


def _student(row: dict[str, str]) -> Student:
    numbers = [row[column] for column in IDS if row.get(column)]
    participant = _participant(row)
    email = next((row[column] for column in EMAILS if "@" in row.get(column, "")), "")
    own = _first(row, IDS) or email or participant
    names = dict.fromkeys([*numbers, participant])
    aliases = tuple(name for name in names if name and name not in (own, email))
    return Student(own, _name(row), email, _first(row, SECTIONS), aliases)


def _name(row: dict[str, str]) -> str:
    """`Doe, Jane` as `Jane Doe`."""
    if whole := _first(row, NAMES):
        last, comma, first = whole.partition(",")
        return f"{first.strip()} {last.strip()}" if comma else whole
    return f"{_first(row, FIRST)} {_first(row, LAST)}".strip()


def _participant(row: dict[str, str]) -> str:
    found = _PARTICIPANT.fullmatch(row.get("identifier", ""))
    return found[1] if found else ""


def _handed(row: dict[str, str], student: Student) -> Iterator[Handed]:
    number, text = _participant(row), _first(row, TIMES)
    for form in _MOODLE_TIMES if number else ():
        try:
            at = datetime.strptime(text, form)
        except ValueError:
            continue
        folder = f"{_first(row, NAMES)}_{number}_assignsubmission_file_"
        yield Handed(student_id(folder), student.id, at)
        return


def _first(row: dict[str, str], columns: tuple[str, ...]) -> str:
    return next((row[column] for column in columns if row.get(column)), "")


# ---------------------------------------------------------------------------- Gradescope's YAML

_SUBMISSION = re.compile(r"(submission_\d+):\s*")
_FIELD = re.compile(r"\s+(?:- )?:(name|sid|email|created_at):\s*(.*?)\s*")


def _of_metadata(path: Path, text: str) -> Export:
    """Only the fields that matter, line by line: what Gradescope writes needs no more of YAML."""
    students: dict[str, Student] = {}
    handed: list[Handed] = []
    for submission, people, at in _submissions(path, text):
        for fields in people:
            own = fields.get("sid") or fields.get("email") or submission
            known = students.get(own) or Student(
                own, fields.get("name", ""), fields.get("email", "")
            )
            # A group's work is the first one's; the others are told by the instructor.
            mine = (submission,) if fields is people[0] else ()
            students[own] = replace(known, aliases=(*known.aliases, *mine))
            if at and mine:
                handed.append(Handed(submission, own, at))
    if not students:
        raise GraderError(
            f"{path} names no submission with submitters: expected Gradescope's "
            "submission_metadata.yml, from Export Submissions."
        )
    return Export(Roster(tuple(students.values())), tuple(handed))


def _submissions(
    path: Path, text: str
) -> Iterator[tuple[str, list[dict[str, str]], datetime | None]]:
    submission, at = "", None
    people: list[dict[str, str]] = []
    for line in text.splitlines():
        if begun := _SUBMISSION.fullmatch(line):
            if people:
                yield submission, people, at
            submission, people, at = begun[1], [], None
        elif submission and (found := _FIELD.fullmatch(line)):
            name, value = found[1], found[2].strip("'\"")
            if name == "created_at":
                at = at or _moment(path, value)
                continue
            if line.lstrip().startswith("- ") or not people:
                people.append({})
            people[-1][name] = value
    if people:
        yield submission, people, at


def _moment(path: Path, text: str) -> datetime:
    """`2026-10-05 12:00:00.123456789 Z`, with the offset that it has."""
    shortened = re.sub(r"(\.\d{6})\d*", r"\1", text).replace(" Z", "+00:00")
    try:
        return datetime.fromisoformat(shortened.replace(" +", "+").replace(" -", "-"))
    except ValueError:
        raise GraderError(f"{path}: {text!r} is no moment that is known here.") from None
