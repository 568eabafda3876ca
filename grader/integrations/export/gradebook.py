"""`--to nbgrader`: the points of every cell, into nbgrader's gradebook.

nbgrader has points per cell, late penalties and extensions of its own, and a person's scores. So
what goes there is which tests passed; of the policy, only which attempt counts.
"""

from datetime import UTC
from pathlib import Path

from grader.base.errors import GraderError
from grader.base.notes import Note, in_words
from grader.grades.class_scores import ClassScores, record_of
from grader.grades.policy import Score
from grader.grades.policy_file import Policy
from grader.results.record import SubmissionResult


def write_gradebook(
    scores: ClassScores, results: Path, policy: Policy, course: Path, assignment: str
) -> list[str]:
    """Write all students in one transaction, and say what was done in sentences.

    Raises:
        GraderError: nbgrader is not there, a student or cell unknown, a locked or old database, or
            nobody has a grade. The gradebook is unchanged then.
    """
    from grader.integrations.nbgrader.cells import comments_of, grade_cells, scores_of
    from grader.integrations.nbgrader.gradebook import require_nbgrader, write_scores

    require_nbgrader()
    needed = {test for cell in grade_cells() for test in cell.tests}
    points, comments, timestamps, left_out = {}, {}, {}, []
    for score in scores:
        record, refusal = record_of(results, score)
        reason = _why_not(score, record, refusal, needed)
        if reason or record is None:
            left_out.append(f"{score.student} ({reason})")
            continue
        points[score.student] = scores_of(record)
        comments[score.student] = comments_of(record)
        if score.submitted_at:
            timestamps[score.student] = score.submitted_at.astimezone(UTC).replace(tzinfo=None)
    listed = f"Left out ({len(left_out)}): {'; '.join(left_out)}." if left_out else ""
    if not points:
        raise GraderError(f"Nobody has a grade to write. {listed}")
    count = write_scores(course, assignment, points, comments, timestamps=timestamps)
    said = [listed] if listed else []
    if policy.points or policy.total is not None or policy.has_late_rule:
        said.append(
            "nbgrader counts its own points per cell and its own late penalty; those of the policy "
            "were not written."
        )
    if any(score.judged or score.written for score in scores):
        said.append(
            "What people decided with `grader adjust` and `grader mark` was not written: give it "
            "in nbgrader's formgrader."
        )
    return [*said, f"{count} students of {assignment!r} in the gradebook of {course}"]


def _why_not(
    score: Score, record: SubmissionResult | None, refusal: Note | None, needed: set[str]
) -> str:
    if record is None:
        return in_words(refusal) if refusal else "the result is gone"
    if score.final is None:
        return "; ".join(score.notes)
    if score.repeated:
        return f"has the same id as {', '.join(score.repeated)}"
    if needed - {test.id for test in record.tests}:
        return "graded with other tests than the notebooks have; run `grader run` again"
    return ""
