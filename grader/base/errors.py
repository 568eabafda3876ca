"""The exceptions whose text is meant for people."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from grader.base.notes import Reason


class GraderError(Exception):
    """A sentence for people: what was found, what was expected, what to do next."""


class NothingToGrade(Exception):
    """The submission holds nothing gradable (or is broken); the reason names the rule."""

    def __init__(self, reason: "Reason") -> None:
        super().__init__(reason)
        self.reason = reason


class SandboxUnavailable(Exception):
    """No sandbox works here, or not for this; the text says what is missing and what helps."""


class Interrupted(Exception):
    """The person stopped the run; the text says what is kept and how to go on."""
