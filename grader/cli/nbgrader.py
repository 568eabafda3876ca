"""`grader nbgrader`: the homework as notebooks, and their grading in the sandbox."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.console import Console

from grader.base.terminal import console_for_people, say
from grader.base.words import speak
from grader.cli.options import LangOption, TextLangOption

CourseArgument = Annotated[Path, typer.Argument(metavar="COURSE", help="The course's folder.")]
AssignmentOption = Annotated[
    str | None,
    typer.Option(
        "--assignment", help="Its name in nbgrader.", show_default="attention-and-kv-cache"
    ),
]


def init(
    course: CourseArgument, assignment: AssignmentOption = None, lang: TextLangOption = "en"
) -> None:
    """Make a course folder on which nbgrader's own commands work."""
    from grader.integrations.nbgrader.course import ASSIGNMENT_NAME, make_course
    from grader.integrations.nbgrader.gradebook import require_nbgrader

    require_nbgrader()
    name = assignment or ASSIGNMENT_NAME
    written = make_course(course, name, lang)
    console = console_for_people()
    say(console, f"{len(written)} files written to {course}/. Next, in that folder:")
    say(console, f"  nbgrader generate_assignment {name}    what students get: release/{name}/")
    say(console, f"  nbgrader zip_collect {name}            from downloaded/{name}/archive/")
    say(console, "  grader nbgrader autograde .            grades in the sandbox")
    say(console, f"  nbgrader generate_feedback {name}")


def autograde(
    course: CourseArgument,
    assignment: AssignmentOption = None,
    student: Annotated[
        str | None, typer.Option("--student", help="Only this student.", show_default="all")
    ] = None,
    create_students: Annotated[
        bool, typer.Option("--create-students", help="Add those whom the gradebook lacks.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option("--out", help="Folder of the results.", show_default="COURSE/results"),
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option(min=1, help="Submissions graded at once.", show_default="all cores"),
    ] = None,
    sandbox: Annotated[
        Literal["auto", "bubblewrap", "podman", "docker", "portable", "none"],
        typer.Option(help="'none' runs submissions with your own rights."),
    ] = "auto",
    regrade: Annotated[bool, typer.Option("--regrade", help="Grade again what is graded.")] = False,
    secret_file: Annotated[
        Path | None, typer.Option("--secret-file", help="Secret behind the hidden cases.")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress, no table.")] = False,
    lang: LangOption = None,
) -> None:
    """Grade the submitted notebooks in the sandbox; scores and comments go to the gradebook.

    Manual grades, extensions and late penalties stay as they are.
    """
    from grader.integrations.nbgrader.autograde import autograde as grade

    speak(lang)
    report = grade(
        course,
        assignment,
        student,
        out=out,
        create_students=create_students,
        jobs=jobs,
        sandbox=sandbox,
        regrade=regrade,
        secret_file=secret_file,
        quiet=quiet,
    )
    for name, notes in report.notes.items():
        say(Console(stderr=True), f"{name}: {'; '.join(notes)}.")
    if not quiet:
        say(console_for_people(), f"{len(report.written)} students written to the gradebook.")
    if report.not_written:
        for name, reason in report.not_written.items():
            say(Console(stderr=True), f"Not written: {name}: {reason}")
        raise typer.Exit(1)


def nbgrader_group(sentences: Callable[[Callable], Callable]) -> typer.Typer:
    """The commands as a group; `sentences` turns a GraderError into its sentence."""
    group = typer.Typer(
        name="nbgrader",
        help="The homework in nbgrader: make a course, grade it in the sandbox.",
        no_args_is_help=True,
        rich_markup_mode=None,
    )
    group.command()(sentences(init))
    group.command()(sentences(autograde))
    return group
