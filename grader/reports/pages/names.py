"""File names for students' pages."""

import hashlib
import re

_PLAIN = re.compile(r"[a-z0-9][a-z0-9_.-]{0,58}[a-z0-9]|[a-z0-9]")
_LIKE_OURS = re.compile(r".*-[0-9a-f]{16}")
_RESERVED_ON_WINDOWS = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?")


def page_name(student: str) -> str:
    """A name for the student's page: safe on every system, in a mail and in a link.

    Lower-case ASCII ids are kept. Any other is shortened to such letters and gets a digest behind
    it; no kept id has that form, so two students never share a name.
    """
    if (
        _PLAIN.fullmatch(student)
        and not _LIKE_OURS.fullmatch(student)
        and not _RESERVED_ON_WINDOWS.fullmatch(student)
        and not student.endswith(".html")
    ):
        return f"{student}.html"
    digest = hashlib.sha256(student.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    letters = re.sub(r"[^a-z0-9]+", "-", student.lower()).strip("-")[:40].rstrip("-")
    return f"{letters or 'student'}-{digest}.html"
