"""A folder of pages: only one of ours is written to, each page whole and named for its student, and
only where it would not come out as it lies there."""

import hashlib
import json
import re
import secrets
from collections import Counter
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from urllib.parse import quote

from assignment.harness import page as harness_page
from grader.base import words
from grader.base.errors import GraderError
from grader.base.words import language
from grader.grades.policy import Score
from grader.grades.policy_file import Policy
from grader.intake.ids import safe_id
from grader.results.record import record_path, write_atomically

_LIKE_OURS = re.compile(r".*-[0-9a-f]{16}", re.DOTALL)
_HERE = Path(__file__).parent
# What the words and the looks of a page come from.
_SOURCES = (
    _HERE,
    _HERE.parents[1] / "grades",
    Path(harness_page.__file__).parent,
    Path(harness_page.__file__).parents[1],
    Path(words.__file__).parent,
)


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


class Unchanged:
    """A digest for each page of what it was made of, kept in the report's marker.

    A page that somebody has edited since is made again, too.
    """

    def __init__(self, marker: Path, results: Path, policy: Policy) -> None:
        self._marker, self._results = marker, results
        self._common = f"{_sources()} {language()} {policy.model_dump_json()}"
        self._before, self._now = _read(marker), dict[str, str]()

    def holds(self, page: Path, score: Score) -> bool:
        """Whether the page is there, made of this score and of the record as it lies there."""
        made = _state_of(page)
        known = made and self._before.get(page.name) == self._digest(made, score)
        if known:
            self._now[page.name] = self._before[page.name]
        return bool(known)

    def written(self, page: Path, score: Score) -> None:
        """The page was made anew."""
        self._now[page.name] = self._digest(_state_of(page), score)

    def keep(self) -> None:
        """For the next report."""
        write_atomically(self._marker, json.dumps(self._now).encode())

    def _digest(self, page: str, score: Score) -> str:
        record = _state_of(record_path(self._results, score.submission or score.student))
        parts = (self._common, page, record, score.model_dump_json())
        return hashlib.sha256("\n".join(parts).encode("utf-8", "replace")).hexdigest()[:32]


def _state_of(path: Path) -> str:
    try:
        state = path.lstat()
    except OSError:
        return ""
    return f"{state.st_mtime_ns} {state.st_ctime_ns} {state.st_size} {state.st_ino}"


def _read(marker: Path) -> dict[str, str]:
    try:
        content = json.loads(marker.read_bytes())
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


@cache
def _sources() -> str:
    digest = hashlib.sha256()
    for folder in _SOURCES:
        for path in sorted(folder.iterdir()):
            if path.suffix in (".py", ".toml", ".css", ".js"):
                digest.update(path.read_bytes())
    return digest.hexdigest()
