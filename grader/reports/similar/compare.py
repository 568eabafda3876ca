"""From submissions to ranked pairs."""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from grader.base.errors import GraderError
from grader.base.words import tr
from grader.intake.course import Course
from grader.intake.submissions import find_submissions
from grader.reports.similar.fingerprints import (
    Fingerprints,
    TooSlow,
    all_fingerprints,
    fingerprints,
)
from grader.reports.similar.ranking import Pair, rank_pairs
from grader.reports.similar.texts import Text, read_texts, skeleton_text


@dataclass(frozen=True)
class Comparison:
    """All that the pages need. `prints` are without what the skeleton has."""

    texts: list[Text]
    prints: list[Fingerprints]
    pairs: list[Pair]
    problems: list[str]

    def rare(self) -> frozenset[bytes]:
        """Fingerprints that exactly two submissions have."""
        owners = Counter(value for one in self.prints for value in one.places)
        return frozenset(value for value, n in owners.items() if n == 2)


def compare_class(
    paths: Iterable[Path],
    given: Iterable[Path] = (),
    limit: int = 50,
    watch: Callable[[list[Text]], Iterable[Text]] = iter,
) -> Comparison:
    """Compare every submission below `paths` with every other.

    Args:
        given: files that everybody may have copied from, such as last lecture's code.
        limit: how many pairs to keep.
        watch: passes the texts on and shows how far the reading is.

    Raises:
        GraderError: fewer than two submissions with code, or a file of `given` cannot be read.
    """
    course = Course.load()
    texts, problems = read_texts(find_submissions(paths, course), course)
    skeleton = all_fingerprints("\n".join([skeleton_text(course), *map(_read, given)]))
    kept, prints = [], []
    for text in watch(texts):
        try:
            prints.append(fingerprints(text.code).without(skeleton))
        except TooSlow:
            problems.append(
                tr(
                    "{student}: not compared. Its code takes too long to read.",
                    student=text.student,
                )
            )
            continue
        kept.append(text)
        if text.shortened:
            problems.append(
                tr(
                    "{student}: only the first {n:,} characters.",
                    student=text.student,
                    n=len(text.code),
                )
            )
    if len(kept) < 2:
        raise GraderError(
            f"Comparing needs at least two submissions with code in them; found {len(kept)}."
            + "".join(f"\n  {problem}" for problem in problems)
        )
    return Comparison(kept, prints, rank_pairs(prints, limit), problems)


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8", errors="replace")
    except OSError as problem:
        raise GraderError(f"{path} cannot be read: {problem.strerror}.") from None
