"""The class of throughput.py as notebooks in nbgrader, graded by nbgrader's own command."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

from grade_class import ROOT

ASSIGNMENT = "attention-and-kv-cache"
NBGRADER = Path(sysconfig.get_path("scripts")) / "nbgrader"


def make_course(scratch: Path, students: int) -> Path:
    """A course whose students all handed in the solution."""
    course = scratch / "course"
    _run([sys.executable, "-m", "grader", "nbgrader", "init", str(course)], scratch)
    _run([str(NBGRADER), "generate_assignment", ASSIGNMENT, "--create"], course)
    solved = {
        path.name: _filled(path, course / "source" / ASSIGNMENT / path.name)
        for path in sorted((course / "release" / ASSIGNMENT).glob("*.ipynb"))
    }
    for number in range(students):
        folder = course / "submitted" / f"student{number}" / ASSIGNMENT
        folder.mkdir(parents=True)
        for name, content in solved.items():
            (folder / name).write_text(content, encoding="utf-8")
    return course


def seconds_to_autograde(course: Path) -> float:
    """The wall time of `nbgrader autograde` for all students."""
    started = time.monotonic()
    _run([str(NBGRADER), "autograde", ASSIGNMENT, "--create"], course)
    return time.monotonic() - started


def _filled(released: Path, source: Path) -> str:
    """The released notebook with the solution's cells in the place of the stubs."""
    solutions = {_name(cell): cell["source"] for cell in _cells(source)}
    notebook = json.loads(released.read_text(encoding="utf-8"))
    for cell in notebook["cells"]:
        if cell["metadata"].get("nbgrader", {}).get("solution"):
            cell["source"] = solutions[_name(cell)]
    return json.dumps(notebook)


def _cells(path: Path) -> list[dict]:
    return json.loads(path.read_text(encoding="utf-8"))["cells"]


def _name(cell: dict) -> str:
    return cell["metadata"].get("nbgrader", {}).get("grade_id", "")


def _run(command: list[str], folder: Path) -> None:
    paths = filter(None, (str(ROOT), os.environ.get("PYTHONPATH")))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    environment |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    environment["GRADER_SECRET_FILE"] = str(folder / "secret.hex")
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"{' '.join(command[:3])}: {done.stderr[-1000:]}")
