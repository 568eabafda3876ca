"""A suite and a grading that stand for the real ones: a few milliseconds each, points by dice."""

import os
import time
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace

SUITE_VARIABLE = "KILL_GRADER_SUITE"


@dataclass(frozen=True)
class StubSuite:
    """Stands for grader.grading.suite.Suite; `hash` decides the points, as another suite would."""

    hash: str
    blank_tests: tuple = ()
    real_model: None = None

    def hash_now(self, secret: bytes) -> str:
        return self.hash

    def close(self) -> None:
        pass


def stub_run(suite: StubSuite, prepared: Path, sandbox: str, limits: object, slot: int):
    """Stands for grading.suite.run_suite: points that depend on the work and on the suite."""
    from grader.results.record import TestResult

    work = (prepared / "assignment" / "attention.py").read_bytes()
    dice = sha256(suite.hash.encode() + work).digest()
    tests = [
        TestResult(
            id=f"t{number}",
            part=1 + number // 3,
            section=f"{1 + number // 3}.{1 + number % 3}",
            title=f"test {number}",
            visibility="hidden" if number % 2 else "public",
            points=float(dice[number] % 3),
            max_points=2.0,
            state="passed" if dice[number] % 3 == 2 else "failed",
            message="" if dice[number] % 3 == 2 else "wrong at step 1\n" * 40,
            seconds=time.monotonic() % 1,
        )
        for number in range(9)
    ]
    time.sleep(dice[-1] / 255 * 0.03)
    return SimpleNamespace(
        tests=tests,
        sandbox="portable",
        tier="stand-in",
        worker_notes="",
        diagnoses=(),
        generated_text="",
        expected_text="",
    )


def grade_with_stub() -> None:
    """The `grader` command with the stand-in; runs in a process of its own."""
    import functools

    from grader import grade_class as grader_run
    from grader.cli import main as cli
    from grader.running import child

    package = Path(os.environ[SUITE_VARIABLE]).parent / "package"
    suite = StubSuite(Path(os.environ[SUITE_VARIABLE]).name)
    course = grader_run.Course(package, ("attention",), ())

    def grading(out, course, secret, sandbox, regrade, *rest, **options):
        return child.Grading(
            out, stub_run, suite, suite.hash, "1", course, sandbox, regrade=regrade
        )

    grader_run.Course.load = lambda: course
    grader_run._grading = grading
    grader_run._require_sandbox = lambda name, *rest: "stand-in"
    grader_run.grade_all = functools.partial(
        grader_run.grade_all, preload=("grader.running.pool", "stub_grader")
    )
    cli.main()
