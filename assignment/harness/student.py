"""The code under test, reached through one object: `student.softmax(x)`.

Where the code runs is the backend's business: in this process when a student runs the tests,
behind a pipe in a sandbox when an instructor does.
"""

from __future__ import annotations

import copy
import importlib
import inspect
import re
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pytest

from .compare import Mismatch
from .parts import MODULE_OF, PARTS

_STUB_MESSAGE = re.compile(r"Part (\d+\.\d+) (\w+)")


class NotStarted(pytest.skip.Exception):
    """A stub was reached: the test says nothing about the student's work yet."""

    def __init__(self, section: str, function: str) -> None:
        super().__init__(f"{section} {function} is not implemented yet")
        self.section = section
        self.function = function

    @property
    def part(self) -> int:
        return int(self.section.split(".")[0])


class Backend(Protocol):
    """Where and how the student's functions run."""

    def call(self, name: str, args: tuple, kwargs: dict) -> tuple[Any, list[str]]:
        """The function's result, and which of its arguments it changed."""


class Student:
    """`student.name(...)` calls the student's function of that name.

    A stub raises NotStarted, and a function that changes its inputs fails with a Mismatch.
    """

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def __getattr__(self, name: str) -> Any:
        if name not in MODULE_OF:
            raise AttributeError(f"the homework has no function called {name}")

        def call(*args: Any, **kwargs: Any) -> Any:
            try:
                result, changed = self._backend.call(name, args, kwargs)
            except NotImplementedError as error:
                raise not_started(error, fallback=name) from None
            if changed:
                raise Mismatch(f"{name} changed its input {changed[0]}; work on a copy of it")
            return result

        return call


def not_started(error: NotImplementedError, fallback: str = "") -> NotStarted:
    """Which stub an error comes from, by its message or else by the function that was called."""
    found = _STUB_MESSAGE.search(str(error))
    if found:
        return NotStarted(found[1], found[2])
    section = next((p.section_of(fallback) for p in PARTS if fallback in p.functions), "0.0")
    return NotStarted(section, fallback)


class LocalBackend:
    """Runs the functions of an importable package in this process."""

    def __init__(self, package: str) -> None:
        self._package = package
        self._modules: dict[str, Any] = {}

    def call(self, name: str, args: tuple, kwargs: dict) -> tuple[Any, list[str]]:
        function = self._lookup(name)
        arrays = _arrays_in(function, args, kwargs)
        before = [array.copy() for _, array in arrays]
        result = function(*args, **kwargs)
        changed = []
        for (label, array), copied in zip(arrays, before, strict=True):
            if not np.array_equal(array, copied, equal_nan=array.dtype.kind == "f"):
                changed.append(label)
                array[...] = copied  # the tests after this one get what they expect
        return result, changed

    def _lookup(self, name: str) -> Any:
        module = MODULE_OF[name]
        if module not in self._modules:
            self._modules[module] = self._import(module)
        found = self._modules[module]
        if isinstance(found, ImportError):
            raise copy.copy(found)  # a fresh copy: pytest hangs its traceback on what is raised
        if not hasattr(found, name):
            raise NotImplementedError(f"{name} is not defined in {module}.py")
        return getattr(found, name)

    def _import(self, module: str) -> Any:
        try:
            return importlib.import_module(f"{self._package}.{module}")
        except SyntaxError as error:
            place = f"{Path(error.filename or module).name} line {error.lineno}"
            return ImportError(f"{place} is not valid Python: {error.msg}")
        except SystemExit:
            return ImportError(
                f"importing {module}.py ends the program (sys.exit or exit is called); put trial "
                'code under if __name__ == "__main__":'
            )
        except Exception as error:
            return ImportError(f"importing {module}.py failed: {type(error).__name__}: {error}")


def _arrays_in(function: Any, args: tuple, kwargs: dict) -> list[tuple[str, np.ndarray]]:
    """The arrays among the arguments, with the names of the parameters they were given for."""
    try:
        bound = inspect.signature(function).bind(*args, **kwargs).arguments.items()
    except (TypeError, ValueError):  # the call will fail, or the function hides its parameters
        bound = [(f"number {i + 1}", value) for i, value in enumerate(args)]
    named = list(bound)
    # Only plain arrays are inputs; a student's cache may well be an array of a class of its own.
    return [(label, value) for label, value in named if type(value) is np.ndarray]
