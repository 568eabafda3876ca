"""The language of what the grader says: pages, tables, notes, and titles of hidden tests.

As in the homework (assignment/harness/words.py), by the English text, from a second dictionary
beside this file, zh.toml, which students do not get. Records keep the messages of the run in the
language that it spoke; what is written about them speaks its own.
"""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from assignment.harness import words
from assignment.harness.words import (
    DICTIONARY_FILE,
    LANGUAGES,
    Dictionary,
    language,
    language_tag,
    speak,
)

__all__ = [
    "LANGUAGES",
    "language",
    "language_tag",
    "speak",
    "speaking",
    "spoken",
    "spoken_title",
    "tr",
    "tr_n",
]

# The grader may say in its own words what the homework says in others.
DICTIONARY = Dictionary(Path(__file__).with_name("zh.toml"), DICTIONARY_FILE)
tr, tr_n, spoken = DICTIONARY.tr, DICTIONARY.tr_n, DICTIONARY.spoken


def spoken_title(title: str, variant: str = "") -> str:
    """A test's title, which records keep in English, with the variant behind it."""
    return spoken(title) + (f" ({variant})" if variant else "")


@contextlib.contextmanager
def speaking(other: str) -> Iterator[None]:
    """Say something in another language."""
    before = words._chosen  # not language(): None stays None
    speak(other)
    try:
        yield
    finally:
        speak(before)
