"""HTML as a tree of elements. A string in it is text: nobody can forget to escape it.

`rendered` is the one place where signs get a meaning, and there is no way to hand it a string that
it takes for markup.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from ..words import plain, spoken

VOID = ("br", "input", "meta")
_MARKED = re.compile(r"<(strong|code|em)>(.*?)</\1>")

Child: TypeAlias = "str | Element | Iterable[Child] | None"


@dataclass(frozen=True)
class Element:
    """An element and what is in it."""

    tag: str
    attributes: dict[str, str]
    children: tuple[str | Element, ...]


def element(tag: str, *children: Child, **attributes: str | float | bool | None) -> Element:
    """`element("p", "1 < 2", class_="small")`; None and False leave a child or attribute out.

    Args:
        attributes: by their names in Python: `class_`, `aria_label`, `viewBox`.
    """
    given = {
        name.rstrip("_").replace("_", "-"): "" if value is True else str(value)
        for name, value in attributes.items()
        if value is not None and value is not False
    }
    return Element(tag, given, tuple(_flat(children)))


def _flat(children: Iterable[Child]) -> Iterable[str | Element]:
    for child in children:
        if isinstance(child, str | Element):
            yield child
        elif child is not None:
            yield from _flat(child)


def marked(template: str, /, **values: object) -> list[str | Element]:
    """A text of ours with <strong>, <code> or <em> in it; what is filled in stays text."""
    pieces = _MARKED.split(template)  # text, tag, its text, text, ...
    found: list[str | Element] = [pieces[0].format(**values)]
    for tag, inside, after in zip(pieces[1::3], pieces[2::3], pieces[3::3], strict=True):
        found += [element(tag, inside.format(**values)), after.format(**values)]
    return found


def tr_marked(english: str, /, **values: object) -> list[str | Element]:
    """The same in the language spoken."""
    return marked(spoken(english), **values)


def rendered(part: str | Element) -> str:
    """The HTML of a tree."""
    if isinstance(part, str):
        return _as_text(part)
    attributes = "".join(f' {name}="{_as_text(value)}"' for name, value in part.attributes.items())
    start = f"<{part.tag}{attributes}>"
    if part.tag in VOID:
        return start
    return f"{start}{''.join(map(rendered, part.children))}</{part.tag}>"


def _as_text(text: str) -> str:
    return html.escape(plain(text, lines=True))
