"""The one exception whose text is meant for the person who typed the command."""


class GraderError(Exception):
    """A sentence for people: what was found, what was expected, what to do next."""


class NothingToGrade(Exception):
    """The submission holds nothing gradable (or is broken); the text names the rule."""


class SandboxUnavailable(Exception):
    """No sandbox works here, or not for this; the text says what is missing and what helps."""


class Interrupted(Exception):
    """The person stopped the run; the text says what is kept and how to go on."""
