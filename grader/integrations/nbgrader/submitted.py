"""What students handed in to nbgrader: found, read as data, cleaned as nbgrader cleans it.

Nothing of a notebook is run here.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from assignment.harness.parts import GIVEN_FILES, PARTS, STUDENT_MODULES
from grader.base.errors import GraderError, NothingToGrade
from grader.base.memory import limited_memory
from grader.intake.ids import student_id
from grader.intake.notebook import PART_NOTEBOOK, code_cells
from grader.intake.prepare import too_much_memory

from .cells import notebook_name
from .gradebook import NbgraderCourse

MAX_NOTEBOOK_BYTES = 16 * 1024 * 1024
MAX_TIMESTAMP_BYTES = 1024
NOTEBOOKS = tuple(notebook_name(part.number) for part in PARTS)


class Refused(Exception):
    """This student's work cannot be graded as it is; the text says why."""


@dataclass(frozen=True)
class Submitted:
    """One student's folder.

    Attributes:
        student: the id in nbgrader.
        record: the id of the sandbox's record, which is safe as a file name everywhere.
    """

    student: str
    folder: Path

    @property
    def record(self) -> str:
        return student_id(self.student)


def find_submitted(
    course: NbgraderCourse, assignment: str, student: str | None = None
) -> list[Submitted]:
    """Every student who handed in this assignment, or the one who is named.

    Raises:
        GraderError: nobody handed in, the named student did not, or two ids look like one student.
    """
    pattern = course.folder("submitted", "*", assignment)
    root = Path(str(pattern).partition("*")[0])
    folders = sorted(root.parent.glob(f"{root.name}/*{str(pattern).partition('*')[2]}"))
    found = [
        Submitted(folder.relative_to(root).parts[0], folder)
        for folder in folders
        if folder.is_dir() and not folder.is_symlink()
    ]
    if not found:
        raise GraderError(
            f"Nobody has handed in {assignment!r}: there is no folder {pattern}. `nbgrader "
            f"zip_collect {assignment}` or `nbgrader collect` fills it."
        )
    _require_distinct(found)
    if student is None:
        return found
    chosen = [one for one in found if one.student == student]
    if not chosen:
        there = ", ".join(one.student for one in found[:10]) + (", …" if len(found) > 10 else "")
        raise GraderError(f"{student!r} has not handed in {assignment!r}. There is: {there}.")
    return chosen


def _require_distinct(found: Iterable[Submitted]) -> None:
    by_record: dict[str, list[str]] = {}
    for one in found:
        by_record.setdefault(one.record.casefold(), []).append(one.student)
    twice = [" and ".join(names) for names in by_record.values() if len(names) > 1]
    if twice:
        raise GraderError(
            f"These folders of submissions look like one student each: {'; '.join(twice)}. Keep "
            "one of them. Nothing was graded, and the gradebook is unchanged."
        )


def notebooks_of(submitted: Submitted) -> tuple[dict[str, Path], list[str]]:
    """The assignment's notebooks in a folder by name, and notes on what was left out.

    Raises:
        Refused: a notebook is no plain file, too large, of another format, or no notebook.
    """
    found, notes = {}, []
    for path in sorted(submitted.folder.glob("*.ipynb")):
        if path.stem not in NOTEBOOKS or not PART_NOTEBOOK.fullmatch(path.name):
            notes.append(f"{path.name} is none of the assignment's notebooks and was ignored")
        elif path.is_symlink() or not path.is_file():
            raise Refused(f"{path.name} is not a plain file.")
        elif path.stat().st_size > MAX_NOTEBOOK_BYTES:
            raise Refused(f"{path.name} is larger than {MAX_NOTEBOOK_BYTES // 1024**2} MiB.")
        else:
            try:
                with limited_memory():
                    code_cells(path.read_bytes())
            except MemoryError:
                raise Refused(f"{path.name}: {too_much_memory()}") from None
            except NothingToGrade as problem:
                raise Refused(f"{path.name}: {problem}") from None
            found[path.stem] = path
    if not found:
        raise Refused(f"There is none of {NOTEBOOKS[0]}.ipynb to {NOTEBOOKS[-1]}.ipynb.")
    return found, notes


def stage(submitted: Submitted, notebooks: dict[str, Path], destination: Path) -> Path:
    """Copy what is graded into a folder of its own: notebooks, and helper modules beside them.

    The package that was handed out along with the notebooks stays behind, as do modules named like
    the homework's own: they would be taken in place of the notebooks.
    """
    folder = destination / submitted.record
    folder.mkdir()
    for name in NOTEBOOKS:
        copy = folder / f"{name}.ipynb"
        if name in notebooks:
            shutil.copyfile(notebooks[name], copy)
        else:
            copy.write_text(_NOT_HANDED_IN, encoding="utf-8")
    others = {*GIVEN_FILES, *(f"{module}.py" for module in STUDENT_MODULES)}
    for path in submitted.folder.glob("*.py"):
        if path.is_file() and not path.is_symlink() and path.name not in others:
            shutil.copyfile(path, folder / path.name)
    return folder


_NOT_HANDED_IN = (
    '{"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [{"cell_type": "code", '
    '"id": "none", "metadata": {}, "outputs": [], "execution_count": null, '
    '"source": "# not handed in"}]}'
)


def cleaned(course: NbgraderCourse, assignment: str, student: str, path: Path) -> Any:
    """A notebook as nbgrader has it before it runs it: no outputs, test cells as handed out.

    Raises:
        Refused: nbgrader cannot read it.
    """
    from nbgrader.nbgraderformat import read
    from nbgrader.preprocessors import (
        CheckCellMetadata,
        ClearOutput,
        DeduplicateIds,
        OverwriteCells,
        OverwriteKernelspec,
    )

    resources = {
        "nbgrader": {
            "student": student,
            "assignment": assignment,
            "notebook": path.stem,
            "db_url": course.db_url,
        }
    }
    steps = (ClearOutput, DeduplicateIds, OverwriteKernelspec, OverwriteCells, CheckCellMetadata)
    try:
        with limited_memory(), path.open(encoding="utf-8") as file:
            notebook = read(file, as_version=4)
            for step in steps:
                notebook, resources = step().preprocess(notebook, resources)
    except Exception as problem:
        raise Refused(
            f"nbgrader cannot read {path.name} ({type(problem).__name__}: {str(problem)[:200]})."
        ) from None
    return notebook


def handed_in_at(course: NbgraderCourse, submitted: Submitted) -> datetime | None:
    """The time in timestamp.txt, as nbgrader reads it.

    Raises:
        Refused: the file is there and holds no time.
    """
    stamp = submitted.folder / "timestamp.txt"
    if stamp.exists() and not (stamp.is_file() and stamp.stat().st_size <= MAX_TIMESTAMP_BYTES):
        raise Refused("timestamp.txt holds no time (it is no plain file of at most 1 KiB).")
    try:
        return course.coursedir.get_existing_timestamp(str(submitted.folder))
    except Exception as problem:
        raise Refused(f"timestamp.txt holds no time ({problem}).") from None
