"""Grades one submission where Gradescope put it: what run_autograder runs.

python -m grader.integrations.release.autograder /autograder
    from submission/ to results/results.json
python -m grader.integrations.release.autograder --check /autograder
    say which sandbox works here

Gradescope takes a results.json with neither score nor tests for incomplete and does not say what
happens then; what it documents is that without the file the autograder has failed and there is no
score. So a failure of ours leaves no file: never a zero. The words go to the standard output, which
Gradescope shows to instructors only.
"""

import contextlib
import json
import os
import sys
import tempfile
import traceback
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from assignment.harness.words import plain
from grader.base.errors import GraderError
from grader.base.notes import in_words
from grader.base.seeds import load_secret
from grader.base.words import LANGUAGES, language, speak
from grader.grades.lateness import Late
from grader.grades.policy import score
from grader.grades.policy_file import Policy
from grader.intake.course import Course
from grader.intake.ids import student_id
from grader.intake.submissions import Found, find_submissions
from grader.integrations.export.gradescope import results_json
from grader.integrations.release.gradescope import POLICY, SECRET, SETTINGS
from grader.results.record import SubmissionResult, read_record, write_atomically
from grader.running.child import Grading
from grader.running.locks import results_lock
from grader.running.pool import grade_all

ENV_SANDBOX = "AUTOGRADER_SANDBOX"
SLOT_SECONDS = 500.0  # the script around this waits for 570, Gradescope for 600
MAX_METADATA_BYTES = 64 * 1024 * 1024  # it holds the results of all earlier attempts
NOBODY = "submission"


@dataclass(frozen=True)
class Metadata:
    """What submission_metadata.json says, as far as it can be read.

    Attributes:
        students: e-mail address, else name, of each of the group.
        earlier: how many submissions were made before this one.
    """

    students: tuple[str, ...] = ()
    submitted_at: datetime | None = None
    earlier: int = 0


def main(arguments: Sequence[str]) -> int:
    """Exit code 0 where results.json was written, else 1."""
    check, root = "--check" in arguments, Path(arguments[-1])
    try:
        if check:
            _check(root)
        else:
            grade(root)
    except GraderError as problem:
        print(f"The autograder failed, and there is no score: {problem}")
    except Exception:  # whatever it is, it is not the student's fault
        traceback.print_exc(file=sys.stdout)
        print("The autograder failed, and there is no score. That is a bug of the grader.")
    else:
        return 0
    return 1


def grade(root: Path) -> None:
    """Grade ROOT/submission and write ROOT/results/results.json.

    Raises:
        GraderError: there is no grade, by the grader's fault. Nothing is written then.
    """
    # Made before anything of a student's is looked at; the sandbox's users cannot enter it.
    results = root / "results"
    results.mkdir(mode=0o700, exist_ok=True)
    config = root / "source" / "config"
    policy, late = _policy(config)
    speak(_language(config))
    metadata = read_metadata(root / "submission_metadata.json")
    found = the_submission(root / "submission", metadata)
    record = _grade(found, _secret(config))
    print(f"{record.student}: {record.state}, sandbox: {record.sandbox_tier or 'not needed'}")
    if record.state == "error":
        print(plain(record.output_tail, lines=True))
        raise GraderError(record.reason)
    # Of a group, whoever has the latest due date counts.
    due_of = {student: due for student in metadata.students if (due := policy.due_date(student))}
    student = max(due_of, key=due_of.__getitem__) if late and due_of else None
    scored = score(record, policy, metadata.submitted_at if late else None, student)
    content = results_json(record, scored, policy)
    content["extra_data"]["attempt"] = metadata.earlier + 1
    text = json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False)
    write_atomically(results / "results.json", text.encode() + b"\n")


def the_submission(folder: Path, metadata: Metadata = Metadata()) -> Found:
    """The one submission that `folder` is, however its files lie in it."""
    student = student_id(metadata.students[0]) if metadata.students else NOBODY
    try:
        several = find_submissions([folder], Course.load())
    except GraderError:  # nothing recognisable: then its record says what is missing
        several = []
    if len(several) == 1 and several[0].kind != "nothing":
        return replace(several[0], student=student)
    return Found(student, "folder", (folder,))


def read_metadata(path: Path) -> Metadata:
    """The metadata; where the file is absent or strange, what of it can be understood."""
    try:
        with path.open("rb") as file:
            content = json.loads(file.read(MAX_METADATA_BYTES))
    except (OSError, ValueError, RecursionError) as problem:
        print(f"submission_metadata.json could not be read: {plain(str(problem))}")
        content = {}
    if not isinstance(content, dict):
        content = {}
    users, earlier = content.get("users"), content.get("previous_submissions")
    names = [_name(user) for user in users] if isinstance(users, list) else []
    return Metadata(
        students=tuple(filter(None, names)),
        submitted_at=_moment(content.get("created_at")),
        earlier=len(earlier) if isinstance(earlier, list) else 0,
    )


def _name(user: Any) -> str:
    told = [user.get("email"), user.get("name")] if isinstance(user, dict) else []
    return next((text.strip() for text in told if isinstance(text, str) and text.strip()), "")


def _moment(text: Any) -> datetime | None:
    with contextlib.suppress(ValueError, TypeError):
        moment = datetime.fromisoformat(text)
        return moment if moment.utcoffset() is not None else None
    return None


def _language(config: Path) -> str:
    """Of the messages; English where an older autograder.zip does not say."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        chosen = json.loads((config / SETTINGS).read_text(encoding="utf-8")).get("language")
        return chosen if chosen in LANGUAGES else "en"
    return "en"


def _policy(config: Path) -> tuple[Policy, bool]:
    """The policy, and whether it decides on lateness; else Gradescope does."""
    policy = Policy.load(config / POLICY)
    try:
        late = json.loads((config / SETTINGS).read_text(encoding="utf-8"))["late"] is True
    except (OSError, ValueError, KeyError, TypeError) as problem:
        raise GraderError(
            f"{SETTINGS} of the autograder is damaged ({problem}); make autograder.zip again."
        ) from None
    if late:
        return policy, True
    return policy.model_copy(update={"late": Late(), "due_of": {}}), False


def _secret(config: Path) -> bytes:
    path = config / SECRET
    if not path.is_file():  # a new one would grade this submission by other cases than all others
        raise GraderError(f"The autograder has no {SECRET}; make autograder.zip again.")
    return load_secret(path).key


def _grade(found: Found, secret: bytes) -> SubmissionResult:
    from grader.grading.submission import run_suite
    from grader.grading.suite import SUITE_VERSION, Suite
    from grader.sandbox import Limits, SandboxUnavailable, choose_sandbox

    sandbox = os.environ.get(ENV_SANDBOX, "auto")
    try:
        choose_sandbox(sandbox)
    except SandboxUnavailable as problem:
        raise GraderError(f"No sandbox works in this container: {problem}") from None
    with tempfile.TemporaryDirectory(prefix="autograder-") as folder:
        out = Path(folder)
        out.chmod(0o711)  # the sandbox's user passes through by name, and cannot list it
        with results_lock(out), contextlib.closing(Suite.load(secret, False, out)) as suite:
            grading = Grading(
                out=out,
                run=run_suite,
                suite=suite,
                suite_hash=suite.hash,
                suite_version=SUITE_VERSION,
                course=Course.load(),
                sandbox=sandbox,
                limits=Limits(slot_seconds=SLOT_SECONDS),
                language=language(),
            )
            for _ in grade_all([found], grading, jobs=1):
                pass
        record, refusal = read_record(out, found.student)
    if record is None:
        raise GraderError(in_words(refusal) if refusal else "The grader left no result.")
    return record


def _check(root: Path) -> None:
    """At the image's build: everything is there; a submission's container may be another."""
    from grader.grading.suite import Suite
    from grader.sandbox import SandboxUnavailable, choose_sandbox

    config = root / "source" / "config"
    _policy(config)
    with tempfile.TemporaryDirectory(prefix="autograder-") as folder:
        Suite.load(_secret(config), False, Path(folder)).close()
    try:
        print(f"Sandbox: {choose_sandbox(os.environ.get(ENV_SANDBOX, 'auto')).tier}")
    except SandboxUnavailable as problem:
        print(f"WARNING: no sandbox works while the image is built: {problem}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
