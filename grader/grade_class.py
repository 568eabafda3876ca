"""One run over a class: find the submissions, hold the results folder, load the suite, grade."""

import contextlib
import signal
from collections import Counter
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from difflib import get_close_matches
from fnmatch import filter as filter_ids
from functools import partial
from pathlib import Path
from typing import Any, get_args

from rich.console import Console

from assignment.harness.parts import SERVING_PART
from grader.base.errors import GraderError, Interrupted
from grader.base.seeds import Secret, load_secret, require_secret
from grader.base.terminal import console_for_people, say
from grader.base.words import language, tr, tr_n
from grader.cluster.shards import Shard, manifest_of, write_manifest
from grader.intake.course import Course
from grader.intake.submissions import Found, passed_over
from grader.reports.changes import tell_after_run
from grader.reports.class_table import (
    counts_sentence,
    misnamed_sentence,
    print_class,
    with_names,
    with_progress,
)
from grader.results.changes import mixed_class
from grader.results.disk import disk_as_sentence
from grader.results.history import read_score
from grader.results.record import State, record_path
from grader.results.summary import Summary
from grader.running.child import Grading
from grader.running.handed_in import HandedIn, find_handed_in, known_places, remember
from grader.running.locks import results_lock, run_began_ns
from grader.running.pool import grade_all, usable_cores
from grader.sandbox.limits import Limits, affordable_jobs, load_limits

_NO_SANDBOX = (
    "WARNING: no sandbox. The submissions run with all your rights: they can read and delete your "
    "files, use the network and forge their points."
)


def grade_class(
    paths: Iterable[Path],
    out: Path,
    *,
    jobs: int | None = None,
    sandbox: str = "auto",
    regrade: bool = False,
    secret_file: Path | None = None,
    limits: Path | None = None,
    real_model: bool | None = None,
    part12: bool = False,
    scheduler: str | None = None,
    shard: Shard | None = None,
    console: Console | None = None,
    accept_names: bool = False,
    only: Sequence[str] = (),
    states: Collection[str] = (),
    quiet: bool = False,
    check_fast: bool = False,
    rehash: bool = False,
) -> list[Summary]:
    """Grade every submission below `paths` that `out` does not hold already; print the table.

    Args:
        part12: grade the extra part, and nothing else.
        limits: a TOML file with other limits than the defaults (see grader.sandbox.limits).
        accept_names: take `rope (1).py` for a missing rope.py where no other could be meant.
        paths: none for what earlier runs into `out` named.
        only: grade these ids only, which may be patterns as of file names (`B_*`).
        rehash: read also what lies there as it did when it was graded.
        check_fast: grade each on the recorded calls and without them; who gets two verdicts is
            an error.
        states: of these, those whose result has one of these states.
        scheduler: the address of a dask scheduler, whose workers then grade.
        shard: grade this part of the class only, into a folder of its own beside `out`.

    Raises:
        GraderError: nothing to grade, no sandbox, results that another grader is writing.
        Interrupted: Ctrl-C or SIGTERM; what was finished is kept.
    """
    console = console or console_for_people()
    bounds = load_limits(limits)
    course = Course.load()
    if part12:
        course = course.with_modules(SERVING_PART.modules)
    results_folders = [out, *(shard.all_folders(out) if shard else ())]
    known = [] if shard else known_places(out)
    paths = list(paths) or known
    if not paths:
        raise GraderError(
            f"Name the submissions: no earlier run into {out}/ says where they are, or they are "
            "not there any more."
        )
    handed_in = find_handed_in(paths, known, course, results_folders)
    if not handed_in.found:
        raise GraderError("There is nothing to grade. Name at least one submission.")
    found = _with_state(_chosen(handed_in.found, only), out, states)
    if shard:
        out, found = shard.folder(out), [one for one in found if shard.holds(one.student)]
    with disk_as_sentence(out), results_lock(out), contextlib.ExitStack() as held:
        client = held.enter_context(_cluster(scheduler)) if scheduler else None
        tier = "" if client else _require_sandbox(sandbox)
        # Shards that each made a secret of their own would grade by different cases.
        secret = require_secret(secret_file) if shard else load_secret(secret_file)
        _tell_about(secret)
        grading = _grading(out, course, secret, sandbox, regrade, real_model, part12)
        grading = replace(grading, accept_names=accept_names, rehash=rehash)
        grading = replace(grading, limits=bounds if limits is not None else grading.limits)
        grading = _both_ways(grading) if check_fast else grading
        held.enter_context(contextlib.closing(grading.suite))
        if client:
            grade, where = _on_cluster(client, grading, _recipe(secret, grading), jobs)
        else:
            jobs = _jobs(jobs, bounds, len(found))
            grade = partial(grade_all, jobs=jobs)
            where = tr("{n} at once, sandbox: {tier}", n=jobs, tier=tier)
        if shard:
            hash_and_version = (grading.suite_hash, grading.suite_version)
            write_manifest(out, manifest_of(shard, handed_in.whole_class, *hash_and_version))
            of = tr("shard {shard} of {n}", shard=shard, n=len(handed_in.whole_class))
            where = tr("{shard}, {where}", shard=of, where=where)
        if not quiet:
            counted = tr_n(len(found), "1 submission", "{n} submissions")
            model = _model_words(grading)
            line = tr(
                "{submissions}, {where}, {model}", submissions=counted, where=where, model=model
            )
            say(console, line)
        remember(out, () if shard else paths)
        summaries = _grade(found, grading, grade, console, quiet) if found else []
        if not quiet:
            _tell_end(summaries, handed_in, out, console)
        # With the lock still held: a grader killed before this is told leaves it to the next.
        students = {submission.student for submission in handed_in.whole_class}
        tell_after_run(
            out,
            students,
            grading.suite_hash,
            asdict(bounds),
            run_began_ns(out),
            console,
            _complain,
            quiet,
        )
        _warn_of_edited_suite(grading, secret)
    return summaries


def _tell_end(
    summaries: Sequence[Summary], handed_in: HandedIn, out: Path, console: Console
) -> None:
    print_class(with_names(summaries, out), console)
    say(console, counts_sentence(summaries))
    for folder in handed_in.ids_from:
        say(console, tr("Ids are paths below {folder}, which an earlier run named.", folder=folder))
    if misnamed := misnamed_sentence(summaries):
        say(console, misnamed)
    if handed_in.stray:
        say(console, passed_over(handed_in.stray))
    say(console, tr("Results: {folder}/", folder=out))


def _chosen(found: list[Found], patterns: Sequence[str]) -> list[Found]:
    """The submissions whose id fits a pattern, all without one; GraderError where one fits none."""
    if not patterns:
        return found
    fits = {pattern: filter_ids([one.student for one in found], pattern) for pattern in patterns}
    if useless := [pattern for pattern, ids in fits.items() if not ids]:
        ids = [one.student for one in found]
        near = [name for pattern in useless for name in get_close_matches(pattern, ids)]
        raise GraderError(
            f"No submission has the id {' or '.join(map(repr, useless))}."
            + (f" Did you mean: {', '.join(near)}?" if near else "")
        )
    wanted = set().union(*fits.values())
    return [one for one in found if one.student in wanted]


def _with_state(found: list[Found], out: Path, states: Collection[str]) -> list[Found]:
    """Those whose result in `out` has one of these states; GraderError where nobody's has."""
    if not states:
        return found
    if unknown := set(states) - set(get_args(State)):
        raise GraderError(
            f"There is no state {min(unknown)!r}; there are {', '.join(get_args(State))}."
        )
    scores = {one.student: read_score(record_path(out, one.student)) for one in found}
    chosen = [one for one in found if (score := scores[one.student]) and score.state in states]
    if not chosen:
        there = Counter(score.state for score in scores.values() if score)
        counted = ", ".join(f"{n} {state}" for state, n in sorted(there.items())) or "none"
        raise GraderError(
            f"No result of these submissions in {out}/ has the state {' or '.join(sorted(states))};"
            f" there are: {counted}."
        )
    return chosen


def _require_sandbox(name: str) -> str:
    """The tier that will be used; GraderError when there is none."""
    from grader.sandbox import SandboxUnavailable, choose_sandbox

    try:
        tier = choose_sandbox(name).tier
    except SandboxUnavailable as problem:
        raise GraderError(f"{problem} `grader doctor` tells more.") from None
    if name == "none":
        _complain(_NO_SANDBOX)
    return tier


def _cluster(scheduler: str) -> contextlib.AbstractContextManager:
    """A client of the scheduler, connected."""
    from grader.cluster.client import connected

    if not scheduler.startswith("tls://"):
        _complain(
            f"Warning: the connection to {scheduler} is not encrypted, and the secret behind the "
            "hidden cases passes through it. Use it on a trusted network only, or tls://."
        )
    return connected(scheduler)


def _recipe(secret: Secret, grading: Grading) -> Any:
    """What a worker needs to make this run's suite."""
    from grader.cluster.worker import SuiteRecipe

    return SuiteRecipe(secret.key, grading.suite.real_model is not None, grading.suite.part12)


def _on_cluster(
    client: Any, grading: Grading, recipe: Any, jobs: int | None
) -> tuple[Callable[..., Generator[Summary, None, None]], str]:
    """How to grade on the workers, and the words for it; GraderError when one of them cannot."""
    from grader.cluster.client import check_workers, grade_on_cluster

    if grading.sandbox == "none":
        _complain(_NO_SANDBOX)
    workers = check_workers(client, recipe, grading.sandbox)
    machines = len({worker.host for worker in workers})
    tiers = ", ".join(sorted({worker.tier for worker in workers}))
    grade = partial(grade_on_cluster, client=client, recipe=recipe, at_once=jobs)
    where = tr(
        "workers: {n} on {machines} machine(s), sandbox: {tiers}",
        n=len(workers),
        machines=machines,
        tiers=tiers,
    )
    return grade, where


def _warn_of_edited_suite(grading: Grading, secret: Secret) -> None:
    """The children read the tests when they run, the hash was taken before."""
    if grading.suite.hash_now(secret.key) != grading.suite_hash:
        _complain(
            "WARNING: the test suite was edited during this run. Some results may be by the old "
            "tests and some by the new; run the same command again with --regrade."
        )


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
    part12: bool,
) -> Grading:
    """Load the suite once, for all children."""
    try:
        from grader.grading.rehearsal import record
        from grader.grading.submission import run_suite
        from grader.grading.suite import SUITE_VERSION, Suite
    except ImportError as problem:
        raise GraderError(f"The test suite cannot be loaded ({problem}); install again.") from None
    suite, limits = Suite.load(secret.key, real_model, out, part12), Limits()
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
        language=language(),
        record=record,
    )


def _both_ways(grading: Grading) -> Grading:
    from grader.grading.submission import run_both_ways

    return replace(grading, run=run_both_ways, record_after=0)


def _model_words(grading: Grading) -> str:
    """The real model's tests add points, so a class should be graded with or without, not both."""
    there = grading.suite.real_model is not None
    return tr("with the real model") if there else tr("without the real model")


def _jobs(wanted: int | None, limits: Limits, found: int) -> int:
    """How many submissions at once: fewer than the cores where their memory would not fit."""
    jobs = min(wanted or usable_cores(), max(1, found))
    affordable = affordable_jobs(limits)
    if jobs <= affordable:
        return jobs
    if wanted is not None:
        _complain(
            f"Warning: {jobs} submissions at once may use {limits.memory_mib} MiB each, more than "
            f"this machine has left; --jobs {affordable} would fit."
        )
        return jobs
    _complain(
        f"{affordable} at once instead of {jobs}, as each submission may use {limits.memory_mib} "
        "MiB and the memory left is for no more; --jobs or memory_mib in --limits change that."
    )
    return affordable


def _grade(
    found: list,
    grading: Grading,
    grade: Callable[..., Generator[Summary, None, None]],
    console: Console,
    quiet: bool,
) -> list[Summary]:
    """Grade all; on Ctrl-C or SIGTERM stop the children and say how to go on."""
    summaries: list[Summary] = []
    with _terminated_as_interrupted():
        running = grade(found, grading, done=summaries)
        try:
            with contextlib.closing(running):
                for _ in with_progress(running, len(found), console, quiet):
                    pass
        except KeyboardInterrupt:
            raise Interrupted(
                f"Stopped. {len(summaries)} of {len(found)} results are kept in {grading.out}/; "
                "run the same command again to grade the rest. "
                f"{mixed_class(grading.out, grading.suite_hash)}".rstrip()
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
