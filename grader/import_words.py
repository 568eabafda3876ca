"""What a worker says of a file that cannot be imported, in the run's language.

The worker speaks English: in its sandbox there is no dictionary. Its sentences are those of a
student's own run (assignment/harness/student.py), so they are known by their words.
"""

import re

from grader.words import language, spoken

NOT_PYTHON = "{file} line {line} is not valid Python: {problem}"
ENDS_THE_PROGRAM = (
    "importing {module}.py ends the program (sys.exit or exit is called); put trial code under if "
    '__name__ == "__main__":'
)
FAILED = "importing {module}.py failed: {kind}: {problem}"
ONLY_NUMPY = "; only numpy and the standard library are installed here"


def _pattern(template: str) -> re.Pattern:
    # All but the last field are names and numbers; what is not known is said as it came.
    names = re.sub(r"\\\{(file|line|module|kind)\\\}", r"(?P<\1>[\\w.]+)", re.escape(template))
    return re.compile(names.replace(r"\{problem\}", "(?P<problem>.*)"), re.DOTALL)


_KNOWN = tuple((text, _pattern(text)) for text in (NOT_PYTHON, ENDS_THE_PROGRAM, FAILED))


def in_words(said: str) -> str:
    """The sentence in the language spoken; anything else as it is."""
    if language() == "en":
        return said
    for template, pattern in _KNOWN:
        if found := pattern.fullmatch(said):
            return (
                spoken(template).format(**found.groupdict()).replace(ONLY_NUMPY, spoken(ONLY_NUMPY))
            )
    return said


def is_about(message: str, file: str) -> bool:
    """Whether a test's message says that this file is no Python."""
    before, _, _ = spoken(NOT_PYTHON).partition("{line}")
    return message.startswith(f"ImportError: {before.format(file=file)}")
