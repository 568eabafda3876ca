"""A report that follows its results: the pages in a folder of their own, made anew on a change."""

import contextlib
import threading
from dataclasses import dataclass, field
from pathlib import Path

from grader.base.errors import GraderError
from grader.grades.class_scores import ClassScores, score_class
from grader.grades.policy import Score
from grader.grades.policy_file import Policy
from grader.reports.pages.place import page_names
from grader.reports.pages.site import INDEX, STUDENTS, build_report
from grader.running.locks import is_being_written

Stamp = frozenset[tuple[str, int, int]]


@dataclass
class LiveReport:
    """The pages of a results folder as it is now.

    Attributes:
        results: read, and never written to from here.
        folder: of the pages; nobody else's.
        problem: why there are no pages, as a sentence.
    """

    results: Path
    folder: Path
    policy: Policy
    submissions: Path | None = None
    problem: str = ""
    _seen: Stamp | None = None
    _scores: dict[str, Score] = field(default_factory=dict)
    _one_at_a_time: threading.Lock = field(default_factory=threading.Lock)

    @property
    def is_growing(self) -> bool:
        """Whether a run is writing results."""
        return is_being_written(self.results)

    def refresh(self) -> None:
        """Make the pages anew if something has changed; who comes meanwhile waits."""
        with self._one_at_a_time:
            now = _stamp(self.results, self.submissions)
            if now == self._seen:
                return
            try:
                scores = score_class(self.results, self.policy, self.submissions)
                build_report(self.results, self.folder, self.policy, self.submissions)
            except GraderError as problem:
                self.problem, self._scores = str(problem), {}
            else:
                self.problem, self._scores = "", _by_page(scores)
            self._seen = now

    def index(self) -> bytes:
        """The class page."""
        return (self.folder / INDEX).read_bytes()

    def score_of(self, page: str) -> Score | None:
        """Whose page has this file name; no other name leads to a file."""
        return self._scores.get(page)

    def student_page(self, page: str) -> bytes:
        """The page of somebody whom `score_of` knows."""
        return (self.folder / STUDENTS / page).read_bytes()


def _by_page(scores: ClassScores) -> dict[str, Score]:
    names = page_names(score.student for score in scores)
    return {names[score.student]: score for score in scores}


def _stamp(results: Path, submissions: Path | None) -> Stamp:
    """Which records, marks and lists there are, and of when."""
    kinds = ("*.json", "*.jsonl", "*.csv")
    found = [path for kind in kinds for path in results.glob(kind)] if results.is_dir() else []
    states = []
    for path in [*found, *([submissions] if submissions else [])]:
        with contextlib.suppress(OSError):  # gone since it was listed
            states.append((path.name, path.lstat()))
    return frozenset((name, state.st_mtime_ns, state.st_ino) for name, state in states)
