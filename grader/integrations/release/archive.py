"""A zip archive with the same bytes wherever and whenever it is made."""

import io
import zipfile
from collections.abc import Mapping
from typing import NamedTuple

# The earliest year that every unpacker accepts is 1980; a date people do not wonder at is better.
LONG_AGO = (2025, 1, 1, 0, 0, 0)
_UNIX = 3


class File(NamedTuple):
    """A file to hand over: its bytes, and its permissions on Unix."""

    content: bytes
    mode: int = 0o644


def zip_bytes(files: Mapping[str, File]) -> bytes:
    """The archive of `files` (by path, with `/`), sorted.

    Entries are stored, not deflated: compressors differ from machine to machine.
    """
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name, file in sorted(files.items()):
            entry = zipfile.ZipInfo(name, date_time=LONG_AGO)
            entry.create_system = _UNIX
            entry.external_attr = (0o100000 | file.mode) << 16
            archive.writestr(entry, file.content)
    return buffer.getvalue()
