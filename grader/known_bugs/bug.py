"""What is known of one bug."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import FunctionType

from assignment.harness.parts import MODULE_OF, PART_BY_NUMBER


@dataclass(frozen=True)
class Text:
    """One text in both languages of the course."""

    en: str
    zh: str


@dataclass(frozen=True)
class Bug:
    """One known bug.

    Attributes:
        name: the file's name with dashes, as in "position-zero".
        part: the part whose code is wrong.
        summary: what the code does, to follow "equals ... a decode that ...": a noun phrase.
        explanation: one paragraph: what happens, why it is wrong, how it shows.
        hints: three, each saying more than the one before, none the solution.
        replaces: the functions of the solution it puts in another's place; a class stands for the
            methods it defines.
        cites: where it is described or happened: seed sections, repository#number.
    """

    name: str
    part: int
    summary: Text
    explanation: Text
    hints: tuple[Text, Text, Text]
    replaces: tuple[FunctionType | type, ...]
    cites: tuple[str, ...] = field(default=())

    @property
    def module(self) -> str:
        """The solution's module that the replacements belong to."""
        name = self.replaces[0].__name__
        return MODULE_OF.get(name, PART_BY_NUMBER[self.part].module)
