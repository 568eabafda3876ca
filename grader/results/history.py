"""Keeps what a new record replaces.

    results/ana.json                                              the record that counts
    results/history/ana/20260301T101500Z-3f2a9c0d1e5b.json        what it replaced, byte for byte

The old record is in the history before the new one takes its place, and its name there comes from
its content: killed in between, the next run writes the same file again and nothing doubles. What
is no record (cut off, a folder, too large) is kept as `.unreadable`.
"""

import hashlib
import json
from datetime import UTC, datetime
from pathlib import Path

from pydantic import AwareDatetime, BaseModel, ConfigDict

from grader.results.record import (
    PartPoints,
    SubmissionResult,
    is_readable,
    parse_record,
    read_bounded,
    record_path,
    sync_folder,
    write_atomically,
    write_record,
)

HISTORY = "history"
_STAMP = "%Y%m%dT%H%M%SZ"
_TIMES = ("graded_at", "seconds")


class Score(BaseModel):
    """What a record says about points; read from records of every schema version."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    schema_version: int
    student: str
    state: str
    submission_hash: str
    suite_hash: str
    suite_version: str = ""
    sandbox: str | None = None
    limits: dict[str, float] = {}
    parts: tuple[PartPoints, ...] = ()
    total: float
    max_total: float
    graded_at: AwareDatetime

    @classmethod
    def of(cls, record: SubmissionResult) -> "Score":
        """That of a record which was read already."""
        fields = {name: getattr(record, name) for name in cls.model_fields}
        return cls.model_construct(**fields)

    @property
    def by_part(self) -> dict[int, float]:
        """Points of each part, public and hidden together."""
        return {row.part: round(row.public + row.hidden, 6) for row in self.parts}


def replace_record(folder: Path, result: SubmissionResult) -> Path:
    """Write `result` in place of the student's record, which moves to the history first.

    A record that says the same, apart from times, is not kept.
    """
    _keep_old(folder, result)
    return write_record(folder, result)


def earlier_records(folder: Path, student: str) -> list[Path]:
    """The files of a student's history, the one replaced last at the end."""
    place = folder / HISTORY / student
    files = list(place.iterdir()) if place.is_dir() else []
    # Within one second the stamps are equal, and the order of writing tells.
    return sorted(files, key=lambda file: (file.name[:16], file.lstat().st_mtime_ns))


def read_score(path: Path) -> Score | None:
    """The score in a record file; None where there is none or it is not to be trusted."""
    try:
        content = read_bounded(path)
    except OSError:
        return None
    return None if content is None else _parse(content)


def _parse(content: bytes) -> Score | None:
    try:
        score = Score.model_validate_json(content)
        if is_readable(score.schema_version):
            record = parse_record(content)
            score = score.model_copy(update={"sandbox": record.sandbox})
    except (ValueError, RecursionError):
        return None
    return score


def _keep_old(folder: Path, result: SubmissionResult) -> None:
    path = record_path(folder, result.student)
    try:
        content = read_bounded(path)
    except FileNotFoundError:
        return
    except OSError:
        content = None
    if content is None:
        # It cannot be copied, so it moves: killed now, the next run finds no record and grades.
        status = path.lstat()
        when = datetime.fromtimestamp(status.st_mtime, UTC)
        name = f"{when:{_STAMP}}-{status.st_ino:012x}.unreadable"
        path.rename(_make_place(folder, result.student) / name)
        return
    score = _parse(content)
    if score is not None and score.student == result.student:
        if _says_the_same(content, result):
            return
        when, kind = score.graded_at.astimezone(UTC), "json"
    else:
        when, kind = datetime.fromtimestamp(path.stat().st_mtime, UTC), "unreadable"
    name = f"{when:{_STAMP}}-{hashlib.sha256(content).hexdigest()[:12]}.{kind}"
    # Drafts lie where the next run looks for them.
    write_atomically(_make_place(folder, result.student) / name, content, drafts=folder)


def _make_place(folder: Path, student: str) -> Path:
    place = folder / HISTORY / student
    if not place.is_dir():
        place.mkdir(parents=True, exist_ok=True)
        sync_folder(place.parent)
        sync_folder(folder)
    return place


def _says_the_same(content: bytes, result: SubmissionResult) -> bool:
    return without_times(json.loads(content)) == without_times(json.loads(result.model_dump_json()))


def without_times(record: dict) -> dict:
    """A record as JSON without what differs from run to run."""
    tests = [_leave_out_times(test) for test in record.get("tests", ())]
    return _leave_out_times(record) | {"tests": tests}


def _leave_out_times(fields: dict) -> dict:
    return {name: value for name, value in fields.items() if name not in _TIMES}
