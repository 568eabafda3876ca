"""Parts 10 and 12 are extra, and run only where they are asked for: `-k part10`, `-k part12`.

Neither is an entry of PARTS. Part 10 needs torch, which is not in the grader's sandbox: `grader
run` neither collects nor counts it (`grader bench` times it), and whoever does not ask for it never
imports torch. Part 12 has points of its own: `grader run --part12` grades it and nothing else.
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
from .parts import SERVING_PART, TORCH_MODEL_FILE, TORCH_PART, Part
from .student import NotStarted, not_started
from .words import tr


def file_of(part: Part) -> str:
    """The name of the file with the tests of an extra part."""
    return f"test_part{part.number}_{part.module}.py"


FILES = {file_of(part): part for part in (TORCH_PART, SERVING_PART)}


def needs_torch() -> str:
    """Why a test of part 10 is skipped."""
    return tr("part 10 needs torch: pip install torch")


def asked_for(config: pytest.Config, part: Part) -> bool:
    """Whether -k, -m or a path of the command line names an extra part."""
    texts = [config.getoption("keyword", default=""), config.getoption("markexpr", default="")]
    names = [Path(argument).name for argument in config.args]
    return any(f"part{part.number}" in str(text) for text in [*texts, *names])


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave the file alone unless it is asked for; its name also contains "part1"."""
    part = FILES.get(collection_path.name)
    return True if part is not None and not asked_for(config, part) else None


@pytest.hookimpl(wrapper=True)
def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> Generator[None, None, None]:
    """After everything else: the points of part 10, or a line on how to get to each extra part."""
    yield
    if asked_for(config, TORCH_PART):
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
            serving = tr("part 12, serving: pytest assignment/ -k part12")
            terminalreporter.write_line(tr("\n(Extra: {what})", what=what))
            terminalreporter.write_line(tr("(Extra: {what})", what=serving))


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
