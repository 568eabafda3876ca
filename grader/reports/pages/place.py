"""A folder of pages: only one of ours is written to, each page whole, and named for its student."""

import hashlib
import re
import secrets
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import quote

from grader.base.errors import GraderError
from grader.intake.ids import safe_id

_LIKE_OURS = re.compile(r".*-[0-9a-f]{16}", re.DOTALL)


def page_names(students: Iterable[str]) -> dict[str, str]:
    """A file name for each student's page: `Ana_12345.html`, as readable as the id.

    Ids are safe on every system (grader.intake.ids). What is none, or differs from another's in
    upper and lower case only, gets a digest behind it; no id kept as it is has that form, so no two
    students share a name.
    """
    students = list(dict.fromkeys(students))
    spelled = Counter(safe_id(student).casefold() for student in students)
    return {
        student: _page_name(student, is_alone=spelled[safe_id(student).casefold()] == 1)
        for student in students
    }


def _page_name(student: str, is_alone: bool) -> str:
    letters = safe_id(student)
    is_an_id = letters == student and not _LIKE_OURS.fullmatch(student)
    if is_an_id and is_alone and not student.lower().endswith((".html", ".eml")):
        return f"{student}.html"
    digest = hashlib.sha256(student.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return f"{letters.replace('.', '_')}-{digest}.html"  # Windows opens no `nul.txt-….html`


def link_to(name: str) -> str:
    """A page's name as it stands in a link."""
    return quote(name)


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
