"""`grader roster`: who is in the course, and whose each submission is."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from grader.base.errors import GraderError
from grader.base.terminal import console_for_people, say
from grader.base.words import speak, tr, tr_n
from grader.cli.options import LangOption, ResultsOption


def import_command(
    exports: Annotated[
        list[Path],
        typer.Argument(
            metavar="EXPORT...",
            help="Canvas' gradebook, Moodle's grading worksheet or participants, Gradescope's "
            "roster or submission_metadata.yml.",
        ),
    ],
    out: ResultsOption = Path("results"),
    times: Annotated[
        Path | None,
        typer.Option("--times", metavar="FILE", help="Write when each came in, for --submitted."),
    ] = None,
    lang: LangOption = None,
) -> None:
    """Make roster.csv in the folder of the results from what a platform exports."""
    from grader.grades.roster import FILE, Roster, checked, find_roster, write_roster
    from grader.integrations.rosters import Export, read_export, times_csv, with_decisions
    from grader.results.record import write_atomically

    speak(lang)
    found = [read_export(path) for path in exports]
    students = {student.id: student for one in found for student in one.roster}
    roster = Roster(tuple(students.values()))
    for one in found:
        roster = with_decisions(roster, one.roster)
    roster = checked(with_decisions(roster, find_roster(out)), exports[0])
    write_roster(out / FILE, roster)
    console = console_for_people()
    n = tr_n(len(roster), "1 student", "{n} students")
    say(console, tr("{students}: {file}", students=n, file=out / FILE))
    if times is not None:
        handed = tuple(entry for one in found for entry in one.handed)
        if not handed:
            raise GraderError(
                f"These files do not say when anything came in, so {times} was not written: "
                "Moodle's grading worksheet and Gradescope's submission_metadata.yml do."
            )
        write_atomically(times, times_csv(Export(roster, handed)).encode())
        say(console, tr("{n} times: {file}", n=len(handed), file=times))


def match_command(
    submission: Annotated[
        str, typer.Argument(metavar="[SUBMISSION", help="The id of a result.", show_default=False)
    ] = "",
    student: Annotated[
        str, typer.Argument(metavar="STUDENT]", help="Whose it is.", show_default=False)
    ] = "",
    out: ResultsOption = Path("results"),
    lang: LangOption = None,
) -> None:
    """List whose results are not known; with SUBMISSION and STUDENT, decide on one."""
    from grader.grades.roster import FILE, find_roster, match

    speak(lang)
    roster = find_roster(out)
    if roster is None:
        raise GraderError(
            f"There is no {out / FILE}. Make it with `grader roster import EXPORT`, or by hand: "
            "id,name,email,section,aliases."
        )
    ids = [path.stem for path in sorted(out.glob("*.json")) if not path.name.startswith(".")]
    console = console_for_people()
    if submission:
        _decide(out / FILE, roster.with_alias(submission, student), submission, ids)
        say(console, tr("{submission} is {student}'s.", submission=submission, student=student))
        return
    found = match(roster, ids)
    for name in found.unknown:
        say(console, tr("{submission}: nobody on the roster", submission=name))
    for name, several in found.ambiguous.items():
        ids_of = tr(", ").join(several)
        say(console, tr("{submission}: may be {students}", submission=name, students=ids_of))
    for missing in found.absent:
        who = f"{missing.id} {missing.name}".rstrip()
        say(console, tr("{student}: has handed in nothing", student=who))
    n = len(found.unknown) + len(found.ambiguous)
    if n:
        example = [*found.unknown, *found.ambiguous][0]
        command = f"grader roster match {example} ID"
        say(console, tr("To say whose one of these {n} is: {command}", n=n, command=command))
    say(
        console,
        tr("{n} results are of {m} students.", n=len(found.of), m=len(set(found.of.values()))),
    )


def _decide(path: Path, roster, submission: str, ids: list[str]) -> None:
    from grader.grades.roster import write_roster

    if submission not in ids:
        raise GraderError(
            f"There is no result {submission!r} beside {path}. `grader roster match` lists those "
            "that are nobody's."
        )
    write_roster(path, roster)


def roster_group(sentences: Callable[[Callable], Callable]) -> typer.Typer:
    """The commands as a group; `sentences` turns a GraderError into its sentence."""
    group = typer.Typer(
        name="roster",
        help="Who is in the course, and whose each submission is.",
        no_args_is_help=True,
        rich_markup_mode=None,
    )
    group.command("import")(sentences(import_command))
    group.command("match")(sentences(match_command))
    return group
