"""One submission from its path to what was measured of it."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from grader.base.errors import GraderError
from grader.bench.experiment import BrokenReference, Measured, run_experiment
from grader.bench.loop import Loop
from grader.bench.prepare import find_one, lay_out_solution, lay_out_submission, write_weights
from grader.bench.setting import Setting
from grader.bench.standstill import StillRunning
from grader.intake.course import Course
from grader.running.slots import hold_slot
from grader.sandbox import Sandbox, SandboxUnavailable, choose_sandbox
from grader.sandbox.extras import Extras, driver_folders, equip, gpu_devices

# Their workers are children of another program, and so cannot be made to stand still from here.
CHOICE_OF_GPU = "CUDA_VISIBLE_DEVICES"
CANNOT_STOP = ("podman", "docker")


@dataclass(frozen=True)
class Benched:
    """What was measured of whom, where, and what the submission printed."""

    student: str
    source: str
    tier: str
    setting: Setting
    measured: Measured
    printed: str = ""


def bench_submission(
    path: Path,
    setting: Setting,
    sandbox_name: str = "auto",
    call_seconds: float = 300.0,
    progress: Callable[[str], None] = lambda text: None,
) -> Benched:
    """Verify and time the submission at a path.

    Raises:
        GraderError: nothing to time, no sandbox, no torch or GPU, or our own loop failed.
    """
    require_torch(setting)
    course = Course.load()
    found = find_one(path, course)
    with _sentences(), tempfile.TemporaryDirectory(prefix="grader-bench-") as scratch:
        work = Path(scratch)
        sandbox, packages, setting = equipped_sandbox(sandbox_name, setting)
        folders = (
            lay_out_submission(found, work / "submission", course, setting.impl),
            lay_out_solution(work / "solution", setting.impl),
        )
        weights = work / "weights.safetensors"
        base = write_weights(setting.config, weights)
        with contextlib.ExitStack() as held:
            loops = []
            for number, (name, folder) in enumerate(
                zip(("submission", "solution"), folders, strict=True)
            ):
                slot = held.enter_context(hold_slot(number))
                loop = Loop(name, sandbox, folder, packages, weights, setting, slot, call_seconds)
                held.callback(loop.close)
                loops.append(loop)
            submission, ours = loops
            measured = run_experiment(setting, base, submission, ours, progress=progress)
            printed = submission.printed()
    return Benched(found.student, found.source_name, sandbox.tier, setting, measured, printed)


def equipped_sandbox(name: str, setting: Setting) -> tuple[Sandbox, str, Setting]:
    """(sandbox, folder of its packages, setting with the threads it can give)."""
    sandbox = choose_sandbox(name)
    if sandbox.kind in CANNOT_STOP:
        raise SandboxUnavailable(
            f"the sandbox {sandbox.tier} cannot make a submission stand still between its turns; "
            "use bubblewrap"
        )
    threads = str(setting.threads)
    on_gpu = setting.device == "cuda"
    environment = dict.fromkeys(
        ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), threads
    )
    if on_gpu and CHOICE_OF_GPU in os.environ:
        environment[CHOICE_OF_GPU] = os.environ[CHOICE_OF_GPU]
    wanted = Extras(
        packages=("torch",) if setting.impl == "torch" else (),
        devices=gpu_devices() if on_gpu else (),
        folders=driver_folders() if on_gpu else (),
        environment=environment,
    )
    equipped, packages = equip(sandbox, wanted)
    if setting.impl == "numpy" and equipped is sandbox:
        setting = replace(setting, threads=1)  # numpy's are given by the environment alone
    return equipped, packages, setting


def require_torch(setting: Setting) -> None:
    """GraderError where what the setting needs is not there."""
    if setting.device == "cuda" and setting.impl == "numpy":
        raise GraderError("numpy computes on the CPU: use --impl torch with --device cuda.")
    if setting.impl == "numpy":
        return
    try:
        import torch
    except ImportError:
        raise GraderError(
            "torch is not installed, which --impl torch times: pip install torch (for a CPU build "
            "see the README)."
        ) from None
    if setting.device == "cuda" and not torch.cuda.is_available():
        raise GraderError("torch finds no CUDA device here: use --device cpu.")
    if setting.device == "cuda":
        torch.cuda.init()  # so that driver_folders finds the driver


@contextlib.contextmanager
def _sentences() -> Iterator[None]:
    try:
        yield
    except SandboxUnavailable as problem:
        raise GraderError(f"No sandbox for this: {problem}.") from None
    except (BrokenReference, StillRunning) as problem:
        raise GraderError(f"The timing test failed, not the submission: {problem}.") from None
