"""`--to canvas`: fill one column of a gradebook that was exported from Canvas.

Canvas makes a new assignment of a column title that it does not know, so the column must be there
already, and every other byte of the file stays as it is: order, quotes, byte order mark, separator.
Canvas's exports begin with `Student` (or `LastName`, `FirstName`), `ID`, then `SIS User ID`, `SIS
Login ID`, `Integration ID`, `Root Account` as far as the account has them, and `Section`; then come
custom columns, assignments as `title (id)`, and read-only sums. Below the header may stand a row
about manual posting, then the row `    Points Possible`.
"""

import difflib
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from grader.base.errors import GraderError
from grader.grades.class_lists import read_file, student_key
from grader.grades.policy import Score
from grader.integrations.export.csv_file import number_cell
from grader.integrations.export.raw_csv import NotCsv, Row, join, parse
from grader.results.record import write_atomically

Match = Literal["auto", "login", "sis", "id", "name"]
ID_COLUMNS: dict[str, str] = {"login": "SIS Login ID", "sis": "SIS User ID", "id": "ID"}
STUDENT_COLUMNS = frozenset(
    {
        *("Student", "LastName", "FirstName", "ID", "SIS User ID", "SIS Login ID"),
        *("Integration ID", "Root Account", "Section"),
    }
)
POINTS_POSSIBLE = "Points Possible"
MAX_BYTES = 64 * 1024 * 1024
_READ_ONLY = re.compile(r"read\s+only", re.IGNORECASE)
_POSTING = re.compile(r"\s*(Muted|Manual Posting.*)?\s*", re.IGNORECASE)
_TITLE_AND_ID = re.compile(r"(?P<title>.*?)\s*\((?P<id>\d+)\)\s*")
# Excused, or not assigned to this student: a score there would be wrong.
_LEFT_ALONE = ("EX", "N/A")


@dataclass
class CanvasReport:
    """What was done, as sentences; every student is in exactly one place."""

    written: int = 0
    changed: list[str] = field(default_factory=list)  # had another score before
    left_alone: list[str] = field(default_factory=list)  # excused, not assigned, no grade
    duplicates: list[str] = field(default_factory=list)
    without_row: list[str] = field(default_factory=list)
    without_result: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def sentences(self) -> list[str]:
        """For the terminal; what needs a decision comes first."""
        lines = list(self.warnings)
        for title, names in (
            (
                "Nothing was written for these, for it is not clear whose score it is",
                self.duplicates,
            ),
            ("Results without a row in the Canvas file", self.without_row),
            (
                "Rows of the Canvas file without a result; their cells are unchanged",
                self.without_result,
            ),
            ("Cells left alone", self.left_alone),
            ("Another score stood there before", self.changed),
        ):
            if names:
                lines.append(f"{title} ({len(names)}): {'; '.join(names)}.")
        return lines


def fill_column(
    scores: Sequence[Score], exported: Path, column: str, match: Match = "auto"
) -> tuple[bytes, CanvasReport]:
    """The exported file with the scores in `column`; the file itself is not touched.

    Raises:
        GraderError: no Canvas file, no such column, a read-only one, or no student in common.
    """
    text, bom = _read(exported)
    delimiter = _delimiter(text)
    gradebook = _Gradebook(exported, _parse(exported, text, delimiter))
    index = gradebook.column(column)
    report = CanvasReport()
    _compare_points(gradebook, index, column, scores, report)
    rows_of = gradebook.rows_of(match)
    wanted = _matched(scores, rows_of, gradebook, report)
    if not wanted and not report.duplicates:
        raise GraderError(_nobody(exported, scores, gradebook, match))
    for position, score in wanted.items():
        _fill(gradebook, position, index, score, report)
    taken = wanted.keys() | _positions(scores, rows_of)
    report.without_result += [
        gradebook.name(position) for position in gradebook.students if position not in taken
    ]
    return bom + join(gradebook.rows, delimiter).encode(), report


def write_column(
    scores: Sequence[Score], exported: Path, column: str, path: Path, match: Match = "auto"
) -> CanvasReport:
    """Write what `fill_column` makes, atomically; `path` may be the exported file itself."""
    content, report = fill_column(scores, exported, column, match)
    write_atomically(path, content)
    return report


# ----------------------------------------------------------------------------------------- file


def _read(path: Path) -> tuple[str, bytes]:
    """Text and byte order mark."""
    content = read_file(path, "Canvas", MAX_BYTES)
    bom = b"\xef\xbb\xbf" if content.startswith(b"\xef\xbb\xbf") else b""
    try:
        return content[len(bom) :].decode(), bom
    except UnicodeDecodeError as problem:
        raise GraderError(
            f"{path} is not UTF-8 (byte {problem.start}), and Canvas exports UTF-8. Export it "
            "again and do not save it with a spreadsheet before."
        ) from None


def _delimiter(text: str) -> str:
    """Canvas writes semicolons for users whose language has a decimal comma."""
    match = re.match(r'"?(?:Student|LastName)"?\s*([,;\t])', text)
    return match[1] if match else ","


def _parse(path: Path, text: str, delimiter: str) -> list[Row]:
    try:
        return parse(text, delimiter)
    except NotCsv as problem:
        raise GraderError(f"{path} is not valid CSV: {problem}.") from None


class _Gradebook:
    """The rows of an exported gradebook, and which of them are students."""

    def __init__(self, path: Path, rows: list[Row]) -> None:
        self.path = path
        self.rows = rows
        self.header = [name.strip() for name in rows[0].values()] if rows else []
        self.points_row: Row | None = None
        self.students: list[int] = []  # positions in `rows`
        self._check_header()
        for position, row in enumerate(rows[1:], start=1):
            values = row.values()
            if POINTS_POSSIBLE in values[0]:
                self.points_row = row
            elif not all(map(_POSTING.fullmatch, values)):
                self.students.append(position)

    def _check_header(self) -> None:
        split = self.header[:2] == ["LastName", "FirstName"]
        first = self.header[: 3 if split else 2]
        expected = (["LastName", "FirstName", "ID"], ["Student", "ID"])
        if first not in expected or "Section" not in self.header:
            raise GraderError(
                f"{self.path} is not a gradebook exported from Canvas: its first line begins with "
                f"{', '.join(self.header[:4]) or 'nothing'}, expected Student, ID, …, Section. "
                "Export it in Canvas under Grades, Export."
            )
        self.name_columns = (0, 1) if split else (0,)

    def column(self, title: str) -> int:
        """The index of an assignment's column."""
        places = [index for index, name in enumerate(self.header) if name == title.strip()]
        if len(places) > 1:
            raise GraderError(
                f"{self.path} has {len(places)} columns {title!r}; Canvas takes the first, and so "
                "nothing was written. Export the gradebook again."
            )
        if not places:
            raise GraderError(self._no_column(title))
        index = places[0]
        section = self.header.index("Section")
        read_only = self.points_row and _READ_ONLY.search(self.points_row.value(index))
        if index <= section or self.header[index] in STUDENT_COLUMNS or read_only:
            raise GraderError(
                f"{title!r} is no assignment's column in {self.path}: Canvas does not let it be "
                f"changed. {self._assignments_sentence()} Nothing was written."
            )
        return index

    def _no_column(self, title: str) -> str:
        alike = self._alike(title)
        found = f"Alike are: {', '.join(map(repr, alike))}." if alike else ""
        return (
            f"There is no column {title!r} in {self.path}. {found or self._assignments_sentence()} "
            "Canvas would make a new assignment of it, so nothing was written. Give --column as it "
            "stands in the file, or export the right course."
        )

    def _assignments_sentence(self) -> str:
        shown = self._assignments()
        more = ", …" if len(shown) > 10 else ""
        return f"Its assignments are: {', '.join(map(repr, shown[:10])) or 'none'}{more}."

    def _assignments(self) -> list[str]:
        return [
            name
            for index, name in enumerate(self.header)
            if index > self.header.index("Section") and _TITLE_AND_ID.fullmatch(name)
        ]

    def _alike(self, title: str) -> list[str]:
        """Columns with the same id or title, then those spelled like it."""
        wanted = _TITLE_AND_ID.fullmatch(title)
        bare = (wanted["title"] if wanted else title).strip().casefold()
        same = [
            name
            for name in self._assignments()
            if (parts := _TITLE_AND_ID.fullmatch(name))
            and (parts["title"].casefold() == bare or (wanted and parts["id"] == wanted["id"]))
        ]
        return list(
            dict.fromkeys([*same, *difflib.get_close_matches(title, self._assignments(), n=5)])
        )

    def name(self, position: int) -> str:
        """`Doe, Jane (line 4)`."""
        row = self.rows[position]
        name = ", ".join(row.value(column).strip() for column in self.name_columns)
        return f"{name} (line {row.line})"

    def rows_of(self, match: Match) -> dict[str, set[int]]:
        """Rows by what a student's id may be in them, as a `student_key`."""
        found: dict[str, set[int]] = {}
        names = [match] if match != "auto" else list(ID_COLUMNS)
        wanted = [ID_COLUMNS[name] for name in names if name in ID_COLUMNS]
        present = [title for title in wanted if title in self.header]
        if wanted and not present:
            raise GraderError(f"{self.path} has no column {wanted[0]!r}; choose another --match.")
        for position in self.students:
            for title in present:
                value = self.rows[position].value(self.header.index(title)).strip()
                if value:
                    found.setdefault(_key(title, value), set()).add(position)
            for key in self._other_keys(position, match):
                found.setdefault(key, set()).add(position)
        return found

    def _other_keys(self, position: int, match: Match) -> set[str]:
        """Names, and the names that Canvas gives to downloaded submissions."""
        joined, *names = self._names(position)
        if match == "name":
            return {joined, *names}
        number = self.rows[position].value(self.header.index("ID")).strip()
        if match == "id":
            return {f"any_{number}:"}
        return {f"{joined}_{number}:"} if match == "auto" else set()

    def _names(self, position: int) -> list[str]:
        """`Doe, Jane` as doejane, as in Canvas's file names, doe_jane and jane_doe."""
        row = self.rows[position]
        parts = [row.value(column) for column in self.name_columns]
        if len(parts) == 1:
            parts = parts[0].split(",", 1)
        parts = [part.strip() for part in parts]
        orders = (parts, list(reversed(parts)))
        return [_letters("".join(parts)), *(student_key("_".join(order)) for order in orders)]


def _letters(name: str) -> str:
    return student_key("".join(filter(str.isalnum, name)))


def _key(title: str, value: str) -> str:
    return f"{title}:{student_key(value)}"


# ---------------------------------------------------------------------------------------- match


def _places(score: Score, rows_of: dict[str, set[int]]) -> set[int]:
    """The rows that may be of this student."""
    key = student_key(score.student)
    keys = [key, *(_key(title, score.student) for title in ID_COLUMNS.values())]
    # Canvas names downloads lastfirst_<ID>_<upload>_file; intake keeps lastfirst_<ID>. The number
    # alone is not enough unless asked for: alice_2 is rather Alice's second try than student 2.
    if canvas := re.fullmatch(r"(?P<name>.+)_(?P<id>\d+)", key):
        name = _letters(canvas["name"])
        keys += [name, f"{name}_{canvas['id']}:", f"any_{canvas['id']}:"]
    return set().union(*(rows_of.get(key, set()) for key in keys))


def _positions(scores: Iterable[Score], rows_of: dict[str, set[int]]) -> set[int]:
    return set().union(*(_places(score, rows_of) for score in scores))


def _matched(
    scores: Sequence[Score],
    rows_of: dict[str, set[int]],
    gradebook: _Gradebook,
    report: CanvasReport,
) -> dict[int, Score]:
    """The score for each row, where that is certain."""
    places = {score.submission: _places(score, rows_of) for score in scores}
    claimed = Counter(position for rows in places.values() for position in rows)
    wanted = {}
    for score in scores:
        rows = sorted(places[score.submission])
        names = ", ".join(map(gradebook.name, rows))
        if not rows:
            report.without_row.append(score.student)
        elif len(rows) > 1:
            report.duplicates.append(f"{score.student} fits {names}")
        elif claimed[rows[0]] > 1:
            report.duplicates.append(f"{score.student} is one of several results for {names}")
        elif score.repeated:
            report.duplicates.append(
                f"{score.student} has the same id as {', '.join(score.repeated)}, for {names}"
            )
        else:
            wanted[rows[0]] = score
    return wanted


def _nobody(path: Path, scores: Sequence[Score], gradebook: _Gradebook, match: Match) -> str:
    if not gradebook.students:
        return f"{path} has no student in it, so nothing was written."
    ours = ", ".join(score.student for score in scores[:3])
    theirs = ", ".join(map(gradebook.name, gradebook.students[:3]))
    hint = " Results named after students are found by --match name." if match == "auto" else ""
    return (
        f"None of the {len(scores)} results is of a student in {path}: results are of {ours}, rows "
        f"of {theirs}. Is it the file of another course? Nothing was written.{hint}"
    )


def _compare_points(
    gradebook: _Gradebook, index: int, column: str, scores: Sequence[Score], report: CanvasReport
) -> None:
    most = max((score.max_points for score in scores), default=0.0)
    said = gradebook.points_row.value(index).strip() if gradebook.points_row else ""
    try:
        possible = float(said.replace(",", "."))
    except ValueError:
        possible = None
    if possible is None or abs(possible - most) > 0.005:
        report.warnings.append(
            f"Warning: {column!r} has {said or 'no'} points possible in Canvas, and the policy "
            f"gives {number_cell(most)}. Scores are written as they are; change one of the two."
        )


def _fill(
    gradebook: _Gradebook, position: int, index: int, score: Score, report: CanvasReport
) -> None:
    row, name = gradebook.rows[position], gradebook.name(position)
    before = row.value(index).strip()
    if before.upper() in _LEFT_ALONE:
        report.left_alone.append(f"{name} has {before}")
    elif score.final is None:
        report.left_alone.append(f"{name}: {'; '.join(score.notes)}")
    elif index >= len(row.cells):
        report.left_alone.append(f"{name}: the row is too short to have this column")
    else:
        row.replace(index, number_cell(score.final))
        report.written += 1
        if before and not _same_number(before, score.final):
            report.changed.append(f"{name} had {before}, now {number_cell(score.final)}")


def _same_number(text: str, number: float) -> bool:
    try:
        return abs(float(text.replace(",", ".")) - number) < 0.005
    except ValueError:
        return False
