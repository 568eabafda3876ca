"""The interpreter and numpy for a worker that sees the host's file system, not a view of it.

Mostly they are used where they are. A Python below a folder that is closed to others, as root's
home is, cannot be run by another user: then a copy is made, once, where everybody can read it.
"""

import hashlib
import os
import shutil
import stat
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from grader.sandbox.base import SandboxUnavailable
from grader.sandbox.interpreter import NEUTRAL_PREFIX, PACKAGES, View

# Root's, kept between runs, and not swept as /var/tmp is.
COPIES = Path("/var/cache/kv-cache-homework")
NOT_COPIED = ("test", "tests", "idlelib", "ensurepip", "turtledemo", "config-*", "*.a", "node_*")


@dataclass(frozen=True)
class Runtime:
    """What a worker is started with, and what it may read.

    Attributes:
        packages: the folder that holds numpy.
        trees: files and folders to be read with all that is below them.
        listed: folders whose names may be seen, to find a module in them.
    """

    program: Path
    library_path: str
    packages: Path
    trees: tuple[Path, ...]
    listed: tuple[Path, ...]


def runtime_for(view: View, another_user: bool) -> Runtime:
    """The runtime for workers that are this user, or another."""
    sources = {target: source.resolve() for source, target in view.binds}
    python = [t for t in sources if NEUTRAL_PREFIX in t.parents or PACKAGES in t.parents]
    if another_user and not all(_open_to_all(sources[t]) for t in (*python, view.executable)):
        return _copied(view, sources)
    hidden = [_on_host(mask, view) for mask in view.masks]
    trees: list[Path] = []
    listed: list[Path] = []
    for source in sources.values():
        _grant(source, hidden, trees, listed)
    packages = sources[PACKAGES / "numpy"].parent
    library_path = view.library_path.replace(
        str(NEUTRAL_PREFIX), str(sources[view.executable].parent.parent)
    )
    return Runtime(
        sources[view.executable], library_path, packages, tuple(trees), (*listed, packages)
    )


def _open_to_all(path: Path) -> bool:
    def has(place: Path, bit: int) -> bool:
        return bool(place.stat().st_mode & bit)

    return has(path, stat.S_IROTH) and all(has(p, stat.S_IXOTH) for p in path.parents)


def _on_host(target: Path, view: View) -> Path:
    for source, place in view.binds:
        if target.is_relative_to(place):
            return source.resolve() / target.relative_to(place)
    raise LookupError(target)


def _grant(path: Path, hidden: list[Path], trees: list[Path], listed: list[Path]) -> None:
    """All below `path` but what is `hidden`: a right on a folder cannot be taken back below it."""
    if path in hidden:
        return
    if not any(mask.is_relative_to(path) for mask in hidden):
        trees.append(path)
        return
    listed.append(path)
    for child in path.iterdir():
        _grant(child, hidden, trees, listed)


def _copied(view: View, sources: dict[Path, Path]) -> Runtime:
    """A runtime made of copies below COPIES, which are made when they are not there."""
    what = sorted(f"{source} {source.stat().st_mtime_ns}" for source in sources.values())
    key = hashlib.sha256("\n".join([sys.version, *what]).encode()).hexdigest()[:16]
    home = COPIES / f"python-{key}"
    if not home.exists():
        _make_copy(home, view, sources)
    for folder in (COPIES, home):
        status = folder.lstat()
        if not stat.S_ISDIR(status.st_mode) or status.st_uid != 0 or status.st_mode & 0o022:
            raise SandboxUnavailable(
                f"{folder} is not a folder that only root can change; remove it and start again"
            )
    lib = home / view.executable.relative_to(view.executable.anchor).parent.parent / "lib"
    system = [s for t, s in sources.items() if not (home / t.relative_to("/")).exists()]
    return Runtime(
        home / view.executable.relative_to("/"),
        str(lib),
        home / PACKAGES.relative_to("/"),
        (home, *system),
        (),
    )


def _make_copy(home: Path, view: View, sources: dict[Path, Path]) -> None:
    COPIES.mkdir(mode=0o755, parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix="draft-", dir=COPIES))
    try:
        hidden = {_on_host(mask, view) for mask in view.masks}
        library = f"python{sys.version_info[0]}.{sys.version_info[1]}"
        for target, source in sources.items():
            place = draft / target.relative_to("/")
            if target in (view.executable, *_packages_in(sources)) or target.name == library:
                _copy(source, place, hidden)
            elif NEUTRAL_PREFIX in target.parents:
                for part in (source / library, *source.glob("*.so*")):
                    if part.exists():
                        _copy(part, place / part.name, hidden)
        draft.chmod(0o755)
        draft.rename(home)
    except OSError as problem:
        shutil.rmtree(draft, ignore_errors=True)
        if not home.exists():  # another grader may have been faster
            raise SandboxUnavailable(
                f"the interpreter {sys.base_prefix} cannot be read by other users, and no copy of "
                f"it could be made in {COPIES} ({problem.strerror}); use a Python that everybody "
                "can read"
            ) from None


def _packages_in(targets) -> list[Path]:
    return [target for target in targets if PACKAGES in target.parents]


def _copy(source: Path, place: Path, hidden: set[Path]) -> None:
    """Copy without owners or modes: everybody may read, nobody but root may write."""
    place.parent.mkdir(parents=True, exist_ok=True)
    if not source.is_dir():
        _copy_file(source, place)
        return

    def unwanted(folder: str, names: list[str]) -> set[str]:
        pattern = shutil.ignore_patterns(*NOT_COPIED)(folder, names)
        return pattern | {name for name in names if Path(folder, name) in hidden}

    shutil.copytree(source, place, copy_function=_copy_file, ignore=unwanted)
    for folder, _, _ in os.walk(place):
        Path(folder).chmod(0o755)


def _copy_file(source, place) -> None:
    shutil.copyfile(source, place)
    place, status = Path(place), Path(source).stat()
    place.chmod(0o755 if status.st_mode & stat.S_IXUSR else 0o644)
    # Compiled modules name the time of their source, and would be compiled at every start.
    os.utime(place, ns=(status.st_atime_ns, status.st_mtime_ns))
