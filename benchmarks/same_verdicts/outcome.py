"""What the comparison of a section prints."""

from collections import Counter, defaultdict
from dataclasses import dataclass

from rich.console import Console

from .records import Difference, excerpts, is_named


@dataclass(frozen=True)
class Outcome:
    """How the records of a section differ.

    Attributes:
        one: fields on one side only, with that side and the number of records.
        tries: of students graded again alone, the try that was equal; None where none was.
        allowed: names of fields that may differ.
    """

    title: str
    n_records: int
    found: list[Difference]
    one: dict[str, tuple[str, int]]
    tries: dict[str, int | None]
    allowed: tuple[str, ...]

    @property
    def counted(self) -> list[Difference]:
        """The differences that nobody allowed."""
        return [d for d in self.found if not is_named(d.field, self.allowed)]


def print_outcome(outcome: Outcome, examples: int, console: Console) -> None:
    """A line for the section, then its differences by field with some values of each."""
    students = {d.student for d in outcome.counted}
    says = f"{len(students)} of {outcome.n_records} DIFFER" if students else "equal"
    console.print(f"{outcome.title}: {outcome.n_records} submissions: {says}", style="bold")
    for field in dict.fromkeys(d.field for d in outcome.counted):
        if field in outcome.one:
            side, n = outcome.one[field]
            console.print(f"  only in {side}: {field} (in {n} records)")
        else:
            _print_field(field, outcome.counted, examples, console)
    meant = {(d.field, d.student) for d in outcome.found if is_named(d.field, outcome.allowed)}
    for field, n in sorted(Counter(field for field, _ in meant).items()):
        console.print(f"  allowed: {field} in {n} records", style="dim")
    for student, attempt in outcome.tries.items():
        if attempt is None:
            console.print(f"  again: {student!a} differs when graded alone as well")
        else:
            console.print(f"  raced: {student!a} differed, and was equal alone (try {attempt})")


def _print_field(field: str, found: list[Difference], examples: int, console: Console) -> None:
    """The same change in many places is told once."""
    of_field = [d for d in found if d.field == field]
    students = {d.student for d in of_field}
    console.print(f"  {field}: {len(of_field)} differences in {len(students)} records")
    changes = defaultdict(list)
    for d in of_field:
        changes[excerpts(d.old, d.new)].append(d)
    for (before, after), same in list(changes.items())[:examples]:
        console.print(f"    OLD {before}\n    NEW {after}\n      {_where(same)}")
    if len(changes) > examples:
        console.print(f"    and {len(changes) - examples} other changes (--examples shows more)")


def _where(same: list[Difference]) -> str:
    first = f"{same[0].student!a} {same[0].where}".rstrip()
    return f"in {first}" + (f" and {len(same) - 1} more" if len(same) > 1 else "")
