"""The language of messages: each is written in English where it is used, with a Chinese twin.

`tr("{name} changed its input {label}", name=..., label=...)` gives either. The twins stand in
zh.toml, by the English text; a test of the course sees to it that none is missing. Longer texts, as
hints, stand in files of their own, in both languages: each is a `Text`.
"""

from __future__ import annotations

import locale
import os
import re
import textwrap
import tomllib
import unicodedata
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

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


def language_tag() -> str:
    """The language as a page's `lang` says it."""
    return {"zh": "zh-Hans"}.get(language(), language())


@cache
def _of_locale() -> str:
    # The variables first: where a system lacks the locale they name, Python falls back to C.
    named = next(filter(None, (os.environ.get(name) for name in _VARIABLES)), None)
    name = named or locale.getlocale()[0] or ""
    return "zh" if name.startswith(("zh", "Chinese")) else "en"


@dataclass(frozen=True)
class Text:
    """A text that stands in both languages side by side."""

    en: str
    zh: str

    @property
    def spoken(self) -> str:
        """It in the language spoken."""
        return {"en": self.en, "zh": self.zh}[language()]


class Dictionary:
    """Chinese texts by their English ones, from TOML files that are read when one is asked for.

    Args:
        files: where several have a text, the first counts.
    """

    def __init__(self, *files: Path) -> None:
        self._files = files

    @cached_property
    def chinese(self) -> dict[str, str]:
        """Every text of the files."""
        found: dict[str, str] = {}
        for file in reversed(self._files):
            found |= tomllib.loads(file.read_text(encoding="utf-8"))
        return found

    def tr(self, english: str, /, **values: object) -> str:
        """A message in the language spoken, its {fields} filled in as by str.format."""
        return self.spoken(english).format(**values)

    def tr_n(self, n: float, one: str, many: str, /, **values: object) -> str:
        """The same where a number, the field {n}, decides between two English texts.

        Chinese nouns have no plural: the dictionary has a twin of `many` only.
        """
        is_one = n == 1 and language() == "en"
        return self.spoken(one if is_one else many).format(n=n, **values)

    def spoken(self, english: str) -> str:
        """A text without fields that stands elsewhere: a title, the name of an axis."""
        return english if language() == "en" else self.chinese.get(english, english)


DICTIONARY_FILE = Path(__file__).with_name("zh.toml")
DICTIONARY = Dictionary(DICTIONARY_FILE)
tr, tr_n, spoken = DICTIONARY.tr, DICTIONARY.tr_n, DICTIONARY.spoken


def plain(text: str, lines: bool = False) -> str:
    """`text` without control characters, ANSI sequences' escape bytes and direction overrides.

    Each becomes "�"; line breaks and tabs become spaces, or stay when `lines` is set.
    """
    if text.isprintable():  # nearly every text, and then nothing of the below is in it
        return text
    shown = []
    for char in text:
        if char in "\n\t":
            shown.append(char if lines else " ")
        elif unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp"):
            shown.append("�")
        else:
            shown.append(char)
    return "".join(shown)


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
