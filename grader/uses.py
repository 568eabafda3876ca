"""Which parts use which: whose functions the solution's functions of a part call, directly or not.

Read from the solution's own text, so that no list of it can be forgotten.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache

from assignment.harness.parts import PARTS, STUDENT_MODULES
from grader.places import SOLUTION

_Function = tuple[str, str]  # module and name


@cache
def used_by(part: int) -> frozenset[int]:
    """Numbers of the other parts that a part uses."""
    part_of = {(p.module, name): p.number for p in PARTS for name in p.functions}
    reached: set[_Function] = set()
    new = {function for function, number in part_of.items() if number == part}
    while new:
        reached |= new
        new = {called for name in new for called in _calls().get(name, ())} - reached
    return frozenset(part_of[function] for function in reached & part_of.keys()) - {part}


@cache
def _calls() -> dict[_Function, frozenset[_Function]]:
    """What each function and class of the solution names, of its module or of one it imports."""
    calls: dict[_Function, frozenset[_Function]] = {}
    for module in STUDENT_MODULES:
        tree = ast.parse((SOLUTION / f"{module}.py").read_text(encoding="utf-8"))
        meaning = dict(_names_of(tree, module))
        for node in tree.body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                inside = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
                calls[module, node.name] = frozenset(
                    meaning[name] for name in inside & meaning.keys()
                )
    return calls


def _names_of(tree: ast.Module, module: str) -> Iterator[tuple[str, _Function]]:
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name, (module, node.name)
        elif isinstance(node, ast.ImportFrom) and node.level == 1:
            for alias in node.names:
                yield alias.asname or alias.name, (node.module or "", alias.name)
