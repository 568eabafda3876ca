"""The language of messages: each is written in English where it is used, with a Chinese twin.

`tr("{name} changed its input {label}", name=..., label=...)` gives either. The twins stand in
zh.py, by the English text; a test of the course sees to it that none is missing.
"""

from __future__ import annotations

import locale
import os
import re
import textwrap
import unicodedata
from functools import cache

LANGUAGES = ("en", "zh")
# In the order in which programs look at them.
_VARIABLES = ("LC_ALL", "LC_MESSAGES", "LANG")
_chosen: str | None = None

_CLOSING = "，。；：、？！）」》”’,.;:?!)"
# A sign that may stand at a line's end by itself, or a word, and the spaces in front.
_PIECE = re.compile(r"\s*(?:[\u2e80-\u9fff\uff00-\uffef]|[^\s\u2e80-\u9fff\uff00-\uffef]+)")


def speak(language: str | None) -> None:
    """Choose the language of all messages from now on; None: by the user's locale."""
    if language is not None and language not in LANGUAGES:
        raise ValueError(f"{language!r} is none of the languages {', '.join(LANGUAGES)}")
    global _chosen
    _chosen = language


def language() -> str:
    """The chosen language; else zh where the user's locale is Chinese, else en."""
    return _chosen or _of_locale()


@cache
def _of_locale() -> str:
    # The variables first: where a system lacks the locale they name, Python falls back to C.
    named = next(filter(None, (os.environ.get(name) for name in _VARIABLES)), None)
    name = named or locale.getlocale()[0] or ""
    return "zh" if name.startswith(("zh", "Chinese")) else "en"


def tr(english: str, /, **values: object) -> str:
    """A message in the language spoken, its {fields} filled in as by str.format."""
    return spoken(english).format(**values)


def spoken(english: str) -> str:
    """The same for a text without fields that stands elsewhere: a title, the name of an axis."""
    if language() == "en":
        return english
    from .zh import CHINESE  # read only where it is needed

    return CHINESE.get(english, english)


def width(text: str) -> int:
    """Columns on a terminal: a Chinese sign takes two."""
    return sum(2 if unicodedata.east_asian_width(sign) in "WF" else 1 for sign in text)


def pad(text: str, columns: int) -> str:
    """The text with spaces behind it."""
    return text + " " * (columns - width(text))


def wrap(text: str, columns: int) -> list[str]:
    """The lines of a paragraph. Chinese breaks between any two signs, not before a full stop."""
    if language() == "en":
        return textwrap.wrap(text, columns, break_on_hyphens=False)
    lines = [""]
    for piece in _PIECE.findall(text):
        fits = width(lines[-1] + piece) <= columns or piece[0] in _CLOSING
        if fits:
            lines[-1] += piece
        else:
            lines.append(piece.lstrip())
    return [line.strip() for line in lines]
