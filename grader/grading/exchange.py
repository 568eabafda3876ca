"""What may be exchanged while a test is repeated, and the trusted functions themselves.

A test may be repeated with trusted versions of the functions of other parts that the solution
calls while that test runs (exchange.json, written by reach.py), and of no others: what the test
does not need could answer it.
"""

from __future__ import annotations

import ast
import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from assignment.harness.parts import MODULE_OF, PART_BY_NUMBER, PARTS, STUDENT_MODULES
from grader.base.places import SOLUTION
from grader.results.record import TestResult
from grader.sandbox.channel import TrustedParts

EXCHANGE_FILE = Path(__file__).with_name("exchange.json")

PART_OF = {name: part.number for part in PART_BY_NUMBER.values() for name in part.functions}

Parts = frozenset[int]


@dataclass(frozen=True)
class Exchange:
    """What is exchanged while tests of a part are repeated.

    Attributes:
        part: that is under test.
        parts: of which a file that does not run is replaced.
        functions: of these parts, that are trusted ones; all others are the student's.
    """

    part: int
    parts: Parts
    functions: frozenset[str]

    @classmethod
    def of(cls, test: TestResult, parts: Parts) -> Exchange:
        """For a test, what it may exchange of some parts."""
        names = (name for name in exchangeable(test) if PART_OF[name] in parts)
        return cls(test.part, parts, frozenset(names))


def exchangeable(test: TestResult) -> frozenset[str]:
    """The functions of other parts that may be exchanged while a test is repeated."""
    return _stored().get(shared_name(test.file, test.function, test.case), frozenset())


def exchangeable_parts(test: TestResult) -> Parts:
    """The parts of these functions, and those that may have kept the test's file from running."""
    parts = {PART_OF[name] for name in exchangeable(test)}
    if (failure := test.import_failure) is not None:
        own = files_of(test.part)
        others = {p.number: file_of(p.number) for p in PARTS if file_of(p.number) not in own}
        at_fault = {n for n, file in others.items() if file == failure.file}
        parts |= at_fault or others.keys()
    return frozenset(parts)


def file_of(part: int) -> str:
    """The file that the functions of a required part belong in."""
    return f"{PART_BY_NUMBER[part].module}.py"


def files_of(part: int) -> set[str]:
    """The files that the functions of a part belong in."""
    return {f"{module}.py" for module in PART_BY_NUMBER[part].modules}


def shared_name(file: str, function: str, case: str) -> str:
    """The name that a test has in common with its twin."""
    return f"{file}::{function}[{case}]" if case else f"{file}::{function}"


@cache
def _stored() -> dict[str, frozenset[str]]:
    groups = json.loads(EXCHANGE_FILE.read_text(encoding="utf-8"))
    return {test: frozenset(group["functions"]) for group in groups for test in group["tests"]}


@cache
def trusted_parts(exchange: Exchange) -> TrustedParts:
    """The solution's versions of the functions that are exchanged.

    All others are left out, not only unused: no answer must lie beside the question.
    """
    names = exchange.functions
    modules = dict.fromkeys([*STUDENT_MODULES, *(MODULE_OF[name] for name in sorted(names))])
    sources = {module: _only(names, module) for module in modules}
    sources["transformer"] = (SOLUTION / "transformer.py").read_text(encoding="utf-8")
    replaced = {PART_BY_NUMBER[part].module for part in exchange.parts}
    replaced.discard(PART_BY_NUMBER[exchange.part].module)
    return TrustedParts(sources, tuple(sorted(names)), tuple(sorted(replaced)))


def _only(names: frozenset[str], module: str) -> str:
    """A module of the solution with None in place of each function that is not among `names`."""
    functions = {name for name, home in MODULE_OF.items() if home == module}
    left_out = functions - names
    placeholders = "".join(f"{name} = None\n" for name in sorted(left_out))
    if left_out == functions:
        return placeholders
    tree = ast.parse((SOLUTION / f"{module}.py").read_text(encoding="utf-8"))
    tree.body = [node for node in tree.body if getattr(node, "name", None) not in left_out]
    return f"{ast.unparse(tree)}\n{placeholders}"
