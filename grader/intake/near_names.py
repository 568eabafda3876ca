"""File names that were meant to be a module's: told by name, never guessed.

Browsers, learning platforms and editors rename what is handed in: `attention (1).py`,
`Attention.py`, `attention.py.txt`.
"""

import re
from collections.abc import Iterable

from grader.base.notes import Note, Reason, note

_SUFFIXES = re.compile(r"(\.(py[3w]?|txt|text|rtf|docx?))+$")
_COPY = re.compile(r"copy( of)?|kopie( von)?|copie( de)?|副本|复制")
_SHOWN = 5
_SHOWN_NAMES = 5


def meant_as(name: str, modules: Iterable[str]) -> str | None:
    """Which of `modules` (`attention.py`, …) a file's name differs from in case, signs, numbers,
    "copy" or suffix alone."""
    letters = _letters(name)
    return next((m for m in modules if name != m and letters == _letters(m)), None)


def _letters(name: str) -> str:
    stem = _SUFFIXES.sub("", name.strip().lower())
    return re.sub(r"[\W\d_]+", "", _COPY.sub("", stem))


def near_misses(names: Iterable[str], missing: Iterable[str]) -> list[Note]:
    """For each missing module, the file among `names` (paths with "/") that may have been meant."""
    missing = sorted(missing)
    told: dict[str, list[str]] = {}
    for name in sorted(names):
        expected = meant_as(name.rpartition("/")[2], missing)
        if expected is not None:
            told.setdefault(expected, []).append(name)
    return [
        note("near_miss", found=found, expected=expected)
        for expected, found_names in told.items()
        for found in found_names[:_SHOWN]
    ]


def accept_near_misses(files: dict[str, bytes], modules: Iterable[str]) -> list[Note]:
    """Rename in `files` the one Python file that each missing module may be; a note on each."""
    there = {name.rpartition("/")[2] for name in files}
    candidates: dict[str, list[str]] = {}
    for name in sorted(files):
        if name.lower().endswith(".py") and (meant := meant_as(name.rpartition("/")[2], modules)):
            candidates.setdefault(meant, []).append(name)
    taken = []
    for expected, names in candidates.items():
        if expected not in there and len(names) == 1:
            folder, slash, found = names[0].rpartition("/")
            files[folder + slash + expected] = files.pop(names[0])
            taken.append(note("near_miss_taken", found=found, expected=expected))
    return taken


def first_few(names: list[str]) -> tuple[str, ...]:
    return (*names[:_SHOWN_NAMES], *(["…"] if len(names) > _SHOWN_NAMES else []))


def told(problem: list[Reason], near: list[Note], notes: Iterable[Note] = ()) -> Reason:
    """What is missing, what was seen in its place, and what to do next."""
    # In front, for tables show where a reason begins.
    seen = [Reason("Note: {note}. ", note=miss) for miss in near]
    more = [Reason(" Note: {note}.", note=other) for other in notes]
    hand_in = Reason(" Hand in these files, in a folder or a zip archive, or a notebook.")
    return Reason.of([*seen, *problem, *more, hand_in])
