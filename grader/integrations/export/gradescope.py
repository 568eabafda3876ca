"""`--to gradescope`: a results.json for each submission, as Gradescope's harness reads it.

The format is Gradescope's "Autograder Specifications". All text is sent as plain text
(`output_format: text`), which Gradescope escapes; control characters are taken out here.
"""

import json
from pathlib import Path
from typing import Any

from assignment.harness.words import plain
from grader.base.errors import GraderError
from grader.base.words import spoken, spoken_title, tr
from grader.grades.judgement import decision_in_words
from grader.grades.policy import Answer, Score, rounded, student_view
from grader.grades.policy_file import Policy
from grader.reports.class_table import fact
from grader.results.record import SubmissionResult, TestResult, write_atomically

_WHY = {
    "not_started": "not started yet",
    "waiting": "waits for another function",
    "out_of_time": "out of time",
}


def results_json(record: SubmissionResult, score: Score, policy: Policy) -> dict[str, Any]:
    """What Gradescope is told of one submission.

    Points are the policy's; `score` is the final one, so lateness is in it. A hidden test has no
    output, and is shown when `visibility` of the policy says so. The time is not told: a submission
    can spend it as it likes, and so say what it saw.

    Raises:
        GraderError: the submission has no grade; writing a 0 would be wrong.
    """
    if score.final is None:
        why = tr("; ").join(score.notes) or tr("no grade")
        raise GraderError(tr("{student}: {why}.", student=score.student, why=why))
    scale = {part.part: part.scale for part in score.parts}
    return {
        "score": score.final,
        "output": _text(_overview(record, score)),
        "output_format": "text",
        "visibility": "visible",
        "stdout_visibility": "hidden",
        "extra_data": {
            "raw": score.raw,
            "max_points": score.max_points,
            "penalty": score.penalty,
            "adjusted": score.adjusted,
            "days_late": score.days_late,
            "below_minimum": list(score.below_minimum),
            "suite_version": record.suite_version,
        },
        "tests": [
            *(_test(test, scale.get(test.part, 0.0), policy) for test in record.tests),
            *(_answer(answer) for answer in (score.written.answers if score.written else ())),
        ],
    }


def _test(test: TestResult, scale: float, policy: Policy) -> dict[str, Any]:
    seen = student_view(test, policy)
    visible = test.visibility == "public"
    title = spoken_title(test.title, test.variant)
    entry = {
        "score": rounded(test.points * scale, 4),
        "max_score": rounded(test.max_points * scale, 4),
        "status": "passed" if test.state == "passed" else "failed",
        "name": _text(title if visible else tr("hidden: {title}", title=title)),
        "number": test.section,
        "output_format": "text",
        "tags": [f"part{test.part}", test.visibility],
        "visibility": "visible" if visible else _hidden_visibility(policy),
    }
    if visible and seen is not None:
        entry["output"] = _text(_output(seen))
    return entry


def _answer(answer: Answer) -> dict[str, Any]:
    return {
        "score": answer.points or 0.0,
        "max_score": answer.max_points,
        "name": tr("written answer: {question}", question=answer.question),
        "number": str(answer.part),
        "output": _text(answer.comment),
        "output_format": "text",
        "tags": [f"part{answer.part}", "written"],
        "visibility": "visible",
    }


def _hidden_visibility(policy: Policy) -> str:
    return "hidden" if policy.visibility.hidden == "nothing" else policy.visibility.gradescope


def _output(test: TestResult) -> str:
    lines = [spoken(_WHY[test.state])] if test.state in _WHY and not test.message else []
    lines.append(test.message)
    if test.with_trusted_parts and test.own_message:
        own = test.own_message.strip().partition("\n")[0]
        lines.append(
            tr(
                "graded with trusted versions of the other parts; with your own: {message}",
                message=own,
            )
        )
    if test.charge:
        lines.append(test.charge.in_words())
    return "\n".join(line for line in lines if line)


def _overview(record: SubmissionResult, score: Score) -> str:
    """Above all tests. Of hidden tests nothing, not even sums: this text is visible at once."""
    lines = [record.reason] if record.state in ("missing", "partial") and record.reason else []
    scale = {part.part: part for part in score.parts}
    for points in record.parts:
        part = scale.get(points.part)
        if part and part.max_points and points.public_max:
            share = tr(
                "Part {part} {title}: public tests {n:.4g} of {all:.4g}",
                part=part.part,
                title=spoken(part.name),
                n=points.public * part.scale,
                all=points.public_max * part.scale,
            )
            lines.append(share)
    lines += [fact(diagnosis) for diagnosis in record.diagnoses]
    lines += score.notes
    lines += [decision_in_words(decided, with_name=False) for decided in score.judged]
    return "\n".join(lines)


def _text(text: str) -> str:
    return plain(text, lines=True)


def write_results(record: SubmissionResult, score: Score, policy: Policy, folder: Path) -> Path:
    """Write FOLDER/<submission>/results.json."""
    # The record's id, not the student's name: it is safe as the name of a folder.
    place = folder / record.student
    place.mkdir(parents=True, exist_ok=True)
    path = place / "results.json"
    content = json.dumps(results_json(record, score, policy), indent=1, ensure_ascii=False)
    write_atomically(path, content.encode() + b"\n")
    return path
