"""A change of a source text that fails loudly where it no longer applies.

Texts are changed, not syntax trees: comments and formatting of what is not changed stay.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Protocol

from pydantic import BaseModel, ConfigDict, Field

WHOLE_MODULE = "module"


class PatchProblem(ValueError):
    """A change does not apply: what was sought, where, and how often it is there."""


class Change(BaseModel):
    """Put one text in another's place.

    Attributes:
        where: where the old text stands, `in` in a file: a function ("prefill"), a class
            ("KVCache"), a method ("KVCache.append"), or "module" for all of it.
        old: what stands there exactly once; several lines with their indentation.
        new: what is put in its place; where it is empty, a line left empty goes with the old text.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    where: str = Field(alias="in")
    old: str = Field(min_length=1)
    new: str


class Patch(Protocol):
    """What is needed of a known bug to put it into a folder of modules."""

    @property
    def name(self) -> str:
        """What it is called in an error."""

    @property
    def changes(self) -> Mapping[str, tuple[Change, ...]]:
        """The changes of each module."""


def apply_change(source: str, change: Change) -> str:
    """The source with the old text replaced by the new one.

    Raises:
        PatchProblem: there is no such function, or it holds the old text not exactly once.
    """
    start, end = _span_of(source, change.where)
    before, target, after = source[:start], source[start:end], source[end:]
    times = target.count(change.old)
    if times != 1:
        found = f"{times} times" if times else "nowhere"
        place = "the module" if change.where == WHOLE_MODULE else change.where
        raise PatchProblem(f"to be found once in {place}, is there {found}: {change.old.strip()!r}")
    return before + _replaced(target, change) + after


def apply_changes(source: str, changes: Iterable[Change]) -> str:
    """The source with one change after the other; PatchProblem where one does not apply."""
    for change in changes:
        source = apply_change(source, change)
    _parsed(source, "after the change, the text")
    return source


def patched_modules(patch: Patch, folder: Path) -> dict[str, str]:
    """The text of each module in `folder` that a known bug changes, with the bug in it.

    Args:
        folder: the solution's, or another style's that is written alike where the bug is.

    Raises:
        PatchProblem: it does not apply there; the bug, the file and the text are named.
    """
    texts = {}
    for module, changes in patch.changes.items():
        path = folder / f"{module}.py"
        try:
            texts[module] = apply_changes(path.read_text(encoding="utf-8"), changes)
        except PatchProblem as problem:
            raise PatchProblem(
                f"{patch.name} does not fit {folder.name}/{path.name}: {problem}"
            ) from None
    return texts


def _replaced(target: str, change: Change) -> str:
    changed = target.replace(change.old, change.new)
    if change.new or change.old.endswith("\n"):
        return changed
    at = target.index(change.old)
    start, end = changed.rfind("\n", 0, at) + 1, changed.find("\n", at) + 1
    return changed if changed[start:end].strip() else changed[:start] + changed[end:]


def _span_of(source: str, where: str) -> tuple[int, int]:
    """Where a function, class or method begins and ends in the source: whole lines."""
    if where == WHOLE_MODULE:
        return 0, len(source)
    outer, *inner = where.split(".")
    node = _member(_parsed(source, "the text"), outer, where)
    for name in inner:
        node = _member(node, name, where)
    lengths = [len(line) + 1 for line in source.split("\n")]
    start = sum(lengths[: node.lineno - 1])
    return start, start + sum(lengths[node.lineno - 1 : node.end_lineno])


def _member(node: ast.AST, name: str, where: str) -> ast.FunctionDef | ast.ClassDef:
    kinds = (ast.FunctionDef, ast.ClassDef)
    found = [n for n in ast.iter_child_nodes(node) if isinstance(n, kinds) and n.name == name]
    if len(found) != 1:
        raise PatchProblem(f"there is no function, class or method {where}")
    return found[0]


@lru_cache(maxsize=64)  # a search for pairs puts hundreds of changes into the same few texts
def _parsed(source: str, what: str) -> ast.Module:
    try:
        return ast.parse(source)
    except SyntaxError as error:
        raise PatchProblem(f"{what} is no Python: {error.msg} in line {error.lineno}") from None
