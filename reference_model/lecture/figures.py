"""`python -m reference_model.lecture.figures`: writes docs/figures.md, of the tables' figures."""

from __future__ import annotations

import re
import sys
import textwrap
from collections.abc import Mapping
from pathlib import Path

from . import on_one_thread
from .table import Figure, Table, all_tables

PAGE = Path(__file__).parents[2] / "docs" / "figures.md"

OPENING = """# Figures of the course documents

Made by `python -m reference_model.lecture.figures`: what L2 and D3 print, beside what the tables of
`python -m reference_model.lecture` compute. *None* means equal in every digit that the document
prints. Of {all} figures {same} are; {otherwise} are not, {where}, and {measured} are a clock's, so
that they are another machine's business. Where vectors are drawn or trained, the last digit may
differ from machine to machine.
"""

BY_HAND = "## Item by item"  # from this heading on the page is written by hand, and kept


def page(tables: Mapping[str, Table], written: str) -> str:
    """docs/figures.md as these tables have it, with what stands at its end in `written`."""
    figures = [figure for made in tables.values() for figure in made.figures]
    where = [
        f"`{name}`"
        for name, made in tables.items()
        if any(figure.differs and figure.here is not None for figure in made.figures)
    ]
    differing = [figure for figure in figures if figure.differs]
    measured = sum(figure.here is None for figure in figures)
    opening = OPENING.format(
        all=len(figures),
        same=len(figures) - len(differing),
        otherwise=len(differing) - measured,
        where="in " + ", ".join(where),
        measured=measured,
    )
    sections = [_section(name, made) for name, made in tables.items() if made.figures]
    filled = [textwrap.fill(paragraph, 100) for paragraph in opening.split("\n\n")]
    kept = written[written.index(BY_HAND) :]
    return "\n".join(["\n\n".join(filled), "", *sections, kept])


def _section(name: str, made: Table) -> str:
    rows = [_row(figure) for figure in made.figures]
    head = ["| figure | document | here | difference | why |", "|---|---|---|---|---|"]
    return "\n".join([f"## {made.title}", "", f"`{name}`", "", *head, *rows, ""])


def _row(figure: Figure) -> str:
    why = figure.why if figure.differs else ""
    drawn = " (drawn)" if figure.drawn else ""
    cells = (figure.what + drawn, figure.document, figure.shown, figure.difference, why)
    return "| " + " | ".join(cells).rstrip() + " |"


def stale_lines(tables: Mapping[str, Table]) -> list[str]:
    """Lines of docs/figures.md that the tables would write otherwise.

    Of figures marked as drawn only the words are compared; the tests bound their numbers.
    """
    text = PAGE.read_text(encoding="utf-8")
    made, written = page(tables, text).splitlines(), text.splitlines()
    if len(made) != len(written):
        return [f"{len(written)} lines, and now {len(made)}"]
    pairs = zip(made, written, strict=True)
    return [old for new, old in pairs if _comparable(new) != _comparable(old)]


def _comparable(line: str) -> str:
    return re.sub(r"[-+]?[\d.,]+ ?%?|none", "#", line) if "(drawn)" in line else line


def main(arguments: list[str]) -> int:
    """Write the page, or with --check say whether it is stale; takes some ten seconds."""
    tables = {name: make() for name, make in all_tables().items()}
    if "--check" in arguments:
        stale = stale_lines(tables)
        for line in stale:
            print(f"docs/figures.md is stale: {line}")
        return 1 if stale else 0
    PAGE.write_text(page(tables, PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    return 0


if __name__ == "__main__":
    on_one_thread("reference_model.lecture.figures")
    sys.exit(main(sys.argv[1:]))
