"""Fingerprints of a text by winnowing (Schleimer, Wilkerson, Aiken, SIGMOD 2003).

Names, strings, comments and spacing are taken out first, so that renaming and reformatting change
nothing: what is compared is the shape of the code, in runs of `GRAM` tokens.
"""

import hashlib
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from pygments.lexers import PythonLexer
from pygments.token import Comment, Literal, Name, Token, Whitespace

GRAM = 14  # tokens: shorter runs are never compared. `scores = q @ k.swapaxes(-1, -2)` has 13
WINDOW = 5  # any shared run of GRAM + WINDOW - 1 tokens is found
SECONDS_PER_TEXT = 10  # a text made to be slow to read must not stop the class


class TooSlow(Exception):
    """The text could not be read in time."""


@dataclass(frozen=True)
class Fingerprints:
    """Hashes of a text's runs of tokens, and where each stands in the text: (start, end)."""

    places: dict[bytes, list[tuple[int, int]]]

    def without(self, given: "Fingerprints") -> "Fingerprints":
        """Only what `given` does not have."""
        kept = {value: at for value, at in self.places.items() if value not in given.places}
        return Fingerprints(kept)


def fingerprints(text: str) -> Fingerprints:
    """The fingerprints that winnowing chooses.

    Raises:
        TooSlow: after `SECONDS_PER_TEXT`.
    """
    return _placed(text, choose=_winnow)


def all_fingerprints(text: str) -> Fingerprints:
    """Every run's fingerprint: what is compared with these is missed nowhere."""
    return _placed(text, choose=lambda hashes: range(len(hashes)))


def _placed(text, choose) -> Fingerprints:
    with _time_limit(SECONDS_PER_TEXT):
        tokens = list(_tokens(text))
        hashes = [_hash(tokens[i : i + GRAM]) for i in range(len(tokens) - GRAM + 1)]
        places: dict[bytes, list[tuple[int, int]]] = {}
        for i in choose(hashes):
            end = tokens[i + GRAM - 1]
            places.setdefault(hashes[i], []).append((tokens[i][1], end[1] + end[2]))
        return Fingerprints(places)


def _tokens(text: str) -> Iterator[tuple[str, int, int]]:
    """(normal form, start, length) of each token that says something about the code's shape."""
    # Without these options pygments strips and adds lines, and positions would be another text's.
    lexer = PythonLexer(stripnl=False, ensurenl=False)
    for start, kind, value in lexer.get_tokens_unprocessed(text):
        if kind in Comment or kind in Whitespace or kind in Literal.String.Doc:
            continue
        if kind is Token.Text and not value.strip():
            continue
        if kind in Name and kind not in Name.Builtin:
            yield "n", start, len(value)
        elif kind in Literal.String:
            yield "s", start, len(value)
        else:
            yield value, start, len(value)


def _hash(tokens: list[tuple[str, int, int]]) -> bytes:
    text = "\0".join(token[0] for token in tokens).encode("utf-8", "replace")
    return hashlib.blake2b(text, digest_size=8).digest()


def _winnow(hashes: list[bytes]) -> list[int]:
    """In each window of `WINDOW` hashes the place of the smallest, the last one of equal ones."""
    if len(hashes) <= WINDOW:
        return [min(range(len(hashes)), key=hashes.__getitem__)] if hashes else []
    windows = range(len(hashes) - WINDOW + 1)
    chosen = {
        min(range(start + WINDOW - 1, start - 1, -1), key=hashes.__getitem__) for start in windows
    }
    return sorted(chosen)


@contextmanager
def _time_limit(seconds: int) -> Iterator[None]:
    def stop(signum, frame):
        raise TooSlow

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
