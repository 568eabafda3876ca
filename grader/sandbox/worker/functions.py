"""The submission's functions by name, from its modules, its notebooks or a trusted version."""

import contextlib
import importlib
import json
from pathlib import Path
from types import ModuleType

from .imports import PACKAGE, ImportProblem, TrustedParts
from .notebooks import Notebooks


class Functions:
    """The submission's functions by name; each module is imported when first asked for."""

    def __init__(self, submission: Path, modules: dict[str, str], tag: str) -> None:
        """`modules` says where each function is; `tag` makes a name like no other."""
        self._module_of = modules
        self._tag = tag
        self._failed: dict[str, ImportProblem] = {}
        self._trusted: TrustedParts | None = None
        self._cells: Notebooks | None = None
        self._cells_file = submission / PACKAGE / "notebook_cells.json"
        self._has_cells = self._cells_file.is_file()
        self._loaded: dict[str, ModuleType] = {}

    def trust(self, sources: dict[str, str], functions: list[str], replaced: list[str]) -> None:
        """From now on these functions are those of `sources` (before the first find)."""
        self._trusted = TrustedParts(sources, functions, replaced, self._module_of, self._tag)

    def find(self, name: str):
        if self._trusted is not None:
            self._trusted.take_their_places(self.import_all, self.find_own)
            if name in self._trusted.functions:
                return self._trusted.functions[name]
        return self.find_own(name)

    def find_own(self, name: str):
        """The student's own function, whatever is trusted."""
        cells = self._notebook()
        if cells is not None and name in cells.own:
            return cells.own[name]
        module = self._module(self._module_of[name])
        try:
            return getattr(module, name)
        except AttributeError:
            where = f"{self._module_of[name]}.py" if cells is None else "the notebook"
            raise NotImplementedError(f"{name} is not defined in {where}") from None

    def cell_notes(self) -> str:
        notes = self._cells.notes if self._cells else []
        return f" ({'; '.join(notes)})" if notes else ""

    def import_all(self) -> list[dict[str, object]]:
        """Import what can be imported; the namespaces of the notebooks' cells."""
        cells = self._notebook()
        for module in dict.fromkeys(self._module_of.values()):
            with contextlib.suppress(ImportProblem):
                self._module(module)
        return cells.namespaces if cells is not None else []

    def _notebook(self):
        if self._cells is None and self._has_cells:
            content = json.loads(self._cells_file.read_text("utf-8"))
            self._cells = Notebooks(content, self._module_of)
            self._cells.run()
        return self._cells

    def _module(self, module: str):
        if module in self._failed:
            raise self._failed[module]
        if module in self._loaded:
            return self._loaded[module]
        try:
            self._loaded[module] = importlib.import_module(f"{PACKAGE}.{module}")
            return self._loaded[module]
        except BaseException as error:
            self._failed[module] = ImportProblem(module, error)
            raise self._failed[module] from error
