"""Tiny submissions for the tests of the sandboxes and of the remote student, and each tier."""

import contextlib
import os
from pathlib import Path

import pytest

from grader.running.slots import hold_slot
from grader.sandbox import SandboxUnavailable, choose_sandbox
from grader.sandbox.bubblewrap import Bubblewrap
from grader.sandbox.filters import load_filter
from grader.sandbox.interpreter import interpreter_view
from grader.sandbox.limits import Limits
from grader.sandbox.portable import Portable
from grader.sandbox.program import bubblewrap_program
from grader.sandbox.remote import RemoteStudent
from grader.sandbox.runtime import runtime_for

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

# Held until this process ends: other tests and graders run beside it, each as users of its own.
_held = contextlib.ExitStack()
SLOT, OTHER_SLOT = (_held.enter_context(hold_slot(preferred)) for preferred in (500, 501))

AS_ROOT = os.geteuid() == 0
USER_NAMESPACE, NO_LANDLOCK = "bubblewrap in a user namespace", "portable without Landlock"
TIERS = ("bubblewrap", USER_NAMESPACE, "podman", "docker", "portable", NO_LANDLOCK)
# These give a worker a file system of its own; the others show the host's, as far as it may read.
OWN_FILES = ("bubblewrap", USER_NAMESPACE, "podman", "docker")


def sandbox_of(tier: str):
    """The sandbox of a name in TIERS; skips the test in one line where it does not work."""
    if tier in ("portable", NO_LANDLOCK) and AS_ROOT and load_filter():
        choose_sandbox("portable")  # it works for every root, so a failure is no reason to skip
    try:
        if tier == NO_LANDLOCK:
            if not AS_ROOT:
                pytest.skip("without Landlock the portable tier needs root")
            return Portable(runtime_for(interpreter_view(), True), True, landlock=False)
        if tier == USER_NAMESPACE:
            choose_sandbox("bubblewrap")
            program = bubblewrap_program().path
            return Bubblewrap(program, interpreter_view(), False, load_filter())
        return choose_sandbox(tier)
    except SandboxUnavailable as reason:
        pytest.skip(f"{tier} does not work here: {reason}")


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


def start(folder: Path, sandbox, functions=("run",), slot=SLOT, **limits) -> RemoteStudent:
    """A student whose `functions` all live in attention.py."""
    return RemoteStudent(
        sandbox, folder, Limits(**limits), slot=slot, modules=dict.fromkeys(functions, "attention")
    )
