"""File names that were meant to be a module's: told by name, never guessed.

Browsers, learning platforms and editors rename what is handed in: `attention (1).py`,
`Attention.py`, `attention.py.txt`.
"""

import re
from collections.abc import Iterable

from grader.base.notes import Note, note

_SUFFIXES = re.compile(r"(\.(py[3w]?|txt|text|rtf|docx?))+$")
_COPY = re.compile(r"copy( of)?|kopie( von)?|copie( de)?|副本|复制")
_SHOWN = 5


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
