"""The files that count of a submission, in memory and within limits; what a path may look like."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from grader.base.errors import NothingToGrade
from grader.base.notes import Note, Reason, note

MIB = 1024 * 1024
ARCHIVE_SUFFIXES = (
    ".zip", ".tar", ".tar.gz", ".tgz", ".tar.xz", ".txz", ".tar.bz2", ".tbz2", ".tbz",
)  # fmt: skip
UNREAD_SUFFIXES = (".rar", ".7z", ".zst", ".gz", ".xz", ".bz2", ".lz", ".jar", ".whl", ".dmg")
WANTED_SUFFIXES = (".py", ".ipynb")
SKIPPED_FOLDERS = frozenset(
    {"__MACOSX", "__pycache__", "venv", "env", "node_modules", "site-packages"}
)
_DRIVE = re.compile(r"[A-Za-z]:")
_CHUNK = 64 * 1024
_MAX_UNREAD = 500


@dataclass(frozen=True)
class IntakeLimits:
    """What a submission may weigh."""

    archive_bytes: int = 256 * MIB
    entries: int = 50_000
    stream_bytes: int = 256 * MIB  # a tar must be read to its end, ignored files included
    files: int = 500  # Python files and notebooks
    python_bytes: int = MIB
    notebook_bytes: int = 16 * MIB
    total_bytes: int = 64 * MIB
    name_bytes: int = 255
    path_bytes: int = 1024


def is_wanted(path: str) -> bool:
    """Whether a file can matter for grading."""
    return path.endswith(WANTED_SUFFIXES)


@dataclass
class Contents:
    """The Python files and notebooks of a submission (path with "/" → bytes), within limits.

    Attributes:
        wanted: whether a file, by its path, is one to read.
    """

    limits: IntakeLimits = field(default_factory=IntakeLimits)
    files: dict[str, bytes] = field(default_factory=dict)
    wanted: Callable[[str], bool] = is_wanted
    notes: list[Note] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)  # names of other files, if not too many
    entries: int = 0
    _twice: set[str] = field(default_factory=set)
    read_bytes: int = 0  # of wanted files, those that a later one of their name replaced included

    def count_entry(self) -> None:
        """One more entry seen, wanted or not; raises NothingToGrade beyond the limit."""
        self.entries += 1
        if self.entries > self.limits.entries:
            raise NothingToGrade(Reason("It holds more than {n} entries.", n=self.limits.entries))

    def take(self, name: str, read: Callable[[int], bytes]) -> None:
        """Read a wanted file by `read(n)` (b"" at its end); NothingToGrade beyond a limit."""
        limits = self.limits
        notebook = name.endswith(".ipynb")
        limit = limits.notebook_bytes if notebook else limits.python_bytes
        if name in self.files:
            if name not in self._twice:
                self.notes.append(note("file_twice", file=name))
                self._twice.add(name)
            del self.files[name]
        elif len(self.files) >= limits.files:
            raise NothingToGrade(
                Reason("It holds more than {n} Python files and notebooks.", n=limits.files)
            )
        room = limits.total_bytes - sum(map(len, self.files.values()))
        content = read_at_most(read, min(limit, room) + 1)
        self.read_bytes += len(content)
        if len(content) > limit:
            size: dict[str, str | int] = {"file": name, "n": limit // MIB}
            raise NothingToGrade(
                Reason(
                    "{file} is larger than {n} MiB, the most that is read of one notebook.", **size
                )
                if notebook
                else Reason(
                    "{file} is larger than {n} MiB, the most that is read of one Python file.",
                    **size,
                )
            )
        if len(content) > room or self.read_bytes > limits.stream_bytes:
            raise NothingToGrade(
                Reason(
                    "Its Python files and notebooks are larger than {n} MiB together.",
                    n=limits.total_bytes // MIB,
                )
            )
        self.files[name] = content


def read_at_most(read: Callable[[int], bytes], limit: int) -> bytes:
    """Up to `limit` bytes from `read`, which may return less than it is asked for."""
    chunks = []
    while limit > 0 and (chunk := read(min(limit, _CHUNK))):
        chunks.append(chunk)
        limit -= len(chunk)
    return b"".join(chunks)


def archive_stem(name: str) -> str | None:
    """`name` without its archive suffix, or None when it has none."""
    for suffix in sorted(ARCHIVE_SUFFIXES, key=len, reverse=True):
        if name.lower().endswith(suffix) and len(name) > len(suffix):
            return name[: -len(suffix)]
    return None


def is_skipped(path: str) -> bool:
    """Whether a path lies in, or is, something nobody hands in on purpose (hidden files, virtual
    environments, caches, macOS resource forks)."""
    return any(part.startswith(".") or part in SKIPPED_FOLDERS for part in path.split("/"))


def note_unread(contents: Contents, name: str) -> None:
    """Remember a file that is not read, and say so of an archive inside a submission."""
    if not is_wanted(name) and len(contents.unread) < _MAX_UNREAD:
        contents.unread.append(name)
    few = len(contents.notes) < 20
    if few and name.lower().endswith((*ARCHIVE_SUFFIXES, *UNREAD_SUFFIXES)):
        contents.notes.append(note("inner_archive", file=name))


def checked_name(raw: str, limits: IntakeLimits) -> str:
    """The entry's path with "/" between its parts, or NothingToGrade when it is not acceptable.

    Windows tools write backslashes: they separate here too, so that "..\\\\x" is seen.
    """
    shown = repr(raw[:80])
    if "\0" in raw:
        raise NothingToGrade(Reason("The entry {name} has a NUL byte in its name.", name=shown))
    path = raw.replace("\\", "/")
    if path.startswith("/"):
        raise NothingToGrade(Reason("The entry {name} has an absolute path.", name=shown))
    if _DRIVE.match(path):
        raise NothingToGrade(Reason("The entry {name} has a drive letter in its path.", name=shown))
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if ".." in parts:
        raise NothingToGrade(
            Reason("The entry {name} climbs out of the archive by '..'.", name=shown)
        )
    encoded = [part.encode("utf-8", "surrogatepass") for part in parts]
    if any(len(part) > limits.name_bytes for part in encoded):
        raise NothingToGrade(
            Reason(
                "The entry {name}… has a name longer than {n} bytes.",
                name=shown,
                n=limits.name_bytes,
            )
        )
    if sum(map(len, encoded)) + len(parts) > limits.path_bytes:
        raise NothingToGrade(
            Reason(
                "The entry {name}… has a path longer than {n} bytes.",
                name=shown,
                n=limits.path_bytes,
            )
        )
    return "/".join(parts)
