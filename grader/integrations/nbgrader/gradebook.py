"""Write scores and comments into nbgrader's gradebook: all of them, or nothing.

Only what nbgrader's own autograder writes is written: `auto_score`, `auto_comment`, whether a
person has to look, and the time of handing in. Manual scores and comments, extra credit, extensions
and late penalties stay as they are; a manual score keeps its precedence.
"""

from __future__ import annotations

import contextlib
import logging
import sqlite3
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from grader.base.errors import GraderError

from .cells import CellKey

CONFIG_FILE = "nbgrader_config.py"
INSTALL = "Install it with `pip install -e '.[grader,nbgrader]'`."
# Seconds to wait for somebody else's writing to end; formgrader's own takes milliseconds.
LOCK_PATIENCE_S = 5.0


@dataclass(frozen=True)
class StudentScores:
    """What is written for one student.

    Attributes:
        scores: points of autograded cells; None where a person has to decide.
        comments: for solution cells; None takes an earlier automatic comment back, and a cell that
            is not named keeps its.
        timestamp: when the work was handed in (UTC, naive, as nbgrader has it), if known.
    """

    scores: Mapping[CellKey, float | None]
    comments: Mapping[CellKey, str | None]
    timestamp: datetime | None = None


@dataclass(frozen=True)
class NbgraderCourse:
    """A course's folders and database, by its own configuration."""

    root: Path
    db_url: str
    course_id: str
    coursedir: Any

    @classmethod
    def load(cls, course: Path) -> NbgraderCourse:
        """Read nbgrader_config.py, which is the instructor's program and is run.

        Raises:
            GraderError: nbgrader is missing, the folder is no course, the configuration fails.
        """
        require_nbgrader()
        from nbgrader.coursedir import CourseDirectory
        from traitlets.config import Config, PyFileConfigLoader

        course = course.resolve()
        if not (course / CONFIG_FILE).is_file():
            raise GraderError(
                f"{course} is not an nbgrader course: it has no {CONFIG_FILE}. "
                "`grader nbgrader init COURSE` makes one."
            )
        try:
            config = Config(PyFileConfigLoader(CONFIG_FILE, path=str(course)).load_config())
        except Exception as problem:
            raise GraderError(
                f"{course / CONFIG_FILE} could not be run: {type(problem).__name__}: {problem}"
            ) from None
        config.CourseDirectory.setdefault("root", str(course))
        coursedir = CourseDirectory(config=config)
        return cls(course, coursedir.db_url, coursedir.course_id, coursedir)

    def folder(self, step: str, student: str, assignment: str) -> Path:
        """A folder of nbgrader's, as in ("submitted", "ana", "hw1")."""
        directory = getattr(self.coursedir, f"{step}_directory")
        return Path(self.coursedir.format_path(directory, student, assignment))


def require_nbgrader() -> None:
    """GraderError that says what to install, unless nbgrader can be imported."""
    try:
        import nbgrader.api  # noqa: F401
    except ImportError as problem:
        raise GraderError(f"nbgrader is not installed ({problem}). {INSTALL}") from None


def write_scores(
    course: Path | NbgraderCourse,
    assignment: str,
    scores: Mapping[str, Mapping[CellKey, float | None]],
    comments: Mapping[str, Mapping[CellKey, str | None]] | None = None,
    *,
    timestamps: Mapping[str, datetime] | None = None,
    create_students: bool = False,
) -> int:
    """Write the scores of a class in one transaction.

    Args:
        scores: points by student and cell, where a cell is (notebook, grade_id).
        comments: texts by student and cell; hidden tests should not be told.
        create_students: add students whom the gradebook does not know.

    Returns:
        For how many students something was written.

    Raises:
        GraderError: an unknown student, assignment or cell, an old or locked database. Nothing is
            changed then.
    """
    comments, timestamps = comments or {}, timestamps or {}
    class_scores = {
        student: StudentScores(of_student, comments.get(student, {}), timestamps.get(student))
        for student, of_student in scores.items()
    }
    loaded = course if isinstance(course, NbgraderCourse) else NbgraderCourse.load(course)
    with open_gradebook(loaded) as gradebook:
        require_assignment(gradebook, assignment)
        if not create_students:
            require_students(gradebook, class_scores)
        for student, of_student in class_scores.items():
            if create_students:
                gradebook.update_or_create_student(student)
            _write_student(gradebook, assignment, student, of_student)
    return len(class_scores)


@contextlib.contextmanager
def open_gradebook(course: NbgraderCourse) -> Iterator[Any]:
    """The course's gradebook, as one transaction: written at the end of the block, or not at all.

    Raises:
        GraderError: there is none, it is of another nbgrader, or somebody holds it locked.
    """
    from sqlalchemy.exc import DatabaseError, OperationalError, SAWarning

    require_current_schema(course)
    _require_unlocked(course)
    from nbgrader.api import Gradebook, InvalidEntry

    gradebook = None
    try:
        gradebook = Gradebook(course.db_url, course.course_id)
        session = gradebook.db()
        # nbgrader's functions commit one by one; here they only flush, until the last is through.
        commit, session.commit = session.commit, session.flush
        try:
            with warnings.catch_warnings(), _quiet_log():
                # nbgrader's own add_submission gives them.
                warnings.simplefilter("ignore", SAWarning)
                yield gradebook
        except BaseException:
            session.rollback()
            raise
        commit()
    except OperationalError as problem:
        raise _locked(course, problem.orig or problem) from None
    except (DatabaseError, InvalidEntry) as problem:
        raise _locked(course, problem) from None
    finally:
        if gradebook is not None:
            gradebook.close()


def require_current_schema(course: NbgraderCourse) -> None:
    """GraderError unless the database is one of the nbgrader that is installed here.

    Looked at before nbgrader opens it, which adds what an old one lacks, in part.
    """
    from alembic.config import Config
    from alembic.script import ScriptDirectory
    from nbgrader.dbutil import ALEMBIC_DIR

    path = sqlite_file(course)
    if path is None:  # a server's database; its driver will tell
        return
    if not path.is_file():
        raise GraderError(
            f"There is no gradebook {path}. In the course's folder, run `nbgrader "
            "generate_assignment ASSIGNMENT` first."
        )
    config = Config()
    config.set_main_option("script_location", str(ALEMBIC_DIR))
    script = ScriptDirectory.from_config(config)
    try:
        with contextlib.closing(_read_only(path)) as database:
            rows = database.execute("SELECT version_num FROM alembic_version").fetchall()
    except sqlite3.DatabaseError as problem:
        if "no such table" not in str(problem):
            raise _locked(course, problem) from None
        rows = []
    found = rows[0][0] if rows else ""
    if found == script.get_current_head():
        return
    known = {revision.revision for revision in script.walk_revisions()}
    if found and found not in known:
        raise GraderError(
            f"{path} was made by a newer nbgrader (schema {found}) than the one installed here. "
            "Upgrade nbgrader; the gradebook is unchanged."
        )
    raise GraderError(
        f"{path} is of an older nbgrader (schema {found or 'without a version'}, expected "
        f"{script.get_current_head()}). Keep a copy and run `nbgrader db upgrade` in the course's "
        "folder; the gradebook is unchanged."
    )


def require_assignment(gradebook: Any, assignment: str) -> Any:
    """The assignment, or a GraderError that names those there are."""
    from nbgrader.api import MissingEntry

    try:
        return gradebook.find_assignment(assignment)
    except MissingEntry:
        there = ", ".join(sorted(one.name for one in gradebook.assignments)) or "none"
        raise GraderError(
            f"The gradebook has no assignment {assignment!r}; there is: {there}. Run `nbgrader "
            f"generate_assignment {assignment}` in the course's folder first."
        ) from None


def require_students(gradebook: Any, students: Iterable[str]) -> None:
    """GraderError that lists all students whom the gradebook does not know."""
    known = {student.id for student in gradebook.students}
    if unknown := sorted(set(students) - known):
        raise GraderError(
            f"The gradebook does not know {_listed(unknown)}. Add them with `nbgrader db student "
            "add ID` or `nbgrader db student import FILE.csv` in the course's folder, or let "
            "`grader nbgrader autograde` do it with --create-students. Nothing was written."
        )


def sqlite_file(course: NbgraderCourse) -> Path | None:
    """The file of the database, None for another kind of database."""
    prefix = "sqlite:///"
    if not course.db_url.startswith(prefix):
        return None
    return Path(course.db_url.removeprefix(prefix).partition("?")[0])


def _write_student(
    gradebook: Any, assignment: str, student: str, of_student: StudentScores
) -> None:
    when = {"timestamp": of_student.timestamp} if of_student.timestamp else {}
    submission = gradebook.update_or_create_submission(assignment, student, **when)
    gradebook.db.flush()
    gradebook.db.refresh(submission)
    grades: dict[tuple[str, str], Any] = {}
    texts: dict[tuple[str, str], Any] = {}
    for notebook in submission.notebooks:
        grades |= {(notebook.name, grade.name): grade for grade in notebook.grades}
        texts |= {(notebook.name, comment.name): comment for comment in notebook.comments}
    if unknown := sorted(
        (of_student.scores.keys() - grades) | (of_student.comments.keys() - texts)
    ):
        named = [f"{notebook}/{cell}" for notebook, cell in unknown]
        raise GraderError(
            f"Assignment {assignment!r} in the gradebook has no cell {_listed(named)}. It was "
            "generated from other notebooks: make the course anew with this grader, or use the "
            "grader that made it. Nothing was written."
        )
    for key, score in of_student.scores.items():
        grade = grades[key]
        grade.auto_score = score
        # nbgrader's own rule: a person's score, or none at all, asks for another look.
        grade.needs_manual_grade = grade.manual_score is not None or score is None
    for key, text in of_student.comments.items():
        texts[key].auto_comment = text


@contextlib.contextmanager
def _quiet_log() -> Iterator[None]:
    """nbgrader logs a database's error with its traceback before it raises it."""
    log = logging.getLogger("tornado.application")
    before, log.disabled = log.disabled, True
    try:
        yield
    finally:
        log.disabled = before


def _require_unlocked(course: NbgraderCourse) -> None:
    path = sqlite_file(course)
    if path is None:
        return
    try:
        with contextlib.closing(sqlite3.connect(path, timeout=LOCK_PATIENCE_S)) as database:
            database.execute("BEGIN EXCLUSIVE")
            database.rollback()
    except sqlite3.DatabaseError as problem:
        raise _locked(course, problem) from None


def _read_only(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, timeout=LOCK_PATIENCE_S)


def _locked(course: NbgraderCourse, problem: BaseException) -> GraderError:
    if "locked" in str(problem) or "busy" in str(problem):
        return GraderError(
            f"The gradebook {course.db_url} is locked: another program, perhaps formgrader or a "
            "running nbgrader, is writing to it. Close it and try again; nothing was changed."
        )
    return GraderError(
        f"The gradebook {course.db_url} cannot be used ({problem}); nothing was changed."
    )


def _listed(names: list[str]) -> str:
    shown = ", ".join(names[:10])
    return shown if len(names) <= 10 else f"{shown} and {len(names) - 10} more"
