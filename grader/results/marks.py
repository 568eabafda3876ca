"""What people decide about grades: a log beside the records, added to and never rewritten.

    results/marks.jsonl     one JSON object a line, in the order in which they were given

No run touches it, so a regrade loses nothing. Who writes holds the file's lock, reads what is there
and adds lines at its end: two people at once lose nothing either. What was wrong is withdrawn by a
further line, so the file is the log of itself, appeals included.
"""

import fcntl
import getpass
import os
import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from grader.authoring.in_words import questions
from grader.base.errors import GraderError
from grader.base.notes import bounded
from grader.base.words import tr
from grader.intake.ids import safe_id

FILE = "marks.jsonl"
PATIENCE_S = 30.0  # for somebody else's writing, which scores a class at most
MAX_BYTES = 64 * 1024 * 1024

Kind = Literal["points", "override", "comment", "answer", "appeal", "settled", "withdrawn"]
_Number = Annotated[float, Field(ge=-1e6, le=1e6, allow_inf_nan=False)]


class Mark(BaseModel):
    """One decision of a person.

    Attributes:
        kind: `points` are added to the grade, `override` is the grade, `answer` are the points of a
            written answer; an `appeal` is `settled` by a mark that names it in `settles`.
        part: where added points belong, if they belong to one part.
        text: the reason, the comment, or what the student says.
        answer_hash: of the answer that was judged (see grader.intake.answers).
        withdraws: the mark that counts no more.
        before, after: the student's grade, by the policy that whoever decided gave.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: Annotated[str, Field(pattern=r"^[0-9a-f]{8}$")]
    at: AwareDatetime
    by: Annotated[str, bounded(200)]
    student: Annotated[str, bounded(300)]
    kind: Kind
    points: _Number | None = None
    part: int | None = None
    question: str = ""
    text: Annotated[str, bounded(4_000)] = ""
    answer_hash: str = ""
    withdraws: str = ""
    settles: str = ""
    before: float | None = None
    after: float | None = None


def new_mark(student: str, kind: Kind, by: str | None = None, **fields) -> Mark:
    """A mark of now; `by` is the user's name on this machine unless told."""
    now = datetime.now(UTC).replace(microsecond=0)
    who = by or _user()
    return Mark(id=secrets.token_hex(4), at=now, by=who, student=student, kind=kind, **fields)


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # nobody has this number
        return f"user {os.getuid()}"


@dataclass(frozen=True)
class Marks(Sequence[Mark]):
    """All marks of a results folder in order; `problems` are sentences on lines that are none."""

    marks: tuple[Mark, ...] = ()
    problems: tuple[str, ...] = ()

    def __getitem__(self, index):
        return self.marks[index]

    def __len__(self) -> int:
        return len(self.marks)

    def counting(self) -> tuple[Mark, ...]:
        """Those that nobody withdrew."""
        gone = {mark.withdraws for mark in self.marks if mark.withdraws}
        return tuple(mark for mark in self.marks if mark.id not in gone and not mark.withdraws)

    def by_student(self, student_of: Mapping[str, str] | None = None) -> dict[str, "Marks"]:
        """The marks of each, by `mark_key` of the name; `student_of` joins attempts' keys."""
        found: dict[str, list[Mark]] = {}
        for mark in self.marks:
            key = mark_key(mark.student)
            found.setdefault((student_of or {}).get(key, key), []).append(mark)
        return {key: Marks(tuple(marks)) for key, marks in found.items()}

    def open_appeals(self) -> tuple[Mark, ...]:
        """Appeals that nothing has settled."""
        settled = {mark.settles for mark in self.marks}
        return tuple(
            mark for mark in self.counting() if mark.kind == "appeal" and mark.id not in settled
        )

    def answers(self) -> dict[str, Mark]:
        """The mark of each written answer that counts, by question: the last that was given."""
        return {mark.question: mark for mark in self.counting() if mark.kind == "answer"}


def mark_key(name: str) -> str:
    """What two spellings of one student's id have in common."""
    return safe_id(name).casefold()


def read_marks(folder: Path) -> Marks:
    """The marks beside the records of `folder`; none where there is no file."""
    path = folder / FILE
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        return Marks()
    except OSError as problem:
        raise GraderError(_not_readable(path, problem)) from None
    with os.fdopen(descriptor, "rb") as file:
        return _parsed(_content(path, file), path)


def add_marks(folder: Path, decide: Callable[[Marks], Sequence[Mark]]) -> tuple[Mark, ...]:
    """Add what `decide` makes of the marks that are there, and return it.

    The file is held meanwhile. All of the new marks are written, or none.

    Raises:
        GraderError: no such folder, somebody holds the file, no room on the disk.
    """
    if not folder.is_dir():
        raise GraderError(
            f"There is no folder {folder}. Name the folder of the results with --results."
        )
    path = folder / FILE
    try:
        with _held(path) as file:
            there = _content(path, file)
            new = tuple(decide(_parsed(there, path)))
            # A line that a killed writer left unfinished must not swallow the next one.
            ended = b"" if there.endswith(b"\n") or not there else b"\n"
            lines = b"".join(mark.model_dump_json().encode() + b"\n" for mark in new)
            if new:
                _append(file.fileno(), len(there), ended + lines)
    except OSError as problem:
        raise GraderError(
            f"The marks could not be written to {path} ({problem.strerror}); nothing was changed. "
            "Make room or the folder writable, and say it again."
        ) from None
    return new


def merge_marks(folders: Iterable[Path], into: Path) -> tuple[int, list[str]]:
    """Bring the marks of other folders into `into`: (how many are new, sentences on conflicts).

    A mark is the same wherever it has the same id. Two people's different points for one answer,
    and two overrides, are told; the later of them counts until somebody decides.
    """
    others = [mark for folder in folders for mark in read_marks(folder)]

    def missing(there: Marks) -> list[Mark]:
        new = {mark.id: mark for mark in others}
        left = [mark for mark in new.values() if mark.id not in {old.id for old in there}]
        return sorted(left, key=lambda mark: mark.at)

    if not others:
        return 0, []
    n_new = len(add_marks(into, missing))
    return n_new, _conflicts(read_marks(into))


def _conflicts(marks: Marks) -> list[str]:
    said: dict[tuple[str, str], dict[str, Mark]] = {}
    for mark in marks.counting():
        if mark.kind in ("answer", "override"):
            key = (mark_key(mark.student), mark.question or mark.kind)
            said.setdefault(key, {})[mark.by] = mark
    sentences = []
    for (_, what), by_person in sorted(said.items()):
        last = sorted(by_person.values(), key=lambda mark: mark.at)
        if len({mark.points for mark in last}) > 1:
            names = tr("; ").join(f"{mark.by}: {mark.points:g}" for mark in last)
            sentences.append(
                tr(
                    "{student}, {what}: marked differently ({names}); the last counts.",
                    student=last[-1].student,
                    what=what,
                    names=names,
                )
            )
    return sentences


@contextmanager
def _held(path: Path) -> Iterator:
    """The file, locked; GraderError where somebody holds it for longer than PATIENCE_S."""
    patience = time.monotonic() + PATIENCE_S
    while True:
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK
        with os.fdopen(os.open(path, flags, 0o644), "r+b") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() > patience:
                    raise GraderError(
                        f"Somebody else is writing to {path}. Nothing was changed; say it again in "
                        "a moment."
                    ) from None
                time.sleep(0.05)
                continue
            # An editor may have put another file in its place meanwhile.
            if path.exists() and os.path.samestat(path.stat(), os.fstat(file.fileno())):
                yield file
                return


def _append(descriptor: int, size: int, lines: bytes) -> None:
    try:
        written = os.write(descriptor, lines)
        if written < len(lines):
            os.write(descriptor, lines[written:])
        os.fsync(descriptor)
    except OSError:
        os.ftruncate(descriptor, size)
        raise


def _content(path: Path, file) -> bytes:
    try:
        content = file.read(MAX_BYTES + 1)
    except OSError as problem:
        raise GraderError(_not_readable(path, problem)) from None
    if len(content) > MAX_BYTES:
        raise GraderError(f"{path} is larger than {MAX_BYTES >> 20} MiB, so it is something else.")
    return content


def _not_readable(path: Path, problem: OSError) -> str:
    return (
        f"The marks in {path} cannot be read ({problem.strerror}), and grades without them would "
        "be wrong. Make the file readable."
    )


def _parsed(content: bytes, path: Path) -> Marks:
    marks, problems = [], []
    for number, line in enumerate(content.split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            marks.append(_checked(Mark.model_validate_json(line)))
        except (ValueError, RecursionError):
            problems.append(
                tr(
                    "{file}, line {line} is no mark and does not count; it stays in the file.",
                    file=path.name,
                    line=number,
                )
            )
    return Marks(tuple(marks), tuple(problems))


def _checked(mark: Mark) -> Mark:
    """ValueError where a kind lacks what it needs."""
    if mark.kind in ("points", "override", "answer") and mark.points is None:
        raise ValueError("no points")
    if mark.kind == "answer":
        most = {question.id: question.points for question in questions()}
        if mark.question not in most or not 0 <= (mark.points or 0) <= most[mark.question]:
            raise ValueError("no points of this question")
    return mark
