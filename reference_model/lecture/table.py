"""A table before it is printed, and the list of all tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import import_module
from typing import Any


@dataclass(frozen=True)
class Table:
    """Rows of texts under column names; `note` says what to see in them."""

    title: str
    columns: tuple[str, ...]
    rows: list[tuple[str, ...]]
    note: str = ""


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
