"""The code that a student wrote, as one text per submission."""

import json
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from grader.base.errors import NothingToGrade
from grader.base.words import tr
from grader.intake.course import PACKAGE, Course
from grader.intake.notebook import CELLS_FILE
from grader.intake.prepare import prepare
from grader.intake.submissions import Found

MAX_CHARS = 200_000  # of one submission; a solution of all parts has about 25,000


@dataclass(frozen=True)
class Text:
    """What one student handed in. `shortened` says that only the beginning is compared."""

    student: str
    code: str
    shortened: bool = False


def read_texts(found: Iterable[Found], course: Course) -> tuple[list[Text], list[str]]:
    """The texts of all submissions, and a sentence for each that has none.

    Files stand one after another under a line with their name, so that code that was moved to
    another file is still compared.
    """
    texts, problems = [], []
    for submission in found:
        try:
            code = _code(submission, course)
        except NothingToGrade as reason:
            problems.append(
                tr("{student}: not compared. {reason}", student=submission.student, reason=reason)
            )
            continue
        texts.append(Text(submission.student, code[:MAX_CHARS], len(code) > MAX_CHARS))
    return texts, problems


def skeleton_text(course: Course) -> str:
    """Everything that a student was given."""
    names = [f"{module}.py" for module in course.student_modules] + list(course.given_files)
    paths = [course.package / name for name in names]
    given = [path.read_text("utf-8") for path in paths if path.suffix == ".py" and path.is_file()]
    return "\n".join([*given, *course.generated.values()])


def _code(submission: Found, course: Course) -> str:
    with tempfile.TemporaryDirectory() as folder:
        prepared = prepare(submission, Path(folder) / "submission", course)
        package = prepared.folder / PACKAGE
        parts = [(name, (package / name).read_bytes()) for name in prepared.taken]
    return "\n".join(f"# ── {name}\n{_source(name, content)}" for name, content in parts)


def _source(name: str, content: bytes) -> str:
    if name == CELLS_FILE:
        return "\n\n".join(json.loads(content))
    return content.decode("utf-8", "replace")
