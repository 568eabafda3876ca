"""Lay out what is timed: the submission, our solution, and the weights both will load."""

from __future__ import annotations

import secrets
from pathlib import Path

import numpy as np

from grader.base.errors import GraderError, NothingToGrade
from grader.base.places import SOLUTION
from grader.bench.loop import ADAPTER
from grader.bench.setting import Impl
from grader.intake.course import PACKAGE, Course
from grader.intake.prepare import prepare
from grader.intake.submissions import Found, find_submissions
from reference_model import ModelConfig, init_llama

HERE = Path(__file__).parent
TORCH_PART = "decode_torch.py"
TORCH_GIVEN = "torch_model.py"


def find_one(path: Path, course: Course) -> Found:
    """The one submission at a path."""
    found = find_submissions([path], course)
    if len(found) != 1:
        names = ", ".join(one.student for one in found[:5])
        raise GraderError(
            f"{path} holds {len(found)} submissions{f' ({names}, …)' if names else ''}; "
            "grader bench times one: name its folder, archive or notebook."
        )
    return found[0]


def lay_out_submission(found: Found, folder: Path, course: Course, impl: Impl) -> Path:
    """The submission in a new folder, with the given files and the adapter beside it."""
    try:
        prepare(found, folder, course)
    except NothingToGrade as verdict:
        raise GraderError(f"{found.source_name}: {verdict}") from None
    if impl == "torch" and not (folder / PACKAGE / TORCH_PART).is_file():
        raise GraderError(
            f"{found.source_name} holds no {TORCH_PART}, the part that --impl torch times."
        )
    _add_ours(folder / PACKAGE, impl)
    return folder


def lay_out_solution(folder: Path, impl: Impl) -> Path:
    """Our solution as if it were a submission."""
    package = folder / PACKAGE
    package.mkdir(parents=True)
    for source in SOLUTION.glob("*.py"):
        (package / source.name).write_bytes(source.read_bytes())
    if impl == "torch" and not (package / TORCH_PART).is_file():
        raise GraderError(f"This installation has no solution/{TORCH_PART} to compare with.")
    _add_ours(package, impl)
    for place in (folder, package):
        place.chmod(0o755)
    return folder


def write_weights(config: ModelConfig, path: Path) -> dict[str, np.ndarray]:
    """Random weights nobody has seen, also as a file that workers map."""
    from safetensors.numpy import save_file

    params = init_llama(config, secrets.randbits(60), np.float32)
    save_file(params, path)
    return params


def _add_ours(package: Path, impl: Impl) -> None:
    """Files of the harness take the place of any of that name."""
    (package / f"{ADAPTER}.py").write_bytes((HERE / "adapter.py").read_bytes())
    if impl == "torch":
        given = (SOLUTION / TORCH_GIVEN).read_bytes()
        (package / TORCH_GIVEN).write_bytes(given)
