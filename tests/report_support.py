"""Made-up classes for the report's tests: records as the grader writes them, without grading."""

import math
import random
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from assignment.harness.known_bugs import known_bugs
from assignment.harness.parts import PARTS
from grader.results.record import (
    DiagnosisRecord,
    SubmissionResult,
    TestResult,
    make_result,
    write_record,
)

TITLES = ("The values are those of the reference", "Every shape works", "Inputs stay as they are")
HIDDEN_SECRET = "a hidden message 4f7a"
OUTPUT_SECRET = "printed by the submission 91cc"
FAMILY = "Ng Okafor Müller 王 García Tanaka Smith Popović Ivanova O_Brien".split()
GIVEN = "Ana Bo Chidi Dilnoza Émile Farah 小明 Goran Hye-jin Ines".split()


def make_test(part: int, section: str, title: str, name: str, visibility: str, **fields):
    """A test of the made-up suite, 1 point."""
    values = {"state": "passed", "points": 1.0, "max_points": 1.0, "seconds": 0.01} | fields
    if values["state"] != "passed":
        values["points"] = 0.0
    return TestResult(
        id=f"test_part{part}.py::test_{name}[{visibility}-case]",
        file=f"test_part{part}.py",
        function=f"test_{name}",
        case_set=visibility,
        case="case",
        part=part,
        section=section,
        title=title,
        visibility=visibility,
        **values,
    )


def failed_decode(visibility: str = "public", message: str = "") -> dict:
    """Fields of a decode test that fails from step 1 on."""
    steps = (3.1e-16, 0.12, 0.3, 0.21, 0.44, 0.4) if visibility == "public" else ()
    shape = "the logits: shape (6, 2, 37) and dtype float64 are right, values are not\n"
    return {
        "state": "failed",
        "message": message or f"{shape}first wrong at step 1, batch 0, token 0",
        "max_error": 0.44,
        "tolerance": 1e-9,
        "first_bad_step": 1,
        "error_by_step": steps,
        "where": "" if message else "first wrong at step 1, batch 0, token 0",
    }


def make_record(student: str, tests=(), **fields) -> SubmissionResult:
    """A graded record with sensible defaults."""
    defaults = {
        "source": "a folder",
        "submission_hash": "0" * 16,
        "suite_hash": "1" * 16,
        "suite_version": "1",
        "state": "graded",
        "sandbox": "bubblewrap",
        "sandbox_tier": "bubblewrap",
        "seconds": 4.0,
    }
    return make_result(student=student, tests=tests, **(defaults | fields))


def class_records(count: int, seed: int = 0) -> Iterator[SubmissionResult]:
    """`count` students: some right, most with a bug, a few with `error`."""
    rng = random.Random(seed)
    for number in range(count):
        name = f"{rng.choice(FAMILY)}_{rng.choice(GIVEN)}_{1000 + number}"
        yield _member(name, number, rng)


def make_class(folder: Path, count: int) -> None:
    """The records of such a class in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    for record in class_records(count):
        write_record(folder, record)


def _member(name: str, number: int, rng: random.Random) -> SubmissionResult:
    if number % 300 == 7:
        return make_record(name, state="error", reason="The worker was killed by SIGKILL")
    skill = rng.betavariate(4, 1.3)
    bug = (
        rng.choice(list(known_bugs().values())[: 12 + number % 60]) if rng.random() < 0.4 else None
    )
    finished = len(PARTS) if rng.random() < 0.85 else rng.randrange(1, len(PARTS))
    tests = [test for part in PARTS for test in _tests(part, skill, bug, finished, rng)]
    diagnoses = ()
    if bug:
        fact = f"Part {bug.part} equals, in 7 tests to 9e-16, {bug.summary.en}."
        diagnoses = (
            DiagnosisRecord(part=bug.part, bugs=((bug.name,),), n_tests=7, error=9e-16, fact=fact),
        )
    return make_record(
        name,
        tests,
        diagnoses=diagnoses,
        state="partial" if any(test.state == "out_of_time" for test in tests) else "graded",
        seconds=rng.lognormvariate(1.7, 0.5),
    )


def _tests(part, skill: float, bug, finished: int, rng: random.Random):
    for function in part.functions:
        section = part.section_of(function)
        for number, title in enumerate(TITLES):
            fails = (bug and bug.part == part.number and number < 2) or (
                rng.random() > skill + 0.25 * math.exp(-number)
            )
            state = "failed" if fails else "passed"
            if part.number > finished:
                state = "not_started"
            elif fails and rng.random() < 0.02:
                state = "out_of_time"
            for visibility in ("public", "hidden"):
                fields = {"state": state}
                if state == "failed":
                    fields = failed_decode(visibility)
                    if part.number != 4:
                        fields["error_by_step"] = ()
                elif state == "passed" and rng.random() < 0.02:
                    fields["with_trusted_parts"] = True
                name = f"{function}_{number}"
                yield make_test(
                    part.number, section, f"{title}: {function}", name, visibility, **fields
                )


# ------------------------------------------------------------------------------------- browser


def require_chromium() -> str:
    """The program, or a skip."""
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    if found is None:
        pytest.skip("chromium is not installed")
    return found


def dump_dom(page: Path | str, fragment: str = "", *options: str) -> tuple[str, str]:
    """The page's document after its script has run, as HTML, and what the browser logged."""
    with tempfile.TemporaryDirectory() as profile:
        command = [
            require_chromium(),
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--enable-logging=stderr",
            f"--user-data-dir={profile}",
            *(options or ["--virtual-time-budget=4000"]),
            "--dump-dom",
            f"{page if isinstance(page, str) else page.resolve().as_uri()}{fragment}",
        ]
        done = subprocess.run(command, capture_output=True, timeout=120, check=True)
    log = done.stderr.decode(errors="replace").splitlines()
    # Others of the browser's lines are about the machine: no bus, no graphics.
    return done.stdout.decode(), "\n".join(line for line in log if "CONSOLE" in line)
