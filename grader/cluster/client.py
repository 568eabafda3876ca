"""Grades a class on the workers of a dask.distributed cluster.

This process finds the submissions, sends each as bytes, checks what comes back and is the only one
to write results. A worker is a trusted parent: it makes the suite for itself from the secret that
comes with each task, and grades in a process of its own per submission, exactly as the pool
(grader.running.pool) does here. A task whose worker dies goes to another one.
"""

import contextlib
import logging
import queue
import time
import warnings
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from grader.base.errors import GraderError
from grader.cluster.packing import pack
from grader.cluster.worker import Facts, Job, WrongWorker, facts, grade_there, versions
from grader.intake.course import Course
from grader.intake.submissions import Found
from grader.results.record import (
    MAX_RECORD_BYTES,
    SubmissionResult,
    parse_record,
    read_bounded,
    record_path,
)
from grader.results.summary import Summary
from grader.running.child import Grading, error_result
from grader.running.pool import PRELOAD, keep, uninterrupted

CONNECT_S = 10.0  # for the scheduler to answer, and for a first worker to be there
PATIENCE_S = 60.0  # with no worker at all during a run
RETRIES = 2  # of a task that raised on a worker; deaths of workers are counted by the scheduler


@contextlib.contextmanager
def connected(address: str, timeout_s: float = CONNECT_S) -> Iterator[Any]:
    """A client of the scheduler at `address`, with at least one worker.

    Encryption and certificates come from dask's own configuration (`distributed.comm.tls`).

    Raises:
        GraderError: dask.distributed is not installed, nobody answers, or there is no worker.
    """
    try:
        from distributed import Client
    except ImportError:
        raise GraderError(
            "Grading on a cluster needs dask.distributed; install it with: "
            "pip install 'kv-cache-homework[distributed]'"
        ) from None
    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # what matters is said below
    client = Client.__new__(Client)
    try:
        # Threads inherit the mask: Ctrl-C then reaches the main thread, which knows when it may.
        with uninterrupted(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            client.__init__(  # type: ignore[misc]
                address, timeout=timeout_s, set_as_default=False
            )
    except (OSError, ValueError, TypeError, RuntimeError) as problem:
        # Else the garbage collector closes it some time later, which can block and complains.
        client.status = "closed"
        words = str(problem).strip().partition("\n")[0] or type(problem).__name__
        raise GraderError(
            f"No dask scheduler answers at {address} ({words}). Start one with `dask scheduler`, "
            "and give its address as --scheduler tcp://HOST:8786."
        ) from None
    try:
        _wait_for_worker(client, address, timeout_s)
        yield client
    finally:
        with contextlib.suppress(Exception), uninterrupted():
            client.close(timeout=5)


def _wait_for_worker(client: Any, address: str, timeout_s: float) -> None:
    try:
        client.wait_for_workers(1, timeout=timeout_s)
    except (OSError, TimeoutError):
        raise GraderError(
            f"The scheduler at {address} has no workers. Start some with `dask worker {address} "
            "--nworkers auto --nthreads 1`, on machines where the grader is installed."
        ) from None


def check_workers(client: Any, recipe: Any, sandbox: str) -> list[Facts]:
    """The facts of all workers; GraderError names the first that would grade otherwise."""
    here = versions(recipe)
    answers = client.run(facts, recipe, sandbox, on_error="return")
    for address, answer in sorted(answers.items()):
        if isinstance(answer, BaseException):
            raise GraderError(
                f"The worker {address} cannot grade ({type(answer).__name__}: {answer}). Install "
                "this version of the homework there, with the extra 'grader'."
            )
        if difference := _difference(here, answer.versions):
            raise GraderError(
                f"The worker {address} on {answer.host} would not grade as this machine does: "
                f"{difference}. Install the same versions on all machines and start its workers "
                "again."
            )
        if answer.problem:
            raise GraderError(
                f"The worker {address} on {answer.host} cannot grade: {answer.problem}"
            )
    return list(answers.values())


def _difference(here: dict[str, str], there: dict[str, str]) -> str:
    return ", ".join(
        f"{name} {there.get(name, 'absent')} (here {version})"
        for name, version in here.items()
        if there.get(name) != version
    )


def grade_on_cluster(
    found: Iterable[Found],
    grading: Grading,
    done: list[Summary],
    *,
    client: Any,
    recipe: Any,
    at_once: int | None = None,
    preload: Sequence[str] = PRELOAD,
    patience_s: float = PATIENCE_S,
) -> Generator[Summary, None, None]:
    """As grader.running.pool.grade_all, on the cluster's workers.

    At most `at_once` submissions are under way (twice the workers' threads without it), so the
    memory used here and on the scheduler does not grow with the class. A submission whose workers
    died more often than the scheduler allows is tried once more after all others, alone: only then
    is it certain which one it was.
    """

    def job(one: Found) -> Job:
        earlier = b"" if grading.regrade else _earlier(grading.out, one.student)
        nowhere = Course(Path(), (), ())
        sent = replace(grading, out=Path(), suite=None, course=nowhere)
        return Job(pack(one), earlier, recipe, sent, preload)

    suspects: list[Found] = []
    for alone in (False, True):
        wanted = suspects if alone else found
        limit = (lambda: 1) if alone else _window(client, at_once)
        for one, future, seconds in _tasks(client, wanted, job, limit, patience_s):
            if not alone and _killed_workers(future):
                suspects.append(one)
                continue
            with uninterrupted():
                done.append(keep(*_outcome(one, future, grading, seconds), grading))
            yield done[-1]


def _tasks(
    client: Any,
    found: Iterable[Found],
    job: Callable[[Found], Job],
    limit: Callable[[], int],
    patience_s: float,
) -> Iterator[tuple[Found, Any, float]]:
    """Submissions with their finished futures (or why there is none) and seconds under way."""
    waiting = deque(found)
    finished: queue.SimpleQueue = queue.SimpleQueue()
    under_way: dict[str, tuple[Found, Any, float]] = {}
    try:
        while waiting or under_way:
            while waiting and len(under_way) < limit():
                one, started = waiting.popleft(), time.monotonic()
                try:
                    future = _submit(client, job(one))
                except OSError as problem:
                    yield one, problem, time.monotonic() - started
                    continue
                under_way[future.key] = (one, future, started)
                future.add_done_callback(finished.put)
            if under_way:
                key = _next(finished, client, patience_s).key
                one, future, started = under_way.pop(key)
                yield one, future, time.monotonic() - started
                future.release()
    finally:
        with contextlib.suppress(Exception), uninterrupted():
            client.cancel([future for _, future, _ in under_way.values()], force=True)


def _submit(client: Any, job: Job) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # on large arguments: an archive is one
        return client.submit(grade_there, job, pure=False, retries=RETRIES)


def _next(finished: queue.SimpleQueue, client: Any, patience_s: float) -> Any:
    """The next finished future; GraderError when there is nobody left to finish one."""
    last_seen = time.monotonic()
    while True:
        with contextlib.suppress(queue.Empty):
            # Not longer: a signal that comes just before the wait is seen after it.
            future = finished.get(timeout=0.5)
            if future.status in ("finished", "error"):
                return future
            raise _gone("The scheduler has lost this run's tasks: it ended or was started again.")
        if client.status != "running":
            raise _gone("The scheduler is gone.")
        if _threads(client):
            last_seen = time.monotonic()
        elif time.monotonic() - last_seen > patience_s:
            raise _gone(f"The scheduler has had no workers for {patience_s:.0f} s.")


def _gone(sentence: str) -> GraderError:
    return GraderError(
        f"{sentence} Finished results are kept; start it, and run the same command again to grade "
        "the rest."
    )


def _window(client: Any, at_once: int | None) -> Callable[[], int]:
    """How many submissions may be under way now: enough that no worker waits for the next."""
    asked, threads = -1e9, 0

    def limit() -> int:
        nonlocal asked, threads
        if at_once:
            return at_once
        if time.monotonic() - asked > 5:  # workers come and go
            asked, threads = time.monotonic(), _threads(client)
        return max(1, 2 * threads)

    return limit


def _threads(client: Any) -> int:
    try:
        return sum(client.nthreads().values())
    except Exception:  # the connection is gone; the client's status will say so
        return 0


def _killed_workers(future: Any) -> bool:
    from distributed import KilledWorker

    return not isinstance(future, OSError) and isinstance(future.exception(), KilledWorker)


def _outcome(
    found: Found, future: Any, grading: Grading, seconds: float
) -> tuple[SubmissionResult, bool]:
    """The checked result, and whether it is the earlier one; an error record where there is none.

    Raises GraderError for a worker that must not grade this run.
    """
    problem: Any = future if isinstance(future, OSError) else future.exception()
    if isinstance(problem, WrongWorker):
        raise GraderError(
            f"{problem} Finished results are kept; stop this worker or install the same version "
            "there, and run the same command again."
        )
    if problem is None:
        with contextlib.suppress(ValidationError, RecursionError, TypeError, ValueError):
            content, kept = future.result()
            if len(content) <= MAX_RECORD_BYTES:
                result = parse_record(content)
                if (result.student, result.suite_hash) == (found.student, grading.suite_hash):
                    return result, bool(kept)
        reason = "The worker sent back something that is not this submission's result."
    elif _killed_workers(future):
        reason = (
            f"The workers that graded this submission died, {problem.allowed_failures + 1} of them "
            "in turn and then as many while it ran alone. Look at their machines' logs: the memory "
            "may be short."
        )
    else:
        words = str(problem)[:1000]
        reason = f"The grader failed: {type(problem).__name__}: {words}"
    return error_result(found, grading, reason, seconds), False


def _earlier(folder: Path, student: str) -> bytes:
    """The bytes of an earlier record, for the worker to judge: it knows the submission's hash."""
    try:
        return read_bounded(record_path(folder, student)) or b""
    except OSError:
        return b""
