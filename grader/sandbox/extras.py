"""More than a worker usually gets: packages beside numpy, GPU devices, other environment variables.

A worker has what every submission needs and no more. The timing test needs torch, and on a GPU its
device files, the driver's view of the machine (/proc, /sys) and system calls that no filter for
computing on a CPU lets through: such a worker has no filter, and its tier says so.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib import metadata
from pathlib import Path

from grader.sandbox.base import Sandbox, SandboxUnavailable
from grader.sandbox.bubblewrap import Bubblewrap
from grader.sandbox.interpreter import PACKAGES, check_nothing_protected, protected_paths
from grader.sandbox.plain import NoSandbox

SEARCHED = "LD_LIBRARY_PATH"
# Only needed to build or to install.
NOT_AT_RUN_TIME = frozenset({"setuptools", "pip", "wheel", "numpy"})


@dataclass(frozen=True)
class Extras:
    """What to add to a sandbox.

    Attributes:
        packages: distributions (`torch`); what they depend on comes along.
        devices: files below /dev.
        folders: of libraries, shown where they are and searched by the loader.
        environment: variables, in place of the usual ones of that name.
    """

    packages: tuple[str, ...] = ()
    devices: tuple[Path, ...] = ()
    folders: tuple[Path, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)


def equip(sandbox: Sandbox, extras: Extras) -> tuple[Sandbox, str]:
    """A sandbox with these extras, and the folder in which its workers find the packages.

    Raises:
        SandboxUnavailable: this kind of sandbox cannot have them, or a package is not installed.
    """
    if isinstance(sandbox, Bubblewrap):
        folders = [(folder, folder) for folder in extras.folders]
        check_nothing_protected(folders, [], protected_paths())
        binds = packages_to_bind(extras.packages) + folders
        return EquippedBubblewrap(sandbox, extras, binds), str(PACKAGES)
    if isinstance(sandbox, NoSandbox):
        places = {str(source.parent) for source, _ in packages_to_bind(extras.packages)}
        return sandbox, next(iter(places), "")
    if extras.packages or extras.devices:
        wanted = ", ".join([*extras.packages, *map(str, extras.devices)])
        raise SandboxUnavailable(
            f"the sandbox {sandbox.tier} cannot show {wanted} to a worker; use bubblewrap"
        )
    return sandbox, ""


class EquippedBubblewrap(Bubblewrap):
    """A bubblewrap sandbox that was seen to work, with extras."""

    def __init__(self, plain: Bubblewrap, extras: Extras, binds: list[tuple[Path, Path]]):
        view = replace(plain._view, binds=(*plain._view.binds, *binds))
        syscall_filter = None if extras.devices else plain._filter
        super().__init__(plain._program, view, plain._as_root, syscall_filter)
        self._extras = extras
        if extras.devices:
            self.tier += ", GPU devices"

    def _file_system(self) -> list[str]:
        options = super()._file_system()
        if self._extras.devices:
            options += ["--proc", "/proc", "--ro-bind", "/sys", "/sys"]
        for device in self._extras.devices:
            options += ["--perms", "0755", "--dir", str(device.parent)]
            options += ["--dev-bind", str(device), str(device)]
        return options

    def _environment(self) -> dict[str, str]:
        usual = super()._environment()
        searched = [*filter(None, [usual.get(SEARCHED)]), *map(str, self._extras.folders)]
        if searched:
            usual[SEARCHED] = ":".join(searched)
        return usual | dict(self._extras.environment)


def gpu_devices() -> tuple[Path, ...]:
    """The device files of NVIDIA's driver; none where there is no GPU."""
    found = sorted(Path("/dev").glob("nvidia*"))
    return tuple(p for path in found for p in (sorted(path.iterdir()) if path.is_dir() else [path]))


def driver_folders(maps: str | None = None) -> tuple[Path, ...]:
    """Where the libraries of NVIDIA's driver lie that this process has loaded.

    Every sandbox shows the system's own folders; on cloud images (/usr/local/nvidia) and NixOS
    (/nix/store) the driver lies elsewhere, and these are returned.

    Args:
        maps: what /proc/self/maps says, by default now; the driver is there once CUDA is in use.
    """
    text = Path("/proc/self/maps").read_text(encoding="utf-8") if maps is None else maps
    files = [Path(line[line.index("/") :]) for line in text.splitlines() if "/" in line]
    driver = {f.parent for f in files if f.name.startswith(("libcuda.so", "libnvidia-"))}
    return tuple(sorted(f for f in driver if not str(f).startswith(("/lib", "/usr/lib"))))


def packages_to_bind(names: tuple[str, ...]) -> list[tuple[Path, Path]]:
    """(place here, place in the sandbox) of distributions and all they need at run time."""
    binds: dict[Path, Path] = {}
    for name in _with_dependencies(names):
        for path in _top_level(metadata.distribution(name)):
            binds[path.resolve()] = PACKAGES / path.name
    check_nothing_protected(list(binds.items()), [], protected_paths())
    return sorted(binds.items())


def _with_dependencies(names: tuple[str, ...]) -> list[str]:
    """Distributions that are installed; SandboxUnavailable when one of `names` is not."""
    found: list[str] = []
    waiting = list(names)
    while waiting:
        name = re.sub(r"[-_.]+", "-", waiting.pop(0)).lower()
        if name in found or name in NOT_AT_RUN_TIME:
            continue
        try:
            requirements = metadata.requires(name) or []
        except metadata.PackageNotFoundError:
            if name in names:
                raise SandboxUnavailable(f"{name} is not installed here") from None
            continue  # for another platform
        found.append(name)
        needed = (r for r in requirements if not re.search(r"\bextra\s*==", r))
        waiting += [re.split(r"[^\w.-]", r, maxsplit=1)[0] for r in needed]
    return found


def _top_level(distribution: metadata.Distribution) -> list[Path]:
    """The files and folders a distribution has put beside those of others."""
    names = {Path(file).parts[0] for file in distribution.files or ()}
    unwanted = re.compile(r"\.\.|__pycache__|.*\.(dist-info|egg-info|data|pth)|.*-nspkg.*")
    places = [
        Path(str(distribution.locate_file(n))) for n in sorted(names) if not unwanted.fullmatch(n)
    ]
    return [path for path in places if path.exists()]
