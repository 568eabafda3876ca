"""The passages that two texts share, and the texts cut up along them."""

from dataclasses import dataclass

from grader.reports.similar.fingerprints import Fingerprints

Span = tuple[int, int]


@dataclass(frozen=True)
class Piece:
    """A stretch of a text. `shared` is 0 where it is the student's alone, else 1 where a third
    student has it too and 2 where only these two have it."""

    text: str
    shared: int


def shared_pieces(
    text: str, own: Fingerprints, other: Fingerprints, rare: frozenset[bytes]
) -> list[Piece]:
    """`text` in pieces that together are the text. `rare`: fingerprints no third student has."""
    marks = [0] * len(text)
    common = own.places.keys() & other.places.keys()
    for value in sorted(common, key=lambda value: value in rare):
        for start, end in own.places[value]:
            marks[start:end] = [2 if value in rare else 1] * (end - start)
    pieces, start = [], 0
    for i in range(1, len(text) + 1):
        if i == len(text) or marks[i] != marks[start]:
            pieces.append(Piece(text[start:i], marks[start]))
            start = i
    return pieces
