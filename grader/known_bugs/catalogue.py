"""Reads the bugs: one TOML file a part, beside this module."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from .bug import Base, Bug


class CatalogueProblem(ValueError):
    """A file of the catalogue does not say what a bug is: which file, which bug, and why."""


class _Part(BaseModel):
    """A file: the number of its part, rewrites, and bugs as they are written."""

    model_config = ConfigDict(extra="forbid")

    part: int
    base: tuple[Base, ...] = ()
    bug: tuple[dict[str, Any], ...]


@cache
def all_bugs() -> tuple[Bug, ...]:
    """The catalogue, by part and name."""
    paths = sorted(Path(__file__).parent.glob("part*.toml"))
    bugs = [bug for path in paths for bug in read_part(path)]
    return tuple(sorted(bugs, key=lambda bug: (bug.part, bug.name)))


def bug_named(name: str) -> Bug:
    """The bug of that name; KeyError when there is none."""
    return _by_name()[name]


@cache
def _by_name() -> dict[str, Bug]:
    return {bug.name: bug for bug in all_bugs()}


def read_part(path: Path) -> list[Bug]:
    """The bugs of one file.

    Raises:
        CatalogueProblem: it is no TOML, a key is missing, unknown or of the wrong kind, or a base
            that a bug names is not in the file.
    """
    try:
        content = _Part.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except tomllib.TOMLDecodeError as error:
        raise CatalogueProblem(f"{path.name}: {error}") from None
    except ValidationError as error:
        raise CatalogueProblem(f"{path.name}: {_told(error)}") from None
    return list(_bugs(content, path))


def _bugs(content: _Part, path: Path) -> Iterator[Bug]:
    bases = {base.name: base for base in content.base}
    for written in content.bug:
        where = f"{path.name}, bug {written.get('name', 'without a name')}"
        base = written.get("base")
        if base is not None and base not in bases:
            there = ", ".join(bases) or "none"
            raise CatalogueProblem(f"{where}: there is no base {base!r} in the file, but {there}")
        try:
            yield Bug.model_validate(
                {**written, "part": content.part, "base": bases[base] if base else None}
            )
        except ValidationError as error:
            raise CatalogueProblem(f"{where}: {_told(error)}") from None


def _told(error: ValidationError) -> str:
    return "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors())
