"""The program inside the sandbox: it alone imports a submission, and answers calls on a pipe.

Runs as `python -I -S -B worker.py '{"…": …}'`. It first gives up what it was started with (user id,
resources), then loads numpy, then answers requests one at a time until the pipe closes. Nothing
that it says is trusted: the parent checks every frame.
"""

import builtins
import json
import os
import resource
import sys

CONFIG = json.loads(sys.argv[1])


def limit_resources(limits: dict[str, int]) -> None:
    """Set soft and hard limits, never above the hard limit already in force."""
    for name, wanted in limits.items():
        kind = getattr(resource, f"RLIMIT_{name}", None)
        if kind is None:
            continue
        hard = resource.getrlimit(kind)[1]
        value = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        try:
            resource.setrlimit(kind, (value, value))
        except (ValueError, OSError):
            # macOS refuses some limits; only the tier "none" runs there.
            if not CONFIG["lenient"]:
                raise


def drop_to(uid: int) -> None:
    """Become an ordinary user for good; only meaningful when started as real root."""
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    if os.getresuid() != (uid,) * 3 or os.getresgid() != (uid,) * 3 or os.getgroups():
        raise PermissionError("the worker could not become an unprivileged user")


limit_resources(CONFIG["rlimits"])
if CONFIG["uid"] is not None:
    drop_to(CONFIG["uid"])
if CONFIG["probe"]:
    os.write(CONFIG["reply_fd"], b"ok %d" % os.getuid())
    os.read(CONFIG["request_fd"], 1)
    os._exit(0)

import ast  # noqa: E402
import contextlib  # noqa: E402
import importlib  # noqa: E402
import importlib.abc  # noqa: E402
import importlib.util  # noqa: E402
import inspect  # noqa: E402
import mmap  # noqa: E402
import re  # noqa: E402
import types  # noqa: E402
from collections.abc import Iterator  # noqa: E402
from importlib.machinery import PathFinder  # noqa: E402
from itertools import islice  # noqa: E402
from pathlib import Path  # noqa: E402

PLACES = [str(Path(__file__).parent), CONFIG["packages"]]
sys.path.extend(PLACES)

import numpy as np  # noqa: E402
import wire  # noqa: E402

# numpy finds its own parts through its own path: nothing else of those folders is importable.
for place in PLACES:
    sys.path.remove(place)
sys.modules.pop("wire")

SUBMISSION = Path(CONFIG["submission"])
PACKAGE = "assignment"
NOTEBOOK = f"{PACKAGE}.notebook"
MAX_ITEMS = 1000
LARGEST_SPACE = 1 << 40
FORBIDDEN = ("reference_model", "solution", "grader", "tests")
MODULE_OF: dict[str, str] = CONFIG["modules"]


def check_isolation() -> str | None:
    """What must not be importable here but is; None when all is well."""
    for name in FORBIDDEN:
        if importlib.util.find_spec(name) is not None:
            return name
    return None


# --- finding a student's modules -----------------------------------------------------------------


class SiblingFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Makes `from attention import softmax` mean the same module as `from .attention import …`."""

    def find_spec(self, fullname, path=None, target=None):
        if "." in fullname or not (SUBMISSION / PACKAGE / f"{fullname}.py").is_file():
            return None
        return importlib.util.spec_from_loader(fullname, self)

    def create_module(self, spec):
        module = importlib.import_module(f"{PACKAGE}.{spec.name}")
        self._own_spec = module.__spec__
        return module

    def exec_module(self, module):
        module.__spec__ = self._own_spec


def make_package_importable() -> None:
    sys.path.append(str(SUBMISSION))
    sys.meta_path.append(SiblingFinder())
    if not (SUBMISSION / PACKAGE / "__init__.py").is_file():
        package = types.ModuleType(PACKAGE)
        package.__path__ = [str(SUBMISSION / PACKAGE)]
        sys.modules[PACKAGE] = package


class ImportProblem(Exception):
    """A module of the submission could not be imported; `cause` says why."""

    def __init__(self, module: str, cause: BaseException):
        super().__init__(module)
        self.module = module
        self.cause = cause


class Functions:
    """The submission's functions by name; each module is imported when first asked for."""

    def __init__(self) -> None:
        self._failed: dict[str, ImportProblem] = {}
        self._trusted: TrustedParts | None = None
        self._cells: Notebooks | None = None
        self._cells_file = SUBMISSION / PACKAGE / "notebook_cells.json"

    def trust(self, sources: dict[str, str], functions: list[str], replaced: list[str]) -> None:
        """From now on these functions are those of `sources` (before the first find)."""
        self._trusted = TrustedParts(sources, functions, replaced)

    def find(self, name: str):
        if self._trusted is not None:
            self._trusted.take_their_places(self)
            if name in self._trusted.functions:
                return self._trusted.functions[name]
        return self.find_own(name)

    def find_own(self, name: str):
        """The student's own function, whatever is trusted."""
        cells = self._notebook()
        if cells is not None and name in cells.own:
            return cells.own[name]
        module = self._module(MODULE_OF[name])
        try:
            return getattr(module, name)
        except AttributeError:
            where = f"{MODULE_OF[name]}.py" if cells is None else "the notebook"
            raise NotImplementedError(f"{name} is not defined in {where}") from None

    def cell_notes(self) -> str:
        notes = self._cells.notes if self._cells else []
        return f" ({'; '.join(notes)})" if notes else ""

    def import_all(self) -> list[dict[str, object]]:
        """Import what can be imported; the namespaces of the notebooks' cells."""
        cells = self._notebook()
        for module in dict.fromkeys(MODULE_OF.values()):
            with contextlib.suppress(ImportProblem):
                self._module(module)
        return cells.namespaces if cells is not None else []

    def _notebook(self):
        if self._cells is None and self._cells_file.is_file():
            self._cells = Notebooks(json.loads(self._cells_file.read_text("utf-8")))
            self._cells.run()
        return self._cells

    def _module(self, module: str):
        if module in self._failed:
            raise self._failed[module]
        try:
            return importlib.import_module(f"{PACKAGE}.{module}")
        except BaseException as error:
            self._failed[module] = ImportProblem(module, error)
            raise self._failed[module] from error


# --- trusted versions of other parts -------------------------------------------------------------


class TrustedParts(importlib.abc.MetaPathFinder, importlib.abc.InspectLoader):
    """Trusted functions that take the place of a student's, of parts that are not under test.

    A student's module runs as it is, and then those functions are exchanged in it before anything
    can import them; one that may be replaced becomes the trusted module where it fails to run. In
    return, what the trusted modules call of all other functions is the student's.
    """

    def __init__(self, sources: dict[str, str], functions: list[str], replaced: list[str]):
        self._package = f"_trusted_{CONFIG['nonce']}"
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
        self.functions = {name: getattr(self._modules[MODULE_OF[name]], name) for name in functions}

    def find_spec(self, fullname, path=None, target=None):
        if fullname in self._sources:
            return importlib.util.spec_from_loader(fullname, self)
        package, _, name = fullname.rpartition(".")
        if package != PACKAGE or name not in MODULE_OF.values():
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
        self._exchange_in(module.__dict__, (f for f, home in MODULE_OF.items() if home == name))

    def take_their_places(self, students: Functions) -> None:
        """Import the submission and exchange functions wherever it holds them; only once."""
        if self._in_place:
            return
        self._in_place = True
        for cells in students.import_all():
            self._exchange_in(cells, self.functions)
        for name, module in list(sys.modules.items()):
            if name.startswith(f"{PACKAGE}."):
                self._exchange_everywhere(vars(module))
        for name in MODULE_OF.keys() - self.functions.keys():
            for module in self._modules.values():
                if hasattr(module, name):
                    setattr(module, name, own_or_raise(students, name))

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


def own_or_raise(students: Functions, name: str):
    """The student's function; where there is none, one that says so when it is called."""
    try:
        return students.find_own(name)
    except BaseException as error:
        problem = error

    def missing(*args, **kwargs):
        raise problem

    return missing


# --- notebooks -----------------------------------------------------------------------------------

PYTHON_CELL_MAGICS = ("%%time", "%%timeit", "%%capture", "%%prun")
NOT_PYTHON = re.compile(r"^(\s*)(?:[%!].*|\?.*|[\w.]+\?{1,2}\s*)$")


class Notebooks:
    """A submission's notebooks, one or one a part: each has a namespace, all share the homework's
    functions. A function belongs to the notebook of its part; elsewhere a copy of it is local."""

    def __init__(self, content: list):
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
        for name, module_name in MODULE_OF.items():
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


# --- values --------------------------------------------------------------------------------------


class Objects:
    """Objects the parent holds by number, and files it mapped."""

    def __init__(self) -> None:
        self._held: dict[int, object] = {}
        self._next = 1
        self._files: dict[str, dict[str, np.ndarray]] = {}

    def pack(self, value):
        number = self._next
        self._next += 1
        self._held[number] = value
        return {"h": [number, wire.clean_text(type(value).__name__, 100), callable(value)]}

    def unpack(self, node):
        ((tag, content),) = node.items()
        if tag == "h":
            return self._held[content]
        if tag == "m":
            return dict(self._file(content))
        raise wire.WireError(f"unknown tag {tag}")

    def release(self, numbers: list[int]) -> None:
        for number in numbers:
            self._held.pop(number, None)

    def _file(self, name: str) -> dict[str, np.ndarray]:
        if name not in self._files:
            self._files[name] = map_tensors(CONFIG["mapped"][name])
        return self._files[name]


NUMPY_NAMES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "BOOL": "?"}


def map_tensors(fd: int) -> dict[str, np.ndarray]:
    """Read-only arrays on the pages of an open safetensors file; nothing is copied."""
    pages = mmap.mmap(fd, 0, access=mmap.ACCESS_READ)
    start = 8 + int.from_bytes(pages[:8], "little")
    header = json.loads(pages[8:start])
    header.pop("__metadata__", None)
    arrays = {}
    for name, entry in header.items():
        dtype = np.dtype(NUMPY_NAMES[entry["dtype"]])
        count = (entry["data_offsets"][1] - entry["data_offsets"][0]) // dtype.itemsize
        flat = np.frombuffer(pages, dtype, count, start + entry["data_offsets"][0])
        arrays[name] = flat.reshape(entry["shape"])
    return arrays


class Room:
    """While it is open the address space may grow by so many bytes; None sets no limit."""

    def __init__(self, size: int | None):
        self._size = size
        self._before = resource.getrlimit(resource.RLIMIT_AS)
        self.was_too_small = False
        self.is_unlimited = False

    def __enter__(self):
        if self._size is not None:
            used = address_space(self._before)
            self.is_unlimited = used is None or not set_address_space(
                used + self._size, self._before
            )
        return self

    def __exit__(self, kind, error, trace):
        if self._size is None:
            return False
        set_address_space(self._before[0], self._before)
        self.was_too_small = isinstance(error, MemoryError) and not self.is_unlimited
        return self.was_too_small


def set_address_space(size: int, before: tuple[int, int]) -> bool:
    """Set the soft limit, never above the one that was in force; False where that is refused."""
    most = before[0]
    value = size if most == resource.RLIM_INFINITY else min(size, most)
    try:
        resource.setrlimit(resource.RLIMIT_AS, (value, before[1]))
    except (ValueError, OSError):
        return False
    return True


def address_space(before: tuple[int, int]) -> int | None:
    """How much is mapped, to 1 MiB: the smallest limit under which a page more can be mapped.

    There is no /proc to read it from. None where no limit is kept.
    """
    too_small, enough = 0, LARGEST_SPACE
    try:
        if page_fits(too_small, before):
            return None
        while enough - too_small > 1 << 20:
            middle = (too_small + enough) // 2
            too_small, enough = (
                (too_small, middle) if page_fits(middle, before) else (middle, enough)
            )
    finally:
        set_address_space(before[0], before)
    return enough


def page_fits(limit: int, before: tuple[int, int]) -> bool:
    """Whether a page can be mapped under a limit, or none can be set."""
    if not set_address_space(limit, before):
        return True
    try:
        mmap.mmap(-1, mmap.PAGESIZE).close()
    except (OSError, MemoryError):
        return False
    return True


class Watched:
    """Remembers the arrays handed to a call, to tell afterwards which were changed."""

    def __init__(self, args: list, kwargs: dict, received: list):
        self._arguments = [*enumerate(args), *kwargs.items()]
        self._received = received

    def changed(self, function) -> list[str]:
        changed = {id(now) for now, before in self._received if differs(now, before)}
        if not changed:
            return []
        places = [
            (index, path)
            for index, argument in self._arguments
            for path, array in arrays_in(argument)
            if id(array) in changed
        ]
        names = parameter_names(function)
        named = [names[i] if isinstance(i, int) and i < len(names) else str(i) for i, _ in places]
        return [f"{name}{path}" for name, (_, path) in zip(named, places, strict=True)][:50]


def arrays_in(argument):
    """(place, array) for an argument that is an array or holds arrays one level deep."""
    if type(argument) is np.ndarray:
        yield "", argument
    elif type(argument) in (list, tuple):
        for i, item in enumerate(argument):
            if type(item) is np.ndarray:
                yield f"[{i}]", item
    elif type(argument) is dict:
        for key, item in argument.items():
            if type(item) is np.ndarray:
                yield f"[{key!r}]", item


def differs(now: np.ndarray, before: np.ndarray) -> bool:
    """Bit for bit, so that NaN equals NaN and -0.0 differs from 0.0."""
    if now.shape != before.shape or now.dtype != before.dtype:
        return True
    return now.tobytes() != before.tobytes()


def parameter_names(function) -> list[str]:
    try:
        return list(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return []


# --- requests ------------------------------------------------------------------------------------


class Worker:
    """Answers requests: calls by name, attributes and methods of held objects."""

    def __init__(self) -> None:
        self._functions = Functions()
        self._objects = Objects()

    def answer(self, message: dict, numbers: bytes) -> tuple[dict, list]:
        """The reply (JSON) and its arrays."""
        self._objects.release(message["free"])
        out: list = []
        try:
            reply = getattr(self, f"_{message['op']}")(message, numbers, out)
        except ImportProblem as problem:
            reply = {"error": describe_import(problem, self._functions.cell_notes())}
            out = []
        except BaseException as error:
            reply, out = {"error": describe(error)}, []
            if isinstance(error, NotImplementedError):
                reply["error"]["message"] += self._functions.cell_notes()
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(BaseException):
                stream.flush()
        return reply, out

    def _call(self, message, numbers, out):
        return self._apply(self._functions.find(message["name"]), message, numbers, out)

    def _trust(self, message, numbers, out):
        self._functions.trust(message["sources"], message["functions"], message["replaced"])
        return {"ok": None}

    def _invoke(self, message, numbers, out):
        return self._apply(self._objects.unpack({"h": message["h"]}), message, numbers, out)

    def _method(self, message, numbers, out):
        held = self._objects.unpack({"h": message["h"]})
        return self._apply(getattr(held, message["attr"]), message, numbers, out)

    def _get(self, message, numbers, out):
        value = getattr(self._objects.unpack({"h": message["h"]}), message["attr"])
        if inspect.isroutine(value):
            return {"method": True}
        return {"ok": wire.pack(value, out, self._objects.pack)}

    def _len(self, message, numbers, out):
        return {"ok": len(self._objects.unpack({"h": message["h"]}))}

    def _item(self, message, numbers, out):
        args, _, _ = self._arguments(message, numbers)
        value = self._objects.unpack({"h": message["h"]})[args[0]]
        return {"ok": wire.pack(value, out, self._objects.pack)}

    def _apply(self, function, message, numbers, out):
        args, kwargs, received = self._arguments(message, numbers)
        watched = Watched(args, kwargs, received)
        with Room(message.get("room")) as room:
            result = function(*args, **kwargs)
        if room.was_too_small:
            return {"no_room": True}
        if isinstance(result, Iterator):  # `keys, values = map(...)` works for the student too
            result = tuple(islice(result, MAX_ITEMS))
        packed = wire.pack(result, out, self._objects.pack)
        reply = {"ok": packed, "changed": watched.changed(function)}
        return reply | {"unlimited": True} if room.is_unlimited else reply

    def _arguments(self, message, numbers):
        values = wire.Unpacker(numbers, self._objects.unpack)
        args = [values.value(node) for node in message["args"]]
        kwargs = {key: values.value(node) for key, node in message["kwargs"].items()}
        return args, kwargs, values.received


def describe(error: BaseException) -> dict:
    """Type, builtin bases, message and place of an exception, as JSON."""
    bases = [c.__name__ for c in type(error).__mro__ if getattr(builtins, c.__name__, None) is c]
    try:
        text = str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)
    except BaseException:
        text = "(its message could not be read)"
    return {
        "type": wire.clean_text(type(error).__name__, 100),
        "bases": bases[:10],
        "message": wire.clean_text(text),
        "where": place_of(error),
    }


def describe_import(problem: ImportProblem, notes: str) -> dict:
    """An ImportError as facts: its words are the parent's, who knows the language."""
    error, cause = problem.cause, describe(problem.cause)
    failure = {
        "kind": "raised",
        "module": problem.module,
        "file": f"{problem.module}.py",
        "line": None,
        "exception": cause["type"],
        "problem": cause["message"],
        "no_such_module": isinstance(error, ModuleNotFoundError),
    }
    if isinstance(error, SyntaxError):
        failure |= {"kind": "not_python", "problem": wire.clean_text(str(error.msg))}
        if isinstance(error.filename, str) and error.filename:
            failure["file"] = wire.clean_text(Path(error.filename).name, 100)
        if type(error.lineno) is int:  # what the submission raises itself may say anything
            failure["line"] = min(max(error.lineno, 0), 10**6)
    elif isinstance(error, SystemExit):
        failure["kind"] = "ends_program"
    return {
        **cause,
        "type": "ImportError",
        "bases": ["ImportError"],
        "message": wire.clean_text(notes),
        "import": failure,
    }


def place_of(error: BaseException) -> str:
    """The innermost place in the submission, as "kv_cache.py:31 in decode_step"."""
    place = ""
    step = error.__traceback__
    while step is not None:
        name = step.tb_frame.f_code.co_filename
        if name.startswith("cell "):
            place = f"{name}, line {step.tb_lineno} in {step.tb_frame.f_code.co_name}"
        elif name.startswith(f"{SUBMISSION}/"):
            file = name.rsplit("/", 1)[1]
            place = f"{file}:{step.tb_lineno} in {step.tb_frame.f_code.co_name}"
        step = step.tb_next
    return wire.clean_text(place, 200)


def read_exactly(fd: int, count: int, read=os.read, leave=os._exit) -> bytes:
    parts = []
    while count:
        part = read(fd, min(count, 1 << 20))
        if not part:
            leave(0)
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


def write_all(fd: int, data: bytes, write=os.write) -> None:
    view = memoryview(data)
    while view:
        view = view[write(fd, view) :]


def serve(requests: int, replies: int, limit: int) -> None:
    worker = Worker()
    # Bound here: a submission that patches json or numpy changes its own copy of a name, not these.
    build, parse, check = wire.build_frame, wire.parse_body, wire.check_header
    size, too_large, refused = wire.HEADER.size, wire.TooLarge, wire.WireError
    while True:
        header = read_exactly(requests, size)
        message_bytes, number_bytes = check(header, None, limit)
        message, numbers = parse(
            read_exactly(requests, message_bytes + number_bytes), message_bytes
        )
        reply, out = worker.answer(message, numbers)
        try:
            frame = build(header[-8:], reply, out, limit)
        except too_large as error:
            frame = build(header[-8:], {"too_large": error.size}, [], limit)
        except (refused, ValueError, TypeError) as error:
            frame = build(header[-8:], {"error": describe(error)}, [], limit)
        write_all(replies, frame)


def main() -> None:
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(  # type: ignore[union-attr]
            encoding="utf-8", errors="backslashreplace", line_buffering=True
        )
    found = check_isolation()
    make_package_importable()
    os.environ.clear()
    hello = {"forbidden": found, "uid": os.getuid(), "python": sys.version.split()[0]}
    nonce = bytes.fromhex(CONFIG["nonce"])
    write_all(CONFIG["reply_fd"], wire.build_frame(nonce, hello, [], 1 << 20))
    serve(CONFIG["request_fd"], CONFIG["reply_fd"], CONFIG["frame_bytes"])


if __name__ == "__main__":
    main()
