"""What the project says of itself, from a clone or from an installed package."""

import tomllib
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from grader.base.errors import GraderError
from grader.base.places import ROOT

NAME = "kv-cache-homework"
PACKAGES = ("assignment", "solution", "reference_model", "grader")


@dataclass(frozen=True)
class Project:
    """The facts that a bundle repeats.

    Requirements are sorted, for an installed package does not remember their order.

    Attributes:
        dependencies: what a student installs, as in `numpy>=1.26`.
        extras: further requirements by the name of the extra, environment markers included.
    """

    version: str
    requires_python: str
    dependencies: tuple[str, ...]
    extras: dict[str, tuple[str, ...]]
    licence: str


def load_project(root: Path = ROOT) -> Project:
    """From pyproject.toml and LICENSE of the clone, else from the installed package's metadata.

    Raises:
        GraderError: there is neither.
    """
    try:
        return _from_clone(root) or _from_installation()
    except (metadata.PackageNotFoundError, OSError):
        raise GraderError(
            f"Neither the clone's pyproject.toml and LICENSE (in {root}) nor the installed package "
            f"{NAME} were found. Run this in the cloned repository, or `pip install` it again."
        ) from None


def _from_clone(root: Path) -> Project | None:
    path = root / "pyproject.toml"
    if not path.is_file():
        return None
    told = tomllib.loads(path.read_text(encoding="utf-8")).get("project", {})
    if told.get("name") != NAME:
        return None
    extras = told["optional-dependencies"]
    return Project(
        version=told["version"],
        requires_python=told["requires-python"],
        dependencies=tuple(sorted(told["dependencies"])),
        extras={name: tuple(sorted(needed)) for name, needed in extras.items()},
        licence=(root / "LICENSE").read_text(encoding="utf-8"),
    )


def _from_installation() -> Project:
    told = metadata.distribution(NAME)
    dependencies: list[str] = []
    extras: dict[str, list[str]] = {}
    for requirement in told.requires or ():
        needed, _, marker = requirement.partition(";")
        conditions = [text.strip() for text in marker.split(" and ") if text.strip()]
        of_extra = [text for text in conditions if text.startswith("extra ==")]
        if not of_extra:
            dependencies.append(requirement)
            continue
        rest = " and ".join(text for text in conditions if text not in of_extra)
        extra = of_extra[0].partition("==")[2].strip(" '\"")
        needed = f"{needed.strip()}; {rest}" if rest else needed.strip()
        extras.setdefault(extra, []).append(needed)
    licence = told.read_text("licenses/LICENSE")
    if licence is None:
        raise OSError("the package has no licence file")
    return Project(
        version=told.version,
        requires_python=told.metadata["Requires-Python"],
        dependencies=tuple(sorted(dependencies)),
        extras={name: tuple(sorted(needed)) for name, needed in extras.items()},
        licence=licence,
    )
