"""Podman and Docker: what they are asked for, and what is said when they cannot do it.

Real containers are started by the tests of isolation, where an engine works.
"""

import io
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from sandbox_support import RUNNER, sandbox_of, start, write_submission

from grader.sandbox import Limits, SandboxUnavailable, container
from grader.sandbox.container import Docker, Podman, root_entries
from grader.sandbox.files import CONFINE
from grader.sandbox.interpreter import interpreter_view

# Plays the part of an engine: `info` is answered as told, everything else is written down.
ENGINE = """#!/bin/sh
echo "$@" >> {log}
case "$*" in
  *info*) {info} ;;
  *run*) echo 'Error: crun: something is not supported' >&2; exit 126 ;;
esac
"""


@pytest.fixture
def engine(tmp_path, monkeypatch):
    """`engine(info)` puts a podman on the path; returns what it was asked later."""
    log = tmp_path / "asked"

    def install(info: str):
        program = tmp_path / "podman"
        program.write_text(ENGINE.format(log=log, info=info))
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
        return lambda: log.read_text().splitlines()

    container._working.cache_clear()
    yield install
    container._working.cache_clear()


def test_an_absent_engine_is_said(monkeypatch):
    container._working.cache_clear()
    monkeypatch.setattr(shutil, "which", lambda name: None)
    for kind in (Podman, Docker):
        with pytest.raises(SandboxUnavailable, match=f"^{kind.engine.name} is not installed$"):
            kind.working()
    container._working.cache_clear()


def test_an_engine_that_does_not_answer_is_said(engine):
    engine("echo 'Cannot connect to the daemon' >&2; exit 1")
    with pytest.raises(SandboxUnavailable, match="and does not work: Cannot connect to the daemon"):
        Podman.working()


def test_a_container_that_does_not_start_is_said_and_removed(engine):
    asked = engine("exit 0")
    with pytest.raises(SandboxUnavailable, match="cannot start a container: Error: crun: someth"):
        Podman.working()
    runs = [line for line in asked() if " run " in line]
    assert len(runs) == 2 and "--pids-limit" in runs[0] and "--pids-limit" not in runs[1]
    names = [line.split(" --name ")[1].split()[0] for line in runs]
    assert [line for line in asked() if line.startswith("rm ")] == [
        f"rm --force {name}" for name in names
    ]


@pytest.mark.parametrize("kind", [Podman, Docker])
def test_every_restriction_is_asked_for(kind):
    sandbox = kind("engine", interpreter_view(), Path("/profile.json"))
    options = " ".join(sandbox._options(Limits(memory_mib=1000, processes=5), 7)) + " "
    for wanted in (
        "--rm --interactive --read-only ",
        "--user 64107:64107 ",
        "--network none ",
        "--ipc none ",
        "--log-driver none ",
        "--cap-drop ALL ",
        "--security-opt no-new-privileges ",
        "--security-opt seccomp=/profile.json ",
        "--pids-limit 5 ",
        "--memory 1064m ",
        "--ulimit core=0:0 ",
    ):
        assert wanted in options
    assert "privileged " not in options.replace("no-new-privileges ", "")
    assert not any(name in options for name in ("--env-host", "--volume", "--pid ", "--cap-add"))


def test_everything_bound_is_read_only(tmp_path):
    sandbox = Podman("podman", interpreter_view(), Path("/profile.json"))
    folder, other = container.WorkerFolder(None), container.WorkerFolder(None)
    try:
        binds = sandbox._binds(folder, {"/opt/mapped/0": tmp_path / "weights"})[1::2]
        assert all(bind.endswith(",readonly") for bind in binds)
        assert any(f"source={tmp_path}/weights,target=/opt/mapped/0," in bind for bind in binds)
        with pytest.raises(SandboxUnavailable, match=r"cannot be given .*a,b"):
            sandbox._binds(other, {"/opt/mapped/0": tmp_path / "a,b"})
    finally:
        folder.remove()
        other.remove()


def test_a_file_that_only_its_owner_reads_cannot_be_mapped(tmp_path):
    sandbox = Podman("podman", interpreter_view(), Path("/profile.json"))
    closed = tmp_path / "weights"
    closed.touch(mode=0o600)
    with pytest.raises(SandboxUnavailable, match=r"cannot read .*weights; run: chmod o\+r"):
        sandbox.launch(tmp_path, Limits(), 0, {}, {"model": closed})


def test_a_containers_process_is_watched_only_where_it_is_one_of_this_machine(tmp_path):
    """An engine in a machine of its own tells numbers that are others' here."""
    program = tmp_path / "podman"
    kind = Podman(str(program), interpreter_view(), tmp_path / "profile.json")
    waiting = "import sys; sys.stdin.read()"
    with subprocess.Popen([sys.executable, "-c", waiting, CONFINE], stdin=subprocess.PIPE) as ours:
        for told, found in ((ours.pid, ours.pid), (os.getpid(), None), ("", None), (0, None)):
            program.write_text(f"#!/bin/sh\necho {told}\n")
            program.chmod(0o755)
            assert kind._first_pid("some-name") == found


def test_dockers_image_holds_folders_and_links_only(monkeypatch):
    view, given = interpreter_view(), []

    def ask(command, content=b""):
        given.append((command[1:], content))
        return subprocess.CompletedProcess(command, 1 if "inspect" in command else 0, b"", b"")

    monkeypatch.setattr(container, "_ask", ask)
    container.import_image.cache_clear()
    name = container.import_image("docker", root_entries(view))
    container.import_image.cache_clear()
    assert [command for command, _ in given] == [["image", "inspect", name], ["import", "-", name]]
    with tarfile.open(fileobj=io.BytesIO(given[1][1])) as tar:
        entries = tar.getmembers()
    assert {entry.name for entry in entries if entry.isdir()} >= {"dev", "tmp"}
    assert all(entry.isdir() or entry.issym() for entry in entries)


@pytest.mark.parametrize("tier", ["podman", "docker"])
def test_no_container_is_left(tier, tmp_path):
    sandbox = sandbox_of(tier)
    folder = write_submission(tmp_path / "s", attention=RUNNER)
    with start(folder, sandbox) as student:
        student.run("answer = 1")
        (name,) = containers(sandbox)
    assert name not in containers(sandbox)


def containers(sandbox) -> list[str]:
    command = [sandbox._program, "ps", "--all", "--format", "{{.Names}}"]
    command += ["--filter", f"name=grader-{os.getpid()}-"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
