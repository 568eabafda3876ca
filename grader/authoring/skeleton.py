"""Generate assignment/ from solution/: stubs in place of solutions, given files as they are.

python -m grader.authoring.skeleton            write the files
python -m grader.authoring.skeleton --check    only say which are stale (exit code 1)
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from assignment.harness.parts import (
    PARTS,
    SERVING_PART,
    STUDENT_MODULES,
    TORCH_MODEL_FILE,
    TORCH_PART,
    Part,
)
from grader.base.places import ASSIGNMENT, REFERENCE, SOLUTION

# Files that students get complete, and where they are written.
COPIED = {
    SOLUTION: ("__init__.py", "transformer.py", TORCH_MODEL_FILE),
    REFERENCE: ("smollm2.py", "gguf_checkpoint.py"),
}

BEGIN, END = "### BEGIN SOLUTION", "### END SOLUTION"
_DEFINITION = re.compile(r"^( *)(def|class) (\w+)")


class MarkerError(ValueError):
    """Solution markers that do not pair up."""


class Scope(NamedTuple):
    """A function or class around a line."""

    indent: int
    name: str
    is_class: bool


def make_stub(source: str, filename: str) -> str:
    """Replace each marked block in a function by a NotImplementedError naming part and section.

    A marked block at the top level of a file or a class is a helper of the solution and vanishes.

    Raises:
        MarkerError: an unpaired marker, or a block in a function that no part lists.
    """
    lines: list[str] = []
    scopes: list[Scope] = []  # enclosing definitions
    inside = False
    # Part 10 has functions by the names of part 4's.
    parts = (TORCH_PART,) if Path(filename).stem == TORCH_PART.module else (*PARTS, SERVING_PART)
    for number, line in enumerate(source.splitlines(), start=1):
        definition = _DEFINITION.match(line)
        if definition and not inside:
            indent = len(definition[1])
            outer = [scope for scope in scopes if scope.indent < indent]
            scopes = [*outer, Scope(indent, definition[3], definition[2] == "class")]
        if line.strip() == BEGIN:
            if inside:
                raise MarkerError(f"{filename} line {number}: a second {BEGIN} before {END}")
            inside = True
            lines.extend(_stub_lines(line, scopes, f"{filename} line {number}", parts))
        elif line.strip() == END:
            if not inside:
                raise MarkerError(f"{filename} line {number}: {END} without {BEGIN}")
            inside = False
        elif not inside:
            lines.append(line)
    if inside:
        raise MarkerError(f"{filename}: {BEGIN} is never closed")
    return _tidy("\n".join(lines) + "\n")


def _stub_lines(
    marker: str, scopes: list[Scope], place: str, parts: tuple[Part, ...]
) -> Iterator[str]:
    indent = len(marker) - len(marker.lstrip())
    around = [scope for scope in scopes if scope.indent < indent]
    if indent == 0 or (around and around[-1].is_class):
        return
    names = [scope.name for scope in around]
    for part in parts:
        if names and names[0] in part.functions:
            section = part.section_of(names[0])
            is_extra = part in (TORCH_PART, SERVING_PART)
            handout = f"PART{part.number}.md" if is_extra else "README.md"
            message = f"Part {section} {'.'.join(names)}: see {handout} §{section}"
            yield f'{marker[:indent]}raise NotImplementedError("{message}")'
            return
    raise MarkerError(f"{place}: {'.'.join(names) or 'this block'} belongs to no part")


def _tidy(source: str) -> str:
    """At most two blank lines in a row, and none at the end, where a removed helper left more."""
    return re.sub(r"\n{4,}", "\n\n\n", source).rstrip("\n") + "\n"


def generated_files() -> dict[str, str]:
    """Stubs and given files as students get them, by file name."""
    stubs = {
        f"{module}.py": make_stub(_read(SOLUTION / f"{module}.py"), f"solution/{module}.py")
        for module in (*STUDENT_MODULES, TORCH_PART.module, *SERVING_PART.modules)
    }
    copies = {name: _read(home / name) for home, names in COPIED.items() for name in names}
    return stubs | copies


def marked_files() -> dict[str, str]:
    """What assignment/ of this repository holds: generated_files, with a first line that says so.

    Students do not get that line: a stub is theirs to edit.
    """
    return {name: mark(name) + source for name, source in generated_files().items()}


def mark(name: str) -> str:
    """The first line of a generated file in this repository."""
    home = next((home for home, names in COPIED.items() if name in names), SOLUTION)
    return f"# Generated from {home.name}/{name} by `make assignment`; a change belongs there.\n"


def stale_files() -> list[str]:
    """Names of the files in assignment/ that differ from what solution/ generates."""
    return [
        name
        for name, source in marked_files().items()
        if not (ASSIGNMENT / name).exists() or _read(ASSIGNMENT / name) != source
    ]


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def main(arguments: list[str]) -> int:
    stale = stale_files()
    if "--check" in arguments:
        for name in stale:
            print(f"assignment/{name} is stale: run python -m grader.authoring.skeleton")
        return 1 if stale else 0
    for name, source in marked_files().items():
        (ASSIGNMENT / name).write_text(source, encoding="utf-8")
    print(f"assignment/: {len(stale)} of {len(marked_files())} files changed")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
