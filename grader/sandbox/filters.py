"""The compiled system call filters that are shipped with the grader."""

import platform
from pathlib import Path

from grader.sandbox.base import SandboxUnavailable

# "" is the allow-list that every tier uses; the others are laid over it, see seccomp.py.
LAYERS = ("", "shared", "readonly")


def blob_path(architecture: str, layer: str = "") -> Path:
    """Where a filter for an architecture (as `platform.machine()` calls it) is kept."""
    name = "_".join(filter(None, ("seccomp", architecture, layer)))
    return Path(__file__).with_name(f"{name}.bpf")


def load_filter(layer: str = "") -> bytes | None:
    """The compiled filter for this machine, or None when there is none for its architecture."""
    path = blob_path(platform.machine(), layer)
    return path.read_bytes() if path.is_file() else None


def required_filter(layer: str = "") -> bytes:
    """As load_filter, for a tier that was seen to work; SandboxUnavailable where there is none."""
    found = load_filter(layer)
    if found is None:
        raise SandboxUnavailable(f"no system call filter is shipped for {platform.machine()}")
    return found


def profile_path(architecture: str) -> Path:
    """Where the allow-list is kept as Docker and Podman read it."""
    return Path(__file__).with_name(f"seccomp_{architecture}_container.json")
