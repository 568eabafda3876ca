"""Reads a notebook as data: the sources of its code cells, in order. Nothing in it is run here.

The sources stay as they are; the worker, inside the sandbox, deals with IPython's own syntax.
"""

import json

from grader.errors import NothingToGrade

CELLS_FILE = "notebook_cells.json"
NBFORMAT = 4
MAX_SOURCE_BYTES = 1024 * 1024


def code_cells(content: bytes) -> list[str]:
    """The code cells' sources of a notebook file; outputs are ignored.

    Raises NothingToGrade for a file that is not a notebook of format 4, has no code, or too much.
    """
    sources = [
        _source(cell.get("source"), number)
        for number, cell in enumerate(_cells(content), start=1)
        if isinstance(cell, dict) and cell.get("cell_type") == "code"
    ]
    if not any(source.strip() for source in sources):
        raise NothingToGrade("The notebook has no code cell with anything in it.")
    if sum(len(source.encode("utf-8", "surrogatepass")) for source in sources) > MAX_SOURCE_BYTES:
        raise NothingToGrade(
            f"The notebook's code is larger than {MAX_SOURCE_BYTES // 1024} KiB, the most that is "
            "read."
        )
    return sources


def cells_file(sources: list[str]) -> bytes:
    """The content of notebook_cells.json: a JSON list of strings, ASCII only."""
    return json.dumps(sources, ensure_ascii=True).encode()


def _cells(content: bytes) -> list:
    try:
        notebook = json.loads(content)
    except (ValueError, RecursionError) as problem:
        raise NothingToGrade(
            f"The notebook is not readable JSON ({str(problem)[:120]}). Expected a file saved by "
            "Jupyter."
        ) from None
    if not isinstance(notebook, dict) or not isinstance(notebook.get("nbformat"), int):
        raise NothingToGrade("The file is JSON but not a notebook: it names no nbformat.")
    if notebook["nbformat"] != NBFORMAT:
        # str() refuses absurdly long numbers, which JSON can hold.
        found = notebook["nbformat"] if abs(notebook["nbformat"]) < 1000 else "unknown"
        raise NothingToGrade(
            f"The notebook has format {found}; expected format {NBFORMAT}. Open it in a current "
            "Jupyter and save it again."
        )
    if not isinstance(notebook.get("cells"), list):
        raise NothingToGrade("The notebook has no list of cells.")
    return notebook["cells"]


def _source(source: object, number: int) -> str:
    """A cell's source: the format allows one string or a list of lines."""
    if isinstance(source, list) and all(isinstance(line, str) for line in source):
        source = "".join(source)
    if not isinstance(source, str):
        raise NothingToGrade(f"Cell {number} of the notebook has no readable source.")
    return source
