"""Part 10 is extra, needs torch, and runs only where "part10" is asked for: `-k part10`.

It is no entry of PARTS: the grader's sandbox has no torch, so `grader run` neither collects nor
counts it (`grader bench` times it). Whoever does not ask for it never imports torch.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Generator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from .at_home import AT_HOME
from .compare import Mismatch
from .parts import TORCH_MODEL_FILE, TORCH_PART
from .student import NotStarted, not_started
from .words import tr

FILE = f"test_part{TORCH_PART.number}_{TORCH_PART.module}.py"
ASK = f"part{TORCH_PART.number}"


def needs_torch() -> str:
    """Why a test of part 10 is skipped."""
    return tr("part 10 needs torch: pip install torch")


def asked_for(config: pytest.Config) -> bool:
    """Whether -k, -m or a path of the command line names part 10."""
    texts = [config.getoption("keyword", default=""), config.getoption("markexpr", default="")]
    return any(ASK in str(text) for text in [*texts, *(Path(a).name for a in config.args)])


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave the file alone unless it is asked for; its name also contains "part1"."""
    return True if collection_path.name == FILE and not asked_for(config) else None


@pytest.hookimpl(wrapper=True)
def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> Generator[None, None, None]:
    """After everything else: the points of part 10, or one line on how to get to it."""
    yield
    if asked_for(config):
        home: Any = config.pluginmanager.get_plugin(AT_HOME)
        done = [o for o in home.outcomes if o.grading.part == TORCH_PART.number]
        if done:
            earned = sum(o.points for o in done)
            total = sum(o.grading.points for o in done)
            points = tr(
                "Part 10 (extra): {earned:g} / {total:g} points", earned=earned, total=total
            )
            terminalreporter.write_line(points)
    elif not config.getoption("keyword") and not config.getoption("markexpr"):
        whole = all(Path(argument.partition("::")[0]).is_dir() for argument in config.args)
        if whole and not config.option.collectonly:
            ask = tr("part 10, fast decode in torch: pytest assignment/ -k part10")
            has_torch = importlib.util.find_spec("torch") is not None
            what = ask if has_torch else needs_torch()
            terminalreporter.write_line(tr("\n(Extra: {what})", what=what))


def student_functions(package: str) -> SimpleNamespace:
    """The student's functions of part 10 and the given torch model.

    Raises:
        Mismatch: decode_torch.py cannot be imported.
    """
    try:
        module = importlib.import_module(f"{package}.{TORCH_PART.module}")
    except Exception as error:
        words = tr(
            "importing {module}.py failed: {kind}: {problem}",
            module=TORCH_PART.module,
            kind=type(error).__name__,
            problem=error,
        )
        raise Mismatch(words) from None
    model = importlib.import_module(f"{package}.{Path(TORCH_MODEL_FILE).stem}")
    functions = {name: _unless_stub(module, name) for name in TORCH_PART.functions}
    return SimpleNamespace(**functions, TorchTransformer=model.TorchTransformer)


def _unless_stub(module: ModuleType, name: str) -> Callable:
    """A function that skips the test where the student's is still a stub."""

    def call(*args: Any, **kwargs: Any) -> Any:
        if not hasattr(module, name):
            raise NotStarted(TORCH_PART.section_of(name), name)
        try:
            return getattr(module, name)(*args, **kwargs)
        except NotImplementedError as error:
            raise not_started(error) from None

    return call
