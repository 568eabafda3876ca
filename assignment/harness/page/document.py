"""A page: one file with its style and script inside, which needs no network."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from ..words import language_tag, tr
from .markup import Child, Element, element, rendered

HERE = Path(__file__).parent


def document(
    title: str, *body: Child, forms: bool = False, own: tuple[str, ...] = (), data: str = "null"
) -> str:
    """The whole page, styled and with a button for its colours' script.

    Args:
        forms: of a server: it may send forms to where it came from, and show pages of there.
        own: further styles and scripts that lie here, each by its name.
        data: JSON that those scripts read, from the element `data`.
    """
    style = own_files("base.css", "student.css", *(n for n in own if n.endswith(".css")))
    script = own_files("theme.js", *(name for name in own if name.endswith(".js")))
    policy = content_policy(style, script)
    if forms:
        policy = policy.replace("form-action 'none'", "form-action 'self'; frame-src 'self'")
    head = [
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        # A form says where it comes from only where the page lets it.
        element("meta", name="referrer", content="same-origin" if forms else "no-referrer"),
        element("meta", name="robots", content="noindex"),
        element("title", title),
    ]
    lines = [
        f'<!doctype html>\n<html lang="{language_tag()}">\n<head>',
        *map(rendered, head),
        # Ours, and the only texts of a page that are not escaped.
        f"<style>{style}</style>\n</head>\n<body>",
        rendered(element("main", *body)),
        *([_data(data)] if own else []),
        f"<script>{script}</script>\n</body>\n</html>\n",
    ]
    return "\n".join(lines)


def _data(content: str) -> str:
    """A script's data: no text in it can end the element."""
    safe = content.replace("<", "\\u003c")
    return f'<script type="application/json" id="data">{safe}</script>'


def content_policy(style: str, script: str) -> str:
    """Allows these very texts and nothing else: text that came through the escaping by mistake
    could still load and run nothing."""
    return (
        f"default-src 'none'; style-src {_digest(style)}; script-src {_digest(script)}; "
        "base-uri 'none'; form-action 'none'"
    )


@cache
def own_files(*names: str) -> str:
    """The contents of styles or scripts that lie here."""
    return "\n".join((HERE / name).read_text(encoding="utf-8") for name in names)


@cache
def _digest(content: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}'"


def heading(overline: str, title: Child) -> Element:
    """The top of a page."""
    button = element(
        "button",
        id="theme",
        type="button",
        data_light=tr("Light colours"),
        data_dark=tr("Dark colours"),
        hidden=True,
    )
    words = element("div", element("p", overline, class_="overline"), element("h1", title))
    return element("header", words, button, class_="top")


def section(name: str, title: str, *children: Child) -> Element:
    """A section with a heading that names it."""
    return element("section", element("h2", title, id=name), *children, aria_labelledby=name)


def listed(items: Iterable[Child], class_: str = "notes") -> Element:
    """An unordered list."""
    return element("ul", [element("li", item) for item in items], class_=class_)
