"""Grade what nbgrader collected in the sandbox, and write it into nbgrader's gradebook."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from assignment.harness.words import plain
from grader.base.errors import GraderError
from grader.base.notes import in_words
from grader.base.places import ROOT
from grader.base.words import tr
from grader.grade_class import grade_class
from grader.results.record import SubmissionResult, read_record

from .cells import CellKey, comments_of, grade_cells, messages_of, scores_of
from .course import ASSIGNMENT_NAME
from .gradebook import (
    NbgraderCourse,
    open_gradebook,
    require_assignment,
    require_students,
    write_scores,
)
from .submitted import (
    NOTEBOOKS,
    Refused,
    Submitted,
    cleaned,
    find_submitted,
    handed_in_at,
    notebooks_of,
    stage,
)

NO_RESPONSE = "No response."  # nbgrader's words


@dataclass
class Report:
    """What became of each student.

    Attributes:
        written: students whose scores are in the gradebook now.
        not_written: the others, with the reason.
        notes: on what was left out of a submission.
    """

    written: list[str] = field(default_factory=list)
    not_written: dict[str, str] = field(default_factory=dict)
    notes: dict[str, list[str]] = field(default_factory=dict)


@dataclass
class _Work:
    """One student's submission on its way."""

    submitted: Submitted
    notebooks: dict[str, Path]
    handed_in: datetime | None
    scores: dict[CellKey, float | None] = field(default_factory=dict)
    comments: dict[CellKey, str | None] = field(default_factory=dict)


def autograde(
    course: Path,
    assignment: str | None = None,
    student: str | None = None,
    *,
    out: Path | None = None,
    create_students: bool = False,
    **run_options: Any,
) -> Report:
    """Grade in the sandbox what students handed in, and write it into the course's gradebook.

    Args:
        assignment: the homework's own name, unless the course calls it otherwise.
        out: folder of the sandbox's records, COURSE/results by default; a second run grades only
            what is new or changed.
        run_options: for `grade_class`.

    Raises:
        GraderError: see gradebook.write_scores and submitted.find_submitted; nothing is changed.
    """
    loaded = NbgraderCourse.load(course)
    assignment = assignment or ASSIGNMENT_NAME
    found = find_submitted(loaded, assignment, student)
    with open_gradebook(loaded) as gradebook:
        _require_same_cells(require_assignment(gradebook, assignment))
        if not create_students:
            require_students(gradebook, [one.student for one in found])
    report = Report()
    # On the disk of the course: finished folders are moved to their place by a rename.
    with _scratch(loaded.root) as scratch:
        ready = _prepare(loaded, found, report)
        if ready:
            results = out or loaded.root / "results"
            _grade_in_sandbox(ready, scratch, results, run_options)
            ready = [
                work
                for work in ready
                if _take_over(loaded, assignment, work, results, scratch / "autograded", report)
            ]
        if ready:
            write_scores(
                loaded,
                assignment,
                {work.submitted.student: work.scores for work in ready},
                {work.submitted.student: work.comments for work in ready},
                timestamps={
                    work.submitted.student: work.handed_in for work in ready if work.handed_in
                },
                create_students=create_students,
            )
            for work in ready:
                _put_in_place(loaded, assignment, work, scratch / "autograded")
                report.written.append(work.submitted.student)
    return report


def _require_same_cells(assignment: Any) -> None:
    """The gradebook's autograded cells must be this grader's, with the same points."""
    there = {
        (notebook.name, cell.name): cell.max_score
        for notebook in assignment.notebooks
        for cell in notebook.grade_cells
        if cell.cell_type == "code"
    }
    here = {cell.key: cell.points for cell in grade_cells()}
    if there == here:
        return
    differing = [key for key in there.keys() | here.keys() if there.get(key) != here.get(key)]
    notebook, cell = min(differing)
    raise GraderError(
        f"Assignment {assignment.name!r} in the gradebook was made by another version of the "
        f"homework: {len(differing)} graded cells differ, the first is {notebook}/{cell}. Grade it "
        "with that version, or make the assignment anew. The gradebook is unchanged."
    )


def _prepare(course: NbgraderCourse, found: Iterable[Submitted], report: Report) -> list[_Work]:
    """Submissions that can be read; the others go to the report."""
    ready = []
    for submitted in found:
        try:
            notebooks, notes = notebooks_of(submitted)
            ready.append(_Work(submitted, notebooks, handed_in_at(course, submitted)))
        except Refused as problem:
            report.not_written[submitted.student] = str(problem)
            continue
        if notes:
            report.notes[submitted.student] = notes
    return ready


def _grade_in_sandbox(ready: list[_Work], scratch: Path, results: Path, options: dict) -> None:
    staged = scratch / "submissions"
    staged.mkdir()
    paths = [stage(work.submitted, work.notebooks, staged) for work in ready]
    # The real model's test has no cell, and whether it is installed must not change a score.
    grade_class(paths, results, real_model=False, **options)


def _take_over(
    course: NbgraderCourse,
    assignment: str,
    work: _Work,
    results: Path,
    scratch: Path,
    report: Report,
) -> bool:
    """Scores and comments from the record, and notebooks to look at; False if there is no grade."""
    student = work.submitted.student
    record, refusal = read_record(results, work.submitted.record)
    if record is None or record.state not in ("graded", "partial"):
        why = record.reason if record is not None else refusal and in_words(refusal)
        report.not_written[student] = why or "There is no result of it."
        return False
    work.scores = dict(scores_of(record))
    messages = messages_of(record)
    work.comments = {
        key: text and plain(text, lines=True) for key, text in comments_of(record).items()
    }
    folder = scratch / student
    folder.mkdir(parents=True)
    try:
        for name in NOTEBOOKS:
            if name in work.notebooks:
                notebook = cleaned(course, assignment, student, work.notebooks[name])
                _fill_in(notebook, name, work, messages, record)
                _write_notebook(notebook, folder / f"{name}.ipynb")
            else:
                _score_missing(course, assignment, name, work)
    except Refused as problem:
        report.not_written[student] = str(problem)
        return False
    # Where the notebooks' texts look for their pictures, for formgrader and for feedback.
    shutil.copytree(ROOT / "assignment" / "figures", folder / "assignment" / "figures")
    timestamp = work.submitted.folder / "timestamp.txt"
    if timestamp.is_file() and not timestamp.is_symlink():
        shutil.copyfile(timestamp, folder / timestamp.name)
    return True


def _fill_in(
    notebook: Any,
    name: str,
    work: _Work,
    messages: dict[CellKey, str],
    record: SubmissionResult,
) -> None:
    """What nbgrader would find after running the notebook: outputs, answers that are missing."""
    from nbgrader import utils

    remarks = {
        test.id: test.charge.in_words() if test.charge else test.message
        for test in record.tests
        if test.charge or test.with_trusted_parts
    }
    by_key = {cell.key: cell for cell in grade_cells()}
    for cell in notebook.cells:
        marks = cell.metadata.get("nbgrader", {})
        key = (name, marks.get("grade_id"))
        if key in by_key and cell.cell_type == "code":
            of_cell = (remarks[test] for test in by_key[key].tests if test in remarks)
            cell.outputs = _outputs(messages.get(key), list(dict.fromkeys(of_cell)))
        elif utils.is_grade(cell):
            work.scores[key] = utils.determine_grade(cell)[0]
        if utils.is_solution(cell) and marks.get("checksum") == utils.compute_checksum(cell):
            work.comments[key] = NO_RESPONSE
        elif utils.is_solution(cell):
            work.comments.setdefault(key, None)


def _outputs(message: str | None, remarks: list[str]) -> list[Any]:
    from nbformat.v4 import new_output

    if message is not None:
        lines = plain(message, lines=True).splitlines() or [tr("failed")]
        return [
            new_output("error", ename="CheckFailed", evalue=lines[0], traceback=["\n".join(lines)])
        ]
    text = "".join(f"{plain(remark)}\n" for remark in remarks)
    return [new_output("stream", name="stdout", text=text)] if text else []


def _score_missing(course: NbgraderCourse, assignment: str, name: str, work: _Work) -> None:
    """A notebook that was not handed in scores 0 in all its cells, as in nbgrader."""
    from nbgrader.api import Gradebook

    with Gradebook(course.db_url, course.course_id) as gradebook:
        cells = gradebook.find_notebook(name, assignment).grade_cells
        work.scores |= {(name, cell.name): 0.0 for cell in cells}
    for key in work.comments:
        if key[0] == name:
            work.comments[key] = tr("{file} was not handed in.", file=f"{name}.ipynb")


def _write_notebook(notebook: Any, path: Path) -> None:
    import nbformat

    path.write_text(nbformat.writes(notebook, version=4) + "\n", encoding="utf-8")


def _put_in_place(course: NbgraderCourse, assignment: str, work: _Work, scratch: Path) -> None:
    """Replace autograded/STUDENT/ASSIGNMENT, where formgrader and feedback look."""
    student = work.submitted.student
    place = course.folder("autograded", student, assignment)
    if place.exists():
        shutil.rmtree(place)
    place.parent.mkdir(parents=True, exist_ok=True)
    (scratch / student).rename(place)


@contextmanager
def _scratch(root: Path):
    with tempfile.TemporaryDirectory(prefix=".grader-", dir=root) as folder:
        yield Path(folder)
