"""The command line: help, exit codes, sentences instead of tracebacks, the doctor."""

import io
import json
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from report_support import make_record
from rich.console import Console
from typer.testing import CliRunner

from grader import grade_class as grader_run
from grader import sandbox
from grader.base.notes import note
from grader.cli import doctor, main
from grader.intake.course import Course
from grader.results.record import TestResult, make_result, write_record
from grader.results.summary import Summary, summarise
from grader.running.child import Grading

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def command(monkeypatch, tmp_path):
    """Runs a command line; grading itself is replaced, with `states` of the submissions to come."""
    course = Course(tmp_path / "package", ("attention", "rope"), ())
    states: dict[str, str] = {}
    misnamed: set[str] = set()
    seen = SimpleNamespace(states=states, misnamed=misnamed, grading=None, jobs=None)
    suite = SimpleNamespace(
        blank_tests=(), real_model=None, hash_now=lambda key: "s", close=lambda: None
    )

    def grading(out, course, secret, sandbox, regrade, real_model, part12) -> Grading:
        return Grading(out, print, suite, "s", "1", course, sandbox, regrade=regrade)

    def grade_all(found, grading, jobs, done):
        seen.grading, seen.jobs = grading, jobs
        for submission in found:
            state = states.get(submission.student, "graded")
            if state == "interrupt":
                raise KeyboardInterrupt
            points = ((1, 1.5, 2.0),)
            done.append(
                Summary(
                    submission.student,
                    state,
                    False,
                    points,
                    *(1.5, 0.0, 1.5, 2.0),
                    problem="a [b]problem",
                    misnamed=submission.student in misnamed,
                )
            )
            yield done[-1]

    monkeypatch.setattr(grader_run.Course, "load", lambda: course)
    monkeypatch.setattr(grader_run, "_grading", grading)
    monkeypatch.setattr(grader_run, "grade_all", grade_all)
    monkeypatch.setattr(grader_run, "_require_sandbox", lambda name: f"fake {name}")
    monkeypatch.setenv("GRADER_SECRET_FILE", str(tmp_path / "secret.hex"))
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str):
        seen.result = CliRunner().invoke(main.app, [str(a) for a in arguments])
        return seen.result

    seen.run = run
    return seen


def hand_in(folder: Path, *students: str) -> Path:
    for student in students:
        (folder / student).mkdir(parents=True)
        (folder / student / "attention.py").touch()
    return folder


def test_help_names_every_command_and_option(command):
    assert all(name in command.run("--help").output for name in ("run", "show", "doctor"))
    text = command.run("run", "--help").output
    for option in ("--out", "--jobs", "--sandbox", "--regrade", "--secret-file", "--quiet"):
        assert option in text
    assert "--real-model" in text and "--no-real-model" in text


def test_all_graded_is_exit_code_0_with_a_table(command, tmp_path):
    result = command.run("run", hand_in(tmp_path / "class", "ana", "bob"), "--jobs", "1")
    assert result.exit_code == 0
    assert "2 submissions: 2 graded." in result.output
    assert "of 2" in result.output
    assert re.search(r"ana +graded .* 1\.5 +a \[b\]problem", result.output)
    assert "A new secret for the hidden cases was made" in result.output
    assert "sandbox: fake auto" in result.output
    assert command.jobs == 1


def test_options_reach_the_pool(command, tmp_path):
    work = hand_in(tmp_path / "class", "ana", "bob")
    command.run("run", work, "--regrade", "--sandbox", "bubblewrap", "--out", tmp_path / "r")
    assert command.grading.accept_names is False
    assert command.grading.regrade is True
    assert command.grading.sandbox == "bubblewrap"
    assert command.grading.out == tmp_path / "r"


def test_only_some_are_graded_where_that_is_asked_for(command, tmp_path):
    work = hand_in(tmp_path / "class", "ana", "bea", "bob")
    said = command.run("run", work, "--only", "ana", "--only", "b?b").output
    assert "2 submissions: 2 graded." in said and "bea" not in said
    said = command.run("run", work, "--only", "anna", "--only", "bob")
    assert said.exit_code == 2
    assert "No submission has the id 'anna'. Did you mean: ana?" in said.output


def test_a_run_without_a_path_takes_those_of_the_last_one(command, tmp_path):
    result = command.run("run")
    assert result.exit_code == 2 and "Name the submissions: no earlier run into results/" in (
        " ".join(result.output.split())
    )
    work = hand_in(tmp_path / "class", "ana", "bob")
    assert command.run("run", work).exit_code == 0
    assert "1 submission: 1 graded." in command.run("run", "--only", "ana").output
    work.rename(tmp_path / "elsewhere")
    assert "not there any more" in " ".join(command.run("run").output.split())


def test_a_piece_of_a_class_keeps_the_ids_of_the_class(command, tmp_path):
    """The path below what was handed in, whatever a later run names of it."""
    hand_in(tmp_path / "class" / "B", "bob", "bea")
    hand_in(tmp_path / "class" / "A", "ann")
    command.run("run", tmp_path / "class")
    said = command.run("run", tmp_path / "class" / "B" / "bob").output
    assert "1 submission: 1 graded." in said and re.search(r"(?m)^B_bob ", said)
    said = command.run("run", tmp_path / "class" / "B").output
    assert re.search(r"(?m)^B_bea ", said) and re.search(r"(?m)^B_bob ", said)
    said = command.run("run", tmp_path / "class" / "B", "--out", tmp_path / "other").output
    assert re.search(r"(?m)^bob ", said)  # there, the section is all that was handed in


def test_those_whose_grading_failed_are_graded_again(command, tmp_path):
    work = hand_in(tmp_path / "class", "ana", "bea", "bob", "cyd")
    (tmp_path / "results").mkdir()
    for student, state in (("ana", "graded"), ("bea", "error"), ("bob", "partial")):
        write_record(tmp_path / "results", make_record(student, state=state))
    said = command.run("run", work, "--failed").output
    assert "2 submissions: 2 graded." in said and not re.search(r"(?m)^(ana|cyd) ", said)
    assert command.grading.regrade is True
    assert "1 submission: 1 graded." in command.run("run", "--state", "graded").output
    said = " ".join(command.run("run", "--state", "missing").output.split())
    assert "has the state missing; there are: 1 error, 1 graded, 1 partial." in said


def test_misnamed_files_are_told_at_the_end_of_a_run(command, tmp_path):
    command.misnamed.add("bob")
    work = hand_in(tmp_path / "class", "ana", "bob")
    said = " ".join(command.run("run", work, "--accept-names").output.split())
    assert "may be meant for a module under another name: bob. --accept-names takes" in said
    assert command.grading.accept_names is True


def test_a_misnamed_file_is_the_first_problem():
    failed = a_test(1, "failed", message="wrong")
    result = make_result(
        student="ana",
        source="x",
        submission_hash="h",
        suite_hash="s",
        suite_version="1",
        state="graded",
        tests=[failed],
        notes=[note("near_miss", found="rope (1).py", expected="rope.py")],
    )
    told = summarise(result)
    assert told.misnamed
    assert told.problem == "found rope (1).py: rename it to rope.py if it is meant"


def test_an_error_is_exit_code_1_and_says_whose_fault_it_is(command, tmp_path):
    command.states["bob"] = "error"
    result = command.run("run", hand_in(tmp_path / "class", "ana", "bob"), "--quiet")
    assert result.exit_code == 1
    assert "the grader failed, not the student" in result.output
    assert "ana" not in result.output


def test_interrupt_says_what_is_kept(command, tmp_path):
    command.states["cyd"] = "interrupt"
    result = command.run("run", hand_in(tmp_path / "class", "ana", "bob", "cyd"))
    assert result.exit_code == 130
    assert "Stopped. 2 of 3 results are kept" in result.output


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("run",), "Name the submissions: no earlier run"),
        (
            ("run", "class", "--state", "fine"),
            "There is no state 'fine'; there are graded, partial",
        ),
        (("run", "absent"), "absent does not exist"),
        (("run", "notes.txt"), "notes.txt is not a submission"),
        (("run", "empty"), "No submission was found"),
        (("run", "class", "--sandbox", "jail"), "jail"),
        (("run", "class", "--jobs", "0"), "--jobs"),
        (("run", "class", "--out", "notes.txt"), "Results cannot be written to notes.txt"),
        (("run", "class", "--secret-file", "notes.txt"), "notes.txt is malformed"),
        (("run", "class", "--secret-file", "notes.txt/x"), "could not be made"),
        (("show", "ana"), "There is no result of 'ana'"),
        (("show", "../secret"), "There is no result of '../secret'"),
        (("fly",), "fly"),
    ],
)
def test_wrong_use_is_a_sentence_and_exit_code_2(arguments, words, command, tmp_path):
    (tmp_path / "notes.txt").write_text("x")
    (tmp_path / "empty").mkdir()
    hand_in(tmp_path / "class", "ana", "bob")
    result = command.run(*arguments)
    assert result.exit_code == 2, result.output
    assert words in result.output
    assert "Traceback" not in result.output


def test_a_bug_of_the_grader_is_a_sentence_too(monkeypatch, capsys):
    def broken():
        raise RuntimeError("boom \x1b[2J")

    monkeypatch.setattr(main, "app", broken)
    with pytest.raises(SystemExit) as caught:
        main.main()
    assert caught.value.code == 3
    text = capsys.readouterr().err
    assert "The grader itself failed: RuntimeError: boom" in text
    assert "\x1b" not in text and "Traceback" not in text


def test_help_waits_for_nothing_that_it_does_not_need():
    """numpy, pydantic and the like are most of a second; who asks what there is needs none."""
    heavy = {"numpy", "pydantic", "jinja2", "pytest", "rich.progress", "rich.table"}
    code = f"import grader.cli.main, sys; print(sorted({heavy!r} & sys.modules.keys()))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_name_of_a_submission_cannot_write_to_the_terminal(command, tmp_path):
    work = hand_in(tmp_path / "class", "ana\x1b[31m", "bob")
    result = command.run("run", work)
    assert result.exit_code == 0
    assert "\x1b" not in result.output


def test_show_prints_failures_of_one_student(command, tmp_path):
    test = {
        "id": "t",
        "part": 4,
        "section": "4.2",
        "title": "decode_step",
        "visibility": "hidden",
        "points": 0.0,
        "max_points": 2.0,
        "state": "failed",
        "message": "step 3 is wrong",
        "first_bad_step": 3,
        "max_error": 0.25,
        "tolerance": 1e-9,
    }
    result = make_result(
        student="ana",
        source="ana.zip",
        submission_hash="h",
        suite_hash="s",
        suite_version="1",
        state="graded",
        tests=[TestResult(**test)],
        notes=[note("inner_archive", file="old.zip")],
    )
    (tmp_path / "results").mkdir()
    write_record(tmp_path / "results", result)
    text = command.run("show", "ana").output
    for words in (
        "0/2 points",
        "4.2 decode_step",
        "step 3 is wrong",
        "first bad step 3, largest error 0.25, tolerance 1e-09",
        "note: old.zip is an archive inside the submission and was ignored",
    ):
        assert words in text
    assert "There are: ana." in command.run("show", "bob").output
    write_record(tmp_path / "results", result.model_copy(update={"student": "../eve"}))
    assert "There is no result of '../eve'" in command.run("show", "../eve").output
    path = tmp_path / "results" / "ana.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"total": 2.0}))
    assert "damaged or not the grader's" in command.run("show", "ana").output


def test_show_takes_the_beginning_of_an_id_and_suggests(command, tmp_path):
    begun = a_test(1, "not_started")
    started = [a_test(2, "not_started"), a_test(2, "failed", message="off by one")]
    (tmp_path / "results").mkdir()
    for student in ("Ana_Lee", "bob-1", "bob-2"):
        result = make_result(
            student=student,
            source="x",
            submission_hash="h",
            suite_hash="s",
            suite_version="1",
            state="graded",
            tests=[begun, *started],
            notes=[note("inner_archive", file="old.zip")],
        )
        write_record(tmp_path / "results", result)
    text = command.run("show", "ana").output
    assert text.startswith("Ana_Lee  graded")
    assert text.index("note: old.zip") < text.index("Part 1")
    assert "Part 1  public 0/1, hidden 0/0, not started (--all shows its tests)" in text
    assert "· 1.1 title" not in text and "· 2.1 title" in text and "off by one" in text
    assert "· 1.1 title" in command.run("show", "ana", "--all").output
    assert "Did you mean: bob-1, bob-2?" in command.run("show", "bob").output
    assert "Did you mean: Ana_Lee?" in command.run("show", "anna_lee").output
    assert "by the policy" not in text
    (tmp_path / "policy.toml").write_text("")
    shown = command.run("show", "ana", "--policy", str(tmp_path / "policy.toml")).output
    assert "by the policy: 0 of 3" in shown


def a_test(part: int, state: str, message: str = "") -> TestResult:
    return TestResult(
        id=f"{part}{state}",
        part=part,
        section=f"{part}.1",
        title="title",
        visibility="public",
        points=0.0,
        max_points=1.0,
        state=state,
        message=message,
    )


def test_no_sandbox_is_said_loudly_and_a_missing_one_is_a_sentence(monkeypatch, capsys):
    class Unavailable(Exception):
        pass

    def choose(name):
        if name == "none":
            return SimpleNamespace(kind="none", tier="none")
        raise Unavailable("bwrap is not there.")

    monkeypatch.setattr(sandbox, "SandboxUnavailable", Unavailable)
    monkeypatch.setattr(sandbox, "choose_sandbox", choose)
    assert grader_run._require_sandbox("none") == "none"
    assert "WARNING: no sandbox" in capsys.readouterr().err
    with pytest.raises(main.GraderError, match=r"bwrap is not there\. `grader doctor`"):
        grader_run._require_sandbox("auto")


# ------------------------------------------------------------------------------------- doctor


def report(checks) -> tuple[bool, str]:
    console = Console(record=True, width=200, file=io.StringIO())
    return doctor.print_checks(iter(checks), console), console.export_text()


def test_doctor_fails_only_where_grading_would_not_be_safe():
    good = doctor.Check("numpy", "ok", "2.0")
    warning = doctor.Check("real model", "warn", "absent", "Run: fetch it")
    failure = doctor.Check("sandbox", "fail", "bwrap \x1b[31mabsent", "Install it.")
    assert report([good, warning])[0] is True
    safe, text = report([good, failure])
    assert safe is False
    assert "✗ sandbox: bwrap �[31mabsent" in text and "Install it." in text
    assert "✓ numpy: 2.0" in text


def test_doctor_survives_whatever_is_broken(monkeypatch, tmp_path):
    def broken(*args):
        raise RuntimeError("boom")

    for name in ("_python", "_package", "_suite", "_sandbox", "_seccomp", "_secret", "_disk"):
        monkeypatch.setattr(doctor, name, broken)
    checks = {check.name: check for check in doctor.all_checks(tmp_path)}
    assert checks["sandbox"].state == "fail" and "boom" in checks["sandbox"].found
    assert checks["cores and memory"].state in ("ok", "warn")


def test_doctor_reports_a_malformed_secret_and_makes_none(tmp_path):
    path = tmp_path / "secret.hex"
    assert doctor._secret(path).state == "ok"
    assert not path.exists()
    path.write_text("nonsense")
    assert doctor._secret(path).state == "fail"


def test_doctor_names_a_missing_package():
    check = doctor._package("surely_absent_package")
    assert check.state == "fail" and "pip install surely_absent_package" in check.remedy


def test_doctor_names_a_refused_sandbox(monkeypatch):
    def refuse(name):
        raise sandbox.SandboxUnavailable("user namespaces are off")

    monkeypatch.setattr(sandbox, "choose_sandbox", refuse)
    check = doctor._sandbox()
    assert check.state == "fail" and "user namespaces are off" in check.found


# -------------------------------------------------------------------------------- python -m


def test_module_run_in_a_class_folder_imports_nothing_from_it(tmp_path):
    marker = tmp_path / "imported"
    work = hand_in(tmp_path / "class", "ana", "bob")
    for name in ("numpy", "rich", "typer", "pydantic", "assignment"):
        (work / f"{name}.py").write_text(f"open({str(marker)!r}, 'a').write({name!r})")
    done = subprocess.run(
        [sys.executable, "-m", "grader", "show", "ana"],
        cwd=work,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 2, done.stderr
    assert "There is no result of 'ana'" in done.stderr
    assert not marker.exists()
