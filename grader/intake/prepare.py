"""Prepares a submission for the sandbox: takes what counts, as plain bytes.

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
from collections import Counter
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from assignment.harness.parts import PARTS
from grader.base.errors import GraderError, NothingToGrade
from grader.base.memory import READING_MIB, limited_memory
from grader.base.notes import Note, Reason, note
from grader.intake.archives import read_archive
from grader.intake.contents import (
    MIB,
    Contents,
    IntakeLimits,
    is_skipped,
    is_wanted,
    note_unread,
)
from grader.intake.course import PACKAGE, Course
from grader.intake.ids import is_from_lms, module_name, student_id
from grader.intake.near_names import accept_near_misses, first_few, near_misses, told
from grader.intake.notebook import (
    CELLS_FILE,
    PART_NOTEBOOK,
    cells_file,
    code_cells,
    part_cells_file,
)
from grader.intake.submissions import MAX_DEPTH, Found

# With the given files and the stubs, less than a sandbox carries.
MAX_MODULES = 150
MAX_TAKEN_BYTES = 16 * MIB
MAX_FOLDERS = 20  # above a helper module
# Folders and files of the homework itself that tend to be handed in along with the work.
_NOT_HELPERS = frozenset({"harness", "golden", "tests", "test", PACKAGE})
_TEST_FILE = re.compile(r"(test_.*|.*_test|conftest|setup)\.py")


@dataclass(frozen=True)
class Prepared:
    """What was taken of a submission, laid out for the sandbox."""

    folder: Path
    submission_hash: str
    taken: tuple[str, ...]
    from_stubs: tuple[str, ...]
    notes: tuple[Note, ...] = ()


def prepare(
    found: Found,
    destination: Path,
    course: Course,
    limits: IntakeLimits | None = None,
    accept_names: bool = False,
) -> Prepared:
    """Lay a submission out in the new folder `destination` as a package `assignment/`.

    Args:
        accept_names: take `attention (1).py` for the missing attention.py where no other file could
            be meant.

    Raises NothingToGrade when the submission is broken, holds nothing gradable or takes too much
    memory, GraderError when the trusted package is incomplete.
    """
    try:
        with limited_memory():
            taken, notes = _taken(found, course, limits or IntakeLimits(), accept_names)
    except MemoryError:
        raise NothingToGrade(too_much_memory()) from None
    _refuse_too_much(taken)
    from_stubs = tuple(sorted(course.module_files - taken.keys()))
    _lay_out(destination, taken, from_stubs, course)
    names = tuple(sorted(taken))
    return Prepared(destination, _hash(taken), names, from_stubs, (*found.notes, *notes))


def too_much_memory() -> Reason:
    """What is said where limited_memory ended the reading of a submission."""
    return Reason(
        "Reading it takes more than {n} MiB of memory, the most that is given to one submission.",
        n=READING_MIB,
    )


def _taken(
    found: Found, course: Course, limits: IntakeLimits, accept_names: bool
) -> tuple[dict[str, bytes], list[Note]]:
    """The files that are graded, by their path in the package, and notes on the others."""
    contents = read_submission(found, limits)
    notes = list(contents.notes)
    if accept_names:
        notes += accept_near_misses(contents.files, course.module_files)
    names = [*contents.files, *contents.unread]
    _refuse_a_platforms_download(names)
    root = _choose_root(contents.files, course, notes)
    if root is None:
        near = near_misses(names, course.module_files)
        return _notebook_of(contents.files, course, notes, near), notes
    taken = _modules_of(root, contents.files, course, notes)
    return taken, notes + near_misses(names, sorted(course.module_files - taken.keys()))


def _refuse_a_platforms_download(names: list[str]) -> None:
    """NothingToGrade for a class in one archive, as a platform sends it: nobody is several."""
    parts = {part for name in names for part in PurePosixPath(name).parts if is_from_lms(part)}
    students = sorted({student_id(part) for part in parts})
    if len(students) > 1:
        raise NothingToGrade(
            Reason(
                "It is a platform's download with the work of {students}: unpack it into a folder "
                "and grade the folder.",
                students=first_few(students),
            )
        )


def _refuse_too_much(taken: dict[str, bytes]) -> None:
    """NothingToGrade when a sandbox would not carry what was taken (see grader.sandbox)."""
    if len(taken) > MAX_MODULES:
        raise NothingToGrade(
            Reason(
                "It holds {n} modules and helper modules; at most {most} are graded.",
                n=len(taken),
                most=MAX_MODULES,
            )
        )
    if sum(map(len, taken.values())) > MAX_TAKEN_BYTES:
        raise NothingToGrade(
            Reason(
                "Its code is larger than {n} MiB together, the most that is graded.",
                n=MAX_TAKEN_BYTES // MIB,
            )
        )


def reason_hash(reason: Reason) -> str:
    """Stands for the submission's hash where nothing could be taken; made of facts, no words."""
    return hashlib.sha256(b"nothing to grade: " + reason.facts().encode()).hexdigest()


def read_submission(found: Found, limits: IntakeLimits) -> Contents:
    """The Python files and notebooks of a submission; NothingToGrade beyond a limit."""
    if found.reason is not None:
        raise NothingToGrade(found.reason)
    if found.contents is not None:
        return found.contents
    if found.kind == "folder":
        try:
            return _read_folder(found.sources[0], limits)
        except RecursionError:
            raise NothingToGrade(
                Reason("Its folders lie too deep in one another to be read.")
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
    with most student modules, then the first by name. None when there is no module, or several
    places far down: where a whole path was packed, there is one."""
    count = Counter(
        path.parent for path in map(PurePosixPath, files) if path.name in course.module_files
    )
    if len(count) > 1:
        near = [root for root in count if len(root.parts) <= MAX_DEPTH]
        count = Counter({root: count[root] for root in near})
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
    notes += [
        note("empty_file", file=name)
        for name in sorted(course.module_files & taken.keys())
        if not taken[name].strip()
    ]
    if unusable:
        notes.append(note("no_importable_name", files=first_few(unusable)))
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
        holds_none = Reason(
            "It holds none of {files} and no notebook, at most {depth} levels down.",
            files=tuple(sorted(course.module_files)),
            depth=MAX_DEPTH,
        )
        raise NothingToGrade(told([holds_none, *_far_down(files, course)], near, notes[:3]))

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


def _far_down(files: dict[str, bytes], course: Course) -> list[Reason]:
    """Where modules lie too far down to choose among them, if there are any."""
    paths = map(PurePosixPath, files)
    folders = sorted({str(path.parent) for path in paths if path.name in course.module_files})
    if not folders:
        return []
    shown = tuple(f"{folder}/" for folder in first_few(folders))
    return [Reason(" There are modules further down, in {folders}.", folders=shown)]


def _part_of(notebook: PurePosixPath) -> int:
    """The part whose notebook this is, 0 for another notebook."""
    match = PART_NOTEBOOK.fullmatch(notebook.name)
    return int(match[1]) if match else 0


def _cells_of_parts(
    notebooks: list[PurePosixPath], files: dict[str, bytes], notes: list[Note]
) -> bytes:
    """All parts' cells; a broken notebook costs its own part only, unless all are."""
    cells: dict[str, list[str]] = {}
    problems: list[tuple[str, Reason]] = []
    for path in notebooks:
        try:
            cells[path.stem] = code_cells(files[str(path)])
        except NothingToGrade as problem:
            problems.append((path.name, problem.reason))
    if not cells:
        raise NothingToGrade(
            Reason.of([Reason("{file}: {problem}", file=f, problem=p) for f, p in problems], " ")
        )
    notes += [note("unreadable_notebook", file=file, problem=why) for file, why in problems]
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
