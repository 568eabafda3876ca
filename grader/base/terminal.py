"""Saying something in a terminal.

Names and messages come from submissions: nothing of them may move the cursor, change colours,
reorder text or be taken for markup.
"""

import unicodedata

from rich.console import Console
from rich.text import Text

WIDE = 110  # columns from which on the first problems fit beside the points


def plain(text: str, lines: bool = False) -> str:
    """`text` without control characters, ANSI sequences' escape bytes and direction overrides.

    Each becomes "�"; line breaks and tabs become spaces, or stay when `lines` is set.
    """
    shown = []
    for char in text:
        if char in "\n\t":
            shown.append(char if lines else " ")
        elif unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp"):
            shown.append("�")
        else:
            shown.append(char)
    return "".join(shown)


def console_for_people() -> Console:
    """Standard output; where that is a file or a pipe, wide enough to break no row."""
    console = Console()
    return console if console.is_terminal else Console(width=WIDE + 50)


def say(console: Console, sentence: str, style: str = "") -> None:
    """Print one sentence, not wrapped: paths in it can then be copied."""
    console.print(Text(plain(sentence), style=style), soft_wrap=True)
