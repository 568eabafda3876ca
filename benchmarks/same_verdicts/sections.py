"""The three sections: how each is laid out, graded by a tree and kept."""

import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

from . import records
from .records import Records
from .trees import NoComparison, Tree, tail

LAY_OUT = Path(__file__).with_name("lay_out.py")
# Budgets are wall time: right code must not lose points to other programs on this machine, and
# what hangs should end in minutes.
CALM = "call_seconds = 10.0\nstart_seconds = 60.0\ntotal_seconds = 600.0\n"
# The corpus is written for a call of one second in twenty; this keeps their ratio.
BRIEF = "call_seconds = 3.0\nstart_seconds = 60.0\ntotal_seconds = 60.0\nmemory_mib = 768\n"
# Drawn by it, a hidden case of the corpus was once the public one: the harder setting.
SECRET = "6b" * 32


@dataclass(frozen=True)
class Section:
    """Homework that is graded together.

    Attributes:
        limits: the content of a file for --limits.
        values: the fields of a record that must agree.
    """

    name: str
    title: str
    limits: str
    values: Callable[[dict], Iterator] = records.fields


SECTIONS = {
    section.name: section
    for section in (
        Section("class", "sample class", CALM),
        Section("variants", "correct variants", CALM),
        Section("hostile", "hostile corpus", BRIEF, records.state_and_points),
    )
}


@dataclass(frozen=True)
class Kept:
    """What a folder of kept results was made by; `names` are the graded ones by section."""

    commit: str
    names: dict[str, list[str]] = field(default_factory=dict)

    @classmethod
    def read(cls, folder: Path) -> "Kept":
        """NoComparison where the folder holds no kept results."""
        try:
            return cls(**json.loads((folder / "kept.json").read_text()))
        except (OSError, ValueError, TypeError) as problem:
            raise NoComparison(
                f"{folder} holds no results kept with --keep ({problem}); make them first."
            ) from None

    @classmethod
    def add(cls, folder: Path, commit: str, section: str, names: list[str]) -> None:
        """Note that a section is graded, so that it counts though a later one fails."""
        there = (folder / "kept.json").exists()
        kept = cls.read(folder) if there else cls(commit)
        kept = cls(commit, kept.names | {section: names})
        (folder / "kept.json").write_text(json.dumps(asdict(kept), indent=1) + "\n")


@dataclass(frozen=True)
class Workplace:
    """A folder in which homework, secret and limits lie, and in which results are written."""

    folder: Path

    def start(self, secret: Path | None, limits: Path | None) -> None:
        """Lay down secret and limits, to be the same for all that is graded from here."""
        for name in ("homework", "limits"):
            (self.folder / name).mkdir(parents=True)
        self.secret.touch(mode=0o600)
        self.secret.write_text(secret.read_text() if secret else SECRET)
        for section in SECTIONS.values():
            content = limits.read_text() if limits else section.limits
            self.limits(section).write_text(content)

    @property
    def secret(self) -> Path:
        return self.folder / "secret.hex"

    def limits(self, section: Section) -> Path:
        return self.folder / "limits" / f"{section.name}.toml"

    def homework(self, section: Section) -> Path:
        return self.folder / "homework" / section.name

    def tree(self, side: str) -> Path:
        """Where a side's files go: see the package's docstring for the name."""
        return self.folder / "site-packages" / side

    def results(self, side: str, section: Section) -> Path:
        return self.folder / "results" / side / section.name

    def log(self, side: str, section: str = "") -> Path:
        folder = self.folder / "logs"
        folder.mkdir(exist_ok=True)
        return folder / f"{side}{section}.txt"

    def lay_out(self, section: Section, tree: Tree) -> None:
        """Make a section's homework by the tree."""
        folder, log = self.homework(section), self.log("homework", section.name)
        if section.name != "class":
            command = [str(LAY_OUT), section.name, str(folder), str(self.results("old", section))]
            tree.check(command, log)
        elif (tree.folder / "examples" / "__main__.py").exists():
            tree.check(["-m", "examples", str(folder)], log)
        else:
            shutil.copytree(tree.folder / "examples" / "submissions", folder)

    def names(self, section: Section, pattern: str) -> list[str]:
        """The submissions of a section whose file name fits."""
        names = sorted(path.name for path in self.homework(section).iterdir())
        return [name for name in names if fnmatchcase(name, pattern)]


@dataclass(frozen=True)
class Grading:
    """How to grade: from which workplace, and with which options of `grader run`."""

    place: Workplace
    options: tuple[str, ...] = ()

    def grade(
        self,
        tree: Tree,
        section: Section,
        names: list[str],
        out: Path,
        log: Path,
        told: Callable[[int], None] = lambda done: None,
    ) -> Records:
        """The records of these submissions by the tree; NoComparison where its grader fails.

        `told` is called with the number of records that are there.
        """
        homework = self.place.homework(section)
        whole = names == self.place.names(section, "*")
        paths = [homework] if whole else [homework / name for name in names]
        command = ["-m", "grader", "run", *map(str, paths), "--out", str(out), "--quiet"]
        command += ["--no-real-model", "--secret-file", str(self.place.secret)]
        command += ["--limits", str(self.place.limits(section)), *self.options]
        code = tree.run(command, log, lambda: told(len(list(out.glob("*.json")))))
        if code not in (0, 1):  # 1: some records have the state "error", which is compared
            raise NoComparison(
                f"{tree.name}: grading the {section.title} ended with {code}.{tail(log)}"
            )
        return records.read_records(out, {str(out): "<results>", str(tree.folder): "<tree>"})


def of_sources(graded: Records, names: list[str]) -> Records:
    """The records of the submissions of these file names."""
    wanted = {_storable(name) for name in names}
    return {student: one for student, one in graded.items() if one["source"] in wanted}


def sources_of(graded: Records, students: set[str], names: list[str]) -> list[str]:
    """The file names, among `names`, of these students' submissions."""
    sources = {graded[student]["source"] for student in students if student in graded}
    return [name for name in names if _storable(name) in sources]


def _storable(name: str) -> str:
    """A file name as a record holds it."""
    return name.encode("utf-8", "replace").decode()
