"""Prints the lecture's tables and writes its plots."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

try:
    import typer
    from rich.console import Console
    from rich.table import Table as RichTable
except ImportError:
    sys.exit('The lecture needs rich, typer and matplotlib: pip install -e ".[lecture]"')

from . import on_one_thread
from .table import Table, all_tables


def main(
    names: Annotated[
        list[str] | None, typer.Argument(help="Tables to print.", show_default="all")
    ] = None,
    plots: Annotated[
        Path | None, typer.Option(help="Folder for the plots.", show_default="no plots")
    ] = None,
    list_tables: Annotated[bool, typer.Option("--list", help="Only name the tables.")] = False,
) -> None:
    """The figures of L2 and D3, computed anew."""
    console, tables = Console(), all_tables()
    if list_tables:
        console.print("\n".join(tables))
        return
    unknown = [name for name in names or () if name not in tables]
    if unknown:
        console.print(f"There is no table {unknown[0]!r}. There are: {', '.join(tables)}.")
        raise typer.Exit(2)
    for name in names or tables:
        _print(console, tables[name]())
    if plots:
        from .plots import write_plots

        for path in write_plots(plots):
            console.print(f"wrote {path}")


def _print(console: Console, made: Table) -> None:
    console.print(made.title, style="bold", highlight=False)
    shown = RichTable(box=None)
    for number, column in enumerate(made.columns):
        shown.add_column(column, justify="left" if number == 0 else "right")
    for row in made.rows:
        shown.add_row(*row)
    console.print(shown)
    if made.note:
        console.print(made.note, highlight=False)
    if made.figures:
        beside = RichTable("", "document", "here", "difference", "why", box=None, style="dim")
        for figure in made.figures:
            why = figure.why if figure.differs else ""
            beside.add_row(figure.what, figure.document, figure.shown, figure.difference, why)
        console.print(beside)
    console.print()


if __name__ == "__main__":
    on_one_thread("reference_model.lecture")
    typer.run(main)
