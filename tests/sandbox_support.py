"""Tiny submissions for the tests of the sandbox and of the remote student."""

from pathlib import Path

import pytest

from grader.remote import Limits, RemoteStudent
from grader.sandbox import SandboxUnavailable, choose_sandbox

# `run` executes the text it is given and returns what that leaves in `answer`: a submission that
# does whatever a test wants.
RUNNER = """
import ctypes, gc, os, sys, threading, time
import numpy as np

def run(source):
    names = {"np": np}
    exec(source, names)
    return names.get("answer")
"""


def require_bubblewrap():
    """The sandbox; skips the module in one line where none works."""
    try:
        return choose_sandbox("bubblewrap")
    except SandboxUnavailable as reason:
        pytest.skip(f"no sandbox here: {reason}", allow_module_level=True)


def write_submission(folder: Path, **modules: str) -> Path:
    """A submission whose modules hold the given texts."""
    package = folder / "assignment"
    package.mkdir(parents=True)
    for name, text in modules.items():
        (package / f"{name}.py").write_text(text, encoding="utf-8")
    return folder


def start(folder: Path, sandbox, functions=("run",), **limits) -> RemoteStudent:
    """A student whose `functions` all live in attention.py."""
    return RemoteStudent(
        sandbox, folder, Limits(**limits), slot=3, modules=dict.fromkeys(functions, "attention")
    )
