"""autograder.zip: what Gradescope needs to grade as we do.

setup.sh, run_autograder   Gradescope's two scripts, see the files in container/
requirements.txt           the grader's requirements
config/                    secret.hex (0600), policy.toml, extensions, settings.json
course/                    pyproject.toml and the four packages; they are not installed, for what is
                           installed can be read by the submissions
"""

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from grader.base.errors import GraderError
from grader.base.places import ROOT
from grader.base.seeds import Secret
from grader.grades.policy import score
from grader.grades.policy_file import DEFAULT, Policy
from grader.integrations.release.archive import File
from grader.integrations.release.bundle import with_unix_lines
from grader.integrations.release.project import PACKAGES, Project, load_project
from grader.integrations.release.sources import homework_files, is_cache
from grader.results.record import make_result

NAME = "autograder.zip"
SCRIPTS = Path(__file__).with_name("container")
SETTINGS, POLICY, SECRET = "settings.json", "policy.toml", "secret.hex"


def autograder_files(
    secret: Secret, policy: Path | None = None, late: bool = False, language: str = "en"
) -> tuple[dict[str, File], list[str]]:
    """The files of autograder.zip by path, and sentences for the instructor.

    Args:
        late: apply the policy's late rule inside the autograder.
        language: of the messages that students get.

    Raises:
        GraderError: the policy is wrong, or assignment/ is not fit to be released.
    """
    project = load_project()
    loaded = Policy.load(policy)
    max_points = _max_points(secret.key, loaded)
    files = {path.name: _script(path) for path in SCRIPTS.iterdir() if path.is_file()}
    files["requirements.txt"] = File(requirements(project).encode())
    files |= {f"course/{name}": File(content) for name, content in _course(project)}
    files |= _config(policy or DEFAULT, loaded, secret, {"late": late, "language": language})
    points = f"Gradescope asks for the autograder's points: they are {max_points:g}."
    return files, [points, *_notes(loaded, late)]


def _max_points(secret: bytes, policy: Policy) -> float:
    """What a submission can earn at most; also shows that the suite can be loaded at all."""
    from grader.grading.suite import SUITE_VERSION, Suite

    with tempfile.TemporaryDirectory() as folder:
        suite = Suite.load(secret, False, Path(folder))
        blank = make_result(
            student="",
            source="",
            submission_hash="",
            suite_hash=suite.hash,
            suite_version=SUITE_VERSION,
            state="missing",
            tests=suite.blank_tests,
        )
        suite.close()
    return score(blank, policy).max_points


def requirements(project: Project) -> str:
    """One requirement a line, as pip reads them."""
    return "".join(f"{line}\n" for line in (*project.dependencies, *project.extras["grader"]))


def _script(path: Path) -> File:
    return File(path.read_bytes().replace(b"\r\n", b"\n"), mode=0o755)


def _course(project: Project) -> Iterator[tuple[str, bytes]]:
    yield "LICENSE", project.licence.encode()
    yield "pyproject.toml", _pyproject(project).encode()
    for name, content in homework_files().items():
        yield f"assignment/{name}", with_unix_lines(name, content)
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*")):
            place = PurePosixPath(path.relative_to(ROOT).as_posix())
            if package != "assignment" and path.is_file() and not is_cache(place):
                yield str(place), with_unix_lines(str(place), path.read_bytes())


def _pyproject(project: Project) -> str:
    """Enough for the grader to know what it is."""
    extras = "".join(f"{name} = {json.dumps(list(n))}\n" for name, n in project.extras.items())
    return f"""\
[project]
name = "kv-cache-homework"
version = {json.dumps(project.version)}
requires-python = {json.dumps(project.requires_python)}
dependencies = {json.dumps(list(project.dependencies))}

[project.optional-dependencies]
{extras}"""


def _config(path: Path, policy: Policy, secret: Secret, settings: dict) -> dict[str, File]:
    files = {
        f"config/{SECRET}": File(secret.key.hex().encode() + b"\n", mode=0o600),
        f"config/{POLICY}": File(path.read_bytes(), mode=0o600),
        f"config/{SETTINGS}": File(json.dumps(settings).encode() + b"\n", mode=0o600),
    }
    if policy.late.extensions:
        name = PurePosixPath(policy.late.extensions)
        if name.is_absolute() or ".." in name.parts or str(name) in (POLICY, SECRET, SETTINGS):
            raise GraderError(
                f"The policy names its extensions {policy.late.extensions!r}, which the autograder "
                "cannot take along: put that file beside the policy, and its plain name into it."
            )
        content = (path.parent / policy.late.extensions).read_bytes()
        files[f"config/{name}"] = File(content, mode=0o600)
    return files


def _notes(policy: Policy, late: bool) -> list[str]:
    if policy.has_late_rule and not late:
        return [
            "The policy's late rule stays behind: Gradescope takes off for lateness by its own "
            "settings. To use the policy's in place of Gradescope's, release with --late."
        ]
    if late and not policy.has_late_rule:
        return ["--late has no effect: the policy has no late rule."]
    if late:
        return ["Lateness is taken off by the policy: set no late penalty in Gradescope."]
    return []
