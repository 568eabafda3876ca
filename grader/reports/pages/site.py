"""Writes the report: index.html and students/, from a results folder."""

from dataclasses import dataclass
from pathlib import Path

from grader.base.errors import GraderError
from grader.base.notes import in_words
from grader.base.words import tr
from grader.grades.class_scores import record_of, score_class
from grader.grades.policy_file import Policy
from grader.reports.pages.classroom import Classroom
from grader.reports.pages.place import Unchanged, page_names, require_own_folder, write_page
from grader.reports.pages.student import student_page

# Tells a folder of ours, whose old pages may be removed, from any other.
MARKER = ".grader-report"
INDEX, STUDENTS = "index.html", "students"


@dataclass(frozen=True)
class Site:
    """What was written."""

    index: Path
    n_students: int
    n_errors: int
    problems: tuple[str, ...]


def build_report(results: Path, out: Path, policy: Policy, submissions: Path | None = None) -> Site:
    """Write the pages of all students and of the class; records are read one at a time.

    A student's page that would come out as it lies there is left alone.

    Raises:
        GraderError: no results, or `out` holds something that is not a report.
    """
    scores = score_class(results, policy, submissions)
    _require_ours(results, out)
    folder = out / STUDENTS
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (out / MARKER).touch()
        pages = page_names(score.student for score in scores)
        unchanged = Unchanged(out / MARKER, results, policy)
        classroom, problems = Classroom(policy, pages), [*scores.problems, *scores.mixtures]
        for score in scores:
            record, refusal = record_of(results, score)
            if record is None:  # changed since it was scored
                why = in_words(refusal) if refusal else tr("the result is gone")
                problems.append(tr("{student}: {why}.", student=score.student, why=why))
                continue
            page = folder / pages[score.student]
            if not unchanged.holds(page, score):
                write_page(page, student_page(record, score, policy))
                unchanged.written(page, score)
            classroom.add(record, score)
        write_page(out / INDEX, classroom.page(problems))
        _remove_old(folder, set(pages.values()))
        unchanged.keep()
    except OSError as problem:
        raise GraderError(
            f"The report cannot be written to {out}/: {problem.strerror or problem}."
        ) from None
    n_errors = sum(row.state == "error" for row in classroom.rows)
    return Site(out / INDEX, len(classroom.rows), n_errors, tuple(problems))


def _require_ours(results: Path, out: Path) -> None:
    if out.resolve() == results.resolve():
        raise GraderError(f"The report cannot be written into the results {results}/ themselves.")
    require_own_folder(out, MARKER, "report")


def _remove_old(folder: Path, current: set[str]) -> None:
    """Pages of students who are no longer in the results, and drafts of a killed run."""
    for path in (*folder.glob("*.html"), *folder.glob(".*.tmp")):
        if path.name not in current and path.is_file():
            path.unlink()
