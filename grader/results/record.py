"""What is kept of a graded submission: one JSON file per student, written whole or not at all."""

import math
import os
import re
import secrets
import stat
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Literal

from pydantic import (
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    StrictInt,
    ValidationError,
    model_validator,
)

from assignment.harness.difference import Difference
from grader.base.notes import Note, bounded, note
from grader.base.words import spoken_title, tr
from grader.results import old_records

SCHEMA_VERSION: Literal[2] = 2
MAX_MESSAGE = 4_000
# Of the messages of all tests together, in characters; behind them, of each that is left.
MAX_MESSAGES = 120_000
SHORT_MESSAGE = 120
MAX_NOTES = 50
MAX_TAIL = 16_000
MAX_TEXT = 600
MAX_STEPS = 64
MAX_RECORD_BYTES = 16 * 1024 * 1024
_BEGINS = re.compile(rb'\{\s*"schema_version":\s*(\d{1,9})\s*,')

Visibility = Literal["public", "hidden"]
TestState = Literal["passed", "failed", "not_started", "waiting", "out_of_time"]
State = Literal["graded", "partial", "error", "missing"]
# On which cases a test ran that runs on both; None for one that has none or draws its own.
CaseSet = Literal["public", "hidden"]
# `error` is the harness's fault: such a record is no grade and is tried again.
SETTLED: frozenset[State] = frozenset({"graded", "partial", "missing"})

Name = Annotated[str, bounded(300)]
Message = Annotated[str, bounded(MAX_MESSAGE)]
Tail = Annotated[str, bounded(MAX_TAIL, keep_end=True)]
Text = Annotated[str, bounded(MAX_TEXT)]
Steps = Annotated[tuple[float, ...], Field(max_length=MAX_STEPS)]
TwinKey = tuple[str, str, str]  # file, function and case of a test
SandboxKind = Literal["bubblewrap", "podman", "docker", "portable", "none"]
Limits = Annotated[dict[Name, int | float], Field(max_length=32)]
Points = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class _Strict(BaseModel):
    # Non-finite numbers become strings ("NaN", "Infinity") that read back as the same numbers:
    # a bare NaN is not JSON.
    model_config = ConfigDict(extra="forbid", ser_json_inf_nan="strings", frozen=True)


class ImportFailure(_Strict):
    """Why a file of the submission could not be imported, as its worker says.

    Attributes:
        file: the file at fault, which may be a helper that `module` imports.
        line: of what is not Python, where that is known.
        exception: name of the exception's type, where the module raised one.
        problem: the exception's own words.
    """

    kind: Literal["not_python", "ends_program", "raised"]
    module: Name
    file: Name
    line: int | None = None
    exception: Name = ""
    problem: Message = ""


class Charge(_Strict):
    """Points that a part lost because a test of another part is right only without its functions.

    Attributes:
        test: the id of that test.
        section, title, variant: of that test, as in its own result; a hidden one has no title.
    """

    points: Points
    test: Name
    section: Name
    title: Name = ""
    variant: Name = ""

    def in_words(self) -> str:
        """The sentence in the language spoken."""
        title = spoken_title(self.title, self.variant) if self.title else tr("a hidden test")
        return tr(
            "{points:g} points less: {section} {title} is right only with a trusted version of this"
            " part",
            points=self.points,
            section=self.section,
            title=title,
        )


class TestResult(_Strict):
    """One test of one submission.

    Attributes:
        file, function: of the test itself: `test_part3_rope.py`, `test_rope`.
        case_set: of its two runs on fixed cases, which; they share all other names.
        case: pytest's name of its other parameters, as `float32`.
        title, variant: in English; the parameters as they stand behind the title.
        where: of `message`, the line that says where the answer is first wrong.
        import_failure: why the student's own file could not be imported, where that failed it.
        with_trusted_parts: earned with trusted versions of other parts, after a failure of its own.
        trusted_parts: the parts that had to be exchanged for that.
        held_by: the id of the test until which is right this one pays nothing, though it passed.
        own_message: what that first, failed run said.
        error_by_step: largest error of each decode step, where a public decode test failed.
        difference: which entries of an array are wrong, where a public test failed.
        charge: why a test that passed has less than its points.
    """

    __test__ = False  # the name starts with "Test", but pytest should not collect it

    id: Name
    file: Name = ""
    function: Name = ""
    case_set: CaseSet | None = None
    case: Name = ""
    part: int
    section: Name
    title: Name
    variant: Name = ""
    visibility: Visibility
    points: Points
    max_points: Points
    state: TestState
    message: Message = ""
    where: Message = ""
    import_failure: ImportFailure | None = None
    first_bad_step: int | None = None
    max_error: float | None = None
    tolerance: float | None = None
    error_by_step: Steps = ()
    difference: Difference | None = None
    with_trusted_parts: bool = False
    trusted_parts: tuple[int, ...] = ()
    own_message: Message = ""
    held_by: Name = ""
    charge: Charge | None = None
    seconds: float = 0.0

    @property
    def twin_key(self) -> TwinKey:
        """What a test's runs on the public and on the hidden case have in common."""
        return self.file, self.function, self.case

    @property
    def is_of_real_model(self) -> bool:
        """Whether it ran on the model that not every grader has."""
        return self.file == "test_real_model.py"


class PartPoints(_Strict):
    """Points of one part, public and hidden tests apart."""

    part: int
    public: Points = 0.0
    public_max: Points = 0.0
    hidden: Points = 0.0
    hidden_max: Points = 0.0


class DiagnosisRecord(_Strict):
    """Which known bugs compute the same as the submission in one part.

    `bugs` has one set of names where the finding is certain, several where no test tells them
    apart; `error` is the largest relative difference over `n_tests` arrays. It has none where the
    wrong values may come from the parts `mend_first`, whose failures no known bug explains.
    """

    part: int
    bugs: tuple[tuple[Name, ...], ...]
    n_tests: int
    error: float
    mend_first: tuple[int, ...] = ()
    fact: Message


class SubmissionResult(_Strict):
    """The record of one submission. Points are derived from `tests`; a file whose sums disagree is
    not one of ours and is refused."""

    schema_version: Literal[2] = SCHEMA_VERSION
    student: Name
    source: Name
    submission_hash: str
    suite_hash: str
    suite_version: str
    state: State
    reason: Message = ""
    tests: tuple[TestResult, ...] = ()
    parts: tuple[PartPoints, ...] = ()
    diagnoses: tuple[DiagnosisRecord, ...] = ()
    total: Points = 0.0
    max_total: Points = 0.0
    seconds: float = 0.0
    # The kind of sandbox, and the same with what it lacks in words; None where nothing ran.
    sandbox: SandboxKind | None = None
    sandbox_tier: str = ""
    # What the submission might use (grader.sandbox.limits); empty where nothing of it ran.
    limits: Limits = {}
    graded_at: AwareDatetime
    notes: tuple[Note, ...] = ()
    output_tail: Tail = ""  # what the submission printed: for the instructor only
    # What the real model writes after a public prompt with the student's decode, and with a right
    # one; the first is empty where the decode is right, both where the model was not there.
    generated_text: Text = ""
    expected_text: Text = ""

    @model_validator(mode="after")
    def _sums_agree(self) -> "SubmissionResult":
        if self.parts != points_by_part(self.tests):
            raise ValueError("the points by part are not the sums of the tests' points")
        sums = (_sum(t.points for t in self.tests), _sum(t.max_points for t in self.tests))
        if (self.total, self.max_total) != sums:
            raise ValueError("the total is not the sum of the tests' points")
        return self


def make_result(*, tests: Sequence[TestResult] = (), notes: Sequence[Note] = (), **fields):
    """A SubmissionResult with its sums and its date filled in (keywords as the fields)."""
    tests = _with_bounded_messages(tests)
    notes = tuple(notes)
    if len(notes) > MAX_NOTES:
        dropped = len(notes) - MAX_NOTES + 1
        notes = (*notes[: MAX_NOTES - 1], note("more", n=dropped))
    return SubmissionResult(
        tests=tests,
        notes=notes,
        parts=points_by_part(tests),
        total=_sum(t.points for t in tests),
        max_total=_sum(t.max_points for t in tests),
        graded_at=datetime.now(UTC).replace(microsecond=0),
        **fields,
    )


def _with_bounded_messages(tests: Sequence[TestResult]) -> tuple[TestResult, ...]:
    """A submission chooses the words of its exceptions, and fails as many tests as it likes."""
    kept, room = [], MAX_MESSAGES
    for test in tests:
        words = {name: getattr(test, name) for name in ("message", "where", "own_message")}
        failure = test.import_failure
        room -= sum(map(len, words.values())) + len(failure.problem if failure else "")
        if room < 0:
            short = {name: text[:SHORT_MESSAGE] for name, text in words.items()}
            if failure:
                problem = {"problem": failure.problem[:SHORT_MESSAGE]}
                short["import_failure"] = failure.model_copy(update=problem)
            test = test.model_copy(update=short)
        kept.append(test)
    return tuple(kept)


def points_by_part(tests: Sequence[TestResult]) -> tuple[PartPoints, ...]:
    """The points of each part, in order of part."""
    rows = []
    for part in sorted({test.part for test in tests}):
        of_part = [test for test in tests if test.part == part]
        sums = {}
        for visibility in ("public", "hidden"):
            seen = [test for test in of_part if test.visibility == visibility]
            sums[visibility] = _sum(test.points for test in seen)
            sums[f"{visibility}_max"] = _sum(test.max_points for test in seen)
        rows.append(PartPoints(part=part, **sums))
    return tuple(rows)


def record_path(folder: Path, student: str) -> Path:
    """The file that holds `student`'s record."""
    return folder / f"{student}.json"


def write_record(folder: Path, result: SubmissionResult) -> Path:
    """Write `result` atomically: a reader sees the old file or the new one, never a part."""
    path = record_path(folder, result.student)
    write_atomically(path, result.model_dump_json(indent=1).encode() + b"\n")
    return path


def write_atomically(path: Path, content: bytes, drafts: Path | None = None) -> None:
    """Temporary file in `drafts` (beside `path`), fsync, rename, fsync of the folder."""
    # The name has a fixed length: a student's id may already be as long as a file name can be.
    draft = (drafts or path.parent) / f".{secrets.token_hex(8)}.tmp"
    try:
        with draft.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make the names in `folder` survive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def remove_drafts(folder: Path) -> None:
    """Remove what a killed grader left half-written (call while holding the folder's lock)."""
    for draft in folder.glob(".*.tmp"):
        if draft.is_file():
            draft.unlink(missing_ok=True)


def read_record(folder: Path, student: str) -> tuple[SubmissionResult | None, Note | None]:
    """The student's record and None, or None and a note on why what is there is not trusted.

    (None, None) when there is nothing.
    """
    path = record_path(folder, student)
    try:
        content = read_bounded(path)
    except FileNotFoundError:
        return None, None
    except OSError as problem:
        return None, _refused(path, "unreadable", problem.strerror)
    if content is None:
        return None, _refused(path, "no_plain_file")
    try:
        result = parse_record(content)
    except (ValueError, RecursionError):
        return None, _refused(path, _why_refused(content))
    if result.student != student:
        return None, _refused(path, "of_another")
    return result, None


def parse_record(content: bytes) -> SubmissionResult:
    """A record of this version's or of the last one's schema; ValueError where it is none."""
    if _version(content) == old_records.SCHEMA_VERSION:
        content = old_records.upgraded(content)
    return SubmissionResult.model_validate_json(content)


def is_readable(version: int) -> bool:
    """Whether parse_record reads a schema of this version."""
    return version in (SCHEMA_VERSION, old_records.SCHEMA_VERSION)


def _refused(path: Path, why: str, problem: str | None = "") -> Note:
    return note("earlier_record", file=path.name, why=why, problem=problem)


class _Version(BaseModel):
    schema_version: StrictInt


def _version(content: bytes) -> int:
    begun = _BEGINS.match(content)  # as we write it: reading all for it takes as long again
    try:
        return int(begun[1]) if begun else _Version.model_validate_json(content).schema_version
    except (ValidationError, RecursionError):
        return SCHEMA_VERSION


def _why_refused(content: bytes) -> str:
    version = _version(content)
    if is_readable(version):
        return "damaged"
    return "older" if version < SCHEMA_VERSION else "newer"


def read_bounded(path: Path) -> bytes | None:
    """The content of a plain file of sensible size, else None; OSError where it cannot be read."""
    # Non-blocking, so that a FIFO of this name cannot hang the grader.
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_RECORD_BYTES:
            return None
        return file.read(MAX_RECORD_BYTES)


def _sum(values) -> float:
    # fsum does not depend on the order; the rounding hides 0.1 + 0.2.
    return round(math.fsum(values), 6)
