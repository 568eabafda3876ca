"""From the records of a class to its grades: which attempt counts, who is told apart from whom."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from grader.base.errors import GraderError
from grader.base.notes import Note, why_refused
from grader.base.words import tr
from grader.grades.class_lists import Submission, read_submissions, student_key
from grader.grades.judgement import counts_written, judged, written_answers
from grader.grades.policy import Score, Written, score
from grader.grades.policy_file import Attempts, Policy
from grader.grades.roster import Matched, Student, find_roster, register
from grader.intake.near_names import first_few
from grader.results.changes import mixtures
from grader.results.history import HISTORY, earlier_records
from grader.results.history import Score as RecordScore
from grader.results.marks import Marks, read_marks
from grader.results.record import (
    SETTLED,
    SubmissionResult,
    parse_record,
    read_bounded,
    read_record,
    record_path,
)
from grader.results.summary import Index, stamp_of


@dataclass(frozen=True)
class ClassScores(Sequence[Score]):
    """The scores of a class, by student's name, and what an instructor must know of them.

    `mixtures` are sentences on results that do not compare with the others, by other tests or
    under other limits. `problems` are sentences: damaged records, results of the same id, names in
    the submissions or the extensions that no result has.
    """

    scores: tuple[Score, ...]
    problems: tuple[str, ...] = ()
    mixtures: tuple[str, ...] = ()

    def __getitem__(self, index):
        return self.scores[index]

    def __len__(self) -> int:
        return len(self.scores)

    @property
    def max_points(self) -> float:
        """The largest maximum; one number in a class graded by one suite."""
        return max((score.max_points for score in self.scores), default=0.0)


@dataclass
class _Attempts:
    """One student's scores while the records are read."""

    student: str
    scores: list[Score] = field(default_factory=list)


def score_class(
    results: Path,
    policy: Policy,
    submissions: Mapping[str, Submission] | Path | None = None,
    marks: Marks | None = None,
    of: str | None = None,
) -> ClassScores:
    """Score every record of a results folder, one record in memory at a time.

    Args:
        submissions: a CSV file (see read_submissions) or what it holds.
        marks: what people decided; by default what is beside the records.
        of: only this student's record or records are read, and scored.

    Raises:
        GraderError: there is no result at all.
    """
    if isinstance(submissions, Path):
        submissions = read_submissions(submissions, policy.late)
    submissions = submissions or {}
    problems: list[str] = []
    whose, course = _whose(results, submissions, problems)
    by_student: dict[str, _Attempts] = {}
    same_id: dict[str, set[str]] = {}
    marks = read_marks(results) if marks is None else marks
    problems += marks.problems
    student_of = {student_key(name): student_key(known.student) for name, known in whose.items()}
    of_student = marks.by_student(student_of)
    is_written = counts_written(marks, policy)
    unused = set(submissions)
    by_record: dict[str, RecordScore] = {}

    def is_wanted(name: str) -> bool:
        theirs, asked = student_key(name), student_key(of or "")
        return of is None or student_of.get(theirs, theirs) == student_of.get(asked, asked)

    for record in read_briefs(results, problems, is_wanted):
        unused.discard(student_key(record.student))
        by_record[record.student] = RecordScore.of(record)
        known = whose.get(record.student) or Submission(record.student, record.student)
        theirs = of_student.get(student_key(known.student), Marks())
        written = written_answers(theirs) if is_written else None
        scored = score(record, policy, known.submitted_at, known.student, written)
        attempts = by_student.setdefault(student_key(known.student), _Attempts(known.student))
        attempts.scores.append(scored)
        if policy.resubmissions == "attempt" and policy.attempts == "best":
            attempts.scores += _earlier_attempts(results, record, policy, known.student, written)
        for note in record.notes:
            if note.kind == "same_id":
                same_id.setdefault(student_key(str(note.fields["name"])), set()).add(record.student)
    if not by_student and not problems and of is None:
        raise GraderError(
            f"There are no results in {results}/. Grade submissions with `grader run` first, or "
            "name the folder with --results."
        )
    chosen = [_chosen(attempts, policy.attempts, problems) for attempts in by_student.values()]
    chosen += [_absent(student, chosen) for student in course.absent if is_wanted(student.id)]
    chosen = [
        judged(found, of_student.pop(student_key(found.student), Marks()), policy, problems)
        for found in chosen
    ]
    unmarked = [found.student for found in chosen if found.written and not _is_marked(found)]
    if unmarked:
        problems.append(
            tr(
                "Students without a marked written answer: {n} ({names}).",
                n=len(unmarked),
                names=tr(", ").join(first_few(unmarked)),
            )
        )
    problems += [
        tr("{name}: marked by a person, but without a result.", name=found[0].student)
        for found in of_student.values()
    ]
    chosen = _told_apart(chosen, same_id, problems)
    chosen = _with_names(chosen, course)
    problems += [
        tr("{name}: in the submissions file, but without a result.", name=submissions[key].name)
        for key in sorted(unused)
    ]
    problems += [
        tr("{name}: has an extension, but no result.", name=key)
        for key in sorted(policy.due_of.keys() - by_student.keys())
    ]
    chosen.sort(key=lambda found: (found.student.casefold(), found.student))
    return ClassScores(tuple(chosen), tuple(problems), mixtures(results, by_record))


def _earlier_attempts(
    results: Path, record: SubmissionResult, policy: Policy, student: str, written: Written | None
) -> Iterator[Score]:
    """Scores of other work that was graded under the same id before, by the same tests."""
    seen = {record.submission_hash}
    for path in reversed(earlier_records(results, record.student)):
        earlier = _in_history(path)
        if earlier is None or earlier.state not in SETTLED or earlier.submission_hash in seen:
            continue
        seen.add(earlier.submission_hash)
        if earlier.suite_hash == record.suite_hash:
            scored = score(earlier, policy, None, student, written)
            yield scored.model_copy(update={"earlier": path.name})


def _in_history(path: Path) -> SubmissionResult | None:
    try:
        return parse_record(read_bounded(path) or b"")
    except (OSError, ValueError, RecursionError):
        return None


def _whose(
    results: Path, submissions: Mapping[str, Submission], problems: list[str]
) -> tuple[dict[str, Submission], Matched]:
    """Whose each record is: by the submissions file, and then by the roster, whose id it takes."""
    known = {
        name: submissions.get(student_key(name)) or Submission(name, name)
        for name in record_names(results)
    }
    course = register(find_roster(results), [one.student for one in known.values()], problems)
    for name, one in known.items():
        if owner := course.of.get(one.student):
            known[name] = replace(one, student=owner.id)
    return known, course


def _absent(student: Student, others: Sequence[Score]) -> Score:
    """Of somebody on the roster who handed in nothing."""
    return Score(
        student=student.id,
        state="missing",
        max_points=max((other.max_points for other in others), default=0.0),
        final=0.0,
        notes=(tr("nothing was handed in"),),
    )


def _with_names(scores: list[Score], course: Matched) -> list[Score]:
    people = {student.id: student for student in (*course.of.values(), *course.absent)}

    def named(scored: Score) -> Score:
        person = people.get(scored.student)
        if person is None:
            return scored
        facts = {"name": person.name, "email": person.email, "section": person.section}
        return scored.model_copy(update=facts)

    return [named(scored) for scored in scores]


def record_of(results: Path, score: Score) -> tuple[SubmissionResult | None, Note | None]:
    """The record that counts for a score, or why it cannot be read; for who is on the roster and
    handed in nothing, a record of that."""
    if score.earlier:
        return _in_history(results / HISTORY / score.submission / score.earlier), None
    if score.submission:
        return read_record(results, score.submission)
    absent = SubmissionResult(
        student=score.student,
        source="",
        submission_hash="",
        suite_hash="",
        suite_version="",
        state="missing",
        reason=tr("nothing was handed in"),
        graded_at=datetime.now(UTC),
    )
    return absent, None


def record_names(results: Path) -> list[str]:
    """The ids of the records in a folder; none where there is no folder."""
    return [path.stem for path in sorted(results.glob("*.json")) if not path.name.startswith(".")]


def read_records(
    results: Path,
    problems: list[str] | None = None,
    is_wanted: Callable[[str], bool] = lambda name: True,
) -> Iterator[SubmissionResult]:
    """The records of a results folder one by one, by name; of ids that are wanted.

    What is no sound record is named in `problems`.

    Raises GraderError where the folder does not exist.
    """
    for name in _names(results, is_wanted):
        record, refusal = read_record(results, name)
        if record is not None:
            yield record
        else:
            _tell(refusal, problems)


def read_briefs(
    results: Path, problems: list[str], is_wanted: Callable[[str], bool]
) -> Iterator[SubmissionResult]:
    """As read_records, what a grade is made of: from the index where it is in there, and what is
    read now is in it the next time (see grader.results.summary)."""
    index = Index.load(results)
    for name in _names(results, is_wanted):
        stamp = stamp_of(record_path(results, name))
        record, refusal = index.brief(name), None
        if record is None:
            record, refusal = read_record(results, name)
            if record is not None:
                index.add(record, stamp)
        if record is not None:
            yield record
        else:
            _tell(refusal, problems)
    index.save()


def _names(results: Path, is_wanted: Callable[[str], bool]) -> list[str]:
    if not results.is_dir():
        raise GraderError(
            f"There is no folder {results}. Grade submissions with `grader run` first, or name the "
            "folder with --results."
        )
    return [name for name in record_names(results) if is_wanted(name)]


def _tell(refusal: Note | None, problems: list[str] | None) -> None:
    if problems is not None and refusal is not None:
        why = why_refused(refusal)
        problems.append(tr("{why}; run `grader run` again to replace it.", why=why))


def _is_marked(score: Score) -> bool:
    return bool(score.written and any(a.points is not None for a in score.written.answers))


def _chosen(attempts: _Attempts, rule: Attempts, problems: list[str]) -> Score:
    """The attempt that counts."""
    scores = attempts.scores
    if len(scores) == 1:
        return scores[0]
    names = tuple(dict.fromkeys(scored.submission for scored in scores))
    graded = [scored for scored in scores if scored.final is not None]
    notes = []
    if len(graded) < len(scores):
        failed = [scored.submission for scored in scores if scored.final is None]
        names_of = tr(", ").join(failed)
        notes.append(tr("not counted, for they have no grade: {names}", names=names_of))
    if rule == "last":
        undated = [scored.submission for scored in scores if scored.submitted_at is None]
        if undated:
            problems.append(
                tr(
                    "{student}: which of {names} is the last is not known, for {undated} has no "
                    "submission time; no grade is given.",
                    student=attempts.student,
                    names=tr(", ").join(names),
                    undated=tr(", ").join(undated),
                )
            )
            notes.append(tr("no grade: which attempt is the last is not known"))
            update = {"final": None, "notes": tuple(notes), "attempts": names}
            return scores[0].model_copy(update=update)
        # The last attempt counts even if the grader failed on it: then there is no grade yet.
        best = max(scores, key=lambda scored: (scored.submitted_at, scored.submission))
    else:
        best = max(graded, key=lambda scored: scored.final or 0.0) if graded else scores[0]
    n, name = len(scores), best.submission
    if best.earlier:
        name = tr("{name}, before", name=name)
    chosen = {
        "best": tr("best of {n} attempts: {name}", n=n, name=name),
        "last": tr("last of {n} attempts: {name}", n=n, name=name),
    }
    notes.insert(0, chosen[rule])
    return best.model_copy(update={"notes": (*notes, *best.notes), "attempts": names})


def _told_apart(
    chosen: list[Score], same_id: Mapping[str, set[str]], problems: list[str]
) -> list[Score]:
    """Mark results of one id that no submissions file joined or told apart."""
    by_key = {student_key(scored.submission): scored for scored in chosen}
    others: dict[str, set[str]] = {}
    for key, names in sorted(same_id.items()):
        left = [by_key[k] for k in {key, *map(student_key, names)} if k in by_key]
        # Who was given another name by the submissions file is told apart already.
        left = [scored for scored in left if scored.student == scored.submission]
        if len(left) < 2:
            continue
        group = sorted(scored.submission for scored in left)
        problems.append(
            tr(
                "{names}: submissions of the same id, each scored by itself. Say whose they are in "
                "a CSV file (submission,student,submitted_at) given with --submitted.",
                names=tr(", ").join(group),
            )
        )
        for name in group:
            others.setdefault(name, set()).update(set(group) - {name})
    return [
        scored.model_copy(
            update={
                "repeated": tuple(sorted(others[scored.submission])),
                "notes": (*scored.notes, tr("another submission has the same id")),
            }
        )
        if scored.submission in others
        else scored
        for scored in chosen
    ]
