"""Reads a notebook as data: the sources of its code cells, in order. Nothing in it is run here.

The sources stay as they are; the worker, inside the sandbox, deals with IPython's own syntax. Cells
that nbgrader marks as handed out, set-up and tests, are left out: nothing of them is the student's.
"""

import json
import re

from grader.base.errors import NothingToGrade
from grader.base.notes import Reason

CELLS_FILE = "notebook_cells.json"
NBFORMAT = 4
MAX_SOURCE_BYTES = 1024 * 1024
# One of several notebooks that are handed in together, each with the functions of one part.
PART_NOTEBOOK = re.compile(r"part(\d{1,3})\.ipynb")


def code_cells(content: bytes) -> list[str]:
    """The code cells' sources of a notebook file; outputs are ignored.

    Raises NothingToGrade for a file that is not a notebook of format 4, has no code, or too much.
    """
    sources = [
        "" if _is_handed_out(cell) else _source(cell.get("source"), number)
        for number, cell in enumerate(_cells(content), start=1)
        if isinstance(cell, dict) and cell.get("cell_type") == "code"
    ]
    if not any(source.strip() for source in sources):
        raise NothingToGrade(Reason("The notebook has no code cell with anything in it."))
    if sum(len(source.encode("utf-8", "surrogatepass")) for source in sources) > MAX_SOURCE_BYTES:
        raise NothingToGrade(
            Reason(
                "The notebook's code is larger than {n} KiB, the most that is read.",
                n=MAX_SOURCE_BYTES // 1024,
            )
        )
    return sources


def cells_file(sources: list[str]) -> bytes:
    """The content of notebook_cells.json: a JSON list of strings, ASCII only."""
    return json.dumps(sources, ensure_ascii=True).encode()


def part_cells_file(notebooks: dict[str, list[str]], functions: dict[str, list[str]]) -> bytes:
    """The same for several notebooks: a list of objects with name, functions of the part, cells."""
    entries = [
        {"name": name, "functions": functions.get(name, []), "cells": cells}
        for name, cells in notebooks.items()
    ]
    return json.dumps(entries, ensure_ascii=True).encode()


def _is_handed_out(cell: dict) -> bool:
    metadata = cell.get("metadata")
    marks = metadata.get("nbgrader") if isinstance(metadata, dict) else None
    if not isinstance(marks, dict) or marks.get("solution"):
        return False
    return bool(marks.get("grade") or marks.get("locked"))


def _cells(content: bytes) -> list:
    try:
        notebook = json.loads(content)
    except (ValueError, RecursionError) as problem:
        raise NothingToGrade(
            Reason(
                "The notebook is not readable JSON ({problem}). Expected a file saved by Jupyter.",
                problem=str(problem)[:120],
            )
        ) from None
    if not isinstance(notebook, dict) or not isinstance(notebook.get("nbformat"), int):
        raise NothingToGrade(Reason("The file is JSON but not a notebook: it names no nbformat."))
    if notebook["nbformat"] != NBFORMAT:
        # str() refuses absurdly long numbers, which JSON can hold.
        found = notebook["nbformat"] if abs(notebook["nbformat"]) < 1000 else Reason("unknown")
        raise NothingToGrade(
            Reason(
                "The notebook has format {found}; expected format {expected}. Open it in a current "
                "Jupyter and save it again.",
                found=found,
                expected=NBFORMAT,
            )
        )
    if not isinstance(notebook.get("cells"), list):
        raise NothingToGrade(Reason("The notebook has no list of cells."))
    return notebook["cells"]


def _source(source: object, number: int) -> str:
    """A cell's source: the format allows one string or a list of lines."""
    if isinstance(source, list) and all(isinstance(line, str) for line in source):
        source = "".join(source)
    if not isinstance(source, str):
        raise NothingToGrade(Reason("Cell {n} of the notebook has no readable source.", n=number))
    return source
