"""Puts the results of several folders into one: all shards of a run, or what people graded apart.

Shards are one run, so everything is checked before the first record is written. Of folders that
two people filled, whatever agrees is brought together with what they decided (results.marks); who
has different results is told, and nothing is written for them. Each record is written whole or not
at all, and one that is there already is left alone: a merge that was stopped is simply run again.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from grader.base.errors import GraderError
from grader.base.notes import in_words
from grader.cluster.shards import Manifest, Shard, has_manifest, read_manifest
from grader.grades.roster import FILE as ROSTER
from grader.results.changes import mixtures
from grader.results.disk import disk_as_sentence
from grader.results.history import replace_record, without_times
from grader.results.marks import merge_marks
from grader.results.record import SubmissionResult, read_record, write_atomically
from grader.results.summary import Summary, summarise
from grader.running.locks import results_lock

_SHOWN = 8


@dataclass(frozen=True)
class Merged:
    """What a merge did: all summaries, and how many records were new, replaced, there already.

    `told` are sentences on what only a person can decide.
    """

    summaries: list[Summary]
    new: int
    replaced: int
    same: int
    told: tuple[str, ...] = ()


def merge(folders: Iterable[Path], into: Path) -> Merged:
    """Copy the records of all `folders` into `into`.

    Raises GraderError, before anything is written, when a shard is missing or unfinished, when
    shards come from different classes, suites or secrets, when a student has two different
    records in them, or when `into` holds a newer record than the shards.
    """
    distinct = _distinct(folders)
    if not distinct:
        raise GraderError("There is nothing to merge. Name the folders of the results.")
    if not any(has_manifest(folder) for folder in distinct):
        return _merge_apart(distinct, into)
    shards = [(folder, read_manifest(folder)) for folder in distinct]
    if into.resolve() in {folder.resolve() for folder, _ in shards}:
        raise GraderError(f"{into} is one of the shards. Name another folder with --into.")
    _require_one_run(shards)
    _require_all(shards)
    places = _places(shards)
    with disk_as_sentence(into), results_lock(into):
        _require_agreement(places, into)
        merged = _write(places, into)
        return replace(merged, told=tuple(merge_marks([folder for folder, _ in shards], into)[1]))


def _merge_apart(folders: list[Path], into: Path) -> Merged:
    """Folders that were filled by runs of their own, `into` among them or not."""
    places: dict[str, list[Path]] = defaultdict(list)
    for folder in folders:
        names = [path.stem for path in sorted(folder.glob("*.json"))]
        if not names:
            raise GraderError(f"There are no results in {folder}/. Name folders of results.")
        for name in names:
            places[name].append(folder)
    with disk_as_sentence(into), results_lock(into):
        there = {path.stem for path in into.glob("*.json")}
        for name in there & places.keys():
            places[name] = [*dict.fromkeys((*places[name], into))]
        agreed, told = {}, []
        for name, where in sorted(places.items()):
            results = [_read(folder, name) for folder in where]
            if all(_content(result) == _content(results[0]) for result in results[1:]):
                agreed[name] = where
            else:
                told.append(_conflict(name, where, results))
        merged = _write(agreed, into)
        others = [folder for folder in folders if folder.resolve() != into.resolve()]
        told += merge_marks(others, into)[1]
        told += _merge_rosters(others, into)
        return replace(merged, told=(*told, *mixtures(into)))


def _merge_rosters(folders: list[Path], into: Path) -> list[str]:
    """Take the one roster that there is; where several differ, a sentence."""
    paths = [place / ROSTER for place in (into, *folders) if (place / ROSTER).exists()]
    contents = {path.read_bytes(): path for path in paths}
    if len(contents) > 1:
        names = " and ".join(map(str, contents.values()))
        return [f"The rosters differ: {names}. Make one of them, and put it into {into}/."]
    for content in contents:
        if not (into / ROSTER).exists():
            write_atomically(into / ROSTER, content)
    return []


def _conflict(student: str, folders: list[Path], results: list[SubmissionResult]) -> str:
    """`ana has 12 of 221 in ta1 and 15 of 221 in ta2`, and whether the work is the same."""
    pairs = zip(results, folders, strict=True)
    points = [f"{result.total:g} of {result.max_total:g} in {folder}" for result, folder in pairs]
    same = len({result.submission_hash for result in results}) == 1
    why = "the same work, graded apart" if same else "of different work"
    return (
        f"{student} has {' and '.join(points)} ({why}). Nothing was written: remove the one that "
        "does not count, or grade again, and merge again."
    )


def _distinct(folders: Iterable[Path]) -> list[Path]:
    by_place: dict[Path, Path] = {}
    for folder in folders:
        if not folder.is_dir():
            raise GraderError(f"{folder} is not a folder. Name folders of results.")
        by_place.setdefault(folder.resolve(), folder)
    return list(by_place.values())


def _require_one_run(shards: list[tuple[Path, Manifest]]) -> None:
    """One number of shards, one class, one suite and secret."""
    _require_equal(
        shards,
        lambda m: f"{m.count} shards",
        "were cut differently",
        "Merge the folders of one array only",
    )
    _require_equal(
        shards,
        lambda m: f"suite {m.suite_hash} (version {m.suite_version})",
        "were graded by different suites",
        "The secret file, the homework's version or the real model differ between the machines: "
        "make them equal and run the shards again",
    )
    _require_equal(
        shards,
        lambda m: f"{m.class_size} submissions (list {m.class_digest})",
        "saw different classes",
        "Submissions came or went meanwhile: run the shards again, which grades only what is new",
    )


def _require_equal(
    shards: list[tuple[Path, Manifest]], what: Callable[[Manifest], str], problem: str, remedy: str
) -> None:
    groups = defaultdict(list)
    for folder, manifest in shards:
        groups[what(manifest)].append(folder.name)
    if len(groups) > 1:
        listed = "; ".join(f"{value}: {_few(names)}" for value, names in groups.items())
        raise GraderError(f"The shards {problem}. {listed}. {remedy}.")


def _require_all(shards: list[tuple[Path, Manifest]]) -> None:
    count = shards[0][1].count
    there = {manifest.number for _, manifest in shards}
    if missing := [str(Shard(n, count)) for n in range(1, count + 1) if n not in there]:
        noun, verb = ("Shard", "is") if len(missing) == 1 else ("Shards", "are")
        raise GraderError(
            f"{noun} {_few(missing)} {verb} missing. Run it with `grader run … --shard "
            f"{missing[0]}`, or name its folder too."
        )


def _places(shards: list[tuple[Path, Manifest]]) -> dict[str, list[Path]]:
    """Student → the folders with the student's record; GraderError for a shard without one."""
    places = defaultdict(list)
    for folder, manifest in shards:
        missing = []
        for student in manifest.students:
            result, _ = read_record(folder, student)
            if result is None or result.suite_hash != manifest.suite_hash:
                missing.append(student)
            else:
                places[student].append(folder)
        if missing:
            raise GraderError(
                f"Shard {manifest.shard} in {folder} is not finished: {len(missing)} of its "
                f"{len(manifest.students)} results are not there ({_few(missing)}). Run its "
                "command again, which grades the rest."
            )
    return dict(sorted(places.items()))


def _require_agreement(places: dict[str, list[Path]], into: Path) -> None:
    """No student with two different records, none whose record in `into` is newer."""
    conflicts, newer = [], []
    for student, folders in places.items():
        results = [_read(folder, student) for folder in folders]
        if any(_content(result) != _content(results[0]) for result in results[1:]):
            conflicts.append(f"{student} in {' and '.join(f.name for f in folders)}")
        there, _ = read_record(into, student)
        if (
            there is not None
            and there.graded_at > max(result.graded_at for result in results)
            and _content(there) != _content(results[0])
        ):
            newer.append(student)
    if conflicts:
        raise GraderError(
            f"{len(conflicts)} with two different records: {_few(conflicts, '; ')}. Leave out the "
            "folder that is wrong."
        )
    if newer:
        raise GraderError(
            f"{into} holds newer results than the shards for {len(newer)}: {_few(newer)}. Merge "
            "into another folder, or remove those first."
        )


def _write(places: dict[str, list[Path]], into: Path) -> Merged:
    counts = {"new": 0, "replaced": 0, "same": 0}
    summaries = []
    for result in _one_each(places):
        there, refusal = read_record(into, result.student)
        if there is not None and _content(there) == _content(result):
            counts["same"] += 1
        else:
            counts["new" if there is None and refusal is None else "replaced"] += 1
            replace_record(into, result)
        summaries.append(summarise(result))
    return Merged(summaries, counts["new"], counts["replaced"], counts["same"])


def _one_each(places: dict[str, list[Path]]) -> Iterator[SubmissionResult]:
    for student, folders in places.items():
        # Of equal records the first graded, whatever the order of the folders.
        yield min((_read(folder, student) for folder in folders), key=lambda r: r.graded_at)


def _read(folder: Path, student: str) -> SubmissionResult:
    result, refusal = read_record(folder, student)
    if result is None:
        why = in_words(refusal) if refusal else "removed"
        raise GraderError(f"The record of {student} in {folder} is gone ({why}).")
    return result


def _content(result: SubmissionResult) -> dict:
    return without_times(json.loads(result.model_dump_json()))


def _few(names: list[str], separator: str = ", ") -> str:
    more = f"{separator}… ({len(names)} in all)" if len(names) > _SHOWN else ""
    return separator.join(names[:_SHOWN]) + more
