"""Saying something in a terminal.

Names and messages come from submissions: nothing of them may move the cursor, change colours,
reorder text or be taken for markup.
"""

from rich.console import Console
from rich.text import Text

from assignment.harness.words import plain

WIDE = 110  # columns from which on the first problems fit beside the points


def console_for_people() -> Console:
    """Standard output; where that is a file or a pipe, wide enough to break no row."""
    console = Console()
    return console if console.is_terminal else Console(width=WIDE + 50)


def say(console: Console, sentence: str, style: str = "") -> None:
    """Print one sentence, not wrapped: paths in it can then be copied."""
    console.print(Text(plain(sentence), style=style), soft_wrap=True)
