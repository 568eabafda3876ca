"""What is known of one bug."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from pydantic import BaseModel, ConfigDict, Field

from assignment.harness import words
from assignment.harness.parts import PART_BY_NUMBER

from .patch import WHOLE_MODULE, Change


@dataclass(frozen=True)
class Text(words.Text):
    """One text of the catalogue in both languages: neither may be missing or misspelt."""

    __pydantic_config__: ClassVar = ConfigDict(extra="forbid", str_min_length=1)


class Base(BaseModel):
    """A right rewrite of the solution that several bugs are changes of.

    Attributes:
        name: by which bugs of the same file ask for it.
        change: what makes it of the solution.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    change: tuple[Change, ...] = Field(min_length=1)


class Bug(BaseModel):
    """One known bug.

    Attributes:
        name: as in "position-zero".
        part: the part whose code is wrong.
        summary: what the code does, to follow "equals ... a decode that ...": a noun phrase.
        explanation: one paragraph: what happens, why it is wrong, how it shows.
        hints: three, each saying more than the one before, none the solution.
        base: the rewrite that `change` starts from; the solution itself where there is none.
        change: what makes the bug, in the solution's module of the part.
        cites: where it is described or happened: seed sections, repository#number.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    part: int
    summary: Text
    explanation: Text
    hints: tuple[Text, Text, Text]
    base: Base | None = None
    change: tuple[Change, ...] = Field(min_length=1)
    cites: tuple[str, ...] = ()

    @property
    def module(self) -> str:
        """The solution's module that the bug is in."""
        return PART_BY_NUMBER[self.part].module_of(self.change[0].where.partition(".")[0])

    @property
    def changes(self) -> Mapping[str, tuple[Change, ...]]:
        """All changes of the solution, by module: those of the base first."""
        before = self.base.change if self.base else ()
        return {self.module: before + self.change}

    @property
    def places(self) -> frozenset[str]:
        """What is another than in the solution, as in "kv_cache.prefill" or "kv_cache.KVCache"."""
        return frozenset(
            module if change.where == WHOLE_MODULE else f"{module}.{change.where}"
            for module, changes in self.changes.items()
            for change in changes
        )
