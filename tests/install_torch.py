"""Install the `torch` extra for the tests, but never a CUDA build of several GB.

What pip would install is asked first (metadata only). Where that brings CUDA libraries, the CPU
build comes from PyTorch's own index; where that is out of reach too, the tests that need torch
skip, and this says so.
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys

TORCH = "torch==2.13.0"  # a release whose CPU build mirrors keep; any from 2.4 on will do
EXTRA = ".[torch]"
# The index that pytorch.org's selector names for Linux, pip and CPU. It holds torch's own
# requirements too, so no second index is asked.
CPU_INDEX = "https://download.pytorch.org/whl/cpu"
# Seconds without an answer, and asked twice: a machine behind a firewall soon goes on without.
PATIENCE = ("--timeout", "10", "--retries", "1")

SKIPPED = f"""\
torch is left out: pip finds no build of it but CUDA's, several GB that the CPU tests do not need,
and the CPU build could not be had from {CPU_INDEX}.
Tests that need torch will skip. To run them, install any CPU build from torch 2.4 on into the same
environment, then run `make test` again.
"""


def main() -> int:
    if importlib.util.find_spec("torch") is None and not _install_torch():
        print(SKIPPED)
        return 0
    if _pip("install", "--quiet", "--editable", EXTRA).returncode:
        print("transformers could not be installed; tests against Hugging Face will skip.")
    return 0


def _install_torch() -> bool:
    """Whether torch could be installed without CUDA."""
    if not _brings_cuda(TORCH) and not _pip("install", "--quiet", TORCH).returncode:
        return True
    from_index = ("--index-url", CPU_INDEX, *PATIENCE, TORCH)
    return not _pip("install", "--quiet", *from_index).returncode


def _brings_cuda(requirement: str) -> bool:
    """Whether installing it would pull CUDA packages; True too when pip cannot say."""
    asked = _pip("install", "--dry-run", "--quiet", "--report", "-", requirement, capture=True)
    if asked.returncode:
        return True
    packages = json.loads(asked.stdout)["install"]
    names = [package["metadata"]["name"].lower() for package in packages]
    return any(name.startswith(("nvidia-", "cuda-", "triton")) for name in names)


def _pip(*arguments: str, capture: bool = False) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pip", *arguments, "--disable-pip-version-check"]
    return subprocess.run(command, text=True, stdout=subprocess.PIPE if capture else None)


if __name__ == "__main__":
    sys.exit(main())
