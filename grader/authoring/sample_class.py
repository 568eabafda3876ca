"""The sample class: its correct submissions are files, the wrong ones are made of them."""

from __future__ import annotations

import shutil
import tomllib
import zipfile
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from assignment.harness.parts import STUDENT_MODULES
from grader.authoring.in_words import questions
from grader.base.errors import GraderError
from grader.base.places import ASSIGNMENT, EXAMPLES
from grader.known_bugs.catalogue import bug_named
from grader.known_bugs.patch import (
    WHOLE_MODULE,
    Change,
    Patch,
    PatchProblem,
    apply_change,
    patched_modules,
)

KEPT = EXAMPLES / "submissions"
# Who answers the questions in words, too, and how many of them.
ANSWERED, N_ANSWERED = "correct-einsum", 4

FROM_STUBS = "stubs"


class Edit(Change):
    """A change of one file, anywhere in it unless told."""

    file: str
    where: str = Field(default=WHOLE_MODULE, alias="in")


class Recipe(BaseModel):
    """What a wrong submission is; the fields are those of examples/class.toml."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    base: str = Field(alias="from")
    bug: str | None = None
    edit: tuple[Edit, ...] = ()
    take: dict[str, tuple[str, ...]] = {}

    @model_validator(mode="after")
    def _one_thing_is_wrong(self) -> Recipe:
        if self.base == FROM_STUBS and (self.bug or self.edit):
            raise ValueError("stubs have no code for a bug or an edit: give `take`")
        if self.base != FROM_STUBS and self.take:
            raise ValueError("`take` is for stubs: a whole submission gets a bug or edits")
        if sum(map(bool, (self.bug, self.edit, self.take))) != 1:
            raise ValueError("give one of `bug`, `edit` and `take`")
        return self


def wrong_submissions(file: Path = EXAMPLES / "class.toml") -> dict[str, Recipe]:
    """What each wrong submission is made of, by name.

    Raises:
        GraderError: the file is not there, no TOML, or says something impossible of a submission.
    """
    try:
        entries = tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise GraderError(f"{file} is not there: work in a clone of the project.") from None
    except tomllib.TOMLDecodeError as error:
        raise GraderError(f"{file} is no TOML: {error}") from None
    return {name: _recipe(name, entry) for name, entry in entries.items()}


def _recipe(name: str, entry: dict) -> Recipe:
    try:
        return Recipe.model_validate(entry)
    except ValidationError as error:
        found = error.errors()[0]
        place = "".join(f" {part}:" for part in found["loc"])
        raise GraderError(f"{name}:{place} {found['msg'].removeprefix('Value error, ')}") from None


def write_class(folder: Path) -> Path:
    """Write the whole sample class, correct and wrong, and give the folder back.

    Raises:
        GraderError: there is something in the folder, or a submission cannot be made.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise GraderError(f"{folder} is not an empty folder: name one that is, or a new one.")
    folder.mkdir(parents=True, exist_ok=True)
    for path in _kept():
        if path.is_dir():
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(path, folder / path.name, ignore=ignored)
        else:
            shutil.copyfile(path, folder / path.name)
    (folder / ANSWERED / "answers.md").write_text(_answers(), encoding="utf-8")
    for name, recipe in wrong_submissions().items():
        make_submission(name, recipe, folder)
    return folder


def _answers() -> str:
    """The questions in words, of which four are answered, as a student hands them in."""
    answered = enumerate(questions()[:N_ANSWERED], start=1)
    return "\n".join(f"## {number}\n\n{question.answer}\n" for number, question in answered)


def make_submission(name: str, recipe: Recipe, folder: Path) -> Path:
    """Write one wrong submission as a folder of that name in `folder`.

    Raises:
        GraderError: there is no such submission, file or known bug, or a text to be changed is not
            there exactly once.
    """
    files = _files_of(name, recipe)
    submission = folder / name
    submission.mkdir(parents=True)
    _write(files, submission)
    if recipe.bug:
        _put_in(_known_bug(name, recipe.bug), submission)
    return submission


def _write(files: dict[str, str], folder: Path) -> None:
    for file, text in files.items():
        (folder / file).write_text(text, encoding="utf-8")


def _put_in(bug: Patch, submission: Path) -> None:
    try:
        changed = patched_modules(bug, submission)
    except PatchProblem as problem:
        raise GraderError(str(problem)) from None
    _write({f"{module}.py": text for module, text in changed.items()}, submission)


def _files_of(name: str, recipe: Recipe) -> dict[str, str]:
    """The texts of a submission by file name, before a known bug is put in."""
    files = _stubs() if recipe.base == FROM_STUBS else _correct(name, recipe.base)
    for edit in recipe.edit:
        files[edit.file] = _edited(name, files, edit)
    for style, wanted in recipe.take.items():
        own = _correct(name, style)
        files |= {file: _one_of(own, file, f"{name}: {style}") for file in wanted}
    return files


def _edited(name: str, files: dict[str, str], edit: Edit) -> str:
    text = _one_of(files, edit.file, name)
    try:
        return apply_change(text, edit)
    except PatchProblem as problem:
        raise GraderError(f"{name}: {edit.file}: {problem}") from None


def _known_bug(name: str, bug: str) -> Patch:
    try:
        return bug_named(bug)
    except KeyError:
        raise GraderError(
            f"{name}: there is no known bug {bug!r}; `python -m grader.known_bugs` lists them."
        ) from None


def _correct(name: str, style: str) -> dict[str, str]:
    """The modules of a correct submission by file name, from its folder or archive."""
    styles = {path.stem: path for path in _kept()}
    if style not in styles or styles[style].suffix == ".ipynb":
        raise GraderError(f"{name}: there is no correct submission {style!r} in {KEPT}.")
    if styles[style].is_dir():
        files = sorted(styles[style].glob("*.py"))
        return {file.name: file.read_text(encoding="utf-8") for file in files}
    with zipfile.ZipFile(styles[style]) as archive:
        members = [member for member in archive.namelist() if member.endswith(".py")]
        return {Path(member).name: archive.read(member).decode() for member in members}


def _kept() -> list[Path]:
    if not KEPT.is_dir():
        raise GraderError(f"{KEPT} is not there: work in a clone of the project.")
    return sorted(path for path in KEPT.iterdir() if not path.name.startswith("."))


def _stubs() -> dict[str, str]:
    names = [f"{module}.py" for module in STUDENT_MODULES]
    return {name: (ASSIGNMENT / name).read_text(encoding="utf-8") for name in names}


def _one_of(files: dict[str, str], name: str, where: str) -> str:
    if name not in files:
        raise GraderError(f"{where} has no file {name!r}; its files are {', '.join(files)}.")
    return files[name]
