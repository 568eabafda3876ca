"""Runs the cells of a submission's notebooks as a kernel would, without IPython."""

import ast
import importlib
import re
import sys
import types
from collections.abc import Iterator

from .imports import PACKAGE

NOTEBOOK = f"{PACKAGE}.notebook"
PYTHON_CELL_MAGICS = ("%%time", "%%timeit", "%%capture", "%%prun")
NOT_PYTHON = re.compile(r"^(\s*)(?:[%!].*|\?.*|[\w.]+\?{1,2}\s*)$")


class Notebooks:
    """A submission's notebooks, one or one a part: each has a namespace, all share the homework's
    functions. A function belongs to the notebook of its part; elsewhere a copy of it is local."""

    def __init__(self, content: list, modules: dict[str, str]):
        """`modules` says where each function is."""
        self._module_of = modules
        parts = content if content and isinstance(content[0], dict) else [{"cells": content}]
        self._notebooks = [Notebook(**part) for part in parts]
        self._home = {name: n for n in self._notebooks for name in n.functions}
        self._stubs: dict[str, object] = {}
        self.own: dict[str, object] = {}

    @property
    def namespaces(self) -> list[dict[str, object]]:
        return [notebook.namespace for notebook in self._notebooks]

    @property
    def notes(self) -> list[str]:
        return [note for notebook in self._notebooks for note in notebook.notes]

    def run(self) -> None:
        importlib.import_module(PACKAGE)
        for notebook in self._notebooks:
            self._publish(notebook)
        for notebook in self._notebooks:
            for _ in notebook.run_cells():
                self._publish(notebook)

    def _publish(self, notebook: "Notebook") -> None:
        """Put what the cells defined into the stub modules, where `from .attention import` looks,
        and into the other notebooks.

        A name the cells merely imported from a stub is not theirs.
        """
        for name, module_name in self._module_of.items():
            try:
                module = importlib.import_module(f"{PACKAGE}.{module_name}")
            except BaseException:
                continue
            if name not in self._stubs:
                self._stubs[name] = getattr(module, name, None)
            found = notebook.namespace.get(name)
            belongs_here = self._home.get(name, notebook) is notebook
            if found is not None and found is not self._stubs[name] and belongs_here:
                self._share(name, found)
                self.own[name] = found
                setattr(module, name, found)

    def _share(self, name: str, found: object) -> None:
        """Give a function to the notebooks that have no copy of their own."""
        earlier = (None, self._stubs[name], self.own.get(name))
        for namespace in self.namespaces:
            if any(namespace.get(name) is known for known in earlier):
                namespace[name] = found


class Notebook:
    """Runs code cells one by one in one namespace, as a notebook's kernel does."""

    def __init__(self, cells: list[str], name: str = "", functions: list[str] | None = None):
        self._sources = cells
        self._behind = f" of {name}" if name else ""
        self.functions = functions or []
        self.notes: list[str] = []
        module_name = f"{NOTEBOOK}_{name}" if name else NOTEBOOK
        module = types.ModuleType(module_name)
        module.__package__ = PACKAGE
        self.namespace = module.__dict__
        self.namespace["get_ipython"] = NoKernel
        self.namespace["display"] = lambda *args, **kwargs: None
        sys.modules[module_name] = module

    def run_cells(self) -> Iterator[None]:
        """Pauses behind each cell."""
        for number, source in enumerate(self._sources, start=1):
            name = f"cell {number}{self._behind}"
            try:
                self._run_cell(name, source)
            except BaseException as error:
                self.notes.append(f"{name} stopped with {type(error).__name__}")
            yield

    def _run_cell(self, name: str, source: str) -> None:
        tree = parse_cell(source, name)
        for statement in tree.body if tree else []:
            code = compile(ast.Module([statement], []), name, "exec")
            try:
                exec(code, self.namespace)
            except ImportError as error:
                # A plotting library that is absent here must not take the rest of the cell along.
                if not isinstance(statement, ast.Import | ast.ImportFrom):
                    raise
                self.notes.append(f"{name}: {error}")


class NoKernel:
    """What `get_ipython()` returns: every attribute is a function that does nothing."""

    def __getattr__(self, name: str):
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *args, **kwargs: None


def parse_cell(source: str, filename: str) -> ast.Module | None:
    """The cell as Python, its magics left out; None for a cell in another language."""
    first = source.lstrip().split("\n", 1)[0]
    if first.startswith("%%"):
        if not first.startswith(PYTHON_CELL_MAGICS):
            return None
        source = source.replace(first, "", 1)
    try:
        # First as it stands: a line may start with % because an expression continues there.
        return ast.parse(source, filename)
    except SyntaxError:
        lines = [NOT_PYTHON.sub(r"\1pass", line) for line in source.split("\n")]
        return ast.parse("\n".join(lines), filename)
