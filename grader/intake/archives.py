"""Reads zip and tar archives that strangers made, without ever unpacking them onto the disk.

Entries are judged by their names and types, and the few files that can matter (Python files and
notebooks) are read into memory under limits that hold whatever the headers claim. Nothing is
written, so no path, link or device of an archive can take effect.
"""

import bz2
import gzip
import lzma
import re
import struct
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Protocol, cast

from grader.base.errors import NothingToGrade
from grader.base.notes import Note, note
from grader.base.words import tr

MIB = 1024 * 1024
ARCHIVE_SUFFIXES = (
    ".zip", ".tar", ".tar.gz", ".tgz", ".tar.xz", ".txz", ".tar.bz2", ".tbz2", ".tbz",
)  # fmt: skip
UNREAD_SUFFIXES = (".rar", ".7z", ".zst", ".gz", ".xz", ".bz2", ".lz", ".jar", ".whl", ".dmg")
WANTED_SUFFIXES = (".py", ".ipynb")
SKIPPED_FOLDERS = frozenset(
    {"__MACOSX", "__pycache__", "venv", "env", "node_modules", "site-packages"}
)
_ZIP_METHODS = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2}
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


@dataclass
class Contents:
    """The Python files and notebooks of a submission (path with "/" → bytes), within limits."""

    limits: IntakeLimits = field(default_factory=IntakeLimits)
    files: dict[str, bytes] = field(default_factory=dict)
    notes: list[Note] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)  # names of other files, if not too many
    entries: int = 0

    def count_entry(self) -> None:
        """One more entry seen, wanted or not; raises NothingToGrade beyond the limit."""
        self.entries += 1
        if self.entries > self.limits.entries:
            raise NothingToGrade(tr("It holds more than {n} entries.", n=self.limits.entries))

    def take(self, name: str, read: Callable[[int], bytes]) -> None:
        """Read a wanted file by `read(n)` (b"" at its end); NothingToGrade beyond a limit."""
        limits = self.limits
        notebook = name.endswith(".ipynb")
        limit = limits.notebook_bytes if notebook else limits.python_bytes
        if name in self.files:
            self.notes.append(note("file_twice", file=name))
            del self.files[name]
        elif len(self.files) >= limits.files:
            raise NothingToGrade(
                tr("It holds more than {n} Python files and notebooks.", n=limits.files)
            )
        room = limits.total_bytes - sum(map(len, self.files.values()))
        content = read_at_most(read, min(limit, room) + 1)
        if len(content) > limit:
            size = {"file": name, "n": limit // MIB}
            raise NothingToGrade(
                tr("{file} is larger than {n} MiB, the most that is read of one notebook.", **size)
                if notebook
                else tr(
                    "{file} is larger than {n} MiB, the most that is read of one Python file.",
                    **size,
                )
            )
        if len(content) > room:
            raise NothingToGrade(
                tr(
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


def is_wanted(path: str) -> bool:
    """Whether a file can matter for grading."""
    return path.endswith(WANTED_SUFFIXES)


def note_unread(contents: Contents, name: str) -> None:
    """Remember a file that is not read, and say so of an archive inside a submission."""
    if not is_wanted(name) and len(contents.unread) < _MAX_UNREAD:
        contents.unread.append(name)
    few = len(contents.notes) < 20
    if few and name.lower().endswith((*ARCHIVE_SUFFIXES, *UNREAD_SUFFIXES)):
        contents.notes.append(note("inner_archive", file=name))


def read_archive(path: Path, limits: IntakeLimits | None = None) -> Contents:
    """The wanted files of an archive, whatever its name says it is.

    Raises NothingToGrade, with the rule that was broken, for a damaged or unacceptable archive.
    """
    limits = limits or IntakeLimits()
    size = path.stat().st_size
    if size == 0:
        raise NothingToGrade(tr("The archive is empty: 0 bytes."))
    if size > limits.archive_bytes:
        raise NothingToGrade(
            tr(
                "The archive is larger than {n} MiB, the most that is read.",
                n=limits.archive_bytes // MIB,
            )
        )
    contents = Contents(limits)
    with path.open("rb") as file:
        kind, opener = _recognise(file, path.name)
        try:
            opener(file, contents)
        except NothingToGrade:
            raise
        except EOFError:
            raise NothingToGrade(
                tr("The {kind} archive is cut short (unexpected end).", kind=kind)
            ) from None
        # The standard library's readers fail on malformed input in many ways (struct.error,
        # OverflowError, RecursionError, ...): each of them means that the archive is broken.
        except Exception as problem:
            raise NothingToGrade(
                tr(
                    "The {kind} archive is damaged: {problem}",
                    kind=kind,
                    problem=f"{type(problem).__name__}: {str(problem)[:200]}",
                )
            ) from None
    return contents


def checked_name(raw: str, limits: IntakeLimits) -> str:
    """The entry's path with "/" between its parts, or NothingToGrade when it is not acceptable.

    Windows tools write backslashes: they separate here too, so that "..\\\\x" is seen.
    """
    shown = repr(raw[:80])
    if "\0" in raw:
        raise NothingToGrade(tr("The entry {name} has a NUL byte in its name.", name=shown))
    path = raw.replace("\\", "/")
    if path.startswith("/"):
        raise NothingToGrade(tr("The entry {name} has an absolute path.", name=shown))
    if _DRIVE.match(path):
        raise NothingToGrade(tr("The entry {name} has a drive letter in its path.", name=shown))
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if ".." in parts:
        raise NothingToGrade(tr("The entry {name} climbs out of the archive by '..'.", name=shown))
    encoded = [part.encode("utf-8", "surrogatepass") for part in parts]
    if any(len(part) > limits.name_bytes for part in encoded):
        raise NothingToGrade(
            tr(
                "The entry {name}… has a name longer than {n} bytes.",
                name=shown,
                n=limits.name_bytes,
            )
        )
    if sum(map(len, encoded)) + len(parts) > limits.path_bytes:
        raise NothingToGrade(
            tr(
                "The entry {name}… has a path longer than {n} bytes.",
                name=shown,
                n=limits.path_bytes,
            )
        )
    return "/".join(parts)


def _recognise(file: BinaryIO, name: str) -> tuple[str, Callable[[BinaryIO, Contents], None]]:
    """The reader for what the file really is, by its first bytes."""
    head = file.read(512)
    file.seek(0)
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return "zip", _read_zip
    if head.startswith(b"\x1f\x8b"):
        return "tar.gz", lambda file, contents: _read_tar(gzip.GzipFile(fileobj=file), contents)
    if head.startswith(b"BZh"):
        return "tar.bz2", lambda file, contents: _read_tar(bz2.BZ2File(file), contents)
    if head.startswith(b"\xfd7zXZ\0"):
        return "tar.xz", lambda file, contents: _read_tar(_XzReader(file), contents)
    if head[257:262] == b"ustar" or _is_old_tar(head):
        return "tar", _read_tar
    raise NothingToGrade(
        tr(
            "{file} is named like an archive but does not start like a zip or tar file; its first "
            "bytes are {head!r}. Expected a .zip, .tar, .tar.gz, .tar.xz or .tar.bz2.",
            file=name,
            head=head[:12],
        )
    )


def _is_old_tar(head: bytes) -> bool:
    """Tar files before POSIX have no magic, but every header carries its own checksum."""
    try:
        stored = int(head[148:156].strip(b" \0"), 8)
    except ValueError:
        return False
    return len(head) == 512 and stored == sum(head[:148]) + 8 * 32 + sum(head[156:])


def _read_zip(file: BinaryIO, contents: Contents) -> None:
    # Every entry of the central directory costs half a KiB once parsed, so weigh it first.
    if _central_directory_bytes(file) > 400 * contents.limits.entries:
        raise NothingToGrade(tr("It holds more than {n} entries.", n=contents.limits.entries))
    with zipfile.ZipFile(file) as archive:
        for entry in archive.infolist():
            contents.count_entry()
            # `filename` ends at a NUL; `orig_filename` is what the archive really says.
            name = checked_name(entry.orig_filename, contents.limits)
            if entry.orig_filename.endswith(("/", "\\")) or is_skipped(name):
                continue
            _refuse_special(name, entry.external_attr >> 16)
            note_unread(contents, name)
            if not is_wanted(name):
                continue
            if entry.flag_bits & 0x1:
                raise NothingToGrade(
                    tr("The archive is encrypted ({file} needs a password).", file=name)
                )
            if entry.compress_type not in _ZIP_METHODS:
                raise NothingToGrade(
                    tr(
                        "{file} is compressed by zip method {method}, which is not read; expected "
                        "an ordinary zip (deflate).",
                        file=name,
                        method=entry.compress_type,
                    )
                )
            with archive.open(entry) as member:
                contents.take(name, member.read)


def _central_directory_bytes(file: BinaryIO) -> int:
    """The size of a zip's central directory by its end record (found as zipfile finds it)."""
    size = file.seek(0, 2)
    start = max(0, size - 22 - 0xFFFF)
    file.seek(start)
    tail = file.read()
    file.seek(0)
    at = tail.rfind(b"PK\x05\x06")
    if at < 0 or len(tail) < at + 22:
        raise NothingToGrade(tr("The zip archive is cut short: its table of contents is missing."))
    sizes = [struct.unpack_from("<L", tail, at + 12)[0]]
    if tail.find(b"PK\x06\x07", max(0, at - 20), at) >= 0 and at >= 76:
        sizes = [struct.unpack_from("<Q", tail, at - 76 + 40)[0]]
    return min(max(sizes), size)


def _refuse_special(name: str, unix_mode: int) -> None:
    """Zip keeps Unix types in the high half of the attributes; 0 when made on Windows."""
    kind = unix_mode & 0o170000
    if kind == 0o120000:
        raise NothingToGrade(_no_symbolic_link(name))
    if kind not in (0, 0o100000, 0o040000):
        raise NothingToGrade(_no_device(name))


def _no_symbolic_link(name: str) -> str:
    return tr(
        "The entry {name} is a symbolic link; links are not accepted, only plain files.", name=name
    )


def _no_device(name: str) -> str:
    return tr("The entry {name} is a device or pipe, not a file.", name=name)


class _Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


def _read_tar(stream: _Readable, contents: Contents) -> None:
    # Stream mode ("r|") reads forward only: headers cannot send the reader back into a loop.
    bounded = _BoundedStream(stream, contents.limits.stream_bytes)
    with tarfile.open(fileobj=cast(BinaryIO, bounded), mode="r|") as archive:
        for member in _members(archive):
            contents.count_entry()
            name = checked_name(member.name, contents.limits)
            if member.isdir() or is_skipped(name):
                continue
            if member.issym():
                raise NothingToGrade(_no_symbolic_link(name))
            if member.islnk():
                raise NothingToGrade(
                    tr(
                        "The entry {name} is a hard link; links are not accepted, only plain "
                        "files.",
                        name=name,
                    )
                )
            if not member.isreg():
                raise NothingToGrade(_no_device(name))
            note_unread(contents, name)
            file = archive.extractfile(member)
            if file is not None and is_wanted(name):
                contents.take(name, file.read)
    # What follows the end mark is part of the compressed stream's checksum.
    while bounded.read(_CHUNK):
        pass


def _members(archive: tarfile.TarFile) -> Iterator[tarfile.TarInfo]:
    while (member := archive.next()) is not None:
        yield member
        archive.members.clear()  # type: ignore[attr-defined]  # or a million entries stay in memory


class _BoundedStream:
    """Passes on at most `limit` bytes of a decompressed stream: headers are not believed."""

    def __init__(self, stream: _Readable, limit: int):
        self._stream = stream
        self._limit = limit
        self._left = limit

    def read(self, size: int) -> bytes:
        chunk = self._stream.read(min(size, self._left + 1))
        self._left -= len(chunk)
        if self._left < 0:
            raise NothingToGrade(
                tr(
                    "The archive unpacks to more than {n} MiB, the most that is read.",
                    n=self._limit // MIB,
                )
            )
        return chunk


class _XzReader:
    """xz with a bound on the dictionary, which a few header bytes can set to 4 GiB."""

    def __init__(self, file: BinaryIO, memory: int = 128 * MIB):
        self._file = file
        self._memory = memory
        self._decoder = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=memory)

    def read(self, size: int) -> bytes:
        while True:
            if self._decoder.eof:
                rest = self._decoder.unused_data.lstrip(b"\0") or self._file.read(_CHUNK)
                if not rest.strip(b"\0"):
                    return b""
                self._decoder = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=self._memory)
            elif self._decoder.needs_input:
                rest = self._file.read(_CHUNK)
                if not rest:
                    raise EOFError
            else:
                rest = b""
            if chunk := self._decoder.decompress(rest, size):
                return chunk
