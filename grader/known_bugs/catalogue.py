"""Finds the bugs: every module of this package that defines BUG."""

from __future__ import annotations

import importlib
from functools import cache
from pathlib import Path

from .bug import Bug

_OWN = {"__init__", "__main__", "bug", "catalogue", "patch", "variant"}


@cache
def all_bugs() -> tuple[Bug, ...]:
    """The catalogue, by part and name."""
    names = sorted(path.stem for path in Path(__file__).parent.glob("*.py"))
    modules = [importlib.import_module(f"{__package__}.{n}") for n in names if n not in _OWN]
    return tuple(sorted((m.BUG for m in modules), key=lambda bug: (bug.part, bug.name)))


def bug_named(name: str) -> Bug:
    """The bug of that name; KeyError when there is none."""
    return {bug.name: bug for bug in all_bugs()}[name]
