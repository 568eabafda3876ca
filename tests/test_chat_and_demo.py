"""The two programs people look at: chat for students, the demo for newcomers."""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy
from rich.console import Console

from assignment import chat
from grader.cli import demo
from grader.results.record import TestResult, make_result, write_record
from reference_model import smollm2

ROOT = Path(__file__).parent.parent
LOAD_FILE = safetensors.numpy.load_file


@dataclass(frozen=True)
class Said:
    returncode: int
    stdout: str
    stderr: str


@pytest.fixture
def run_chat(capsys, monkeypatch) -> Callable[..., Said]:
    """The program in this process, with the real model read once for all its runs."""
    monkeypatch.setattr(safetensors.numpy, "load_file", arrays_of)

    def run(*arguments: str) -> Said:
        code = chat.main(list(arguments))
        return Said(code, *capsys.readouterr())

    return run


@cache
def arrays_of(path: Path) -> dict[str, np.ndarray]:
    return LOAD_FILE(path)


@pytest.fixture(scope="module")
def model() -> Path:
    try:
        return smollm2.fetch()
    except smollm2.SmolLM2Unavailable as reason:
        pytest.skip(f"SmolLM2-135M cannot be fetched: {reason}")


def test_chat_says_which_stub_is_left(model):
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(Path.home())}
    command = [sys.executable, "-m", "assignment.chat", "Hello"]
    result = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert result.returncode == 1
    assert "Part 4.1 KVCache" in result.stderr
    assert "README.md §4.1" in result.stderr
    assert "Traceback" not in result.stderr


def test_chat_continues_a_text_as_the_reference_does(model, run_chat):
    prompt = "Once upon a time, in a small village"
    result = run_chat(prompt, "--impl", "solution", "--max-new-tokens", "5")
    assert result.stdout.startswith(f"{prompt} nestled between a great oak")


def test_chat_samples_the_same_text_for_the_same_seed(model, run_chat):
    arguments = ("The sea", "--impl", "solution", "--max-new-tokens", "4", "--temperature", "1.2")
    filters = ("--top-k", "50", "--top-p", "0.95")
    first, again = (run_chat(*arguments, *filters, "--seed", "4").stdout for _ in range(2))
    other = run_chat(*arguments, *filters, "--seed", "5").stdout
    assert first == again != other


def test_chat_without_the_model_is_a_sentence(tmp_path, run_chat, monkeypatch):
    monkeypatch.setenv("KV_HOMEWORK_CACHE", str(tmp_path))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    result = run_chat("Hello")
    assert result.returncode == 1
    assert "SmolLM2" in result.stderr
    assert "Traceback" not in result.stderr


def a_result(points: float) -> dict:
    test = TestResult(
        id="t",
        part=4,
        section="4.3",
        title="decode",
        visibility="public",
        points=points,
        max_points=2.0,
        state="passed" if points else "failed",
        message="" if points else "position 0",
    )
    return {"tests": [test], "state": "graded"}


@pytest.mark.parametrize(
    ("points", "entry", "agrees"),
    [
        (2.0, {"state": "graded", "failing_parts": []}, True),
        (0.0, {"state": "graded", "failing_parts": [4]}, True),
        (0.0, {"state": "graded", "failing_parts": [4], "message": "position 0"}, True),
        (0.0, {"state": "graded", "failing_parts": []}, False),
        (2.0, {"state": "graded", "failing_parts": [4]}, False),
        (0.0, {"state": "graded", "failing_parts": [4], "message": "scale"}, False),
        (0.0, {"state": "partial", "failing_parts": [4]}, False),
    ],
)
def test_the_demo_tells_an_expected_verdict_from_another(points, entry, agrees):
    fields = dict.fromkeys(("student", "source", "submission_hash", "suite_hash"), "x")
    result = make_result(**fields, suite_version="1", **a_result(points))
    assert demo.agrees_with(result, entry) is agrees


def test_the_demo_prints_a_missing_result_as_a_disagreement(tmp_path, monkeypatch):
    monkeypatch.setattr(demo, "RESULTS", tmp_path)
    fields = dict.fromkeys(("source", "submission_hash", "suite_hash"), "x")
    student = "correct-einsum"
    write_record(
        tmp_path, make_result(student=student, **fields, suite_version="1", **a_result(2.0))
    )
    console = Console(width=200, record=True, file=io.StringIO())
    assert demo._print_verdicts(console) is False
    lines = {
        line.split()[1]: line for line in console.export_text().splitlines() if " correct" in line
    }
    assert lines["correct-einsum"].startswith("✓")
    assert lines["correct-loops"].startswith("✗") and "no result" in lines["correct-loops"]


def test_the_demos_two_texts_part_ways(any_sandbox, model, sample_class):
    right, wrong = (demo._text_of(sample_class / name, model, "auto") for name in demo.SIDE_BY_SIDE)
    assert "nestled between a great oak and a great eagle" in right
    # The first token comes from the prefill, which is right in both (L2 §5.3).
    assert right.split()[0] == wrong.split()[0] == "nestled"
    assert right != wrong
