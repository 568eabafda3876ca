"""What a student wrote to the questions in words: from `answers.md`, or from notebooks' cells.

In `answers.md` each answer stands below a heading with the question's number or name, `## 4` or
`## rope-is-relative`. A notebook's cells carry the name in nbgrader's metadata, or begin with such
a heading. It is read as text, within limits, and only to be looked at.
"""

import hashlib
import json
import os
import re
import stat
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from grader.authoring.in_words import question_named
from grader.base.errors import NothingToGrade
from grader.base.memory import limited_memory
from grader.intake.archives import read_archive
from grader.intake.contents import Contents, IntakeLimits, is_skipped
from grader.intake.ids import is_from_lms, module_name, student_id
from grader.intake.prepare import too_much_memory
from grader.intake.submissions import Found

# Platforms and browsers number a file that is handed in again: `answers-1.md`, `answers (1).md`.
_NAME = re.compile(r"answers([-_ ]?\(?\d+\)?)?\.(md|txt)", re.IGNORECASE)
MAX_ANSWER = 20_000  # characters that are shown of one
_LIMITS = IntakeLimits(python_bytes=256 * 1024, files=200)
_HEADING = re.compile(r" {0,3}#{1,6}[ \t]*(?P<name>[\w-]+)\b.*")
_FENCE = re.compile(r" {0,3}(```|~~~)")


def answers_of(found: Found) -> dict[str, str]:
    """The answers of one submission, by the question's id; those left empty are not among them.

    Of several files `answers.md` goes before notebooks, and what lies nearer before what lies deep.

    Raises NothingToGrade for a submission that cannot be read.
    """
    try:
        with limited_memory():
            files = _read(found).files
            answers: dict[str, str] = {}
            for name in sorted(files, key=_nearest_first):
                text = files[name]
                of_file = _of_notebook(text) if name.endswith(".ipynb") else _of_text(text)
                answers = of_file | answers
    except MemoryError:
        raise NothingToGrade(too_much_memory()) from None
    return {name: text[:MAX_ANSWER] for name, text in answers.items() if text.strip()}


def answer_hash(text: str) -> str:
    """Tells an answer that was judged from one that was handed in later."""
    return hashlib.sha256(text.strip().encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _nearest_first(name: str) -> tuple:
    path = PurePosixPath(name)
    return path.suffix == ".ipynb", len(path.parts), name


def _is_answer(name: str) -> bool:
    return name.endswith(".ipynb") or bool(_NAME.fullmatch(PurePosixPath(name).name))


def _read(found: Found) -> Contents:
    contents = Contents(_LIMITS, wanted=_is_answer)
    source = found.sources[0]
    if source.is_symlink():
        return contents
    if source.is_dir():
        _walk(contents, source)
        return contents
    if found.kind == "archive":
        contents = read_archive(source, _LIMITS, _is_answer)
    for path in (*found.sources, *_beside(found)):
        if _is_answer(module_name(path.name)):
            _take(contents, module_name(path.name), path)
    return contents


def _walk(contents: Contents, folder: Path) -> None:
    for parent, folders, files in os.walk(folder, followlinks=False):
        folders[:] = sorted(name for name in folders if not is_skipped(name))
        for name in sorted(files):
            contents.count_entry()
            if _is_answer(name) and not is_skipped(name):
                path = Path(parent) / name
                _take(contents, path.relative_to(folder).as_posix(), path)


def _beside(found: Found) -> list[Path]:
    """Files of answers next to a submission that are the same student's, by their own names as
    platforms give them, or by their folder's: `doejane_12_35_answers.md`, `bob/answers.md`."""
    source, place = found.sources[0], found.sources[0].parent
    owner = student_id(place.name)
    is_theirs = found.student == owner or found.student.endswith(f"_{owner}")
    beside = []
    for path in sorted(place.iterdir()):
        if is_from_lms(path.name):
            mine = is_from_lms(source.name) and student_id(path.name) == student_id(source.name)
        else:
            mine = is_theirs or is_from_lms(place.name)
        if mine and _NAME.fullmatch(module_name(path.name)):
            beside.append(path)
    return beside


def _take(contents: Contents, name: str, path: Path) -> None:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return
    with os.fdopen(descriptor, "rb") as file:
        if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            contents.take(name, file.read)


def _of_text(content: bytes) -> dict[str, str]:
    return _below_headings(content.decode("utf-8-sig", "replace").splitlines())


def _below_headings(lines: Iterable[str]) -> dict[str, str]:
    """The text below each heading that names a question; a `# 1` in a block of code is none."""
    answers: dict[str, list[str]] = {}
    current: list[str] = []
    in_code = False
    for line in lines:
        if _FENCE.match(line):
            in_code = not in_code
        heading = None if in_code else _HEADING.fullmatch(line)
        question = question_named(heading["name"]) if heading else None
        if question:
            current = answers.setdefault(question.id, [])
        else:
            current.append(line)
    return {name: "\n".join(text).strip() for name, text in answers.items()}


def _of_notebook(content: bytes) -> dict[str, str]:
    try:
        cells = json.loads(content)["cells"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return {}
    answers: dict[str, str] = {}
    for cell in cells if isinstance(cells, list) else []:
        if isinstance(cell, dict) and cell.get("cell_type") == "markdown":
            answers = _of_cell(cell) | answers
    return answers


def _of_cell(cell: dict) -> dict[str, str]:
    source = cell.get("source")
    if isinstance(source, list):
        source = "".join(filter(lambda line: isinstance(line, str), source))
    if not isinstance(source, str):
        return {}
    metadata = cell.get("metadata")
    marks = metadata.get("nbgrader") if isinstance(metadata, dict) else None
    name = marks.get("grade_id") if isinstance(marks, dict) else None
    question = question_named(name) if isinstance(name, str) else None
    return {question.id: source} if question else _below_headings(source.splitlines())
