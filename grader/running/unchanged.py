"""Whether a submission is what it was when its record was made, without reading it again.

A run over a class that is graded then costs a look at each file. What is known is kept in the
results' index (grader.results.summary): the size, times and inode of everything that was handed in,
as it lay there before it was read. What is changed, or so new that a change might not show, is read
and hashed as ever; `--rehash` does so with all.
"""

from __future__ import annotations

import functools
import hashlib
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from grader.base.places import GRADER
from grader.base.words import language
from grader.intake.submissions import Found
from grader.results.record import SubmissionResult, record_path
from grader.results.summary import Index, Summary, stamp_of
from grader.running.child import Grading

# Of files newer than this one may be written once more within one tick of the disk's clock.
_TICK_NS = 2_000_000_000
# Beyond that a look costs as much as reading.
MOST_FILES = 2000


@dataclass
class Unchanged:
    """What earlier runs know of the submissions, and what this one learns."""

    grading: Grading
    index: Index

    @classmethod
    def of(cls, grading: Grading) -> Unchanged:
        return cls(grading, Index.load(grading.out))

    def summary(self, found: Found) -> Summary | None:
        """Of the record that still holds; None where the submission has to be looked into."""
        if self.grading.regrade or self.grading.rehash:
            return None
        entry = self.index.entry(found.student)
        if entry is None or (known := entry.get("handed_in")) is None:
            return None
        if known["fingerprint"] != self.fingerprint(found):
            return None
        brief = entry["brief"]
        if not self.grading.keeps(brief["suite_hash"], brief["state"], brief["sandbox"]):
            return None
        return Summary(**{**known["summary"], "kept": True, "parts": _parts(known["summary"])})

    def fingerprint(self, found: Found) -> str | None:
        """Stands for the files of a submission as they lie there; None where that says too little.

        Taken before they are read, so what is written meanwhile shows the next time.
        """
        if found.contents is not None:
            return None
        digest = hashlib.sha256(_intake().encode())
        reason = found.reason.facts() if found.reason is not None else ""
        words = (found.kind, found.source_name, reason, language(), self.grading.accept_names)
        digest.update(repr(words).encode())
        youngest = time.time_ns() - _TICK_NS
        for number, (name, stamp) in enumerate(_files(found.sources)):
            if number >= MOST_FILES or stamp is None or max(stamp[1:3]) > youngest:
                return None
            digest.update(repr((name, stamp)).encode())
        return digest.hexdigest()

    def note(self, fingerprint: str | None, result: SubmissionResult, summary: Summary) -> None:
        """Keep what a submission with this fingerprint got, when its record lies there."""
        entry = self.index.add(result, stamp_of(record_path(self.grading.out, result.student)))
        if entry is not None and fingerprint is not None:
            entry["handed_in"] = {"fingerprint": fingerprint, "summary": vars(summary)}


def _parts(summary: dict) -> tuple[tuple[int, float, float], ...]:
    return tuple((part, points, most) for part, points, most in summary["parts"])


def _files(sources: tuple[Path, ...]) -> Iterator[tuple[str, list[int] | None]]:
    """Everything that was handed in, in a fixed order; links are not followed."""
    for source in sources:
        yield str(source), stamp_of(source)
        if source.is_dir() and not source.is_symlink():
            yield from _below(source)


def _below(folder: Path) -> Iterator[tuple[str, list[int] | None]]:
    with os.scandir(folder) as entries:
        found = sorted(entries, key=lambda entry: entry.name)
    for entry in found:
        yield entry.path, stamp_of(Path(entry.path))
        if entry.is_dir(follow_symlinks=False):
            yield from _below(Path(entry.path))


@functools.cache
def _intake() -> str:
    """Another version of the intake might take other files, or the same ones otherwise."""
    digest = hashlib.sha256()
    for path in sorted((GRADER / "intake").glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()
