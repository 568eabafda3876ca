"""Install the `torch` extra for the tests, but never a CUDA build of several GB.

What pip would install is asked first (metadata only). If that brings CUDA libraries, nothing is
installed, the tests that need torch skip and say so, and this says how to get the CPU build.
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys

TORCH = "torch==2.13.0"  # a release whose CPU build mirrors keep; any from 2.4 on will do
EXTRA = ".[torch]"

HINT = f"""\
torch is left out: pip would take its CUDA build, several GB that the CPU tests do not need.
Tests against Hugging Face will skip. To run them, install the CPU build of torch first, from the
index that pytorch.org names for Linux, pip and CPU:

    .venv/bin/pip install torch --index-url <that index>
    .venv/bin/pip install -e '{EXTRA}'
"""


def main() -> int:
    if importlib.util.find_spec("torch") is None:
        if _brings_cuda(TORCH):
            print(HINT)
            return 0
        if _pip("install", "--quiet", TORCH).returncode:
            print("torch could not be installed; tests against Hugging Face will skip.")
            return 0
    if _pip("install", "--quiet", "--editable", EXTRA).returncode:
        print("transformers could not be installed; tests against Hugging Face will skip.")
    return 0


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
