"""One run over a class: find the submissions, hold the results folder, load the suite, grade."""

import contextlib
import signal
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from rich.console import Console

from grader.errors import GraderError, Interrupted
from grader.intake import Course, find_submissions
from grader.pool import Grading, Summary, grade_all, results_lock, usable_cores
from grader.seeds import Secret, load_secret
from grader.table import console_for_people, counts_sentence, print_class, say, with_progress


def grade_class(
    paths: Iterable[Path],
    out: Path,
    *,
    jobs: int | None = None,
    sandbox: str = "auto",
    regrade: bool = False,
    secret_file: Path | None = None,
    real_model: bool | None = None,
    console: Console | None = None,
    quiet: bool = False,
) -> list[Summary]:
    """Grade every submission below `paths` that `out` does not hold already; print the table.

    Raises:
        GraderError: nothing to grade, no sandbox, results that another grader is writing.
        Interrupted: Ctrl-C or SIGTERM; what was finished is kept.
    """
    console = console or console_for_people()
    course = Course.load()
    found = find_submissions(paths, course, exclude=[out])
    if not found:
        raise GraderError("There is nothing to grade. Name at least one submission.")
    with results_lock(out):
        tier = _require_sandbox(sandbox)
        secret = load_secret(secret_file)
        _tell_about(secret)
        grading = _grading(out, course, secret, sandbox, regrade, real_model)
        jobs = min(jobs or usable_cores(), len(found))
        if not quiet:
            noun = "submission" if len(found) == 1 else "submissions"
            say(console, f"{len(found)} {noun}, {jobs} at once, sandbox: {tier}")
        with contextlib.closing(grading.suite):
            summaries = _grade(found, grading, jobs, console, quiet)
    if not quiet:
        print_class(summaries, console)
        say(console, counts_sentence(summaries))
        say(console, f"Results: {out}/")
    return summaries


def _require_sandbox(name: str) -> str:
    """The tier that will be used; GraderError when there is none."""
    from grader.sandbox import SandboxUnavailable, choose_sandbox

    try:
        tier = choose_sandbox(name).tier
    except SandboxUnavailable as problem:
        raise GraderError(f"{problem} `grader doctor` tells more.") from None
    if name == "none":
        _complain(
            "WARNING: no sandbox. The submissions run with all your rights: they can read and "
            "delete your files, use the network and forge their points."
        )
    return tier


def _tell_about(secret: Secret) -> None:
    if secret.created:
        _complain(
            f"A new secret for the hidden cases was made: {secret.path}. Keep a copy; a regrade "
            "elsewhere needs it."
        )
    for warning in secret.warnings:
        _complain(f"Warning: {warning}")


def _grading(
    out: Path,
    course: Course,
    secret: Secret,
    sandbox: str,
    regrade: bool,
    real_model: bool | None,
) -> Grading:
    """Load the suite once, for all children."""
    try:
        from grader.sandbox import Limits
        from grader.suite import SUITE_VERSION, Suite, run_suite
    except ImportError as problem:
        raise GraderError(f"The test suite cannot be loaded ({problem}); install again.") from None
    suite, limits = Suite.load(secret.key, real_model, out), Limits()
    return Grading(
        out=out,
        run=run_suite,
        suite=suite,
        suite_hash=suite.hash,
        suite_version=SUITE_VERSION,
        course=course,
        sandbox=sandbox,
        limits=limits,
        regrade=regrade,
        # The budgets inside should end it long before; this catches a grader that hangs.
        deadline_s=2 * limits.total_seconds + limits.start_seconds + 60,
    )


def _grade(
    found: list, grading: Grading, jobs: int, console: Console, quiet: bool
) -> list[Summary]:
    """Grade all; on Ctrl-C or SIGTERM stop the children and say how to go on."""
    summaries: list[Summary] = []
    with _terminated_as_interrupted():
        running = grade_all(found, grading, jobs, done=summaries)
        try:
            with contextlib.closing(running):
                for _ in with_progress(running, len(found), console, quiet):
                    pass
        except KeyboardInterrupt:
            raise Interrupted(
                f"Stopped. {len(summaries)} of {len(found)} results are kept in {grading.out}/; "
                "run the same command again to grade the rest."
            ) from None
    return summaries


@contextlib.contextmanager
def _terminated_as_interrupted() -> Iterator[None]:
    def interrupt(signum: int, frame: Any) -> None:
        raise KeyboardInterrupt

    names = (signal.SIGTERM, signal.SIGHUP)
    before = {name: signal.signal(name, interrupt) for name in names}
    try:
        yield
    finally:
        for name, handler in before.items():
            signal.signal(name, handler)


def _complain(sentence: str) -> None:
    say(Console(stderr=True), sentence)
