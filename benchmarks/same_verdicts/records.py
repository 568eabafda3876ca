"""Records as JSON, of whatever schema: their fields, and where two graders disagree."""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# Times, versions and hashes of the suite: no verdict.
IGNORED = frozenset(
    {"seconds", "graded_at", "suite_hash", "suite_version", "schema_version", "grader_version"}
)
# Of lists with one entry a name: these name the entries.
KEYS = ("id", "part")
# How many calls fit into its time, and how often an address repeats, is the machine's business.
POINTS_RACE = frozenset({"just_in_time", "cached_by_id"})
ABSENT = object()

Records = dict[str, dict[str, Any]]
Leaf = tuple[str, str]  # field as "tests[].points", and which of them


@dataclass(frozen=True)
class Difference:
    """One value of one record; `old` or `new` may be ABSENT."""

    student: str
    field: str
    where: str
    old: Any
    new: Any

    @property
    def change(self) -> tuple[str, str, Any, Any]:
        """What differs, whoever it is of."""
        return self.field, self.where, self.old, self.new


def read_records(folder: Path, places: dict[str, str]) -> Records:
    """Every record of a results folder by student; `places` are paths and the words for them."""
    found = {}
    for path in sorted(folder.glob("*.json")):
        text = path.read_text(encoding="utf-8")
        for place, word in places.items():
            text = text.replace(place, word)
        found[path.stem] = json.loads(text)
    return found


def fields(record: Any, field: str = "", where: str = "") -> Iterator[tuple[Leaf, Any]]:
    """Every value of a record by its field, without those that may differ."""
    key = _key_of(record)
    if isinstance(record, dict) and record:
        for name, value in record.items():
            if name not in IGNORED:
                yield from fields(value, f"{field}.{name}" if field else name, where)
    elif key:
        yield (f"{field} order", where), [entry[key] for entry in record]
        for entry in record:
            yield from fields(entry, f"{field}[]", f"{where} {entry[key]}".strip())
    else:
        yield (field, where), record


def state_and_points(record: dict[str, Any]) -> Iterator[tuple[Leaf, Any]]:
    """What must agree of a hostile submission."""
    yield ("state", ""), record.get("state")
    if record.get("source") not in POINTS_RACE:
        yield ("total", ""), record.get("total")
        for test in record.get("tests", ()):
            yield ("tests[].points", test["id"]), test["points"]


def differences(old: Records, new: Records, values=fields) -> list[Difference]:
    """Where the records disagree. A record on one side only is a difference of its "record"."""
    found = []
    for student in sorted(old.keys() | new.keys()):
        if student not in old or student not in new:
            sides = ("there" if student in side else ABSENT for side in (old, new))
            found.append(Difference(student, "record", "", *sides))
            continue
        ours, theirs = dict(values(old[student])), dict(values(new[student]))
        for leaf in {**ours, **theirs}:
            pair = ours.get(leaf, ABSENT), theirs.get(leaf, ABSENT)
            if pair[0] != pair[1]:
                found.append(Difference(student, *leaf, *pair))
    return found


def one_sided(old: Records, new: Records, values=fields) -> dict[str, tuple[str, int]]:
    """Fields that occur on one side only: which ("OLD", "NEW"), and in how many records."""
    counts = {}
    for side, records in (("OLD", old), ("NEW", new)):
        counts[side] = defaultdict(int)
        for record in records.values():
            for field in {field for (field, _), _ in values(record)}:
                counts[side][field] += 1
    if not old or not new:
        return {}
    return {
        field: (side, n)
        for side, other in (("OLD", "NEW"), ("NEW", "OLD"))
        for field, n in counts[side].items()
        if field not in counts[other]
    }


def is_named(field: str, names: Iterable[str]) -> bool:
    """Whether a field is one of `names`, or lies in one: "notes" names "notes[].kind"."""
    within = {part.removesuffix("[]") for part in field.split(".")}
    return any(name == field or name in within for name in names)


def excerpts(old: Any, new: Any, width: int = 90) -> tuple[str, str]:
    """Two values on a line each, from shortly before the place where they part."""
    texts = [
        "absent" if value is ABSENT else json.dumps(value, sort_keys=True) for value in (old, new)
    ]
    pairs = zip(*texts, strict=False)
    same = next((n for n, (a, b) in enumerate(pairs) if a != b), min(map(len, texts)))
    start = max(0, same - 30) if max(map(len, texts)) > width else 0
    return tuple(_cut(text, start, width) for text in texts)


def _cut(text: str, start: int, width: int) -> str:
    before, after = "…" * (start > 0), "…" * (len(text) > start + width)
    return before + text[start : start + width] + after


def _key_of(value: Any) -> str | None:
    """The name that tells the entries of a list apart, where all are named."""
    if not isinstance(value, list) or not all(isinstance(entry, dict) for entry in value):
        return None
    for key in KEYS:
        names = [entry.get(key) for entry in value]
        if names and None not in names and len(set(map(str, names))) == len(names):
            return key
    return None
