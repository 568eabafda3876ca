"""The one exception whose text is meant for the person who typed the command."""


class GraderError(Exception):
    """A sentence for people: what was found, what was expected, what to do next."""


class NothingToGrade(Exception):
    """The submission holds nothing gradable (or is broken); the text names the rule."""


class Interrupted(Exception):
    """The person stopped the run; the text says what is kept and how to go on."""
