"""Numbers and small arrays as a failure shows them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .words import pad, tr, width

MAX_ROWS = 8
MAX_COLUMNS = 8
# Wider than this, the expected array stands below the other.
MAX_WIDTH = 100
_MOST_DIGITS = 17  # that a float64 has


def told_apart(got: float, expected: float, digits: int = 6) -> tuple[str, str]:
    """Both numbers with as many significant digits as they differ in, and no fewer than `digits`.

    >>> told_apart(-0.410044123, -0.410044129)
    ('-0.41004412', '-0.41004413')
    """
    for n in range(digits, _MOST_DIGITS + 1):
        texts = f"{got:.{n}g}", f"{expected:.{n}g}"
        if texts[0] != texts[1]:
            break
    return texts


@dataclass(frozen=True)
class Cell:
    """An entry as it is printed."""

    text: str
    wrong: bool


@dataclass(frozen=True)
class SideBySide:
    """A small wrong array and the expected one, whole.

    Attributes:
        got, expected: matrices of the same shape; a vector is one row.
        wrong: which entries are, as a matrix of booleans.
    """

    got: np.ndarray
    expected: np.ndarray
    wrong: np.ndarray

    @classmethod
    def of(cls, got: np.ndarray, expected: np.ndarray, wrong: np.ndarray) -> SideBySide | None:
        """None where the arrays are too large or have more than two axes longer than one."""
        if any(length > 1 for length in expected.shape[:-2]) or expected.size == 0:
            return None
        shape = (1, 1, *expected.shape)[-2:]
        if shape[0] > MAX_ROWS or shape[1] > MAX_COLUMNS:
            return None
        return cls(got.reshape(shape), expected.reshape(shape), wrong.reshape(shape))

    def lines(self) -> list[list[Cell]]:
        """The lines to print, each in pieces; a wrong entry has a star behind it."""
        texts = [
            [_texts(*entry) for entry in zip(*rows, strict=True)]
            for rows in zip(self.got, self.expected, self.wrong, strict=True)
        ]
        left = self._matrix(tr("got"), [[got for got, _ in row] for row in texts], mark=True)
        right = self._matrix(tr("expected"), [[other for _, other in row] for row in texts])
        if _width(left[1]) + 3 + _width(right[1]) > MAX_WIDTH:
            return left + right
        columns = _width(left[1])
        return [
            [*one, Cell(" " * (columns - _width(one) + 3), False), *other]
            for one, other in zip(left, right, strict=True)
        ]

    def _matrix(self, title: str, texts: list[list[str]], mark: bool = False) -> list[list[Cell]]:
        columns = max(width(text) for row in texts for text in row)
        rows = [
            [
                Cell(f" {text:>{columns}}{'*' if mark and wrong else ' '}", bool(mark and wrong))
                for text, wrong in zip(row, wrongs, strict=True)
            ]
            for row, wrongs in zip(texts, self.wrong, strict=True)
        ]
        heading = pad(f" {title}", max(_width(row) for row in rows))
        return [[Cell(heading, False)], *rows]


def _texts(got: np.generic, expected: np.generic, wrong: bool) -> tuple[str, str]:
    if expected.dtype.kind != "f":
        return str(got), str(expected)
    if wrong:
        return told_apart(float(got), float(expected), digits=4)
    return f"{got:.4g}", f"{expected:.4g}"


def _width(cells: list[Cell]) -> int:
    return sum(width(cell.text) for cell in cells)
