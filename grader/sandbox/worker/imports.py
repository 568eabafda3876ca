"""What `import` means in a worker: a student's modules, and trusted versions of their functions."""

import importlib
import importlib.abc
import importlib.util
import sys
import types
from collections.abc import Callable
from importlib.machinery import PathFinder
from pathlib import Path

PACKAGE = "assignment"


class ImportProblem(Exception):
    """A module of the submission could not be imported; `cause` says why."""

    def __init__(self, module: str, cause: BaseException):
        super().__init__(module)
        self.module = module
        self.cause = cause


class SiblingFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Makes `from attention import softmax` mean the same module as `from .attention import …`."""

    def __init__(self, package: Path):
        self._package = package

    def find_spec(self, fullname, path=None, target=None):
        if "." in fullname or not (self._package / f"{fullname}.py").is_file():
            return None
        return importlib.util.spec_from_loader(fullname, self)

    def create_module(self, spec):
        module = importlib.import_module(f"{PACKAGE}.{spec.name}")
        self._own_spec = module.__spec__
        return module

    def exec_module(self, module):
        module.__spec__ = self._own_spec


def make_package_importable(submission: Path) -> None:
    folder = submission / PACKAGE
    sys.path.append(str(submission))
    sys.meta_path.append(SiblingFinder(folder))
    if not (folder / "__init__.py").is_file():
        package = types.ModuleType(PACKAGE)
        package.__path__ = [str(folder)]
        sys.modules[PACKAGE] = package


class TrustedParts(importlib.abc.MetaPathFinder, importlib.abc.InspectLoader):
    """Trusted functions that take the place of a student's, of parts that are not under test.

    A student's module runs as it is, and then those functions are exchanged in it before anything
    can import them; one that may be replaced becomes the trusted module where it fails to run. In
    return, what the trusted modules call of all other functions is the student's.
    """

    def __init__(
        self,
        sources: dict[str, str],
        functions: list[str],
        replaced: list[str],
        modules: dict[str, str],
        tag: str,
    ):
        """`modules` says where each function is; `tag` makes a name like no other."""
        self._package = f"_trusted_{tag}"
        self._module_of = modules
        self._sources = {f"{self._package}.{name}": text for name, text in sources.items()}
        self._replaced = replaced
        self._exchanged: dict[int, tuple[object, object]] = {}
        self._in_place = False
        package = types.ModuleType(self._package)
        package.__path__ = []
        sys.modules[self._package] = package
        sys.meta_path.insert(0, self)
        self._modules = {
            name: importlib.import_module(f"{self._package}.{name}") for name in sources
        }
        self.functions = {name: getattr(self._modules[modules[name]], name) for name in functions}

    def find_spec(self, fullname, path=None, target=None):
        if fullname in self._sources:
            return importlib.util.spec_from_loader(fullname, self)
        package, _, name = fullname.rpartition(".")
        if package != PACKAGE or name not in self._module_of.values():
            return None
        spec = PathFinder.find_spec(fullname, path)
        if spec is not None:
            spec.loader = ExchangingLoader(spec.loader, self)
        return spec

    def get_source(self, fullname):
        return self._sources[fullname]

    def has_run(self, name: str, module, problem: BaseException | None) -> None:
        """Exchange functions in a student's module that has run, or stopped with `problem`."""
        if problem is not None:
            if name not in self._replaced:
                raise problem
            for given, value in vars(self._modules[name]).items():
                if not given.startswith("__"):
                    module.__dict__.setdefault(given, value)
        homes = self._module_of.items()
        self._exchange_in(module.__dict__, (f for f, home in homes if home == name))

    def take_their_places(self, import_all: Callable, find_own: Callable) -> None:
        """Import the submission and exchange functions wherever it holds them; only once.

        The student's own functions take the places of those that the trusted modules hold.
        """
        if self._in_place:
            return
        self._in_place = True
        for cells in import_all():
            self._exchange_in(cells, self.functions)
        for name, module in list(sys.modules.items()):
            if name.startswith(f"{PACKAGE}."):
                self._exchange_everywhere(vars(module))
        for name in self._module_of.keys() - self.functions.keys():
            for module in self._modules.values():
                if hasattr(module, name):
                    setattr(module, name, own_or_raise(find_own, name))

    def _exchange_in(self, namespace: dict, names) -> None:
        for name in names:
            if name not in self.functions:
                continue
            theirs, trusted = namespace.get(name), self.functions[name]
            # `causal_mask = np.tri` must not exchange numpy's function wherever it is used.
            if str(getattr(theirs, "__module__", "")).startswith(PACKAGE):
                self._exchanged[id(theirs)] = (theirs, trusted)
            namespace[name] = trusted

    def _exchange_everywhere(self, namespace: dict) -> None:
        for name, value in list(namespace.items()):
            if id(value) in self._exchanged:
                namespace[name] = self._exchanged[id(value)][1]


class ExchangingLoader(importlib.abc.Loader):
    """Runs a student's module as `loader` would, and tells the trusted parts when it has run."""

    def __init__(self, loader, trusted: TrustedParts):
        self._loader = loader
        self._trusted = trusted

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        problem = None
        try:
            self._loader.exec_module(module)
        except BaseException as error:
            problem = error
        self._trusted.has_run(module.__name__.rpartition(".")[2], module, problem)


def own_or_raise(find_own: Callable, name: str):
    """The student's function; where there is none, one that says so when it is called."""
    try:
        return find_own(name)
    except BaseException as error:
        problem = error

    def missing(*args, **kwargs):
        raise problem

    return missing
