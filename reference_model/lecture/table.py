"""A table before it is printed, what its document says of it, and the list of all tables."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

_NUMBER = re.compile(r"-?[\d,]*\d(?:\.(\d+))?")


@dataclass(frozen=True)
class Figure:
    """A number that a course document prints, beside what is computed here.

    Attributes:
        what: what it is a number of.
        document: as printed, one number and its unit: "34.1 ms".
        here: the same in that unit, not rounded; None where only a clock can tell.
        why: why it differs; needed wherever `differs`.
        drawn: it hangs on drawn vectors or on training, so its last digit may be another elsewhere.
    """

    what: str
    document: str
    here: float | None
    why: str = ""
    drawn: bool = False

    @property
    def digits(self) -> int:
        """How many digits the document has behind the point."""
        return len(self._number[1] or "")

    @property
    def printed(self) -> float:
        """The document's number."""
        return float(self._number[0].replace(",", ""))

    @property
    def differs(self) -> bool:
        """Whether ours, rounded as the document rounds, is another number."""
        return (
            self.here is None or f"{self.here:.{self.digits}f}" != f"{self.printed:.{self.digits}f}"
        )

    @property
    def shown(self) -> str:
        """Ours as the document would print it; with a digit more where it differs."""
        if self.here is None:
            return "the machine's"
        whole = float(self.here).is_integer()
        digits = self.digits + (self.differs and not whole)
        return _NUMBER.sub(f"{self.here:,.{digits}f}", self.document, count=1)

    @property
    def difference(self) -> str:
        """Of ours from the document's."""
        if self.here is None:
            return "measured"
        apart = self.here / self.printed - 1
        return f"{apart:+.{1 if abs(apart) >= 0.001 else 2}%}" if self.differs else "none"

    @property
    def _number(self) -> re.Match[str]:
        found = _NUMBER.search(self.document)
        if found is None:
            raise ValueError(f"{self.what}: no number in {self.document!r}")
        return found


@dataclass(frozen=True)
class Table:
    """Rows of texts under column names.

    Attributes:
        note: what to see in the rows.
        figures: what the documents print of it.
    """

    title: str
    columns: tuple[str, ...]
    rows: list[tuple[str, ...]]
    note: str = ""
    figures: tuple[Figure, ...] = ()


TABLES: dict[str, Callable[[], Table]] = {}
MODULES = ("of_words", "of_attention", "of_accounts", "of_decoding")  # in the lecture's order


def all_tables() -> dict[str, Callable[[], Table]]:
    """Every table's name and maker."""
    for module in MODULES:
        import_module(f"{__package__}.{module}")
    return TABLES


def table(name: str):
    """Enter a function that makes a Table under `name`, in the order of the lecture."""

    def enter(make: Callable[[], Table]) -> Callable[[], Table]:
        TABLES[name] = make
        return make

    return enter


def texts(rows: Iterable[Iterable[object]]) -> list[tuple[str, ...]]:
    """Rows as texts: three significant digits, large integers with separators."""
    return [tuple(_text(value) for value in row) for row in rows]


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "yes" if value else "no"
    if float(value) == int(float(value)) and abs(value) < 1e15:
        return f"{int(value):,}"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
