"""The grader of a commit: its files in a folder, and commands that run with them alone."""

import io
import os
import shutil
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

PACKAGES = ("grader", "assignment", "solution", "reference_model")
LOG_LINES = 15
WHERE = "import importlib, sys\nfor n in sys.argv[1:]: print(importlib.import_module(n).__file__)"


class NoComparison(Exception):
    """Why the two commits could not be compared, as a sentence."""


@dataclass(frozen=True)
class Tree:
    """The files of a commit or of the working tree: `name` for people, and the `folder`."""

    name: str
    folder: Path

    def run(self, arguments: list[str], log: Path, poll: Callable[[], None] = lambda: None) -> int:
        """The exit code of `python ARGUMENTS` with this tree's packages, output into `log`.

        `poll` is called while it runs. Whatever ends this ends the command.
        """
        with log.open("wb") as file:
            # A session of its own: on Ctrl-C this process stops it once, not the terminal too.
            running = subprocess.Popen(
                [sys.executable, "-P", *arguments],
                cwd=log.parent,
                env=self._environment(),
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                while running.poll() is None:
                    poll()
                    time.sleep(0.1)
            finally:
                _end(running)
        return running.returncode

    def check(self, arguments: list[str], log: Path) -> None:
        """As run; NoComparison with the command's last lines where it fails."""
        if code := self.run(arguments, log):
            raise NoComparison(f"{self.name}: {_words(arguments)} ended with {code}.{tail(log)}")

    def check_imports(self, log: Path) -> None:
        """NoComparison where a package would come from another place, as an installed one."""
        names = [name for name in PACKAGES if (self.folder / name / "__init__.py").exists()]
        if "grader" not in names:
            raise NoComparison(f"{self.name} has no grader/__init__.py, so nothing grades there.")
        self.check(["-c", WHERE, *names], log)
        for file in log.read_text().splitlines():
            if not file.startswith(f"{self.folder}{os.sep}"):
                raise NoComparison(f"{self.name} imports {file}, which is not in {self.folder}.")

    def _environment(self) -> dict[str, str]:
        """The shell's, without what would make Python or the grader behave otherwise."""
        ours = ("PYTHON", "PYTEST_", "GRADER_")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
        return kept | {
            "PYTHONPATH": str(self.folder),
            "PYTHONDONTWRITEBYTECODE": "1",
            "LC_ALL": "C.UTF-8",
        }


def commit_of(repository: Path, name: str) -> str:
    """The full hash of a commit; NoComparison where there is none of this name."""
    command = ["git", "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}"]
    done = subprocess.run(command, cwd=repository, capture_output=True, text=True)
    if done.returncode:
        raise NoComparison(
            f"There is no commit {name!r} in {repository}; name one as `git log` shows it."
        )
    return done.stdout.strip()


def lay_out_commit(repository: Path, commit: str, folder: Path) -> None:
    """Write the files of a commit into `folder`."""
    command = ["git", "archive", "--format=tar", commit]
    done = subprocess.run(command, cwd=repository, capture_output=True)
    if done.returncode:
        raise NoComparison(f"git archive {commit} failed: {done.stderr.decode().strip()}")
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
        archive.extractall(folder, filter="tar")


def lay_out_working_tree(repository: Path, folder: Path) -> None:
    """Copy the working tree's files into `folder`, without those that git ignores."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    done = subprocess.run(command, cwd=repository, capture_output=True, check=True)
    for name in sorted(set(map(os.fsdecode, done.stdout.split(b"\0"))) - {""}):
        source, copy = repository / name, folder / name
        if source.is_file() or source.is_symlink():  # a deleted one is listed until it is staged
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, copy, follow_symlinks=False)


def tail(log: Path) -> str:
    """The last lines of what a command printed, for a message."""
    lines = log.read_text(errors="replace").splitlines()[-LOG_LINES:]
    return "".join(f"\n  {line}" for line in lines) or " It printed nothing."


def _words(arguments: list[str]) -> str:
    return " ".join(("python", *arguments[:3])).partition("\n")[0]


def _end(running: subprocess.Popen) -> None:
    """The grader ends its workers when asked to; it is asked before it is made to."""
    if running.poll() is None:
        running.terminate()
        try:
            running.wait(30)
        except subprocess.TimeoutExpired:
            running.kill()
            running.wait()
