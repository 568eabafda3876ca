"""The solution with bugs put in: modules of their own, compiled from its text with the changes.

The names in a module mean that variant's functions: with two bugs in one variant, the one calls the
other.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from types import CodeType, FrameType, ModuleType
from typing import Any

from assignment.harness.parts import MODULE_OF, SERVING_PART, STUDENT_MODULES
from assignment.harness.student import InProcess
from grader.base.places import SOLUTION

from .bug import Bug
from .patch import Change, PatchProblem, patched_modules

# Each after those that it imports from, so that it imports the wrong ones.
_GIVEN = "transformer"
_MODULES = ("attention", "rope", "gqa", *STUDENT_MODULES, *SERVING_PART.modules)
_FILE = "variant:"
_numbers = itertools.count()


class Conflict(PatchProblem):
    """Bugs of which each alone fits the solution change the same place."""


class Variant(InProcess):
    """A backend for the tests (see assignment.harness.student.Backend), run in this process.

    Only trusted code runs here: the solution's, and the catalogue's.
    """

    def __init__(self, modules: dict[str, ModuleType]) -> None:
        self._modules = modules

    def call(self, name: str, args: tuple, kwargs: dict) -> tuple[Any, list[str]]:
        return self._lookup(name)(*args, **kwargs), []

    def put(self, name: str, function: Any) -> None:
        """Put another function in place of one, wherever the modules hold it."""
        for module in self._modules.values():
            if hasattr(module, name):
                setattr(module, name, function)

    def _lookup(self, name: str) -> Any:
        return getattr(self._modules[MODULE_OF[name]], name)


@dataclass(frozen=True)
class _Together:
    """Several bugs as one: the bases they share first, then what each of them changes."""

    bugs: tuple[Bug, ...]

    @property
    def name(self) -> str:
        return " with ".join(bug.name for bug in self.bugs)

    @property
    def changes(self) -> dict[str, tuple[Change, ...]]:
        changes: dict[str, tuple[Change, ...]] = {}
        bases = dict.fromkeys((bug.module, bug.base.change) for bug in self.bugs if bug.base)
        for module, of_module in (*bases, *((bug.module, bug.change) for bug in self.bugs)):
            changes[module] = changes.get(module, ()) + of_module
        return changes


def make_variant(bugs: Iterable[Bug]) -> Variant:
    """The solution with these bugs, in modules that are no longer importable by name.

    Raises:
        PatchProblem: a bug does not fit the solution.
        Conflict: two of them change the same place, and no code can have both.
    """
    texts = _texts_with(tuple(dict.fromkeys(bugs)))
    package = ModuleType(f"_known_bugs_{next(_numbers)}")
    package.__path__ = []
    loaded = [package.__name__]
    sys.modules[package.__name__] = package
    modules = {}
    try:
        sys.modules[f"{package.__name__}.{_GIVEN}"] = modules[_GIVEN] = _given()
        loaded.append(f"{package.__name__}.{_GIVEN}")
        for name in dict.fromkeys(_MODULES):
            module = modules[name] = ModuleType(f"{package.__name__}.{name}")
            module.__package__ = package.__name__
            loaded.append(module.__name__)
            sys.modules[module.__name__] = module
            code = _compiled(name, texts[name]) if name in texts else _right(name)
            exec(code, vars(module))
    finally:
        for name in loaded:
            del sys.modules[name]
    return Variant(modules)


@contextmanager
def noting_calls() -> Iterator[set[str]]:
    """In the end, the functions of variants that were called, and what they lie in.

    As in "kv_cache.KVCache.append", "kv_cache.KVCache" and "kv_cache".
    """
    called: set[str] = set()

    def note(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(_FILE):
            called.add(f"{code.co_filename.removeprefix(_FILE)}.{code.co_qualname}")

    sys.setprofile(note)
    try:
        yield called
    finally:
        sys.setprofile(None)
        for name in tuple(called):
            called.update(itertools.accumulate(name.split("."), "{}.{}".format))


def _texts_with(bugs: tuple[Bug, ...]) -> dict[str, str]:
    try:
        return patched_modules(_Together(bugs), SOLUTION)
    except PatchProblem as problem:
        for bug in bugs:
            patched_modules(bug, SOLUTION)  # one that does not fit alone is told by its own name
        raise Conflict(str(problem)) from None


@cache
def _given() -> ModuleType:
    """The given module, the same in all variants: no bug is in it, and it keeps nothing."""
    module = ModuleType(f"_known_bugs_{_GIVEN}")
    sys.modules[module.__name__] = module  # where dataclasses look up what annotations mean
    exec(_right(_GIVEN), vars(module))
    return module


@cache
def _right(name: str) -> CodeType:
    return _compiled(name, (SOLUTION / f"{name}.py").read_text(encoding="utf-8"))


def _compiled(name: str, text: str) -> CodeType:
    return compile(text, f"{_FILE}{name}", "exec", dont_inherit=True)
