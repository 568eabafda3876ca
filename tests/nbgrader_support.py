"""A course in nbgrader, its own commands, and students who hand in notebooks."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Callable
from pathlib import Path

from late import late

from assignment.harness.parts import PARTS

WHY = "nbgrader is not installed: pip install -e '.[grader,nbgrader]'"
nbformat = late("nbformat", WHY)
late("nbgrader", WHY)

ROOT = Path(__file__).resolve().parents[1]
ASSIGNMENT = "attention-and-kv-cache"
ALL_PARTS = tuple(part.number for part in PARTS)
NBGRADER = Path(sysconfig.get_path("scripts")) / "nbgrader"


def environment(home: Path) -> dict[str, str]:
    """Of a user whose Python environment is not activated: its scripts are not on the path."""
    paths = filter(None, (str(ROOT), os.environ.get("PYTHONPATH")))
    return {
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "PATH": os.defpath,
        "PYTHONPATH": os.pathsep.join(paths),
        "GRADER_SECRET_FILE": str(home / "secret.hex"),
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }


def nbgrader(course: Path, *arguments: str, fails: bool = False) -> str:
    """Run one of nbgrader's commands by its path, in the course's folder; what it printed."""
    finished = subprocess.run(
        [NBGRADER, *arguments],
        cwd=course,
        env=environment(course.parent),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert (finished.returncode != 0) == fails, finished.stdout[-4000:]
    return finished.stdout


def read(course: Path, step: str, part: int, student: str = "") -> nbformat.NotebookNode:
    """A notebook of the course."""
    return nbformat.read(course / step / student / ASSIGNMENT / f"part{part}.ipynb", 4)


def marks(cell: nbformat.NotebookNode) -> dict:
    return cell.metadata.get("nbgrader", {})


def solved(
    course: Path,
    part: int,
    write: Callable[[str, str], str | None] = lambda name, source: source,
    answers: bool = True,
) -> nbformat.NotebookNode:
    """A released notebook with the solution's functions written in.

    Args:
        write: what is written for a function, from its name and the solution's source; None leaves
            the stub.
    """
    notebook, source = read(course, "release", part), read(course, "source", part)
    solutions = {marks(c).get("grade_id"): c.source for c in source.cells}
    for cell in notebook.cells:
        name = marks(cell).get("grade_id", "")
        if marks(cell).get("solution") and cell.cell_type == "markdown":
            cell.source = "Old queries are never asked again." if answers else cell.source
        elif marks(cell).get("solution"):
            written = write(name.removeprefix("write-"), solutions[name])
            cell.source = written if written is not None else cell.source
    return notebook


def pack(course: Path, archive: str, notebooks: dict[int, nbformat.NotebookNode]) -> None:
    """Put a student's archive where `nbgrader zip_collect` looks for it."""
    folder = course / "downloaded" / ASSIGNMENT / "archive"
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(folder / f"{archive}.zip", "w") as file:
        for part, notebook in notebooks.items():
            file.writestr(f"homework/part{part}.ipynb", nbformat.writes(notebook))


def submit(course: Path, student: str, notebooks: dict[int, nbformat.NotebookNode]) -> Path:
    """Put a student's notebooks where a collected submission lies."""
    folder = course / "submitted" / student / ASSIGNMENT
    folder.mkdir(parents=True)
    for part, notebook in notebooks.items():
        (folder / f"part{part}.ipynb").write_text(nbformat.writes(notebook), encoding="utf-8")
    return folder


def grades(course: Path) -> dict[tuple[str, str, str], tuple]:
    """Points, and whether a person has to look, by student, notebook and cell."""
    with opened(course) as gradebook:
        return {
            (submission.student.id, notebook.name, grade.name): (
                grade.auto_score,
                grade.needs_manual_grade,
            )
            for submission in gradebook.assignment_submissions(ASSIGNMENT)
            for notebook in submission.notebooks
            for grade in notebook.grades
        }


def totals(course: Path) -> dict[str, float]:
    """The score of each student."""
    with opened(course) as gradebook:
        submissions = gradebook.assignment_submissions(ASSIGNMENT)
        return {submission.student.id: submission.score for submission in submissions}


def opened(course: Path):
    """The gradebook, by nbgrader's own class."""
    from nbgrader.api import Gradebook

    return Gradebook(f"sqlite:///{course}/gradebook.db", "course")


def copy_course(course: Path, destination: Path) -> Path:
    """The course as it is, elsewhere."""
    shutil.copytree(course, destination)
    return destination


def python(script: str, *arguments: str, home: Path) -> subprocess.CompletedProcess:
    """Run a script in a process of its own."""
    return subprocess.run(
        [sys.executable, "-c", script, *arguments],
        env=environment(home),
        capture_output=True,
        text=True,
        check=False,
    )
