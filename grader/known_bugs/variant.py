"""The solution with bugs put in: modules of their own, the replaced functions bound to them.

A bug's function is written in its file as if it stood in the solution's module. Here it is bound
to a fresh copy of that module, so the names in it mean that copy's functions: with two bugs in one
variant, the one calls the other. The function it replaces is there as right_NAME: a bug that is a
small change of it can call it.
"""

from __future__ import annotations

import importlib.util
import itertools
import sys
from collections.abc import Iterable
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import solution
from assignment.harness.parts import MODULE_OF, STUDENT_MODULES

from .bug import Bug

_SOLUTION = Path(solution.__file__).parent
_numbers = itertools.count()


class Variant:
    """A backend for the tests (see assignment.harness.student.Backend), run in this process.

    Only trusted code runs here: the solution's, and the catalogue's.
    """

    def __init__(self, modules: dict[str, ModuleType]) -> None:
        self._modules = modules

    def call(self, name: str, args: tuple, kwargs: dict) -> tuple[Any, list[str]]:
        return getattr(self._modules[MODULE_OF[name]], name)(*args, **kwargs), []


def make_variant(bugs: Iterable[Bug]) -> Variant:
    """The solution with these bugs, in modules that are no longer importable by name."""
    package = f"_known_bugs_{next(_numbers)}"
    bugs = tuple(bugs)
    try:
        _load(package, "__init__", ())
        modules = {
            name: sys.modules.get(f"{package}.{name}") or _load(package, name, bugs)
            for name in ("transformer", "attention", "rope", "gqa", *STUDENT_MODULES)
        }
    finally:
        for name in [name for name in sys.modules if name.split(".")[0] == package]:
            del sys.modules[name]
    return Variant(modules)


def _load(package: str, name: str, bugs: tuple[Bug, ...]) -> ModuleType:
    """One module of the solution, with the bugs that belong to it.

    Modules are loaded before those that import from them, so that these import the wrong ones.
    """
    is_package = name == "__init__"
    full_name = package if is_package else f"{package}.{name}"
    spec = importlib.util.spec_from_file_location(
        full_name,
        _SOLUTION / f"{name}.py",
        submodule_search_locations=[] if is_package else None,
    )
    module = importlib.util.module_from_spec(spec)
    sys.modules[full_name] = module
    spec.loader.exec_module(module)
    for bug in bugs:
        if bug.module == name:
            for replacement in bug.replaces:
                _replace(module, replacement)
    return module


def _replace(module: ModuleType, replacement: FunctionType | type) -> None:
    target = getattr(module, replacement.__name__)
    if isinstance(replacement, FunctionType):
        vars(module).setdefault(f"right_{replacement.__name__}", target)
        setattr(module, replacement.__name__, _bound_to(module, replacement))
        return
    for name, member in vars(replacement).items():
        if isinstance(member, FunctionType):
            setattr(target, name, _bound_to(module, member))
        elif isinstance(member, property):
            setattr(target, name, property(_bound_to(module, member.fget)))


def _bound_to(module: ModuleType, function: FunctionType) -> FunctionType:
    bound = FunctionType(
        function.__code__,
        vars(module),
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    bound.__kwdefaults__ = function.__kwdefaults__
    return bound
