"""The public tests from a notebook's cells: one notebook a part, side by side in a folder.

`open_part(4, globals())` fetches your functions of the other parts from their notebooks, as they
were last saved; `check("test_decode", "mha")` runs one test on the functions of this notebook.
"""

from __future__ import annotations

import ast
import contextlib
import importlib
import inspect
import itertools
import json
import sys
import tempfile
import types
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import hypothesis
from hypothesis.configuration import set_hypothesis_home_dir

from . import plugin
from .cases import Cases, load_cases
from .compare import Mismatch
from .parts import GIVEN_FUNCTIONS, PART_BY_NUMBER, PARTS
from .student import LocalBackend, NotStarted, Student, not_started
from .words import tr

PACKAGE = __package__.rpartition(".")[0]
Namespace = dict[str, Any]

# hypothesis keeps notes on the code it runs, by default in whatever folder one stands in.
_HYPOTHESIS_HOME = tempfile.TemporaryDirectory(prefix="hypothesis-", ignore_cleanup_errors=True)


class CheckFailed(AssertionError):
    """What a failed check says; IPython shows the words without a traceback of the tests."""

    def _render_traceback_(self) -> list[str]:
        return str(self).splitlines() or [tr("the check failed")]


@dataclass
class Opened:
    """The part being worked on, and where the functions of all parts are.

    Attributes:
        namespace: of the notebook being worked on.
        others: namespaces of the other parts' notebooks, by part.
    """

    part: int
    namespace: Namespace
    others: dict[int, Namespace] = field(default_factory=dict)

    def share(self) -> None:
        """Let the other notebooks' functions call what this one defines."""
        for name in PART_BY_NUMBER[self.part].functions:
            if name in self.namespace:
                for namespace in self.others.values():
                    namespace[name] = self.namespace[name]


_opened: list[Opened] = []


def opened() -> Opened:
    """What `open_part` opened last."""
    if not _opened:
        words = tr("Run the notebook's first code cells: open_part was not called yet.")
        raise RuntimeError(words)
    return _opened[-1]


def open_part(number: int, namespace: Namespace, folder: Path | None = None) -> None:
    """Put the functions of all other parts into `namespace`, from the notebooks in `folder`.

    A part whose notebook is missing or unfinished gives functions that say so when called.
    """
    set_hypothesis_home_dir(_HYPOTHESIS_HOME.name)
    hypothesis.settings.load_profile("homework")
    others: dict[int, Namespace] = {part.number: {} for part in PARTS if part.number != number}
    for part, own in others.items():
        for name in PART_BY_NUMBER[part].functions:
            own[name] = _missing(part, name)
        path = _notebook_of(part, folder or Path.cwd())
        if path is not None:
            _define(path, own)
    for part, own in others.items():
        functions = {name: own[name] for name in PART_BY_NUMBER[part].functions}
        namespace.update(functions)
        for other in others.values():
            # A notebook may hold its own copy of another part's function.
            other.update({name: functions[name] for name in functions.keys() - other.keys()})
    _opened.append(Opened(number, namespace, others))


def check(test: str, variant: str = "") -> None:
    """Run one public test on the functions of this notebook.

    Raises:
        CheckFailed: what is wrong, in the words of `pytest assignment/`.
    """
    __tracebackhide__ = True
    state = opened()
    state.share()
    with quiet():
        _run_in_words(find_test(test), variant, public_cases(), state.namespace)


def written(function: str) -> None:
    """Fail while a function, or a method of a class, is still the stub it was handed out as."""
    __tracebackhide__ = True
    if is_stub(opened().namespace.get(function)):
        raise CheckFailed(tr("{name} is not implemented yet", name=function))


def run_test(test: Callable, variant: str, cases: Cases, namespace: Namespace) -> None:
    """One test on the functions of a namespace; raises what the test raises."""
    __tracebackhide__ = True
    arguments: dict[str, Any] = dict(variants(test)[variant])
    wanted = inspect.signature(test).parameters
    if "oracle" in wanted:
        arguments["oracle"] = plugin.Oracle(cases)
    test(student=Student(NotebookBackend(namespace)), **arguments)


def variants(test: Callable) -> dict[str, dict[str, Any]]:
    """The arguments a test is run with, by pytest's names for them; one unnamed for most tests."""
    marks = [mark for mark in getattr(test, "pytestmark", []) if mark.name == "parametrize"]
    choices = []
    for mark in reversed(marks):
        names = mark.args[0]
        names = [name.strip() for name in names.split(",")] if isinstance(names, str) else names
        # A row may be a pytest.param, with marks of its own.
        rows = [getattr(row, "values", row if len(names) > 1 else (row,)) for row in mark.args[1]]
        choices.append(
            [("-".join(map(str, row)), dict(zip(names, row, strict=True))) for row in rows]
        )
    found = {}
    for combination in itertools.product(*choices):
        label = "-".join(label for label, _ in combination)
        found[label] = {key: value for _, row in combination for key, value in row.items()}
    return found


def find_test(name: str) -> Callable:
    """A public test by the name of its function."""
    for part in PARTS:
        for path in Path(__file__).parent.parent.glob(f"test_part{part.number}_*.py"):
            module = importlib.import_module(f"{PACKAGE}.{path.stem}")
            if hasattr(module, name):
                return getattr(module, name)
    raise LookupError(f"there is no test called {name} in {PACKAGE}/")


def public_cases() -> Cases:
    """The golden data, read once."""
    if not _public:
        _public.update(load_cases())
    return _public


_public: Cases = {}


def is_stub(function: Any) -> bool:
    """Whether nothing was written: a body that only raises NotImplementedError."""
    if isinstance(function, type):
        members = (getattr(value, "fget", value) for value in vars(function).values())
        return any(is_stub(member) for member in members if isinstance(member, types.FunctionType))
    code = getattr(function, "__code__", None)
    return function is None or (code is not None and code.co_names == ("NotImplementedError",))


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Warnings cost no points: nbgrader takes anything on stderr for a failure."""
    with warnings.catch_warnings(), contextlib.redirect_stderr(sys.stdout):
        warnings.simplefilter("ignore")
        yield


class NotebookBackend(LocalBackend):
    """Calls the functions of a namespace; those of the given model come from the package."""

    def __init__(self, namespace: Namespace) -> None:
        super().__init__(PACKAGE)
        self._namespace = namespace

    def _lookup(self, name: str) -> Any:
        if name in GIVEN_FUNCTIONS:
            return super()._lookup(name)
        if self._namespace.get(name) is None:
            raise NotImplementedError(f"{name} is not defined in the notebook")
        return self._namespace[name]


def _run_in_words(test: Callable, variant: str, cases: Cases, namespace: Namespace) -> None:
    __tracebackhide__ = True
    try:
        run_test(test, variant, cases, namespace)
    except NotStarted as stub:
        words = str(stub)
    except NotImplementedError as error:
        words = str(not_started(error))
    except Mismatch as mismatch:
        words = str(mismatch)
    else:
        return
    raise CheckFailed(words)


def _missing(part: int, name: str) -> Callable:
    section = PART_BY_NUMBER[part].section_of(name)

    def missing(*args: Any, **kwargs: Any) -> None:
        raise NotImplementedError(
            f"Part {section} {name}: it is looked for in part{part}.ipynb beside this notebook"
        )

    return missing


def _notebook_of(part: int, folder: Path) -> Path | None:
    """A part's notebook. nbgrader fills `autograded/` while it grades; all are in `submitted/`."""
    elsewhere = ["submitted" if name == "autograded" else name for name in folder.parts]
    for place in (folder, Path(*elsewhere)):
        path = place / f"part{part}.ipynb"
        if path.is_file():
            return path
    return None


def _define(path: Path, namespace: Namespace) -> None:
    """Imports, functions, classes and plain assignments of a notebook; nothing else of it is run.

    An experiment in an earlier notebook should neither take time nor print in this one.
    """
    for source in _own_cells(path):
        for statement in _statements(source):
            with contextlib.suppress(Exception), quiet():
                exec(compile(ast.Module([statement], []), path.name, "exec"), namespace)


def _own_cells(path: Path) -> list[str]:
    """The code cells of a notebook that are the student's: neither tests nor set-up."""
    try:
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        return [
            "".join(cell["source"])
            for cell in cells
            if cell["cell_type"] == "code" and not _is_handed_out(cell)
        ]
    except (ValueError, KeyError, TypeError, OSError) as problem:
        words = tr(
            "{file} could not be read: {kind}: {problem}",
            file=path.name,
            kind=type(problem).__name__,
            problem=problem,
        )
        print(words)
        return []


def _is_handed_out(cell: dict) -> bool:
    marks = cell["metadata"].get("nbgrader", {})
    return not marks.get("solution") and bool(marks.get("grade") or marks.get("locked"))


def _statements(source: str) -> list[ast.stmt]:
    try:
        tree = ast.parse(source)
    except SyntaxError:  # IPython's own syntax, or a slip: line by line there may be more
        lines = ["pass" if line.lstrip()[:1] in ("%", "!") else line for line in source.split("\n")]
        try:
            tree = ast.parse("\n".join(lines))
        except SyntaxError:
            return []
    return [statement for statement in tree.body if _only_defines(statement)]


def _only_defines(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Assign | ast.AnnAssign):
        return not any(isinstance(node, ast.Call) for node in ast.walk(statement))
    return isinstance(statement, ast.FunctionDef | ast.ClassDef | ast.Import | ast.ImportFrom)
