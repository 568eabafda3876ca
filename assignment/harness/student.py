"""The code under test, reached through one object: `student.softmax(x)`.

Where the code runs is the backend's business: in this process when a student runs the tests,
behind a pipe in a sandbox when an instructor does.
"""

from __future__ import annotations

import contextlib
import copy
import importlib
import inspect
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np
import pytest

from .compare import Mismatch
from .memory import Needed, traced
from .parts import MODULE_OF, PART_BY_NUMBER
from .words import tr

_STUB_MESSAGE = re.compile(r"Part (\d+\.\d+) (\w+)")


class NotStarted(pytest.skip.Exception):  # type: ignore[name-defined]
    """A stub was reached: the test says nothing about the student's work yet."""

    def __init__(self, section: str, function: str) -> None:
        super().__init__(
            tr("{section} {name} is not implemented yet", section=section, name=function)
        )
        self.section = section
        self.function = function

    @property
    def part(self) -> int:
        return int(self.section.split(".")[0])


@dataclass(frozen=True)
class ImportFailure:
    """Why a module of the student's could not be imported.

    Attributes:
        file: the file at fault, which may be a helper that `module` imports.
        line: of what is not Python, where that is known.
        exception: name of the exception's type, where the module raised one.
        problem: the exception's own words.
    """

    kind: Literal["not_python", "ends_program", "raised"]
    module: str
    file: str
    line: int | None = None
    exception: str = ""
    problem: str = ""

    @classmethod
    def of(cls, module: str, error: BaseException) -> ImportFailure:
        """What an exception says that came while `module` was imported."""
        file = f"{module}.py"
        if isinstance(error, SyntaxError):
            file = Path(error.filename or file).name
            return cls("not_python", module, file, error.lineno, problem=str(error.msg))
        if isinstance(error, SystemExit):
            return cls("ends_program", module, file)
        return cls("raised", module, file, exception=type(error).__name__, problem=str(error))

    def in_words(self) -> str:
        """The sentence in the language spoken."""
        if self.kind == "not_python":
            return tr(
                "{file} line {line} is not valid Python {version}: {problem}",
                file=self.file,
                line=self.line,
                version=f"{sys.version_info.major}.{sys.version_info.minor}",
                problem=self.problem,
            )
        if self.kind == "ends_program":
            return tr(
                "importing {module}.py ends the program (sys.exit or exit is called); put "
                'trial code under if __name__ == "__main__":',
                module=self.module,
            )
        return tr(
            "importing {module}.py failed: {kind}: {problem}",
            module=self.module,
            kind=self.exception,
            problem=self.problem,
        )


def import_error(failure: ImportFailure, message: str) -> ImportError:
    """An ImportError that carries the failure along: outcome_of takes it from there."""
    error = ImportError(message)
    error.failure = failure  # type: ignore[attr-defined]
    return error


class Backend(Protocol):
    """Where and how the student's functions run."""

    def call(self, name: str, args: tuple, kwargs: dict) -> tuple[Any, list[str]]:
        """The function's result, and which of its arguments it changed."""

    def measured(self, name: str, args: list[np.ndarray], room_mib: int) -> Needed:
        """A call that may take so much memory beside its arguments, and what it took."""


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
            with _stubs_told(name):
                result, changed = self._backend.call(name, args, kwargs)
            if changed:
                raise Mismatch(
                    tr(
                        "{name} changed its input {label}; work on a copy of it",
                        name=name,
                        label=changed[0],
                    )
                )
            return result

        return call

    def measured(self, name: str, args: list[np.ndarray], room_mib: int) -> Needed:
        """A call and the memory it took; where the room did not suffice, it may have no result."""
        with _stubs_told(name):
            return self._backend.measured(name, args, room_mib)


@contextlib.contextmanager
def _stubs_told(name: str) -> Iterator[None]:
    try:
        yield
    except NotImplementedError as error:
        raise not_started(error, fallback=name) from None


def not_started(error: NotImplementedError, fallback: str = "") -> NotStarted:
    """Which stub an error comes from: by its message, else by the function that raised it or that
    was called."""
    found = _STUB_MESSAGE.search(str(error))
    if found:
        return NotStarted(found[1], found[2])
    for name in (_raised_in(error), fallback):
        for part in PART_BY_NUMBER.values():
            if name in part.functions:
                return NotStarted(part.section_of(name), name)
    return NotStarted("0.0", fallback)


def _raised_in(error: NotImplementedError) -> str:
    """The function or class with the line that raised; nbgrader's own stubs have no message."""
    where = getattr(error, "student_where", "")  # set where the error came through a pipe
    if where:
        return where.rpartition(" in ")[2]
    step = error.__traceback__
    while step is not None and step.tb_next is not None:
        step = step.tb_next
    return step.tb_frame.f_code.co_qualname.partition(".")[0] if step is not None else ""


class InProcess:
    """What backends have in common whose functions run in this process."""

    def _lookup(self, name: str) -> Any:
        raise NotImplementedError

    def measured(self, name: str, args: list[np.ndarray], room_mib: int) -> Needed:
        function = self._lookup(name)
        return traced(lambda: function(*args))


class LocalBackend(InProcess):
    """Runs the functions of an importable package in this process.

    Attributes:
        around_call: entered around each call, as by a limit on its time.
    """

    def __init__(self, package: str) -> None:
        self._package = package
        self._modules: dict[str, Any] = {}
        self.around_call: Callable[[], AbstractContextManager[None]] = nullcontext

    def call(self, name: str, args: tuple, kwargs: dict) -> tuple[Any, list[str]]:
        with self.around_call():
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

    def measured(self, name: str, args: list[np.ndarray], room_mib: int) -> Needed:
        with self.around_call():
            return super().measured(name, args, room_mib)

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
        except (Exception, SystemExit) as error:
            failure = ImportFailure.of(module, error)
            words = _missing_file(error, f"{self._package}.{module}") or _empty_file(error)
            return import_error(failure, words or failure.in_words())


def _missing_file(error: BaseException, module: str) -> str:
    """That the module itself is not there; "" where it is, or another one is missing."""
    if not isinstance(error, ModuleNotFoundError) or error.name != module:
        return ""
    file = f"{module.rpartition('.')[2]}.py"
    return tr("{file} is not there: deleted, or renamed?", file=file)


def _empty_file(error: BaseException) -> str:
    """That the file is empty which lacks what another imports; "" where it is not."""
    path = Path(error.path or "") if isinstance(error, ImportError) else Path()
    if not path.is_file() or path.read_bytes().strip():
        return ""
    return tr("{file} is empty: is it saved? The handed-out one has the functions", file=path.name)


def _arrays_in(function: Any, args: tuple, kwargs: dict) -> list[tuple[str, np.ndarray]]:
    """The arrays among the arguments, with the names of the parameters they were given for."""
    try:
        named = list(inspect.signature(function).bind(*args, **kwargs).arguments.items())
    except (TypeError, ValueError):  # the call will fail, or the function hides its parameters
        named = [(tr("number {n}", n=i + 1), value) for i, value in enumerate(args)]
    # Only plain arrays are inputs; a student's cache may well be an array of a class of its own.
    return [(label, value) for label, value in named if type(value) is np.ndarray]
