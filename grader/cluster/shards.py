"""A class in parts that machines grade without knowing of each other, for job arrays.

Which part a submission falls to depends on the student's id alone, so every machine decides the
same and a late submission moves nobody else. Every shard writes to a folder of its own
(`results-3-of-20`): no lock has to work across machines. A manifest in it says what the whole class
was and which records belong there, so that `grader merge` can tell what is missing.
"""

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from grader.base.errors import GraderError
from grader.intake.submissions import Found
from grader.results.record import read_bounded, write_atomically

MANIFEST = ".grader.shard"  # not *.json: those are records
MAX_SHARDS = 10_000


@dataclass(frozen=True)
class Shard:
    """Part `number` of `count`, from 1."""

    number: int
    count: int

    @classmethod
    def parse(cls, text: str) -> "Shard":
        """`3/20`; GraderError for anything else."""
        match = re.fullmatch(r"([0-9]{1,6})/([0-9]{1,6})", text.strip())
        number, count = (int(match[1]), int(match[2])) if match else (0, 0)
        if not 1 <= number <= count <= MAX_SHARDS:
            raise GraderError(
                f"{text!r} is not a shard: expected NUMBER/COUNT with NUMBER from 1 to COUNT and "
                f"COUNT at most {MAX_SHARDS}, such as 3/20."
            )
        return cls(number, count)

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"

    def folder(self, out: Path) -> Path:
        """Where this shard's results go: `results-3-of-20` beside `results`."""
        return out.with_name(f"{out.name}-{self.number}-of-{self.count}")

    def all_folders(self, out: Path) -> list[Path]:
        """The folders of all shards."""
        return [Shard(n, self.count).folder(out) for n in range(1, self.count + 1)]

    def holds(self, student: str) -> bool:
        """Whether `student` falls to this shard."""
        digest = hashlib.sha256(student.encode("utf-8", "surrogatepass")).digest()
        return int.from_bytes(digest[:8], "big") % self.count == self.number - 1


class Manifest(BaseModel):
    """What a shard's folder holds when it is finished."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    number: int
    count: int
    suite_hash: str
    suite_version: str
    class_size: int
    class_digest: str
    students: tuple[str, ...]

    @property
    def shard(self) -> Shard:
        """Which shard it is."""
        return Shard(self.number, self.count)


def manifest_of(
    shard: Shard, whole_class: Iterable[Found], suite_hash: str, suite_version: str
) -> Manifest:
    """The manifest of `shard` in a class."""
    students = sorted(submission.student for submission in whole_class)
    names = "\n".join(students).encode("utf-8", "surrogatepass")
    return Manifest(
        number=shard.number,
        count=shard.count,
        suite_hash=suite_hash,
        suite_version=suite_version,
        class_size=len(students),
        class_digest=hashlib.sha256(names).hexdigest()[:16],
        students=tuple(student for student in students if shard.holds(student)),
    )


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write it before the first record: an unfinished shard is then known as one."""
    write_atomically(folder / MANIFEST, manifest.model_dump_json(indent=1).encode() + b"\n")


def has_manifest(folder: Path) -> bool:
    """Whether the folder is a shard's."""
    return (folder / MANIFEST).exists()


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a shard's folder; GraderError when there is none that can be read."""
    try:
        content = read_bounded(folder / MANIFEST)
    except FileNotFoundError:
        raise GraderError(
            f"{folder} is not a shard's folder: it holds no {MANIFEST}. `grader run --shard` makes "
            "such folders."
        ) from None
    except OSError as problem:
        raise GraderError(f"{folder / MANIFEST} cannot be read ({problem.strerror}).") from None
    try:
        return Manifest.model_validate_json(content or b"")
    except (ValidationError, RecursionError):
        raise GraderError(
            f"{folder / MANIFEST} is damaged; run this shard's command again, which keeps its "
            "results."
        ) from None
