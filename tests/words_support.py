"""What the sources say to people, read out of them: does each text have a translation?"""

from __future__ import annotations

import ast
import re
import string
from collections.abc import Collection, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

import jinja2

CHINESE = re.compile("[\u4e00-\u9fff]")


class Said(NamedTuple):
    """A text that is looked up in a dictionary, and the names of what it is given to fill in."""

    text: str
    given: frozenset[str]


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def calls(path: Path, *names: str) -> list[tuple[str, ast.Call]]:
    """The calls of functions and methods of these names."""
    found = [node for node in ast.walk(tree(path)) if isinstance(node, ast.Call)]
    named = [(getattr(node.func, "id", getattr(node.func, "attr", "")), node) for node in found]
    return [(name, node) for name, node in named if name in names]


def said_in_sources(paths: Iterable[Path]) -> list[Said]:
    """Of each `tr(…)`, `tr_marked(…)`, `tr_n(…)` and `Reason(…)`: an error without a literal."""
    found = []
    for path in paths:
        for name, call in calls(path, "tr", "tr_marked", "tr_n", "Reason"):
            where = f"{path.name}:{call.lineno}"
            texts = [node.value for node in _texts(name, call.args) if type(node) is ast.Constant]
            keywords = {keyword.arg for keyword in call.keywords if keyword.arg}
            is_open = any(keyword.arg is None for keyword in call.keywords)  # as in **fields
            found.append(_said(name, texts, keywords, is_open, where))
    return found


def said_in_templates(paths: Iterable[Path]) -> list[Said]:
    """Of every `tr(…)`, `tr_html(…)` and `tr_n(…)` of the pages."""
    environment, found = jinja2.Environment(), []
    for path in paths:
        parsed = environment.parse(path.read_text(encoding="utf-8"))
        for call in parsed.find_all(jinja2.nodes.Call):
            name = getattr(call.node, "name", "")
            if name in ("tr", "tr_html", "tr_n"):
                where = f"{path.name}:{call.lineno}"
                nodes = _texts(name, call.args)
                texts = [node.value for node in nodes if isinstance(node, jinja2.nodes.Const)]
                keywords = {pair.key for pair in call.kwargs}
                found.append(_said(name, texts, keywords, False, where))
    return found


def _texts(name: str, arguments: list) -> list:
    """Those among the arguments that are texts: `tr(text)`, `tr_n(number, one, many)`."""
    return arguments[1:3] if name == "tr_n" else arguments[:1]


def _said(name: str, texts: list[str], keywords: set[str], is_open: bool, where: str) -> Said:
    """The text to look up; its English is right by itself: all that it fills in is given."""
    assert len(texts) == (2 if name == "tr_n" else 1), f"{where}: its text is no literal"
    given = keywords | ({"n"} if name == "tr_n" else set())
    needed = set().union(*map(fields, texts))
    assert is_open or needed <= given, f"{where}: nothing is given for {needed - given}"
    return Said(texts[-1], frozenset(given | needed))


def titles(paths: Iterable[Path]) -> set[str]:
    """The first line of the docstring of each graded test."""
    functions = [n for p in paths for n in ast.walk(tree(p)) if isinstance(n, ast.FunctionDef)]
    graded = [f for f in functions if any("graded(" in ast.unparse(d) for d in f.decorator_list)]
    return {ast.get_docstring(f).splitlines()[0].rstrip(".") for f in graded}


def fields(template: str) -> set[str]:
    return {field for _, field, _, _ in string.Formatter().parse(template) if field is not None}


def invented(said: Iterable[Said], chinese: Mapping[str, str]) -> list[str]:
    """Texts whose translation fills in what it is not given."""
    return [s.text for s in said if fields(chinese.get(s.text, "")) - s.given]


def shortened(
    texts: Iterable[str], chinese: Mapping[str, str], may_go: Collection[str] = ()
) -> list[str]:
    """Texts whose translation leaves out what the English fills in."""
    return [t for t in texts if fields(t) - fields(chinese[t]) - set(may_go)]


def not_chinese(chinese: Mapping[str, str], same: Collection[str]) -> list[str]:
    """Texts whose translation has no Chinese sign, but for those that are the same in both."""
    return [english for english in chinese.keys() - same if not CHINESE.search(chinese[english])]
