"""Grades a class in this process with nonsense in place of every sentence (see test_facts.py).

python tests/speak_nonsense.py OUT SECRET SANDBOX SUBMISSION ...

What cannot be read cannot decide. No two sentences are alike, not even one that is said twice, and
many begin as a true one of some older grader would, so that reading them gives a wrong answer.
"""

import random
import string
import sys
import tempfile
from pathlib import Path

from assignment.harness import words as words_of_the_homework
from grader.base import words as words_of_the_grader

LIES = (
    "",
    "",
    "first wrong at ",
    "第一处错误：",
    "7.3 ",
    "none (",
    "podman ",
    "attention.py line 3 is not valid Python: ",
    "importing attention.py failed: ValueError: ",
    "another submission has the same id cyd; both are graded",
    "an earlier ",
    "right with trusted versions of the other parts",
)
CHANCE = random.Random(0)


def nonsense(english: str) -> str:
    """The fields of a text, in their order, among letters drawn anew each time, in one line."""
    pieces = [CHANCE.choice(LIES)]
    for text, name, spec, conversion in string.Formatter().parse(english):
        letters = CHANCE.choices(string.ascii_letters + " [(/-", k=max(len(text), 3))
        pieces.append("".join(letters))
        if name is not None:
            how = (f"!{conversion}" if conversion else "") + (f":{spec}" if spec else "")
            pieces.append(f"{{{name}{how}}}")
    return "".join(pieces)


def grade(out: Path, secret: Path, sandbox: str, submissions: list[Path]) -> None:
    """Grade as the pool's children do, one after another."""
    from grader.base.seeds import load_secret
    from grader.grading.suite import SUITE_VERSION, Suite, run_suite
    from grader.intake.course import Course
    from grader.intake.submissions import find_submissions
    from grader.running.child import Grading, grade_one
    from grader.running.locks import results_lock
    from grader.running.pool import keep
    from grader.sandbox import Limits

    with results_lock(out):
        suite = Suite.load(load_secret(secret).key, False, out)
        grading = Grading(
            out=out,
            run=run_suite,
            suite=suite,
            suite_hash=suite.hash,
            suite_version=SUITE_VERSION,
            course=Course.load(),
            sandbox=sandbox,
            limits=Limits(),
        )
        for found in find_submissions(submissions, grading.course):
            with tempfile.TemporaryDirectory() as work:
                Path(work).chmod(0o711)
                keep(*grade_one(found, grading, 1, Path(work)), grading)
        suite.close()


if __name__ == "__main__":
    # Before anything else is imported, for modules take the function by its name.
    words_of_the_homework.Dictionary.spoken = lambda self, english: nonsense(english)
    for module in (words_of_the_homework, words_of_the_grader):
        module.spoken = nonsense
    out, secret, sandbox, *submissions = sys.argv[1:]
    grade(Path(out), Path(secret), sandbox, [Path(path) for path in submissions])
