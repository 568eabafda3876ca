"""Reads zip and tar archives that strangers made, without ever unpacking them onto the disk.

Entries are judged by their names and types, and the few files that can matter (Python files and
notebooks) are read into memory under limits that hold whatever the headers claim. Nothing is
written, so no path, link or device of an archive can take effect.
"""

import bz2
import copy
import gzip
import lzma
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, Protocol, cast

from grader.base.errors import NothingToGrade
from grader.base.notes import Reason
from grader.intake.contents import (
    MIB,
    Contents,
    IntakeLimits,
    checked_name,
    is_skipped,
    is_wanted,
    note_unread,
)

_ZIP_METHODS = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2}
_CHUNK = 64 * 1024
_ENTRY_BYTES = 400  # of one entry in a zip's table of contents, its name included
# Of a tar: what stands in front of its members, such as long names and macOS's attributes.
_EXTENDED_BYTES = MIB
_EXTENDED = frozenset(
    {
        tarfile.XHDTYPE,
        tarfile.XGLTYPE,
        tarfile.SOLARIS_XHDTYPE,
        tarfile.GNUTYPE_LONGNAME,
        tarfile.GNUTYPE_LONGLINK,
    }
)


def read_archive(
    path: Path,
    limits: IntakeLimits | None = None,
    wanted: Callable[[str], bool] = is_wanted,
) -> Contents:
    """The wanted files of an archive, whatever its name says it is.

    Raises NothingToGrade, with the rule that was broken, for a damaged or unacceptable archive.
    """
    limits = limits or IntakeLimits()
    size = path.stat().st_size
    if size == 0:
        raise NothingToGrade(Reason("The archive is empty: 0 bytes."))
    if size > limits.archive_bytes:
        raise NothingToGrade(
            Reason(
                "The archive is larger than {n} MiB, the most that is read.",
                n=limits.archive_bytes // MIB,
            )
        )
    contents = Contents(limits, wanted=wanted)
    with path.open("rb") as file:
        kind, opener = _recognise(file, path.name)
        try:
            opener(file, contents)
        except (NothingToGrade, MemoryError):
            raise
        except EOFError:
            raise NothingToGrade(
                Reason("The {kind} archive is cut short (unexpected end).", kind=kind)
            ) from None
        # The standard library's readers fail on malformed input in many ways (struct.error,
        # OverflowError, RecursionError, ...): each of them means that the archive is broken.
        except Exception as problem:
            raise NothingToGrade(
                Reason(
                    "The {kind} archive is damaged: {problem}",
                    kind=kind,
                    problem=f"{type(problem).__name__}: {str(problem)[:200]}",
                )
            ) from None
    return contents


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
        Reason(
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
    _require_few_entries(file, contents.limits.entries)
    with zipfile.ZipFile(file) as archive:
        for entry in archive.infolist():
            contents.count_entry()
            # `filename` ends at a NUL; `orig_filename` is what the archive really says.
            name = checked_name(entry.orig_filename, contents.limits)
            if entry.orig_filename.endswith(("/", "\\")) or is_skipped(name):
                continue
            _refuse_special(name, entry.external_attr >> 16)
            note_unread(contents, name)
            if contents.wanted(name):
                _take_entry(archive, entry, name, contents)


def _take_entry(
    archive: zipfile.ZipFile, entry: zipfile.ZipInfo, name: str, contents: Contents
) -> None:
    if entry.flag_bits & 0x1:
        raise NothingToGrade(
            Reason("The archive is encrypted ({file} needs a password).", file=name)
        )
    if entry.compress_type not in _ZIP_METHODS:
        raise NothingToGrade(
            Reason(
                "{file} is compressed by zip method {method}, which is not read; expected an "
                "ordinary zip (deflate).",
                file=name,
                method=entry.compress_type,
            )
        )
    if entry.compress_type == zipfile.ZIP_BZIP2:
        contents.take(name, _Bzip2Entry(archive, entry).read)
        return
    with archive.open(entry) as member:
        contents.take(name, member.read)


class _Bzip2Entry:
    """Reads an entry with a bound on each step: zipfile unpacks all that 64 KiB of bzip2 hold,
    which can be gigabytes."""

    def __init__(self, archive: zipfile.ZipFile, entry: zipfile.ZipInfo):
        stored: Any = copy.copy(entry)
        stored.compress_type, stored.file_size = zipfile.ZIP_STORED, entry.compress_size
        stored.CRC = None  # the sum is that of what comes out
        self._file = bz2.BZ2File(archive.open(stored))
        self._expected, self._left, self._sum = entry.CRC, entry.file_size, 0

    def read(self, size: int) -> bytes:
        chunk = self._file.read(min(size, self._left))
        self._left -= len(chunk)
        self._sum = zlib.crc32(chunk, self._sum)
        if not chunk and (self._left or self._sum != self._expected):
            raise zipfile.BadZipFile("wrong size or checksum")
        return chunk


def _require_few_entries(file: BinaryIO, most: int) -> None:
    """NothingToGrade where a zip's central directory is long: zipfile makes a KiB of each entry.

    It is found as zipfile finds it: in front of the last end record.
    """
    start = max(0, file.seek(0, 2) - 22 - 0xFFFF)
    file.seek(start)
    tail = file.read()
    at = tail.rfind(b"PK\x05\x06")
    if at < 0 or len(tail) < at + 22:
        raise NothingToGrade(
            Reason("The zip archive is cut short: its table of contents is missing.")
        )
    size = struct.unpack_from("<L", tail, at + 12)[0]
    if at >= 76 and tail.startswith(b"PK\x06\x06", at - 76):
        size = struct.unpack_from("<Q", tail, at - 76 + 40)[0]
    directory = b""
    if size <= _ENTRY_BYTES * most:
        file.seek(max(0, start + at - 76 - size))
        directory = file.read(size + 76)
    if size > _ENTRY_BYTES * most or directory.count(b"PK\x01\x02") > most:
        raise NothingToGrade(Reason("It holds more than {n} entries.", n=most))
    file.seek(0)


def _refuse_special(name: str, unix_mode: int) -> None:
    """Zip keeps Unix types in the high half of the attributes; 0 when made on Windows."""
    kind = unix_mode & 0o170000
    if kind == 0o120000:
        raise NothingToGrade(_no_symbolic_link(name))
    if kind not in (0, 0o100000, 0o040000):
        raise NothingToGrade(_no_device(name))


def _no_symbolic_link(name: str) -> Reason:
    return Reason(
        "The entry {name} is a symbolic link; links are not accepted, only plain files.", name=name
    )


def _no_device(name: str) -> Reason:
    return Reason("The entry {name} is a device or pipe, not a file.", name=name)


class _Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


class _Header(tarfile.TarInfo):
    """A member's header; what stands in front of it is weighed before it is read."""

    def _proc_member(self, archive: Any) -> Any:  # named in tarfile as what a subclass overrides
        if self.type in _EXTENDED:
            archive.extended_bytes += abs(self.size)
            if archive.extended_bytes > _EXTENDED_BYTES:
                raise NothingToGrade(
                    Reason(
                        "An entry's name and attributes take more than {n} MiB, the most that is "
                        "read of them.",
                        n=_EXTENDED_BYTES // MIB,
                    )
                )
        elif self.type == tarfile.GNUTYPE_SPARSE:
            raise NothingToGrade(_no_sparse_file(self.name))
        return super()._proc_member(archive)  # type: ignore[misc]

    def _proc_gnusparse_10(self, member: tarfile.TarInfo, *_: object) -> None:
        """Its map stands in the data, as long as it likes."""
        raise NothingToGrade(_no_sparse_file(member.name))


def _no_sparse_file(name: str) -> Reason:
    return Reason(
        "The entry {name} is a file with holes (sparse); only plain files are read.",
        name=repr(name[:80]),
    )


class _Tar(tarfile.TarFile):
    tarinfo = _Header
    extended_bytes = 0


def _read_tar(stream: _Readable, contents: Contents) -> None:
    # Stream mode ("r|") reads forward only: headers cannot send the reader back into a loop.
    bounded = _BoundedStream(stream, contents.limits.stream_bytes)
    with _Tar.open(fileobj=cast(BinaryIO, bounded), mode="r|") as archive:
        for member in _members(archive):
            contents.count_entry()
            name = checked_name(member.name, contents.limits)
            if member.isdir() or is_skipped(name):
                continue
            if member.issym():
                raise NothingToGrade(_no_symbolic_link(name))
            if member.islnk():
                raise NothingToGrade(
                    Reason(
                        "The entry {name} is a hard link; links are not accepted, only plain "
                        "files.",
                        name=name,
                    )
                )
            if not member.isreg():
                raise NothingToGrade(_no_device(name))
            note_unread(contents, name)
            file = archive.extractfile(member)
            if file is not None and contents.wanted(name):
                contents.take(name, file.read)
    # What follows the end mark is part of the compressed stream's checksum.
    while bounded.read(_CHUNK):
        pass


def _members(archive: _Tar) -> Iterator[tarfile.TarInfo]:
    while (member := archive.next()) is not None:
        yield member
        # Or a million entries stay in memory. What holds for all members is what has no end.
        archive.members.clear()  # type: ignore[attr-defined]
        archive.extended_bytes = sum(map(len, archive.pax_headers.values()))


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
                Reason(
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
