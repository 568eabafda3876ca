"""What was read of records, kept beside them: a thousand need not be read again for their points.

    results/.grader.index     JSON: for each record the file as it lay there, and what it says

An entry counts only while the file has the size, times and inode that it had when it was read. So
the records stay the truth, and the index may be deleted at any time.
"""

from __future__ import annotations

import contextlib
import json
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from grader.base.notes import Note
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


def stamp_of(path: Path) -> Stamp | None:
    """Size, times of content and inode in ns, and the inode of a file; None where there is none."""
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
    is_new: bool = field(default=False)

    @classmethod
    def load(cls, folder: Path) -> Index:
        """What is kept there; empty where there is nothing or it is damaged."""
        with contextlib.suppress(OSError, ValueError, RecursionError):
            content = json.loads((folder / FILE).read_bytes())
            if content["versions"] == [VERSION, SCHEMA_VERSION]:
                return cls(folder, content["entries"])
        return cls(folder, {})

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
        content = {"versions": [VERSION, SCHEMA_VERSION], "entries": self.entries}
        with contextlib.suppress(OSError):
            write_atomically(self.folder / FILE, json.dumps(content).encode())
            self.is_new = False


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
