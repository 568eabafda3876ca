"""The command: grades at both commits, and says where the verdicts differ."""

import argparse
import contextlib
import signal
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from .outcome import Outcome, print_outcome
from .records import Difference, Records, differences, is_named, one_sided, read_records
from .sections import SECTIONS, Grading, Kept, Section, Workplace, of_sources, sources_of
from .trees import NoComparison, Tree, commit_of, lay_out_commit, lay_out_working_tree

ROOT = Path(__file__).resolve().parents[2]
RETRIES = 2
# Where more than this many differ it is no race, and grading all of them again would take long.
RETRIED_AT_MOST = 8


@dataclass(frozen=True)
class Sides:
    """Both graders, where they work, and where the homework comes from."""

    commit: str  # OLD's
    old: Tree
    new: Tree
    place: Workplace
    grading: Grading
    kept: Kept | None  # what OLD has graded already


def main(arguments: list[str] | None = None, repository: Path = ROOT) -> int:
    """0 where the verdicts agree, 1 where they do not, 2 where they could not be compared."""
    parser = _parser()
    options = parser.parse_intermixed_args(arguments)
    if options.old_alone and not options.keep:
        parser.error("--old-alone without --keep would leave nothing")
    console = Console(highlight=False, markup=False, soft_wrap=True)
    try:
        with _sides(options, repository) as sides:
            sections = [SECTIONS[name] for name in options.only]
            agree = [_compare(section, sides, options, console) for section in sections]
    except (NoComparison, OSError) as problem:
        print(problem, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("Stopped; nothing is left of it but what --keep names.", file=sys.stderr)
        return 130
    return 0 if all(agree) else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.same_verdicts",
        description="Grade the same homework at two commits and print where the verdicts differ.",
    )
    parser.add_argument("old", help="a commit; it also makes the homework")
    parser.add_argument("new", nargs="?", help="a commit (default: the working tree)")
    parser.add_argument("--only", type=_section_names, default=list(SECTIONS), metavar="A,B",
                        help=f"sections: {', '.join(SECTIONS)}")  # fmt: skip
    parser.add_argument("--names", default="*", metavar="GLOB", help="file names of submissions")
    parser.add_argument("--allow-field", action="append", default=[], metavar="NAME",
                        help="a field that may differ, or holds fields that may")  # fmt: skip
    parser.add_argument("--keep", type=Path, metavar="DIR", help="leave everything in this folder")
    parser.add_argument("--from", type=Path, metavar="DIR", dest="kept",
                        help="OLD's results, secret and limits from an earlier --keep")  # fmt: skip
    parser.add_argument("--old-alone", action="store_true",
                        help="with --keep: grade OLD only, to compare later")  # fmt: skip
    parser.add_argument("--secret-file", type=Path, metavar="FILE", help="instead of a fixed one")
    parser.add_argument("--limits", type=Path, metavar="TOML", help="as for `grader run`")
    parser.add_argument("--jobs", metavar="N", help="as for `grader run`")
    parser.add_argument("--examples", type=int, default=3, metavar="N",
                        help="values shown of each field (default 3)")  # fmt: skip
    return parser


def _section_names(text: str) -> list[str]:
    names = text.split(",")
    if unknown := [name for name in names if name not in SECTIONS]:
        raise argparse.ArgumentTypeError(f"no section {unknown[0]!r}, only {', '.join(SECTIONS)}")
    return names


@contextlib.contextmanager
def _sides(options: argparse.Namespace, repository: Path) -> Iterator[Sides]:
    """Both trees laid out and checked, in a folder that is removed unless it is kept."""
    commit = commit_of(repository, options.old)
    kept = Kept.read(options.kept) if options.kept else None
    if kept and kept.commit != commit:
        raise NoComparison(f"{options.kept} was kept of {kept.commit}, not of {commit}.")
    if kept and (options.secret_file or options.limits):
        raise NoComparison(f"Secret and limits are those of {options.kept}; name no others.")
    with contextlib.ExitStack() as stack:
        folder = options.keep or stack.enter_context(tempfile.TemporaryDirectory())
        here = Workplace(Path(folder).resolve())
        if here.folder.exists() and any(here.folder.iterdir()):
            raise NoComparison(f"{folder} is not empty; name a new folder for --keep.")
        here.folder.mkdir(parents=True, exist_ok=True)
        source = Workplace(options.kept.resolve()) if kept else here
        if not kept:
            here.start(options.secret_file, options.limits)
            lay_out_commit(repository, commit, here.tree("old"))
        old = Tree(f"OLD ({commit[:7]})", source.tree("old"))
        new = _new(options.new, repository, here)
        for side, tree in (("old", old), ("new", new)):
            tree.check_imports(here.log(f"imports-{side}"))
        jobs = ("--jobs", options.jobs) if options.jobs else ()
        yield Sides(commit, old, new, here, Grading(source, jobs), kept)


def _new(name: str | None, repository: Path, place: Workplace) -> Tree:
    folder = place.tree("new")
    if name is not None:
        commit = commit_of(repository, name)
        lay_out_commit(repository, commit, folder)
        return Tree(f"NEW ({commit[:7]})", folder)
    lay_out_working_tree(repository, folder)
    return Tree("NEW (working tree)", folder)


def _compare(section: Section, sides: Sides, options: argparse.Namespace, console: Console) -> bool:
    """Grade a section by both, print how they differ, and say whether they agree."""
    source = sides.grading.place
    if sides.kept is None:
        source.lay_out(section, sides.old)
    elif section.name not in sides.kept.names:
        raise NoComparison(f"{options.kept} holds no {section.title}; keep it, or leave it out.")
    names = source.names(section, options.names)
    if sides.kept is not None:
        names = [name for name in names if name in sides.kept.names[section.name]]
    if not names:
        raise NoComparison(f"No submission of the {section.title} is called {options.names}.")
    old = _grade("old", section, names, sides)
    if options.keep and sides.kept is None:
        Kept.add(options.keep, sides.commit, section.name, names)
    if options.old_alone:
        console.print(f"{section.title}: {len(old)} submissions kept in {options.keep}")
        return True
    new = _grade("new", section, names, sides)
    one = one_sided(old, new, section.values)
    found = differences(old, new, section.values)
    # No race: what one side has and the other has not, and what is meant.
    settled = {d.field for d in found if is_named(d.field, options.allow_field)}
    settled |= {"record", *one}
    tries = _retry(section, names, old, found, settled, sides)
    found = [d for d in found if d.field in settled or not tries.get(d.student)]
    outcome = Outcome(section.title, len(old), found, one, tries, tuple(options.allow_field))
    print_outcome(outcome, options.examples, console)
    return not outcome.counted


def _grade(side: str, section: Section, names: list[str], sides: Sides) -> Records:
    """A side's records; OLD's from before where they were kept."""
    tree = sides.old if side == "old" else sides.new
    if side == "old" and sides.kept is not None:
        out = sides.grading.place.results("old", section)
        places = {str(out): "<results>", str(tree.folder): "<tree>"}
        return of_sources(read_records(out, places), names)
    out = sides.place.results(side, section)
    out.mkdir(parents=True)
    with _progress(f"{tree.name}, {section.title}", len(names)) as told:
        log = sides.place.log(side, section.name)
        return sides.grading.grade(tree, section, names, out, log, told)


def _retry(
    section: Section,
    names: list[str],
    old: Records,
    found: list[Difference],
    settled: set[str],
    sides: Sides,
) -> dict[str, int | None]:
    """Grade who differs alone: the try in which both sides agreed, or None. {} where many differ.

    `settled` are the fields whose difference no try would mend.
    """
    differ = [d for d in found if d.field not in settled]
    tries: dict[str, int | None] = {}
    if len(students := sorted({d.student for d in differ})) > RETRIED_AT_MOST:
        return tries
    for student in students:
        sources = sources_of(old, {student}, names)
        before = [d.change for d in differ if d.student == student]
        tries[student] = None
        for attempt in range(1, RETRIES + 1):
            pair = [_grade_again(side, section, sources, sides) for side in ("old", "new")]
            again = [d.change for d in differences(*pair, section.values)]
            again = [change for change in again if change[0] not in settled]
            if not again:
                tries[student] = attempt
            if not again or again == before:  # the same once more is no race
                break
            before = again
    return tries


def _grade_again(side: str, section: Section, sources: list[str], sides: Sides) -> Records:
    tree = sides.old if side == "old" else sides.new
    log = sides.place.log(f"again-{side}", section.name)
    with (
        tempfile.TemporaryDirectory() as folder,
        _progress(f"{tree.name}, {sources!a} again", len(sources)) as told,
    ):
        return sides.grading.grade(tree, section, sources, Path(folder), log, told)


@contextlib.contextmanager
def _progress(title: str, n: int):
    """A bar on the terminal; gives the function that moves it."""
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn())
    console = Console(stderr=True)
    with Progress(*columns, TimeElapsedColumn(), console=console, transient=True) as bar:
        task = bar.add_task(title, total=n)
        yield lambda done: bar.update(task, completed=done)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    sys.exit(main())
