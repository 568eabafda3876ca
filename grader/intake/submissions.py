"""Finds submissions: what lies below a path, and whose each is.

* A file: an archive, a notebook, or a lone student module such as `attention.py`.
* A folder that holds a student module directly or in `assignment/`, or the notebooks of several
  parts (`part1.ipynb`, `part2.ipynb`, …). What lies deeper in it is part of it.
* Every other folder is a class: each of its subfolders, archives and notebooks is a submission,
  and subfolders may be sections, three levels deep. A subfolder or file of a class with nothing
  gradable in it is listed as well, to be recorded as `missing`; nothing is dropped.
* Hidden files, virtual environments, caches and `__MACOSX` are not looked at; links are not
  followed.

Whose each is, and what happens to two of one id, is said in `grader.intake.ids`.
"""

import itertools
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from grader.base.errors import GraderError
from grader.base.notes import Note, Reason, in_words, note
from grader.base.words import speaking, tr
from grader.intake.contents import (
    UNREAD_SUFFIXES,
    Contents,
    archive_stem,
    is_skipped,
)
from grader.intake.course import PACKAGE, Course
from grader.intake.ids import is_from_lms, module_name, student_id, within
from grader.intake.near_names import first_few, near_misses, told
from grader.intake.notebook import (
    PART_NOTEBOOK,
)

MAX_DEPTH = 3
# Of folders that say what is in them and not whose it is.
HOMEWORK_NAME = re.compile(
    r"(assignment|code|homework|hw|kv-cache-homework|lecture|notebook|solution|src|submission)"
    r"[-_ ]?\d*",
    re.IGNORECASE,
)

Kind = Literal["folder", "archive", "notebook", "modules", "nothing"]


@dataclass(frozen=True)
class Found:
    """One submission to grade: whose it is and where it lies."""

    student: str
    kind: Kind
    sources: tuple[Path, ...]
    notes: tuple[Note, ...] = ()
    reason: Reason | None = None  # for kind "nothing": why there is nothing to grade
    contents: Contents | None = (
        None  # of what was read on another machine (see grader.cluster.packing)
    )

    @property
    def source_name(self) -> str:
        """The source without its host path."""
        names = ", ".join(path.name for path in self.sources[:3])
        return names if len(self.sources) <= 3 else f"{names}, …"


def find_submissions(
    paths: Iterable[Path],
    course: Course,
    exclude: Iterable[Path] = (),
    stray: list[Path] | None = None,
) -> list[Found]:
    """Every submission below `paths`, in a stable order, with distinct students' ids.

    Args:
        exclude: folders that are not looked into: the results.
        stray: takes what lies beside the submissions and can be none.

    Raises:
        GraderError: a path does not exist or is no kind of submission.
    """
    left_out = frozenset(path.resolve() for path in exclude)
    finder = _Finder(course, left_out, [] if stray is None else stray)
    # The same place named twice (`subs/ subs/ana`) is one submission.
    by_place: dict[tuple[Path, ...], Found] = {}
    for found in itertools.chain.from_iterable(map(finder.below, paths)):
        place = tuple(source.parent.resolve() / source.name for source in found.sources)
        known = by_place.setdefault(place, found)
        # The wider of the two places says whose it is, in whatever order they were named.
        if len(found.student) > len(known.student):
            by_place[place] = found
    return _with_distinct_ids(by_place.values())


@dataclass(frozen=True)
class _Finder:
    course: Course
    exclude: frozenset[Path]
    stray: list[Path] = field(default_factory=list)  # files beside the submissions

    def below(self, path: Path) -> list[Found]:
        """The submissions of one path of the command line."""
        if not path.exists():
            raise GraderError(f"{path} does not exist. Name a folder, an archive or a notebook.")
        if path.is_dir():
            try:
                return self._in_top_folder(path.resolve())
            except OSError as problem:
                raise GraderError(f"{path} cannot be read ({problem.strerror}).") from None
        if found := self._file(path):
            return [replace(found, student=self._id_of_lone(found, path.resolve().parent))]
        if path.name in self.course.module_files:
            return [Found(student_id(path.resolve().parent.name), "modules", (path,))]
        if self._is_loose_module(path.name):
            return [Found(student_id(path.name), "modules", (path,))]
        raise GraderError(
            f"{path.name} is not a submission: expected a folder, a zip or tar archive, a notebook "
            f"(.ipynb) or one of {', '.join(sorted(self.course.module_files))}."
        )

    def _id_of_lone(self, found: Found, folder: Path) -> str:
        """The id that a file named by itself has in the class that its folder belongs to."""
        if is_from_lms(found.sources[0].name):
            return found.student
        if is_from_lms(folder.name):
            return student_id(folder.name)
        real, _, _ = self._children(folder, depth=0)
        return student_id(folder.name) if _is_only_homework(real, folder) else found.student

    def _in_top_folder(self, folder: Path) -> list[Found]:
        if self._is_submission(folder):
            return [Found(student_id(folder.name), "folder", (folder,))]
        real, rest, stray = self._children(folder, MAX_DEPTH)
        if not real and not rest:
            raise GraderError(
                f"No submission was found in {folder}: expected folders or archives that hold "
                f"{', '.join(sorted(self.course.module_files))}, or notebooks, at most "
                f"{MAX_DEPTH} levels down.{self._in_place_of_submissions(stray)}"
            )
        # A class may have one student so far: only a folder whose name says that it is the
        # homework, and not whose it is, makes the folder above it a submission.
        name = student_id(folder.name)
        if is_from_lms(folder.name):
            real = _with_helpers(real, folder)
            return [replace(one, student=name) for one in real or rest[:1]]
        if not rest and _is_only_homework(real, folder) and real[0].sources[0].is_dir():
            where = real[0].sources[0].relative_to(folder)
            only = note("only_submission", where=where, folder=folder.name)
            return [replace(real[0], student=name, notes=(only,))]
        self.stray.extend(stray)
        return sorted(real + rest, key=lambda found: str(found.sources[0]))

    def _in_place_of_submissions(self, stray: list[Path]) -> str:
        with speaking("en"):  # as the grader's own errors, of which this is a part
            there = f" Other files there: {_files(stray)}." if stray else ""
            near = near_misses([path.name for path in stray], self.course.module_files)
            return there + "".join(f" Note: {in_words(miss)}." for miss in near)

    def _in_readable_folder(self, folder: Path, depth: int) -> tuple[list[Found], Reason]:
        try:
            names = [child.name for child in folder.iterdir() if not is_skipped(child.name)]
            return self._in_folder(folder, depth), self._expected(names)
        except OSError as problem:
            why = Reason("The folder cannot be read ({problem}).", problem=problem.strerror)
            return [], why

    def _in_folder(self, folder: Path, depth: int) -> list[Found]:
        """The submissions in a subfolder of a class: its own, several, or none."""
        name = student_id(folder.name)
        if self._is_submission(folder):
            return [Found(name, "folder", (folder,))]
        real, rest, stray = self._children(folder, depth) if depth > 0 else ([], [], [])
        is_theirs = is_from_lms(folder.name) or _is_only_homework(real, folder)
        real = _with_helpers(real, folder)
        if is_theirs:
            return [replace(found, student=name) for found in real]
        if real:  # a section: whose the empty ones are is not known, but they are not passed over
            self.stray.extend([*stray, *(nothing.sources[0] for nothing in rest)])
        return [replace(found, student=within(name, found.student)) for found in real]

    def _children(self, folder: Path, depth: int) -> tuple[list[Found], list[Found], list[Path]]:
        """What a folder's entries hold: submissions, entries with nothing to grade, other files."""
        real: list[Found] = []
        rest: list[Found] = []
        stray: list[Path] = []
        loose: dict[str, list[Path]] = {}
        others: dict[str, Path] = {}  # what a platform names a student for, and is not read
        for child in sorted(folder.iterdir()):
            if is_skipped(child.name) or child.resolve() in self.exclude:
                continue
            if child.is_symlink():
                why = Reason("It is a symbolic link, and links are not followed.")
                rest.append(_nothing(child, why))
            elif child.is_dir():
                inner, reason = self._in_readable_folder(child, depth - 1)
                real += inner
                if not inner:
                    rest.append(_nothing(child, reason))
            elif found := self._file(child):
                real.append(found)
            elif child.suffix == ".py" and self._is_loose_module(child.name):
                loose.setdefault(student_id(child.name), []).append(child)
            elif is_from_lms(child.name):
                others.setdefault(student_id(child.name), child)
            elif child.suffix == ".py" or child.name.lower().endswith(UNREAD_SUFFIXES):
                rest.append(_nothing(child, self._expected([_original(child.name)])))
            else:
                stray.append(child)
        real += [Found(who, "modules", tuple(paths)) for who, paths in loose.items()]
        with_work = {found.student for found in real}
        rest += [
            _nothing(path, self._expected([_original(path.name)]))
            for who, path in others.items()
            if who not in with_work
        ]
        return real, rest, stray

    def _file(self, path: Path) -> Found | None:
        if (stem := archive_stem(path.name)) is not None:
            return Found(_id_of_file(path.name, stem), "archive", (path,))
        if path.suffix == ".ipynb":
            return Found(_id_of_file(path.name, path.stem), "notebook", (path,))
        return None

    def _is_loose_module(self, name: str) -> bool:
        return is_from_lms(name) and module_name(name) in self.course.module_files

    def _is_submission(self, folder: Path) -> bool:
        """Whether the folder itself is one; several notebooks of parts are not several students."""
        parts = [child for child in folder.iterdir() if PART_NOTEBOOK.fullmatch(child.name)]
        return len(parts) > 1 or self._holds_modules(folder)

    def _holds_modules(self, folder: Path) -> bool:
        inside = (folder, folder / PACKAGE)
        return any(
            (place / name).is_file()
            for place in inside
            if not (place != folder and place.is_symlink())
            for name in self.course.module_files
        )

    def _expected(self, names: Iterable[str]) -> Reason:
        """What a place with files of these names lacks to be a submission, and what to do."""
        holds_none = Reason(
            "It holds none of {files}, no notebook and no zip or tar archive.",
            files=tuple(sorted(self.course.module_files)),
        )
        names = list(names)
        unread = sorted(name for name in names if name.lower().endswith(UNREAD_SUFFIXES))
        if unread:
            holds_none = Reason(
                "{file} is an archive that is not read: a zip or tar archive is. {rest}",
                file=unread[0],
                rest=holds_none,
            )
        return told([holds_none], near_misses(names, self.course.module_files))


def _original(name: str) -> str:
    return module_name(name) if is_from_lms(name) else name


def passed_over(stray: list[Path]) -> str:
    """A line on what lies beside the submissions and can be none."""
    return tr(
        "Beside the submissions and not looked at: {files}. What is somebody's work must be a "
        "folder with it, a zip or tar archive, or a notebook.",
        files=_files(stray),
    )


def _files(paths: list[Path]) -> str:
    """`7 (a.pdf, b.docx, …)`."""
    return f"{len(paths)} ({tr(', ').join(first_few(sorted(path.name for path in paths)))})"


def _with_helpers(real: list[Found], folder: Path) -> list[Found]:
    """Helper modules may lie beside the only notebook of a folder: take the folder."""
    if len(real) == 1 and real[0].kind == "notebook" and real[0].sources[0].parent == folder:
        return [replace(real[0], kind="folder", sources=(folder,))]
    return real


def _is_only_homework(real: list[Found], above: Path) -> bool:
    """Whether a folder holds one submission, and below a name that does not say whose it is."""
    if len(real) != 1:
        return False
    first = Path(real[0].sources[0].relative_to(above).parts[0])
    stem = first.stem if first.suffix == ".ipynb" else archive_stem(first.name) or first.name
    return HOMEWORK_NAME.fullmatch(stem) is not None


def _id_of_file(name: str, stem: str) -> str:
    return student_id(name if is_from_lms(name) else stem)


def _nothing(path: Path, reason: Reason) -> Found:
    name = path.name if path.is_dir() or is_from_lms(path.name) else path.stem
    return Found(student_id(name), "nothing", (path,), reason=reason)


def _with_distinct_ids(found: Iterable[Found]) -> list[Found]:
    """Give `-1`, `-2`, … to all that share an id, so that nobody's results pass for another's.

    Upper and lower case are one name on some disks.
    """
    found = list(found)
    count = Counter(submission.student.casefold() for submission in found)
    taken = set(count)
    distinct = []
    for submission in found:
        name = submission.student
        if count[name.casefold()] > 1:
            numbered = (f"{name}-{number}" for number in itertools.count(1))
            own = next(one for one in numbered if one.casefold() not in taken)
            taken.add(own.casefold())
            notes = (*submission.notes, note("same_id", name=name))
            submission = replace(submission, student=own, notes=notes)
        distinct.append(submission)
    return distinct
