"""What must not be in students' hands, looked for in the files of a bundle."""

import re
from collections.abc import Iterator, Mapping

from grader.authoring import skeleton
from grader.authoring.skeleton import BEGIN, END, REFERENCE, SOLUTION

# Shorter lines (`return x`) give nothing away, and others write them too.
DISTINCTIVE = 25
# The reference shares its plainest lines (signatures, a mean of squares) with the given code.
DISTINCTIVE_OF_REFERENCE = 45
_OURS = {
    "the graders' code": re.compile(
        r"^\s*(?:from|import) (?:grader|reference_model|solution)\b", re.M
    ),
    "a solution marker": re.compile(rf"^\s*{re.escape(BEGIN)}", re.M),
    "a secret seed (64 hexadecimal digits)": re.compile(
        r"(?<![0-9a-fA-F])[0-9a-fA-F]{64}(?![0-9a-fA-F])"
    ),
}


def leaks(files: Mapping[str, bytes]) -> list[str]:
    """Sentences about what is in `files` and should not be; none is as it should be."""
    return list(_leaks(files))


def _leaks(files: Mapping[str, bytes]) -> Iterator[str]:
    lines = {"the solution": solution_lines(), "the reference model": reference_lines()}
    given = "\n".join(_given_lines())
    given_words = {match[0].strip() for p in _OURS.values() for match in p.finditer(given)}
    for name, content in files.items():
        text = content.decode("utf-8", "replace")
        for what, pattern in _OURS.items():
            # The given code names checksums, which look like a secret seed.
            if found := {match[0].strip() for match in pattern.finditer(text)} - given_words:
                yield f"{name} holds {what}: {min(found)[:80]!r}"
        for whose, secret_lines in lines.items():
            for line in sorted(secret_lines):
                if line in text:
                    yield f"{name} holds a line of {whose}: {line!r}"


def solution_lines() -> set[str]:
    """Distinctive lines between the solution markers."""
    found = set()
    for path in SOLUTION.glob("*.py"):
        inside = False
        for line in path.read_text(encoding="utf-8").splitlines():
            line = line.strip()
            if line in (BEGIN, END):
                inside = line == BEGIN
            elif inside and len(line) > DISTINCTIVE:
                found.add(line)
    return found - _given_lines()


def reference_lines() -> set[str]:
    """Distinctive lines of the reference, but for the modules that students are given."""
    given = _given_lines()
    return {
        line
        for path in REFERENCE.glob("*.py")
        for line in map(str.strip, path.read_text(encoding="utf-8").splitlines())
        if len(line) > DISTINCTIVE_OF_REFERENCE and line not in given
    }


def _given_lines() -> set[str]:
    sources = skeleton.generated_files().values()
    return {line.strip() for source in sources for line in source.splitlines()}
