"""The hostile corpus through the real grader: every verdict, and nothing left behind.

The corpus is graded once, by a process of its own, between three honest submissions. Another
sandbox than the automatic one: `HOSTILE_SANDBOX=portable python -m pytest tests/test_hostile.py`.
"""

import contextlib
import hashlib
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from hostile import arena, sources
from hostile.checklist import CHECKLIST
from hostile.verdict import problems
from rich.console import Console
from typer.testing import CliRunner

from grader.base.errors import NothingToGrade
from grader.cli.main import app
from grader.grade_class import grade_class
from grader.intake.course import Course
from grader.intake.prepare import prepare
from grader.intake.submissions import find_submissions
from grader.reports.class_table import print_class, print_result
from grader.results.record import SubmissionResult, read_record
from grader.sandbox import SandboxUnavailable, choose_sandbox

SANDBOX = os.environ.get("HOSTILE_SANDBOX", "auto")
if SANDBOX == "none":
    pytest.exit("HOSTILE_SANDBOX=none: the corpus would do what it tries, to this machine", 2)
# Imported from the current folder, these would run with the grader's rights.
SPIES = ("numpy", "pytest", "sitecustomize", "conftest", "signal", "json", "grader", "assignment")
SETTINGS = ("pytest.ini", "tox.ini", "setup.cfg", "pyproject.toml")
MEMORY_GROWTH_MIB = 16
PEAK_MIB = 400


def snapshot(folder: Path) -> dict[str, str]:
    """Every entry below a folder, with a digest of what it holds."""
    entries = {}
    for path in folder.rglob("*"):
        plain = path.is_file() and not path.is_symlink()
        content = path.read_bytes() if plain else os.fsencode(str(path.is_dir()))
        entries[ascii(str(path))] = hashlib.sha256(content).hexdigest()
    return entries


def make_current_folder(folder: Path) -> Path:
    folder.mkdir()
    for name in SPIES:
        (folder / f"{name}.py").write_text(
            f"open({str(folder / 'imported')!r}, 'a').write({name!r})"
        )
    for name in SETTINGS:
        (folder / name).write_text("[pytest]\naddopts = --hostile\n")
    return folder


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """The corpus, graded: its folder, its results, its report, and its surroundings before."""
    try:
        choose_sandbox(SANDBOX)
    except SandboxUnavailable as problem:
        pytest.skip(f"no sandbox here: {str(problem).splitlines()[0]}")
    base = tmp_path_factory.mktemp("hostile")
    here, home, temporary = make_current_folder(base / "here"), base / "home", base / "temporary"
    home.mkdir()
    temporary.mkdir()
    environment = {
        **{k: v for k, v in os.environ.items() if not k.startswith(("PYTEST_", "XDG_"))},
        "PYTHONPATH": str(arena.COURSE),
        "PYTHONSAFEPATH": "1",
        "HOME": str(home),
        "TMPDIR": str(temporary),
        "HOSTILE_SECRET": "hostile-secret",
    }
    before = snapshot(here)
    command = [sys.executable, "-m", "tests.hostile", "--sandbox", SANDBOX]
    command += ["--folder", str(base / "work"), "--report", str(base / "report.json")]
    done = subprocess.run(command, cwd=here, env=environment, capture_output=True, text=True)
    assert (base / "report.json").exists(), done.stdout + done.stderr
    report = arena.Report(**json.loads((base / "report.json").read_text()))
    return SimpleNamespace(
        work=base / "work",
        out=base / "work" / "results",
        report=report,
        here=here,
        here_before=before,
        home=home,
        temporary=temporary,
    )


def record_of(run, name: str) -> SubmissionResult:
    result, note = read_record(run.out, run.report.students[name])
    assert result is not None, note
    return result


@pytest.mark.parametrize("attack", arena.ALL, ids=lambda attack: attack.name)
def test_verdict(run, attack):
    found = problems(attack, record_of(run, attack.name))
    assert not found, f"hoped for: {attack.hopes}\n" + "\n".join(found)


def test_no_process_and_no_file_is_left(run):
    assert run.report.leftovers == []
    assert snapshot(run.here) == run.here_before
    # hypothesis keeps notes on the tests' own code there, see grader.grading.suite.
    assert [path for path in run.home.rglob("*") if "kv-cache-homework" not in str(path)] in (
        [],
        [run.home / ".cache"],
    )
    assert [path for path in run.temporary.rglob("*") if path.is_file()] == []
    records = {f"{student}.json" for student in run.report.students.values()}
    shown = {path.name for path in run.out.iterdir() if not path.name.startswith(".")}
    assert shown == records


def test_memory_stays_flat(run):
    """Of the grading process over the run, and of each process that grades one submission."""
    after_ten, *later = run.report.memory[10:]
    assert max(later) - after_ten < MEMORY_GROWTH_MIB
    assert max(run.report.peaks) < PEAK_MIB


def without_times(result: SubmissionResult) -> dict:
    other = {"student", "source", "graded_at", "seconds", "suite_hash", "limits"}
    content = result.model_dump(mode="json", exclude=other)
    for test in content["tests"]:
        del test["seconds"]
    return content


def test_honest_work_beside_the_corpus_is_graded_as_alone(run, tmp_path):
    """Before, between and after the others; the limits are those of a class."""
    grade_class(
        [run.work / "class" / "honest_first"],
        tmp_path,
        sandbox=SANDBOX,
        secret_file=run.work / "secret.hex",
        real_model=False,
        quiet=True,
    )
    alone, note = read_record(tmp_path, "honest_first")
    assert alone is not None, note
    assert alone.total == alone.max_total > 100
    for name in arena.HONEST:
        assert without_times(record_of(run, name)) == without_times(alone)


def no_such_number(text: str):
    raise ValueError(f"{text} is not JSON")


def test_every_record_is_json(run):
    for path in run.out.glob("*.json"):
        content = json.loads(path.read_text(encoding="utf-8"), parse_constant=no_such_number)
        assert content["student"] == path.stem


def control_characters(text: str) -> set[str]:
    directions = map(chr, (*range(0x202A, 0x202F), *range(0x2066, 0x206A)))
    controls = (chr(n) for n in (*range(32), *range(0x7F, 0xA0)) if chr(n) != "\n")
    return {ascii(char) for char in (*controls, *directions) if char in text}


def each_message_once(result: SubmissionResult) -> SubmissionResult:
    """Without the tests that say what another one says: printing 241 lines each takes long."""
    said = {(test.state, test.message, test.own_message): test for test in result.tests}
    return result.model_copy(update={"tests": tuple(said.values())})


def test_nothing_hostile_reaches_the_terminal(run):
    shown = io.StringIO()
    console = Console(file=shown, width=200, color_system=None)
    for name in run.report.students:
        print_result(each_message_once(record_of(run, name)), console, every_test=True)
    summaries = [SimpleNamespace(**summary) for summary in run.report.summaries]
    print_class(summaries, console)
    print_class(summaries, Console(file=shown, width=80, color_system=None))
    assert "<script>" in shown.getvalue()
    assert control_characters(shown.getvalue()) == set()


@pytest.mark.parametrize("name", ["html_and_ansi", "named_terminal", "named_formula"])
def test_grader_show_is_plain(run, name):
    student = run.report.students[name]
    done = CliRunner().invoke(app, ["show", student, "--results", str(run.out)])
    assert done.exit_code == 0, done.output
    assert student in done.output
    assert control_characters(done.output) == set()


def test_folders_without_end_are_a_verdict(tmp_path):
    """Deeper than Python's stack; not in the class, for it is as hard to remove as to read."""
    submission, levels = tmp_path / "ana", 1200
    submission.mkdir()
    (submission / "rope.py").write_text("")
    current = Path.cwd()
    os.chdir(submission)
    try:
        for _ in range(levels):
            os.mkdir("d")  # noqa: PTH102 - the path would be too long to name
            os.chdir("d")
    finally:
        os.chdir(current)
    try:
        course = Course.load()
        (found,) = find_submissions([submission], course)
        # Newer Pythons walk without a stack: then the work is taken.
        with contextlib.suppress(NothingToGrade):
            assert prepare(found, tmp_path / "out", course).taken == ("rope.py",)
    finally:
        for level in range(levels, 0, -1):
            os.rmdir(f"{submission}{'/d' * level}")  # noqa: PTH106


def test_the_corpus_covers_the_checklist():
    names = {attack.name for attack in arena.ALL}
    assert len(names) == len(arena.ALL) >= 75
    assert {name for item in CHECKLIST.values() for name in item} <= names
    assert all(bool(attack.build) != isinstance(attack, sources.Program) for attack in arena.ALL)


def test_a_program_with_a_misspelled_key_is_refused():
    with pytest.raises(ValueError, match=r"typo: unknown keys \['sais'\]"):
        sources._program({"name": "typo", "hopes": "", "code": "pass", "sais": ["no"]})
