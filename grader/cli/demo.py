"""`make demo`: the main job on real input, told step by step.

Fetches a real trained model, grades the sample class in the sandbox, sets every verdict beside the
expected one, and shows the text that a correct decode and one with a wrong position generate.
"""

from __future__ import annotations

import json
import sys
import tempfile
import tomllib
from pathlib import Path

from rich.columns import Columns
from rich.console import Console
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from assignment.harness.real_text import greedy, right_text
from assignment.harness.words import plain
from grader.authoring.sample_class import write_class
from grader.base.errors import GraderError
from grader.base.notes import Note, in_words
from grader.base.places import EXAMPLES
from grader.base.seeds import load_secret
from grader.base.terminal import console_for_people
from grader.grade_class import grade_class
from grader.grades.policy_file import Policy
from grader.grading.real_model import MAPPED_NAME
from grader.intake.course import Course
from grader.intake.prepare import prepare
from grader.intake.submissions import find_submissions
from grader.reports.pages.site import build_report
from grader.results.record import SubmissionResult, read_record
from grader.sandbox import Limits, SandboxUnavailable, choose_sandbox
from grader.sandbox.problems import SubmissionProblem
from grader.sandbox.remote import RemoteStudent
from reference_model import smollm2

RESULTS, REPORT = Path("results"), Path("report")

N_TOKENS = 40
SIDE_BY_SIDE = ("correct-preallocated", "bug-position-zero")
# Forty greedy steps of a 135M model may take a while on an old laptop.
PATIENT = Limits(call_seconds=30.0, total_seconds=180.0)


def main() -> int:
    console = console_for_people()
    try:
        return _demo(console)
    except GraderError as problem:
        console.print(Text(plain(str(problem)), style="red"))
        return 2


def _demo(console: Console) -> int:
    with tempfile.TemporaryDirectory() as folder:
        class_folder = write_class(Path(folder) / "class")
        model = _real_model(console)
        sandbox = _sandbox(console)
        console.rule("Grading the sample class")
        secret = Path(folder) / "secret.hex"
        load_secret(secret)  # the demo's own, made without a word: these results are no grades
        grade_class(
            [class_folder],
            out=RESULTS,
            sandbox=sandbox,
            regrade=True,
            secret_file=secret,
            real_model=model is not None,
            console=console,
        )
        all_as_expected = _print_verdicts(console)
        if model is not None:
            _print_texts(class_folder, model, sandbox, console)
    console.rule()
    site = build_report(RESULTS, REPORT, Policy.load())
    console.print(f"The class in a browser: {site.index.resolve()}", soft_wrap=True)
    console.print(f"Results, one JSON file a submission: {RESULTS.resolve()}", soft_wrap=True)
    console.print("One of them in full: .venv/bin/grader show bug-position-zero")
    console.print("The submissions to read: .venv/bin/python -m examples FOLDER")
    return 0 if all_as_expected else 1


def _real_model(console: Console) -> Path | None:
    console.rule("A real trained model, SmolLM2-135M (93 MB, fetched once)")
    try:
        folder = smollm2.fetch()
    except smollm2.SmolLM2Unavailable as reason:
        console.print(Text(plain(f"Going on without it: {reason}"), style="yellow"))
        return None
    console.print(f"ready: {folder}", soft_wrap=True)
    return folder


def _sandbox(console: Console) -> str:
    """The sample class is this project's own, so a machine without a sandbox can still show it."""
    try:
        choose_sandbox("auto")
    except SandboxUnavailable as problem:
        console.print(Text(plain(f"NO SANDBOX: {problem}"), style="bold red"))
        console.print(
            "The sample submissions are this project's own, so the demo runs them without one. "
            "Never do that with submissions of others."
        )
        return "none"
    return "auto"


def _print_verdicts(console: Console) -> bool:
    """Each submission's result beside what it should be; True when all agree."""
    console.rule("Verdicts")
    expected = tomllib.loads((EXAMPLES / "expected.toml").read_text(encoding="utf-8"))
    columns = ("", "submission", "what it is", "expected", "found", "told as")
    table = Table(*columns, box=None, pad_edge=False)
    all_agree = True
    for name, entry in expected.items():
        result, refusal = read_record(RESULTS, name)
        agrees = result is not None and agrees_with(result, entry)
        all_agree &= agrees
        mark = Text("✓", style="green") if agrees else Text("✗", style="bold red")
        found = _in_words(lost_parts(result)) if result else _why_none(refusal)
        told = told_as(result) if result else ""
        what_it_should_lose = _in_words(set(entry["failing_parts"]))
        row = (mark, name, entry["verdict"], what_it_should_lose, Text(plain(found)), told)
        table.add_row(*row)
    console.print(table)
    return all_agree


def _why_none(refusal: Note | None) -> str:
    return in_words(refusal) if refusal else "no result"


def agrees_with(result: SubmissionResult, entry: dict) -> bool:
    """Whether a result has the state, the parts with lost points and the message expected of it."""
    messages = " ".join(test.message for test in result.tests if test.state != "passed")
    return (
        result.state == entry["state"]
        and lost_parts(result) == set(entry["failing_parts"])
        and entry.get("message", "") in messages
        and told_as(result) == entry.get("diagnosis", "")
    )


def lost_parts(result: SubmissionResult) -> set[int]:
    """The parts in which a submission lost points."""
    return {test.part for test in result.tests if test.points < test.max_points}


def told_as(result: SubmissionResult) -> str:
    """The known bugs that a submission was found to equal, where that is certain."""
    certain = [found.bugs[0] for found in result.diagnoses if len(found.bugs) == 1]
    return ", ".join(" and ".join(names) for names in certain)


def _in_words(parts: set[int]) -> str:
    numbers = ", ".join(str(part) for part in sorted(parts))
    return f"loses in {numbers}" if parts else "full marks"


def _print_texts(class_folder: Path, model: Path, sandbox: str, console: Console) -> None:
    """What two submissions make of the same prompt. The second raises no error, ever."""
    console.rule(f'Greedy text after "{right_text().prompt}"')
    panels = [
        Panel(Text(plain(_text_of(class_folder / name, model, sandbox))), title=name, width=58)
        for name in SIDE_BY_SIDE
    ]
    console.print(Columns(panels))
    console.print(
        "The right one rotates each new token at its own position, the wrong one at position 0: "
        "no error, plausible words, and the story drifts (L2 §5.3)."
    )


def _text_of(submission: Path, model: Path, sandbox: str) -> str:
    """Greedy text of one submission, decoded in the sandbox; or why there is none."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(model / "tokenizer.json"))
    prompt = right_text().prompt_tokens
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        course = Course.load()
        [found] = find_submissions([submission], course)
        prepared = prepare(found, Path(folder) / "submission", course)
        mapped = {MAPPED_NAME: model / "model.safetensors"}
        with RemoteStudent(choose_sandbox(sandbox), prepared.folder, PATIENT, 0, mapped) as student:
            try:
                config = json.loads((model / "config.json").read_text())
                params = student.mapped_params(MAPPED_NAME)
                tokens = greedy(student, config, params, prompt, N_TOKENS, seconds=float("inf"))
            except (SubmissionProblem, NotImplementedError) as problem:
                return f"(no text: {problem})"
    return tokenizer.decode(tokens)


if __name__ == "__main__":
    sys.exit(main())
