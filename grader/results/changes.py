"""Which scores changed from one grading to the next, and whether a class is by one suite.

The scores of records that were replaced come from the history (see grader.results.history), so
nothing has to be remembered from run to run: what a killed run changed, the next one tells.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from grader.base.words import tr
from grader.results.history import HISTORY, Score, earlier_records, read_score
from grader.results.record import SETTLED, record_path

_SHOWN_NAMES = 10


@dataclass(frozen=True)
class Change:
    """One score that took another's place. `old` is None where the old record was unreadable."""

    student: str
    old: Score | None
    new: Score
    why: str

    @property
    def parts(self) -> list[tuple[int, float | None, float | None]]:
        """Part, old points, new points, for the parts whose points differ."""
        old = self.old.by_part if self.old else {}
        new = self.new.by_part
        rows = [(part, old.get(part), new.get(part)) for part in sorted(old.keys() | new.keys())]
        return [row for row in rows if row[1] != row[2]]


# ------------------------------------------------------------------------------------------ read


def read_changes(out: Path, since_ns: int = 0) -> list[Change]:
    """Every change of a score in `out`, by date, or those made since a time of the disk's clock."""
    place = out / HISTORY
    students = sorted(p.name for p in place.iterdir()) if place.is_dir() else []
    changes = [change for student in students for change in _changes_of(out, student, since_ns)]
    return sorted(changes, key=lambda change: change.new.graded_at)


def _changes_of(out: Path, student: str, since_ns: int) -> Iterator[Change]:
    """Walk from the oldest record to the present one."""
    scores: list[Score | None] = []
    replaced_ns = 0
    history = earlier_records(out, student)
    if not any(path.lstat().st_mtime_ns >= since_ns for path in history):
        return
    for path in [*history, record_path(out, student)]:
        score, is_present = read_score(path), path.parent == out
        if is_present and score is None:  # gone or damaged: the next run grades it
            return
        # An error is no score. Only where it is the last word, it is told.
        if score is None or score.state in SETTLED or is_present:
            if score and scores and replaced_ns >= since_ns and _differ(scores[-1], score):
                yield Change(student, scores[-1], score, _why(scores[-1], score))
            scores.append(score)
        if not is_present:
            replaced_ns = path.lstat().st_mtime_ns


def _differ(old: Score | None, new: Score) -> bool:
    return old is None or (old.state, old.total, old.max_total, old.by_part) != (
        new.state,
        new.total,
        new.max_total,
        new.by_part,
    )


def _why(old: Score | None, new: Score) -> str:
    if old is None:
        return tr("the old record was unreadable")
    if new.state == "error":
        return tr("the grader failed; run again")
    causes = []
    if old.submission_hash != new.submission_hash:
        causes.append(tr("work changed"))
    if old.suite_hash != new.suite_hash:
        causes.append(tr("tests or real model changed"))
    if old.limits and new.limits and old.limits != new.limits:
        causes.append(tr("limits changed"))
    if not causes and old.sandbox == "none" and new.sandbox != old.sandbox:
        causes.append(tr("was graded without a sandbox"))
    if not causes and old.schema_version != new.schema_version:
        causes.append(tr("older grader"))
    return tr(", ").join(causes) or "--regrade"


def settled_scores(out: Path) -> dict[str, Score]:
    """The scores in `out` that count, by student; the newest stands last."""
    read = {path.stem: read_score(path) for path in out.glob("*.json")}
    return _settled(out, {student: score for student, score in read.items() if score})


def _settled(out: Path, scores: dict[str, Score]) -> dict[str, Score]:
    def age(entry: tuple[str, Score]) -> tuple[datetime, int]:
        student, score = entry  # within one second the order of writing tells
        return score.graded_at, record_path(out, student).lstat().st_mtime_ns

    settled = {student: score for student, score in scores.items() if score.state in SETTLED}
    return dict(sorted(settled.items(), key=age))


def mixed_class(
    out: Path, suite_hash: str | None = None, scores: dict[str, Score] | None = None
) -> str:
    """A sentence if the scores in `out` are by more than one suite, else "".

    Args:
        suite_hash: the suite that should count; None takes the one of the newest result.
        scores: the scores, where they were read before.
    """
    scores = settled_scores(out) if scores is None else scores
    wanted = suite_hash or next((s.suite_hash for s in reversed(scores.values())), "")
    others = [student for student, score in scores.items() if score.suite_hash != wanted]
    if not others:
        return ""
    return (
        f"WARNING: this class is mixed. {len(others)} of {len(scores)} results in {out}/ are by "
        f"another version of the test suite and do not compare with the others: {_names(others)}. "
        "Run the grader over these submissions to grade them anew."
    )


def other_limits(
    out: Path, limits: dict[str, float] | None = None, scores: dict[str, Score] | None = None
) -> str:
    """A sentence if scores in `out` were made under other limits on time or memory, else "".

    Args:
        limits: those that should count; None takes those of the newest result.
        scores: the scores, where they were read before.
    """
    scores = settled_scores(out) if scores is None else scores
    noted = {student: score.limits for student, score in scores.items() if score.limits}
    wanted = limits or next(reversed(noted.values()), {})
    others = {student: under for student, under in noted.items() if _is_other(under, wanted)}
    if not others:
        return ""
    differ = filter(None, (_in_place_of(name, others.values(), wanted[name]) for name in wanted))
    return (
        f"{len(others)} of {len(scores)} results in {out}/ were made under other limits and are "
        f"kept as they are ({', '.join(differ)}): {_names(others)}. To grade them under the same "
        "limits as the others, run the grader over these submissions with --regrade; the old "
        f"records move to {out / HISTORY}/."
    )


def _is_other(under: dict[str, float], wanted: dict[str, float]) -> bool:
    """In a limit that both know: records of before lack those that are new."""
    return any(under[name] != wanted[name] for name in under.keys() & wanted)


def mixtures(out: Path, scores: dict[str, Score] | None = None) -> tuple[str, ...]:
    """A sentence for each way in which the scores in `out` do not compare with each other.

    Args:
        scores: all that are there, where they were read before.
    """
    scores = settled_scores(out) if scores is None else _settled(out, scores)
    return tuple(filter(None, (mixed_class(out, scores=scores), other_limits(out, scores=scores))))


def _in_place_of(name: str, others: Iterable[dict[str, float]], wanted: float) -> str:
    """`call_seconds 2 or 5 in place of 10`; "" where all have the wanted value."""
    found = sorted({limits[name] for limits in others if name in limits} - {wanted})
    values = " or ".join(f"{value:g}" for value in found)
    return f"{name} {values} in place of {wanted:g}" if found else ""


def no_longer_handed_in(out: Path, students: Iterable[str]) -> str:
    """A sentence that names the records without a submission in this run, else ""."""
    students = set(students)
    left = sorted({path.stem for path in out.glob("*.json")} - students)
    if not left:
        return ""
    verb = "result of a student is" if len(left) == 1 else "results of students are"
    return (
        f"No longer handed in, or not below the folders of this run: {len(left)} {verb} kept as "
        f"before: {_names(left)}.{_under_another_id(out, left, students)}"
    )


def _under_another_id(out: Path, left: Iterable[str], students: Iterable[str]) -> str:
    """A sentence on the results that lie under an earlier id of work in this run, else ""."""
    now: dict[str, list[str]] = {}
    for student in sorted(students):
        if score := read_score(record_path(out, student)):
            now.setdefault(score.submission_hash, []).append(student)
    same = []
    for student in left:
        score = read_score(record_path(out, student))
        # Where several hold the same files, whose the result was cannot be told.
        if score and len(others := now.get(score.submission_hash, [])) == 1:
            same.append(f"{student} (now {others[0]})")
    if not same:
        return ""
    return (
        f" The same files are graded under another id in this run: {', '.join(same[:_SHOWN_NAMES])}"
        f"{', …' if len(same) > _SHOWN_NAMES else ''}. Move the older records out of {out}/ if they"
        " are the same students', or both are counted."
    )


def _names(students: Iterable[str]) -> str:
    names = sorted(students)
    return ", ".join(names[:_SHOWN_NAMES]) + (", …" if len(names) > _SHOWN_NAMES else "")
