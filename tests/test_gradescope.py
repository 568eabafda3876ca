"""autograder.zip: its scripts run for real, in a folder laid out as Gradescope's."""

import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import textwrap
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field
from typer.testing import CliRunner

from assignment.harness.parts import PARTS, STUDENT_MODULES
from grader.base.errors import GraderError
from grader.base.seeds import load_secret
from grader.cli import main
from grader.grades.policy_file import Policy
from grader.integrations.release import autograder, gradescope
from grader.integrations.release.autograder import Metadata, read_metadata, the_submission
from grader.results.record import SubmissionResult, TestResult, make_result
from grader.sandbox import SandboxUnavailable, choose_sandbox

ROOT = Path(__file__).resolve().parents[1]
SECRET = "5e" * 32
SOLUTION = {f"{m}.py": (ROOT / "solution" / f"{m}.py").read_bytes() for m in STUDENT_MODULES}
STUBS = {f"{m}.py": (ROOT / "assignment" / f"{m}.py").read_bytes() for m in STUDENT_MODULES}
METADATA = {
    "id": 123456,
    "created_at": "2026-10-06T14:22:32.365935-07:00",
    "assignment": {
        "due_date": "2026-10-05T23:00:00.000000-07:00",
        "group_size": 2,
        "group_submission": True,
        "id": 25828,
        "course_id": 1234,
        "late_due_date": None,
        "release_date": "2026-09-02T00:00:00.000000-07:00",
        "title": "KV cache",
        "total_points": "170.0",
    },
    "submission_method": "upload",
    "users": [
        {"email": "ana@example.edu", "id": 1, "name": "Ana María"},
        {"email": "bo@example.edu", "id": 2, "name": "Bo"},
    ],
    "previous_submissions": [
        {
            "submission_time": "2026-10-04T14:24:48.087023-07:00",
            "score": 12.5,
            "autograder_error": False,
            "results": {},
        }
    ],
}

# ---------------------------------------------------------------------- Gradescope's own format

Visibility = Literal["hidden", "after_due_date", "after_published", "visible"]
Format = Literal["text", "html", "simple_format", "md", "ansi"]
Points = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class Test(Strict):
    __test__ = False

    score: Points
    max_score: Points
    status: Literal["passed", "failed"]
    name: str
    number: str
    output: str = ""
    output_format: Format
    tags: list[str]
    visibility: Visibility


class Leader(Strict):
    name: str
    value: float | str
    order: Literal["asc", "desc"] = "desc"


class Results(Strict):
    """The specification of results.json; what is optional there and always wanted here is not."""

    score: Points
    execution_time: Points
    output: str
    output_format: Format
    visibility: Visibility
    stdout_visibility: Literal["hidden"]
    extra_data: dict[str, Any]
    tests: list[Test]
    leaderboard: list[Leader] = []


# ----------------------------------------------------------------------------- a container's folder


@dataclass
class Container:
    """A folder laid out as /autograder."""

    root: Path
    built: str

    def grade(self, files: dict[str, bytes], **environment: str) -> tuple[Results | None, str]:
        """Hand in `files` and run run_autograder: its results, and what it printed."""
        submission = self.root / "submission"
        shutil.rmtree(submission, ignore_errors=True)
        submission.mkdir()
        for name, content in files.items():
            (submission / name).parent.mkdir(parents=True, exist_ok=True)
            (submission / name).write_bytes(content)
        (self.root / "submission_metadata.json").write_text(json.dumps(METADATA))
        done = subprocess.run(
            [self.root / "run_autograder"],
            cwd=self.root,
            env=self.environment(AUTOGRADER_SANDBOX="portable") | environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        path = self.root / "results" / "results.json"
        assert path.exists() == (done.returncode == 0), done.stdout
        return Results.model_validate_json(
            path.read_bytes()
        ) if path.exists() else None, done.stdout

    def environment(self, **more: str) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if name.startswith("PIP_")}
        path = os.environ["PATH"]
        return {"AUTOGRADER_ROOT": str(self.root), "PATH": path, **kept, **more}


@pytest.fixture(scope="module")
def archive(tmp_path_factory) -> Path:
    """What `grader release OUT --gradescope` wrote."""
    out = tmp_path_factory.mktemp("release")
    secret = tmp_path_factory.mktemp("secret") / "secret.hex"
    secret.write_text(SECRET)
    secret.chmod(0o600)
    arguments = ["release", str(out), "--gradescope", "--secret-file", str(secret)]
    result = CliRunner().invoke(main.app, arguments)
    assert result.exit_code == 0, result.output
    assert "WARNING: autograder.zip holds the secret" in result.output
    assert "Gradescope asks for the autograder's points: they are " in result.output
    return out / "autograder.zip"


@pytest.fixture(scope="module")
def container(archive) -> Iterator[Container]:
    """The image, built by setup.sh with an environment that pip really filled."""
    if os.geteuid() != 0:
        pytest.skip("Gradescope runs its scripts as root, and this is not root")
    try:
        choose_sandbox("portable")
    except SandboxUnavailable as reason:
        pytest.skip(f"the portable sandbox does not work here: {reason}")
    with tempfile.TemporaryDirectory(prefix="gradescope-") as folder:
        container = Container(Path(folder), "")
        container.root.chmod(0o755)
        with zipfile.ZipFile(archive) as files:  # which sets no permissions: setup.sh must
            files.extractall(container.root / "source")
        shutil.copy(container.root / "source" / "run_autograder", container.root)
        (container.root / "run_autograder").chmod(0o755)
        done = subprocess.run(
            ["bash", container.root / "source" / "setup.sh"],
            env=container.environment(PYTHON=sys.executable, PIP_NO_COMPILE="1", PIP_RETRIES="0"),
            capture_output=True,
            text=True,
            check=False,
        )
        if "No matching distribution" in done.stderr:
            pytest.skip("pip reaches no package index here")
        assert done.returncode == 0, done.stdout + done.stderr
        container.built = done.stdout
        yield container


def points_by_part(results: Results) -> dict[int, tuple[float, float]]:
    """Points and maximum of each part."""
    sums = {part.number: (0.0, 0.0) for part in PARTS}
    for test in results.tests:
        part = int(test.number.partition(".")[0])
        sums[part] = (sums[part][0] + test.score, sums[part][1] + test.max_score)
    return sums


# ----------------------------------------------------------------------------------------- archive


def test_the_scripts_are_executable_and_secrets_are_not_for_others(archive):
    assert stat.S_IMODE(archive.stat().st_mode) == 0o600
    with zipfile.ZipFile(archive) as files:
        modes = {info.filename: info.external_attr >> 16 & 0o777 for info in files.infolist()}
        assert files.read("config/secret.hex").decode().strip() == SECRET
        assert files.read("setup.sh").startswith(b"#!/usr/bin/env bash\n")
    assert modes["setup.sh"] == modes["run_autograder"] == 0o755
    assert {modes[name] for name in modes if name.startswith("config/")} == {0o600}
    assert "course/grader/grading/hidden/test_serving.py" in modes
    assert [name for name in modes if "__pycache__" in name or name.endswith(".pyc")] == []


@pytest.mark.parametrize("script", ["setup.sh", "run_autograder"])
def test_the_scripts_are_valid_bash(script):
    path = gradescope.SCRIPTS / script
    subprocess.run(["bash", "-n", path], check=True)
    if shellcheck := shutil.which("shellcheck"):
        subprocess.run([shellcheck, path], check=True)


# An image whose python3 is too old, and an apt-get that brings python3.11.
APT_GET = """\
#!{bash}
echo "$@" >> {log}
case "$*" in *python3.11*) {ln} -s {python} {bin}/python3.11;; esac
"""


def test_setup_installs_a_python_where_the_images_is_too_old(tmp_path):
    (tmp_path / "bin").mkdir()
    bash, log = shutil.which("bash"), tmp_path / "log"
    programs = {
        "python3": f"#!{bash}\nexit 1\n",
        "apt-get": APT_GET.format(
            bash=bash,
            log=log,
            ln=shutil.which("ln"),
            python=sys.executable,
            bin=tmp_path / "bin",
        ),
    }
    for name, text in programs.items():
        (tmp_path / "bin" / name).write_text(text)
        (tmp_path / "bin" / name).chmod(0o755)
    done = subprocess.run(
        [bash, "-c", f"source {gradescope.SCRIPTS}/setup.sh; install_python; find_python"],
        env={"PATH": str(tmp_path / "bin")},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == [str(tmp_path / "bin" / "python3.11")]
    assert log.read_text().splitlines()[:2] == [
        "update",
        "install -y --no-install-recommends python3 python3-venv",
    ]


def test_both_releases_fit_into_one_folder(archive, tmp_path):
    write = CliRunner().invoke(main.app, ["release", str(archive.parent)])
    assert write.exit_code == 0, write.output
    assert archive.exists() and (archive.parent / "kv-cache-homework.zip").exists()


LATE = textwrap.dedent("""\
    [late]
    due = 2026-10-05T23:00:00-07:00
    percent_per_day = 10
    extensions = "extensions.csv"
    """)


@pytest.fixture
def config(tmp_path, monkeypatch) -> Path:
    """A course's own policy with a late rule and extensions; the rest of the zip is left out."""
    monkeypatch.setattr(gradescope, "_course", lambda project: ())
    monkeypatch.setattr(gradescope, "_max_points", lambda secret, policy: 100.0)
    (tmp_path / "policy.toml").write_text(LATE)
    (tmp_path / "extensions.csv").write_text("student,due\nbo@example.edu,2026-10-09T12:00:00Z\n")
    return tmp_path


@pytest.mark.parametrize("late", [False, True])
def test_lateness_is_gradescopes_unless_asked_for(config, tmp_path, late):
    secret = load_secret(tmp_path / "secret.hex")
    files, notes = gradescope.autograder_files(secret, config / "policy.toml", late)
    assert any("Gradescope takes off for lateness" in note for note in notes) != late
    unpacked = tmp_path / "unpacked"
    for name, file in files.items():
        if name.startswith("config/"):
            (unpacked / name).parent.mkdir(parents=True, exist_ok=True)
            (unpacked / name).write_bytes(file.content)
    policy, applies = autograder._policy(unpacked / "config")
    assert applies == policy.has_late_rule == late
    if late:
        assert policy.due_date("bo@example.edu") == datetime(2026, 10, 9, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    "late, users, penalty",
    [
        (True, ["ana"], 1.0),
        (True, ["ana", "bo"], 0.0),  # the latest due date of a group counts
        (False, ["ana"], 0.0),
    ],
)
def test_a_late_submission(config, monkeypatch, late, users, penalty):
    """Handed in half a day after the due date, which bo's extension moves."""
    files, _ = gradescope.autograder_files(
        load_secret(config / "secret.hex"), config / "policy.toml", late
    )
    root = config / "autograder"
    for name, file in files.items():
        if name.startswith("config/"):
            (root / "source" / name).parent.mkdir(parents=True, exist_ok=True)
            (root / "source" / name).write_bytes(file.content)
    (root / "submission").mkdir()
    group = [user for user in METADATA["users"] if user["email"].split("@")[0] in users]
    (root / "submission_metadata.json").write_text(json.dumps(METADATA | {"users": group}))
    monkeypatch.setattr(autograder, "_grade", lambda found, secret: a_record("graded", 10.0))
    assert autograder.main([str(root)]) == 0
    results = Results.model_validate_json((root / "results" / "results.json").read_bytes())
    assert results.score == 10 - penalty
    assert results.extra_data["penalty"] == penalty


def a_record(state: str, points: float, **changes: str) -> SubmissionResult:
    test = TestResult(
        id="t",
        part=1,
        section="1.1",
        title="softmax",
        visibility="public",
        points=points,
        max_points=10.0,
        state="passed",
    )
    return make_result(
        student="submission",
        source="submission",
        submission_hash="",
        suite_hash="s",
        suite_version="1",
        state=state,
        tests=[test],
        **changes,
    )


def test_extensions_that_cannot_be_taken_along_are_refused(config):
    (config / "inner").mkdir()
    (config / "inner" / "policy.toml").write_text(LATE.replace('"ext', '"../ext'))
    secret = load_secret(config / "secret.hex")
    with pytest.raises(GraderError, match="put that file beside the policy"):
        gradescope.autograder_files(secret, config / "inner" / "policy.toml")


# ---------------------------------------------------------------------------------------- metadata


def test_metadata(tmp_path):
    path = tmp_path / "submission_metadata.json"
    path.write_text(json.dumps(METADATA))
    read = read_metadata(path)
    assert read.students == ("ana@example.edu", "bo@example.edu")
    assert read.submitted_at == datetime(2026, 10, 6, 21, 22, 32, 365935, tzinfo=UTC)
    assert read.submitted_at.utcoffset() == timedelta(hours=-7)
    assert read.earlier == 1


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "{",
        "[" * 100_000,
        '{"users": 3, "created_at": 7, "previous_submissions": {}}',
        '{"users": [null, {"email": 5, "name": " "}], "created_at": "2026-10-06T14:22:32"}',
    ],
)
def test_strange_metadata_is_no_reason_to_fail(tmp_path, content):
    path = tmp_path / "submission_metadata.json"
    path.write_text(content)
    assert read_metadata(path) == Metadata()
    assert read_metadata(tmp_path / "none.json") == Metadata()


@pytest.mark.parametrize(
    "names, kind, source",
    [
        (["attention.py"], "folder", "submission"),
        (["assignment/attention.py"], "folder", "submission"),
        (["kv-cache-homework/assignment/rope.py"], "folder", "assignment"),
        (["homework.ipynb"], "notebook", "homework.ipynb"),
        (["work.tar.gz"], "archive", "work.tar.gz"),
        # One submission, whatever it looks like; prepare() then chooses, or says what is missing.
        (["a/attention.py", "b/attention.py"], "folder", "submission"),
        (["one.zip", "two.zip"], "folder", "submission"),
        (["thoughts.txt"], "folder", "submission"),
        ([], "folder", "submission"),
    ],
)
def test_a_submission_is_one_however_it_lies(tmp_path, names, kind, source):
    folder = tmp_path / "submission"
    folder.mkdir()
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(b"")
    found = the_submission(folder, Metadata(students=("ana@example.edu",)))
    assert (found.student, found.kind) == ("ana_example.edu", kind)
    assert found.sources[0].name == source or kind == "folder"


# -------------------------------------------------------------------------------- scripts, for real


def test_setup_protects_everything_of_ours(container):
    """Submissions run as users of their own, which may read the interpreter and nothing else."""
    assert "Sandbox: " in container.built and "The autograder is ready" in container.built
    assert stat.S_IMODE((container.root / "source").stat().st_mode) & 0o077 == 0
    open_to_others = [
        path
        for path in (container.root / "source").rglob("*")
        if stat.S_IMODE(path.stat().st_mode) & 0o077
    ]
    assert open_to_others == []
    assert stat.S_IMODE((container.root / "results").stat().st_mode) & 0o077 == 0
    installed = [p.name for p in (container.root / "venv").glob("lib/python*/site-packages/*")]
    assert not {"grader", "solution", "reference_model", "assignment"} & set(installed)


def test_the_solution_gets_full_marks(container):
    results, printed = container.grade(SOLUTION | {"notes.md": b"done!"})
    assert "ana_example.edu: graded, sandbox: portable" in printed
    assert all(points == most for points, most in points_by_part(results).values())
    assert results.score == pytest.approx(sum(test.max_score for test in results.tests))
    assert results.extra_data["attempt"] == 2
    hidden = [test for test in results.tests if "hidden" in test.tags]
    assert len(hidden) > 20 and {test.visibility for test in hidden} == {"after_published"}
    assert not any(test.output for test in hidden)
    mode = (container.root / "submission_metadata.json").stat().st_mode
    assert stat.S_IMODE(mode) & 0o077 == 0


def test_half_a_homework_gets_its_parts(container):
    """In a folder inside a folder, as students zip it."""
    half = STUBS | {name: SOLUTION[name] for name in ("attention.py", "rope.py")}
    results, _ = container.grade({f"homework/assignment/{n}": text for n, text in half.items()})
    points = points_by_part(results)
    full = [part for part, (got, most) in points.items() if got == most]
    assert full == [1, 2, 3]
    assert all(points[part][0] == 0 for part in (4, 5, 7))
    assert any("4.1 KVCache is not implemented yet" in test.output for test in results.tests)


FORGED = {"score": 1000.0, "tests": [{"score": 1000.0, "max_score": 1000.0, "name": "forged"}]}
HOSTILE = """
import glob, json, os, sys

FORGED = {forged!r}
for place in ("results.json", "{root}/results/results.json", "/autograder/results/results.json"):
    try:
        with open(place, "w") as file:
            file.write(FORGED)
    except OSError:
        pass
print(FORGED, flush=True)
os.write(1, FORGED.encode())
os.write(2, FORGED.encode())

# Whoever finds a secret knows the answers.
SECRETS = ["{root}/source/config/secret.hex", "{root}/source/course/solution/attention.py",
           "{root}/submission_metadata.json", "{root}/results", "{root}/submission"]
def stolen():
    for place in SECRETS:
        try:
            os.listdir(place) if os.path.isdir(place) else open(place).read()
            return True
        except OSError:
            pass
    return False

def softmax(x, axis=-1):
    if not stolen():
        os._exit(0)
    import numpy as np
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)

scaled_dot_product_attention = causal_mask = split_heads = merge_heads = softmax
multi_head_attention = softmax
"""


def test_a_hostile_submission_gets_what_it_earned(container):
    source = HOSTILE.format(root=container.root, forged=json.dumps(FORGED))
    results, _ = container.grade(STUBS | {"attention.py": source.encode()})
    assert results.score == 0
    assert {test.score for test in results.tests} == {0}
    assert "forged" not in results.model_dump_json()
    assert sum(test.max_score for test in results.tests) > 100


def test_nothing_to_grade_is_a_zero_with_a_reason(container):
    results, printed = container.grade({})
    assert results.score == 0 and "missing" in printed
    assert "It holds none of accounting.py, attention.py, " in results.output
    assert sum(test.max_score for test in results.tests) > 100


def test_a_broken_archive_is_a_zero_with_a_reason(container):
    results, _ = container.grade({"homework.zip": b"PK\x03\x04 and then nothing"})
    assert results.score == 0
    assert "zip" in results.output


def test_a_huge_submission_costs_the_autograder_nothing(container):
    """A module far too large, one of many files, and an archive that expands to gigabytes."""
    files = {f"data/{number}.bin": b"\0" * 1000 for number in range(2000)}
    results, _ = container.grade(files | {"attention.py": b"#" * 30_000_000})
    assert results.score == 0
    assert "attention.py" in results.output or any(
        "attention.py" in test.output for test in results.tests
    )


# ------------------------------------------------------------------------ the grader's own failures


def test_a_failure_of_the_grader_is_no_score(container):
    """Not a zero, not the result of the run before: no results.json at all."""
    stale = container.root / "results" / "results.json"
    stale.write_text('{"score": 3}')
    results, printed = container.grade(SOLUTION, AUTOGRADER_SANDBOX="bubble gum")
    assert results is None
    assert "The autograder failed, and there is no score: No sandbox works" in printed
    assert "bubble gum" in printed and "Traceback" not in printed


def test_a_lost_secret_is_no_score(container):
    """A new secret would grade this one submission by cases of its own."""
    secret = container.root / "source" / "config" / "secret.hex"
    content = secret.read_text()
    secret.unlink()
    try:
        results, printed = container.grade(SOLUTION)
        assert results is None and "has no secret.hex" in printed
        assert not secret.exists()
    finally:
        secret.write_text(content)
        secret.chmod(0o600)


def test_out_of_time_is_no_score(container):
    """Gradescope's own limit would make a 0 of it."""
    results, printed = container.grade(SOLUTION, AUTOGRADER_SECONDS="0.5")
    assert results is None
    assert "The autograder was stopped: 0.5 seconds were over" in printed


def test_a_record_in_error_is_no_score(monkeypatch, tmp_path, capsys):
    """The state `error` of one submission: its reason and the grader's own log are printed."""
    failed = a_record(
        "error", 0.0, reason="The grader's process was killed.", output_tail="the log"
    )
    (tmp_path / "submission").mkdir()
    monkeypatch.setattr(autograder, "_policy", lambda config: (Policy.load(None), False))
    monkeypatch.setattr(autograder, "_secret", lambda config: b"")
    monkeypatch.setattr(autograder, "_grade", lambda found, secret: failed)
    assert autograder.main([str(tmp_path)]) == 1
    printed = capsys.readouterr().out
    assert "there is no score: The grader's process was killed." in printed and "the log" in printed
    assert list((tmp_path / "results").iterdir()) == []


def test_a_bug_of_the_grader_is_no_score(monkeypatch, tmp_path, capsys):
    def broken(*arguments):
        raise ZeroDivisionError

    monkeypatch.setattr(autograder, "_policy", broken)
    assert autograder.main([str(tmp_path)]) == 1
    assert "That is a bug of the grader" in capsys.readouterr().out
