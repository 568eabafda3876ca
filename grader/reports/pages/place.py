"""A folder of pages: only one of ours is written to, and each page whole."""

import secrets
from pathlib import Path

from grader.base.errors import GraderError


def require_own_folder(out: Path, marker: str, what: str) -> None:
    """GraderError unless `out` is new, empty, or holds the `marker` that earlier pages left.

    Args:
        what: the pages' name in the error, as "report".
    """
    if out.exists() and not out.is_dir():
        raise GraderError(f"{out} is a file; name a folder for the {what} with --out.")
    if out.is_dir() and any(out.iterdir()) and not (out / marker).exists():
        raise GraderError(
            f"{out}/ holds files and no earlier {what}. Name a new or an empty folder with --out."
        )


def write_page(path: Path, page: str) -> None:
    """The whole page or none: someone may be reading the old one.

    Unlike a record it can be made again, so nobody waits for the disk.
    """
    draft = path.with_name(f".{secrets.token_hex(8)}.tmp")
    try:
        draft.write_text(page, encoding="utf-8", errors="replace", newline="\n")
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
