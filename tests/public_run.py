"""Runs the public tests on one submission after the other, all in one process of its own."""

from __future__ import annotations

import contextlib
import multiprocessing
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from assignment.harness import plugin
from assignment.harness.cases import load_cases
from assignment.harness.outcome import FAILED, PASSED, Outcome
from assignment.harness.points import Ran, hanging
from assignment.harness.student import LocalBackend

ROOT = Path(__file__).parent.parent


@dataclass
class Session:
    """A pytest plugin that puts a package to the public tests and keeps the outcomes."""

    package: str
    outcomes: list[Outcome] = field(default_factory=list)

    @pytest.hookimpl(tryfirst=True)
    def pytest_configure(self, config: pytest.Config) -> None:
        config.stash[plugin.BACKEND] = LocalBackend(self.package)
        config.stash[plugin.CASE_SETS] = {"public": load_cases()}

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item):
        handled = yield
        self.outcomes.append(item.stash[plugin.OUTCOME])
        return handled


@dataclass(frozen=True)
class PublicPoints:
    """What a submission gets in the public tests.

    Attributes:
        earned, most: points by part.
        lost: message of each test that did not pass, by its id.
    """

    earned: dict[int, float]
    most: dict[int, float]
    lost: dict[str, str]

    @property
    def losing_parts(self) -> list[int]:
        return sorted(part for part in self.most if self.earned[part] < self.most[part])


def put_to_the_tests(folder: Path, package: str) -> PublicPoints:
    """The points of a package in `folder`; called in another process."""
    sys.path.insert(0, str(folder))
    session = Session(package)
    arguments = ["--noconftest", "-c/dev/null", "-pno:cacheprovider", "-pno:terminal"]
    arguments += [f"--rootdir={ROOT}", "--assert=plain", str(ROOT / "assignment")]
    pytest.main(arguments, plugins=[plugin, session])
    ended = [o for o in session.outcomes if o.state in (PASSED, FAILED)]
    held = hanging([Ran(o.test, o.grading, o.state == PASSED) for o in ended])
    earned: dict[int, float] = {}
    most: dict[int, float] = {}
    for outcome in session.outcomes:
        part = outcome.grading.part
        paid = 0 if outcome.test in held else outcome.points
        earned[part] = earned.get(part, 0) + paid
        most[part] = most.get(part, 0) + outcome.grading.points
    lost = {o.test: o.message for o in session.outcomes if o.state != "passed"}
    return PublicPoints(earned, most, lost)


Run = Callable[..., Future[PublicPoints]]


@contextlib.contextmanager
def public_runs() -> Iterator[Run]:
    """A function that starts `put_to_the_tests` where no plugin of this installation interferes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
        patch.setenv("OPENBLAS_NUM_THREADS", "1")
        patch.setenv("PYTHONDONTWRITEBYTECODE", "1")
        patch.delenv("PYTEST_ADDOPTS", raising=False)
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
            yield lambda *arguments: pool.submit(put_to_the_tests, *arguments)
            pool.shutdown(cancel_futures=True)


def write_package(files: dict[str, str], folder: Path) -> Path:
    """The files of a submission, and what the homework folder has besides, as a package."""
    given = (ROOT / "assignment" / "transformer.py").read_text(encoding="utf-8")
    for name, text in (files | {"__init__.py": "", "transformer.py": given}).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder
