"""Who is in the course: `roster.csv` beside the results, and whose a submission is by it.

    id,name,email,section,aliases
    1001,Ana Alba,ana@uni.edu,B,doejane_12;B_ana

One row a person. `aliases` are ids of submissions that are theirs, separated by semicolons: what
nobody could match by itself, an instructor has decided.
"""

from __future__ import annotations

import csv
import io
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from grader.base.errors import GraderError
from grader.base.words import tr
from grader.grades.class_lists import read_rows, student_key
from grader.results.record import write_atomically

FILE = "roster.csv"
COLUMNS = ("id", "name", "email", "section", "aliases")
_NUMBER = re.compile(r"(?P<name>.+)_(?P<number>\d+)(-\d+)?")


@dataclass(frozen=True)
class Student:
    """One person of the course."""

    id: str
    name: str = ""
    email: str = ""
    section: str = ""
    aliases: tuple[str, ...] = ()

    @property
    def keys(self) -> set[str]:
        """Whatever names this person alone: a submission of such an id is theirs."""
        of_section = f"{self.section}_{self.id}" if self.section else self.id
        return {
            student_key(name) for name in (self.id, of_section, self.email, *self.aliases) if name
        }


@dataclass(frozen=True)
class Roster:
    """All of a course."""

    students: tuple[Student, ...] = ()

    def __iter__(self) -> Iterator[Student]:
        return iter(self.students)

    def __len__(self) -> int:
        return len(self.students)

    def whose(self, submission: str) -> tuple[Student, ...]:
        """Whose the submission of this id may be: nobody's, one person's, or one of several.

        By id, e-mail address or alias; else by the number that a platform put behind the name; else
        by the name before it, in any order of its words, as `doejane` or `Jane_Doe`.
        """
        key = student_key(submission)
        numbered = _NUMBER.fullmatch(key)
        number = numbered["number"] if numbered else ""
        letters = _letters(numbered["name"] if numbered else key)
        return (
            self._where(lambda student: key in student.keys)
            or self._where(lambda student: bool(number) and number in student.keys)
            or self._where(lambda student: bool(letters) and letters in _orders(student.name))
        )

    def _where(self, is_wanted) -> tuple[Student, ...]:
        return tuple(student for student in self.students if is_wanted(student))

    def with_alias(self, submission: str, student_id: str) -> Roster:
        """The roster in which this submission is that person's and nobody else's.

        Raises:
            GraderError: nobody has this id, or the submission names somebody else by itself.
        """
        wanted = self._where(lambda student: student_key(student.id) == student_key(student_id))
        if not wanted:
            raise GraderError(
                f"Nobody on the roster has the id {student_id!r}. Add a row to {FILE}, or name one "
                "of its ids."
            )
        key = student_key(submission)
        for other in self.students:
            if other is not wanted[0] and key in {student_key(other.id), student_key(other.email)}:
                raise GraderError(
                    f"{submission!r} is the id or the address of {other.id} on the roster, so it "
                    "cannot be somebody else's."
                )
        return Roster(
            tuple(_with(student, key, submission, wanted[0]) for student in self.students)
        )


def _with(student: Student, key: str, submission: str, owner: Student) -> Student:
    others = tuple(alias for alias in student.aliases if student_key(alias) != key)
    if student is not owner or key in (student.keys - {student_key(a) for a in student.aliases}):
        return replace(student, aliases=others)
    return replace(student, aliases=(*others, submission))


def _orders(name: str) -> set[str]:
    """The letters of a name, from each of its words on and round: `janedoe`, `doejane`."""
    words = [letters for word in re.split(r"[\s,._-]+", name) if (letters := _letters(word))]
    return {"".join((*words[start:], *words[:start])) for start in range(len(words))}


def _letters(text: str) -> str:
    """Without accents, spaces and signs; Chinese and other scripts stay as they are."""
    plain = unicodedata.normalize("NFKD", text.casefold())
    return "".join(sign for sign in plain if sign.isalnum())


# ------------------------------------------------------------------------------------- the file


def find_roster(results: Path) -> Roster | None:
    """The roster beside the results, if there is one."""
    path = results / FILE
    return read_roster(path) if path.exists() else None


def read_roster(path: Path) -> Roster:
    """The roster in a file.

    Raises:
        GraderError: it cannot be read, a row has no id, or two rows share an id, an address or an
            alias.
    """
    students, lines = [], []
    for line, row in read_rows(path, "roster", "id", COLUMNS):
        if not row["id"]:
            raise GraderError(f"{path}, line {line}: the id is missing.")
        aliases = tuple(filter(None, map(str.strip, row.get("aliases", "").split(";"))))
        rest = {name: row.get(name, "") for name in COLUMNS[1:4]}
        students.append(Student(row["id"], aliases=aliases, **rest))
        lines.append(line)
    return checked(Roster(tuple(students)), path, lines)


def checked(roster: Roster, path: Path, lines: Sequence[int] = ()) -> Roster:
    """The same roster.

    Args:
        lines: of its students in the file.

    Raises:
        GraderError: nobody is on it, or two share an id, an address or an alias.
    """
    if not roster.students:
        raise GraderError(f"{path} has no row below its first line: nobody is on the roster.")
    for number, student in enumerate(roster):
        if not student.id:
            where = f", line {lines[number]}" if lines else ""
            who = student.name or student.email or "somebody"
            raise GraderError(f"{path}{where}: {who} has no id. Give one, or leave the row out.")
    first: dict[str, int] = {}
    for number, student in enumerate(roster):
        named = [("id", student.id), ("address", student.email)]
        named += [("alias", alias) for alias in student.aliases]
        for what, name in named:
            other = first.setdefault(student_key(name), number) if name else number
            if other != number:
                where = f" (lines {lines[other]} and {lines[number]})" if lines else ""
                raise GraderError(
                    f"{path}: {roster.students[other].id} and {student.id} both have the {what} "
                    f"{name!r}{where}, and whose a submission is would not be known. Correct one "
                    "of them."
                )
    return roster


def write_roster(path: Path, roster: Roster) -> None:
    """The whole file or none; spreadsheets take it as it is.

    Raises:
        GraderError: it cannot be written.
    """
    table = io.StringIO(newline="")
    writer = csv.writer(table, lineterminator="\n")
    writer.writerow(COLUMNS)
    for student in roster:
        row = (student.id, student.name, student.email, student.section, ";".join(student.aliases))
        writer.writerow(row)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, table.getvalue().encode())
    except OSError as problem:
        raise GraderError(f"{path} cannot be written ({problem.strerror}).") from None


# ------------------------------------------------------------------------------------- matching


@dataclass(frozen=True)
class Matched:
    """Which submissions are whose, and what nobody but a person can say.

    Attributes:
        of: the one person whose each submission is.
        unknown: submissions of nobody on the roster.
        ambiguous: submissions that may be of several, with their ids.
        absent: who has no submission.
    """

    of: dict[str, Student]
    unknown: tuple[str, ...]
    ambiguous: dict[str, tuple[str, ...]]
    absent: tuple[Student, ...]

    @property
    def is_of_another_course(self) -> bool:
        """Whether the roster knows none of several submissions."""
        return not self.of and len(self.unknown) + len(self.ambiguous) > 0


def labels(results: Path, submissions: Iterable[str]) -> dict[str, str]:
    """`Ana Alba (albaana_12)` for each submission whose person the roster beside the results knows.

    Only to be looked at: a roster that cannot be read is told where grades are made of it.
    """
    try:
        roster = find_roster(results)
    except GraderError:
        roster = None
    found = match(roster, submissions).of if roster else {}
    return {name: f"{person.name} ({name})" for name, person in found.items() if person.name}


def register(roster: Roster | None, submissions: Sequence[str], problems: list[str]) -> Matched:
    """What the roster says of a class; what a person must decide is told in `problems`.

    Where there is no roster, or another course's, nobody is matched and nobody is missed.
    """
    if roster is None:
        return Matched({}, (), {}, ())
    found = match(roster, submissions)
    if found.is_of_another_course:
        problems.append(
            tr(
                "None of these {n} results is of anybody in {file}: is it another course's? It was "
                "not used.",
                n=len(submissions),
                file=FILE,
            )
        )
        return Matched({}, (), {}, ())
    decide = tr("Say whose with `grader roster match {submission} ID`.", submission="SUBMISSION")
    if found.unknown:
        names = tr(", ").join(found.unknown)
        told = tr("Results of nobody in {file}: {names}.", file=FILE, names=names)
        problems.append(f"{told}{tr(' ')}{decide}")
    for submission, several in found.ambiguous.items():
        ids = tr(", ").join(several)
        told = tr("{submission} may be {students}.", submission=submission, students=ids)
        problems.append(f"{told}{tr(' ')}{decide}")
    return found


def match(roster: Roster, submissions: Iterable[str]) -> Matched:
    """Whose each of these ids of submissions is."""
    whose = {submission: roster.whose(submission) for submission in sorted(submissions)}
    of = {submission: found[0] for submission, found in whose.items() if len(found) == 1}
    handed_in = {student.id for student in of.values()}
    return Matched(
        of,
        tuple(submission for submission, found in whose.items() if not found),
        {s: tuple(one.id for one in found) for s, found in whose.items() if len(found) > 1},
        tuple(student for student in roster if student.id not in handed_in),
    )
