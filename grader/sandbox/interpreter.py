"""Which parts of this machine's Python a worker gets, and where it sees them."""

import os
import platform
import sys
import sysconfig
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np

NEUTRAL_PREFIX = Path("/opt/python")
PACKAGES = Path("/opt/packages")
WORKER = Path("/opt/worker")
SYSTEM_FOLDERS = ("/lib", "/lib64", "/usr/lib", "/usr/lib64")
SYSTEM_FILES = ("/etc/ld.so.cache", "/etc/alternatives")
PROTECTED_PACKAGES = ("reference_model", "solution", "grader", "assignment", "tests")
PACKAGE_FOLDERS = ("site-packages", "dist-packages")


class UnsafeInterpreter(Exception):
    """The interpreter cannot be shown to a submission; the text says which path and what to do."""


@dataclass(frozen=True)
class View:
    """What a worker sees of the machine: folders bound, folders hidden in them, links."""

    executable: Path
    library_path: str
    binds: tuple[tuple[Path, Path], ...]
    masks: tuple[Path, ...]
    links: tuple[tuple[str, Path], ...]


def interpreter_view() -> View:
    """The view for the running interpreter; UnsafeInterpreter when it would show the course."""
    binds, links = _system_libraries()
    executable, library_path, python_binds = _interpreter()
    binds = binds + python_binds
    masks = [
        (source / hidden, target / hidden)
        for source, target in binds
        for hidden in _package_folders(source)
    ]
    binds += _packages()
    check_nothing_protected(binds, [source for source, _ in masks], protected_paths())
    return View(
        executable,
        library_path,
        tuple(binds),
        tuple(target for _, target in masks),
        tuple(links),
    )


def _system_libraries():
    """Library folders of the system, as links where the system has links."""
    binds, links = [], []
    for name in SYSTEM_FOLDERS:
        path = Path(name)
        if path.is_symlink():
            links.append((str(path.readlink()), path))
        elif path.is_dir():
            binds.append((_libraries_in(path),) * 2)
    binds += [(Path(name), Path(name)) for name in SYSTEM_FILES if Path(name).exists()]
    return binds, links


def _libraries_in(folder: Path) -> Path:
    """The subfolder for this architecture where there is one (Debian), else the folder itself."""
    name = sysconfig.get_config_var("MULTIARCH") or f"{platform.machine()}-linux-gnu"
    return folder / name if (folder / name).is_dir() else folder


def _interpreter():
    """(executable, library path, binds) of the base interpreter, outside any environment."""
    prefix = Path(sys.base_prefix).resolve()
    program = _base_executable(prefix)
    if prefix == Path("/usr"):
        library = Path(os.__file__).parent
        return program, "", [(program, program), (library, library)]
    home = NEUTRAL_PREFIX
    target = home / "bin" / program.name
    folders = [p for p in (prefix / "lib", prefix / "lib64") if p.is_dir() and not p.is_symlink()]
    binds = [(program, target)] + [(p, home / p.name) for p in folders]
    return target, ":".join(str(home / p.name) for p in folders), binds


def _base_executable(prefix: Path) -> Path:
    candidates = [Path(getattr(sys, "_base_executable", sys.executable)).resolve()]
    candidates.append((prefix / "bin" / f"python{sysconfig.get_python_version()}").resolve())
    for candidate in candidates:
        if candidate.is_file() and candidate.is_relative_to(prefix):
            return candidate
    raise UnsafeInterpreter(
        f"no interpreter was found below {prefix}, where this Python says it is installed; "
        "use a Python from python.org, uv, pyenv, conda or the system"
    )


def _package_folders(folder: Path) -> list[Path]:
    """Folders of installed packages below `folder`, relative to it."""
    return [
        found.relative_to(folder)
        for name in PACKAGE_FOLDERS
        for pattern in (f"python*/{name}", f"*/python*/{name}")
        for found in folder.glob(pattern)
        if found.is_dir() and not found.is_symlink()
    ]


def _packages() -> list[tuple[Path, Path]]:
    """numpy and the libraries beside it, in a folder that holds nothing else."""
    folder = Path(np.__file__).parent.resolve()
    libraries = folder.parent / "numpy.libs"
    found = [folder, libraries] if libraries.is_dir() else [folder]
    return [(path, PACKAGES / path.name) for path in found]


def protected_paths() -> list[Path]:
    """Folders that a submission must never see: the course's packages and their repository."""
    paths = []
    for name in PROTECTED_PACKAGES:
        spec = find_spec(name)
        places = spec.submodule_search_locations if spec else None
        paths += [Path(place).resolve() for place in places or ()]
    return paths


def check_nothing_protected(binds, masked: list[Path], protected: list[Path]) -> None:
    """UnsafeInterpreter when a protected path lies below a bound folder and no mask hides it."""
    for source, _ in binds:
        root = source.resolve()
        for path in protected:
            hidden = any(path.is_relative_to(mask.resolve()) for mask in masked)
            if path.is_relative_to(root) and not hidden:
                raise UnsafeInterpreter(
                    f"{path} lies below {root}, which a submission must be able to read; "
                    "move the course elsewhere or grade with another Python"
                )


def packages_folder() -> Path:
    """The folder that holds numpy here, for a worker that runs without a sandbox."""
    return _packages()[0][0].parent
