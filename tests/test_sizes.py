"""The house stays small enough to know: short modules, few of them at the door."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from subprocess import CompletedProcess

import install_torch
import pytest

ROOT = Path(__file__).resolve().parents[1]
MODULE_LINES = 400  # of a module that a hand wrote, tests apart
AT_THE_DOOR = 8  # modules directly in grader/
FILES = 720


def tracked(*patterns: str) -> list[str]:
    """The paths that git knows, by pathspec."""
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    command = ["git", "-C", str(ROOT), "ls-files", "-z", "--", *patterns]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return [path for path in listed.split("\0") if (ROOT / path).is_file()]


def n_lines(path: str) -> int:
    return (ROOT / path).read_bytes().count(b"\n")


def test_no_module_is_longer_than_it_may_be():
    written = tracked("*.py", ":(exclude)tests/", ":(exclude,attr:linguist-generated)")
    assert not [path for path in written if n_lines(path) > MODULE_LINES]


def test_the_rooms_hold_what_the_grader_is_made_of():
    assert len(tracked(":(glob)grader/*.py")) <= AT_THE_DOOR


def test_the_files_can_still_be_counted():
    assert len(tracked()) <= FILES


# ---- Which torch `make test` installs, with a stand-in for pip: nothing is fetched here

CUDA = ("torch", "nvidia-cublas", "triton")
CPU = ("torch", "sympy")


class Pip:
    """Answers pip's command lines: what a dry run would install, and which installs succeed."""

    def __init__(self, would_install: tuple[str, ...] | None, cpu_index: bool = True):
        self.would_install, self.cpu_index = would_install, cpu_index
        self.installed: list[list[str]] = []

    def __call__(self, command: list[str], **how) -> CompletedProcess[str]:
        assert command[1:4] == ["-m", "pip", "install"]
        arguments = command[4:]
        if "--dry-run" in arguments:
            return self._plan()
        if install_torch.CPU_INDEX in arguments and not self.cpu_index:
            return CompletedProcess(command, 1)
        self.installed.append(arguments)
        return CompletedProcess(command, 0)

    def _plan(self) -> CompletedProcess[str]:
        if self.would_install is None:
            return CompletedProcess([], 1, stdout="")
        packages = [{"metadata": {"name": name}} for name in self.would_install]
        return CompletedProcess([], 0, stdout=json.dumps({"install": packages}))


@pytest.fixture
def install(monkeypatch, capsys):
    """Runs the script with this pip; returns what was installed, and what was said."""

    def run(pip: Pip, torch_is_there: bool = False) -> tuple[list[list[str]], str]:
        monkeypatch.setattr(install_torch.subprocess, "run", pip)
        found = object() if torch_is_there else None
        monkeypatch.setattr(install_torch.importlib.util, "find_spec", lambda name: found)
        assert install_torch.main() == 0
        return pip.installed, capsys.readouterr().out

    return run


def test_a_cpu_build_is_taken_as_pip_finds_it(install):
    installed, said = install(Pip(CPU))
    assert [install_torch.TORCH in arguments for arguments in installed] == [True, False]
    assert install_torch.EXTRA in installed[1]
    assert not any("--index-url" in arguments for arguments in installed)
    assert said == ""


@pytest.mark.parametrize("would_install", [CUDA, None], ids=["cuda", "pip cannot say"])
def test_instead_of_cuda_the_cpu_index_is_asked(install, would_install):
    installed, said = install(Pip(would_install))
    torch, extra = installed
    index = torch.index("--index-url")
    assert torch[index + 1] == "https://download.pytorch.org/whl/cpu"
    assert int(torch[torch.index("--timeout") + 1]) <= 15
    assert install_torch.TORCH in torch
    assert install_torch.EXTRA in extra
    assert "--index-url" not in extra
    assert said == ""


def test_without_either_nothing_is_installed_and_it_says_so(install):
    installed, said = install(Pip(CUDA, cpu_index=False))
    assert installed == []
    assert "torch is left out" in said
    assert install_torch.CPU_INDEX in said
    assert "will skip" in said


def test_a_torch_that_is_there_stays(install):
    installed, said = install(Pip(CUDA, cpu_index=False), torch_is_there=True)
    (extra,) = installed
    assert install_torch.EXTRA in extra
    assert said == ""
