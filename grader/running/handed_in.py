"""Remembers which folders a class was handed in as, so that everybody's id stays the same.

An id is the path below what was handed in. Whoever grades `sec/` and later only `sec/B/bob.zip`
means `B_bob` both times, so the results folder keeps what a run named, and a later run that names
something in it takes the ids from there. It is also where `grader run --only ana`, without a path,
looks.
"""

import contextlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from grader.base.errors import GraderError
from grader.intake.course import Course
from grader.intake.submissions import Found, find_submissions
from grader.results.record import write_atomically

FILE = ".grader.handed_in"  # not *.json: those are records
MAX_PLACES = 200


@dataclass(frozen=True)
class HandedIn:
    """What a run found: the submissions to grade, all that lie beside them in the same class."""

    found: list[Found]
    whole_class: list[Found]
    stray: list[Path]
    ids_from: tuple[Path, ...] = ()  # folders of earlier runs that gave the ids


def known_places(out: Path) -> list[Path]:
    """What earlier runs into this folder named, as far as it is still there."""
    try:
        places = json.loads((out / FILE).read_text(encoding="utf-8"))["places"]
        return [Path(place) for place in places if Path(place).exists()]
    except (OSError, ValueError, KeyError, TypeError):
        return []  # a convenience: without it everything is named again


def remember(out: Path, paths: Iterable[Path]) -> None:
    """Keep what this run named beside what is known; of two, the wider."""
    places = list(dict.fromkeys([*known_places(out), *(path.resolve() for path in paths)]))
    widest = [place for place in places if not any(place.is_relative_to(p) for p in places
                                                   if p != place)]  # fmt: skip
    text = json.dumps({"places": list(map(str, widest[-MAX_PLACES:]))}, indent=1)
    if widest != known_places(out):
        with contextlib.suppress(OSError):  # it is a convenience, see known_places
            write_atomically(out / FILE, text.encode() + b"\n")


def find_handed_in(
    paths: Iterable[Path], known: Iterable[Path], course: Course, exclude: Iterable[Path]
) -> HandedIn:
    """The submissions below `paths`, each with the id that it has in a `known` folder around it.

    Raises:
        GraderError: as find_submissions.
    """
    paths, known, exclude = list(paths), list(known), list(exclude)
    above = {path: _around(path, known) for path in paths}
    roots = tuple(dict.fromkeys(root for root in above.values() if root))
    if roots:
        alone = [path for path, root in above.items() if root is None]
        stray: list[Path] = []
        try:
            everybody = find_submissions([*roots, *alone], course, exclude, stray)
        except GraderError:
            everybody = []
        found = [one for one in everybody if any(_is_in(one, path) for path in paths)]
        if all(any(_is_in(one, path) for one in found) for path in paths):
            stray = [file for file in stray if any(_is_below(file, path) for path in paths)]
            return HandedIn(found, everybody, stray, roots)
    stray = []
    found = find_submissions(paths, course, exclude, stray)
    return HandedIn(found, found, stray)


def _around(path: Path, known: Iterable[Path]) -> Path | None:
    """The widest of the known folders that holds the path."""
    place = path.resolve()
    return min(
        (root for root in known if root in place.parents),
        key=lambda root: len(root.parts),
        default=None,
    )


def _is_in(found: Found, path: Path) -> bool:
    """Whether the submission lies below the path, or the path is a piece of it."""
    place = path.resolve()
    return any(
        _is_below(source, path) or _placed(source) in place.parents for source in found.sources
    )


def _is_below(file: Path, path: Path) -> bool:
    return _placed(file).is_relative_to(path.resolve())


def _placed(file: Path) -> Path:
    """Where a file lies, links above it resolved; not where it points itself."""
    return file.parent.resolve() / file.name
