"""Untrusted text on its way to a page: what jinja2's escaping leaves to do."""

import json
import re
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

from markupsafe import Markup

from assignment.harness.words import plain
from grader.base.words import language, spoken, tr
from grader.results.record import TestResult

MAX_LINES, MAX_CHARS = 14, 1_600

STATIC = Path(__file__).parent / "static"
_SAID = re.compile(r'\bsay\("([^"]+)"')

# An absolute path says where the grader is installed, and its last name is enough. Not after a
# letter or digit ("1/2", "and/or"), nor the // of an address.
_PATH = re.compile(r"(?<![\w./\\])(?:/|[A-Za-z]:\\)(?:[^\s/\\'\"<>:()]+[/\\])+([^\s/\\'\"<>:()]*)")


def visible(value: Any) -> Any:
    """Every string that a template prints: control and direction characters become "�"."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return plain(value, lines=True)
    return value


def without_paths(text: str) -> str:
    """`text` with absolute paths cut down to their last name, as in `…/kv_cache.py`."""
    return _PATH.sub(r"…/\1", text)


def excerpt(text: str) -> str:
    """The beginning of a message: enough to act on, too little to carry much out."""
    lines = without_paths(text.strip()).splitlines()
    short = "\n".join(lines[:MAX_LINES])
    if len(short) > MAX_CHARS:
        return short[: MAX_CHARS - 1] + "…"
    return short + ("\n…" if len(lines) > MAX_LINES else "")


def case_of(test: TestResult) -> str:
    """`float32` of `test_rope[public-float32]`, unless the title says it already."""
    return "" if test.case == test.variant else test.case


def seconds(value: float) -> str:
    """`0.8 s`, `12 s`, `3.4 min`, `2.1 h`."""
    if value >= 5400:
        return tr("{n:.1f} h", n=value / 3600)
    if value >= 90:
        return tr("{n:.1f} min", n=value / 60)
    return tr("{n:.0f} s", n=value) if value >= 10 else tr("{n:.1f} s", n=value)


def moment(value: datetime) -> str:
    """`30 November 2026, 14:05 UTC`."""
    return tr(
        "{day} {month} {year}, {time} UTC",
        day=value.day,
        month=f"{value:%B}" if language() == "en" else value.month,
        year=value.year,
        time=f"{value:%H:%M}",
    )


@cache
def static(names: tuple[str, ...]) -> str:
    """The contents of files of `static/`."""
    return "\n".join((STATIC / name).read_text(encoding="utf-8") for name in names)


@cache
def said_by_script(name: str) -> tuple[str, ...]:
    """The texts that a script of `static/` gives to its function `say`."""
    return tuple(dict.fromkeys(_SAID.findall(static((name,)))))


def words_of_script(name: str) -> dict[str, str]:
    """These texts in the language spoken; nothing in English, which the script speaks by itself."""
    return {} if language() == "en" else {text: spoken(text) for text in said_by_script(name)}


def as_json(data: Any) -> Markup:
    """Data for a page's script. Nothing in it can end the script element."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    for char in "<>&\u2028\u2029":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return Markup(text)
