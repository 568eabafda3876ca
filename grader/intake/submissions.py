"""Finds submissions and prepares each for the sandbox.

What is a submission (`find_submissions`)
  * A file: an archive, a notebook, or a lone student module such as `attention.py`.
  * A folder that holds a student module directly or in `assignment/`, or the notebooks of several
    parts (`part1.ipynb`, `part2.ipynb`, …).
  * A folder below which, at up to three levels, exactly one submission lies: the wrapper gives the
    name. The folder typed on the command line is the exception where that one is an archive or a
    notebook: then it is a class of one.
  * Every other folder is a class: each of its subfolders, archives and notebooks is a submission,
    and subfolders may be sections. A subfolder or file of a class with nothing gradable in it is
    listed as well, to be recorded as `missing`; nothing is dropped.
  * Hidden files, virtual environments, caches and `__MACOSX` are not looked at; links are not
    followed.

Who handed it in (`student_id`)
  The name of the folder, or of the file without its suffix. Canvas's
  `lastfirst_LATE_12345_6789_file.zip` becomes `lastfirst_12345` (name and Canvas user), Moodle's
  `Jane Doe_123_assignsubmission_file` becomes `Jane_Doe_123`. Loose modules with such a prefix are
  joined to one submission. Two submissions of one name get `-2`, `-3` behind it.

What is taken (`prepare`)
  The shallowest folder that holds a student module, `assignment/` preferred, gives student modules
  and helper modules (subpackages too). Tests, given files and everything but Python files stay
  behind; given files and missing modules come from the trusted package. Without any module, the
  notebook is taken, or the notebooks of all parts. Nothing of a submission is imported, compiled or
  executed here.
"""

import hashlib
import os
import re
import stat
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Literal

from assignment.harness.parts import PARTS
from grader.authoring import skeleton
from grader.base.errors import GraderError, NothingToGrade
from grader.base.notes import Note, in_words, note
from grader.base.places import ROOT
from grader.base.words import speaking, tr
from grader.intake.archives import (
    MIB,
    UNREAD_SUFFIXES,
    Contents,
    IntakeLimits,
    archive_stem,
    is_skipped,
    is_wanted,
    note_unread,
    read_archive,
)
from grader.intake.near_names import near_misses
from grader.intake.notebook import (
    CELLS_FILE,
    PART_NOTEBOOK,
    cells_file,
    code_cells,
    part_cells_file,
)

MAX_DEPTH = 3
# Of folders that say what is in them and not whose it is.
HOMEWORK_NAME = re.compile(
    r"(assignment|code|homework|hw|kv-cache-homework|lecture|solution|src|submission)[-_ ]?\d*",
    re.IGNORECASE,
)
PACKAGE = "assignment"
MAX_ID_BYTES = 100
# With the given files and the stubs, less than a sandbox carries.
MAX_MODULES = 150
MAX_TAKEN_BYTES = 16 * MIB
MAX_FOLDERS = 20  # above a helper module
_SHOWN_NAMES = 5
# Folders and files of the homework itself that tend to be handed in along with the work.
_NOT_HELPERS = frozenset({"harness", "golden", "tests", "test", PACKAGE})
_TEST_FILE = re.compile(r"(test_.*|.*_test|conftest|setup)\.py")
_CANVAS = re.compile(r"(?P<name>[^_]+)_(?:LATE_)?(?P<user>\d+)_(?P<upload>\d+)_(?P<file>.+)")
_MOODLE = re.compile(
    r"(?P<name>.+)_(?P<user>\d+)_assignsubmission_(?:file|onlinetext)(?:_(?P<file>.*))?"
)
_RESUBMITTED = re.compile(r"(-\d+| ?\(\d+\))(?=\.py$)")
_RESERVED_ON_WINDOWS = re.compile(r"(?i)(con|prn|aux|nul|com\d|lpt\d)(\..*)?")

Kind = Literal["folder", "archive", "notebook", "modules", "nothing"]


@dataclass(frozen=True)
class Course:
    """The trusted side: where the stubs and given files are, and what they are called."""

    package: Path
    student_modules: tuple[str, ...]
    given_files: tuple[str, ...]
    functions: tuple[str, ...] = ()
    # Stubs and given files as the solution makes them: the copies in `package` may hold what the
    # instructor wrote when trying the homework.
    generated: dict[str, str] = field(default_factory=dict)

    @classmethod
    def load(cls) -> "Course":
        """The installed homework; raises GraderError when `assignment` is not the one that came
        with this grader (a class folder may hold a folder of that name)."""
        import assignment
        from assignment.harness import parts

        package = Path(assignment.__file__).resolve().parent
        if package.parent != ROOT:
            raise GraderError(
                f"Python finds the package 'assignment' in {package.parent}, but the grader's own "
                f"lies in {ROOT}. Run the grader from another folder."
            )
        return cls(
            package,
            parts.STUDENT_MODULES,
            parts.GIVEN_FILES,
            tuple(parts.MODULE_OF),
            skeleton.generated_files(),
        )

    @property
    def module_files(self) -> frozenset[str]:
        """`attention.py`, `rope.py`, …"""
        return frozenset(f"{name}.py" for name in self.student_modules)


@dataclass(frozen=True)
class Found:
    """One submission to grade: whose it is and where it lies."""

    student: str
    kind: Kind
    sources: tuple[Path, ...]
    notes: tuple[Note, ...] = ()
    reason: str = ""  # for kind "nothing": why there is nothing to grade
    contents: Contents | None = (
        None  # of what was read on another machine (see grader.cluster.packing)
    )

    @property
    def source_name(self) -> str:
        """The source without its host path."""
        names = ", ".join(path.name for path in self.sources[:3])
        return names if len(self.sources) <= 3 else f"{names}, …"


@dataclass(frozen=True)
class Prepared:
    """What was taken of a submission, laid out for the sandbox."""

    folder: Path
    submission_hash: str
    taken: tuple[str, ...]
    from_stubs: tuple[str, ...]
    notes: tuple[Note, ...] = ()


# ---------------------------------------------------------------------------------------- names


def student_id(name: str) -> str:
    """A student's id, safe as a file name everywhere, from the name of a folder or a file's stem.

    Letters and digits of every script stay; anything else but `-_.` becomes `_`.
    """
    if match := _MOODLE.fullmatch(name) or _CANVAS.fullmatch(name):
        name = f"{match['name']}_{match['user']}"
    name = unicodedata.normalize("NFC", name)
    name = "".join(char if char.isalnum() or char in "-_." else "_" for char in name)
    name = re.sub(r"_{2,}", "_", name).strip("-_. ")
    # 100 bytes leave room for the duplicate's suffix and ".json" in a name of 255.
    name = name.encode()[:MAX_ID_BYTES].decode(errors="ignore")
    if _RESERVED_ON_WINDOWS.fullmatch(name):
        name += "_"
    return name or "unnamed"


def _is_from_lms(name: str) -> bool:
    return bool(_MOODLE.fullmatch(name) or _CANVAS.fullmatch(name))


def module_name(name: str) -> str:
    """The name a loose module had before the learning platform renamed it: from
    `doejane_12_34_attention-1.py` to `attention.py`."""
    match = _MOODLE.fullmatch(name) or _CANVAS.fullmatch(name)
    original = (match["file"] or name) if match else name
    return _RESUBMITTED.sub("", original)


# ----------------------------------------------------------------------------------------- find


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
    by_place = {
        tuple(source.parent.resolve() / source.name for source in found.sources): found
        for path in paths
        for found in _with_parents_where_repeated(finder.below(path))
    }
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
            return [found]
        if path.name in self.course.module_files:
            return [Found(student_id(path.resolve().parent.name), "modules", (path,))]
        raise GraderError(
            f"{path.name} is not a submission: expected a folder, a zip or tar archive, a notebook "
            f"(.ipynb) or one of {', '.join(sorted(self.course.module_files))}."
        )

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
        if len(real) == 1 and not rest and _is_named_as_homework(real[0].sources[0], folder):
            where = real[0].sources[0].relative_to(folder)
            only = note("only_submission", where=where, folder=folder.name)
            return [replace(real[0], student=student_id(folder.name), notes=(only,))]
        self.stray.extend(stray)
        return sorted(real + rest, key=lambda found: str(found.sources[0]))

    def _in_place_of_submissions(self, stray: list[Path]) -> str:
        with speaking("en"):  # as the grader's own errors, of which this is a part
            there = f" Other files there: {_files(stray)}." if stray else ""
            near = near_misses([path.name for path in stray], self.course.module_files)
            return there + "".join(f" Note: {in_words(miss)}." for miss in near)

    def _in_readable_folder(self, folder: Path, depth: int) -> tuple[list[Found], str]:
        try:
            names = [child.name for child in folder.iterdir() if not is_skipped(child.name)]
            return self._in_folder(folder, depth), self._expected(names)
        except OSError as problem:
            why = tr("The folder cannot be read ({problem}).", problem=problem.strerror)
            return [], why

    def _in_folder(self, folder: Path, depth: int) -> list[Found]:
        """The submissions in a subfolder of a class: its own, several, or none."""
        name = student_id(folder.name)
        if self._is_submission(folder):
            return [Found(name, "folder", (folder,))]
        real, rest, stray = self._children(folder, depth) if depth > 0 else ([], [], [])
        if len(real) == 1:
            only = real[0]
            # Helper modules may lie beside a notebook: take its folder.
            beside = only.kind == "notebook" and only.sources[0].parent == folder
            return [
                replace(only, student=name, kind="folder", sources=(folder,))
                if beside
                else replace(only, student=name)
            ]
        if _is_from_lms(folder.name):
            return [replace(found, student=name) for found in real]
        if real:  # a section: whose the empty ones are is not known, but they are not passed over
            self.stray.extend([*stray, *(nothing.sources[0] for nothing in rest)])
        return [
            found if found.kind == "folder" else replace(found, student=f"{name}_{found.student}")
            for found in real
        ]

    def _children(self, folder: Path, depth: int) -> tuple[list[Found], list[Found], list[Path]]:
        """What a folder's entries hold: submissions, entries with nothing to grade, other files."""
        real: list[Found] = []
        rest: list[Found] = []
        stray: list[Path] = []
        loose: dict[str, list[Path]] = {}
        for child in sorted(folder.iterdir()):
            if is_skipped(child.name) or child.resolve() in self.exclude:
                continue
            if child.is_symlink():
                why = tr("It is a symbolic link, and links are not followed.")
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
            elif child.suffix == ".py" or child.name.lower().endswith(UNREAD_SUFFIXES):
                rest.append(_nothing(child, self._expected([_original(child.name)])))
            else:
                stray.append(child)
        real += [Found(who, "modules", tuple(paths)) for who, paths in loose.items()]
        return real, rest, stray

    def _file(self, path: Path) -> Found | None:
        if (stem := archive_stem(path.name)) is not None:
            return Found(_id_of_file(path.name, stem), "archive", (path,))
        if path.suffix == ".ipynb":
            return Found(_id_of_file(path.name, path.stem), "notebook", (path,))
        return None

    def _is_loose_module(self, name: str) -> bool:
        return _is_from_lms(name) and module_name(name) in self.course.module_files

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

    def _expected(self, names: Iterable[str]) -> str:
        """What a place with files of these names lacks to be a submission, and what to do."""
        holds_none = tr(
            "It holds none of {files}, no notebook and no zip or tar archive.",
            files=tr(", ").join(sorted(self.course.module_files)),
        )
        return _told(holds_none, near_misses(names, self.course.module_files))


def _original(name: str) -> str:
    return module_name(name) if _is_from_lms(name) else name


def passed_over(stray: list[Path]) -> str:
    """A line on what lies beside the submissions and can be none."""
    return tr(
        "Beside the submissions and not looked at: {files}. What is somebody's work must be a "
        "folder with it, a zip or tar archive, or a notebook.",
        files=_files(stray),
    )


def _files(paths: list[Path]) -> str:
    """`7 (a.pdf, b.docx, …)`."""
    return f"{len(paths)} ({tr(', ').join(_first_few(sorted(path.name for path in paths)))})"


def _first_few(names: list[str]) -> tuple[str, ...]:
    return (*names[:_SHOWN_NAMES], *(["…"] if len(names) > _SHOWN_NAMES else []))


def _told(problem: str, near: list[Note], notes: Iterable[Note] = ()) -> str:
    """What is missing, what was seen in its place, and what to do next."""
    # In front, for tables show where a reason begins.
    seen = "".join(tr("Note: {note}. ", note=in_words(miss)) for miss in near)
    told = "".join(tr(" Note: {note}.", note=in_words(other)) for other in notes)
    hand_in = tr(" Hand in these files, in a folder or a zip archive, or a notebook.")
    return f"{seen}{problem}{told}{hand_in}"


def _is_named_as_homework(submission: Path, above: Path) -> bool:
    first = submission.relative_to(above).parts[0]
    return submission.is_dir() and HOMEWORK_NAME.fullmatch(first) is not None


def _id_of_file(name: str, stem: str) -> str:
    return student_id(name if _is_from_lms(name) else stem)


def _nothing(path: Path, reason: str) -> Found:
    name = path.name if path.is_dir() or _is_from_lms(path.name) else path.stem
    return Found(student_id(name), "nothing", (path,), reason=reason)


def _with_parents_where_repeated(found: Iterable[Found]) -> list[Found]:
    """Where ids repeat below one path, who lies deeper takes the name of the folder above along.

    Else a folder inside a submission could take the id of somebody else.
    """
    found = list(found)
    same: dict[str, list[Found]] = {}
    for submission in found:
        same.setdefault(submission.student.casefold(), []).append(submission)
    named = []
    for submission in found:
        others = same[submission.student.casefold()]
        depth = _depth(submission)
        if len(others) > 1 and depth > min(map(_depth, others)):
            above = submission.sources[0].parent.name
            same_id = note("same_id", name=submission.student)
            name = student_id(f"{above}_{submission.student}")
            submission = replace(submission, student=name, notes=(*submission.notes, same_id))
        named.append(submission)
    return named


def _depth(found: Found) -> int:
    return len(found.sources[0].resolve().parts)


def _with_distinct_ids(found: Iterable[Found]) -> list[Found]:
    """Give `-2`, `-3`, … to repeated ids; upper and lower case are one name on some disks."""
    found = list(found)
    taken = {submission.student.casefold() for submission in found}
    seen: set[str] = set()
    distinct = []
    for submission in found:
        name = submission.student
        if name.casefold() in seen:
            number = 2
            while f"{name}-{number}".casefold() in taken:
                number += 1
            notes = (*submission.notes, note("same_id", name=name))
            submission = replace(submission, student=f"{name}-{number}", notes=notes)
            taken.add(submission.student.casefold())
        seen.add(submission.student.casefold())
        distinct.append(submission)
    return distinct


# -------------------------------------------------------------------------------------- prepare


def prepare(
    found: Found, destination: Path, course: Course, limits: IntakeLimits | None = None
) -> Prepared:
    """Lay a submission out in the new folder `destination` as a package `assignment/`.

    Raises NothingToGrade when the submission is broken or holds nothing gradable, GraderError
    when the trusted package is incomplete.
    """
    contents = read_submission(found, limits or IntakeLimits())
    notes = list(contents.notes)
    if (root := _choose_root(contents.files, course, notes)) is not None:
        taken = _modules_of(root, contents.files, course, notes)
    else:
        near = near_misses([*contents.files, *contents.unread], course.module_files)
        taken = _notebook_of(contents.files, course, notes, near)
    _refuse_too_much(taken)
    from_stubs = tuple(sorted(course.module_files - taken.keys()))
    if root is not None:
        notes += near_misses([*contents.files, *contents.unread], from_stubs)
    _lay_out(destination, taken, from_stubs, course)
    names = tuple(sorted(taken))
    return Prepared(destination, _hash(taken), names, from_stubs, (*found.notes, *notes))


def _refuse_too_much(taken: dict[str, bytes]) -> None:
    """NothingToGrade when a sandbox would not carry what was taken (see grader.sandbox)."""
    if len(taken) > MAX_MODULES:
        raise NothingToGrade(
            tr(
                "It holds {n} modules and helper modules; at most {most} are graded.",
                n=len(taken),
                most=MAX_MODULES,
            )
        )
    if sum(map(len, taken.values())) > MAX_TAKEN_BYTES:
        raise NothingToGrade(
            tr(
                "Its code is larger than {n} MiB together, the most that is graded.",
                n=MAX_TAKEN_BYTES // MIB,
            )
        )


def reason_hash(reason: str) -> str:
    """Stands for the submission's hash where nothing could be taken."""
    return hashlib.sha256(b"nothing to grade: " + reason.encode("utf-8", "replace")).hexdigest()


def read_submission(found: Found, limits: IntakeLimits) -> Contents:
    """The Python files and notebooks of a submission; NothingToGrade beyond a limit."""
    if found.kind == "nothing":
        raise NothingToGrade(found.reason)
    if found.contents is not None:
        return found.contents
    if found.kind == "folder":
        try:
            return _read_folder(found.sources[0], limits)
        except RecursionError:
            raise NothingToGrade(
                tr("Its folders lie too deep in one another to be read.")
            ) from None
    if found.kind == "archive":
        return read_archive(found.sources[0], limits)
    contents = Contents(limits)
    for path in found.sources:
        name = module_name(path.name) if found.kind == "modules" else path.name
        _take_file(contents, name, path)
    return contents


def _read_folder(folder: Path, limits: IntakeLimits) -> Contents:
    contents = Contents(limits)

    def unreadable(problem: OSError) -> None:
        name = Path(problem.filename).name
        contents.notes.append(note("unreadable_folder", folder=name, problem=problem.strerror))

    for parent, folders, files in os.walk(folder, onerror=unreadable, followlinks=False):
        folders.sort()
        inside = Path(parent).relative_to(folder)
        for name in list(folders):
            link = (Path(parent) / name).is_symlink()
            if link and not is_skipped(name):
                contents.notes.append(note("link", file=inside / name))
            if link or is_skipped(name):
                folders.remove(name)
        for name in sorted(files):
            contents.count_entry()
            if is_skipped(name):
                continue
            note_unread(contents, str(inside / name))
            if is_wanted(name):
                _take_file(contents, (inside / name).as_posix(), Path(parent) / name)
    return contents


def _take_file(contents: Contents, name: str, path: Path) -> None:
    """Read one file of a folder; what is not a plain file is left out with a note."""
    try:
        # Non-blocking, so that a FIFO cannot hang the grader; links are refused by the kernel.
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as problem:
        unreadable = note("unreadable_file", file=name, problem=problem.strerror)
        contents.notes.append(note("link", file=name) if path.is_symlink() else unreadable)
        return
    with os.fdopen(descriptor, "rb") as file:
        if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            contents.take(name, file.read)
        else:
            contents.notes.append(note("no_plain_file", file=name))


def _choose_root(
    files: dict[str, bytes], course: Course, notes: list[Note]
) -> PurePosixPath | None:
    """The folder whose modules are graded: the shallowest; among equals `assignment`, then the one
    with most student modules, then the first by name. None when there is no module."""
    count: dict[PurePosixPath, int] = {}
    for name in files:
        path = PurePosixPath(name)
        if path.name in course.module_files and len(path.parent.parts) <= MAX_DEPTH:
            count[path.parent] = count.get(path.parent, 0) + 1
    if not count:
        return None

    def preference(root: PurePosixPath) -> tuple:
        return len(root.parts), root.name != PACKAGE, -count[root], str(root)

    chosen, *others = sorted(count, key=preference)
    notes += [note("modules_further_down", other=other, chosen=chosen) for other in others]
    return chosen


def _modules_of(
    root: PurePosixPath, files: dict[str, bytes], course: Course, notes: list[Note]
) -> dict[str, bytes]:
    """Student and helper modules below `root`, by their path in the package."""
    taken, unusable = {}, []
    for name, content in files.items():
        path = PurePosixPath(name)
        if path.suffix != ".py" or not path.is_relative_to(root):
            continue
        path = path.relative_to(root)
        if _is_helper(path, course):
            taken[path.as_posix()] = content
        elif not all(part.isidentifier() for part in (*path.parts[:-1], path.stem)):
            unusable.append(path.as_posix())
    if unusable:
        notes.append(note("no_importable_name", files=_first_few(unusable)))
    if any(name.endswith(".ipynb") for name in files):
        notes.append(note("modules_before_notebook"))
    return taken


def _is_helper(path: PurePosixPath, course: Course) -> bool:
    """Whether a Python file is the student's own: no test, no given file, importable by name."""
    if len(path.parts) == 1 and path.name in course.given_files:
        return False
    if _TEST_FILE.fullmatch(path.name) or _NOT_HELPERS.intersection(path.parts[:-1]):
        return False
    if len(path.parts) > MAX_FOLDERS:
        return False
    # A package `transformer/` would hide the given transformer.py from the import system.
    if f"{path.parts[0]}.py" in course.given_files:
        return False
    return all(part.isidentifier() for part in (*path.parts[:-1], path.stem))


def _notebook_of(
    files: dict[str, bytes], course: Course, notes: list[Note], near: list[Note]
) -> dict[str, bytes]:
    """The notebook's cells and the helper modules beside it; `near` is told where there is none."""
    notebooks = [PurePosixPath(name) for name in files if name.endswith(".ipynb")]
    notebooks = [path for path in notebooks if len(path.parent.parts) <= MAX_DEPTH]
    if not notebooks:
        holds_none = tr(
            "It holds none of {files} and no notebook, at most {depth} levels down.",
            files=tr(", ").join(sorted(course.module_files)),
            depth=MAX_DEPTH,
        )
        raise NothingToGrade(_told(holds_none, near, notes[:3]))

    def preference(path: PurePosixPath) -> tuple:
        content = files[str(path)]
        defined = sum(f"def {name}(".encode() in content for name in course.functions)
        return -defined, len(path.parts), str(path)

    chosen, *others = sorted(notebooks, key=preference)
    parts = [path for path in notebooks if path.parent == chosen.parent and _part_of(path)]
    several = len(parts) > 1 and chosen in parts
    others = [other for other in others if not (several and other in parts)]
    notes += [
        note("parts_before_notebook", other=other)
        if several
        else note("another_notebook", other=other, chosen=chosen)
        for other in others
    ]
    if several:
        cells = _cells_of_parts(sorted(parts, key=_part_of), files, notes)
    else:
        cells = cells_file(code_cells(files[str(chosen)]))
    beside = {name: content for name, content in files.items() if name.endswith(".py")}
    taken = _modules_of(chosen.parent, beside, course, notes)
    return taken | {CELLS_FILE: cells}


def _part_of(notebook: PurePosixPath) -> int:
    """The part whose notebook this is, 0 for another notebook."""
    match = PART_NOTEBOOK.fullmatch(notebook.name)
    return int(match[1]) if match else 0


def _cells_of_parts(
    notebooks: list[PurePosixPath], files: dict[str, bytes], notes: list[Note]
) -> bytes:
    """All parts' cells; a broken notebook costs its own part only, unless all are."""
    cells: dict[str, list[str]] = {}
    problems: list[Note] = []
    for path in notebooks:
        try:
            cells[path.stem] = code_cells(files[str(path)])
        except NothingToGrade as problem:
            problems.append(note("unreadable_notebook", file=path.name, problem=problem))
    if not cells:
        raise NothingToGrade(" ".join(map(in_words, problems)))
    notes += problems
    functions = {f"part{part.number}": list(part.functions) for part in PARTS}
    return part_cells_file(cells, functions)


def _lay_out(
    destination: Path, taken: dict[str, bytes], from_stubs: tuple[str, ...], course: Course
) -> None:
    """Write the package: the submission's files, then the trusted ones over them."""
    package = destination / PACKAGE
    _make_folder(destination)
    _make_folder(package)
    trusted = {name: _trusted(course, name) for name in (*course.given_files, *from_stubs)}
    trusted.setdefault("__init__.py", b"")
    for name, content in (taken | trusted).items():
        path = package / name
        for folder in reversed(path.relative_to(package).parents[:-1]):
            _make_folder(package / folder)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o644)
        with os.fdopen(descriptor, "wb") as file:
            os.fchmod(file.fileno(), 0o644)
            file.write(content)


def _make_folder(path: Path) -> None:
    path.mkdir(exist_ok=True)
    path.chmod(0o755)  # whatever the umask: the sandbox's user must be able to read it


def _trusted(course: Course, name: str) -> bytes:
    if name in course.generated:
        return course.generated[name].encode()
    try:
        return (course.package / name).read_bytes()
    except OSError as problem:
        raise GraderError(
            f"The grader's own copy of {name} in {course.package} is missing or unreadable "
            f"({problem.strerror}). Install the project again."
        ) from None


def _hash(taken: dict[str, bytes]) -> str:
    """sha256 over the sorted (relative name, bytes), each preceded by its length."""
    digest = hashlib.sha256()
    for name in sorted(taken):
        for part in (name.encode("utf-8", "surrogatepass"), taken[name]):
            digest.update(len(part).to_bytes(8, "big") + part)
    return digest.hexdigest()
