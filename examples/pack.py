"""Packs a folder of the sample class into a zip archive, the same bytes on every machine.

    python examples/pack.py examples/submissions/correct-concatenated

writes examples/submissions/correct-concatenated.zip, with the files in a folder `homework/` as a
student's archive manager leaves them. Entries are stored, not deflated: compressors differ.
"""

import sys
import zipfile
from pathlib import Path

WRAPPER = "homework"
LONG_AGO = (2025, 1, 1, 0, 0, 0)


def pack(files: dict[str, bytes], archive: Path) -> None:
    """Write the files, by name, into a zip archive."""
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_STORED) as zipped:
        for name, content in sorted(files.items()):
            entry = zipfile.ZipInfo(f"{WRAPPER}/{name}", date_time=LONG_AGO)
            entry.create_system = 3  # Unix, also when packed elsewhere
            entry.external_attr = 0o644 << 16
            zipped.writestr(entry, content)


def unpack(archive: Path) -> dict[str, bytes]:
    """The files of an archive written by `pack`, by name."""
    with zipfile.ZipFile(archive) as zipped:
        return {Path(name).name: zipped.read(name) for name in zipped.namelist()}


def main(folder: Path) -> None:
    """Pack what lies directly in a folder, beside it."""
    files = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    pack(files, folder.with_name(f"{folder.name}.zip"))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
