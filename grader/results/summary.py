"""What is known of a record without reading it: what tables show, and an index kept beside them.

    results/.grader.index     a digest, then JSON: of each record its file as it lay there, a brief

An entry of the index counts only while the file has the size, times and inode that it had when it
was read. So the records stay the truth, and the index may be deleted at any time.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from grader.base.notes import Note, in_words
from grader.base.words import spoken
from grader.results.record import (
    SCHEMA_VERSION,
    PartPoints,
    SubmissionResult,
    TestResult,
    record_path,
    write_atomically,
)

FILE = ".grader.index"  # not *.json: those are records
VERSION = 1
# What a brief leaves out: all that is not needed for a grade.
_LEFT_OUT = {"tests", "diagnoses", "output_tail", "generated_text", "expected_text"}

Stamp = list[int]


@dataclass(frozen=True)
class Summary:
    """What the class table shows of one submission; small, for a thousand stay in memory."""

    student: str
    state: str
    kept: bool
    parts: tuple[tuple[int, float, float], ...]  # part, points, maximum
    public: float
    hidden: float
    total: float
    max_total: float
    problem: str
    misnamed: bool = False  # a file of it was left out, that may be meant for a module


def summarise(result: SubmissionResult, kept: bool = False) -> Summary:
    """The few numbers and words of a result that the class table needs."""
    return Summary(
        student=result.student,
        state=result.state,
        kept=kept,
        parts=tuple(
            (row.part, row.public + row.hidden, row.public_max + row.hidden_max)
            for row in result.parts
        ),
        public=sum(row.public for row in result.parts),
        hidden=sum(row.hidden for row in result.parts),
        total=result.total,
        max_total=result.max_total,
        problem=_first_problem(result)[:160],
        misnamed=any(one.kind == "near_miss" for one in result.notes),
    )


def _first_problem(result: SubmissionResult) -> str:
    if result.state in ("missing", "error"):
        return result.reason
    for one in result.notes:
        if one.kind == "near_miss":  # which explains all that follows
            return in_words(one)
    failing = [test for test in result.tests if test.state != "passed"]
    named = [found.fact for found in result.diagnoses if found.bugs]
    if named:
        return named[0]
    # What the student did wrong says more than what was never begun.
    failing.sort(key=lambda test: test.state in ("not_started", "waiting"))
    if not failing:
        return ""
    first = failing[0]
    lines = first.message.strip().splitlines()
    if lines and first.state in ("not_started", "waiting"):
        return lines[0]  # the stub that was reached names its own section
    # Where it goes wrong says more than that shape and dtype are right.
    words = first.where or next(iter(lines), spoken(first.state.replace("_", " ")))
    return f"{first.section} {words}"


def stamp_of(path: Path) -> Stamp | None:
    """Size, times in ns, inode and mode of a file itself; None where there is none."""
    try:
        status = path.lstat()
    except OSError:
        return None
    return [status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino, status.st_mode]


@dataclass
class Index:
    """The entries of one results folder; `save` writes them if any is new.

    An entry has the keys `stamp`, `brief` and `handed_in` (see grader.running.unchanged).
    """

    folder: Path
    entries: dict[str, dict[str, Any]]
    is_new: bool = False

    @classmethod
    def load(cls, folder: Path) -> Index:
        """What is kept there; empty where there is nothing or it is damaged."""
        try:
            head, _, content = (folder / FILE).read_bytes().partition(b"\n")
        except OSError:
            return cls(folder, {})
        return cls(folder, json.loads(content) if head == _head(content) else {})

    def entry(self, student: str) -> dict[str, Any] | None:
        """What is kept of a student's record as it lies there now."""
        entry = self.entries.get(student)
        if entry is None or entry["stamp"] != stamp_of(record_path(self.folder, student)):
            return None
        return entry

    def brief(self, student: str) -> SubmissionResult | None:
        """A student's record, without all that has no part in the grade (see `brief_of`)."""
        entry = self.entry(student)
        return None if entry is None else _as_record(entry["brief"])

    def add(self, record: SubmissionResult, stamp: Stamp | None) -> dict[str, Any] | None:
        """Keep a record that was read when its file had this stamp."""
        if stamp is None:
            return None
        self.is_new = True
        entry = {"stamp": stamp, "brief": brief_of(record)}
        self.entries[record.student] = entry
        return entry

    def save(self) -> None:
        """Written or not, nothing is lost."""
        if not self.is_new:
            return
        content = json.dumps(self.entries).encode()
        with contextlib.suppress(OSError):
            write_atomically(self.folder / FILE, _head(content) + b"\n" + content)
            self.is_new = False


def _head(content: bytes) -> bytes:
    """The first line of the file: which form it has, and that nothing is cut off or edited."""
    return f"{VERSION} {SCHEMA_VERSION} {hashlib.sha256(content).hexdigest()}".encode()


def brief_of(record: SubmissionResult) -> dict[str, Any]:
    """As JSON; of the tests those that another one holds back, for which a policy gives points."""
    brief = record.model_dump(mode="json", exclude=_LEFT_OUT)
    brief["tests"] = [test.model_dump(mode="json") for test in record.tests if test.held_by]
    return brief


def _as_record(brief: dict[str, Any]) -> SubmissionResult:
    """Not checked again: it was when it was read, and the sums are not those of these tests."""
    made = dict(brief)
    made["tests"] = tuple(TestResult.model_validate(test) for test in brief["tests"])
    made["parts"] = tuple(PartPoints.model_construct(**part) for part in brief["parts"])
    made["notes"] = tuple(Note.model_validate(note) for note in brief["notes"])
    made["graded_at"] = datetime.fromisoformat(brief["graded_at"])
    return SubmissionResult.model_construct(**made)
